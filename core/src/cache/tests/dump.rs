//! The dump of a cache, compared with hash tables that are kept as the C library keeps its own.

use std::fmt::Write as _;

use super::*;
use crate::cache::keys::jenkins_hash;
use crate::error::Error;

/// An entry of the model.
struct Listed {
    id: u32,
    name: String,
    short: usize,
    key: Vec<u8>,
    private: usize,
    state: EntryState,
}

/// The two tables of the C library (CACHE-80, CACHE-81): numbers of entries, front first.
struct Tables {
    entries: Vec<Listed>,
    by_id: Vec<Vec<usize>>,
    by_name: Vec<Vec<usize>>,
    /// The number of times that a key's id was free at each attempt (CACHE-52).
    attempts: [u32; 10],
}

impl Tables {
    fn new() -> Tables {
        Tables {
            entries: Vec::new(),
            by_id: vec![Vec::new(); 16],
            by_name: vec![Vec::new(); 16],
            attempts: [0; 10],
        }
    }

    /// The place of each table where an entry belongs.
    fn chains(&self, entry: usize, hsize: usize) -> [usize; 2] {
        let Listed { id, name, short, .. } = &self.entries[entry];
        [*id, jenkins_hash(&name.as_bytes()[..*short], 0)].map(|hash| hash as usize & (hsize - 1))
    }

    fn insert(&mut self, entry: Listed) {
        let hsize = self.by_id.len();
        if self.entries.len() + 1 > 4 * hsize {
            let hsize = 2 * hsize;
            for (table, is_name) in [(0, false), (1, true)] {
                let old = std::mem::take(if is_name { &mut self.by_name } else { &mut self.by_id });
                let mut new = vec![Vec::new(); hsize];
                for entry in old.into_iter().flatten() {
                    new[self.chains(entry, hsize)[table]].insert(0, entry);
                }
                for chain in &mut new {
                    chain.sort_by_key(|entry| self.entries[*entry].state == EntryState::Inactive);
                }
                *(if is_name { &mut self.by_name } else { &mut self.by_id }) = new;
            }
            self.reclaim();
        }
        self.entries.push(entry);
        let last = self.entries.len() - 1;
        let [id, name] = self.chains(last, self.by_id.len());
        self.by_id[id].insert(0, last);
        self.by_name[name].insert(0, last);
    }

    fn reclaim(&mut self) {
        for entry in self.entries.iter_mut().filter(|entry| entry.state == EntryState::Empty) {
            entry.state = EntryState::Free;
        }
        for chain in self.by_id.iter_mut().chain(&mut self.by_name) {
            chain.retain(|entry| self.entries[*entry].state != EntryState::Free);
        }
    }

    /// The live entry that `wanted` accepts.
    fn find(&mut self, wanted: impl Fn(&Listed) -> bool) -> Option<&mut Listed> {
        let is_live = |entry: &Listed| matches!(entry.state, EntryState::Active | EntryState::Inactive);
        self.entries.iter_mut().find(|entry| is_live(entry) && wanted(entry))
    }

    /// The id of a new key (CACHE-52), of which a cache has `ids`.
    fn key_id(&mut self, key: &[u8], ids: u32) -> Option<u32> {
        let mut hash = 0;
        for attempt in 0..10 {
            hash = jenkins_hash(key, hash);
            let id = hash % ids;
            if self.find(|entry| entry.id == id).is_none() {
                self.attempts[attempt] += 1;
                return Some(id);
            }
        }
        None
    }

    /// The dump as it is specified (CACHE-100).
    fn dump(&self, head: &str, chains: bool) -> String {
        let (nentry, hsize) = (self.entries.len(), self.by_id.len());
        let mut out = format!("pmdaCacheDump: indom 1.2: nentry={nentry} {head} hsize={hsize}\n");
        let mut listed: Vec<usize> = (0..nentry)
            .filter(|entry| self.entries[*entry].state != EntryState::Free)
            .collect();
        listed.sort_by_key(|entry| (self.entries[*entry].id, nentry - entry));
        for entry in listed {
            let entry = &self.entries[entry];
            let (id, name) = (entry.id, &entry.name);
            let state = match entry.state {
                EntryState::Empty => {
                    writeln!(out, "({id:10})    empty").expect("memory");
                    continue;
                }
                EntryState::Inactive => "inactive",
                _ => "  active",
            };
            write!(out, " {id:10}  {state} ").expect("memory");
            match entry.private {
                0 => out.push_str("(nil) "),
                private => write!(out, "{private:#x} ").expect("memory"),
            }
            out.push_str(name);
            if entry.short < name.len() {
                write!(out, " [match len={}]", entry.short).expect("memory");
            }
            if !entry.key.is_empty() {
                let digits: String = entry.key.iter().map(|byte| format!("{byte:02x}")).collect();
                write!(out, " [key=0x{digits}]").expect("memory");
            }
            out.push('\n');
        }
        if !chains {
            return out;
        }
        if self.attempts != [0; 10] {
            out.push_str("pmdaCacheStoreKey hash stats ...\n");
        }
        for (attempt, count) in (1..).zip(self.attempts).filter(|(_, count)| *count > 0) {
            match attempt {
                1 => writeln!(out, "hash once: {count} times"),
                _ => writeln!(out, "{attempt} hash attempts: {count} times"),
            }
            .expect("memory");
        }
        for (title, table) in [("inst", &self.by_id), ("name", &self.by_name)] {
            writeln!(out, "{title} hash").expect("memory");
            for (number, chain) in table.iter().enumerate() {
                write!(out, " [{number:03}]").expect("memory");
                for Listed { id, state, .. } in chain.iter().map(|entry| &self.entries[*entry]) {
                    let mark = match state {
                        EntryState::Empty => "E",
                        EntryState::Inactive => "I",
                        _ => "",
                    };
                    write!(out, " -> {id}{mark}").expect("memory");
                }
                out.push('\n');
            }
        }
        out
    }
}

/// After any sequence of operations the dump shows the entries as they are, and the chains that the
/// C library's tables would have, through three growths of these (CACHE-52, CACHE-80, CACHE-81,
/// CACHE-100).
#[test]
fn as_in_c() {
    // Ids may be few, so that keys need several attempts.
    for (with_keys, maximum) in [(false, 0x7fff_ffff), (true, 150)] {
        let mut cache = Cache::<*const u8>::new(InDom::new(1, 2), Seed::process());
        cache.resize(maximum).expect("it is empty");
        if with_keys {
            cache.reuse();
        }
        let (mut tables, mut seed) = (Tables::new(), 3_u32);
        for step in 0..2_500 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let number = seed >> 25;
            let tail = if number % 5 == 0 { " tail" } else { "" };
            let name = format!("n{number}{tail}");
            let short = name.len() - tail.len();
            let private = number as usize;
            let key = if with_keys && number % 2 == 0 {
                &name.as_bytes()[..short]
            } else {
                &[]
            };
            let mut store = |flags, key: &[u8]| {
                let private = (private != 0).then_some(std::ptr::without_provenance(private));
                match key {
                    [] => cache.store(flags, Some(name.as_bytes()), private),
                    key => cache.store_key(flags, Some(name.as_bytes()), key, private),
                }
            };
            let known = tables.find(|entry| entry.name == name);
            match (seed >> 16) % 8 {
                0..4 => match known {
                    // A key that has got another instance's id stays without one.
                    Some(entry) if !key.is_empty() && entry.key != key => {
                        assert_eq!(store(PMDA_CACHE_ADD, key), Err(Error::INST));
                    }
                    Some(entry) => {
                        assert!(store(PMDA_CACHE_ADD, key).is_ok());
                        (entry.state, entry.private) = (EntryState::Active, private);
                    }
                    None => {
                        let expected = match key {
                            [] => None,
                            key => tables
                                .key_id(key, 151)
                                .map_or(Some(Err(Error::GENERIC)), |id| Some(Ok(id))),
                        };
                        let stored = store(PMDA_CACHE_ADD, key).map(|id| u32::try_from(id).expect("an id"));
                        assert!(expected.is_none_or(|expected| expected == stored));
                        if let Ok(id) = stored {
                            let (key, state) = (key.to_vec(), EntryState::Active);
                            let entry = Listed {
                                id,
                                name,
                                short,
                                key,
                                private,
                                state,
                            };
                            tables.insert(entry);
                        }
                    }
                },
                what @ 4..7 => {
                    let (flags, state) = match what {
                        6 => (PMDA_CACHE_CULL, EntryState::Empty),
                        _ => (PMDA_CACHE_HIDE, EntryState::Inactive),
                    };
                    assert_eq!(store(flags, &[]).is_ok(), known.is_some());
                    if let Some(entry) = known {
                        entry.state = state;
                    }
                }
                _ if step % 3 == 0 => {
                    cache.reorganize();
                    tables.reclaim();
                }
                _ => {}
            }
            if step % 20 == 0 {
                for chains in [false, true] {
                    let dump = String::from_utf8(cache.dump(chains)).expect("names of letters");
                    let head = format!(
                        "ins_mode={} hstate={}",
                        u8::from(with_keys),
                        if tables.entries.is_empty() { 2 } else { 3 }
                    );
                    assert_eq!(dump, tables.dump(&head, chains), "{step}");
                }
            }
        }
        assert!(tables.by_id.len() >= 128 && (!with_keys || tables.attempts[3] > 0));
    }
}

/// `hstate` has a bit for instances and one for stamps that are not saved, and one for whole names
/// (CACHE-100).
#[test]
fn marks() {
    let (_guard, files) = directory();
    let mut cache = Cache::<*const u8>::new(InDom::new(1, 2), Seed::process());
    let state = |cache: &Cache<*const u8>| {
        let dump = String::from_utf8(cache.dump(false)).expect("a number");
        let at = dump.find("hstate=").expect("it is shown");
        dump.as_bytes()[at + 7] - b'0'
    };
    assert_eq!(state(&cache), 0);
    cache.use_strings().expect("it is empty");
    assert_eq!(state(&cache), 4);
    cache.resize(9).expect("it is empty");
    assert_eq!(state(&cache), 6);
    add(&mut cache, "a name");
    assert_eq!(state(&cache), 7);
    let snapshot = begin(&mut cache, &files, 1);
    assert_eq!(cache.saved(&snapshot, snapshot.write()), Ok(Some(1)));
    assert_eq!((state(&cache), cache.cull_all(), state(&cache)), (4, 1, 5));
}
