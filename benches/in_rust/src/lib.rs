//! The agent of `agent.c` in Rust: one value, fixed rows with three values each, and jobs of which
//! 1 % are replaced with each fetch. The variables `ROWS` and `JOBS` say how many there are. With
//! the variable `METRICS` so many metrics are declared anew by each fetch of the metric 2.0.

#![forbid(unsafe_code)]

use std::env;
use std::fmt::Write;
use std::process::ExitCode;

use pmda::prelude::*;

struct Rows {
    rows: Indom<Row>,
    jobs: Indom<u32>,
    /// How many rows there are, and how many jobs at a time.
    row_count: u32,
    job_count: u32,
    /// The number of the oldest.
    oldest: u32,
    /// How many metrics are declared anew.
    many: u32,
}

struct Row {
    number: u32,
    bytes: u64,
    text: String,
}

impl Agent for Rows {
    const NAME: &'static str = "rows";
    const DOMAIN: u32 = 250;
    fn start(_: &Env) -> Result<Rows> {
        let number = |name| env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(0);
        let row_count = number("ROWS");
        let row = |number| {
            let text = format!("text of row {number}");
            let bytes = u64::from(number) << 32;
            (format!("row-{number}"), Row { number, bytes, text })
        };
        Ok(Rows {
            rows: Indom::fixed((0..row_count).map(row)),
            jobs: Indom::new(),
            row_count,
            job_count: number("JOBS"),
            oldest: 0,
            many: number("METRICS"),
        })
    }
    fn metrics(m: &mut Metrics<Rows>) {
        let rows = m.indom(0, "Rows", |s| &mut s.rows);
        m.value("size", |s| s.row_count).item(0);
        m.each("number", rows, |row| row.number).item(1);
        m.each("bytes", rows, |row| row.bytes).item(2);
        m.each_text("text", rows, |row| &row.text).item(3);
        m.cluster(1).refresh(|s, _| s.work());
        let jobs = m.indom(1, "Jobs", |s| &mut s.jobs);
        m.each("job", jobs, |job| *job).item(0);
        m.cluster(2).value("many", |s| s.many).item(0);
    }
    fn dynamic(&mut self, m: &mut Metrics<Rows>, request: &Request<'_>) -> Result<()> {
        if request.why() == Why::Fetch && request.wants(2) {
            declare(m, self.many);
        }
        Ok(())
    }
}

/// The number of the first of many clusters.
const CLUSTER: u32 = 100;

/// Names and descriptions of many metrics, in place of those that were there.
fn declare(m: &mut Metrics<Rows>, many: u32) {
    let mut name = String::new();
    for number in 0..many {
        let (cluster, item) = (number / 1000, number % 1000);
        if item == 0 {
            m.drop_cluster(CLUSTER + cluster);
            m.cluster(CLUSTER + cluster);
        }
        name.clear();
        // A string takes all that is written.
        let _ = write!(name, "c{cluster}.group{}.m{number}", item / 100);
        m.value(&name, move |_| item).counter().unit(COUNT);
    }
}

impl Rows {
    fn work(&mut self) -> Result<()> {
        self.oldest += self.job_count / 100;
        let mut name = String::new();
        let mut jobs = self.jobs.update();
        for number in self.oldest..self.oldest + self.job_count {
            name.clear();
            // A string takes all that is written.
            let _ = write!(name, "job-{number}");
            jobs.set(&name, number)?;
        }
        Ok(())
    }
}

pmda::export_dso!(pmda_rows_init, Rows);

/// The agent as a daemon.
#[must_use]
pub fn main() -> ExitCode {
    pmda::run::<Rows>()
}
