//! Event records, which are made up, in a cycle of four fetches.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use pmda::prelude::*;

use crate::{Sample, anybody};

/// The serial of the instance domain.
const EVENTS: u32 = 10;

/// The events of both resolutions.
pub struct EventsMade {
    rows: Indom<Source>,
    low: Rc<Fetches>,
    high: Rc<Fetches>,
}

/// The numbers of fetches.
#[derive(Default)]
struct Fetches {
    of_fungus: Cell<i32>,
    of_others: Cell<i32>,
}

/// An instance: fungus has the cycle of four fetches.
struct Source {
    is_fungus: bool,
    low: Rc<Fetches>,
    high: Rc<Fetches>,
}

/// The parameters of the records.
#[derive(Clone, Copy)]
struct Params {
    kind: Param<i32>,
    p_32: Param<i32>,
    p_u32: Param<u32>,
    p_64: Param<i64>,
    p_u64: Param<u64>,
    p_float: Param<f32>,
    p_double: Param<f64>,
    p_string: Param<str>,
    p_aggregate: Param<[u8]>,
}

impl EventsMade {
    /// Both before their first fetch.
    pub fn new() -> EventsMade {
        let (low, high) = (Rc::new(Fetches::default()), Rc::new(Fetches::default()));
        let source = |is_fungus| Source {
            is_fungus,
            low: Rc::clone(&low),
            high: Rc::clone(&high),
        };
        EventsMade {
            rows: Indom::fixed([("fungus", source(true)), ("bogus", source(false))]),
            low,
            high,
        }
    }
}

impl Fetches {
    fn set(&self, count: i32) {
        self.of_fungus.set(count);
        self.of_others.set(count);
    }

    /// Adds the records of the next fetch.
    fn add<const HIGHRES: bool>(&self, events: &mut Events<HIGHRES>, is_fungus: bool, missed: usize, params: Params) {
        let now = SystemTime::now();
        if !is_fungus {
            let fetch = self.of_others.replace(self.of_others.get().wrapping_add(1));
            let mut add = |text: &str| {
                events.record(now).flags(EventFlags::POINT).add(params.p_string, text);
            };
            add(&format!("fetch #{fetch}"));
            if fetch % 3 == 0 {
                add("bingo!");
            }
            return;
        }
        let fetch = self.of_fungus.replace(self.of_fungus.get().wrapping_add(1));
        let at = |second: u64| now - Duration::from_secs(10 - second);
        match if fetch < 0 { fetch } else { fetch % 4 } {
            1 => {
                events.record(at(0)).flags(EventFlags::POINT);
            }
            2 => {
                events.record(at(0)).flags(EventFlags::POINT).add(params.kind, &1);
                events
                    .record(at(1))
                    .flags(EventFlags::POINT)
                    .add(params.kind, &2)
                    .add(params.p_64, &-3);
            }
            3 => {
                events
                    .record(at(0))
                    .flags(EventFlags::START | EventFlags::ID | EventFlags::PARENT)
                    .add(params.kind, &4)
                    .add(params.p_u64, &5)
                    .add(params.p_string, "6");
                events
                    .record(at(1))
                    .flags(EventFlags::POINT)
                    .add(params.kind, &7)
                    .add(params.p_double, &8.0)
                    .add(params.p_double, &-9.0);
                events
                    .record(at(2))
                    .flags(EventFlags::END)
                    .add(params.kind, &10)
                    .add(params.p_u64, &11)
                    .add(params.p_string, "twelve")
                    .add(params.p_string, "thirteen")
                    .add(params.p_32, &-14)
                    .add(params.p_u32, &15);
                events.missed(at(3), missed);
                events
                    .record(at(4))
                    .flags(EventFlags::POINT)
                    .add(params.kind, &16)
                    .add(params.p_float, &-17.0)
                    .add(params.p_aggregate, &[0o1, 0o3, 0o7, 0o17, 0o37, 0o77, 0o177, 0o377][..]);
            }
            -1 => {
                events.record(at(0)).flags(EventFlags::POINT).add(params.kind, &-1);
            }
            _ => {}
        }
    }
}

/// Finds the numbers of fetches of one resolution.
type Find = fn(&Sample) -> &Fetches;

/// Declares the metrics.
pub fn declare(m: &mut Metrics<Sample>) {
    macro_rules! parameter {
        ($item:literal, $name:literal) => {
            m.parameter($name, |def| {
                def.item($item).help("A parameter of events");
            })
        };
    }
    let params = Params {
        kind: parameter!(127, "event.type"),
        p_32: parameter!(128, "event.param_32"),
        p_u32: parameter!(129, "event.param_u32"),
        p_64: parameter!(130, "event.param_64"),
        p_u64: parameter!(131, "event.param_u64"),
        p_float: parameter!(132, "event.param_float"),
        p_double: parameter!(133, "event.param_double"),
        p_string: parameter!(134, "event.param_string"),
        p_aggregate: parameter!(135, "event.param_aggregate"),
    };
    let rows = m.indom(EVENTS, "Sources of events\nOne with a cycle, and one without.", |s| {
        &mut s.events.rows
    });
    m.each("event.records", rows, move |source| {
        let mut events = Events::new();
        source.low.add(&mut events, source.is_fungus, 7, params);
        events
    })
    .item(136)
    .help("Records that are made up");
    m.each("event.highres_records", rows, move |source| {
        let mut events = Events::highres();
        source.high.add(&mut events, source.is_fungus, 7000, params);
        events
    })
    .item(139)
    .help("Records with times in nanoseconds");
    m.value("event.no_indom_records", move |s| {
        let mut events = Events::new();
        s.events.low.add(&mut events, false, 7, params);
        events
    })
    .item(137)
    .help("Records without an instance");
    let resets: [(u32, &str, Find); 2] = [
        (126, "reset", |s| &s.events.low),
        (140, "reset_highres", |s| &s.events.high),
    ];
    for (item, name, fetches) in resets {
        m.value(format!("event.{name}"), move |s| fetches(s).of_fungus.get() % 4)
            .item(item)
            .help("The place in the cycle of records, which clients may change")
            .writable_by(anybody)
            .store(move |s, value: i32, _| {
                fetches(s).set(value);
                Ok(())
            });
    }
}
