//! What is done to an instance, or to a whole cache, by the numbers of the macros.

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
            2 => Action::Add,
            3 => Action::Hide,
            4 => Action::Cull,
            other => Action::Unknown(other),
        }
    }

    /// The number of the macro.
    pub(super) fn number(self) -> i32 {
        match self {
            Action::Add => 2,
            Action::Hide => 3,
            Action::Cull => 4,
            Action::Unknown(other) => other,
        }
    }
}

/// What `pmdaCacheOp` is asked to do: `PMDA_CACHE_LOAD` to `PMDA_CACHE_WRITE`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Reads the file.
    Load = 1,
    /// Culls all instances.
    Cull = 4,
    /// Writes the file when the set of instances changed.
    Save = 6,
    /// Has whole names distinguish instances, rather than those before the first blank.
    Strings = 7,
    /// Makes all instances active.
    Active = 8,
    /// Makes all instances inactive.
    Inactive = 9,
    /// Counts all instances, culled ones included.
    Size = 10,
    /// Counts the active instances.
    SizeActive = 11,
    /// Counts the inactive instances.
    SizeInactive = 12,
    /// Has the ids of culled instances used again.
    Reuse = 13,
    /// Begins a walk over the active instances.
    WalkRewind = 14,
    /// Goes on to the next one.
    WalkNext = 15,
    /// Tells whether there is a cache.
    Check = 16,
    /// Puts the tables in order.
    Reorganize = 17,
    /// Writes the file when anything changed.
    Sync = 18,
    /// Prints the instances.
    Dump = 19,
    /// Prints the hash chains as well.
    DumpAll = 20,
    /// Writes the file in any case.
    Write = 21,
}

/// There is no such operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unknown;

impl TryFrom<i32> for Op {
    type Error = Unknown;

    #[inline]
    fn try_from(number: i32) -> Result<Op, Unknown> {
        const ALL: [Op; 18] = [
            Op::Load,
            Op::Cull,
            Op::Save,
            Op::Strings,
            Op::Active,
            Op::Inactive,
            Op::Size,
            Op::SizeActive,
            Op::SizeInactive,
            Op::Reuse,
            Op::WalkRewind,
            Op::WalkNext,
            Op::Check,
            Op::Reorganize,
            Op::Sync,
            Op::Dump,
            Op::DumpAll,
            Op::Write,
        ];
        /// The operations by their numbers.
        const BY_NUMBER: [Option<Op>; 22] = {
            let mut table = [None; 22];
            let mut place = 0;
            while place < ALL.len() {
                table[ALL[place] as usize] = Some(ALL[place]);
                place += 1;
            }
            table
        };
        let op = usize::try_from(number).ok().and_then(|number| BY_NUMBER.get(number));
        op.copied().flatten().ok_or(Unknown)
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
        assert!(
            known
                .iter()
                .all(|number| Op::try_from(*number).unwrap() as i32 == *number)
        );
    }
}
