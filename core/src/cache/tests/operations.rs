//! Operations on all instances, walks, and names and ids that are refused.

use super::*;
use crate::cache::WalkEntry;
use crate::error::Error;

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

/// Whoever has kept a list of instances is told when one of them goes, in whatever way, and when
/// one comes.
#[test]
fn changes_are_told() {
    type Operation = fn(&mut Cache<*const u8>);
    let operations: [(&str, Operation); 10] = [
        ("cull", |cache| {
            assert_eq!(cache.store(PMDA_CACHE_CULL, named("a"), None), Ok(0));
        }),
        ("store", |cache| assert_eq!(add(cache, "a"), 2)),
        ("hide", |cache| {
            assert_eq!(cache.store(PMDA_CACHE_HIDE, named("a"), None), Ok(2));
        }),
        ("store of a hidden one", |cache| assert_eq!(add(cache, "a"), 2)),
        ("deactivate", |cache| assert_eq!(cache.deactivate_all(), 2)),
        ("activate", |cache| assert_eq!(cache.activate_all(), 2)),
        ("purge", |cache| {
            cache.slab.get_mut(1).stamp = 1;
            cache.oldest = 1;
            assert_eq!(cache.purge(2, None), Ok(1));
        }),
        ("cull all", |cache| assert_eq!(cache.cull_all(), 1)),
        ("reclaim", Cache::reorganize),
        ("store_id", |cache| assert_eq!(cache.store_id(9, b"c", None), Ok(()))),
    ];
    let mut cache = of(&["a", "b"]);
    for (what, operation) in operations {
        let before = crate::cache::changes();
        operation(&mut cache);
        assert_ne!(crate::cache::changes(), before, "{what}");
    }
}

/// A call that changes nothing is no reason to save. A call that forgets a record above the limit
/// is one (CACHE-70, CACHE-22).
#[test]
fn nothing_to_save() {
    let (_guard, files) = directory();
    let mut cache = of(&["a"]);
    assert_eq!(save(&mut cache, &files, 10), Some(1));
    assert_eq!((cache.cull_inactive(), cache.purge(5, None)), (0, Ok(0)));
    assert!(!cache.is_due(Write::Save));
    let culls: [fn(&mut Cache<*const u8>) -> usize; 3] = [
        Cache::cull_all,
        |cache| cache.deactivate_all().min(cache.cull_inactive()),
        |cache| cache.purge(i64::MAX, None).expect("no list"),
    ];
    for cull in culls {
        add(&mut cache, "a");
        assert_eq!(save(&mut cache, &files, 10), Some(1));
        assert_eq!((cull(&mut cache), cache.is_due(Write::Save)), (1, true));
    }
    let path = cache.path(&files).expect("memory");
    fs::write(&path, "2 0 2147483647\n9 6 far\n").expect("ours");
    let mut cache = empty();
    cache.resize(5).expect("it is empty");
    add(&mut cache, "a");
    assert_eq!(cache.store(PMDA_CACHE_CULL, named("a"), None), Ok(0));
    assert_eq!((load(&mut cache, &files), cache.cull_all()), (1, 0));
    assert!(cache.is_due(Write::Save));
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

/// A purge returns the ids of the culled instances, in ascending order, with their private data, if
/// they have any (CACHE-63).
#[test]
fn purged_with_a_list() {
    let mut cache = Cache::<u8>::new(InDom::new(1, 2), Seed::process());
    for (id, attached) in [(7, Some(1)), (3, None), (5, Some(2)), (1, Some(3)), (9, Some(4))] {
        let name = format!("n{id}");
        assert_eq!(cache.store_id(id, name.as_bytes(), attached), Ok(()));
        let slot = cache.find_id(id.unsigned_abs()).expect("stored");
        cache.slab.get_mut(slot).stamp = i64::from(id.min(8));
    }
    cache.oldest = 1;
    assert_eq!(cache.store(PMDA_CACHE_CULL, named("n1"), None), Ok(1));
    let mut list = Vec::new();
    assert_eq!(
        (cache.purge(8, Some(&mut list)), &*list),
        (Ok(3), &[(5, 2), (7, 1)][..])
    );
    list.clear();
    assert_eq!((cache.purge(9, Some(&mut list)), &*list), (Ok(1), &[(9, 4)][..]));
}

/// Names of one hash are as different as others, whichever of them are culled, and stored again
/// (CACHE-10).
#[test]
fn names_of_one_hash() {
    let seed = Seed::new(5, 7);
    let names: Vec<_> = crate::cache::entry::tests::colliding(seed).take(6).collect();
    let mut cache = Cache::<*const u8>::new(InDom::new(1, 2), seed);
    for round in 0..3 {
        for (at, name) in names.iter().enumerate().filter(|(at, _)| at % 3 <= round) {
            let id = cache.store(PMDA_CACHE_ADD, Some(name), None).expect("there are ids");
            for (other, name) in names.iter().enumerate().filter(|(other, _)| *other != at) {
                assert_ne!(cache.lookup_name(name).map(Entry::id), Ok(id), "{at} {other}");
            }
            assert_eq!(cache.lookup_name(name).map(Entry::id), Ok(id));
        }
        for name in names.iter().skip(round).step_by(2) {
            let _ = cache.store(PMDA_CACHE_CULL, Some(name), None);
            assert_eq!(cache.lookup_name(name).map(Entry::id), Err(Error::INST));
        }
    }
    cache.reorganize();
    let found = names.iter().filter_map(|name| cache.lookup_name(name).ok());
    let found: Vec<_> = found.map(|entry| (entry.id(), entry.name())).collect();
    assert_eq!(found.len(), cache.active());
    assert!(cache.actives().all(|instance| found.contains(&instance)));
}

/// Nobody finds a culled instance by its key, however it was culled, and its key is free again
/// (CACHE-31, CACHE-58).
#[test]
fn keys_of_culled() {
    let culls: [fn(&mut Cache<*const u8>) -> usize; 3] = [
        Cache::cull_all,
        |cache| cache.deactivate_all().min(cache.cull_inactive()),
        |cache| {
            (0..cache.slab.len()).for_each(|slot| cache.slab.get_mut(slot).stamp = 1);
            cache.oldest = 1;
            cache.purge(2, None).expect("no list")
        },
    ];
    for cull in culls {
        let mut cache = empty();
        for names in [["a", "b", "c"], ["d", "e", "f"]] {
            for (name, key) in names.iter().zip([b"k1", b"k2", b"k3"]) {
                let id = cache
                    .store_key(PMDA_CACHE_ADD, named(name), key, None)
                    .expect("a free key");
                assert_eq!(cache.lookup_key(None, key).map(Entry::id), Ok(id));
            }
            assert_eq!(cull(&mut cache), 3);
            for key in [b"k1", b"k2", b"k3"] {
                assert_eq!(cache.lookup_key(None, key).map(Entry::id), Err(Error::INST));
            }
        }
    }
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

/// A key belongs to its instance also where another id would be free for it. What makes an id of a
/// key lets ids be used again for good, and a name that is missing is told with the id (CACHE-43,
/// CACHE-54, CACHE-57, CACHE-58, CACHE-101).
#[test]
fn keys_and_ids() {
    let mut cache = empty();
    cache.resize(1).expect("it is empty");
    let mut store =
        |name: Option<&str>, key: &[u8]| cache.store_key(PMDA_CACHE_ADD, name.map(str::as_bytes), key, None);
    // Of two keys with one first choice, the second gets the other id.
    let keys: Vec<_> = (0..=255_u8)
        .filter(|key| crate::cache::keys::jenkins_hash(&[*key], 0) % 2 == 0)
        .collect();
    assert_eq!(store(Some("first"), &keys[..1]), Ok(0));
    let second = keys[1..]
        .chunks(1)
        .find(|key| store(Some("second"), key) == Ok(1))
        .expect("of 128 keys");
    assert_eq!(cache.store(PMDA_CACHE_CULL, named("first"), None), Ok(0));
    assert_eq!(
        cache.store_key(PMDA_CACHE_ADD, named("third"), second, None),
        Err(Error::INST)
    );
    cache.reorganize();
    assert_eq!(cache.store(PMDA_CACHE_ADD, named("low"), None), Ok(0));
    log(&mut cache);
    let mut cache = empty();
    for (name, key, inst) in [
        (None, &b"k"[..], "1274944212"),
        (Some(""), b"k", "1274944212"),
        (None, b"", "-1"),
        (Some(""), b"", "1028247821"),
    ] {
        assert_eq!(
            cache.store_key(PMDA_CACHE_ADD, name.map(str::as_bytes), key, None),
            Err(Error::GENERIC)
        );
        let what = if name.is_none() { "NULL" } else { "zero length" };
        let line = format!("insert_cache: indom 1.2: {what} instance name for inst {inst}");
        assert_eq!(log(&mut cache), [line]);
    }
    assert!(
        cache
            .dump(false)
            .starts_with(b"pmdaCacheDump: indom 1.2: nentry=0 ins_mode=1 hstate=0")
    );
}

/// Without a key and with an empty name, an id of another instance without a key is taken, and that
/// of one with a key is not (CACHE-52).
#[test]
fn empty_keys() {
    for (key, expected) in [(&b""[..], true), (b"k", false)] {
        let mut cache = empty();
        cache.use_strings().expect("it is empty");
        cache.resize(0).expect("it is empty");
        assert_eq!(cache.store_key(PMDA_CACHE_ADD, named("x"), key, None), Ok(0));
        if key.is_empty() {
            // Its key was its name.
            add(&mut cache, "x");
        }
        let stored = cache.store_key(PMDA_CACHE_ADD, named(""), b"", None);
        assert_eq!(stored, Err(if expected { Error::INST } else { Error::GENERIC }));
    }
}

/// Culled entries are reclaimed when the C library's tables grow, and when there are more than
/// 1,024 and more than live ones. The caller that inserts knows of it beforehand (CACHE-25,
/// CACHE-36, CACHE-80).
#[test]
fn culled_are_reclaimed() {
    for live in [0_usize, 3, 1_500] {
        let mut cache = empty();
        for number in 0..live {
            add(&mut cache, &format!("n{number}"));
        }
        if live == 3 {
            // Inactive ones are live as well.
            assert_eq!(cache.deactivate_all(), live);
        }
        let mut culled = 0;
        for inserted in live..5_000 {
            let is_growing = inserted >= 64 && inserted.is_power_of_two();
            let is_due = culled > 0 && (is_growing || culled > 1024 && culled > live);
            assert_eq!(cache.is_reclaiming(), is_due, "{inserted}");
            add(&mut cache, "x");
            if is_due {
                culled = 0;
            }
            assert_eq!(cache.start().listed, live + culled + 1, "{inserted}");
            assert!(cache.store(PMDA_CACHE_CULL, named("x"), None).is_ok());
            culled += 1;
        }
    }
}

/// No id is above the limit, and the limit itself is one (CACHE-41, CACHE-65).
#[test]
fn ids_up_to_the_limit() {
    let mut cache = of(&["a"]);
    assert_eq!(cache.resize(2), Ok(()));
    assert_eq!(cache.store_id(3, b"c", None), Err(Error::TOOBIG));
    assert_eq!(cache.store_id(2, b"c", None), Ok(()));
    assert_eq!((cache.resize(1), cache.resize(2)), (Err(Error::TOOBIG), Ok(())));
    assert_eq!(cache.resize(-1), Err(Error::SIGN));
    assert_eq!(cache.store(PMDA_CACHE_ADD, named("b"), None), Ok(1));
    for _ in 0..2 {
        assert_eq!(cache.store(PMDA_CACHE_ADD, named("d"), None), Err(Error::GENERIC));
    }
    assert_eq!(ids(cache.actives()), [0, 1, 2]);
    let mut cache = of(&["a"]);
    assert_eq!(cache.resize(1), Ok(()));
    cache.reuse();
    assert_eq!(cache.store(PMDA_CACHE_ADD, named("b"), None), Ok(1));
    assert_eq!(
        (cache.store_id(0, b"b", None), cache.store_id(1, b"b", None)),
        (Err(Error::EEXIST), Ok(()))
    );
    assert_eq!(
        (cache.store_id(0, b"c", None), cache.store_id(-1, b"c", None)),
        (Err(Error::EEXIST), Err(Error::SIGN))
    );
}

/// A walk over the ids of a list returns those that are active, each with the place after it.
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

/// A walk in pieces meets the active instances in order, whatever the size of the pieces. It goes on
/// at the entry that it noted: a new one of the same id is in front of that (CACHE-35, CACHE-44).
#[test]
fn walks_in_pieces() {
    let mut cache = empty();
    let store_id =
        |cache: &mut Cache<*const u8>, id, name: &str| assert_eq!(cache.store_id(id, name.as_bytes(), None), Ok(()));
    for (id, name) in [(5, "old"), (1, "a"), (2, "b"), (9, "e"), (7, "hidden"), (8, "d")] {
        store_id(&mut cache, id, name);
    }
    assert_eq!(cache.store(PMDA_CACHE_CULL, named("old"), None), Ok(5));
    store_id(&mut cache, 5, "c");
    assert_eq!(cache.store(PMDA_CACHE_HIDE, named("hidden"), None), Ok(7));
    let start = cache.start();
    assert_eq!((start.listed, start.inserted), (7, 7));
    let none = WalkEntry {
        inst: -1,
        next: start.first,
    };
    let listed: Vec<i32> = (0..20).collect();
    for size in 1..=6 {
        for is_listed in [false, true] {
            let (mut from, mut walked) = (start.first, Vec::new());
            loop {
                let mut into = vec![none; size];
                let len = match is_listed {
                    false => cache.read_active(from, &mut into),
                    true => cache.read_listed(from, &listed, &mut into),
                };
                assert!(into[len..].iter().all(|entry| *entry == none));
                let Some(last) = into[..len].last() else { break };
                from = last.next;
                walked.extend(into[..len].iter().map(|entry| entry.inst));
            }
            assert_eq!(walked, [1, 2, 5, 8, 9], "{size} {is_listed}");
        }
    }
    let mut into = [none; 2];
    assert_eq!(cache.read_active(start.first, &mut into), 2);
    assert_eq!(into[1].next.id(), 5);
    assert_eq!(cache.store(PMDA_CACHE_CULL, named("c"), None), Ok(5));
    store_id(&mut cache, 5, "new");
    for read in [
        cache.read_active(into[1].next, &mut into.clone()),
        cache.read_listed(into[1].next, &listed, &mut into.clone()),
    ] {
        assert_eq!(read, 2, "8 and 9 are left");
    }
    cache.reorganize();
    let mut rest = [none; 2];
    assert_eq!(cache.read_active(into[1].next, &mut rest), 2);
    assert_eq!(rest.map(|entry| entry.inst), [8, 9]);
}

/// An instance's private data is handed back, and so is its name (CACHE-2, CACHE-21).
#[test]
fn attached() {
    let mut cache = Cache::<u8>::new(InDom::new(1, 2), Seed::process());
    for (flags, attached, expected) in [
        (PMDA_CACHE_ADD, Some(3), Some(3)),
        (PMDA_CACHE_HIDE, Some(4), Some(3)),
        (PMDA_CACHE_ADD, Some(5), Some(5)),
        (PMDA_CACHE_ADD, None, None),
    ] {
        assert_eq!(cache.store(flags, named("a b"), attached), Ok(0));
        let entry = cache.lookup(0).expect("stored");
        assert_eq!((entry.private(), entry.terminated()), (expected, &b"a b\0"[..]));
    }
}
