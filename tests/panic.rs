//! A panic inside the library, provoked by a hook that only debug builds have, is logged and
//! becomes an error code; pmcd, which has loaded the library, and its other agents live on
//! (MAIN-54).

use std::fs;
use std::time::Duration;

use pcp_pmda_test::pcp::{self, Environment, text};
use pcp_pmda_test::run::{bounded, command, private};
use pcp_pmda_test::{Library, compile_c, profile_dir, renamed_since, root};

/// Functions with little to do, each in one step, and the step of `pmdaEventQueueRecords` behind a
/// decoder; what each returns.
const SMALL: [(&str, &str); 10] = [
    ("pmdaCacheOp", "-12345"),
    ("pmdaEventAddRecord", "-12345"),
    ("pmdaEventAddHighResRecord", "-12345"),
    ("pmdaEventAddParam", "-12345"),
    ("pmdaEventAddHighResParam", "-12345"),
    ("pmdaEventHighResAddParam", "-12345"),
    ("pmdaGetHelp", "NULL"),
    ("pmdaGetInDomHelp", "NULL"),
    ("pmdaText", "-12345 untouched"),
    ("resume", "-12345, 1 decoded"),
];

/// Each returns its error and logs one line, and the next call works (`PM_ERR_GENERIC` is -12345).
#[test]
fn small_functions() {
    let directory = profile_dir().join("test-panic");
    fs::create_dir_all(directory.join("var/config")).expect("target is writable");
    let program = directory.join("calls");
    compile_c(
        &root().join("tests/panic/calls.c"),
        &program,
        &["-Wno-unused-parameter"],
    );
    let mut command = command(&program);
    private(&mut command, &Library::Debug.directory(), &directory);
    command.env("PCP_PMDA_PANIC", SMALL.map(|(name, _)| name).join(" "));
    let outcome = bounded(command, Duration::from_secs(60));
    let [output, log] = [outcome.stdout, outcome.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert_eq!(outcome.end, "exit 0", "{output}{log}");
    let expected = SMALL.map(|(name, returned)| format!("{name} {returned}"));
    assert_eq!(output.lines().collect::<Vec<_>>(), expected, "{log}");
    let panics: Vec<_> = log.lines().filter(|line| line.contains("internal error")).collect();
    assert_eq!(panics.len(), SMALL.len(), "{log}");
    // Before PCP 6.0 the program calls a function by its older name.
    let called = |name: &'static str| {
        let renamed = renamed_since().iter().find(|(new, _)| *new == name);
        renamed.map_or(name, |(_, old)| *old)
    };
    for (name, line) in SMALL.iter().map(|(name, _)| called(name)).zip(panics) {
        let end = format!("libpcp_pmda: internal error: {name} was asked to panic");
        assert!(line.ends_with(&end), "{name}: {line}");
    }
}

/// Two DSO agents in pmcd and a daemon with a library of its own; whoever asks for a text, a label
/// or an event runs into a panic. `pmdaLabel` has several steps, the others one.
#[test]
fn pmcd_lives_on() {
    let mut environment = Environment::new("panic", Library::Debug);
    let broken = ["pmdaText", "pmdaEventAddRecord", "pmdaLabel"];
    environment.variables.push(("PCP_PMDA_PANIC", broken.join(" ")));
    let configuration = format!(
        "sample 29 dso sample_init {}\npmcd 2 dso pmcd_init {}\nother 31 pipe binary {} -d 31\n",
        pcp::agent("sample").join("pmda_sample.so").display(),
        pcp::agent("pmcd").join("pmda_pmcd.so").display(),
        pcp::agent("sample").join("pmdasample").display(),
    );
    let names = environment.directory.join("names");
    let all = "root { sample pmcd other }\nsample { ten 29:0:11 events 29:0:136 }\n\
               pmcd { numagents 2:0:2 }\nother { ten 31:0:11 }\n";
    fs::write(&names, all).expect("target is writable");
    let pmcd = environment.pmcd(&configuration, &names).expect("pmcd starts");
    let ask = |options: &str, metric: &str| text(&pmcd.tool("pminfo", &[options, metric]));
    let whole = || {
        for (metric, value) in [("sample.ten", 10), ("pmcd.numagents", 3), ("other.ten", 10)] {
            let answer = ask("-f", metric);
            assert!(
                answer.contains(&format!("value {value}\n")),
                "{metric}: {answer}\n{}",
                pmcd.log()
            );
        }
    };

    whole();
    let (daemon, server) = (pmcd.agent_pid("other"), pmcd.pid());
    for metric in ["sample.ten", "pmcd.numagents", "other.ten"] {
        let answer = ask("-t", metric);
        assert!(answer.contains("Error: Generic error"), "{metric}: {answer}");
    }
    // Without its labels a metric still has those of its host.
    ask("-l", "sample.ten");
    let answer = ask("-f", "sample.events");
    assert!(answer.contains("No value(s) available"), "{answer}");
    whole();
    for function in broken {
        let line = format!("libpcp_pmda: internal error: {function} was asked to panic");
        assert!(pmcd.log().contains(&line), "{function} did not panic:\n{}", pmcd.log());
    }
    assert_eq!(
        (daemon, server),
        (pmcd.agent_pid("other"), pmcd.pid()),
        "nobody was restarted"
    );
}
