//! What is done to an instance, or to a whole cache, by the numbers of the macros; and what is
//! reported of it.

use std::fmt::{self, Display};

use crate::constants::*;
use crate::log::{self, Bytes, Journal, Level};
pub(super) use crate::log::{Part, TextBuffer};

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

    #[inline]
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
    pub(super) fn notify(&mut self, level: Level, parts: &[Part<'_>]) {
        if let Some(text) = log::line(parts) {
            self.journal.notify(level, Bytes(&text));
        }
    }

    /// Debug output, if it is wanted.
    pub(super) fn trace(&mut self, parts: &[Part<'_>]) {
        if !self.debug {
            return;
        }
        if let Some(text) = log::line(parts) {
            self.journal.trace(Bytes(&text));
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
pub(super) fn named(name: Option<&[u8]>) -> Part<'_> {
    Part::Raw(name.unwrap_or(b"(null)"))
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
