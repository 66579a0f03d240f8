//! The cost of a metric or an instance does not depend on their number.

#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

use pmda::prelude::*;
use pmda::testing::Harness;

/// Number of parts, each of ten thousand metrics.
const PARTS: u32 = 10;
const PART: u32 = 10_000;

/// An agent that declares metrics when it is told to.
#[derive(Default)]
struct Many {
    /// Parts to be declared.
    next: Vec<u32>,
    /// The time that each part has taken.
    times: Vec<Duration>,
    rows: Indom<u32>,
}

impl Agent for Many {
    const NAME: &'static str = "many";
    const DOMAIN: u32 = 453;
    fn start(_: &Env) -> Result<Many> {
        Ok(Many::default())
    }
    fn metrics(m: &mut Metrics<Many>) {
        let rows = m.indom(0, "Rows", |s| &mut s.rows);
        m.value("parts", |s| s.times.len());
        m.cluster(1).each("row", rows, |row| *row);
    }
    fn dynamic(&mut self, m: &mut Metrics<Many>, _: &Request<'_>) -> Result<()> {
        for part in std::mem::take(&mut self.next) {
            let start = Instant::now();
            for cluster in 0..PART / 1000 {
                let cluster = 100 + part * 10 + cluster;
                m.drop_cluster(cluster);
                m.cluster(cluster)
                    .set_cluster_labels(Labels::new().add("cluster", cluster));
                for item in 0..1000 {
                    m.value(format!("c{cluster}.group{}.m{item}", item / 100), move |_| item)
                        .counter()
                        .unit(COUNT)
                        .help("One of many\nIts text is as long as such texts are.");
                }
            }
            self.times.push(start.elapsed());
        }
        Ok(())
    }
}

/// Declares parts. Returns the time that each has taken.
fn declare(pmcd: &mut Harness<Many>, parts: impl Iterator<Item = u32>) -> Result<Vec<Duration>> {
    pmcd.agent().times.clear();
    pmcd.agent().next.extend(parts);
    pmcd.fetch("many.parts")?;
    Ok(std::mem::take(&mut pmcd.agent().times))
}

/// Resident memory of this process, in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or(0)
}

/// The shortest of some attempts, since other programs run as well.
fn shortest<R>(mut work: impl FnMut() -> R) -> Duration {
    let times = (0..20).map(|_| {
        let start = Instant::now();
        let result = work();
        let time = start.elapsed();
        drop(result);
        time
    });
    times.min().unwrap_or_default()
}

/// Times of requests that are answered with a few things, however many metrics there are.
fn requests(pmcd: &mut Harness<Many>) -> [Duration; 5] {
    [
        shortest(|| pmcd.children("many.c105")),
        shortest(|| pmcd.desc("many.c105.group3.m303")),
        shortest(|| pmcd.fetch("many.c105.group3.m303")),
        shortest(|| pmcd.instances("many.row")),
        shortest(|| pmcd.children("many.c105.group3.m303")),
    ]
}

/// The last ten thousand metrics cost as much as the first; to declare all of them anew takes no
/// more memory, and clients are not told.
#[test]
fn metrics() -> Result<()> {
    let mut pmcd = Harness::<Many>::new()?;
    declare(&mut pmcd, 0..1)?;
    let few = requests(&mut pmcd);
    let start = Instant::now();
    declare(&mut pmcd, 1..PARTS)?;
    let once = start.elapsed();
    let many = requests(&mut pmcd);
    for (few, many) in few.into_iter().zip(many) {
        assert!(many < 4 * few + Duration::from_micros(50), "{few:?} became {many:?}");
    }
    assert_eq!(pmcd.names()?.len(), (PARTS * PART) as usize + 2);
    let (before, mut times) = (resident(), Vec::new());
    for _ in 0..5 {
        times.extend(declare(&mut pmcd, 0..PARTS)?);
        assert!(!pmcd.fetch("many.parts")?.names_changed());
    }
    let grown = resident().saturating_sub(before);
    assert!(grown < 4 * 1024, "{grown} KiB more");
    let least = |part: usize| times.iter().skip(part).step_by(PARTS as usize).min().copied();
    let (first, last) = (
        least(0).unwrap_or_default(),
        least(PARTS as usize - 1).unwrap_or_default(),
    );
    assert!(last < 3 * first, "the first part took {first:?}, the last one {last:?}");
    eprintln!("90,000 metrics in {once:?}, 10,000 anew in {first:?} to {last:?}");
    Ok(())
}

/// Instances cost the same however many there are, with numbers given or chosen.
#[test]
fn instances() -> Result<()> {
    for is_chosen in [false, true] {
        let (mut rows, mut times) = (Indom::new(), Vec::new());
        for part in 0..20 {
            let start = Instant::now();
            let mut update = rows.change();
            for number in part * 10_000..(part + 1) * 10_000 {
                let name = format!("{number} instance");
                match is_chosen {
                    true => assert!(update.set_at(number, &name, number)?),
                    false => assert_eq!(update.set(&name, number)?, Some(number)),
                }
            }
            drop(update);
            times.push(start.elapsed());
        }
        assert_eq!((rows.len(), rows.get(199_999)), (200_000, Some(&199_999)));
        let least = |times: &[Duration]| times.iter().min().copied().unwrap_or_default();
        let (first, last) = (least(&times[..10]), least(&times[10..]));
        assert!(last < 4 * first, "10,000 took {first:?}, later {last:?}");
    }
    Ok(())
}
