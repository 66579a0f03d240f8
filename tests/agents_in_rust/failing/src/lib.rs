//! An agent for tests: whatever is asked of it panics, and so does its end.

#![forbid(unsafe_code)]

use std::panic::panic_any;
use std::process::ExitCode;

use pmda::prelude::*;

/// The agent.
pub struct Failing {
    rows: Indom<u32>,
}

/// The payload of a panic, which panics itself when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("told to panic in a payload");
    }
}

impl Agent for Failing {
    const NAME: &'static str = "failing";
    const DOMAIN: u32 = 406;

    fn start(_: &Env) -> Result<Failing> {
        let rows = Indom::fixed([("one", 1)]);
        Ok(Failing { rows })
    }

    fn metrics(m: &mut Metrics<Failing>) {
        let rows = m.indom(0, "Rows", |s| &mut s.rows);
        m.instance_labels(rows, |name, _| panic!("told to panic in a label of {name}"));
        m.value("good", |_| 1);
        m.value("bad", |s| -> u32 { panic!("told to panic with {} row", s.rows.len()) })
            .writable_by(|_| true)
            .store(|_, value: u32, _| panic!("told to panic in a store of {value}"));
        m.value("worse", |_| -> u32 { panic_any(Bomb) });
        m.each("row", rows, |row| *row);
        m.cluster(1).refresh(|_, _| panic!("told to panic in a refresh"));
        m.value("read", |_| 2);
    }

    fn dynamic(&mut self, _: &mut Metrics<Failing>, _: &Request<'_>) -> Result<()> {
        panic!("told to panic in dynamic");
    }

    fn client_ended(&mut self, client: ClientId) {
        panic!("told to panic at the end of {client}");
    }
}

impl Drop for Failing {
    fn drop(&mut self) {
        panic!("told to panic at the end");
    }
}

pmda::export_dso!(pmda_failing_init, Failing);

/// Runs the agent as a daemon.
pub fn main() -> ExitCode {
    pmda::run::<Failing>()
}
