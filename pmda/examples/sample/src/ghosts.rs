//! Metrics whose names the agent has, not pmcd: some are always there, those of ghosts only when
//! ghosts can be seen.

use pmda::prelude::*;

use crate::{Sample, anybody};

/// The serial of the instance domain.
const GHOSTS: u32 = 11;

/// The items of the metrics of ghosts.
const ITEMS: std::ops::Range<u32> = 1009..1012;

/// Names and origins.
const ALL: [(&str, &str); 8] = [
    ("Obambo", "Africa"),
    ("Banjhakri", "Nepal"),
    ("Mogwai", "China"),
    ("Pocong", "Indonesia"),
    ("Hitodama", "Japan"),
    ("Krahang", "Thailand"),
    ("Zmeu", "Roumania"),
    ("Duppy", "Jamaica"),
];

/// The ghosts that can be seen.
pub struct Ghosts {
    rows: Indom<Ghost>,
    /// The number of visible ghosts; below 0 their metrics are missing, too.
    visible: i32,
    are_declared: bool,
    /// The number of fetches, in a cycle of 24.
    state: u32,
}

/// A ghost.
struct Ghost {
    inst: u32,
    name: &'static str,
    origin: &'static str,
    /// The state of the present fetch.
    state: u32,
}

impl Ghosts {
    /// No ghosts.
    pub fn new() -> Ghosts {
        Ghosts {
            rows: Indom::new(),
            visible: -1,
            are_declared: false,
            state: 23,
        }
    }

    /// Counts a fetch.
    pub fn begin(&mut self, request: &Request<'_>) {
        if ITEMS.into_iter().any(|item| request.wants_item(0, item)) {
            self.state = (self.state + 1) % 24;
            let state = self.state;
            self.rows.rows_mut().for_each(|ghost| ghost.state = state);
        }
    }

    fn show(&mut self, visible: i32) -> Result<()> {
        self.visible = visible.min(ALL.len() as i32);
        self.state = 23;
        let mut now = self.rows.update();
        for (inst, (name, origin)) in (1..).zip(ALL).take(self.visible.max(0) as usize) {
            let ghost = Ghost {
                inst,
                name,
                origin,
                state: 23,
            };
            now.set_at(inst as i32, name, ghost)?;
        }
        Ok(())
    }

    /// Declares the metrics of ghosts, or takes them away.
    pub fn declare_visible(&mut self, m: &mut Metrics<Sample>) {
        let is_visible = self.visible >= 0;
        if std::mem::replace(&mut self.are_declared, is_visible) == is_visible {
            return;
        }
        if !is_visible {
            for name in ["ghosts.origin", "ghosts.karma", "ghosts.state"] {
                m.remove(name);
            }
            return;
        }
        let Some(rows) = m.find_indom::<Ghost>(GHOSTS) else {
            return;
        };
        m.each("ghosts.origin", rows, |ghost| ghost.origin.to_owned())
            .item(1009)
            .discrete()
            .help("Where each ghost comes from");
        m.each("ghosts.karma", rows, |ghost| ghost.name.len() as u32)
            .item(1010)
            .help("The karma of each ghost");
        m.each("ghosts.state", rows, Ghost::state)
            .item(1011)
            .help("The state of each ghost: 0 or 1");
    }
}

impl Ghost {
    /// Pairs of ghosts change in turn: the first pair at each fetch, the next at every other one …
    fn state(&self) -> u32 {
        let duration = self.inst.div_ceil(2);
        let is_first = self.state % (2 * duration) < duration;
        u32::from(self.inst != 8 && is_first == (self.inst % 2 == 1))
    }
}

/// Declares the metrics that are always there.
pub fn declare(m: &mut Metrics<Sample>) {
    m.dynamic_names_below("secret").dynamic_names_below("ghosts");
    m.indom(GHOSTS, "Ghosts\nThose that can be seen.", |s| &mut s.ghosts.rows);
}

/// Declares the metrics whose names only the agent has.
pub fn declare_secrets(m: &mut Metrics<Sample>) {
    if m.has("secret.bar") {
        return;
    }
    m.value("secret.bar", |_| "foo".to_owned()).item(1000).help("A text");
    for (item, name) in [
        (1, "one"),
        (2, "two"),
        (3, "bar.three"),
        (4, "bar.four"),
        (5, "bar.grunt.five"),
        (6, "bar.grunt.snort.six"),
        (7, "bar.grunt.snort.huff.puff.seven"),
    ] {
        m.value(format!("secret.foo.{name}"), move |_| item)
            .item(1000 + item as u32)
            .unit(COUNT)
            .help("A number");
    }
    m.value("ghosts.visible", |s| s.ghosts.visible)
        .item(1008)
        .unit(COUNT)
        .help("How many ghosts can be seen, which clients may change\nBelow 0 no metric of ghosts is there.")
        .writable_by(anybody)
        .store(|s, value: i32, _| s.ghosts.show(value));
}
