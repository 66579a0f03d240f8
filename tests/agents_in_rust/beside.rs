//! Agents in Rust beside PCP's own in C: the same requests of the same tools, the same answers,
//! with each of the two libraries under pmcd, dbpmda and the agent in C.
//!
//! Each difference is in `DIFFERENCES` or at the test, and in docs/RUST-AGENTS.md with its reason.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pcp_pmda_test::pcp::{self, Environment, Pmcd};
use pcp_pmda_test::run::bounded;
use pcp_pmda_test::{Library, compiler};
use regex::Regex;
use similar::{Change, ChangeTag, TextDiff};

use crate::agents::{daemon, environment_on, object, text};

/// Where the agent `simple` of the documentation differs from the one in C, which counts a color up
/// when its value is taken (in Rust: all of them, once a request), and which keeps something of a
/// color that it refuses to store (in Rust: nothing; and the error is `PM_ERR_SIGN`).
const DIFFERENCES: [&str; 16] = [
    "C:    simple.color 3 6 108 206",
    "Rust: simple.color 3 8 108 208",
    "C:    simple.color inst [0 or \"red\"] old value=9 new value=7",
    "Rust: simple.color inst [0 or \"red\"] old value=11 new value=7",
    "C:    simple.color inst [2 or \"blue\"] old value=209 new value=7",
    "Rust: simple.color inst [2 or \"blue\"] old value=211 new value=7",
    "C:    simple.color: new value=\"256\" pmStore: Bad input to pmstore",
    "Rust: simple.color: new value=\"256\" pmStore: Negative value in conversion to unsigned",
    "C:    simple.color: new value=\"-1\" pmStore: Bad input to pmstore",
    "Rust: simple.color: new value=\"-1\" pmStore: Negative value in conversion to unsigned",
    "C:        inst [0 or \"red\"] value 1",
    "C:        inst [1 or \"green\"] value 8",
    "C:        inst [2 or \"blue\"] value 8",
    "Rust:     inst [0 or \"red\"] value 253",
    "Rust:     inst [1 or \"green\"] value 11",
    "Rust:     inst [2 or \"blue\"] value 11",
];

/// Where dbpmda sees that agents in Rust differ from those in C: a domain that does not exist is
/// told from one without a text.
const TEXTS: [(&str, &str); 2] = [
    ("C:    ", "One-line or help text is not available"),
    ("Rust: ", "Unknown or illegal instance domain identifier"),
];

/// They know the names of their metrics, also those that the name space of pmcd has.
const NAMES: [&str; 7] = [
    "C:    Error PDU: Unknown metric name",
    "Rust:        leaf color",
    "Rust:        leaf now",
    "Rust:        leaf numfetch",
    "Rust:    non-leaf time",
    "C:    Error PDU: Unknown metric name",
    "Rust:    253.0.1",
];

/// `TEXTS` behind what dbpmda writes before an error, once for each kind of text.
fn texts(before: &str) -> Vec<String> {
    let lines = TEXTS.iter().map(|(who, text)| format!("{who}{before}{text}"));
    lines.flat_map(|line| [line.clone(), line]).collect()
}

/// PCP's agent `simple`, compiled from the source that Debian ships; beside it is its shared
/// object.
pub fn c_simple(environment: &Environment) -> PathBuf {
    let folder = environment.directory.join("c");
    fs::create_dir_all(&folder).expect("target is writable");
    let source = pcp::agent("simple").join("simple.c");
    let program = folder.join("pmdasimple");
    let compile = |extra: &[&str], file: &Path| {
        let mut command = compiler();
        command.args(["-O1", "-w"]).args(extra).arg("-o").arg(file).arg(&source);
        command.args(["-lpcp_pmda", "-lpcp"]);
        assert!(command.status().expect("cc is installed").success());
    };
    compile(&[], &program);
    compile(&["-shared", "-fPIC"], &folder.join("pmda_simple.so"));
    program
}

/// The help texts of the agent in Rust, for the one in C.
fn same_help(environment: &Environment) {
    let help = environment.directory.join("pmdas/simple/help");
    assert_eq!(
        compile_help(environment, &environment.directory.join("pmdas/simple")),
        "[exit 0]\n"
    );
    assert!(help.with_extension("pag").exists());
}

/// Compiles the help texts as PCP's Install does: the domain by its number, then `newhelp`.
pub fn compile_help(environment: &Environment, folder: &Path) -> String {
    let read = |name: &str| fs::read_to_string(folder.join(name)).expect("written");
    let domain = read("domain.h");
    let words: Vec<&str> = domain.split_whitespace().collect();
    let help = read("help").replace(&format!("@ {}.", words[1]), &format!("@ {}.", words[2]));
    fs::write(folder.join("texts"), help).expect("target is writable");
    let mut newhelp = environment.command(pcp::installed("usr/lib/pcp/bin/newhelp"));
    newhelp.args(["-n", "root", "-o", "help", "texts"]).current_dir(folder);
    text(&bounded(newhelp, Duration::from_secs(60)))
}

/// Masks values that differ from moment to moment, and the label that an agent in C has only
/// without other labels.
fn steady(text: &str) -> String {
    let text = text.replace("\"agent\":\"simple\",", "");
    let clock = Regex::new(r#"inst \[(\d) or "(sec|min|hour)"\] value \d+"#).expect("a pattern");
    let text = clock.replace_all(&text, "inst [$1 or \"$2\"] value N");
    let times = Regex::new(r"(?m)^(simple\.time\.\w+)\n    value .*$").expect("a pattern");
    times.replace_all(&text, "$1\n    value T").into_owned()
}

/// The client script.
fn clients(pmcd: &Pmcd<'_>) -> String {
    let mut all = String::new();
    let mut run = |tool: &str, args: &[&str]| {
        let answer = steady(&text(&pmcd.tool(tool, args)));
        all += &format!("$ {tool} {}\n{answer}", args.join(" "));
    };
    run("pminfo", &["-dmtTlI", "simple"]);
    run("pminfo", &["-f", "simple"]);
    run("pminfo", &["-f", "simple.numfetch", "simple.color"]);
    run("pmval", &["-s", "2", "-t", "0.1", "simple.color"]);
    run("pmval", &["-s", "2", "-t", "0.1", "-i", "green", "simple.color"]);
    run("pmprobe", &["-v", "simple.numfetch", "simple.color"]);
    run("pmprobe", &["-I", "simple"]);
    run("pmprobe", &["-i", "simple"]);
    run("pmstore", &["simple.numfetch", "100"]);
    run("pmstore", &["simple.numfetch", "-1"]);
    run("pmstore", &["simple.numfetch", "text"]);
    run("pmstore", &["simple.color", "7"]);
    run("pmstore", &["-i", "red", "simple.color", "250"]);
    run("pmstore", &["-i", "red", "simple.color", "256"]);
    run("pmstore", &["-i", "red", "simple.color", "-1"]);
    run("pmstore", &["-i", "yellow", "simple.color", "1"]);
    run("pmstore", &["simple.time.user", "1"]);
    run("pmstore", &["simple.now", "1"]);
    run("pminfo", &["-f", "simple.numfetch", "simple.color"]);
    run("pminfo", &["-f", "simple.nothing"]);
    all
}

/// dbpmda's requests, of which the answers name neither program nor file.
fn dbpmda(environment: &Environment, names: &Path, open: &str) -> String {
    let script = format!(
        "{open}\ngetdesc on\ndesc simple.color\ndesc 253.0.9\nfetch simple.color\nfetch simple.numfetch simple.color\n\
         profile 253.0 none\nprofile 253.0 add 1\nfetch simple.color\nprofile 253.0 all\ninstance 253.0\n\
         instance 253.0 2\ninstance 253.0 9\ninstance 253.0 \"green\"\ninstance 253.0 \"grue\"\ninstance 253.7\n\
         text simple.color\ntext simple.now\ntext indom 253.0\ntext indom 253.5\nstore simple.numfetch \"42\"\n\
         store simple.time.user \"1\"\nfetch simple.numfetch\nlabel domain 253\nlabel indom 253.0\n\
         label cluster 253.0\nlabel item simple.color\nlabel instances 253.0\nchildren simple\npmid simple.color\n\
         close\nquit\n"
    );
    let answer = environment.dbpmda(names, &script);
    let places = Regex::new(r"0x[0-9a-f]{6,}").expect("a pattern");
    let places = places.replace_all(&answer, "ADDRESS").into_owned();
    // The time that the agent has run, which is asked for before the store.
    let time = Regex::new(r"253\.1\.2: [0-9.]+ ->").expect("a pattern");
    let places = time.replace_all(&places, "253.1.2: T ->").into_owned();
    let noise = |line: &&str| !line.starts_with("dbpmda> open") && !line.contains("Start pmda");
    places.lines().filter(noise).collect::<Vec<_>>().join("\n")
}

/// The lines that only one of two texts has, each behind `C:` or `Rust:`.
pub fn differences(c: &str, rust: &str) -> Vec<String> {
    let (c, rust): (Vec<&str>, Vec<&str>) = (c.lines().collect(), rust.lines().collect());
    let changes = TextDiff::from_slices(&c, &rust);
    let line = |change: Change<&str>| match change.tag() {
        ChangeTag::Delete => Some(format!("C:    {}", change.value())),
        ChangeTag::Insert => Some(format!("Rust: {}", change.value())),
        ChangeTag::Equal => None,
    };
    changes.iter_all_changes().filter_map(line).collect()
}

#[test]
fn simple_as_a_daemon() -> Result<(), String> {
    [Library::C, Library::Ours]
        .into_iter()
        .try_for_each(simple_as_a_daemon_on)
}

fn simple_as_a_daemon_on(library: Library) -> Result<(), String> {
    let (environment, names) = environment_on(library, "simple_as_a_daemon", &["simple"]);
    let c = c_simple(&environment);
    same_help(&environment);
    let answers = |program: &Path| -> Result<String, String> {
        let line = format!("simple 253 pipe binary {} -l simple.log -d 253\n", program.display());
        let pmcd = environment.pmcd(&line, &names)?;
        Ok(clients(&pmcd))
    };
    assert_eq!(differences(&answers(&c)?, &answers(&daemon("simple"))?), DIFFERENCES);
    let open = |program: &Path| format!("open pipe {} -l simple.log -d 253", program.display());
    let of = |program: &Path| dbpmda(&environment, &names, &open(program));
    let names = NAMES.map(str::to_owned).to_vec();
    let expected = [texts("Error PDU: "), names].concat();
    assert_eq!(differences(&of(&c), &of(&daemon("simple"))), expected);
    Ok(())
}

#[test]
fn simple_as_a_shared_object() -> Result<(), String> {
    [Library::C, Library::Ours]
        .into_iter()
        .try_for_each(simple_as_a_shared_object_on)
}

fn simple_as_a_shared_object_on(library: Library) -> Result<(), String> {
    let (environment, names) = environment_on(library, "simple_as_a_shared_object", &["simple"]);
    let c = c_simple(&environment).with_file_name("pmda_simple.so");
    same_help(&environment);
    let rust = object("simple");
    let agents = [("simple_init", &c), ("pmda_simple_init", &rust)];
    let answers = agents.map(|(init, file)| {
        let pmcd = environment.pmcd(&format!("simple 253 dso {init} {}\n", file.display()), &names)?;
        Ok::<_, String>(clients(&pmcd))
    });
    let [c_answers, rust_answers] = answers;
    assert_eq!(differences(&c_answers?, &rust_answers?), DIFFERENCES);
    let [c_texts, rust_texts] = agents.map(|(init, file)| {
        let open = format!("open dso {} {init} 253", file.display());
        dbpmda(&environment, &names, &open)
    });
    let expected = texts("Error: DSO text() failed: ");
    assert_eq!(differences(&c_texts, &rust_texts), expected);
    Ok(())
}

/// The same metrics, numbers, instances, texts and values as PCP's own agent.
#[test]
fn mounts() -> Result<(), String> {
    [Library::C, Library::Ours].into_iter().try_for_each(mounts_on)
}

fn mounts_on(library: Library) -> Result<(), String> {
    let (environment, names) = environment_on(library, "mounts", &["mounts"]);
    let folder = environment.directory.join("pmdas/mounts");
    for file in ["help.dir", "help.pag"] {
        fs::copy(pcp::agent("mounts").join(file), folder.join(file)).map_err(|error| error.to_string())?;
    }
    fs::write(
        folder.join("mounts.conf"),
        "/\n# not this\n/proc\n/not-here\n/dev\n/etc\n",
    )
    .expect("target is writable");
    let changing =
        Regex::new(r"(?m)^(mounts\.(used|free|avail|usedfiles|freefiles|availfiles|full)\n(    inst .*\n)*)");
    let changing = changing.expect("a pattern");
    let number = Regex::new(r"value \d[\d.]*").expect("a pattern");
    let answers = |program: &Path| -> Result<String, String> {
        let line = format!("mounts 72 pipe binary {} -l mounts.log -d 72\n", program.display());
        let pmcd = environment.pmcd(&line, &names)?;
        let mut all = String::new();
        for args in [&["-dmtTlI", "mounts"][..], &["-f", "mounts"]] {
            all += &text(&pmcd.tool("pminfo", args));
        }
        all += &text(&pmcd.tool("pmprobe", &["-I", "mounts"]));
        all += &text(&pmcd.tool("pmstore", &["mounts.up", "1"]));
        // Other processes write to the disk meanwhile.
        let masked = |found: &regex::Captures<'_>| number.replace_all(&found[0], "value N").into_owned();
        Ok(changing.replace_all(&all, masked).into_owned())
    };
    let c = pcp::agent("mounts").join("pmdamounts");
    let none: [&str; 0] = [];
    assert_eq!(differences(&answers(&c)?, &answers(&daemon("mounts"))?), none);
    Ok(())
}
