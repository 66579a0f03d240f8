//! The corpus of a target, and mutations of it, for tests that run the targets without a fuzzer.

use std::fs;
use std::path::Path;

use proptest::prelude::RngCore;
use proptest::test_runner::{RngAlgorithm, TestRng};

/// Mutations for each target: `FUZZ_RUNS`, or so many that `make check` stays short.
pub fn runs() -> u32 {
    let wanted = std::env::var("FUZZ_RUNS").ok();
    wanted.map_or(1000, |wanted| wanted.parse().expect("FUZZ_RUNS is a number"))
}

/// The corpus of a target, and the inputs that have failed once; `root` is that of the repository.
pub fn corpus(root: &Path, name: &str) -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    for folder in ["fuzz/corpus", "fuzz/regressions"] {
        // Few targets have ever failed.
        let entries = fs::read_dir(root.join(folder).join(name)).into_iter().flatten();
        files.extend(entries.flatten().map(|entry| entry.path()));
    }
    files.sort();
    let read = |file| fs::read(file).expect("a file of the corpus");
    files.iter().map(read).collect()
}

/// Mutations of the inputs, the same ones in each run.
pub fn mutated(inputs: &[Vec<u8>]) -> impl Iterator<Item = Vec<u8>> {
    let mut random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    (0..runs() as usize).map(move |run| {
        let mut input = inputs[run % inputs.len()].clone();
        mutate(&mut input, &mut random);
        input
    })
}

/// Changes some bytes, cuts, repeats.
fn mutate(bytes: &mut Vec<u8>, random: &mut TestRng) {
    for _ in 0..=random.next_u32() % 4 {
        let at = random.next_u32() as usize % (bytes.len() + 1);
        match random.next_u32() % 5 {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, random.next_u32() as u8),
            2 => bytes.extend_from_within(at..),
            _ if at < bytes.len() => {
                bytes[at] = [0, 1, 0x7f, 0x80, 0xff, b'\n', b' ', b'['][random.next_u32() as usize % 8];
            }
            _ => {}
        }
        bytes.truncate(4096);
    }
}
