//! The debug dump of a cache, line by line as the C library prints it (CACHE-100).
//!
//! `PMDA_CACHE_DUMP_ALL` also prints the chains of the C library's two hash tables: PCP's own tests
//! compare them. There are no such tables here. A dump works out what they would be, from the order
//! in which the entries were inserted and the states that they had when the tables grew.

use std::collections::BinaryHeap;
use std::fmt::Pointer;

use super::entry::{Entry, EntryState, reserve};
use super::keys::{Key, jenkins_hash};
use super::{Cache, FEWEST_CHAINS};
use crate::error::Result;
use crate::log::{Bytes, Line};

impl<T: Copy + Pointer> Cache<T> {
    /// Returns the dump, with the hash chains if they are wanted. It ends where there is no memory
    /// for more.
    pub fn dump(&self, chains: bool) -> Vec<u8> {
        let mut out = Line::default();
        let dirty = i32::from(self.instances_dirty) + 2 * i32::from(self.stamps_dirty) + 4 * i32::from(self.strings);
        let (mode, hsize) = (self.mode as u8, self.chains());
        out.show(format_args!(
            "pmdaCacheDump: indom {}: nentry={} ins_mode={mode} hstate={dirty} hsize={hsize}\n",
            self.indom, self.inserted
        ));
        for place in self.order.iter() {
            let entry = self.slab.get(place.slot);
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
        out.into_bytes().unwrap_or_default()
    }

    /// Adds the collision statistics of keys, and both tables.
    fn dump_chains(&self, out: &mut Line) {
        if self.attempts.iter().any(|count| *count != 0) {
            out.push(b"pmdaCacheStoreKey hash stats ...\n");
        }
        for (attempt, count) in self.attempts.iter().enumerate().filter(|(_, count)| **count != 0) {
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

    /// Adds a table: `slots` are those of all entries in the order of the chains, front first.
    fn dump_table(&self, out: &mut Line, title: &str, slots: &[u32], hash: impl Fn(&Entry<T>) -> u32) {
        // The first slot of each chain, and behind each slot the next one of its chain.
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
        let number = |slot: u32| u64::from(self.slab.get(slot).serial) << 32 | u64::from(slot);
        inserted.extend(self.order.iter().map(|listed| number(listed.slot)));
        let inserted = BinaryHeap::from(inserted).into_sorted_vec();
        let mut slots = inserted
            .into_iter()
            .map(|number| (number >> 32, number as u32))
            .peekable();
        let mut growths = (self.chains() / FEWEST_CHAINS).trailing_zeros();
        let mut size = u64::from(4 * FEWEST_CHAINS);
        // From the back of the chains to their front.
        while growths > 0 {
            growths -= 1;
            while let Some((_, slot)) = slots.next_if(|(serial, _)| *serial < size) {
                back.push(slot);
            }
            let was_active = |slot: u32| self.slab.get(slot).history >> growths & 1 == 1;
            for is_active in [false, true] {
                grown.extend(back.iter().rev().filter(|slot| was_active(**slot) == is_active));
            }
            std::mem::swap(&mut back, &mut grown);
            grown.clear();
            size *= 2;
        }
        back.extend(slots.map(|(_, slot)| slot));
        back.reverse();
        Ok(back)
    }
}
