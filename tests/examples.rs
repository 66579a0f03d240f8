//! The agents of `c-examples`: each is built by its own Makefile, which finds a private
//! installation by pkg-config, and is driven by dbpmda as pmcd would drive it.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use pcp_pmda_test::example::Example;
use pcp_pmda_test::program::{self, Course, Program};
use pcp_pmda_test::{profile_dir, root};

#[test]
fn hello_counts_its_fetches() {
    let hello = Example::build("hello");
    let commands = ["fetch hello.count", "fetch hello.count", "desc hello.count"];
    let mut session = hello.session("pipe ./hello", &commands);
    session
        .expect(commands[0], &["value 1"])
        .expect(commands[1], &["value 2"])
        .expect(commands[2], &["Semantics: counter  Units: count"]);
    let usage = hello
        .environment
        .run(hello.environment.directory.join("hello"), &["--bad"]);
    assert_eq!(usage.end, "exit 1");
    let text = String::from_utf8_lossy(&usage.stderr).into_owned();
    assert!(text.contains("Usage: hello") && text.contains("--domain"), "{text}");
}

#[test]
fn the_guide_leads_to_a_metric() {
    let guide = Example::of_the_guide();
    let mut session = guide.session("pipe ./hello", &["fetch hello.count", "fetch hello.count"]);
    session.expect("fetch hello.count", &["value 1"]);
    session.expect("fetch hello.count", &["value 2"]);
}

#[test]
fn instances_follow_the_file_and_keep_their_numbers() {
    let instances = Example::build("instances");
    instances.write("names", "alpha\nbeta\n");
    let commands = [
        "fetch instances.length",
        "instance 491.0",
        "instance 491.0 \"beta\"",
        "instance 491.0 7",
    ];
    let mut session = instances.session("pipe ./instances", &commands);
    session
        .expect(commands[0], &["inst [0 or ???] value 5", "inst [1 or ???] value 4"])
        .expect(
            commands[1],
            &["[  0] inst: 0 name: \"alpha\"", "[  1] inst: 1 name: \"beta\""],
        )
        .expect(commands[2], &["[  0] inst: 1"])
        .expect_error(commands[3], "Unknown or illegal instance identifier");

    // A new process: what it knows of `beta` comes from the cache file.
    instances.write("other", "gamma\nbeta\n");
    let mut session = instances.session("pipe ./instances other", &commands[..2]);
    session
        .expect(commands[0], &["inst [1 or ???] value 4", "inst [2 or ???] value 5"])
        .expect(
            commands[1],
            &["[  0] inst: 1 name: \"beta\"", "[  1] inst: 2 name: \"gamma\""],
        );
    let mut session = instances.session("pipe ./instances names", &commands[1..2]);
    session.expect(
        commands[1],
        &["[  0] inst: 0 name: \"alpha\"", "[  1] inst: 1 name: \"beta\""],
    );

    // The agent has read its file when it saves the cache; then the file changes, while the agent
    // runs.
    let directory = instances.environment.directory.clone();
    fs::remove_file(directory.join("var/config/pmda/491.0")).expect("the cache file");
    let change = std::thread::spawn(move || {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !directory.join("var/config/pmda/491.0").exists() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        // At once: the agent must not see the file while it is empty.
        fs::write(directory.join("names.new"), "beta\n").expect("target is writable");
        fs::rename(directory.join("names.new"), directory.join("names")).expect("target is writable");
    });
    let commands = ["instance 491.0", "wait 2", "instance 491.0"];
    let mut session = instances.session("pipe ./instances", &commands);
    change.join().expect("the file was written");
    session
        .expect(
            commands[0],
            &["[  0] inst: 0 name: \"alpha\"", "[  1] inst: 1 name: \"beta\""],
        )
        .expect(commands[1], &[])
        .expect(commands[2], &["[  0] inst: 1 name: \"beta\""]);
}

/// The identifiers in the answer to `instance`.
fn identifiers(answer: &str) -> Vec<String> {
    let rows = answer.lines().filter(|line| line.contains(" name: "));
    rows.map(str::to_owned).collect()
}

#[test]
fn keyed_instances_have_the_same_identifiers_in_every_process() {
    let keyed = Example::build("keyed");
    let commands = ["instance 492.0", "fetch keyed.temperature"];
    let mut first = keyed.session("pipe ./keyed", &commands);
    let mut second = keyed.session("pipe ./keyed", &commands);
    let known = identifiers(&first.next(commands[0]));
    assert_eq!(known.len(), 3, "{known:?}");
    assert_eq!(known, identifiers(&second.next(commands[0])));
    // Made from the keys by the hash function that the C library has.
    first.expect(
        commands[1],
        &[
            "inst [716911984 or ???] value 31",
            "inst [752848523 or ???] value 42",
            "inst [989028641 or ???] value 77",
        ],
    );
}

#[test]
fn labels_and_notes_are_shown_for_each_level() {
    let labels = Example::build("labels");
    let commands = [
        "label domain",
        "label item labels.temperature",
        "label instances 493.0",
        "fetch labels.temperature",
    ];
    let mut session = labels.session("pipe ./labels", &commands);
    session
        .expect(commands[0], &["building=\"main\"", "floors=3"])
        .expect(commands[1], &["calibrated=\"2026-11-01\"", "sensor=\"analog\""])
        .expect(
            commands[2],
            &[
                "[  0] Labels inst: 0",
                "heated=true",
                "level=0",
                "[  1] Labels inst: 1",
                "heated=false",
                "level=-1",
            ],
        )
        .expect(commands[3], &["inst [0 or ???] value 20", "inst [1 or ???] value 12"]);
}

#[test]
fn dynamic_names_are_answered_by_the_agent() {
    let dynamic = Example::build("dynamic");
    let commands = [
        "pmid dynamic.colour.red",
        "pmid dynamic.colour.pink",
        "name 494.0.1",
        "name 494.0.7",
        "children dynamic",
        "children dynamic.colour",
        "traverse dynamic",
        "desc dynamic.colour.green",
        "fetch dynamic.colour.green",
    ];
    let mut session = dynamic.session("pipe ./dynamic", &commands);
    session
        .expect(commands[0], &["494.0.0"])
        .expect_error(commands[1], "Unknown metric name")
        .expect(commands[2], &["dynamic.colour.green"])
        .expect_error(commands[3], "Unknown or illegal metric identifier")
        .expect(commands[4], &["non-leaf colour"])
        .expect(commands[5], &["leaf blue", "leaf green", "leaf red"])
        .expect(
            commands[6],
            &["dynamic.colour.blue", "dynamic.colour.green", "dynamic.colour.red"],
        )
        .expect(commands[7], &["Semantics: discrete  Units: none"])
        .expect(commands[8], &["value 65280"]);
}

#[test]
fn events_come_once_and_only_those_that_the_client_wants() {
    let events = Example::build("events");
    let commands = [
        "fetch events.records",
        "fetch events.trigger",
        "fetch events.trigger",
        "fetch events.records",
        "fetch events.records",
        "store events.filter \"even\"",
        "fetch events.trigger",
        "fetch events.trigger",
        "fetch events.trigger",
        "fetch events.records",
        "store events.trigger \"1\"",
        "fetch events.message",
    ];
    let mut session = events.session("pipe ./events", &commands);
    session
        .expect_count(commands[0], "No values returned!", 1)
        .expect(commands[1], &["value 1"])
        .expect(commands[2], &["value 2"])
        .expect_count(commands[3], "value [2 event records timestamps", 1)
        .expect_count(commands[4], "No values returned!", 1)
        .expect_count(commands[5], "Error", 0)
        .expect(commands[6], &["value 3"])
        .expect(commands[7], &["value 4"])
        .expect(commands[8], &["value 5"])
        // Number 4 is the only even one.
        .expect_count(commands[9], "value [1 event record timestamp", 1)
        .expect_error(commands[10], "No permission to perform requested operation")
        .expect_count(commands[11], "No values returned!", 1);
}

#[test]
fn store_takes_good_values_and_refuses_the_others() {
    let store = Example::build("store");
    let commands = [
        "fetch store.limit store.changes",
        "store store.limit \"250\"",
        "fetch store.limit store.changes",
        "store store.limit \"0\"",
        "store store.limit \"1001\"",
        "store store.changes \"5\"",
        "fetch store.limit store.changes",
        "store store.limit \"1000\"",
        "fetch store.limit store.changes",
    ];
    let mut session = store.session("pipe ./store", &commands);
    session
        .expect(commands[0], &["value 100", "value 0"])
        .expect_count(commands[1], "Error", 0)
        .expect(commands[2], &["value 250", "value 1"])
        .expect_error(commands[3], "Impossible value or scale conversion")
        .expect_error(commands[4], "Impossible value or scale conversion")
        .expect_error(commands[5], "No permission to perform requested operation")
        .expect(commands[6], &["value 250", "value 1"])
        .expect_count(commands[7], "Error", 0)
        .expect(commands[8], &["value 1000", "value 2"]);
}

#[test]
fn one_source_makes_a_daemon_and_a_shared_object() {
    let both = Example::build("both");
    let directory = both.environment.directory.display().to_string();
    let commands = ["desc both.seconds", "fetch both.seconds"];
    for open in [
        "pipe ./both".to_owned(),
        format!("dso {directory}/pmda_both.so both_init 497"),
    ] {
        let mut session = both.session(&open, &commands);
        session
            .expect(commands[0], &["Semantics: instant  Units: sec"])
            .expect_count(commands[1], "   value 1", 1);
    }
}

#[test]
fn an_agent_in_cplusplus_serves_its_words() {
    let cplusplus = Example::build("cplusplus");
    let commands = ["instance 498.0", "fetch cplusplus.count"];
    let mut session = cplusplus.session("pipe ./cplusplus", &commands);
    session
        .expect(
            commands[0],
            &[
                "[  0] inst: 0 name: \"alpha\"",
                "[  1] inst: 1 name: \"beta\"",
                "[  2] inst: 2 name: \"gamma\"",
            ],
        )
        .expect(
            commands[1],
            &[
                "inst [0 or ???] value 3",
                "inst [1 or ???] value 5",
                "inst [2 or ???] value 8",
            ],
        );
}

#[test]
fn every_example_is_small_described_and_tested() {
    let readme = fs::read_to_string(root().join("c-examples/README.md")).expect("part of the sources");
    let tests = include_str!("examples.rs");
    for entry in fs::read_dir(root().join("c-examples"))
        .expect("part of the sources")
        .flatten()
    {
        if !entry.path().is_dir() {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        assert!(
            readme.contains(&format!("- **{name}**: ")),
            "c-examples/README.md does not describe {name}"
        );
        assert!(
            tests.contains(&format!("Example::build(\"{name}\")")),
            "no test of {name}"
        );
        for kind in ["c", "cpp"] {
            let source = Path::new(&entry.path()).join(format!("{name}.{kind}"));
            let lines = fs::read_to_string(&source).map_or(0, |text| text.lines().count());
            assert!(lines < 150, "{} has {lines} lines", source.display());
        }
    }
}

/// Users copy the examples: mutated PDUs, stores among them, end none of them.
#[test]
fn mutated_pdus_end_no_example() {
    let pdus = profile_dir().join("test-examples/pdus");
    Program::new("hostile/pdus").expect("a source file").compile(&pdus);
    let amount = program::amount("examples", Course::of_environment()).expect("an amount");
    for (name, domain) in [
        ("hello", "490"),
        ("instances", "491"),
        ("keyed", "492"),
        ("labels", "493"),
        ("dynamic", "494"),
        ("events", "495"),
        ("store", "496"),
        ("both", "497"),
        ("cplusplus", "498"),
    ] {
        let example = Example::build_for("mutated", name);
        example.write("names", "alpha\nbeta\n");
        let agent = example.environment.directory.join(name).display().to_string();
        let outcome = example.environment.run(&pdus, &[amount, "1", "0", "", domain, &agent]);
        let text = String::from_utf8_lossy(&outcome.stderr).into_owned();
        assert_eq!(outcome.end, "exit 0", "{name}\n{text}");
    }
}
