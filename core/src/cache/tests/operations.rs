//! Operations on all instances, names and ids that are refused, and what a file does to a cache.

use super::*;
use crate::cache::WalkEntry;
use crate::error::Error;
use crate::log::Message;

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
        Message::Notify(_, text) => String::from_utf8_lossy(&text).into_owned(),
        other => format!("{other:?}"),
    };
    cache.journal.messages.drain(..).map(text).collect()
}

fn save(cache: &mut Cache<*const u8>, files: &FilePath, now: i64) -> Option<usize> {
    let snapshot = begin(cache, files, now);
    let result = snapshot.write();
    cache.saved(&snapshot, result).expect("ours")
}

/// Each operation on all instances says how many it has changed, and what depends on active ones is
/// told (CACHE-22, CACHE-33).
#[test]
fn all_at_once() {
    let mut cache = of(&["a", "b", "c", "d"]);
    for name in ["b", "d"] {
        assert!(cache.store(PMDA_CACHE_HIDE, named(name), None).is_ok());
    }
    let counts = |cache: &Cache<*const u8>| (ids(cache.actives()), ids(cache.inactives()), cache.inserted());
    assert_eq!(counts(&cache), (vec![0, 2], vec![1, 3], 4));
    assert_eq!((cache.active(), cache.inactive()), (2, 2));
    let before = crate::cache::changes();
    assert_eq!((cache.activate_all(), cache.active(), cache.inactive()), (2, 4, 0));
    assert_ne!(crate::cache::changes(), before);
    assert_eq!((cache.deactivate_all(), cache.active(), cache.inactive()), (4, 0, 4));
    // Active again by a store.
    add(&mut cache, "c");
    assert_eq!((cache.active(), cache.inactive()), (1, 3));
    assert_eq!((cache.cull_inactive(), cache.active(), cache.inactive()), (3, 1, 0));
    assert_eq!(counts(&cache), (vec![2], vec![], 4));
    assert_eq!((cache.cull_all(), cache.active(), cache.inactive()), (1, 0, 0));
}

/// What changes nothing is no reason to save. What forgets a record above the limit is one
/// (CACHE-70, CACHE-22).
#[test]
fn nothing_to_save() {
    let (_guard, files) = directory();
    let mut cache = of(&["a"]);
    assert_eq!(save(&mut cache, &files, 10), Some(1));
    assert_eq!((cache.cull_inactive(), cache.purge(5, None)), (0, Ok(0)));
    assert!(!cache.is_due(Write::Save));
    let path = cache.path(&files).expect("memory");
    fs::write(&path, "2 0 2147483647\n9 6 far\n").expect("ours");
    let mut cache = empty();
    cache.resize(5).expect("it is empty");
    assert_eq!((load(&mut cache, &files), cache.cull_all()), (1, 0));
    assert!(cache.is_due(Write::Save));
    assert_eq!(save(&mut cache, &files, 10), Some(0));
    assert_eq!(lines(path.as_ref()), [""; 0]);
}

/// A purge knows when the next one has something to do (CACHE-62).
#[test]
fn one_purge_after_another() {
    let mut cache = of(&["a", "b"]);
    for (slot, stamp) in [(0, 1), (1, 5)] {
        cache.slab.get_mut(slot).stamp = stamp;
    }
    cache.oldest = 1;
    let purged = [1, 3, 3, 5, 6].map(|limit| cache.purge(limit, None));
    assert_eq!(purged, [Ok(0), Ok(1), Ok(0), Ok(0), Ok(1)]);
}

/// The part of a name before a space is the instance's, and the whole name has to fit, unless the
/// whole name is the instance's (CACHE-4, CACHE-10, CACHE-24).
#[test]
fn names_with_spaces() {
    let mut cache = of(&["a one"]);
    assert_eq!(cache.store(PMDA_CACHE_ADD, named("a two"), None), Err(Error::EINVAL));
    assert_eq!(cache.store(PMDA_CACHE_HIDE, named("a two"), None), Err(Error::EINVAL));
    assert_eq!(cache.store(PMDA_CACHE_HIDE, named("a"), None), Ok(0));
    assert_eq!(cache.store_id(0, b"a two", None), Err(Error::EINVAL));
    assert_eq!(cache.store(PMDA_CACHE_ADD, named(""), None), Err(Error::GENERIC));
    assert_eq!(cache.use_strings(), Err(Error::E2BIG));
    let mut cache = empty();
    assert_eq!(cache.use_strings(), Ok(()));
    let stored = ["a one", "a two", ""].map(|name| cache.store(PMDA_CACHE_ADD, named(name), None));
    assert_eq!(stored, [Ok(0), Ok(1), Ok(2)]);
}

/// A key stands for its instance. Without one the name is the key (CACHE-50, CACHE-51).
#[test]
fn keys_and_names() {
    let mut cache = empty();
    let mut store = |name: &str, key: &[u8]| cache.store_key(PMDA_CACHE_ADD, named(name), key, None);
    let id = store("name", b"").expect("there are ids");
    assert_eq!((store("name", b""), store("name", b"name")), (Ok(id), Ok(id)));
    assert_eq!(store("name", b"another"), Err(Error::INST));
    assert_eq!(store("other", b"name"), Err(Error::INST));
    assert_eq!(cache.lookup_key(None, b"name").map(Entry::id), Ok(id));
    let mut another = empty();
    let same = another.store_key(PMDA_CACHE_ADD, named("other"), b"name", None);
    assert_eq!(same, Ok(id));
}

/// No id is above the limit, and the limit itself is one (CACHE-41, CACHE-65).
#[test]
fn ids_up_to_the_limit() {
    let mut cache = of(&["a"]);
    assert_eq!(cache.resize(2), Ok(()));
    assert_eq!(cache.store_id(3, b"c", None), Err(Error::TOOBIG));
    assert_eq!(cache.store_id(2, b"c", None), Ok(()));
    assert_eq!(cache.store(PMDA_CACHE_ADD, named("b"), None), Ok(1));
    for _ in 0..2 {
        assert_eq!(cache.store(PMDA_CACHE_ADD, named("d"), None), Err(Error::GENERIC));
    }
    assert_eq!(ids(cache.actives()), [0, 1, 2]);
}

/// A walk over the ids of a list returns those that are active, each with the place behind it.
#[test]
fn listed_instances() {
    let mut cache = of(&["a", "b", "c", "d", "e"]);
    assert_eq!(cache.store(PMDA_CACHE_HIDE, named("c"), None), Ok(2));
    let none = WalkEntry {
        inst: -1,
        next: cache.start().first,
    };
    let mut into = [none; 3];
    let listed = [-7, 1, 2, 3, 4, 9];
    assert_eq!(cache.read_listed(none.next, &listed, &mut into), 3);
    assert_eq!(into.map(|entry| entry.inst), [1, 3, 4]);
    let (behind_first, mut rest) = (into[0].next, [none; 3]);
    assert_eq!(cache.read_listed(behind_first, &listed, &mut rest), 2);
    assert_eq!(rest[..2], into[1..]);
}

/// A file that could not be read is kept once, under another name, by the save that follows; one
/// that is not there, or no cache file, is not (DEF-20).
#[test]
fn unread_files_are_kept() {
    let (_guard, files) = directory();
    let mut cache = of(&["a"]);
    let path = cache.path(&files).expect("memory");
    let aside = || {
        let folder = AsRef::<Path>::as_ref(&path).parent().expect("a folder").to_owned();
        fs::read_dir(folder).expect("ours").count() - 1
    };
    fs::write(&path, "2 0 2147483647\n7 5 old\n").expect("ours");
    cache.load_failed(Error::ENOENT);
    assert_eq!((save(&mut cache, &files, 1), aside()), (Some(1), 0));
    fs::write(&path, "2 0 2147483647\n7 5 old\n").expect("ours");
    add(&mut cache, "b");
    cache.load_failed(Error::os(5));
    assert_eq!((save(&mut cache, &files, 2), aside()), (Some(2), 1));
    assert!(log(&mut cache)[0].contains("not loaded before, kept as "));
    add(&mut cache, "c");
    assert_eq!((save(&mut cache, &files, 3), aside()), (Some(3), 1));
    assert!(log(&mut cache).is_empty());
}

/// What is no regular file is refused, and a directory is an empty file (CACHE-90).
#[test]
fn other_kinds_of_files() {
    let (_guard, files) = directory();
    let mut cache = empty();
    let path = cache.path(&files).expect("memory");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        AsRef::<Path>::as_ref(&path),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .expect("ours");
    let mut file = CacheFile::open(cache.path(&files).expect("memory")).expect("refused later");
    assert_eq!(cache.load(&mut file), Err(Error::GENERIC));
    assert!(log(&mut cache)[0].ends_with(": not a regular file"));
    fs::remove_file(&path).expect("ours");
    fs::create_dir(&path).expect("ours");
    assert_eq!(load(&mut cache, &files), 0);
    assert!(log(&mut cache)[0].ends_with(": empty file?"));
}

/// The mode and the limit of a file count, a second load changes nothing, and a line ends at a NUL
/// (CACHE-91, CACHE-93, CACHE-94).
#[test]
fn loaded_twice() {
    let (_guard, files) = directory();
    let mut cache = empty();
    let path = cache.path(&files).expect("memory");
    fs::write(&path, "2 0 3\n0 5 a\n1 5 bc\0d\n2 6 [] [x\n").expect("ours");
    for _ in 0..2 {
        assert_eq!((load(&mut cache, &files), cache.inactive()), (3, 3));
        assert!(log(&mut cache).is_empty());
    }
    let found = ["a", "bc", "[x"].map(|name| cache.lookup_name(name.as_bytes()).map(Entry::id));
    assert_eq!(found, [Ok(0), Ok(1), Ok(2)]);
    let stored = ["d", "e"].map(|name| cache.store(PMDA_CACHE_ADD, named(name), None));
    assert_eq!(stored, [Ok(3), Err(Error::GENERIC)]);
}

/// A name that fills no line is not saved, and a record above the limit goes when an instance has
/// its name: each is told once a save (CACHE-65, CACHE-74, DEF-9).
#[test]
fn left_out_of_the_file() {
    let (_guard, files) = directory();
    let mut cache = empty();
    let path = cache.path(&files).expect("memory");
    fs::write(&path, "2 0 2147483647\n9 6 far\n8 6 further\n").expect("ours");
    cache.resize(5).expect("it is empty");
    assert_eq!((load(&mut cache, &files), log(&mut cache).len()), (2, 1));
    let long = "x".repeat(1000);
    for name in ["two\nlines", "far", &long] {
        add(&mut cache, name);
    }
    assert_eq!(save(&mut cache, &files, 7), Some(2));
    assert_eq!(lines(path.as_ref()), ["1 7 far", &format!("2 7 {long}"), "8 6 further"]);
    let [skipped, dropped] = &log(&mut cache)[..] else {
        panic!("two lines");
    };
    assert!(skipped.ends_with(": 1 instances without a name of one line are not saved"));
    assert!(dropped.contains(": 1 instances above the limit are no longer saved"));
    add(&mut cache, "far");
    assert_eq!(save(&mut cache, &files, 8), Some(2));
    assert_eq!(log(&mut cache).len(), 1);
}
