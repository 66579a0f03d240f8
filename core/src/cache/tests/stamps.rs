//! Instances that are culled, and the times at which instances were saved.

use super::*;

/// A culled instance is found by nobody: neither by its id, also where a slot is tried first, nor
/// by its name or key (CACHE-30, CACHE-31).
#[test]
fn culled_are_not_found() {
    let mut cache = aged(5, |_| false);
    let key = b"key".as_slice();
    let id = cache
        .store_key(PMDA_CACHE_ADD, Some(b"keyed"), key, None)
        .expect("there are ids");
    for (name, id) in [("n3", 3), ("keyed", id)] {
        assert_eq!(cache.lookup(id).map(Entry::id), Ok(id));
        assert_eq!(cache.store(PMDA_CACHE_CULL, Some(name.as_bytes()), None), Ok(id));
        assert!(cache.lookup(id).is_err(), "{name}");
        assert!(cache.lookup_name(name.as_bytes()).is_err(), "{name}");
    }
    assert!(cache.lookup_key(Some(b"keyed"), key).is_err());
}

/// A store of a known instance makes it new again: a purge leaves it, and the next save writes the
/// time of that save (CACHE-21, CACHE-62).
#[test]
fn stores_reset_the_stamp() {
    let (_guard, directory) = directory();
    let mut cache = aged(2, |_| true);
    add(&mut cache, "n1");
    assert_eq!(cache.purge(50, None), Ok(1));
    assert_eq!((cache.lookup(0).is_ok(), cache.lookup(1).is_ok()), (false, true));
    let snapshot = begin(&mut cache, &directory, 60);
    let result = snapshot.write();
    assert_eq!(cache.saved(&snapshot, result), Ok(Some(1)));
    assert_eq!(cache.purge(61, None), Ok(1));
    assert!(cache.lookup(1).is_err());
}

/// The clock may jump: a purge leaves what was saved in the future, a save at an earlier time is
/// read again, and an instance that is stored again has the time of the save that follows
/// (CACHE-62, CACHE-74).
#[test]
fn clocks_jump() {
    let (_guard, directory) = directory();
    let mut cache = aged(2, |_| false);
    let saved_at = |cache: &mut Cache<*const u8>, now: i64| {
        let snapshot = begin(cache, &directory, now);
        let result = snapshot.write();
        assert_eq!(cache.saved(&snapshot, result), Ok(Some(2)));
        let mut again = Cache::new(InDom::new(1, 2), Seed::process());
        assert_eq!(load(&mut again, &directory), 2);
        [0, 1].map(|id| again.lookup(id).expect("loaded").stamp)
    };
    assert_eq!(saved_at(&mut cache, 5_000_000_000), [5_000_000_000; 2]);
    assert_eq!(cache.purge(1000, None), Ok(0));
    add(&mut cache, "n1");
    assert_eq!(saved_at(&mut cache, 60), [5_000_000_000, 60]);
    add(&mut cache, "n1");
    assert_eq!(saved_at(&mut cache, i64::MAX), [5_000_000_000, i64::MAX]);
    add(&mut cache, "n0");
    // Time 0 stands for an instance that was never saved.
    assert_eq!(saved_at(&mut cache, 0), [0, i64::MAX]);
    assert_eq!(cache.purge(i64::MAX, None), Ok(0));
}
