//! Events with parameters: each client sees each one once, or those that its filter lets pass.

#![forbid(unsafe_code)]
use pmda::prelude::*;
use std::process::ExitCode;

struct Visits {
    visits: Queue<Visit>,
}

/// A visitor has arrived.
struct Visit {
    name: String,
    minutes: u32,
}

impl Agent for Visits {
    const NAME: &'static str = "visits";
    const DOMAIN: u32 = 402;
    fn start(_: &Env) -> Result<Visits> {
        Ok(Visits {
            visits: Queue::new(100),
        })
    }
    fn metrics(m: &mut Metrics<Visits>) {
        let name = m.parameter::<str>("visit.name", |def| def.help("Who has come"));
        let minutes = m.parameter::<u32>("visit.minutes", |def| def.unit(MIN).help("How long they stayed"));
        m.events(
            "visits",
            |s| &mut s.visits,
            move |visit, record| {
                record.add(name, &visit.name).add(minutes, &visit.minutes);
            },
        )
        .help("Visits since the last fetch of the same client\nA client that stores a text sees only visits of those whose names begin so: pmevent -x.")
        .writable_by(|_| true)
        .store(|s, start: String, client| match &*start {
            "" => {
                s.visits.clear_filter(client.id());
                Ok(())
            }
            _ => s
                .visits
                .set_filter(client.id(), move |visit| visit.name.starts_with(&start)),
        });
        m.value("count", |s| s.visits.count())
            .counter()
            .unit(COUNT)
            .help("Visits so far");
        m.value("come", |_| 0_u32)
            .help("Stores a visit\nWho stores minutes here has come for so long.")
            .store(|s, minutes: u32, client| {
                let name = client.user().unwrap_or("nobody").to_owned();
                s.visits.push(Visit { name, minutes });
                Ok(())
            });
    }
}

fn main() -> ExitCode {
    pmda::run::<Visits>()
}

#[cfg(test)]
fn visits_of(pmcd: &mut pmda::testing::Harness<Visits>) -> Result<Vec<(String, u32)>> {
    let fetched = pmcd.fetch("visits.visits")?;
    let visit = |record: &pmda::testing::EventRecord| {
        Some((
            record.parameter("visits.visit.name")?,
            record.parameter("visits.visit.minutes")?,
        ))
    };
    Ok(fetched.events().iter().filter_map(visit).collect())
}

#[cfg(test)]
fn come(pmcd: &mut pmda::testing::Harness<Visits>, name: &str, minutes: u32) {
    pmcd.agent().visits.push(Visit {
        name: name.to_owned(),
        minutes,
    });
}

#[test]
fn each_client_sees_each_event_once() -> Result<()> {
    let mut pmcd = pmda::testing::Harness::<Visits>::new()?;
    assert_eq!(visits_of(&mut pmcd)?, []);
    assert_eq!(visits_of(pmcd.as_client(1))?, []);
    come(&mut pmcd, "tanya", 5);
    come(&mut pmcd, "joe", 7);
    let both = [("tanya".to_owned(), 5), ("joe".to_owned(), 7)];
    assert_eq!(visits_of(pmcd.as_client(0))?, both);
    assert_eq!(visits_of(pmcd.as_client(0))?, []);
    assert_eq!(visits_of(pmcd.as_client(1))?, both);
    pmcd.as_client(0).set_user("joe").store("visits.come", 9)?;
    assert_eq!(visits_of(&mut pmcd)?, [("joe".to_owned(), 9)]);
    assert_eq!(pmcd.fetch("visits.count")?.value(), Some(3));
    Ok(())
}

#[test]
fn filters() -> Result<()> {
    let mut pmcd = pmda::testing::Harness::<Visits>::new()?;
    visits_of(&mut pmcd)?;
    visits_of(pmcd.as_client(1))?;
    pmcd.store("visits.visits", "t")?;
    come(&mut pmcd, "tanya", 5);
    come(&mut pmcd, "joe", 7);
    assert_eq!(visits_of(&mut pmcd)?, [("tanya".to_owned(), 5)]);
    assert_eq!(visits_of(pmcd.as_client(0))?.len(), 2);
    pmcd.as_client(1).store("visits.visits", "")?;
    come(&mut pmcd, "joe", 8);
    assert_eq!(visits_of(&mut pmcd)?.len(), 1);
    // A client that has ended leaves nothing: its number is another one's then.
    pmcd.store("visits.visits", "x")?;
    pmcd.end_client();
    visits_of(&mut pmcd)?;
    come(&mut pmcd, "joe", 9);
    assert_eq!(visits_of(&mut pmcd)?.len(), 1);
    Ok(())
}

#[test]
fn who_comes_late_is_told_what_was_missed() -> Result<()> {
    let mut pmcd = pmda::testing::Harness::<Visits>::new()?;
    visits_of(&mut pmcd)?;
    for minutes in 0..130 {
        come(&mut pmcd, "joe", minutes);
    }
    let fetched = pmcd.fetch("visits.visits")?;
    let records = fetched.events();
    assert_eq!(records.len(), 101);
    assert_eq!(records[0].parameter::<u32>("visits.visit.minutes"), Some(30));
    assert_eq!(records.last().and_then(|record| record.missed), Some(30));
    Ok(())
}
