//! The debug dump of a cache, line by line as the C library prints it (CACHE-100).
//!
//! `PMDA_CACHE_DUMP_ALL` also prints the chains of the C library's two hash tables, and how many
//! attempts the ids of keys took: PCP's own tests 201 and 489 compare both. There are no such tables
//! here. A dump works out what they would be, from the order in which the entries were inserted and
//! the states that they had when the tables grew. All that imitates the tables is in this file; the
//! cache keeps the attempts for it, and each entry its states.

use std::collections::BinaryHeap;
use std::fmt::Pointer;

use super::Cache;
use super::entry::{Entry, EntryState, reserve};
use super::keys::{Key, jenkins_hash};
use crate::error::Result;
use crate::log::{Bytes, Line};

/// The number of chains that each of the C library's tables has at first (CACHE-80).
const FEWEST_CHAINS: u32 = 16;

impl<T> Cache<T> {
    /// Returns whether the C library's tables grow before the next entry is inserted: they double
    /// when they have four entries a chain.
    pub(super) fn is_growing(&self) -> bool {
        self.inserted >= 4 * FEWEST_CHAINS && self.inserted.is_power_of_two()
    }

    /// Notes the state of each entry, on which the chains depend after the tables have grown.
    pub(super) fn note_states(&mut self) {
        for listed in self.order.iter() {
            let entry = self.slab.get_mut(listed.slot);
            entry.history = entry.history << 1 | u32::from(entry.state == EntryState::Active);
        }
    }
}

impl<T: Copy + Pointer> Cache<T> {
    /// Returns the dump, with the hash chains if `chains`. Without memory for the rest the dump
    /// ends early.
    pub fn dump(&self, chains: bool) -> Vec<u8> {
        let mut out = Line::default();
        let dirty = i32::from(self.instances_dirty) + 2 * i32::from(self.stamps_dirty) + 4 * i32::from(self.strings);
        let (mode, hsize) = (self.mode as u8, self.chains());
        out.show(format_args!(
            "pmdaCacheDump: indom {}: nentry={} ins_mode={mode} hstate={dirty} hsize={hsize}\n",
            self.indom, self.inserted
        ));
        for listed in self.order.iter() {
            let entry = self.slab.get(listed.slot);
            let state = match entry.state {
                EntryState::Active => "active",
                EntryState::Inactive => "inactive",
                EntryState::Empty | EntryState::Free => {
                    out.show(format_args!("({:10}) {:>8}\n", entry.id, "empty"));
                    continue;
                }
            };
            out.show(format_args!(" {:10}  {state:>8} ", entry.id));
            match entry.private {
                Some(private) => out.show(format_args!("{private:p} ")),
                None => out.push(b"(nil) "),
            }
            out.show(format_args!("{}", Bytes(entry.name())));
            if entry.name().len() > entry.short_len as usize {
                out.show(format_args!(" [match len={}]", entry.short_len));
            }
            let key = self.keys.get(listed.slot);
            if !key.is_empty() {
                out.show(format_args!(" {}", Key(key)));
            }
            out.push(b"\n");
        }
        if chains {
            self.dump_chains(&mut out);
        }
        out.into_bytes().unwrap_or_default()
    }

    /// Adds the attempts of keys, and both tables.
    fn dump_chains(&self, out: &mut Line) {
        self.dump_attempts(out);
        if let Ok(slots) = self.chained() {
            self.dump_table(out, "inst", &slots, |entry| entry.id);
            self.dump_table(out, "name", &slots, |entry| jenkins_hash(entry.short_name(), 0));
        }
    }

    /// Adds the number of keys whose id was free at the first, second, … attempt.
    fn dump_attempts(&self, out: &mut Line) {
        let mut counts = (1..).zip(self.attempts.0).filter(|(_, count)| *count != 0).peekable();
        if counts.peek().is_some() {
            out.push(b"pmdaCacheStoreKey hash stats ...\n");
        }
        for (attempt, count) in counts {
            match attempt {
                1 => out.show(format_args!("hash once: {count} times\n")),
                _ => out.show(format_args!("{attempt} hash attempts: {count} times\n")),
            }
        }
    }

    /// Adds a table: `slots` are those of all entries in the order of the chains, front first.
    fn dump_table(&self, out: &mut Line, title: &str, slots: &[u32], hash: impl Fn(&Entry<T>) -> u32) {
        // The first slot of each chain, and for each slot the next one of its chain.
        let chains = self.chains();
        let (mut first, mut next) = (Vec::new(), Vec::new());
        if reserve(&mut first, chains as usize).is_err() || reserve(&mut next, slots.len()).is_err() {
            return;
        }
        first.resize(chains as usize, None);
        next.resize(slots.len(), None);
        for (at, slot) in slots.iter().enumerate().rev() {
            let chain = hash(self.slab.get(*slot)) & (chains - 1);
            next[at] = first[chain as usize].replace(at);
        }
        out.show(format_args!("{title} hash\n"));
        for (number, first) in first.iter().enumerate() {
            out.show(format_args!(" [{number:03}]"));
            for at in std::iter::successors(*first, |at| next[*at]) {
                let entry = self.slab.get(slots[at]);
                let mark = match entry.state {
                    EntryState::Empty => "E",
                    EntryState::Inactive => "I",
                    EntryState::Active | EntryState::Free => "",
                };
                out.show(format_args!(" -> {}{mark}", entry.id));
            }
            out.push(b"\n");
        }
    }

    /// The number of chains of each table: it doubles when four entries a chain were ever inserted
    /// (CACHE-80).
    fn chains(&self) -> u32 {
        let chains = u64::from(self.inserted).next_power_of_two() / 4;
        u32::try_from(chains).unwrap_or(u32::MAX).max(FEWEST_CHAINS)
    }

    /// The slots of all entries in the order of the chains, front first (CACHE-81).
    ///
    /// A new entry is put in front of its chains. When the tables grow, each chain is reversed
    /// while it is distributed, and active entries are moved in front of inactive ones. All chains
    /// undergo the same at the same time, so one order of all entries says it for each chain.
    fn chained(&self) -> Result<Vec<u32>> {
        let count = self.order.len();
        let (mut inserted, mut back, mut grown) = (Vec::new(), Vec::new(), Vec::new());
        reserve(&mut inserted, count)?;
        reserve(&mut back, count)?;
        reserve(&mut grown, count)?;
        inserted.extend(
            self.order
                .iter()
                .map(|listed| (self.slab.get(listed.slot).serial, listed.slot)),
        );
        // A heap, since that is less code than a sort.
        let mut inserted = BinaryHeap::from(inserted).into_sorted_vec().into_iter().peekable();
        let mut size = 4 * FEWEST_CHAINS;
        // From the back of the chains to their front.
        for growth in (0..(self.chains() / FEWEST_CHAINS).trailing_zeros()).rev() {
            while let Some((_, slot)) = inserted.next_if(|(serial, _)| *serial < size) {
                back.push(slot);
            }
            let was_active = |slot: u32| self.slab.get(slot).history >> growth & 1 == 1;
            for is_active in [false, true] {
                grown.extend(back.iter().rev().filter(|slot| was_active(**slot) == is_active));
            }
            std::mem::swap(&mut back, &mut grown);
            grown.clear();
            size = size.saturating_mul(2);
        }
        back.extend(inserted.map(|(_, slot)| slot));
        back.reverse();
        Ok(back)
    }
}
