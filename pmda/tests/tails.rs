//! Files that grow, as an agent reads them that is woken, and one that is asked.

#![forbid(unsafe_code)]

use std::fs::{File, rename};
use std::io::Write;
use std::time::Duration;

use pmda::prelude::*;
use pmda::testing::Harness;

struct Counting {
    log: Tail,
    lines: u64,
    reads_for_requests: bool,
}

impl Counting {
    fn count(lines: &mut u64, line: &str) {
        assert!(!line.starts_with("bad"), "told to panic");
        *lines += 1;
    }
}

impl Agent for Counting {
    const NAME: &'static str = "counting";
    const DOMAIN: u32 = 400;

    fn start(env: &Env) -> Result<Counting> {
        Ok(Counting {
            log: env.tail(env.folder().join("log")),
            lines: 0,
            reads_for_requests: false,
        })
    }

    fn metrics(m: &mut Metrics<Counting>) {
        m.value("lines", |s| s.lines);
        m.value("lost", |s| s.log.lost());
    }

    fn begin(&mut self, _: &Request<'_>) -> Result<()> {
        if self.reads_for_requests {
            self.log.read_to_end(|line| Counting::count(&mut self.lines, line))?;
        }
        Ok(())
    }

    fn woken(&mut self) -> Result<()> {
        self.log.read_lines(|line| Counting::count(&mut self.lines, line))?;
        Ok(())
    }
}

fn started() -> (Harness<Counting>, std::path::PathBuf, File) {
    let pmcd = Harness::<Counting>::new().expect("an agent without problems");
    let path = pmcd.folder().join("log");
    let file = File::create(&path).expect("a folder of our own");
    (pmcd, path, file)
}

/// Three megabytes a second and two rotations: the agent is woken at once while there is more, and
/// loses nothing.
#[test]
fn throughput() {
    let (mut pmcd, path, mut log) = started();
    let lines = format!("{}\n", "x".repeat(99)).repeat(30_000);
    for second in 1..=8 {
        log.write_all(lines.as_bytes()).expect("a folder of our own");
        pmcd.advance(Duration::from_secs(1));
        // Not woken often enough to read all of the file before it is renamed.
        for _ in 0..second {
            pmcd.wait(Duration::ZERO);
        }
        if [4, 6].contains(&second) {
            rename(&path, pmcd.folder().join(format!("log.{second}"))).expect("a folder of our own");
            log = File::create(&path).expect("a folder of our own");
        }
    }
    while pmcd.wait(Duration::ZERO) {}
    assert_eq!((pmcd.agent().lines, pmcd.log()), (240_000, String::new()));
    assert_eq!(pmcd.fetch("counting.lost").expect("a value").value(), Some(0_u64));
}

/// An agent in C reads all lines in its fetch: so can an agent in Rust.
#[test]
fn all_for_a_request() {
    let (mut pmcd, _, mut log) = started();
    pmcd.agent().reads_for_requests = true;
    log.write_all("GET /some/page/of/a/host HTTP/1.1 200 1234\n".repeat(50_000).as_bytes())
        .expect("a folder of our own");
    assert_eq!(pmcd.fetch("counting.lines").expect("a value").value(), Some(50_000_u64));
}

/// A panic costs its line, and is logged.
#[test]
fn panic_in_line() {
    let (mut pmcd, _, mut log) = started();
    for number in 0..50 {
        let word = if number == 10 { "bad" } else { "good" };
        writeln!(log, "{word} {number}").expect("a folder of our own");
    }
    pmcd.advance(Duration::from_secs(1));
    assert!(pmcd.wait(Duration::ZERO));
    let text = pmcd.log();
    assert_eq!(pmcd.agent().lines, 49);
    let expected = "Error: woken: the agent has panicked: a line: told to panic at ";
    assert!(text.starts_with(expected) && text.lines().count() == 1, "{text}");
}
