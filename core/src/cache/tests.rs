//! The whole cache against a simple model.

mod dump;
mod files;
mod operations;
mod stamps;

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::{fs, io};

use proptest::prelude::*;

use super::entry::{Entry, Slab, SmallText};
use super::{Cache, CacheFile, EntryState, Snapshot, Write};
use crate::constants::{PMDA_CACHE_ADD, PMDA_CACHE_CULL, PMDA_CACHE_HIDE};
use crate::ident::InDom;
use crate::index::Seed;
use crate::log::Message;
use crate::path::FilePath;

#[derive(Clone, Copy, Debug)]
enum Step {
    Add(u8),
    Hide(u8),
    Cull(u8),
    Reorganize,
    Inactive,
    Reuse,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => any::<u8>().prop_map(Step::Add),
        3 => any::<u8>().prop_map(Step::Hide),
        4 => any::<u8>().prop_map(Step::Cull),
        1 => Just(Step::Reorganize),
        1 => Just(Step::Inactive),
        1 => Just(Step::Reuse),
    ]
}

proptest! {
    /// After any sequence of operations ids are unique, reuse takes the lowest free one, and
    /// states, counts and order are those of a model (CACHE-3, CACHE-21, CACHE-33, CACHE-40,
    /// CACHE-42, DEF-2, DEF-3, DEF-5, DEF-14).
    #[test]
    fn as_the_model(steps in prop::collection::vec(step(), 0..600)) {
        let mut cache = Cache::<u8>::new(InDom::new(1, 1), Seed::process());
        // Id and state by name.
        let mut model = BTreeMap::<String, (i32, EntryState)>::new();
        for step in steps {
            let name = |number: u8| format!("n{number}");
            let mut store = |flags, number: u8| cache.store(flags, Some(name(number).as_bytes()), Some(number));
            match step {
                Step::Add(number) => {
                    let id = store(PMDA_CACHE_ADD, number).expect("there are ids");
                    let known = model.insert(name(number), (id, EntryState::Active));
                    prop_assert!(known.is_none_or(|known| known.0 == id));
                }
                Step::Hide(number) => {
                    let known = model.get_mut(&name(number));
                    prop_assert_eq!(store(PMDA_CACHE_HIDE, number).ok(), known.as_ref().map(|known| known.0));
                    if let Some(known) = known {
                        known.1 = EntryState::Inactive;
                    }
                }
                Step::Cull(number) => {
                    let known = model.remove(&name(number));
                    prop_assert_eq!(store(PMDA_CACHE_CULL, number).ok(), known.map(|known| known.0));
                }
                Step::Reorganize => cache.reorganize(),
                Step::Inactive => {
                    let active = model.values_mut().filter(|known| known.1 == EntryState::Active);
                    let changed = active.map(|known| known.1 = EntryState::Inactive).count();
                    prop_assert_eq!(cache.deactivate_all(), changed);
                }
                Step::Reuse => cache.reuse(),
            }
        }
        let mut active = Vec::new();
        for (name, (id, state)) in &model {
            let hit = cache.lookup(*id).expect("known");
            prop_assert_eq!((hit.state(), hit.name()), (*state, name.as_bytes()));
            prop_assert_eq!(cache.lookup_name(name.as_bytes()).expect("known").id(), *id);
            if *state == EntryState::Active {
                active.push(*id);
            }
        }
        active.sort_unstable();
        cache.rewind();
        let walked: Vec<i32> = std::iter::from_fn(|| cache.walk()).collect();
        prop_assert_eq!(&walked, &active);
        prop_assert_eq!((cache.active(), cache.active() + cache.inactive()), (active.len(), model.len()));
        cache.reorganize();
        cache.reuse();
        let lowest = (0..).find(|id| model.values().all(|known| known.0 != *id)).expect("there are ids");
        prop_assert_eq!(cache.store(PMDA_CACHE_ADD, Some(b"next"), None), Ok(lowest));
    }
}

/// A cache of `count` instances, `n0` and so on, some of them written at second 1 and not stored
/// since.
fn aged(count: u32, is_aged: impl Fn(u32) -> bool) -> Cache<*const u8> {
    let mut cache = Cache::new(InDom::new(1, 2), Seed::process());
    for number in 0..count {
        add(&mut cache, &format!("n{number}"));
        let slot = cache.find_id(number).expect("it was just stored");
        cache.slab.get_mut(slot).stamp = i64::from(is_aged(number));
    }
    cache.oldest = 1;
    cache
}

fn add(cache: &mut Cache<*const u8>, name: &str) -> i32 {
    let added = cache.store(PMDA_CACHE_ADD, Some(name.as_bytes()), None);
    added.expect("there are ids")
}

fn begin(cache: &mut Cache<*const u8>, directory: &FilePath, now: i64) -> Snapshot {
    let snapshot = cache.begin_save(Write::Sync, cache.path(directory).expect("memory"), now);
    snapshot.expect("memory").expect("a save is due")
}

fn directory() -> (tempfile::TempDir, FilePath) {
    let directory = tempfile::tempdir().expect("a directory");
    fs::create_dir(directory.path().join("config")).expect("ours");
    let files = super::directory_below(directory.path().as_os_str().as_bytes()).expect("memory");
    (directory, files)
}

fn load(cache: &mut Cache<*const u8>, directory: &FilePath) -> usize {
    let mut file = CacheFile::open(cache.path(directory).expect("memory")).expect("there");
    loop {
        file.read();
        if let Some(loaded) = cache.load(&mut file).expect("a good file") {
            return loaded;
        }
    }
}

fn named(name: &str) -> Option<&[u8]> {
    Some(name.as_bytes())
}

fn empty() -> Cache<*const u8> {
    Cache::new(InDom::new(1, 2), Seed::process())
}

fn of(names: &[&str]) -> Cache<*const u8> {
    let mut cache = empty();
    for name in names {
        add(&mut cache, name);
    }
    cache
}

fn ids<'a>(instances: impl Iterator<Item = (i32, &'a [u8])>) -> Vec<i32> {
    instances.map(|(id, _)| id).collect()
}

/// The lines of the log so far.
fn log(cache: &mut Cache<*const u8>) -> Vec<String> {
    let text = |message| match message {
        Message::Notify(_, text) | Message::Trace(text) => String::from_utf8_lossy(&text).into_owned(),
        other => format!("{other:?}"),
    };
    cache.journal.messages.drain(..).map(text).collect()
}

fn save(cache: &mut Cache<*const u8>, files: &FilePath, now: i64) -> Option<usize> {
    let snapshot = begin(cache, files, now);
    let result = snapshot.write();
    cache.saved(&snapshot, result).expect("ours")
}

fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).expect("written");
    text.lines().skip(1).map(str::to_owned).collect()
}

/// A save writes the instances that existed when it began. Changes that are made while nothing is
/// locked are for the next save (CACHE-70, DEF-1).
#[test]
fn changes_meanwhile_stay_dirty() {
    let (_directory, files) = directory();
    let mut cache = Cache::<*const u8>::new(InDom::new(1, 2), Seed::process());
    let path = cache.path(&files).expect("memory");
    add(&mut cache, "a");
    add(&mut cache, "b");
    let snapshot = begin(&mut cache, &files, 100);
    assert!(!cache.is_due(Write::Sync));
    add(&mut cache, "a");
    assert!(cache.is_due(Write::Sync) && !cache.is_due(Write::Save));
    add(&mut cache, "c");
    let result = snapshot.write();
    assert_eq!(cache.saved(&snapshot, result), Ok(Some(2)));
    assert!(cache.is_due(Write::Save));
    assert_eq!(lines(path.as_ref()), ["0 100 a", "1 100 b"]);
    let snapshot = begin(&mut cache, &files, 200);
    let result = snapshot.write();
    assert_eq!(cache.saved(&snapshot, result), Ok(Some(3)));
    assert_eq!(lines(path.as_ref()), ["0 200 a", "1 100 b", "2 200 c"]);
    assert!(!cache.is_due(Write::Sync));
}

/// After a failure everything is to be saved as before, and no stamp has changed but those of later
/// stores (DEF-1).
#[test]
fn failures_change_nothing() {
    let (_directory, files) = directory();
    let mut cache = Cache::<*const u8>::new(InDom::new(1, 2), Seed::process());
    add(&mut cache, "a");
    add(&mut cache, "b");
    let snapshot = begin(&mut cache, &files, 100);
    add(&mut cache, "c");
    let full = || Err(io::Error::from_raw_os_error(28));
    assert!(cache.saved(&snapshot, full()).is_err());
    assert!(cache.is_due(Write::Save));
    // Nothing is old, since nothing was written.
    assert_eq!(cache.purge(i64::MAX, None), Ok(0));
    let snapshot = begin(&mut cache, &files, 300);
    let path = cache.path(&files).expect("memory");
    let result = snapshot.write();
    assert_eq!(cache.saved(&snapshot, result), Ok(Some(3)));
    assert_eq!(lines(path.as_ref()), ["0 300 a", "1 300 b", "2 300 c"]);
    add(&mut cache, "a");
    let snapshot = begin(&mut cache, &files, 400);
    assert!(cache.saved(&snapshot, full()).is_err());
    // Only stamps are to be saved, as before the save that failed.
    assert!(cache.is_due(Write::Sync) && !cache.is_due(Write::Save));
}

/// Of two saves at a time, the one that ends last has to save again, since it is not known which of
/// them is in the file (CACHE-7).
#[test]
fn two_saves_at_a_time() {
    let (_directory, files) = directory();
    let mut cache = Cache::<*const u8>::new(InDom::new(1, 2), Seed::process());
    add(&mut cache, "a");
    let first = begin(&mut cache, &files, 1);
    add(&mut cache, "b");
    let second = begin(&mut cache, &files, 1);
    assert!(!cache.is_due(Write::Sync));
    second.write().expect("ours");
    assert_eq!(cache.saved(&second, Ok(())), Ok(Some(2)));
    first.write().expect("ours");
    assert_eq!(cache.saved(&first, Ok(())), Ok(None));
    assert!(cache.is_due(Write::Save));
    let again = begin(&mut cache, &files, 1);
    again.write().expect("ours");
    assert_eq!(cache.saved(&again, Ok(())), Ok(Some(2)));
    let path = cache.path(&files).expect("memory");
    assert_eq!(lines(path.as_ref()), ["0 1 a", "1 1 b"]);
    // A save that was left in the middle, by a jump for instance, does no harm.
    add(&mut cache, "c");
    let _ = begin(&mut cache, &files, 1);
    add(&mut cache, "d");
    let last = begin(&mut cache, &files, 1);
    assert_eq!(cache.saved(&last, Ok(())), Ok(Some(4)));
}

/// Each line has the stamp of its own instance, not that of the line before (CACHE-74).
#[test]
fn stamps() {
    let (_directory, files) = directory();
    let mut cache = Cache::<*const u8>::new(InDom::new(1, 2), Seed::process());
    let mut expected = Vec::new();
    for number in 0..900_u32 {
        let name = format!("n{number}");
        add(&mut cache, &name);
        let stamp = i64::from(number / 3 % 9 * (number % 3));
        let slot = cache.find_id(number).expect("it was just stored");
        cache.slab.get_mut(slot).stamp = stamp;
        let written = if stamp == 0 { 7 } else { stamp };
        expected.push(format!("{number} {written} {name}"));
    }
    let snapshot = begin(&mut cache, &files, 7);
    snapshot.write().expect("a file of ours");
    let path = cache.path(&files).expect("memory");
    assert_eq!(lines(path.as_ref()), expected);
}

/// Records above the limit are not loaded, and stay in the file (CACHE-65, CACHE-91).
#[test]
fn beyond_the_limit() {
    let (_directory, files) = directory();
    let mut cache = Cache::<*const u8>::new(InDom::new(1, 2), Seed::process());
    let path = cache.path(&files).expect("memory");
    fs::write(&path, "2 0 2147483647\n1 5 a\n9 6 [ab] far\n8 7  further\n").expect("ours");
    cache.resize(5).expect("it is empty");
    assert_eq!(load(&mut cache, &files), 3);
    assert_eq!((cache.inactive(), cache.journal.messages.drain(..).count()), (1, 1));
    assert_eq!(add(&mut cache, "b"), 2);
    let snapshot = begin(&mut cache, &files, 50);
    let result = snapshot.write();
    assert_eq!(cache.saved(&snapshot, result), Ok(Some(2)));
    assert_eq!(lines(path.as_ref()), ["1 5 a", "2 50 b", "9 6 [ab] far", "8 7 further"]);
    assert!(cache.journal.messages.is_empty());
}

/// Instances that a purge has culled are not found until they are stored again. The table of names
/// does not grow for these, and has no name of a reclaimed entry (CACHE-30, CACHE-36, CACHE-62).
#[test]
fn purged_names() {
    for (count, step) in [(3_u32, 1), (60, 3), (60, 40), (5000, 3), (5000, 40)] {
        let is_purged = |number: u32| number % step == 0;
        let mut cache = aged(count, is_purged);
        let purged = (0..count).filter(|number| is_purged(*number)).count();
        let cells = cache.names.cells();
        assert_eq!(cache.purge(100, None), Ok(purged));
        let found = |cache: &Cache<*const u8>, number: u32| {
            let name = format!("n{number}");
            cache.lookup_name(name.as_bytes()).is_ok()
        };
        assert!((0..count).all(|number| found(&cache, number) != is_purged(number)));
        let is_back = |number: u32| is_purged(number) && number % 2 != 0;
        for number in (0..count).filter(|number| is_back(*number)) {
            add(&mut cache, &format!("n{number}"));
        }
        let is_there = |number: u32| !is_purged(number) || is_back(number);
        assert!((0..count).all(|number| found(&cache, number) == is_there(number)));
        assert!(cache.names.len() <= count as usize && cache.names.cells() <= cells);
        cache.reorganize();
        assert_eq!(cache.names.len(), cache.active + cache.inactive);
        assert!((0..count).all(|number| found(&cache, number) == is_there(number)));
    }
}

/// An instance that comes and goes has one place in the table of names, however many of its entries
/// are still to be reclaimed (CACHE-36).
#[test]
fn one_place_for_a_name() {
    let mut cache = aged(1, |_| false);
    for culled in 1..40 {
        if culled % 2 == 0 {
            assert!(cache.store(PMDA_CACHE_CULL, Some(b"n0"), None).is_ok());
        } else {
            assert_eq!(cache.cull_all(), 1);
        }
        assert!(cache.lookup_name(b"n0").is_err());
        add(&mut cache, "n0");
        assert_eq!((cache.empty, cache.names.len()), (culled, 1));
    }
}

/// A file may give one key to many instances; the one with the lowest id is found (CACHE-31).
#[test]
fn shared_keys() {
    let (_directory, files) = directory();
    let mut cache = Cache::<*const u8>::new(InDom::new(1, 2), Seed::process());
    let path = cache.path(&files).expect("memory");
    fs::write(&path, "2 0 2147483647\n1 5 [aa] a\n2 5 [bb] b\n3 5 [aa] c\n").expect("ours");
    assert_eq!(load(&mut cache, &files), 3);
    let find = |cache: &mut Cache<*const u8>, key: u8| {
        let hit = cache.lookup_key(None, &[key]);
        hit.map(Entry::id).ok()
    };
    assert_eq!(
        (find(&mut cache, 0xaa), find(&mut cache, 0xbb), find(&mut cache, 0xcc)),
        (Some(1), Some(2), None)
    );
    for (name, left) in [(&b"a"[..], Some(3)), (b"c", None)] {
        let culled = cache.store(PMDA_CACHE_CULL, Some(name), None);
        assert!(culled.is_ok());
        assert_eq!((find(&mut cache, 0xaa), find(&mut cache, 0xbb)), (left, Some(2)));
    }
}

/// A name has one address, however many entries come after it (CACHE-25), and an entry has 64 bytes
/// (DEF-14).
#[test]
fn entries_stay_where_they_are() {
    let entry = || Entry::<usize> {
        state: EntryState::Active,
        ..Entry::free()
    };
    let insert = |slab: &mut Slab<usize>, name: &str| {
        slab.reserve().expect("memory");
        let slot = slab.insert(entry());
        slab.get_mut(slot).name = SmallText::new(name.as_bytes()).expect("memory");
        slot
    };
    let mut slab = Slab::new();
    let names: Vec<String> = (0..5000).map(|n| "x".repeat(n % 40)).collect();
    let slots: Vec<u32> = names.iter().map(|name| insert(&mut slab, name)).collect();
    let first = slab.get(slots[3]).name().as_ptr();
    for name in &names {
        insert(&mut slab, name);
    }
    assert_eq!(slab.get(slots[3]).name().as_ptr(), first);
    for (slot, name) in slots.iter().zip(&names) {
        assert_eq!(slab.get(*slot).name(), name.as_bytes());
        assert_eq!(slab.get(*slot).terminated(), [name.as_bytes(), b"\0"].concat());
    }
    for slot in [slots[7], slots[9]] {
        slab.remove(slot);
    }
    assert_eq!(insert(&mut slab, "again"), slots[9]);
    assert_eq!(insert(&mut slab, "again"), slots[7]);
    assert_eq!(insert(&mut slab, "new"), 10_000);
    let unused = slab.guess(10_001).map(|entry| entry.state);
    assert!(unused.is_none_or(|state| state == EntryState::Free) && slab.guess(1 << 31).is_none());
    assert!(size_of::<Entry<std::ptr::NonNull<u8>>>() <= 64);
}
