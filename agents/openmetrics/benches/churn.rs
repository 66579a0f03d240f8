//! Memory of the agent while series come and go: each second a document with a thousand series
//! that stay, and a thousand others of which a hundred are new, with a line FORGET: if its time is
//! given: `cargo bench -p pmda-openmetrics --bench churn -- MINUTES [FORGET]`. A row is a minute.

use std::fmt::Write as _;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use pmda::testing::Harness;
use pmda_openmetrics::OpenMetrics;

/// Series of a document that stay, and that come anew with each document.
const STAY: u64 = 1000;
const NEW: u64 = 100;
/// For so many documents a series is there.
const LIFE: u64 = 10;

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let minutes: u64 = numbers.next().unwrap_or(1);
    let line = numbers
        .next()
        .map_or(String::new(), |seconds: u64| format!("FORGET: {seconds}\n"));
    println!("| minute | series so far | instances | anonymous, KiB | file of numbers, KiB |");
    println!("|---:|---:|---:|---:|---:|");
    let folder = tempfile::tempdir().expect("a directory");
    let page = folder.path().join("page");
    fs::write(&page, document(0)).expect("written");
    fs::create_dir(folder.path().join("config.d")).expect("made");
    let url = format!("file://{}\n{line}", page.display());
    fs::write(folder.path().join("config.d/a.url"), url).expect("written");
    let mut agent: Harness<OpenMetrics> = Harness::builder().folder(folder.path()).start().expect("it starts");
    let begun = Instant::now();
    for second in 1..=minutes * 60 {
        fs::write(&page, document(second)).expect("written");
        let values = agent.fetch("openmetrics.a.m").expect("values");
        assert_eq!(values.len() as u64, STAY + NEW * LIFE);
        if second % 60 == 0 {
            let instances = agent.instances("openmetrics.a.m").expect("instances").len();
            let file = fs::metadata(folder.path().join("config/pmda/144.5120.py")).expect("written");
            println!(
                "| {} | {} | {instances} | {} | {} |",
                second / 60,
                STAY + NEW * (LIFE + second),
                anonymous(),
                file.len() / 1024
            );
        }
        thread::sleep((begun + Duration::from_secs(second)).saturating_duration_since(Instant::now()));
    }
}

fn document(second: u64) -> String {
    let mut text = String::new();
    for series in 0..STAY {
        let _ = writeln!(text, "m{{pod=\"stays-{series}\",namespace=\"default\"}} {second}");
    }
    for series in second * NEW..(second + LIFE) * NEW {
        let _ = writeln!(text, "m{{pod=\"comes-and-goes-{series:08}\",namespace=\"default\"}} 1");
    }
    text
}

/// Resident anonymous memory of this process in KiB.
fn anonymous() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux says");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .expect("RssAnon")
}
