//! The comparison of archives with what their values say of themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::process::Command;

use pcp_pmda_test::pcp::{home, installed};

use super::sources::{BELOW, Oracle, SINGULAR, Sources, TIMES, instances};

/// The tenths of seconds by which a value may be older than its record, beside the age of its document.
const LATE: u64 = 40;
/// As much for PCP's agent, which does not say how old a document is.
const LATE_OF_PYTHON: u64 = 100;
/// The tenths of seconds by which it may be younger.
const EARLY: u64 = 15;

/// What all archives show.
#[derive(Default)]
pub struct Verdict {
    values: u64,
    records: u64,
    /// Sources without values in a record, where a control metric says why.
    explained: u64,
    /// Records while no agent was there.
    away: u64,
    wrong: Vec<String>,
    unexplained: Vec<String>,
}

/// The values of a record: by metric and instance, as text.
type Record = BTreeMap<(String, String), String>;

impl Verdict {
    /// Returns whether no value is wrong, and each that is missing is explained.
    pub fn is_good(&self) -> bool {
        self.wrong.is_empty() && self.unexplained.is_empty() && self.values > 1000
    }

    /// Reads an archive.
    pub fn judge(&mut self, archive: &Path, sources: &Sources) {
        let output = Command::new(installed("usr/bin/pmdumplog"))
            .env("PCP_CONF", home().join("pcp.conf"))
            .env("TZ", "UTC")
            .arg(archive)
            .output()
            .expect("pmdumplog");
        let text = String::from_utf8_lossy(&output.stdout);
        let mut known: BTreeSet<String> = BTreeSet::new();
        let (mut time, mut metric, mut record) = (None, String::new(), Record::new());
        for line in text.lines() {
            if let Some(next) = record_time(line) {
                self.end(archive, time, &record, &mut known, sources);
                (time, record) = (Some(next), Record::new());
                continue;
            }
            let mut rest = line.trim_start();
            if let Some((_, named)) = rest
                .split_once(" (")
                .filter(|_| rest.starts_with(|c: char| c.is_ascii_digit()))
            {
                let Some((name, value)) = named.split_once("):") else {
                    continue;
                };
                name.clone_into(&mut metric);
                rest = value.trim_start();
            }
            if let Some((instance, value)) = rest
                .strip_prefix("inst [")
                .and_then(|rest| rest.split_once("\"] value "))
            {
                let (_, instance) = instance.split_once(" or \"").unwrap_or(("", instance));
                record.insert((metric.clone(), instance.to_owned()), value.to_owned());
            } else if let Some(value) = rest.strip_prefix("value ") {
                record.insert((metric.clone(), String::new()), value.to_owned());
            }
        }
        self.end(archive, time, &record, &mut known, sources);
    }

    fn end(
        &mut self,
        archive: &Path,
        time: Option<u64>,
        record: &Record,
        known: &mut BTreeSet<String>,
        sources: &Sources,
    ) {
        let Some(time) = time else { return };
        let is_ours = |(metric, _): &(String, String)| metric.starts_with("openmetrics.");
        if !record.keys().any(is_ours) {
            self.away += u64::from(!known.is_empty());
            return;
        }
        self.records += 1;
        let control = |metric: &str, source: &str| {
            let key = (format!("openmetrics.control.{metric}"), source.to_owned());
            record.get(&key).map(String::as_str)
        };
        let is_python = !record.keys().any(|(metric, _)| metric == "openmetrics.control.up");
        let place = |what: &str| format!("{} at {time}: {what}", archive.display());
        let mut seen: BTreeMap<u32, BTreeSet<(u64, u64)>> = BTreeMap::new();
        let mut times: BTreeMap<u32, u64> = BTreeMap::new();
        for ((metric, instance), value) in record {
            let Some(name) = metric.strip_prefix("openmetrics.") else {
                continue;
            };
            if name.starts_with("control.") {
                continue;
            }
            self.values += 1;
            let digits: String = value
                .trim_matches('"')
                .chars()
                .take_while(char::is_ascii_digit)
                .collect();
            let whole = digits.len() == value.trim_matches('"').len();
            let (Some(oracle), Some(named), true) = (digits.parse().ok().map(Oracle::of), Oracle::named(name), whole)
            else {
                // A float has seven digits, and says no more than it can.
                if !(name.ends_with(".edit") && value.contains("e+")) {
                    self.wrong.push(place(&format!("{metric}[{instance}] {value}")));
                }
                continue;
            };
            let number = instance
                .split_once("i:")
                .map(|(_, rest)| rest.split(' ').next().unwrap_or(rest));
            let number = number.map_or(Some(SINGULAR), |number| number.parse().ok());
            // A metric that was singular at first has the value of whatever instance comes later (OM-60).
            let is_instance = number == Some(oracle.instance) || number == Some(SINGULAR) && oracle.metric > 3;
            let source = if named.0 == BELOW {
                "s1.below".to_owned()
            } else {
                format!("s{}", named.0)
            };
            let age = control("document_age", &source).and_then(|age| age.parse::<u64>().ok());
            let late = age.map_or(LATE_OF_PYTHON, |age| age / 100 + LATE);
            let old = (time + TIMES + EARLY - oracle.time) % TIMES;
            if (oracle.source, oracle.metric) != named || !is_instance || old > late + EARLY {
                let old = old as i64 - EARLY as i64;
                self.wrong.push(place(&format!(
                    "{metric}[{instance}] {value}: {oracle:?}, {old} tenths of seconds old"
                )));
            }
            known.insert(metric.clone());
            seen.entry(named.0)
                .or_default()
                .insert((oracle.metric, oracle.instance));
            times.insert(named.0, oracle.time);
        }
        if is_python {
            return;
        }
        for source in sources.all() {
            let name = format!("s{source}");
            let shown = seen.get(&source);
            let mut wanted = vec![("m1", 2, SINGULAR), ("m2", 3, 1), ("m2", 3, 2)];
            if let Some(time) = times.get(&source) {
                wanted.extend(instances(*time).map(|instance| ("total", 1, instance)));
            }
            let is_missing = |(metric, number, instance): &&(&str, u64, u64)| {
                known.contains(&format!("openmetrics.{name}.{metric}"))
                    && !shown.is_some_and(|shown| shown.contains(&(*number, *instance)))
            };
            let Some(missing) = wanted.iter().find(is_missing) else {
                continue;
            };
            let status = control("status", &name);
            let says = status != Some("\"success\"") || control("samples_lost", &name).is_some_and(|lost| lost != "0");
            if says {
                self.explained += 1;
            } else {
                self.unexplained
                    .push(place(&format!("{name} has no {missing:?}, status {status:?}")));
            }
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{} values in {} records, {} wrong; of sources in a record, {} without some values, as control.status says, \
             {} without a reason; {} records without the agent",
            self.values,
            self.records,
            self.wrong.len(),
            self.explained,
            self.unexplained.len(),
            self.away
        )?;
        for line in self.wrong.iter().take(10).chain(self.unexplained.iter().take(10)) {
            write!(out, "\n  {line}")?;
        }
        Ok(())
    }
}

/// The time of a record, in tenths of seconds modulo [`TIMES`], as sources count it: `HH:MM:SS.uuuuuu N metrics`.
fn record_time(line: &str) -> Option<u64> {
    let (time, rest) = line.split_once(' ')?;
    if !rest.contains(" metric") {
        return None;
    }
    let mut parts = time.split(':');
    let mut next = || parts.next()?.parse::<f64>().ok();
    let (hours, minutes, seconds) = (next()?, next()?, next()?);
    // A day has a whole number of times TIMES less some: days since 1970 are added.
    let day = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .ok()?
        .as_secs()
        / 86_400;
    let tenths = ((hours * 60.0 + minutes) * 60.0 + seconds) * 10.0;
    Some((day * 864_000 + tenths as u64) % TIMES)
}
