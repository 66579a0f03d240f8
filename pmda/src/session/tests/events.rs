//! Event records of either resolution, of a value and of a queue.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::prelude::*;
use crate::testing::{EventRecord, Harness};
use crate::value::{Type, Value};

struct Doors {
    opened: Queue<u32>,
    closed: Queue<u32>,
}

/// The time of all events: later than 32 bits of seconds can tell, and not on a microsecond.
fn time() -> SystemTime {
    UNIX_EPOCH + Duration::new(0x1_0000_0007, 123_456_789)
}

impl Agent for Doors {
    const NAME: &'static str = "doors";
    const DOMAIN: u32 = 410;
    fn start(_: &Env) -> Result<Doors> {
        Ok(Doors {
            opened: Queue::new(2),
            closed: Queue::new(2),
        })
    }
    fn metrics(m: &mut Metrics<Doors>) {
        let door = m.parameter::<u32>("door", |_| ());
        let name = m.parameter::<str>("name", |_| ());
        m.value("now", move |_| {
            let mut events = HighresEvents::highres();
            let flags = EventFlags::POINT | EventFlags::ID;
            events.record(time()).flags(flags).add(door, &7).add(name, "back");
            events.missed(time(), 3);
            events
        });
        m.value("empty", |_| HighresEvents::highres());
        m.value("none", |_| None::<HighresEvents>);
        m.highres_events(
            "opened",
            |s| &mut s.opened,
            move |number, record| {
                record.add(door, number).flags(EventFlags::START);
            },
        );
        m.events(
            "closed",
            |s| &mut s.closed,
            move |number, record| {
                record.add(door, number);
            },
        );
    }
}

fn times(records: &[EventRecord]) -> Vec<u128> {
    let since = |record: &EventRecord| record.time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    records.iter().map(since).collect()
}

#[test]
fn types() -> Result<()> {
    assert_eq!(HighresEvents::TYPE as u8, 10);
    let mut pmcd = Harness::<Doors>::new()?;
    for (name, kind) in [
        ("doors.now", Type::HighresEvent),
        ("doors.opened", Type::HighresEvent),
        ("doors.closed", Type::Event),
    ] {
        assert_eq!(pmcd.desc(name)?.kind, Some(kind), "{name}");
    }
    Ok(())
}

#[test]
fn a_value_of_high_resolution() -> Result<()> {
    let mut pmcd = Harness::<Doors>::new()?;
    let fetched = pmcd.fetch("doors.now")?;
    let [record, missed] = fetched.events() else {
        panic!("{fetched:?}")
    };
    assert_eq!((record.time, missed.time), (time(), time()));
    assert_eq!((record.missed, missed.missed), (None, Some(3)));
    assert_eq!(record.parameter::<u32>("doors.door"), Some(7));
    assert_eq!(record.parameter::<String>("doors.name").as_deref(), Some("back"));
    assert_eq!(record.flags, EventFlags::POINT | EventFlags::ID);
    assert_eq!(format!("{:?} {:?}", record.flags, missed.flags), "POINT | ID NONE");
    let empty = pmcd.fetch("doors.empty")?;
    assert_eq!((empty.len(), empty.events().len()), (1, 0));
    assert!(pmcd.fetch("doors.none")?.is_empty());
    Ok(())
}

#[test]
fn queues_of_either_resolution() -> Result<()> {
    let mut pmcd = Harness::<Doors>::new()?;
    for name in ["doors.opened", "doors.closed"] {
        pmcd.fetch(name)?;
    }
    for number in 0..3 {
        pmcd.agent().opened.push_weighing(1, time(), number);
        pmcd.agent().closed.push_weighing(1, time(), number);
    }
    let opened = pmcd.fetch("doors.opened")?;
    let closed = pmcd.fetch("doors.closed")?;
    assert_eq!(
        times(opened.events())[..2],
        [0x1_0000_0007_u128 * 1_000_000_000 + 123_456_789; 2]
    );
    // 32 bits of seconds, and microseconds.
    assert_eq!(times(closed.events())[..2], [7_123_456_000; 2]);
    for fetched in [&opened, &closed] {
        let doors: Vec<_> = fetched
            .events()
            .iter()
            .map(|record| record.parameter::<u32>("doors.door"))
            .collect();
        assert_eq!(doors, [Some(1), Some(2), None]);
        assert_eq!(fetched.events().last().and_then(|record| record.missed), Some(1));
    }
    Ok(())
}

/// Events that a queue never takes make one line of the log a minute, however many they are.
#[test]
fn lost_events() -> Result<()> {
    let mut pmcd = Harness::<Doors>::new()?;
    for number in 0..1000 {
        pmcd.agent().opened.push_weighing(3, time(), number);
    }
    let sender = pmcd.agent().opened.sender();
    sender.push_weighing(3, time(), 7);
    assert_eq!(pmcd.agent().opened.count(), 1001);
    let log = pmcd.log();
    assert_eq!(log.lines().filter(|line| line.contains("lost")).count(), 1, "{log}");
    Ok(())
}

/// An agent that finds its queues at run time.
struct Logs {
    queues: Vec<Queue<String>>,
}

/// The files that the agent shows, and the users who may read and clear them.
const FILES: [(&str, u32); 3] = [("syslog", 0), ("mail", 8), ("news", 9)];

impl Agent for Logs {
    const NAME: &'static str = "logs";
    const DOMAIN: u32 = 411;
    fn start(_: &Env) -> Result<Logs> {
        let queue = |(_, reader): (&str, u32)| Queue::new(10).readable_by(move |client| client.uid() == Some(reader));
        Ok(Logs {
            queues: FILES.map(queue).into_iter().collect(),
        })
    }
    fn metrics(m: &mut Metrics<Logs>) {
        let line = m.parameter::<str>("line", |_| ());
        for (place, (name, reader)) in FILES.into_iter().enumerate() {
            m.events(
                format!("{name}.lines"),
                move |s| &mut s.queues[place],
                move |text, record| {
                    record.add(line, &format!("{name}: {text}"));
                },
            )
            .writable_by(move |client| client.uid() == Some(reader))
            .store(move |s, text: String, client| {
                let filter = move |line: &String| line.contains(&text);
                s.queues[place].set_filter(client.id(), filter)
            });
        }
    }
}

/// Closures find the queue, tell who may read and store, and show events.
#[test]
fn queues_at_run_time() -> Result<()> {
    let mut pmcd = Harness::<Logs>::new()?;
    pmcd.as_client(8).set_uid(8);
    assert_eq!(pmcd.fetch("logs.syslog.lines").err(), Some(Error::PERMISSION));
    assert_eq!(pmcd.store("logs.news.lines", "x"), Err(Error::PERMISSION));
    assert!(pmcd.fetch("logs.mail.lines")?.is_empty());
    pmcd.store("logs.mail.lines", "b")?;
    for (place, text) in [(0, "a"), (1, "abc"), (1, "acd"), (2, "b")] {
        pmcd.agent().queues[place].push(text.to_owned());
    }
    let fetched = pmcd.fetch("logs.mail.lines")?;
    let lines: Vec<Option<String>> = fetched
        .events()
        .iter()
        .map(|record| record.parameter("logs.line"))
        .collect();
    assert_eq!(lines, [Some("mail: abc".to_owned())]);
    let clients = |pmcd: &mut Harness<Logs>| pmcd.agent().queues.iter().map(Queue::clients).collect::<Vec<_>>();
    assert_eq!(clients(&mut pmcd), [0, 1, 0]);
    pmcd.end_client();
    assert_eq!(clients(&mut pmcd), [0, 0, 0]);
    Ok(())
}
