//! Numbers of instances that are kept in files: a program in C on the installed C library has
//! written the file that an agent in Rust reads, and the reverse.

use std::fs;
use std::path::{Path, PathBuf};

use pcp_pmda_test::pcp::Environment;
use pcp_pmda_test::{compile_c, root};
use regex::Regex;

use crate::agents::{daemon, environment, text};

/// The numbers that a text tells of the parts of the time.
fn numbers(text: &str) -> Vec<(u32, String)> {
    let instance = Regex::new(r"([0-9]+),? [^a-z]*(?:name: )?[^a-z]*(sec|min|hour)").expect("a pattern");
    let found = instance.captures_iter(text);
    let mut found: Vec<_> = found
        .filter_map(|found| Some((found[1].parse().ok()?, found[2].to_owned())))
        .collect();
    found.sort();
    found.dedup();
    assert!(!found.is_empty(), "{text}");
    found
}

/// The agent `simple` in Rust, whose configuration names the parts.
fn in_rust(environment: &Environment, names: &Path, parts: &[&str]) -> Vec<(u32, String)> {
    let conf = environment.directory.join("pmdas/simple/simple.conf");
    fs::write(conf, parts.join(",") + "\n").expect("target is writable");
    let open = format!("open pipe {} -l simple.log -d 253", daemon("simple").display());
    let script = format!("{open}\nfetch simple.now\ninstance 253.1\nclose\nquit\n");
    numbers(&environment.dbpmda(names, &script))
}

/// A program on the C library.
fn in_c(environment: &Environment, program: &Path, parts: &[&str]) -> Vec<(u32, String)> {
    numbers(&text(&environment.run(program, parts)))
}

/// The file of the domain.
fn file(environment: &Environment) -> PathBuf {
    environment.directory.join("var/config/pmda/253.1")
}

fn named(numbers: &[(u32, &str)]) -> Vec<(u32, String)> {
    numbers
        .iter()
        .map(|(number, name)| (*number, (*name).to_owned()))
        .collect()
}

/// Agents in C and in Rust read each other's files of instance numbers (CACHE-74, CACHE-92).
#[test]
fn one_file_for_c_and_rust() {
    let (environment, names) = environment("persistent", &["simple"]);
    let program = environment.directory.join("numbers");
    let source = root().join("tests/agents_in_rust/numbers.c");
    compile_c(&source, &program, &["-lpcp_pmda", "-lpcp"]);
    for first_is_c in [true, false] {
        let _ = fs::remove_file(file(&environment));
        let of = |is_c: bool, parts: &[&str]| match is_c {
            true => in_c(&environment, &program, parts),
            false => in_rust(&environment, &names, parts),
        };
        assert_eq!(of(first_is_c, &["min", "sec"]), named(&[(0, "min"), (1, "sec")]));
        assert!(file(&environment).exists());
        assert_eq!(of(!first_is_c, &["hour", "sec"]), named(&[(1, "sec"), (2, "hour")]));
        let all = named(&[(0, "min"), (1, "sec"), (2, "hour")]);
        assert_eq!(of(first_is_c, &["sec", "hour", "min"]), all);
    }
}
