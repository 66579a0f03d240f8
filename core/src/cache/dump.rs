//! The debug dump of a cache, line by line as the C library prints it (CACHE-100).

use std::fmt::Pointer;

use super::Cache;
use super::entry::{Entry, EntryState};
use super::grow::room;
use super::keys::{Key, jenkins_hash};
use crate::log::{Bytes, Line};

impl<T: Copy + Pointer> Cache<T> {
    /// Returns the dump, with the hash chains if they are wanted. It ends where there is no memory
    /// for more.
    pub fn dump(&self, chains: bool) -> Vec<u8> {
        let mut out = Line::default();
        let dirty = i32::from(self.instances_dirty) + 2 * i32::from(self.stamps_dirty) + 4 * i32::from(self.strings);
        let (mode, hsize) = (self.mode as u8, self.chains);
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

    fn dump_table(&self, out: &mut Line, title: &str, slots: &[u32], hash: impl Fn(&Entry<T>) -> u32) {
        // The first slot of each chain, and behind each slot the next one of its chain.
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
                    EntryState::Empty => "E",
                    EntryState::Inactive => "I",
                    EntryState::Active | EntryState::Free => "",
                };
                out.show(format_args!(" -> {}{mark}", entry.id));
            }
            out.push(b"\n");
        }
    }
}
