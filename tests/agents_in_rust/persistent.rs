//! Numbers of instances that are kept in files: an agent in C on the installed C library has written
//! the file that one in Rust reads, and the reverse.

use std::fs;
use std::path::{Path, PathBuf};

use pcp_pmda_test::pcp::Environment;
use regex::Regex;

use crate::agents::{daemon, environment};
use crate::beside::c_simple;

/// The numbers of the parts of the time that `simple.conf` names, as an agent `simple` gives them.
fn numbers(environment: &Environment, names: &Path, program: &Path, parts: &str) -> Vec<(u32, String)> {
    let conf = environment.directory.join("pmdas/simple/simple.conf");
    fs::write(conf, format!("{parts}\n")).expect("target is writable");
    let open = format!("open pipe {} -l simple.log -d 253", program.display());
    let script = format!("{open}\nfetch simple.now\ninstance 253.1\nclose\nquit\n");
    let answer = environment.dbpmda(names, &script);
    let instance = Regex::new(r"(\d+), (?:name: )?\W*(sec|min|hour)\b").expect("a pattern");
    let found = instance.captures_iter(&answer);
    let mut found: Vec<_> = found
        .filter_map(|found| Some((found[1].parse().ok()?, found[2].to_owned())))
        .collect();
    found.sort();
    found.dedup();
    assert!(!found.is_empty(), "{answer}");
    found
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

/// CACHE-74, CACHE-92: one format of files for both.
#[test]
fn one_file_for_agents_in_c_and_in_rust() {
    let (environment, names) = environment("persistent", &["simple"]);
    let agents = [c_simple(&environment), daemon("simple")];
    for [first, second] in [[0, 1], [1, 0], [1, 1], [0, 0]] {
        let _ = fs::remove_file(file(&environment));
        let of = |agent: usize, parts| numbers(&environment, &names, &agents[agent], parts);
        assert_eq!(
            of(first, "min,sec"),
            named(&[(0, "min"), (1, "sec")]),
            "{first} {second}"
        );
        assert!(file(&environment).exists());
        assert_eq!(
            of(second, "hour,sec"),
            named(&[(1, "sec"), (2, "hour")]),
            "{first} {second}"
        );
        assert_eq!(
            of(first, "sec,hour,min"),
            named(&[(0, "min"), (1, "sec"), (2, "hour")]),
            "{first} {second}"
        );
    }
}
