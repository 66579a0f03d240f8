//! An agent for tests: it reads in the background, starts and ends late if it is told to, prints to
//! stdout, which is where pmcd reads, and has answers that take much memory.

#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use pmda::prelude::*;

/// The agent.
pub struct Ticking {
    ticks: Background<u64>,
    clients: u32,
    timer: Timer,
    wakes: u64,
    rows: Indom<u64>,
    text: String,
    /// The time that its end takes.
    linger: Duration,
}

/// The number of instances in the domain.
const ROWS: u64 = 3000;

impl Agent for Ticking {
    const NAME: &'static str = "ticking";
    const DOMAIN: u32 = 401;
    const OPTIONS: &'static [Opt] = &[
        Opt::new("sleep").short('s').argument("SECONDS").help("start so late"),
        Opt::new("linger").argument("SECONDS").help("take so long to end"),
    ];

    fn start(env: &Env) -> Result<Ticking> {
        let time = |option| match env.option(option) {
            Some(seconds) => seconds.parse().map(Duration::from_secs_f64),
            None => Ok(Duration::ZERO),
        };
        let linger = time("linger")?;
        println!("printed by start");
        thread::sleep(time("sleep")?);
        log::debug!("detail");
        log::trace!("more detail");
        log::info!("started as {}", if env.is_dso() { "DSO" } else { "daemon" });
        let mut ticks = 0;
        let tick = move || {
            ticks += 1;
            Ok(ticks)
        };
        Ok(Ticking {
            ticks: env.background("ticks", tick)?,
            clients: 0,
            timer: env.timer(Duration::from_millis(20)),
            wakes: 0,
            rows: Indom::fixed((0..ROWS).map(|row| (format!("row {row}"), row))),
            text: String::new(),
            linger,
        })
    }

    fn metrics(m: &mut Metrics<Ticking>) {
        m.background("ticks")
            .every(Duration::from_millis(20))
            .expires_after(Duration::from_secs(60));
        m.value("ticks", |s| s.ticks.get().map(|ticks| *ticks))
            .counter()
            .unit(COUNT)
            .help("Ticks of the background");
        m.value("ended", |s| s.clients)
            .counter()
            .unit(COUNT)
            .help("Clients that have ended");
        m.value("wakes", |s| s.wakes)
            .counter()
            .unit(COUNT)
            .help("Calls that were for a timer");
        m.text("big", |_| "text").help("A text");
        m.value("wide", |_| u64::MAX).help("A wide number");
        m.value("single", |_| 1.5_f32).help("A float");
        m.value("warmth", |_| 21.5).unit(CELSIUS).help("A temperature");
        m.value("draw", |_| 40)
            .unit(WATT.per(COUNT))
            .help("A power for each thing");
        let rows = m.indom(0, "Rows", |s| &mut s.rows);
        m.instance_labels(rows, |_, row| Labels::new().add("row", *row));
        m.cluster(1);
        m.each("many", rows, |row| *row)
            .help(format!("Rows\n{}", "A long text. ".repeat(500)));
        m.each("words", rows, |row| *row as u32).help("The same in 32 bits");
        m.text("long", |s| &s.text)
            .help("A text that clients write")
            .writable_by(|_| true)
            .store(|s, text: String, _| {
                s.text = text;
                Ok(())
            });
    }

    fn woken(&mut self) -> Result<()> {
        self.wakes += u64::from(self.timer.passed() > 0);
        Ok(())
    }

    fn client_ended(&mut self, _: ClientId) {
        self.clients += 1;
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        thread::sleep(self.linger);
        log::info!("dropped");
    }
}

pmda::export_dso!(pmda_ticking_init, Ticking);

/// Runs the agent as a daemon.
pub fn main() -> ExitCode {
    pmda::run::<Ticking>()
}
