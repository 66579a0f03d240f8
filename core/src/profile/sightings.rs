//! Where the few selected instances of a long table were found last.

use super::Compiled;
use crate::metrics::Table;

/// So many instances are remembered at most: all of them are looked at in each step.
const FEW: usize = 32;
/// A table is worth it when it has this many entries for each instance.
const LONG: usize = 16;

/// The places at which the listed instances of a table were found by a pass over all of it, so that
/// the next pass need not look at the other entries.
///
/// All places are looked at before any is believed, in each step: the agent may have rewritten the
/// table since the last one. When each listed instance is where it was, no other entry can be
/// selected unless the table has one id twice. So what cannot be seen is this: the agent writes a
/// *second* entry with the id of a listed instance, without moving or resizing the table (INST-54).
///
/// `metrics::Places` does not do here: it gives the first entry of one key, and each key that is
/// not there costs it a search. All entries with a listed id are selected, and some have gone.
#[derive(Default, Debug)]
pub struct Sightings {
    table: Table,
    /// Places and ids in the order of the table, as far as a pass has come.
    found: Vec<(usize, i32)>,
    /// How far that is; `None` when no pass is followed.
    passed: Option<usize>,
    /// Whether a pass came to the end, and found each listed instance once.
    complete: bool,
}

impl Sightings {
    /// The place of the first selected entry from `from` on, as [`Compiled::position`] in the whole
    /// table would find it.
    pub fn next<T>(
        &mut self,
        profile: &Compiled<'_>,
        table: Table,
        entries: &[T],
        from: usize,
        inst: impl Fn(&T) -> i32,
    ) -> Option<usize> {
        let search = |from: usize| {
            let skipped = profile.position(entries.get(from..)?, &inst)?;
            Some(from + skipped)
        };
        let Some(listed) = profile.candidates().map(<[i32]>::len) else {
            return search(from);
        };
        if listed > FEW || entries.len() < listed * LONG {
            return search(from);
        }
        if self.complete && self.table == table {
            let is_there = |(place, id): &(usize, i32)| entries.get(*place).is_some_and(|entry| inst(entry) == *id);
            if self.found.iter().all(is_there) {
                let seen = self.found.partition_point(|(place, _)| *place < from);
                return self.found.get(seen).map(|(place, _)| *place);
            }
        }
        if from == 0 {
            self.begin(table, listed);
        }
        let place = search(from);
        self.follow(table, from, place, listed, |place| inst(&entries[place]));
        place
    }

    /// A pass begins.
    fn begin(&mut self, table: Table, listed: usize) {
        self.complete = false;
        self.found.clear();
        self.table = table;
        // Without memory nothing is remembered.
        self.passed = self.found.try_reserve(listed).ok().map(|()| 0);
    }

    /// A step has found the entry at `place`, or none, in the part of the table from `from` on.
    fn follow(
        &mut self,
        table: Table,
        from: usize,
        place: Option<usize>,
        listed: usize,
        inst: impl FnOnce(usize) -> i32,
    ) {
        if self.complete || self.passed != Some(from) || self.table != table {
            (self.complete, self.passed) = (false, None);
            return;
        }
        let Some(place) = place else {
            self.passed = None;
            self.complete = self.found.len() == listed && self.are_different();
            return;
        };
        if self.found.len() == listed {
            // One of them is there twice.
            self.passed = None;
            return;
        }
        // Room: `begin` has made it for as many as are listed.
        self.found.push((place, inst(place)));
        self.passed = Some(place + 1);
    }

    /// Whether no id was found twice: the agent may rewrite the table during a pass.
    fn are_different(&self) -> bool {
        let earlier = |place: usize| &self.found[..place];
        (0..self.found.len()).all(|place| {
            let id = self.found[place].1;
            earlier(place).iter().all(|(_, other)| *other != id)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Element;
    use super::*;

    fn compiled(exceptions: &[i32]) -> Compiled<'static> {
        let include = false;
        Compiled::new(Element { include, exceptions }).expect("memory")
    }

    /// All selected places, by steps.
    fn pass(sightings: &mut Sightings, profile: &Compiled<'_>, table: Table, entries: &[i32]) -> Vec<usize> {
        let mut from = 0;
        std::iter::from_fn(|| {
            let place = sightings.next(profile, table, entries, from, |id| *id)?;
            from = place + 1;
            Some(place)
        })
        .collect()
    }

    /// INST-54: what was found once is found again without a look at the other entries.
    #[test]
    fn others_are_not_looked_at() {
        let (profile, mut entries) = (compiled(&[30, 5, 99]), (0..100).collect::<Vec<_>>());
        let table = Table { address: 1, len: 100 };
        let mut sightings = Sightings::default();
        assert_eq!(pass(&mut sightings, &profile, table, &entries), [5, 30, 99]);
        entries[50] = 30;
        assert_eq!(pass(&mut sightings, &profile, table, &entries), [5, 30, 99]);
        // In another place all are looked at.
        let moved = Table { address: 2, ..table };
        assert_eq!(pass(&mut sightings, &profile, moved, &entries), [5, 30, 50, 99]);
        assert!(!sightings.complete);
    }

    /// INST-54: an id that the table has twice does not stand in for one that it does not have.
    #[test]
    fn twice_is_not_complete() {
        let (profile, mut entries) = (compiled(&[5, 300]), (0..100).collect::<Vec<_>>());
        entries[60] = 5;
        let table = Table { address: 1, len: 100 };
        let mut sightings = Sightings::default();
        assert_eq!(pass(&mut sightings, &profile, table, &entries), [5, 60]);
        entries[70] = 300;
        assert_eq!(pass(&mut sightings, &profile, table, &entries), [5, 60, 70]);
    }

    proptest! {
        /// INST-41, INST-54: as long as no id is there twice, nothing is overlooked, however the
        /// entries change places between the steps.
        #[test]
        fn same_as_a_search(
            listed in prop::collection::vec(0i32..300, 1..6),
            steps in prop::collection::vec((0usize..200, 0usize..300, any::<bool>()), 1..200),
        ) {
            let profile = compiled(&listed);
            // The first two hundred are the table.
            let mut ids: Vec<i32> = (0..300).collect();
            let table = Table { address: 1, len: 200 };
            let (mut sightings, mut from) = (Sightings::default(), 0);
            for (one, other, moves) in steps {
                let entries = &ids[..table.len];
                let expected = (from..table.len).find(|place| profile.selects(entries[*place]));
                prop_assert_eq!(sightings.next(&profile, table, entries, from, |id| *id), expected);
                from = expected.map_or(0, |place| place + 1);
                if moves {
                    let one = ids.iter().position(|id| *id == listed[one % listed.len()]).unwrap_or(one);
                    ids.swap(one, other);
                }
            }
        }
    }
}
