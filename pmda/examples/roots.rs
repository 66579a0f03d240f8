//! Several names at the top, as PCP's proc has `proc`, `hotproc` and `cgroup`: `machine`, `loadavg`
//! and `meminfo`. The names of some metrics are declared, others come from `/proc/meminfo`.

#![forbid(unsafe_code)]
use std::collections::BTreeMap;
use std::fs;
use std::process::ExitCode;

use pmda::prelude::*;

#[derive(Default)]
struct Roots {
    /// Seconds since the start.
    uptime: f64,
    /// The average of a minute.
    load: f64,
    /// The lines of `/proc/meminfo`.
    memory: BTreeMap<String, u64>,
}

/// The first number of a text.
fn number(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

/// The name of a metric for a line; none for `Active(anon)`, which cannot be one.
fn name(line: &str) -> Option<String> {
    let root = if line.starts_with("Swap") {
        "machine.swap"
    } else {
        "meminfo"
    };
    line.bytes()
        .all(|byte| byte.is_ascii_alphanumeric())
        .then(|| format!("{root}.{line}"))
}

impl Agent for Roots {
    const NAME: &'static str = "machine";
    const DOMAIN: u32 = 410;
    /// None for all: each name has its own.
    fn root(_: &Env) -> String {
        String::new()
    }
    fn start(_: &Env) -> Result<Roots> {
        Ok(Roots::default())
    }
    fn metrics(m: &mut Metrics<Roots>) {
        // The agent answers for these names; all others are in the files of `--write`.
        m.dynamic_names_below("meminfo").dynamic_names_below("machine.swap");
        m.refresh(|s, _| {
            s.uptime = number(&fs::read_to_string("/proc/uptime")?).unwrap_or_default();
            s.load = number(&fs::read_to_string("/proc/loadavg")?).unwrap_or_default();
            Ok(())
        });
        m.value("machine.uptime", |s| s.uptime)
            .unit(SEC)
            .help("Time since the start");
        m.value("loadavg.minute", |s| s.load).help("Load of the last minute");
    }
    fn begin(&mut self, _: &Request<'_>) -> Result<()> {
        let lines = fs::read_to_string("/proc/meminfo")?;
        let lines = lines.lines().filter_map(|line| line.split_once(':'));
        self.memory = lines
            .filter_map(|(name, rest)| Some((name.to_owned(), number(rest)? as u64)))
            .collect();
        Ok(())
    }
    fn dynamic(&mut self, m: &mut Metrics<Roots>, _: &Request<'_>) -> Result<()> {
        // Their numbers are kept in a file: another kernel has other lines.
        m.cluster(1).numbered_by(1);
        for line in self.memory.keys() {
            let Some(name) = name(line).filter(|name| !m.has(name)) else {
                continue;
            };
            let line = line.clone();
            m.value(&name, move |s| s.memory.get(&line).copied())
                .unit(KBYTE)
                .help("A line of /proc/meminfo");
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    pmda::run::<Roots>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pmda::testing::Harness;

    #[test]
    fn roots() -> Result<()> {
        let mut pmcd = Harness::<Roots>::new()?;
        assert_eq!(pmcd.children("")?, ["loadavg.", "machine.", "meminfo."]);
        assert_eq!(pmcd.children("machine")?, ["swap.", "uptime"]);
        let total: Option<u64> = pmcd.fetch("meminfo.MemTotal")?.value();
        assert!(total > pmcd.fetch("meminfo.MemFree")?.value());
        assert!(pmcd.fetch("machine.uptime")?.value() > Some(0.0));
        assert!(
            pmcd.numbers()
                .starts_with("machine.uptime 410.0.0\nloadavg.minute 410.0.1\n")
        );
        Ok(())
    }
}
