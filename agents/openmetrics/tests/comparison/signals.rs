//! What pmcd and people do with a running agent: signals, and starting it again.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use pcp_pmda_test::pcp::{self, Pmcd, text};

use crate::host::{Host, Which};

/// A host whose agent has one source.
fn host(test: &str, which: Which) -> Host {
    let host = Host::new(test, which);
    host.add_document("one", "a{x=\"1\"} 1\n");
    host
}

/// Whether the agent serves the value of its source.
fn serves(pmcd: &Pmcd<'_>) -> bool {
    let is_served = |answer: &str| answer.contains("value 1\n");
    pmcd.tool_until("pminfo", &["-f", "openmetrics.one.a"], is_served)
        .is_ok()
}

fn agent(pmcd: &Pmcd<'_>) -> u32 {
    pmcd.agent_pid("openmetrics").expect("pmcd has started it")
}

/// Waits until a process is there no more, or one that nobody has waited for yet.
fn ends(process: u32) -> bool {
    let deadline = Instant::now() + Duration::from_secs(20);
    while Instant::now() < deadline {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        if stat.is_empty() || stat.contains(") Z ") {
            return true;
        }
        thread::sleep(Duration::from_millis(10));
    }
    false
}

/// An agent that was ended by a signal, HUP included, has no metrics; when pmcd gets HUP, pmcd
/// starts the agent again, and all is as before. An agent that still runs stays the same process
/// when pmcd gets HUP (OM-2).
#[test]
fn pmcd_starts_it_again() {
    for which in [Which::Python, Which::Ours] {
        let host = host("again", which);
        let pmcd = host.pmcd();
        let mut process = agent(&pmcd);
        for signal in [Signal::SIGHUP, Signal::SIGTERM, Signal::SIGKILL] {
            pcp::kill(process, signal as i32);
            assert!(ends(process), "{which:?} goes on after {signal}");
            let answer = text(&pmcd.tool("pminfo", &["-f", "openmetrics.control.calls"]));
            assert!(!answer.contains("value"), "{which:?}: {answer}");
            pmcd.signal(Signal::SIGHUP as i32);
            assert!(serves(&pmcd), "{which:?} after {signal}: {}", pmcd.log());
            let again = agent(&pmcd);
            assert_ne!(again, process, "{which:?} after {signal}");
            process = again;
        }
        pmcd.signal(Signal::SIGHUP as i32);
        assert!(serves(&pmcd), "{which:?} after a HUP of pmcd");
        assert_eq!(agent(&pmcd), process, "{which:?}: {}", pmcd.log());
    }
}

/// The agent ends with pmcd, whichever signal ends pmcd (OM-2).
#[test]
fn it_ends_with_pmcd() {
    for which in [Which::Python, Which::Ours] {
        for signal in [Signal::SIGTERM, Signal::SIGKILL] {
            let host = host("ending", which);
            let pmcd = host.pmcd();
            let process = agent(&pmcd);
            pmcd.signal(signal as i32);
            assert!(ends(process), "{which:?} goes on without pmcd, which got {signal}");
        }
    }
}
