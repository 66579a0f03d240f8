//! Nothing grows faster than the document: time of a first fetch, of one of the same document, of
//! the same in another order, and of labels, with 1,000, 10,000 and 100,000 labels, names of
//! labels, series and metrics. A column that grows by ten from row to row is a straight line:
//! `cargo bench -p pmda-openmetrics --bench growth`.

use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant};

use pmda::testing::Harness;
use pmda_openmetrics::OpenMetrics;

/// Writes a document with many of something.
type Writer = fn(&mut String, usize);

/// What a document has many of.
const KINDS: [(&str, Writer); 5] = [
    ("labels of a sample", |text, count| {
        text.push_str("m{");
        for label in 0..count {
            let _ = write!(text, "l{label}=\"x\",");
        }
        text.push_str("} 1\n");
    }),
    ("names of labels", |text, count| {
        for label in 0..count {
            let _ = writeln!(text, "m{{l{label}=\"x\"}} 1");
        }
    }),
    ("series", |text, count| {
        for series in 0..count {
            let _ = writeln!(text, "m{{l=\"{series}\"}} 1");
        }
    }),
    ("series of many metrics", |text, count| {
        for series in 0..count {
            let _ = writeln!(text, "m{}{{l=\"{series}\"}} 1", series % 1000);
        }
    }),
    ("names, most of them too many", |text, count| {
        for name in 0..count {
            let _ = writeln!(text, "m{name} 1");
        }
    }),
];

fn main() {
    println!("| many | number | first, ms | again, ms | in another order, ms | labels of all, ms |");
    println!("|---|---:|---:|---:|---:|---:|");
    for (kind, write) in KINDS {
        for count in [1000, 10_000, 100_000] {
            let mut text = String::new();
            write(&mut text, count);
            let folder = tempfile::tempdir().expect("a directory");
            let page = folder.path().join("page");
            fs::write(&page, "up 1\n").expect("written");
            fs::create_dir(folder.path().join("config.d")).expect("made");
            let url = format!("file://{}\n", page.display());
            fs::write(folder.path().join("config.d/a.url"), url).expect("written");
            let mut agent: Harness<OpenMetrics> = Harness::builder().folder(folder.path()).start().expect("it starts");
            let fetch = |agent: &mut Harness<OpenMetrics>, text: &str| {
                fs::write(&page, text).expect("written");
                time(|| drop(agent.fetch("openmetrics.a.up")))
            };
            text.push_str("up 1\n");
            let first = fetch(&mut agent, &text);
            let again = fetch(&mut agent, &text);
            let reversed: Vec<&str> = text.lines().rev().collect();
            let other = fetch(&mut agent, &(reversed.join("\n") + "\n"));
            let labels = time(|| {
                for name in ["openmetrics.a.m", "openmetrics.a.m1"] {
                    drop((agent.labels(name), agent.instance_labels(name)));
                }
            });
            println!(
                "| {kind} | {count} | {:.1} | {:.1} | {:.1} | {:.1} |",
                milliseconds(first),
                milliseconds(again),
                milliseconds(other),
                milliseconds(labels)
            );
        }
    }
}

fn time(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
