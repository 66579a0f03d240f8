//! 10,000 jobs; with each fetch 1 % of them end, and as many begin. Instances that come and go,
//! their labels, and a metric for each kind of job that exists at the moment.

#![forbid(unsafe_code)]
use pmda::prelude::*;
use std::process::ExitCode;

/// The number of jobs at a time.
const JOBS: u64 = 10_000;
/// Kinds of jobs: a job has one by its number.
const KINDS: [&str; 4] = ["build", "copy", "scan", "sort"];

struct Churn {
    /// The number of the oldest job.
    oldest: u64,
    jobs: Indom<Job>,
    /// Numbers of jobs of each kind that have begun.
    begun: [u64; KINDS.len()],
}

struct Job {
    kind: usize,
    done: u64,
}

/// Jobs of one kind come ten thousand at a time: there are one or two kinds at a time.
fn kind(number: u64) -> usize {
    (number / JOBS) as usize % KINDS.len()
}

impl Agent for Churn {
    const NAME: &'static str = "churn";
    const DOMAIN: u32 = 401;
    fn start(env: &Env) -> Result<Churn> {
        let jobs = if env.option("keep").is_some() {
            Indom::persistent()
        } else {
            Indom::new()
        };
        let mut churn = Churn {
            oldest: 0,
            jobs,
            begun: [0; KINDS.len()],
        };
        churn.work()?;
        Ok(churn)
    }
    const OPTIONS: &'static [Opt] = &[Opt::new("keep").short('k').help("keep the numbers of jobs in a file")];
    fn metrics(m: &mut Metrics<Churn>) {
        m.cluster(0).refresh(|s, request| {
            if request.why() == Why::Fetch {
                s.oldest += JOBS / 100;
            }
            s.work()
        });
        let jobs = m.indom(0, "Jobs\nA job is named by its number.", |s| &mut s.jobs);
        m.instance_labels(jobs, |_, job| Labels::new().add("kind", KINDS[job.kind]));
        m.each("job.done", jobs, |job| job.done)
            .counter()
            .unit(COUNT)
            .help("What each job has done");
        m.each_text("job.kind", jobs, |job| KINDS[job.kind])
            .discrete()
            .help("What each job is");
        m.value("oldest", |s| s.oldest).help("The number of the oldest job");
    }
    fn dynamic(&mut self, m: &mut Metrics<Churn>, _: &Request<'_>) -> Result<()> {
        m.cluster(1).numbered_by(1);
        for (kind, name) in KINDS.iter().enumerate() {
            let name = format!("kind.{name}");
            let is_there = [self.oldest, self.oldest + JOBS - 1].map(crate::kind).contains(&kind);
            if is_there && !m.has(&name) {
                m.value(&name, move |s| s.begun[kind])
                    .counter()
                    .unit(COUNT)
                    .help("Jobs of a kind that is there now");
            } else if !is_there {
                m.remove(&name);
            }
        }
        Ok(())
    }
}

impl Churn {
    fn work(&mut self) -> Result<()> {
        let mut jobs = self.jobs.update();
        for number in self.oldest..self.oldest + JOBS {
            let kind = kind(number);
            let begun = &mut self.begun[kind];
            let job = jobs.row(&format!("job-{number}"), || {
                *begun += 1;
                Job { kind, done: 0 }
            })?;
            if let Some(job) = job {
                job.done += 1;
            }
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    pmda::run::<Churn>()
}

#[test]
fn numbers_keep_their_meaning() -> Result<()> {
    let mut pmcd = pmda::testing::Harness::<Churn>::new()?;
    let before = pmcd.instances("churn.job.done")?;
    let fetched = pmcd.fetch("churn.job.done")?;
    assert_eq!((before.len(), fetched.len()), (10_000, 10_000));
    let after = pmcd.instances("churn.job.done")?;
    assert_eq!(before[100..], after[..9_900]);
    assert_eq!(after.last(), Some(&(10_099, "job-10099".to_owned())));
    assert_eq!(fetched.value_of::<u64>("job-99"), None);
    assert!(fetched.value_of::<u64>("job-100") > fetched.value_of::<u64>("job-10099"));
    Ok(())
}

#[test]
fn metrics_come_and_go() -> Result<()> {
    let mut pmcd = pmda::testing::Harness::<Churn>::new()?;
    let sort = |pmcd: &mut pmda::testing::Harness<Churn>| pmcd.desc("churn.kind.sort").map(|desc| desc.id);
    let kinds = ["churn.job.done", "churn.job.kind", "churn.kind.build", "churn.oldest"];
    assert_eq!(pmcd.names()?, kinds);
    assert_eq!(sort(&mut pmcd).err(), Some(Error::NAME));
    pmcd.agent().oldest = 30_000;
    let id = sort(&mut pmcd)?;
    assert!(pmcd.fetch("churn.kind.sort")?.names_changed());
    assert!(!pmcd.fetch("churn.kind.sort")?.names_changed());
    // Metrics that the refresh finds have their names in the same request.
    assert!(pmcd.fetch("churn.oldest")?.names_changed());
    assert!(pmcd.fetch("churn.kind.build").is_ok());
    assert_eq!(pmcd.fetch("churn.kind.copy").err(), Some(Error::NAME));
    let mut pmcd = pmcd.restart()?;
    pmcd.agent().oldest = 29_000;
    assert_eq!(sort(&mut pmcd)?, id);
    let labels = pmcd.instance_labels("churn.job.done")?;
    assert_eq!(labels[0], ("job-29000".to_owned(), r#"{"kind":"scan"}"#.to_owned()));
    assert_eq!(labels.len(), 10_000);
    Ok(())
}
