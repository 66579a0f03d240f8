//! What is done to an instance, or to a whole cache, by the numbers of the macros; and what is
//! reported of it. Then the debug dump, line by line as the C library prints it: PCP's own tests
//! compare it (CACHE-100).

use std::fmt::{self, Display, Pointer};

use super::entry::{Entry, State};
use super::keys::jenkins_hash;
use super::{Cache, room};
use crate::constants::*;
use crate::log::{Bytes, Journal, Level, TextBuffer};

/// What a store does with an instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Makes it, or makes it active again.
    Add,
    /// Makes it inactive.
    Hide,
    /// Forgets it.
    Cull,
    /// Another number than these; it is an error, but the instance is looked for first (CACHE-20).
    Unknown(i32),
}

impl Action {
    /// From the number of a `PMDA_CACHE_*` macro.
    #[must_use]
    pub fn new(flags: i32) -> Action {
        match flags {
            PMDA_CACHE_ADD => Action::Add,
            PMDA_CACHE_HIDE => Action::Hide,
            PMDA_CACHE_CULL => Action::Cull,
            other => Action::Unknown(other),
        }
    }

    /// The number of the macro.
    pub(super) fn number(self) -> i32 {
        match self {
            Action::Add => PMDA_CACHE_ADD,
            Action::Hide => PMDA_CACHE_HIDE,
            Action::Cull => PMDA_CACHE_CULL,
            Action::Unknown(other) => other,
        }
    }
}

/// What `pmdaCacheOp` is asked to do, by the `PMDA_CACHE_*` macro of that name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Reads the file.
    Load,
    /// Culls all instances.
    Cull,
    /// Writes the file when the set of instances changed.
    Save,
    /// Has whole names distinguish instances, rather than those before the first blank.
    Strings,
    /// Makes all instances active.
    Active,
    /// Makes all instances inactive.
    Inactive,
    /// Counts all instances, culled ones included.
    Size,
    /// Counts the active instances.
    SizeActive,
    /// Counts the inactive instances.
    SizeInactive,
    /// Has the ids of culled instances used again.
    Reuse,
    /// Begins a walk over the active instances.
    WalkRewind,
    /// Goes on to the next one.
    WalkNext,
    /// Tells whether there is a cache.
    Check,
    /// Puts the tables in order.
    Reorganize,
    /// Writes the file when anything changed.
    Sync,
    /// Prints the instances.
    Dump,
    /// Prints the hash chains as well.
    DumpAll,
    /// Writes the file in any case.
    Write,
}

/// There is no such operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unknown;

impl TryFrom<i32> for Op {
    type Error = Unknown;

    fn try_from(number: i32) -> Result<Op, Unknown> {
        Ok(match number {
            PMDA_CACHE_LOAD => Op::Load,
            PMDA_CACHE_CULL => Op::Cull,
            PMDA_CACHE_SAVE => Op::Save,
            PMDA_CACHE_STRINGS => Op::Strings,
            PMDA_CACHE_ACTIVE => Op::Active,
            PMDA_CACHE_INACTIVE => Op::Inactive,
            PMDA_CACHE_SIZE => Op::Size,
            PMDA_CACHE_SIZE_ACTIVE => Op::SizeActive,
            PMDA_CACHE_SIZE_INACTIVE => Op::SizeInactive,
            PMDA_CACHE_REUSE => Op::Reuse,
            PMDA_CACHE_WALK_REWIND => Op::WalkRewind,
            PMDA_CACHE_WALK_NEXT => Op::WalkNext,
            PMDA_CACHE_CHECK => Op::Check,
            PMDA_CACHE_REORG => Op::Reorganize,
            PMDA_CACHE_SYNC => Op::Sync,
            PMDA_CACHE_DUMP => Op::Dump,
            PMDA_CACHE_DUMP_ALL => Op::DumpAll,
            PMDA_CACHE_WRITE => Op::Write,
            _ => return Err(Unknown),
        })
    }
}

/// Where messages go, and whether debugging is on (`-Dindom`).
#[derive(Default, Debug)]
pub struct Report {
    /// What there is to say.
    pub journal: Journal,
    /// Whether debug output is wanted.
    pub debug: bool,
}

impl Report {
    /// A line for the log.
    pub(super) fn notify(&mut self, level: Level, text: fmt::Arguments<'_>) {
        self.journal.notify(level, text);
    }

    /// Debug output, if it is wanted.
    pub(super) fn trace(&mut self, text: fmt::Arguments<'_>) {
        if self.debug {
            self.journal.trace(text);
        }
    }
}

/// `[key=0x...]` or `[no key]`, as messages show a key.
pub(super) struct Key<'k>(pub(super) &'k [u8]);

impl Display for Key<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return out.write_str("[no key]");
        }
        out.write_str("[key=0x")?;
        for byte in self.0 {
            write!(out, "{byte:02x}")?;
        }
        out.write_str("]")
    }
}

/// A name as a message prints it.
pub(super) fn named(name: Option<&[u8]>) -> Bytes<'_> {
    Bytes(name.unwrap_or(b"(null)"))
}

impl<T: Copy + Pointer> Cache<T> {
    /// The dump, with the hash chains if they are wanted; it ends where there is no memory for
    /// more.
    pub fn dump(&mut self, chains: bool) -> Vec<u8> {
        let mut out = TextBuffer::default();
        let dirty = i32::from(self.instances_dirty) + 2 * i32::from(self.stamps_dirty) + 4 * i32::from(self.strings);
        let (mode, hsize) = (self.mode as u8, self.chains);
        out.show(format_args!(
            "pmdaCacheDump: indom {}: nentry={} ins_mode={mode} hstate={dirty} hsize={hsize}\n",
            self.indom, self.inserted
        ));
        for place in self.order.places(&self.slab) {
            let entry = self.slab.get(place.slot);
            let state = match entry.state {
                State::Active => "active",
                State::Inactive => "inactive",
                State::Empty | State::Free => {
                    out.show(format_args!("({:10}) {:>8}\n", entry.id, "empty"));
                    continue;
                }
            };
            out.show(format_args!(" {:10}  {state:>8} ", entry.id));
            match entry.private {
                Some(private) => out.show(format_args!("{private:p} ")),
                None => out.push(b"(nil) "),
            }
            out.push(entry.name());
            if entry.name().len() > entry.short as usize {
                out.show(format_args!(" [match len={}]", entry.short));
            }
            let key = self.keys.get(place.slot);
            if !key.is_empty() {
                out.show(format_args!(" {}", Key(key)));
            }
            out.push(b"\n");
        }
        if chains {
            self.dump_chains(&mut out);
        }
        out.so_far()
    }

    fn dump_chains(&self, out: &mut TextBuffer) {
        let attempts = self.attempts.as_deref().copied().unwrap_or_default();
        if attempts.iter().any(|count| *count != 0) {
            out.push(b"pmdaCacheStoreKey hash stats ...\n");
        }
        for (attempt, count) in attempts.iter().enumerate().filter(|(_, count)| **count != 0) {
            match attempt {
                0 => out.show(format_args!("hash once: {count} times\n")),
                _ => out.show(format_args!("{} hash attempts: {count} times\n", attempt + 1)),
            }
        }
        if let Ok(slots) = self.chained() {
            self.dump_table(out, "inst", &slots, |entry| entry.id);
            self.dump_table(out, "name", &slots, |entry| jenkins_hash(entry.short_name(), 0));
        }
    }

    fn dump_table(&self, out: &mut TextBuffer, title: &str, slots: &[u32], hash: impl Fn(&Entry<T>) -> u32) {
        // Where each chain begins, and behind each slot the next one of its chain.
        let (mut first, mut next) = (Vec::new(), Vec::new());
        if room(&mut first, self.chains as usize).is_err() || room(&mut next, slots.len()).is_err() {
            return;
        }
        first.resize(self.chains as usize, None);
        next.resize(slots.len(), None);
        for (at, slot) in slots.iter().enumerate().rev() {
            let chain = hash(self.slab.get(*slot)) & (self.chains - 1);
            next[at] = first[chain as usize].replace(at);
        }
        out.show(format_args!("{title} hash\n"));
        for (number, first) in first.iter().enumerate() {
            out.show(format_args!(" [{number:03}]"));
            for at in std::iter::successors(*first, |at| next[*at]) {
                let entry = self.slab.get(slots[at]);
                let mark = match entry.state {
                    State::Empty => "E",
                    State::Inactive => "I",
                    State::Active | State::Free => "",
                };
                out.show(format_args!(" -> {}{mark}", entry.id));
            }
            out.push(b"\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CACHE-22, CACHE-24: the numbers that are operations; ADD, HIDE and EMPTY are none.
    #[test]
    fn numbers() {
        let known: Vec<_> = (-1..30).filter(|number| Op::try_from(*number).is_ok()).collect();
        assert_eq!(
            known,
            [1, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21]
        );
    }
}
