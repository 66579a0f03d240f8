//! A domain as that of processes: numbers grow, wrap, and come and go by chance, the same after each
//! reset.

use std::time::Instant;

use pmda::prelude::*;

use crate::random::Standard;
use crate::{Sample, anybody};

/// The serial of the instance domain.
const PROCS: u32 = 12;

/// The items of its metrics.
const ITEMS: std::ops::Range<u32> = 156..159;

/// The slots for processes; those in the first four stay.
const SLOTS: usize = 20;
const FIXED: usize = 4;

/// The greatest number of a process.
const LAST: i32 = 999;

/// The parts of the names of programs.
const FIRST_PARTS: [&str; 4] = ["/etc", "/usr", "/usr/local", "/usr/opt"];
const SECOND_PARTS: [&str; 2] = ["", "/bin"];
const THIRD_PARTS: [&str; 10] = [
    "/bozo", "/bobo", "/jester", "/loko", "/pierrot", "/waldo", "/yobo", "/jojo", "/koko", "/lala",
];

/// The processes.
pub struct Procs {
    rows: Indom<Proc>,
    /// The number of the process in each slot.
    slots: [Option<i32>; SLOTS],
    random: Standard,
    /// The number of processes so far.
    started: u32,
    last: i32,
}

/// A process.
struct Proc {
    ordinal: u32,
    program: String,
    start: Instant,
}

impl Procs {
    /// No processes: they come with the first fetch.
    pub fn new() -> Procs {
        Procs {
            rows: Indom::new().whole_names(),
            slots: [None; SLOTS],
            random: Standard(1),
            started: 0,
            last: 0,
        }
    }

    /// Lets processes come and go, before a fetch of their metrics.
    ///
    /// # Errors
    /// Those of [`Indom`].
    pub fn begin(&mut self, request: &Request<'_>) -> Result<()> {
        if !ITEMS.into_iter().any(|item| request.wants_item(0, item)) {
            return Ok(());
        }
        if self.rows.is_empty() {
            return (0..FIXED).try_for_each(|slot| self.start(slot, request.now()));
        }
        for slot in FIXED..SLOTS {
            if let Some(inst) = self.slots[slot] {
                if self.random.fraction() < 0.075 {
                    self.rows.change().hide_at(inst);
                    self.slots[slot] = None;
                }
            }
        }
        for slot in FIXED..SLOTS {
            if self.slots[slot].is_none() && self.random.fraction() < 0.075 {
                self.start(slot, request.now())?;
            }
        }
        Ok(())
    }

    fn start(&mut self, slot: usize, now: Instant) -> Result<()> {
        loop {
            self.last = self.last % LAST + 1;
            if self.rows.get(self.last).is_none() {
                break;
            }
        }
        self.started += 1;
        // The first one is init, which has no parts.
        let path = match self.started.checked_sub(2) {
            None => "init".to_owned(),
            Some(count) => {
                let part = |parts: &[&'static str]| parts[count as usize % parts.len()];
                [part(&FIRST_PARTS), part(&SECOND_PARTS), part(&THIRD_PARTS)].concat()
            }
        };
        let name = format!("{:04} {path}", self.started);
        let program = path
            .rsplit_once('/')
            .map_or(name.as_str(), |(_, program)| program)
            .to_owned();
        let row = Proc {
            ordinal: self.started,
            program,
            start: now,
        };
        self.rows.change().set_at(self.last, &name, row)?;
        self.slots[slot] = Some(self.last);
        Ok(())
    }

    fn reset(&mut self) {
        *self = Procs::new();
    }
}

/// Declares the metrics.
pub fn declare(m: &mut Metrics<Sample>) {
    let rows = m.indom(PROCS, "Processes that are none\nThey come and go by chance.", |s| {
        &mut s.procs.rows
    });
    m.each("proc.ordinal", rows, |proc| proc.ordinal)
        .item(156)
        .help("The place of each process in their order");
    m.each_text("proc.exec", rows, |proc| &proc.program)
        .item(157)
        .help("The program of each process");
    m.each("proc.time", rows, |proc| proc.start.elapsed().as_millis() as u64)
        .item(158)
        .counter()
        .unit(MSEC)
        .help("How long each process has been there");
    m.value("proc.reset", |_| 0)
        .item(159)
        .help("A store begins the processes anew")
        .writable_by(anybody)
        .store(|s, _: i32, _| {
            s.procs.reset();
            Ok(())
        });
}
