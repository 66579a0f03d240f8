//! The tables against those of `std`.

use std::collections::{BTreeMap, HashMap};

use proptest::prelude::*;

use super::*;

fn good(slot: u32) -> u32 {
    Seed::new(1, 2).number(u64::from(slot))
}

fn find(index: &Index, hash: fn(u32) -> u32, slot: u32) -> Option<u32> {
    index.find(hash(slot), |other| other == slot)
}

fn check(index: &Index) {
    assert_eq!(index.slots().count(), index.len());
    let used = index.used as usize;
    assert_eq!(index.cells.iter().filter(|cell| **cell != EMPTY).count(), used);
    assert!(used <= Index::limit(index.cells.len()));
}

/// Many slots come and go: all are found, no others, and the table's size follows their number.
#[test]
fn grows_and_shrinks() {
    let mut index = Index::new();
    assert!(find(&index, good, 0).is_none() && index.cells() == 0);
    let mut largest = 0;
    for slot in 0..100_000 {
        index.reserve(1, slot + 1, good).expect("memory");
        index.insert(good(slot), slot, |_| false);
        largest = largest.max(index.cells());
    }
    check(&index);
    assert!(largest < 100_000 * 9 / 4, "{largest}");
    assert!((0..100_000).all(|slot| find(&index, good, slot) == Some(slot)));
    assert!((100_000..130_000).all(|slot| find(&index, good, slot).is_none()));
    for slot in 10..100_000 {
        assert!(index.remove(good(slot), slot) && !index.remove(good(slot), slot));
    }
    check(&index);
    index.shrink(good);
    check(&index);
    assert!((0..10).all(|slot| find(&index, good, slot) == Some(slot)) && index.len() == 10);
    assert!(index.cells() <= 64, "{}", index.cells());
    index.retain(|slot| slot >= 5);
    check(&index);
    assert!((0..10).all(|slot| find(&index, good, slot).is_some() == (slot >= 5)));
    (5..10).for_each(|slot| assert!(index.remove(good(slot), slot)));
    index.shrink(good);
    assert_eq!(index.cells(), 0);
}

/// A new table has room for an eighth more than was asked for, so it is not made anew for each slot
/// that is added when another one is removed.
#[test]
fn room_beside() {
    for wanted in 1..3000 {
        let mut index = Index::new();
        index.reserve(wanted, 3000, good).expect("memory");
        assert!(index.has_room(wanted + wanted / 8), "{wanted}");
    }
}

/// A small table does not shrink.
#[test]
fn small_tables_stay() {
    for (wanted, cells, left) in [(42, 64, 64), (43, 128, 8)] {
        let mut index = Index::new();
        index.reserve(wanted, 1, good).expect("memory");
        index.insert(good(0), 0, |_| false);
        assert_eq!(index.cells(), cells);
        index.shrink(good);
        assert_eq!(index.cells(), left);
    }
}

/// One slot is added and one removed, for ever: searches get no longer, and the table no larger.
#[test]
fn churn_leaves_nothing_behind() {
    let mut index = Index::new();
    for slot in 0..200_000 {
        index.reserve(1, slot + 1, good).expect("memory");
        index.insert(good(slot), slot, |_| false);
        if slot >= 1000 {
            assert!(index.remove(good(slot - 1000), slot - 1000));
        }
        assert!(index.cells() <= 4096, "{}", index.cells());
    }
    check(&index);
    assert_eq!(index.len(), 1000);
}

/// The greatest possible slots fit, and greater ones are refused.
#[test]
fn large_slots() {
    let mut index = Index::new();
    for slot in [0, 1 << 20, 1 << 30, u32::MAX - 3] {
        index.reserve(1, slot + 1, good).expect("memory");
        index.insert(good(slot), slot, |_| false);
    }
    for slot in [0, 1 << 20, 1 << 30, u32::MAX - 3] {
        assert_eq!(find(&index, good, slot), Some(slot));
    }
    assert!(index.reserve(1, u32::MAX, good).is_err());
    assert!(index.reserve(usize::MAX, 9, good).is_err() && index.reserve(usize::MAX / 8, 9, good).is_err());
    assert_eq!(index.len(), 4);
}

/// Slots with one hash keep the order of their insertion.
#[test]
fn equal_hashes() {
    let same: fn(u32) -> u32 = |_| 0xffff_ffff;
    let mut index = Index::new();
    index.reserve(20, 40, same).expect("memory");
    for slot in (0..20).rev() {
        assert!(!index.insert(same(slot), slot, |_| false));
    }
    assert_eq!(index.find(same(0), |slot| slot < 12), Some(11));
    let mut seen = Vec::new();
    index.for_each(same(0), |slot| seen.push(slot));
    assert_eq!(seen, (0..20).rev().collect::<Vec<_>>());
    assert!(index.insert(same(0), 39, |slot| slot == 11));
    assert_eq!(index.find(same(0), |slot| slot < 12 || slot == 39), Some(39));
    for slot in (4..11).chain(12..20).chain([39]) {
        assert!(index.remove(same(0), slot));
    }
    check(&index);
    assert_eq!(index.find(same(0), |_| true), Some(3));
}

#[test]
fn seeds() {
    let (one, other) = (Seed::new(1, 2), Seed::new(3, 4));
    assert!((0..1000).all(|number| one.number(number) == one.number(number)));
    assert!(
        (0..1000)
            .filter(|number| one.number(*number) == other.number(*number))
            .count()
            < 3
    );
    assert_eq!(Seed::process(), Seed::process());
    let mut counts = [0; 64];
    (0..64_000).for_each(|number| counts[one.number(number) as usize >> 26] += 1);
    assert!(counts.iter().all(|count| (500..1500).contains(count)), "{counts:?}");
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Put(u32),
    Take(u32),
    Replace(u32, u32),
    Shrink,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..200u32).prop_map(Step::Put),
        5 => (0..200u32).prop_map(Step::Take),
        2 => (0..200u32, 200..400u32).prop_map(|(old, new)| Step::Replace(old, new)),
        1 => Just(Step::Shrink),
    ];
    prop::collection::vec(step, 0..600)
}

proptest! {
    /// With any hash, and with one that has few values, the index is like a map of `std`.
    #[test]
    fn as_a_set(steps in steps(), few in any::<bool>()) {
        let hash: fn(u32) -> u32 = if few { |slot| good(slot % 200 % 5) } else { |slot| good(slot % 200) };
        let mut index = Index::new();
        let mut model = BTreeMap::new();
        for step in steps {
            match step {
                Step::Put(slot) => if model.insert(slot, ()).is_none() {
                    index.reserve(1, 400, hash).expect("memory");
                    index.insert(hash(slot), slot, |_| false);
                },
                Step::Take(slot) => prop_assert_eq!(index.remove(hash(slot), slot), model.remove(&slot).is_some()),
                Step::Replace(old, new) => if new % 200 == old && !model.contains_key(&new) && model.remove(&old).is_some() {
                    prop_assert!(index.insert(hash(old), new, |slot| slot == old));
                    model.insert(new, ());
                },
                Step::Shrink => index.shrink(hash),
            }
            check(&index);
            prop_assert_eq!((index.len(), index.is_empty()), (model.len(), model.is_empty()));
        }
        for slot in 0..400 {
            prop_assert_eq!(find(&index, hash, slot).is_some(), model.contains_key(&slot));
        }
    }

    #[test]
    fn as_a_map(steps in prop::collection::vec((0..100u32, any::<u8>(), 0..3), 0..400)) {
        let (mut map, mut model) = (Map::new(), HashMap::new());
        for (key, value, what) in steps {
            match what {
                0 => prop_assert_eq!(map.remove(key), model.remove(&key)),
                1 => *map.get_or_insert_with(key, || 0).expect("memory") = *model.entry(key).and_modify(|old| *old = value).or_insert(value),
                _ => prop_assert_eq!(map.get(key), model.get(&key)),
            }
            prop_assert_eq!((map.len(), map.is_empty()), (model.len(), model.is_empty()));
        }
        for key in 0..100u32 {
            prop_assert_eq!(map.get(key), model.get(&key));
        }
    }
}

/// A key is found at the position where it is thought to be, or at the next one; and anywhere.
#[test]
fn near() {
    let mut map = Map::new();
    for key in 0..50_u32 {
        map.get_or_insert_with(key, || key * 3).expect("memory");
    }
    for key in 0..52_u32 {
        for position in [0, 1, 48, 49, 50, usize::MAX] {
            let expected = (key < 50).then_some((key as usize, key * 3));
            let is_near = [position, position.wrapping_add(1)].contains(&(key as usize));
            let copied = |(position, value): (usize, &u32)| (position, *value);
            assert_eq!(map.get_at(key, position).map(copied), expected.filter(|_| is_near));
            assert_eq!(map.get_anywhere(key).map(copied), expected);
        }
    }
}

/// Consecutive numbers and names, such as items, ids and instances, are found after few looks,
/// whatever the seed is.
#[test]
fn sequences() {
    const COUNT: u32 = 1000;
    type Hash = fn(Seed, u32) -> u32;
    let hashes: [Hash; 6] = [
        |seed, slot| seed.number(u64::from(slot)),
        |seed, slot| seed.number(u64::from(slot) * 7),
        |seed, slot| seed.number(u64::from(slot) << 10),
        |seed, slot| seed.bytes(format!("{slot}").as_bytes()),
        |seed, slot| seed.bytes(format!("instance{slot:04}").as_bytes()),
        |seed, slot| seed.bytes(format!("{slot:04}-a longer name").as_bytes()),
    ];
    let random = |number: u64| {
        let state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (state ^ (state >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ (state >> 17)
    };
    for (kind, hash) in hashes.iter().enumerate() {
        let worst = (0..600).map(|number| {
            let seed = Seed::new(random(2 * number + 1), random(2 * number + 2));
            let mut index = Index::new();
            index.reserve(COUNT as usize, COUNT, |_| 0).expect("memory");
            for slot in 0..COUNT {
                index.insert(hash(seed, slot), slot, |_| false);
            }
            let cells = index.cells.len();
            let passed = |slot: u32| {
                let found = index.search(hash(seed, slot), |other| other == slot);
                (found.expect("inserted").0 + cells - index.start(hash(seed, slot))) % cells
            };
            (0..COUNT).map(passed).sum::<usize>()
        });
        let worst = worst.max();
        // The worst of 600 random tables.
        assert!(worst < Some(1_500), "{kind}: {worst:?}");
    }
}
