//! Operations on one cache beside a simple model of what it should hold.
//!
//! Two bytes are one operation: what, and on which name and key. `cache_operations.c` reads them in
//! the same way.

use std::collections::BTreeMap;

use pmda_core::cache::{Cache, Entry, EntryState, WalkEntry};
use pmda_core::constants::{PMDA_CACHE_ADD, PMDA_CACHE_CULL, PMDA_CACHE_HIDE};
use pmda_core::error::{Error, Result};
use pmda_core::ident::InDom;

/// Operations that are made for one input.
const STEPS: usize = 300;
const NAMES: usize = 32;
/// With and without a tail behind the short name, kept in the entry and outside of it.
const TAILS: [&str; 3] = ["", " tail", " a tail that is longer than what is kept in the entry"];

/// What is known of an instance that was not culled.
struct Instance {
    short: usize,
    tail: usize,
    active: bool,
    /// The key that it was stored with.
    key: Option<u8>,
}

impl Instance {
    fn name(&self) -> String {
        format!("n{}{}", self.short, TAILS[self.tail])
    }
}

/// What a cache should hold.
struct Model {
    live: BTreeMap<i32, Instance>,
    /// The id of each short name.
    ids: [Option<i32>; NAMES],
    inserted: u32,
    /// The greatest id that was ever given out.
    greatest: i32,
    maximum: i32,
    /// Ids need not go up any more.
    reuse: bool,
}

impl Model {
    fn count(&self, active: bool) -> usize {
        self.live.values().filter(|known| known.active == active).count()
    }

    /// The id of the short name; `-EINVAL` when the whole name belongs to another instance.
    fn find(&self, short: usize, tail: usize) -> Result<i32> {
        let id = self.ids[short].ok_or(Error::INST)?;
        if tail == 0 || self.live[&id].tail == tail {
            Ok(id)
        } else {
            Err(Error::EINVAL)
        }
    }

    /// An instance was added, or is there again.
    fn stored(&mut self, id: i32, short: usize, tail: usize, key: Option<u8>) {
        self.reuse |= key.is_some();
        if let Ok(known) = self.find(short, tail) {
            assert_eq!(id, known, "an instance keeps its id");
            let known = self.live.get_mut(&id).expect("an id of the model");
            (known.active, known.key) = (true, key);
            return;
        }
        assert!(
            id >= 0 && id <= self.maximum && !self.live.contains_key(&id),
            "an id of its own"
        );
        assert!(self.reuse || id > self.greatest, "ids go up");
        self.greatest = id.max(self.greatest);
        self.inserted += 1;
        self.ids[short] = Some(id);
        let active = true;
        self.live.insert(
            id,
            Instance {
                short,
                tail,
                active,
                key,
            },
        );
    }

    fn set_all(&mut self, active: bool) {
        for known in self.live.values_mut() {
            known.active = active;
        }
    }

    fn with_key(&self, key: u8) -> Option<i32> {
        self.live
            .iter()
            .find(|(_, known)| known.key == Some(key))
            .map(|(id, _)| *id)
    }
}

/// The bytes are operations.
pub fn cache_operations(data: &[u8]) {
    let mut cache = Cache::<*const u8>::new(InDom::new(1, 2), pmda_core::index::Seed::process());
    let mut model = Model {
        live: BTreeMap::new(),
        ids: [None; NAMES],
        inserted: 0,
        greatest: -1,
        maximum: i32::MAX,
        reuse: false,
    };
    for step in data.chunks_exact(2).take(STEPS) {
        operate(&mut cache, &mut model, step[0], step[1] % 64);
        agree(&mut cache, &model);
    }
}

fn operate(cache: &mut Cache<*const u8>, model: &mut Model, what: u8, which: u8) {
    let (short, tail) = (usize::from(which) % NAMES, usize::from(what / 86));
    let name = format!("n{short}{}", TAILS[tail]);
    let name = name.as_bytes();
    let known = model.find(short, tail);
    let key = [which; 40];
    let key = &key[..1 + usize::from(which / 16) * 12];
    match what % 16 {
        0 | 3 | 8 => match (cache.store(PMDA_CACHE_ADD, Some(name), None), known) {
            (Ok(id), _) => model.stored(id, short, tail, None),
            (Err(error), Err(Error::INST)) => full(model, error),
            (done, _) => assert_eq!(done, known),
        },
        1 => {
            assert_eq!(cache.store(PMDA_CACHE_HIDE, Some(name), None), known);
            if let Some(known) = known.ok().and_then(|id| model.live.get_mut(&id)) {
                known.active = false;
            }
        }
        2 => {
            assert_eq!(cache.store(PMDA_CACHE_CULL, Some(name), None), known);
            if let Ok(id) = known {
                model.live.remove(&id);
                model.ids[short] = None;
            }
        }
        4 | 9 => {
            let done = cache.store_key(PMDA_CACHE_ADD, Some(name), key, None);
            let there = model.ids[short].map(|id| model.live[&id].key);
            match there {
                Some(other) if other != Some(which) => assert_eq!(done, Err(Error::INST)),
                Some(_) if known.is_err() => assert_eq!(done, known),
                _ => match done {
                    Ok(id) => model.stored(id, short, tail, Some(which)),
                    Err(error) => full(model, error),
                },
            }
        }
        5 => cache.reorganize(),
        // Nothing was saved, so nothing is old.
        6 => assert_eq!(cache.purge(i64::from(which) << 40, None), Ok(0)),
        7 => {
            cache.reuse();
            model.reuse = true;
        }
        10 => resize(cache, model, i32::from(which) * 8),
        11 => {
            assert_eq!(cache.deactivate_all(), model.count(true));
            model.set_all(false);
        }
        12 => {
            assert_eq!(cache.activate_all(), model.count(false));
            model.set_all(true);
        }
        13 => cache.rewind(),
        14 => {
            if let Some(id) = cache.walk() {
                assert!(model.live[&id].active, "a walk shows what is there");
            }
        }
        _ => assert!(!cache.dump(true).is_empty()),
    }
    let hit = cache.lookup_key(None, key).map(Entry::id);
    assert_eq!(hit.ok(), model.with_key(which));
    // Whatever follows the short name (CACHE-10).
    let owner = model.ids[short].ok_or(Error::INST);
    assert_eq!(cache.lookup_name(name).map(Entry::id), owner);
}

/// An instance could not be added: only in a cache with a limit of ids.
fn full(model: &mut Model, error: Error) {
    assert!(
        error == Error::GENERIC && model.maximum < i32::MAX,
        "there is room: {error:?}"
    );
    model.reuse = true;
}

fn resize(cache: &mut Cache<*const u8>, model: &mut Model, maximum: i32) {
    let beyond = model.live.last_key_value().is_some_and(|(id, _)| *id > maximum);
    match cache.resize(maximum) {
        Ok(()) => {
            assert!(!beyond, "an id is greater");
            model.maximum = maximum;
            // When the greatest id has been given out, free ones are looked for.
            model.reuse = true;
        }
        // What was culled may be listed still.
        Err(error) => assert!(error == Error::TOOBIG && (beyond || model.greatest > maximum)),
    }
}

/// What a walk gives that reads a few instances at a time.
fn walked(cache: &mut Cache<*const u8>) -> Vec<i32> {
    let mut from = cache.start().first;
    let mut insts = Vec::new();
    loop {
        let mut some = [WalkEntry { inst: 0, next: from }; 3];
        let len = cache.read_active(from, &mut some);
        insts.extend(some[..len].iter().map(|given| given.inst));
        match some[..len].last() {
            Some(last) => from = last.next,
            None => return insts,
        }
    }
}

/// The cache holds what the model holds, in order, and counts right.
fn agree(cache: &mut Cache<*const u8>, model: &Model) {
    let actives = || model.live.iter().filter(|(_, known)| known.active).map(|(id, _)| *id);
    assert!(cache.actives().map(|(id, _)| id).eq(actives()), "in order, none twice");
    assert!(walked(cache).into_iter().eq(actives()), "a walk gives the same");
    assert_eq!(
        [cache.active(), cache.inactive()],
        [true, false].map(|active| model.count(active))
    );
    assert_eq!(cache.inserted(), model.inserted);
    for (id, known) in &model.live {
        let state = if known.active {
            EntryState::Active
        } else {
            EntryState::Inactive
        };
        let hit = cache.lookup(*id).expect("there");
        assert_eq!((hit.id(), hit.state()), (*id, state));
        assert_eq!(hit.name(), known.name().as_bytes());
    }
    for id in 0..40 {
        assert_eq!(cache.lookup(id).is_ok(), model.live.contains_key(&id));
    }
}
