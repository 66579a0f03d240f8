//! An agent for tests with a deadline: it works and ends for as long as it is told to, and reads in
//! the background.

#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use pmda::prelude::*;

struct Hanging {
    /// The time of a reading.
    work: Duration,
    /// The time that its end takes.
    linger: Duration,
    ticks: Background<()>,
}

impl Agent for Hanging {
    const NAME: &'static str = "hanging";
    const DOMAIN: u32 = 416;
    const DEADLINE: Option<Duration> = Some(Duration::from_millis(100));
    const OPTIONS: &'static [Opt] = &[
        Opt::new("work").argument("SECONDS").help("read for so long"),
        Opt::new("linger").argument("SECONDS").help("take so long to end"),
        Opt::new("tick")
            .argument("SECONDS")
            .help("read for so long in the background"),
    ];

    fn start(env: &Env) -> Result<Hanging> {
        let time = |option| match env.option(option) {
            Some(seconds) => seconds.parse().map(Duration::from_secs_f64),
            None => Ok(Duration::ZERO),
        };
        let tick = time("tick")?;
        let read = move || {
            thread::sleep(tick);
            Ok(())
        };
        Ok(Hanging {
            work: time("work")?,
            linger: time("linger")?,
            ticks: env.background("ticks", read)?,
        })
    }

    fn metrics(m: &mut Metrics<Hanging>) {
        m.background("ticks")
            .every(Duration::from_millis(20))
            .expires_after(Duration::from_secs(60));
        m.value("ticks", |s| s.ticks.get().map(|_| 1)).help("1 after a tick");
        m.cluster(1).refresh(|s, _| {
            log::info!("working");
            thread::sleep(s.work);
            log::info!("worked");
            Ok(())
        });
        m.value("read", |_| 1).help("1 after work");
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        thread::sleep(self.linger);
        log::info!("dropped");
    }
}

fn main() -> ExitCode {
    pmda::run::<Hanging>()
}
