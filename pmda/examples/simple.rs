//! PCP's agent `simple`: metrics by hand, stores, a daemon and a shared object.

#![forbid(unsafe_code)]
#![allow(clippy::unit_arg)] // `Ok(place = value)` says what a store does, in one line.
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use pmda::prelude::*;
use std::process::ExitCode;
use std::time::Duration;

/// The values that the agent shows.
#[derive(Default)]
pub struct Simple {
    fetches: u32,
    colors: Indom<i32>,
    user: Duration,
    system: Duration,
    now: Indom<u32>,
}

impl Agent for Simple {
    const NAME: &'static str = "simple";
    const DOMAIN: u32 = 253;
    fn start(_: &Env) -> Result<Simple> {
        Ok(Simple {
            colors: Indom::fixed([("red", 0), ("green", 100), ("blue", 200)]),
            now: Indom::persistent(),
            ..Simple::default()
        })
    }
    fn metrics(m: &mut Metrics<Simple>) {
        m.label("role", "testing");
        let colors = m.indom(0, "Colors", |s| &mut s.colors);
        m.indom_label(colors, "indom_name", "color")
            .indom_label(colors, "model", "RGB");
        m.value("numfetch", |s| s.fetches)
            .help("Number of fetches\nStore another number to start from there.")
            .writable_by(|_| true)
            .store(|s, value: u32, _| Ok(s.fetches = value));
        m.each("color", colors, |color| *color)
            .help("A saw-tooth for each color")
            .writable_by(|_| true)
            .store(|color, value: i32, _| match value {
                0..256 => Ok(*color = value),
                _ => Err(Error::SIGN),
            });
        m.cluster(1).refresh(|s, _| s.read_times());
        m.value("time.user", |s| s.user.as_secs_f64())
            .item(2)
            .counter()
            .unit(SEC)
            .help("Time in user code");
        m.value("time.sys", |s| s.system.as_secs_f64())
            .item(3)
            .counter()
            .unit(SEC)
            .help("Time in system code");
        m.cluster(2).refresh(|s, _| s.read_clock());
        let now = m.indom(1, "Parts of the time of day", |s| &mut s.now);
        m.indom_label(now, "indom_name", "time")
            .indom_label(now, "unitsystem", "SI");
        m.instance_labels(now, |part, _| Labels::default().add("units", part));
        m.each("now", now, |part| *part)
            .item(4)
            .help("Time of day, for the parts in simple.conf");
    }
    fn begin(&mut self, request: &Request<'_>) -> Result<()> {
        if request.why() == Why::Fetch {
            self.fetches += 1;
            if request.wants_item(0, 1) {
                self.colors.rows_mut().for_each(|color| *color = (*color + 1) % 256);
            }
        }
        Ok(())
    }
}
impl Simple {
    /// The processor time of this process.
    fn read_times(&mut self) -> Result<()> {
        let usage = getrusage(UsageWho::RUSAGE_SELF).map_err(std::io::Error::from)?;
        let time = |time: TimeVal| Duration::from_micros(time.num_microseconds() as u64);
        self.user = time(usage.user_time());
        self.system = time(usage.system_time());
        Ok(())
    }

    /// Hour, minute and second (UTC), those of them that are named in simple.conf.
    fn read_clock(&mut self) -> Result<()> {
        let pmdas = std::env::var("PCP_PMDAS_DIR").unwrap_or_else(|_| "/var/lib/pcp/pmdas".to_owned());
        let wanted = std::fs::read_to_string(pmdas + "/simple/simple.conf")?;
        let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs();
        let mut now = self.now.update();
        for name in wanted.trim().split(',') {
            let part = match name {
                "sec" => since % 60,
                "min" => since / 60 % 60,
                "hour" => since / 3600 % 24,
                _ => continue,
            };
            now.set(name, part as u32)?;
        }
        Ok(())
    }
}

pmda::export_dso!(pmda_simple_init, Simple); // pmcd.conf: simple 253 dso pmda_simple_init …/pmda_simple.so
/// The daemon.
pub fn main() -> ExitCode {
    pmda::run::<Simple>()
} // src/main.rs: fn main() -> ExitCode { pmda_simple::main() }

#[test]
fn fetches_are_counted() -> Result<()> {
    let mut pmcd = pmda::testing::Harness::<Simple>::new()?;
    pmcd.fetch("simple.numfetch")?;
    assert_eq!(pmcd.fetch("simple.numfetch")?.value(), Some(2));
    assert_eq!(pmcd.fetch("simple.color")?.value_of("red"), Some(1));
    assert_eq!(pmcd.store("simple.time.user", 0), Err(Error::PERMISSION));
    Ok(())
}
