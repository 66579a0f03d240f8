//! The fuzz targets without a fuzzer: the corpus (with every input that has ever failed) and mutations of it.

#[path = "../fuzz/targets.rs"]
mod targets;

use std::fs;
use std::path::Path;

use proptest::prelude::RngCore;
use proptest::test_runner::{RngAlgorithm, TestRng};

/// Mutations for each target: `FUZZ_RUNS`, or so many that `make check` stays short.
fn runs() -> u32 {
    let wanted = std::env::var("FUZZ_RUNS").ok();
    wanted.map_or(1000, |wanted| wanted.parse().expect("FUZZ_RUNS is a number"))
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
        .iter()
        .map(|file| fs::read(file).expect("a file of the corpus"))
        .collect()
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

#[test]
fn corpus_and_mutations() {
    for (name, target) in targets::TARGETS {
        let inputs = corpus(name);
        assert!(!inputs.is_empty(), "{name} has no corpus");
        for input in &inputs {
            target(input);
        }
        let mut random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        for run in 0..runs() {
            let mut input = inputs[run as usize % inputs.len()].clone();
            mutate(&mut input, &mut random);
            target(&input);
        }
    }
}
