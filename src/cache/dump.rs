//! The debug dump, line by line as the C library prints it: PCP's own tests compare it (CACHE-100).

#![forbid(unsafe_code)]

use std::fmt::Pointer;
use std::io::Write;

use super::entry::{Entry, State};
use super::{Cache, jenkins, shown};

impl<T: Copy + Pointer> Cache<T> {
    /// The dump, with the hash chains if they are wanted.
    pub fn dump(&mut self, chains: bool) -> Vec<u8> {
        let mut out = Vec::new();
        let dirty = i32::from(self.instances_dirty) + 2 * i32::from(self.stamps_dirty) + 4 * i32::from(self.strings);
        self.order.places(&self.slab);
        // Writing into memory cannot fail.
        let _ = writeln!(
            out,
            "pmdaCacheDump: indom {}: nentry={} ins_mode={} hstate={dirty} hsize={}",
            self.indom, self.inserted, self.mode as u8, self.chains
        );
        for place in self.order.places(&self.slab) {
            let entry = self.slab.get(place.slot);
            let state = match entry.state {
                State::Active => "active",
                State::Inactive => "inactive",
                State::Empty | State::Free => {
                    let _ = writeln!(out, "({:10}) {:>8}", entry.id, "empty");
                    continue;
                }
            };
            let private = entry
                .private
                .map_or_else(|| "(nil)".to_owned(), |private| format!("{private:p}"));
            let _ = write!(out, " {:10}  {state:>8} {private} ", entry.id);
            out.extend_from_slice(entry.name());
            if entry.name().len() > entry.short as usize {
                let _ = write!(out, " [match len={}]", entry.short);
            }
            if entry.key != 0 {
                let _ = write!(out, " {}", shown(self.keys.get(entry.key)));
            }
            out.push(b'\n');
        }
        if chains {
            self.dump_chains(&mut out);
        }
        out
    }

    fn dump_chains(&self, out: &mut Vec<u8>) {
        if self.attempts.iter().any(|count| *count != 0) {
            out.extend_from_slice(b"pmdaCacheStoreKey hash stats ...\n");
        }
        for (attempt, count) in self.attempts.iter().enumerate().filter(|(_, count)| **count != 0) {
            let _ = match attempt {
                0 => writeln!(out, "hash once: {count} times"),
                _ => writeln!(out, "{} hash attempts: {count} times", attempt + 1),
            };
        }
        let slots = self.chained();
        self.dump_table(out, "inst", &slots, |entry| entry.id);
        self.dump_table(out, "name", &slots, |entry| jenkins::hash(entry.short_name(), 0));
    }

    fn dump_table(&self, out: &mut Vec<u8>, title: &str, slots: &[u32], hash: impl Fn(&Entry<T>) -> u32) {
        let mut chains = vec![Vec::new(); self.chains as usize];
        for slot in slots {
            let entry = self.slab.get(*slot);
            chains[(hash(entry) & (self.chains - 1)) as usize].push(entry);
        }
        let _ = writeln!(out, "{title} hash");
        for (number, chain) in chains.iter().enumerate() {
            let _ = write!(out, " [{number:03}]");
            for entry in chain {
                let mark = match entry.state {
                    State::Empty => "E",
                    State::Inactive => "I",
                    State::Active | State::Free => "",
                };
                let _ = write!(out, " -> {}{mark}", entry.id);
            }
            out.push(b'\n');
        }
    }
}
