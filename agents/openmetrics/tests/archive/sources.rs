//! Sources whose values say what they are.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::host::Host;

/// The sources with an address, from 0; the next ones have files, and the last ones are scripts.
pub const WEB: u32 = 20;
const FILES: u32 = 5;
const SCRIPTS: u32 = 5;
/// The source whose file lies below the name of source 1.
pub const BELOW: u32 = 99;

/// The number of an instance in the value of a metric without instances.
pub const SINGULAR: u64 = 999;

/// Times in values are tenths of seconds, modulo this.
pub const TIMES: u64 = 10_000;

/// The tenths of seconds for which an instance is followed by another one.
const STAYS: u64 = 30;

/// The name below the source, and its number in values. Names from `fresh_0` on have numbers from 10 on.
const METRICS: [(&str, u64); 6] = [
    ("total", 1),
    ("m1", 2),
    ("m2", 3),
    ("edit", 4),
    ("shape", 5),
    ("sub.up", 6),
];

/// What a value says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Oracle {
    pub source: u32,
    pub metric: u64,
    pub instance: u64,
    /// Tenths of seconds.
    pub time: u64,
}

impl Oracle {
    fn value(self) -> u64 {
        ((u64::from(self.source) * 100 + self.metric) * 1000 + self.instance) * TIMES + self.time
    }

    /// What a value says.
    pub fn of(value: u64) -> Oracle {
        let (time, rest) = (value % TIMES, value / TIMES);
        let (instance, rest) = (rest % 1000, rest / 1000);
        let source = u32::try_from(rest / 100).unwrap_or(u32::MAX);
        Oracle {
            source,
            metric: rest % 100,
            instance,
            time,
        }
    }

    /// The name of the source and of the metric, below the root.
    pub fn named(name: &str) -> Option<(u32, u64)> {
        let (source, metric) = name.split_once('.')?;
        let source: u32 = source.strip_prefix('s')?.parse().ok()?;
        if let (1, Some(below)) = (source, metric.strip_prefix("below.")) {
            return Some((BELOW, number(below)?));
        }
        Some((source, number(metric)?))
    }
}

fn number(metric: &str) -> Option<u64> {
    if let Some(fresh) = metric.strip_prefix("fresh_") {
        return Some(10 + fresh.parse::<u64>().ok()?);
    }
    METRICS
        .iter()
        .find(|(name, _)| *name == metric)
        .map(|(_, number)| *number)
}

/// Tenths of seconds since 1970, modulo [`TIMES`].
fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis() / 100).unwrap_or_default() % TIMES
}

/// The instances of `total` in a document of this time.
pub fn instances(time: u64) -> impl Iterator<Item = u64> {
    (0..4).map(move |more| time / STAYS + more)
}

/// The document of a source. For PCP's agent, which gives a name to whoever sends it first, it has none that
/// lies in another source.
fn document(source: u32, time: u64, is_for_python: bool) -> String {
    let value = |metric: u64, instance: u64| {
        Oracle {
            source,
            metric,
            instance,
            time,
        }
        .value()
    };
    let mut text = String::new();
    // A type that changes.
    text += if time / 50 % 2 == 0 {
        "# TYPE total counter\n"
    } else {
        "# TYPE total gauge\n"
    };
    for instance in instances(time) {
        text += &format!("total{{i=\"{instance}\",o=\"x\"}} {}\n", value(1, instance));
    }
    text += &format!("# HELP m1 A gauge.\nm1 {}\n", value(2, SINGULAR));
    for instance in [1, 2] {
        text += &format!("m2{{i=\"{instance}\"}} {}\n", value(3, instance));
    }
    text += &format!("edit{{i=\"3\"}} {}\n", value(4, 3));
    // With and without labels.
    text += &match time / 70 % 2 {
        0 => format!("shape {}\n", value(5, SINGULAR)),
        _ => format!("shape{{i=\"7\"}} {}\n", value(5, 7)),
    };
    // New metrics, and such that were there before.
    let fresh = time / 100 % 20;
    text += &format!("fresh_{fresh}{{i=\"1\"}} {}\n", value(10 + fresh, 1));
    if source == 1 && !is_for_python {
        // Whoever is shown this as `s1.below.m1` is shown a wrong value.
        text += &format!("below:m1 {}\nbelow {}\n", value(2, SINGULAR), value(2, SINGULAR));
    }
    text
}

/// Sources of all kinds, which go on until the process ends.
pub struct Sources {
    ports: [u16; 2],
    folder: PathBuf,
    is_for_python: Arc<AtomicBool>,
}

impl Sources {
    /// Adds the sources to a host.
    pub fn start(host: &Host) -> Sources {
        let is_for_python = Arc::new(AtomicBool::new(false));
        let ports = [0, 1].map(|_| serve(Arc::clone(&is_for_python)));
        let folder = host.source_file("");
        let sources = Sources {
            ports,
            folder,
            is_for_python,
        };
        for source in 0..WEB {
            sources.write(source, 0, "");
        }
        host.add_url("s1/below", &format!("http://127.0.0.1:{}/{BELOW}\n", ports[0]));
        let files: Vec<(u32, PathBuf)> = (WEB..WEB + FILES)
            .map(|source| {
                host.add_document(&format!("s{source}"), &document(source, now(), false));
                (source, host.page(&format!("s{source}")))
            })
            .collect();
        thread::spawn(move || {
            loop {
                for (source, page) in &files {
                    let new = page.with_extension("new");
                    if fs::write(&new, document(*source, now(), false)).is_ok() {
                        let _ = fs::rename(new, page);
                    }
                }
                thread::sleep(Duration::from_millis(200));
            }
        });
        for source in WEB + FILES..WEB + FILES + SCRIPTS {
            host.add_script(&format!("s{source}.sh"), &script(source));
        }
        sources
    }

    /// Names of all sources that are asked for completeness.
    pub fn all(&self) -> impl Iterator<Item = u32> {
        0..WEB + FILES + SCRIPTS
    }

    fn write(&self, source: u32, port: usize, lines: &str) {
        let text = format!("http://127.0.0.1:{}/{source}\n{lines}\n", self.ports[port]);
        let (new, file) = (self.folder.join(".new"), self.folder.join(format!("s{source}.url")));
        fs::write(&new, text).expect("target is writable");
        fs::rename(new, file).expect("target is writable");
    }

    /// Gives the file of a source this line, and no other one.
    pub fn edit(&self, source: u32, line: &str) {
        self.write(source, 0, line);
    }

    /// Gives a source another address.
    pub fn move_to_another_port(&self, source: u32) {
        self.write(source, 1, "");
    }

    /// The documents are for PCP's agent, or are not.
    pub fn for_python(&self, is_for_python: bool) {
        self.is_for_python.store(is_for_python, Ordering::Relaxed);
    }
}

/// A script that writes a document; time and values are those of [`document`].
fn script(source: u32) -> String {
    let of = |metric: u64, instance: &str| {
        let first = (u64::from(source) * 100 + metric) * 1000;
        format!("$(( ({first} + {instance}) * {TIMES} + t ))")
    };
    format!(
        "t=$(( $(date +%s%N) / 100000000 % {TIMES} ))\n\
         for more in 0 1 2 3; do i=$(( t / {STAYS} + more )); echo \"total{{i=\\\"$i\\\",o=\\\"x\\\"}} {}\"; done\n\
         echo \"m1 {}\"\necho \"m2{{i=\\\"1\\\"}} {}\"\necho \"m2{{i=\\\"2\\\"}} {}\"",
        of(1, "i"),
        of(2, "999"),
        of(3, "1"),
        of(3, "2"),
    )
}

/// Answers requests for `/N` with the document of source N, on connections that are kept.
fn serve(is_for_python: Arc<AtomicBool>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let port = listener.local_addr().expect("bound").port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let is_for_python = Arc::clone(&is_for_python);
            thread::spawn(move || answer(stream, &is_for_python));
        }
    });
    port
}

fn answer(mut stream: TcpStream, is_for_python: &AtomicBool) -> Option<()> {
    let (mut asked, mut bytes) = (Vec::new(), [0; 4096]);
    loop {
        let count = stream.read(&mut bytes).ok().filter(|count| *count > 0)?;
        asked.extend_from_slice(&bytes[..count]);
        if !asked.ends_with(b"\r\n\r\n") {
            continue;
        }
        let text = String::from_utf8_lossy(&asked).into_owned();
        asked.clear();
        let path = text.split(' ').nth(1)?;
        let source = path.trim_start_matches('/').parse().ok()?;
        let body = document(source, now(), is_for_python.load(Ordering::Relaxed));
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).ok()?;
    }
}
