//! Queues of instances, and values of instances that depend on more than their rows.

#![forbid(unsafe_code)]

use pmda::prelude::*;
use pmda::testing::{EventRecord, Harness};

/// Processes, each with the lines that it has written.
struct Traced {
    processes: Indom<Process>,
    /// What is added to each line's number.
    offset: u32,
    stored: Vec<(i32, u32)>,
}

struct Process {
    lines: Queue<u32>,
    pid: u32,
}

impl Process {
    fn new(pid: u32) -> Process {
        Process {
            lines: Queue::new(3),
            pid,
        }
    }
}

impl Agent for Traced {
    const NAME: &'static str = "traced";
    const DOMAIN: u32 = 241;

    fn start(_: &Env) -> Result<Traced> {
        Ok(Traced {
            processes: Indom::fixed([("sh", Process::new(10)), ("make", Process::new(20))]),
            offset: 0,
            stored: Vec::new(),
        })
    }

    fn metrics(m: &mut Metrics<Traced>) {
        let number = m.parameter::<u32>("number", |def| def.help("Number of a line"));
        let processes = m.indom(0, "Processes", |s| &mut s.processes);
        let show = move |line: &u32, record: &mut Record<'_>| {
            record.flags(EventFlags::POINT).add(number, line);
        };
        m.each_events("lines", processes, |process| &mut process.lines, show)
            .writable_by(|_| true)
            .store(|process, least: String, client| {
                let least = least.parse::<u32>()?;
                process.lines.set_filter(client.id(), move |line| *line >= least)
            });
        m.each_highres_events("exact", processes, |process| &mut process.lines, show);
        m.each("clients", processes, |process| process.lines.clients());
        m.each_inst("place", processes, |s, inst| match s.processes.get(inst) {
            Some(process) if process.pid == 30 => Err(Error::BADSTORE),
            Some(process) if process.pid == 40 => panic!("told to panic"),
            Some(process) => Ok(process.pid + s.offset + inst as u32),
            None => Err(Error::INST),
        })
        .store_inst(|s, inst, value: u32, _| {
            s.stored.push((inst, value));
            Ok(())
        });
        m.value("offset", |s| s.offset).store_inst(|s, inst, value: u32, _| {
            s.stored.push((inst, value));
            Ok(())
        });
    }
}

fn lines(pmcd: &mut Harness<Traced>, process: &str) -> Result<Option<Vec<u32>>> {
    let number = |record: &EventRecord| record.parameter("traced.number");
    let fetched = pmcd.fetch("traced.lines")?;
    let records = fetched.events_of(process);
    Ok(records.map(|records| records.iter().filter_map(number).collect()))
}

fn write(pmcd: &mut Harness<Traced>, inst: i32, line: u32) {
    pmcd.agent()
        .processes
        .get_mut(inst)
        .expect("a process")
        .lines
        .push(line);
}

/// Each instance has a queue of its own, whose events each client sees once; a filter is one
/// instance's, and nothing is left of a client that has ended.
#[test]
fn each_instance_has_a_queue() -> Result<()> {
    let mut pmcd = Harness::<Traced>::new()?;
    assert_eq!(pmcd.desc("traced.lines")?.kind, Some(Type::Event));
    assert_eq!(pmcd.desc("traced.exact")?.kind, Some(Type::HighresEvent));
    assert_eq!(lines(&mut pmcd, "sh")?, None);
    write(&mut pmcd, 0, 1);
    write(&mut pmcd, 1, 2);
    write(&mut pmcd, 1, 3);
    let fetched = pmcd.fetch("traced.lines")?;
    assert_eq!(fetched.instances(), [0, 1]);
    let flags = fetched
        .events_of("make")
        .expect("two lines")
        .iter()
        .map(|record| record.flags);
    assert_eq!(flags.collect::<Vec<_>>(), [EventFlags::POINT; 2]);
    assert_eq!(lines(&mut pmcd, "make")?, None);
    // Another client sees what comes after its first look; instances that it does not ask for wait.
    pmcd.as_client(5);
    assert_eq!(lines(&mut pmcd, "make")?, None);
    pmcd.store_instance("traced.lines", "make", "7")?;
    for line in [6, 7] {
        write(&mut pmcd, 0, line);
        write(&mut pmcd, 1, line);
    }
    pmcd.profile("traced.lines", &["make"])?;
    assert_eq!(lines(&mut pmcd, "sh")?, None);
    pmcd.profile_all();
    assert_eq!(lines(&mut pmcd, "sh")?, Some(vec![6, 7]));
    write(&mut pmcd, 1, 1);
    write(&mut pmcd, 1, 8);
    assert_eq!(lines(&mut pmcd, "make")?, Some(vec![8]));
    assert_eq!(pmcd.fetch("traced.clients")?.value_of("make"), Some(2_u64));
    pmcd.end_client();
    assert_eq!(pmcd.fetch("traced.clients")?.value_of("make"), Some(1_u64));
    lines(&mut pmcd, "make")?;
    write(&mut pmcd, 1, 1);
    assert_eq!(lines(&mut pmcd, "make")?, Some(vec![1]));
    Ok(())
}

/// A queue with a history keeps what all clients have seen for the one that comes next, and tells that
/// one how many have gone; a client sees each event once, and counts once.
#[test]
fn a_queue_with_a_history() -> Result<()> {
    let mut pmcd = Harness::<Traced>::new()?;
    let process = pmcd.agent().processes.get_mut(0).expect("a process");
    process.lines = Queue::with_history(3);
    assert_eq!(process.lines.clients(), 0);
    for line in [1, 2] {
        write(&mut pmcd, 0, line);
    }
    assert_eq!(lines(&mut pmcd, "sh")?, Some(vec![1, 2]));
    assert_eq!(lines(&mut pmcd, "sh")?, None);
    for line in [3, 4] {
        write(&mut pmcd, 0, line);
    }
    assert_eq!(lines(&mut pmcd, "sh")?, Some(vec![3, 4]));
    for client in [5, 6] {
        pmcd.as_client(client);
        let fetched = pmcd.fetch("traced.lines")?;
        let records = fetched.events_of("sh").expect("three, and one that has gone");
        assert_eq!(records.last().and_then(|record| record.missed), Some(1));
        let number = |record: &EventRecord| record.parameter("traced.number");
        assert_eq!(records.iter().filter_map(number).collect::<Vec<u32>>(), [2, 3, 4]);
        assert_eq!(lines(&mut pmcd, "sh")?, None);
        pmcd.end_client();
    }
    assert_eq!(pmcd.fetch("traced.clients")?.value_of("sh"), Some(1_u64));
    Ok(())
}

/// A value of an instance may see the agent and the instance's number, and so may its store. One
/// that fails, or panics, costs its own value.
#[test]
fn values_by_number() -> Result<()> {
    let mut pmcd = Harness::<Traced>::new()?;
    pmcd.agent().offset = 100;
    let fetched = pmcd.fetch("traced.place")?;
    assert_eq!(
        (fetched.value_of("sh"), fetched.value_of("make")),
        (Some(110), Some(121))
    );
    pmcd.store_instance("traced.place", "make", 9)?;
    assert_eq!(pmcd.store_instance("traced.place", "vi", 9), Err(Error::INST));
    // A client may store by number, too: that of an instance that has gone, for example.
    let id = pmcd.desc("traced.place")?.id;
    let mut store = pmda_core::wire::encode::ResultBuilder::new();
    store.begin_store(0, 1)?;
    store.open(id, 1)?;
    store.word(7, 9)?;
    store.close(1);
    store.finish()?;
    let reply = pmcd.raw(store.reply().bytes());
    assert_eq!(pmda_core::wire::decode::error(&reply), Ok(Error::INST.code().number()));
    pmcd.store("traced.offset", 8)?;
    assert_eq!(pmcd.agent().stored, [(1, 9), (-1, 8)]);
    for pid in [30, 40] {
        pmcd.agent().processes.get_mut(0).expect("a process").pid = pid;
        let fetched = pmcd.fetch("traced.place")?;
        assert_eq!((fetched.instances(), fetched.value_of("make")), (vec![1], Some(121)));
    }
    let log = pmcd.log();
    for line in [
        "Warning: metric traced.place: instance 0 (\"sh\"): A value that cannot be stored",
        "instance 0: told to panic",
    ] {
        assert!(log.contains(line), "{log}");
    }
    Ok(())
}

/// A weight is whatever the agent says.
#[test]
fn the_heaviest_events() {
    let mut queue = Queue::with_history(usize::MAX);
    for event in 0..3 {
        queue.push_weighing(usize::MAX, std::time::SystemTime::now(), event);
    }
    assert_eq!((queue.count(), queue.weight()), (3, usize::MAX));
}

/// Events as large as their numbers say, in bytes; one of 13 cannot be shown.
struct Large {
    events: Queue<usize>,
    of_one: Indom<Queue<usize>>,
}

impl Agent for Large {
    const NAME: &'static str = "large";
    const DOMAIN: u32 = 242;

    fn start(_: &Env) -> Result<Large> {
        Ok(Large {
            events: Queue::new(10),
            of_one: Indom::fixed([("one", Queue::new(10)), ("two", Queue::new(10))]),
        })
    }

    fn metrics(m: &mut Metrics<Large>) {
        let text = m.parameter::<str>("text", |_| ());
        let show = move |size: &usize, record: &mut Record<'_>| {
            assert!(*size != 13, "told to panic");
            record.add(text, &"x".repeat(*size));
        };
        m.events("events", |s| &mut s.events, show);
        let queues = m.indom(0, "Queues", |s| &mut s.of_one);
        m.each_highres_events("of_one", queues, |queue| queue, show);
        m.value("other", |_| 7_u32);
    }
}

/// The sizes of the texts of events, and how many were missed.
fn sizes(records: &[EventRecord]) -> (Vec<usize>, Option<usize>) {
    let texts = records
        .iter()
        .filter_map(|record| record.parameter::<String>("large.text"));
    let missed = records.last().and_then(|record| record.missed);
    (texts.map(|text| text.len()).collect(), missed)
}

/// What a client sees of the events in its next fetches, beside another metric.
fn fetches(pmcd: &mut Harness<Large>, count: usize) -> Result<Vec<(Vec<usize>, Option<usize>)>> {
    let fetched = (0..count).map(|_| {
        let mut replies = pmcd.fetch_all(&["large.events", "large.other"])?;
        assert_eq!(replies.pop().expect("two")?.value::<u32>(), Some(7));
        Ok(sizes(replies.pop().expect("two")?.events()))
    });
    fetched.collect()
}

/// Events that are too many for one value, of 16 MiB, are for the next fetches of a client, in their
/// order.
#[test]
fn events_for_several_fetches() -> Result<()> {
    const SIX: usize = 6 << 20;
    let mut pmcd = Harness::<Large>::new()?;
    let clients = [3, 4];
    for client in clients {
        pmcd.as_client(client).fetch("large.events")?;
    }
    for more in 0..3 {
        pmcd.agent().events.push(SIX + more);
    }
    // As much as fits into one array, but for the record of missed ones.
    pmcd.agent().events.push((16 << 20) - 4 - 8 - 16 - 8 - 24);
    for client in clients {
        pmcd.as_client(client);
        let expected = [
            (vec![SIX, SIX + 1], None),
            (vec![SIX + 2], None),
            (vec![(16 << 20) - 60], None),
            (vec![], None),
        ];
        assert_eq!(fetches(&mut pmcd, 4)?, expected, "client {client}");
    }
    assert_eq!((pmcd.agent().events.weight(), pmcd.log()), (0, String::new()));
    Ok(())
}

/// An event that alone is too large for a value, or whose function panics, costs itself: each client
/// has the others, and is told of one that it has missed. The log has one line, of panics one until
/// a fetch has none.
#[test]
fn events_that_cannot_be_shown() -> Result<()> {
    const TOO_LARGE: usize = (16 << 20) - 59;
    let mut pmcd = Harness::<Large>::new()?;
    let clients = [3, 4, 5];
    for (bad, lines, line) in [
        (
            TOO_LARGE,
            1,
            "metric large.events: an event is left out: its record is larger than a value may be (16 MiB)",
        ),
        (
            13,
            clients.len(),
            "metric large.events: the agent has panicked: an event: told to panic",
        ),
    ] {
        for client in clients {
            pmcd.as_client(client).fetch("large.events")?;
        }
        for event in [1, bad, 2, bad] {
            pmcd.agent().events.push(event);
        }
        for client in clients {
            pmcd.as_client(client);
            // What comes before one that does not fit behind it is shown first.
            let expected = match bad {
                13 => vec![(vec![1, 2], Some(2)), (vec![], None), (vec![], None)],
                _ => vec![(vec![1], None), (vec![2], Some(1)), (vec![], Some(1))],
            };
            assert_eq!(fetches(&mut pmcd, 3)?, expected, "client {client}");
        }
        let log = pmcd.log();
        assert_eq!(log.lines().filter(|known| known.contains(line)).count(), lines, "{log}");
    }
    Ok(())
}

/// Of instances such an event costs itself, too: other instances have their events.
#[test]
fn events_of_an_instance_that_cannot_be_shown() -> Result<()> {
    let mut pmcd = Harness::<Large>::new()?;
    pmcd.fetch("large.of_one")?;
    for bad in [17 << 20, 13] {
        for event in [bad, 1] {
            pmcd.agent().of_one.get_mut(0).expect("one").push(event);
            pmcd.agent().of_one.get_mut(1).expect("two").push(2);
        }
        let fetched = pmcd.fetch("large.of_one")?;
        let of = |name: &str| fetched.events_of(name).map(sizes);
        assert_eq!(of("one"), Some((vec![1], Some(1))));
        assert_eq!(of("two"), Some((vec![2, 2], None)));
    }
    let log = pmcd.log();
    assert!(
        log.contains("metric large.of_one: instance 0 (\"one\"): an event is left out")
            && log.contains("metric large.of_one: the agent has panicked: an event: told to panic"),
        "{log}"
    );
    Ok(())
}
