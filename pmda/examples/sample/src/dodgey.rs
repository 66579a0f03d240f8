//! A domain that is not reliable: it has holes, or fails.

use std::cell::Cell;
use std::rc::Rc;

use pmda::prelude::*;

use crate::{Sample, Shared, anybody};

/// The serial of the instance domain.
const DODGEY: u32 = 6;

/// The behaviour that a client has chosen for the domain.
pub struct Dodgey {
    rows: Indom<Row>,
    /// Up to 0: the error that the metric has. Up to 5: the number of instances that it shows.
    /// Otherwise these change by chance, after so many fetches at most.
    control: i32,
    state: Rc<State>,
    shared: Rc<Shared>,
}

/// The part of it that the instances see.
struct State {
    /// As the control, for the present.
    now: Cell<i32>,
    /// The number of fetches until the next change; below 0 if there is none.
    left: Cell<i32>,
    /// The fetch is counted.
    is_counted: Cell<bool>,
    changes: Cell<bool>,
}

/// An instance.
struct Row {
    inst: i32,
    state: Rc<State>,
    shared: Rc<Shared>,
}

impl Dodgey {
    /// The domain with all its instances.
    ///
    /// # Errors
    /// Those of [`Indom`].
    pub fn new(shared: &Rc<Shared>) -> Result<Dodgey> {
        let mut dodgey = Dodgey {
            rows: Indom::new(),
            control: 5,
            state: Rc::new(State {
                now: Cell::new(5),
                left: Cell::new(0),
                is_counted: Cell::new(false),
                changes: Cell::new(false),
            }),
            shared: Rc::clone(shared),
        };
        dodgey.change()?;
        Ok(dodgey)
    }

    /// Changes the domain before a fetch, if it is time.
    ///
    /// # Errors
    /// Those of [`Indom`].
    pub fn begin(&mut self, request: &Request<'_>) -> Result<()> {
        if request.why() == Why::Fetch {
            self.state.is_counted.set(false);
            if self.state.left.get() < 0 {
                return self.change();
            }
        }
        Ok(())
    }

    fn change(&mut self) -> Result<()> {
        let random = &self.shared.random;
        self.state.changes.set(self.control > 5);
        if self.control <= 5 {
            self.state.now.set(self.control);
            self.state.left.set(0);
            return self.show(&[1, 2, 3, 4, 5]);
        }
        match random.below(1000) {
            0..33 => self.state.now.set(Code::NOAGENT.number()),
            33..66 => self.state.now.set(Code::AGAIN.number()),
            66..99 => self.state.now.set(Code::APPVERSION.number()),
            _ => {
                let shown: Vec<i32> = (1..6).filter(|_| random.below(100) < 49).collect();
                self.state.now.set(shown.len() as i32);
                self.show(&shown)?;
            }
        }
        self.state.left.set(self.shared.random.below(self.control));
        Ok(())
    }

    fn show(&mut self, instances: &[i32]) -> Result<()> {
        let mut now = self.rows.update();
        for inst in instances {
            let row = || Row {
                inst: *inst,
                state: Rc::clone(&self.state),
                shared: Rc::clone(&self.shared),
            };
            now.row_at(*inst, &format!("d{inst}"), row)?;
        }
        Ok(())
    }
}

impl Row {
    fn value(&self) -> Result<Option<i32>> {
        if self.state.changes.get() && !self.state.is_counted.get() {
            self.state.left.set(self.state.left.get() - 1);
        }
        match self.state.now.get() {
            0 => Ok(None),
            error @ ..0 => Error::check(error).map(|_| None),
            count @ 1..6 if self.inst > count => Ok(None),
            _ => {
                self.state.is_counted.set(true);
                Ok(Some(self.shared.random.below(101)))
            }
        }
    }
}

/// Declares the metrics.
pub fn declare(m: &mut Metrics<Sample>) {
    let rows = m.indom(DODGEY, "Unreliable instances\nSee dodgey.control.", |s| {
        &mut s.dodgey.rows
    });
    m.each("dodgey.value", rows, Row::value)
        .item(62)
        .help("Random numbers of unreliable instances");
    m.value("dodgey.control", |s| s.dodgey.control)
        .item(61)
        .discrete()
        .help(
            "What dodgey.value does\nBelow 0: it has this error. 0 to 5: it has so many values. Above 5: it changes \
             by chance, after so many fetches at most.",
        )
        .writable_by(anybody)
        .store(|s, value: i32, _| {
            s.dodgey.control = value;
            s.dodgey.change()
        });
}
