//! The test programs, compiled from their sources and run with the arguments of PCP's tests: each
//! must print the same, and leave the same files, on the C library and on ours. With
//! `UPSTREAM=memcheck` they run below valgrind: `make -C tests memcheck`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use crate::{LIMIT, testsuite};
use pcp_pmda_test::memory::{Counts, below_valgrind};
use pcp_pmda_test::run::bounded;
use pcp_pmda_test::{Library, compare, profile_dir};

/// The factor by which a program may take longer below valgrind.
const SLOWER: u32 = 30;

/// A step of a test.
enum Step<'a> {
    /// Writes a file of the instance cache, as one that was there before.
    Cache(&'a str, &'a str),
    /// Runs the program with these arguments, as they would be typed.
    Run(&'a str),
}
use Step::{Cache, Run};

/// Compiles one of the programs as its makefile does.
fn program(name: &str) -> PathBuf {
    let file = profile_dir().join(format!("test-upstream-{name}"));
    let source = testsuite(&format!("src/{name}.c"));
    let mut command = Command::new("cc");
    command.args(["-g", "-w", "-D_GNU_SOURCE", "-I"]).arg(testsuite("src"));
    command.arg("-o").arg(&file).arg(source).args(["-lpcp_pmda", "-lpcp"]);
    let outcome = command.output().expect("cc is installed");
    let errors = String::from_utf8_lossy(&outcome.stderr);
    assert!(outcome.status.success(), "{name}.c does not compile:\n{errors}");
    file
}

/// The arguments of a line: words, or anything in single quotes.
fn words(line: &str) -> Vec<String> {
    let word = regex::Regex::new(r"'[^']*'|[^' ]+").expect("a valid pattern");
    let found = word.find_iter(line);
    found.map(|word| word.as_str().trim_matches('\'').to_owned()).collect()
}

/// Returns whether the programs run below valgrind.
fn is_watched() -> bool {
    env::var_os("UPSTREAM").is_some_and(|course| course == "memcheck")
}

/// The directory of valgrind's reports about a test on one library.
fn reports(test: &str, library: Library) -> PathBuf {
    profile_dir()
        .join("test-upstream")
        .join(test)
        .join(format!("{library:?}.valgrind"))
}

/// The pictures of the steps on one library: output and files after each.
fn play(program: &Path, test: &str, steps: &[Step<'_>], library: Library) -> String {
    let directory = profile_dir()
        .join("test-upstream")
        .join(test)
        .join(format!("{library:?}"));
    let _ = fs::remove_dir_all(&directory);
    let reports = reports(test, library);
    let _ = fs::remove_dir_all(&reports);
    fs::create_dir_all(&reports).expect("target is writable");
    let caches = directory.join("var/config/pmda");
    fs::create_dir_all(&caches).expect("target is writable");
    let mut told = String::new();
    for step in steps {
        match step {
            Cache(name, text) => fs::write(caches.join(name), text).expect("target is writable"),
            Run(arguments) => {
                let (mut command, limit) = if is_watched() {
                    (below_valgrind(program, &reports), LIMIT * SLOWER)
                } else {
                    (Command::new(program), LIMIT)
                };
                command
                    .args(words(arguments))
                    .current_dir(&directory)
                    .env("LD_LIBRARY_PATH", library.directory())
                    .env("PCP_VAR_DIR", directory.join("var"))
                    .env("PCP_TMPFILE_DIR", &directory)
                    .env("HOME", &directory)
                    .env("TZ", "UTC")
                    .env("LC_ALL", "C")
                    .stdin(Stdio::null());
                told += &format!("== {arguments}\n");
                told += &compare::picture(&bounded(command, limit), &directory);
            }
        }
    }
    // The programs print the time of day, where their events are, and addresses on their stacks.
    let moving = r"[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]+|event: 0x[0-9a-f]+|0x7f[0-9a-f]{10}";
    let moving = regex::Regex::new(moving).expect("a valid pattern");
    moving.replace_all(&told, "MOVING").into_owned()
}

/// Plays the steps on both libraries; `sign` is something that must be seen for the test to have
/// tested anything.
#[track_caller]
fn same(name: &str, test: &str, sign: &str, steps: &[Step<'_>]) {
    let program = program(name);
    let (c, ours) = (
        play(&program, test, steps, Library::C),
        play(&program, test, steps, Library::Ours),
    );
    assert!(c.contains(sign), "{test} shows no \"{sign}\":\n{c}");
    if let Some(difference) = compare::difference(("C library", &c), ("ours", &ours)) {
        panic!("{test}: {difference}");
    }
    if is_watched() {
        let counts = |library| Counts::so_far(&reports(test, library)).expect("valgrind reports");
        let (c, ours) = (counts(Library::C), counts(Library::Ours));
        println!("{test}: C library {c:?}, ours {ours:?}");
        assert!(
            ours.within(&c),
            "{test}: see {}",
            reports(test, Library::Ours).display()
        );
    }
}

const LONG: &str = "longinstancenamefromwalesllanfairpwyllgwyngyllgogeryochdrobwllllantysiliogogogoch-and-again";

/// PCP's test 201: the instance cache, its files, wrapping identifiers, purges, growth.
#[test]
fn cache_torture() {
    let interesting = |mode: u32| {
        format!(
            "1 {mode}\n10 4444444 fubar-001\n15 4444444 this is a name with some spaces in it\n\
             20 4444444 fubar-002\n30 4444444 fubar-003\n35 4444444 {LONG}-{LONG}\n40 4444444 fubar-004\n"
        )
    };
    let steps = [
        Run("-Dindom a"),
        Cache("251.8", ""),
        Run("b"),
        Cache("251.13", ""),
        Run("c"),
        Cache("251.13", "1\n"),
        Run("c"),
        Cache("251.13", "x 0\n"),
        Run("c"),
        Cache("251.13", "2 0\n"),
        Run("c"),
        Cache("251.13", "1 -1\n"),
        Run("c"),
        Cache("251.13", "1 0\n"),
        Run("c"),
        Cache("251.13", &interesting(0)),
        Run("c"),
        Cache("251.13", &interesting(1)),
        Run("c"),
        Cache("251.7", "1 0\n2147483645 4444444 biggest-inst-2\n"),
        Run("-D indom d"),
        Cache("251.11", "1 0\n"),
        Run("e"),
        Cache(
            "251.11",
            "1 1\n01 4444444 fubar-001\n02 4444444 fubar-002\n05 4444444 fubar-003\n06 4444444 fubar-004\n\
             07 5555555 fubar-005\n60 6666666 fubar-006\n",
        ),
        Run("f"),
        Run("g"),
        Cache("251.17", "1 0\n01 4444444 foo\n02 4444444 foobar\n"),
        Run("h"),
        Cache("251.17", "1 0\n01 4444444 foo bar\n"),
        Run("h"),
        Cache("251.17", "1 0\n01 4444444 foo blah\n"),
        Run("h"),
        Run("i 1"),
        Run("i 2"),
        Run("i 3"),
        Run("j"),
    ];
    same("torture_cache", "201", "Resize (good) -> ", &steps);
}

/// PCP's test 341: loads into a cache that is in use.
#[test]
fn cache_loads() {
    let steps = [
        Run("-D indom -L -s eek -s urk -S"),
        Run("-D indom -s eek -L -s urk -s foo -S -d"),
        Run("-D indom -s eek -s urk -s foo -s 'fumble mumble' -h eek -h foo -s bar -L -d"),
        Run("-D indom -s 'urk a bit tricky' -s foo -L -d"),
    ];
    same("pmdacache", "341", "already in cache", &steps);
}

/// PCP's test 489: the identifiers that keys and names hash to.
#[test]
fn cache_keys() {
    let steps = [
        Run("-k"),
        Run(""),
        Run("-d"),
        Run("-l -Dindom"),
        Run("-dk"),
        Run("-l -Dindom"),
    ];
    same("keycache", "489", "Instances distribution across", &steps);
}

/// PCP's test 491: all ways to find an instance.
#[test]
fn cache_lookups() {
    same("keycache2", "491", "pmdaCacheLookup", &[Run("-k"), Run("")]);
}

/// PCP's test 498: event queues and their clients. Left out are the debug lines
/// (`tests/c/queue_debug.c` has them), and the last scene: there a queue is created while others
/// hold events, and the C library drops those (docs/spec/defects.md, E-9).
#[test]
fn event_queues() {
    let fill = "-s queue0 -S 1,queue0 -e queue0,24 -e queue0,2 -e queue0,8 -s queue0 -S 1,queue0 \
                -e queue0,28 -e queue0,28 -s queue0 -S 1,queue0";
    let steps = [
        Run("-E 0,1024"),
        Run("-q queue1,1024 -q queue1,1024"),
        Run("-q queue1,0"),
        Run("-q queue1,1024 -e queue1,128 -e queue1,42 -e queue1,18 -s queue1"),
        Run(
            "-q queue0,1024 -q queue1,512 -e queue0,128 -e queue1,24 -e queue0,18 -e queue1,228 -e \
             queue0,142 -e queue1,28 -s queue0 -s queue1 -q queue2,356 -e queue2,328 -e queue2,32 -e \
             queue0,17 -e queue1,227 -s queue0 -s queue1 -s queue2",
        ),
        Run("-q queue0,1024 -c 1 -S 1,queue0 -s queue0 -C 1 -s queue0"),
        Run("-q queue0,1024 -c 1 -A1,queue0 -s queue0 -S 1,queue0 -e queue0,24 -s queue0 -S 1,queue0 -C 1 -s queue0"),
        Run(&format!("-q queue0,42 -c 1 -A 1,queue0 {fill}")),
        Run(&format!("-q queue0,42 -c 1 -A1,queue0 -f 1,queue0,10 {fill}")),
        Run(
            "-q queue0,1024 -q queue1,512 -q queue2,356 -c 84 -A 84,queue0 -c 42 -A 42,queue1 -c 21 -A \
             21,queue1 -S 84,queue0 -S 42,queue1 -S 21,queue1 -e queue0,128 -e queue1,24 -e queue0,18 -e \
             queue1,228 -e queue0,142 -e queue1,28 -s queue0 -S 84,queue0 -s queue1 -S 42,queue1 -s queue2 \
             -S 21,queue2 -C 84 -e queue2,328 -e queue2,32 -e queue0,17 -e queue1,227 -c 84 -C 42 -c 21 -s \
             queue0 -S 84,queue0 -s queue1 -S 42,queue1 -s queue2 -S 21,queue2",
        ),
    ];
    same("pmdaqueue", "498", "check=ok", &steps);
}
