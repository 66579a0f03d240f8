//! The effect of a file on a cache, and the content of a cache's file.

use super::*;
use crate::cache::file::LONGEST_LINE;
use crate::error::Error;

fn loaded(content: &str) -> (tempfile::TempDir, FilePath, Cache<*const u8>) {
    let (guard, files) = directory();
    let mut cache = empty();
    fs::write(cache.path(&files).expect("memory"), content).expect("ours");
    load(&mut cache, &files);
    (guard, files, cache)
}

/// A record that contradicts an instance is counted, reported and ignored: one with the id of
/// another, or with its name, also where only the short name is the same (CACHE-93, CACHE-101,
/// CACHE-102).
#[test]
fn contradictions() {
    let (_guard, files, mut cache) = loaded("2 0 99\n0 5 a\n1 5 b\n2 5 c d\n");
    cache.debug = true;
    let path = cache.path(&files).expect("memory");
    fs::write(&path, "2 0 99\n0 6 b\n2 6 c x\n3 6 a\n1 6 new\n").expect("ours");
    assert_eq!((load(&mut cache, &files), cache.inactive()), (4, 3));
    let logged = log(&mut cache);
    let mut expected = Vec::new();
    for (id, name, known, known_name) in [
        (0, "b", 0, "a"),
        (2, "c x", 2, "c d"),
        (3, "a", 0, "a"),
        (1, "new", 1, "b"),
    ] {
        let path = path.bytes().escape_ascii();
        expected.push(match id == known {
            true => format!("pmdaCache: store: indom 1.2: instance {known}  in cache, name \"{known_name}\" does not match new entry \"{name}\"\n"),
            false => format!("pmdaCacheStoreKey: indom 1.2: instance \"{known_name}\" in cache, id {known} does not match new entry {id}\n"),
        });
        expected.push(format!(
            "pmdaCacheOp: {path}: loading instance {id} (\"{name}\") ignored, already in cache as {known} (\"{known_name}\")"
        ));
    }
    assert_eq!(logged[..expected.len()], expected);
    let stamps = [0, 1, 2].map(|id| cache.lookup(id).expect("as before").stamp);
    assert_eq!(stamps, [5; 3]);
}

/// A record of a known instance sets its key and its stamp, and leaves its state (CACHE-93). The
/// next purge knows the stamp (CACHE-62).
#[test]
fn known_instances() {
    let (_guard, files, mut cache) = loaded("2 0 99\n0 0 a\n1 7 [aa] b\n2 9 [bb] c\n");
    assert_eq!(cache.purge(5, None), Ok(0));
    assert_eq!(cache.store_key(PMDA_CACHE_ADD, named("b"), &[0xaa], None), Ok(1));
    fs::write(
        cache.path(&files).expect("memory"),
        "2 0 99\n0 4 [cc] a\n1 3 b\n2 9 [dd] c\n",
    )
    .expect("ours");
    assert_eq!((load(&mut cache, &files), cache.active(), cache.inactive()), (3, 1, 2));
    let mut find = |key: u8| cache.lookup_key(None, &[key]).map(Entry::id).ok();
    assert_eq!([0xaa, 0xbb, 0xcc, 0xdd].map(&mut find), [None, None, Some(0), Some(2)]);
    assert_eq!(
        [3, 4, 5, 9, 10].map(|limit| cache.purge(limit, None)),
        [0, 1, 1, 0, 1].map(Ok)
    );
}

/// The limit that an agent has set counts, and is to be saved if the file has another
/// (CACHE-65, CACHE-91).
#[test]
fn limits() {
    for (maximum, is_due) in [(7, true), (8, false)] {
        let (_guard, files, mut cache) = loaded("2 0 8\n0 4 a\n");
        assert!(!cache.is_due(Write::Sync));
        cache.resize(maximum).expect("its ids are lower");
        let _ = begin(&mut cache, &files, 5);
        load(&mut cache, &files);
        assert_eq!((cache.is_due(Write::Sync), cache.is_due(Write::Save)), (is_due, false));
    }
}

/// A line that ends at a NUL in the middle of a key is no record (CACHE-90).
#[test]
fn cut_in_a_key() {
    let (_guard, files, mut cache) = loaded("2 0 8\n");
    let path = cache.path(&files).expect("memory");
    fs::write(path, "2 0 8\n0 4 a\n1 4 [aa\0] b\n2 4 c\n").expect("ours");
    let mut file = CacheFile::open(cache.path(&files).expect("memory")).expect("there");
    file.read();
    assert_eq!((cache.load(&mut file), cache.inactive()), (Err(Error::GENERIC), 1));
    assert!(log(&mut cache)[0].ends_with(": illegal record: 1 4 [aa"));
}

/// With debugging on, a load and each kind of save show the cache afterwards (CACHE-102).
#[test]
fn traced() {
    let (_guard, files, mut cache) = loaded("2 0 8\n0 4 a\n");
    assert_eq!(log(&mut cache), [""; 0]);
    cache.debug = true;
    assert_eq!(load(&mut cache, &files), 1);
    let dump = |cache: &Cache<*const u8>| String::from_utf8(cache.dump(false)).expect("letters");
    assert_eq!(log(&mut cache), ["After PMDA_CACHE_LOAD\n".to_owned(), dump(&cache)]);
    for (when, label) in [
        (Write::Save, "DIRTY_INSTANCE"),
        (Write::Sync, "DIRTY_INSTANCEDIRTY_STAMP"),
        (Write::Always, ""),
    ] {
        add(&mut cache, &format!("n{label}"));
        let path = cache.path(&files).expect("memory");
        let snapshot = cache.begin_save(when, path, 9).expect("memory").expect("it is due");
        assert!(cache.saved(&snapshot, snapshot.write()).is_ok());
        assert_eq!(
            log(&mut cache),
            [format!("After cache_save hstate={{{label}}}\n"), dump(&cache)]
        );
    }
}

/// A record of the longest line is saved, with its key; one of more is not (CACHE-90).
#[test]
fn longest_records() {
    let (_guard, files, mut cache) = loaded("2 0 99\n");
    let (longest, keys) = ("x".repeat(LONGEST_LINE - 64 - 80), [[7; 40], [8; 40]]);
    for (name, key) in [&longest, &(longest.clone() + "y")].into_iter().zip(keys) {
        assert!(cache.store_key(PMDA_CACHE_ADD, named(name), &key, None).is_ok());
    }
    assert_eq!((save(&mut cache, &files, 5), log(&mut cache).len()), (Some(1), 1));
    let path = cache.path(&files).expect("memory");
    assert!(fs::read(path).expect("written").ends_with(b"xx\n"));
}

/// Whatever had changed before a save that failed is to be saved, and what has changed since
/// (DEF-1).
#[test]
fn marks_of_failures() {
    let (_guard, files, mut cache) = loaded("2 0 99\n0 4 a\n");
    let full = || Err(io::Error::from_raw_os_error(28));
    let is_due = |cache: &Cache<*const u8>| (cache.is_due(Write::Save), cache.is_due(Write::Sync));
    for meanwhile in [false, true] {
        for (name, expected) in [("a", (false, true)), (if meanwhile { "b" } else { "c" }, (true, true))] {
            add(&mut cache, name);
            let snapshot = begin(&mut cache, &files, 5);
            assert_eq!(is_due(&cache), (false, false));
            if meanwhile {
                add(&mut cache, "a");
            }
            assert!(cache.saved(&snapshot, full()).is_err());
            assert_eq!(is_due(&cache), expected, "{name}");
            assert!(save(&mut cache, &files, 6).is_some());
        }
    }
}

/// A save that fails after a later one has ended leaves that one's stamps (DEF-1).
#[test]
fn stamps_of_a_later_save() {
    let (_guard, files, mut cache) = loaded("2 0 99\n");
    add(&mut cache, "a");
    let first = begin(&mut cache, &files, 1);
    add(&mut cache, "a");
    assert_eq!(save(&mut cache, &files, 2), Some(1));
    assert!(cache.saved(&first, Err(io::Error::from_raw_os_error(28))).is_err());
    assert_eq!(cache.lookup(0).map(|entry| entry.stamp), Ok(2));
}

/// A file that could not be read is kept once, under another name, by the save that follows; a
/// missing file, or one that is no cache file, is not kept (DEF-20).
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
    // Whether it failed once or twice does not matter.
    add(&mut cache, "d");
    cache.load_failed(Error::os(5));
    cache.load_failed(Error::os(5));
    assert_eq!((save(&mut cache, &files, 4), aside()), (Some(4), 2));
    // A file that was removed is not kept, and the new file is this cache's own.
    cache.load_failed(Error::os(5));
    fs::remove_file(&path).expect("ours");
    for (name, saved) in [("e", 5), ("f", 6)] {
        add(&mut cache, name);
        assert_eq!((save(&mut cache, &files, 5), aside()), (Some(saved), 2));
    }
}

/// Anything but a regular file is refused, and a directory is an empty file (CACHE-90).
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
    assert!(skipped.ends_with(": 1 instance without a name of one line is not saved"));
    assert!(dropped.contains(": 1 instance above the limit is no longer saved"));
    add(&mut cache, "far");
    assert_eq!(save(&mut cache, &files, 8), Some(2));
    assert_eq!(log(&mut cache).len(), 1);
}
