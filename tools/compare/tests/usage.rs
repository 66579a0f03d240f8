//! The processor time of a process. A program of its own: nothing else runs in it.

use std::process::Command;
use std::thread;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use pcp_pmda_rust_compare::processes::usage;

/// Threads and children that have ended have used time all the same.
#[test]
fn time_of_what_has_ended() {
    let used = || usage(&[std::process::id() as i32]).processor;
    let before = used();
    let work = || {
        let own = || clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from);
        while own() < Duration::from_millis(200) {
            std::hint::spin_loop();
        }
    };
    thread::spawn(work).join().expect("it ends");
    let after_thread = used();
    let counted = after_thread - before;
    assert!(counted >= Duration::from_millis(200), "{counted:?} of a thread");
    assert!(counted < Duration::from_millis(400), "{counted:?} of a thread");

    let script = "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; cut -d ' ' -f 14,15 /proc/$$/stat";
    let child = Command::new("sh").args(["-c", script]).output().expect("sh is there");
    let ticks = String::from_utf8_lossy(&child.stdout).into_owned();
    let ticks: u32 = ticks
        .split_whitespace()
        .filter_map(|ticks| ticks.parse::<u32>().ok())
        .sum();
    assert!(ticks > 3, "{ticks} ticks");
    let counted = used() - after_thread;
    assert!(
        counted >= Duration::from_millis(10) * (ticks - 1),
        "{counted:?} of a child with {ticks} ticks"
    );
}
