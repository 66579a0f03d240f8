//! Names and the bytes in them.

use super::{ShortName, equal, find_byte};
use crate::index::Seed;

fn short_name(name: &[u8], strings: bool) -> ShortName {
    super::short_name(Seed::new(5, 7), name, strings)
}

/// The short name ends at the first space, wherever that is, and has the hash that it has alone
/// (CACHE-4).
#[test]
fn short_names() {
    let text: Vec<u8> = (0..40).map(|n| b'!' + n).collect();
    for length in 0..40 {
        let alone = short_name(&text[..length], false);
        assert_eq!(alone.len, length);
        assert_eq!(short_name(&text[..length], true), alone);
        for tail in [" ", "  ", " x", " a tail that is longer than a word", " \t x"] {
            let name = [&text[..length], tail.as_bytes()].concat();
            assert_eq!(short_name(&name, false), alone, "{length} {tail:?}");
            assert_eq!(short_name(&name, true).len, name.len());
            assert_ne!(short_name(&name, true).hash, alone.hash);
        }
    }
}

/// No other byte is taken for a space (CACHE-4).
#[test]
fn only_blanks() {
    for byte in (0..=255).filter(|byte| *byte != b' ') {
        for at in 0..17 {
            let mut name = [b'x'; 17];
            name[at] = byte;
            assert_eq!(short_name(&name, false).len, 17, "{byte} {at}");
        }
    }
}

/// Names of two words, all of which have one hash with this seed: the second word undoes what the
/// first one has done to the state.
pub(in crate::cache) fn colliding(seed: Seed) -> impl Iterator<Item = Vec<u8>> {
    (0u64..).filter_map(move |number| {
        let first = format!("{number:08}");
        let word = u64::from_le_bytes(first.as_bytes().try_into().expect("eight digits"));
        let second = (seed.mix(seed.begin(), word) ^ 0x1234_5678_9abc_def0).to_le_bytes();
        let is_name = !second.iter().any(|byte| matches!(byte, 0 | b' '));
        is_name.then(|| [first.as_bytes(), &second].concat())
    })
}

/// Names that collide in a table when the seed is known, as somebody can make them who chooses
/// names (of files, of containers), are names like all others with any other seed.
#[test]
fn collisions_need_the_seed() {
    let random = |number: u64| {
        number
            .wrapping_mul(0x2545_f491_4f6c_dd1d)
            .wrapping_mul(0xd134_2543_de82_ef95)
    };
    let seed = |number| Seed::new(random(number), random(number + 7));
    let (attacked, other) = (seed(1), seed(2));
    let names: Vec<_> = colliding(attacked).take(2000).collect();
    let hashes = |seed: Seed| {
        let hashes = names.iter().map(|name| super::short_name(seed, name, false).hash);
        hashes.collect::<std::collections::BTreeSet<_>>().len()
    };
    assert_eq!(hashes(attacked), 1);
    assert!(hashes(other) > 1990, "{}", hashes(other));
    // The number of entries that a table looks at until each name was found once.
    let looks = |seed: Seed| {
        let hash = |slot: u32| super::short_name(seed, &names[slot as usize], false).hash;
        let (mut index, mut looks) = (crate::index::Index::new(), 0);
        index.reserve(2000, 2000, hash).expect("memory");
        (0..2000).for_each(|slot| assert!(!index.insert(hash(slot), slot, |_| false)));
        for slot in 0..2000 {
            let found = index.find(hash(slot), |other| {
                looks += 1;
                other == slot
            });
            assert_eq!(found, Some(slot));
        }
        looks
    };
    assert!(
        looks(attacked) > 1_000_000 && looks(other) < 2100,
        "{} {}",
        looks(attacked),
        looks(other)
    );
}

/// The first such byte is found at any place, whatever surrounds it (CACHE-4, CACHE-92).
#[test]
fn finds() {
    for length in 0..30 {
        for at in 0..=length {
            for around in [0, 0x1f, 0x21, 0x7f, 0x80, 0xa0, 0xff] {
                let mut bytes = vec![around; length];
                bytes[at..].fill(b' ');
                assert_eq!(find_byte(&bytes, b' '), (at < length).then_some(at));
            }
        }
    }
}

/// Each byte counts, and so does the length (CACHE-10).
#[test]
fn equals() {
    let text: Vec<u8> = (0..40).collect();
    for length in 0..39 {
        assert!(equal(&text[..length], &text[..length]));
        assert!(!equal(&text[..length], &text[..length + 1]));
        for at in 0..length {
            let mut changed = text[..length].to_vec();
            changed[at] ^= 0x80;
            assert!(!equal(&text[..length], &changed));
        }
    }
}
