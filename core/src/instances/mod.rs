//! Requests for the instances of a domain, and the comparison of names in a table of the agent's
//! (`pmdaIndom`).

use crate::constants::PM_IN_NULL;
use crate::error::{Error, Result};
use crate::index::Seed;

/// A request to `pmdaInstance` (INST-60).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InstanceQuery<'a> {
    /// All instances, ids and names.
    All,
    /// The name of an instance.
    NameOf(i32),
    /// The instance with a name.
    IdOf(&'a [u8]),
}

impl<'a> InstanceQuery<'a> {
    /// Returns the request that these arguments of `pmdaInstance` make.
    ///
    /// # Errors
    /// `PM_ERR_INST` for both an id and a name, and for an empty name.
    pub fn new(inst: i32, name: Option<&'a [u8]>) -> Result<InstanceQuery<'a>> {
        match (inst, name) {
            (PM_IN_NULL, None) => Ok(InstanceQuery::All),
            (inst, None) => Ok(InstanceQuery::NameOf(inst)),
            (PM_IN_NULL, Some(name)) if !name.is_empty() => Ok(InstanceQuery::IdOf(name)),
            _ => Err(Error::INST),
        }
    }
}

/// The way in which a wanted name matches that of an instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Match {
    /// The names are equal.
    Exact,
    /// The wanted name is the part before the first space, of this length in bytes.
    Short(usize),
}

/// Compares a wanted name with that of an instance (INST-66).
#[must_use]
pub fn matches(asked: &[u8], name: &[u8]) -> Option<Match> {
    if asked == name {
        return Some(Match::Exact);
    }
    let short_name = short_name(name)?;
    (asked == short_name).then_some(Match::Short(short_name.len()))
}

/// The part of a name before its first space; `None` without a space.
fn short_name(name: &[u8]) -> Option<&[u8]> {
    name.iter().position(|byte| *byte == b' ').map(|end| &name[..end])
}

/// Calls `add` with the [`key`] of each text that finds the name: the name itself and its short
/// form. [`crate::table_index::HintIndex`] finds instances by these.
pub fn keys(name: &[u8], mut add: impl FnMut(u64)) {
    add(key(name));
    if let Some(short_name) = short_name(name) {
        add(key(short_name));
    }
}

/// The key of a wanted name in an index: its hash.
#[must_use]
pub fn key(asked: &[u8]) -> u64 {
    Seed::process().bytes(asked).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The arguments make the requests of the table in the specification (INST-60).
    #[test]
    fn requests() {
        assert_eq!(InstanceQuery::new(-1, None), Ok(InstanceQuery::All));
        assert_eq!(InstanceQuery::new(7, None), Ok(InstanceQuery::NameOf(7)));
        assert_eq!(InstanceQuery::new(-1, Some(b"x")), Ok(InstanceQuery::IdOf(b"x")));
        assert_eq!(InstanceQuery::new(-1, Some(b"")), Err(Error::INST));
        assert_eq!(InstanceQuery::new(7, Some(b"x")), Err(Error::INST));
        assert_eq!(InstanceQuery::new(7, Some(b"")), Err(Error::INST));
    }

    /// A wanted name is equal to the name, or to the part before its first space; one with a space
    /// has to be equal (INST-66).
    #[test]
    fn names() {
        assert_eq!(matches(b"one two", b"one two"), Some(Match::Exact));
        assert_eq!(matches(b"one", b"one two"), Some(Match::Short(3)));
        assert_eq!(matches(b"one ", b"one two"), None);
        assert_eq!(matches(b"one two", b"one"), None);
        assert_eq!(matches(b"on", b"one two"), None);
        assert_eq!(matches(b"one\ttwo", b"one\ttwo x"), Some(Match::Short(7)));
    }

    /// Every text that matches a name is one of its keys, on which the index relies.
    #[test]
    fn keys_cover_matches() {
        for name in [&b"one two"[..], b"one", b"", b" lead", b"a b c"] {
            let mut own = Vec::new();
            keys(name, |key| own.push(key));
            for asked in [&b"one two"[..], b"one", b"", b" lead", b"a", b"a b", b"a b c"] {
                assert_eq!(
                    matches(asked, name).is_some(),
                    own.contains(&key(asked)),
                    "{asked:?} {name:?}"
                );
            }
        }
    }
}
