//! The fuzz target `exposition` without a fuzzer: its corpus, the documents of the tests, and
//! mutations of both.

#[path = "../../../fuzz/exposition.rs"]
mod exposition;
#[path = "../../../fuzz/replay.rs"]
mod replay;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use exposition::exposition;
use pmda_openmetrics::exposition::{Parser, text};

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn corpus_documents_and_mutations() {
    let root = here().ancestors().nth(2).expect("the package is in the repository");
    let mut inputs = replay::corpus(root, "exposition");
    assert!(!inputs.is_empty(), "exposition has no corpus");
    for entry in fs::read_dir(here().join("tests/documents"))
        .expect("documents")
        .flatten()
    {
        inputs.push(fs::read(entry.path()).expect("a document"));
    }
    inputs.iter().for_each(|input| exposition(input));
    replay::mutated(&inputs).for_each(|input| exposition(&input));
}

/// Whatever the bytes of a document are, its time is that of its length: 10 MB of each kind that
/// could be otherwise. A square of that would take minutes.
#[test]
fn time_grows_with_the_document() {
    const SIZE: usize = 10 << 20;
    let repeated = |part: &str| part.repeat(SIZE / part.len());
    let documents = [
        ("a line without end", repeated("a")),
        ("blanks", repeated(" ")),
        ("empty lines", repeated("\n")),
        ("comments", repeated("#\n")),
        ("a long comment", format!("# HELP {}", repeated("x "))),
        ("zero bytes", repeated("\0")),
        ("open labels", format!("a{{b=\"{}", repeated("\\\""))),
        ("many labels", format!("a{{{}}} 1", repeated("b=\"c\","))),
        ("many samples", repeated("a{b=\"c\"} 1\n")),
        ("a long value", format!("a {}", repeated("1"))),
        ("braces", format!("a{}", repeated("{"))),
    ];
    for (name, document) in documents {
        let start = Instant::now();
        let document = text(document.as_bytes());
        let mut parser = Parser::new(&document);
        while parser.next_sample().is_some() {}
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "{name}: {:?}",
            start.elapsed()
        );
    }
    let invalid = vec![0xff; SIZE];
    assert!(Parser::new(&text(&invalid)).next_sample().is_some());
}
