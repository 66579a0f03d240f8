//! A domain whose instances come and go by chance.

use std::rc::Rc;
use std::time::{Duration, Instant};

use pmda::prelude::*;

use crate::{Sample, Shared, anybody};

/// The serial of the instance domain.
const MIRAGE: u32 = 3;

/// The most instances: their numbers are below.
const MOST: i32 = 50;

/// The instance domain, and when it changes.
pub struct Mirage {
    rows: Indom<Row>,
    /// The number that was given last.
    last: i32,
    interval: Duration,
    /// The instances change no earlier.
    due: Option<Instant>,
    shared: Rc<Shared>,
}

/// An instance.
struct Row {
    inst: i32,
    shared: Rc<Shared>,
}

impl Mirage {
    /// The domain with its first instance.
    ///
    /// # Errors
    /// Those of [`Indom`].
    pub fn new(shared: &Rc<Shared>) -> Result<Mirage> {
        let interval = Duration::from_secs(10);
        let mut mirage = Mirage {
            rows: Indom::new(),
            last: 0,
            interval,
            due: Some(Instant::now() + interval),
            shared: Rc::clone(shared),
        };
        mirage.add(0)?;
        Ok(mirage)
    }

    fn add(&mut self, inst: i32) -> Result<()> {
        let row = Row {
            inst,
            shared: Rc::clone(&self.shared),
        };
        self.rows.change().set_at(inst, &format!("m-{inst:02}"), row)?;
        Ok(())
    }

    /// Changes the instances, if they are wanted and the time has come.
    ///
    /// # Errors
    /// Those of [`Indom`].
    pub fn begin(&mut self, request: &Request<'_>) -> Result<()> {
        let is_due = self.due.is_none_or(|due| request.now() >= due);
        if !self.shared.is_mirage_wanted.get() || !is_due {
            return Ok(());
        }
        let random = &self.shared.random;
        let count = self.rows.len() as i32;
        let part = if count > 12 { count / 2 } else { count };
        let others: Vec<i32> = self
            .rows
            .iter()
            .map(|(inst, _)| inst)
            .filter(|inst| *inst != 0)
            .collect();
        for inst in others {
            if random.below(1000) < 1000 / part {
                self.rows.change().hide_at(inst);
            }
        }
        for _ in 0..2 {
            if self.shared.random.below(1000) < 500 {
                loop {
                    self.last = (self.last + 1) % MOST;
                    if self.rows.get(self.last).is_none() {
                        break;
                    }
                }
                self.add(self.last)?;
            }
        }
        self.due = Some(request.now() + self.interval);
        Ok(())
    }
}

impl Row {
    fn value(&self) -> i32 {
        self.shared.is_mirage_wanted.set(true);
        (self.inst + 1) * 100 - self.shared.next_saw()
    }
}

/// Declares the metrics.
pub fn declare(m: &mut Metrics<Sample>) {
    let rows = m.indom(MIRAGE, "Mirages\nThey come and go, apart from m-00.", |s| {
        &mut s.mirage.rows
    });
    // The first one is always there.
    m.instance_labels(rows, |_, row| Labels::new().add("transient", row.inst != 0));
    m.each("mirage", rows, Row::value)
        .item(37)
        .unit(KBYTE.per(SEC))
        .help("A saw-tooth for each instance\nClients may change the counter behind it.")
        .writable_by(anybody)
        .store(|row, value: i32, _| {
            row.shared.saw.set(value);
            Ok(())
        });
    m.each("mirage_longlong", rows, |row| i64::from(row.value()) * 1_000_000)
        .item(38)
        .unit(BYTE.per(MSEC))
        .help("A larger saw-tooth for each instance")
        .writable_by(anybody)
        .store(|row, value: i64, _| {
            row.shared.saw.set(value as i32);
            Ok(())
        });
    m.value("controller.mirage", |s| s.mirage.interval.as_millis() as i32)
        .item(155)
        .discrete()
        .unit(MSEC)
        .help("How long the instances of mirage stay, which clients may change")
        .writable_by(anybody)
        .store(|s, interval: i32, _| {
            s.mirage.interval = Duration::from_millis(u64::from(interval as u32));
            s.mirage.due = None;
            Ok(())
        });
}
