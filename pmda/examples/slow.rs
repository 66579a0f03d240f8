//! A source that takes long, or hangs: the agent reads it in the background, and has a deadline for
//! its own requests.

#![forbid(unsafe_code)]
use pmda::prelude::*;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

struct Slow {
    /// The time that a look takes, in milliseconds.
    delay: Arc<AtomicU64>,
    /// The last reading.
    reading: Background<u64>,
    looks: u64,
}

/// Looks at something far away.
fn look(delay: &AtomicU64) -> Result<u64> {
    let delay = delay.load(Ordering::Relaxed);
    sleep(Duration::from_millis(delay));
    Ok(delay)
}

impl Agent for Slow {
    const NAME: &'static str = "slow";
    const DOMAIN: u32 = 403;
    const DEADLINE: Option<Duration> = Some(Duration::from_millis(500));
    fn start(env: &Env) -> Result<Slow> {
        let delay = Arc::new(AtomicU64::new(1));
        let far = Arc::clone(&delay);
        Ok(Slow {
            delay,
            reading: env.background("far", move || look(&far))?,
            looks: 0,
        })
    }
    fn metrics(m: &mut Metrics<Slow>) {
        m.background("far")
            .every(Duration::from_millis(20))
            .expires_after(Duration::from_secs(1));
        m.value("delay", |s| s.delay.load(Ordering::Relaxed))
            .unit(MSEC)
            .help("How long it takes to look")
            .store(|s, delay: u64, _| {
                s.delay.store(delay, Ordering::Relaxed);
                Ok(())
            });
        m.value("background", |s| s.reading.get().map(|reading| *reading))
            .help("What was seen last, if not too long ago");
        m.cluster(1).refresh(|s, _| {
            look(&s.delay)?;
            s.looks += 1;
            Ok(())
        });
        m.value("looks", |s| s.looks)
            .counter()
            .unit(COUNT)
            .help("How often the agent itself has looked");
    }
}

fn main() -> ExitCode {
    pmda::run::<Slow>()
}

#[test]
fn what_hangs_costs_try_again() -> Result<()> {
    let mut pmcd = pmda::testing::Harness::<Slow>::builder().deadline().start()?;
    assert_eq!(pmcd.fetch("slow.looks")?.value(), Some(1));
    pmcd.store("slow.delay", 2000)?;
    assert_eq!(pmcd.fetch("slow.looks").err(), Some(Error::AGAIN));
    // The agent goes on, and serves again when it has looked.
    while pmcd.store("slow.delay", 1) == Err(Error::AGAIN) {}
    assert_eq!(pmcd.fetch("slow.looks")?.value(), Some(3));
    Ok(())
}

#[test]
fn a_reading_gets_too_old() -> Result<()> {
    let mut pmcd = pmda::testing::Harness::<Slow>::builder().deadline().start()?;
    let reading = |pmcd: &mut pmda::testing::Harness<Slow>| pmcd.fetch("slow.background").map(|value| value.value());
    while reading(&mut pmcd) != Ok(Some(1)) {
        sleep(Duration::from_millis(5));
    }
    pmcd.store("slow.delay", 10_000)?;
    while reading(&mut pmcd) != Err(Error::AGAIN) {
        sleep(Duration::from_millis(50));
    }
    Ok(())
}
