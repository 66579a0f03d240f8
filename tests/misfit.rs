//! The library beside a libpcp that it was not built for. With another `time_t`, or of a later
//! generation of PCP: it says so in one line, and serves nobody; pmcd and dbpmda go on. Of an
//! earlier generation, beside its own: it serves, since agents that were built for PCP 6 bring
//! their libpcp into a process of PCP 7. A small shared object stands for such a libpcp;
//! `packaging/pairs.sh` has the real ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pcp_pmda_test::pcp::{self, Environment};
use pcp_pmda_test::run::{Outcome, bounded, command, private};
use pcp_pmda_test::{Library, compile_c, profile_dir, root};

/// The line's text after the library's own version and `time_t`.
const ADVICE: &str = "; it serves no call: install one that was built for this PCP, or go back to PCP's own \
                      (pcp-pmda-rust disable, where that command is installed), and restart PCP";

/// The file of this name, made of a C source below `tests/misfit`.
fn made(name: &str, source: &str, flags: &[&str]) -> PathBuf {
    let directory = profile_dir().join("test-misfit");
    fs::create_dir_all(&directory).expect("target is writable");
    let file = directory.join(name);
    compile_c(&root().join("tests/misfit").join(source), &file, flags);
    file
}

/// A libpcp with another `time_t` (the one function that tells), and a newer libpcp: each with
/// what the line says of it.
fn others(test: &str) -> [(PathBuf, &'static str); 2] {
    let time = made(
        &format!("{test}-time.so"),
        "other_time.c",
        &["-shared", "-fPIC", "-Wno-error"],
    );
    [
        (time, " bits, and the libpcp of this process has another"),
        (second(test, "libpcp.so.99"), " has libpcp.so.99 of another PCP"),
    ]
}

/// A second libpcp of this name.
fn second(test: &str, name: &str) -> PathBuf {
    fs::create_dir_all(profile_dir().join("test-misfit").join(test)).expect("target is writable");
    let soname = format!("-Wl,-soname,{name}");
    made(&format!("{test}/{name}"), "second.c", &["-shared", "-fPIC", &soname])
}

/// The flags that link a program or a shared object with an older libpcp too, in front of this one:
/// as agents of an earlier PCP that are started on this one.
fn with_an_older(test: &str) -> [String; 3] {
    let older = second(test, "libpcp.so.2");
    let directory = older.parent().expect("a file").display().to_string();
    [
        "-Wl,--no-as-needed".to_owned(),
        older.display().to_string(),
        format!("-Wl,-rpath,{directory}"),
    ]
}

/// The lines in which the library says why it serves nobody.
fn complaints(text: &str) -> Vec<&str> {
    text.lines()
        .filter(|line| line.contains("libpcp_pmda in Rust"))
        .collect()
}

fn run(program: &Path, directory: &str, preload: Option<&Path>) -> (Outcome, String, String) {
    let directory = profile_dir().join("test-misfit").join(directory);
    fs::create_dir_all(directory.join("var/config")).expect("target is writable");
    let mut command = command(program);
    private(&mut command, &Library::Ours.directory(), &directory);
    if let Some(file) = preload {
        command.env("LD_PRELOAD", file);
    }
    let outcome = bounded(command, Duration::from_secs(60));
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    let errors = String::from_utf8_lossy(&outcome.stderr).into_owned();
    (outcome, text, errors)
}

/// Beside a libpcp that the library was not built for, each call is refused, and one line says why
/// (MAIN-58).
#[test]
fn no_call_is_served_and_one_line_says_why() {
    let program = made("agent", "agent.c", &[]);
    let (outcome, text, errors) = run(&program, "alone", None);
    assert_eq!(outcome.end, "exit 0", "{text}{errors}");
    assert!(text.contains("pmdaInit: status 0, domain of the metric 500"), "{text}");
    assert_eq!(complaints(&errors), Vec::<&str>::new());

    let accessible = -libc::ELIBACC;
    let busy = -libc::EBUSY;
    let refused = format!(
        "pmdaDaemon: status {accessible}, extension made\npmdaDSO: status {accessible}, extension made\npmdaGetOpt: -1\n\
         pmdaInit: status {accessible}, domain of the metric 0\npmdaCacheStore: {busy}\npmdaCachePurge: {busy}\n\
         pmdaEventNewArray: {busy}\npmdaEventAddRecord: {busy}\npmdaEventAddParam: {busy}\npmdaEventQueueAppend: {busy}\n\
         pmdaAddLabels: {busy}\npmdaConnect: status {accessible}\npmdaMain has returned\n"
    );
    for (file, reason) in others("calls") {
        let (outcome, text, errors) = run(&program, "beside", Some(&file));
        assert_eq!((outcome.end.as_str(), text), ("exit 0", refused.clone()), "{errors}");
        let lines = complaints(&errors);
        assert_eq!(lines.len(), 1, "{errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
        assert!(lines[0].contains(reason) && lines[0].ends_with(ADVICE), "{errors}");
    }
}

/// A program of an earlier PCP has its own libpcp beside this one, as a library that it was linked
/// with or as a preloaded one: its calls are served (MAIN-58).
#[test]
fn beside_an_older_libpcp_calls_are_served() {
    let (_, expected, _) = run(&made("agent-alone", "agent.c", &[]), "alone", None);
    let flags = with_an_older("older");
    let linked = made("agent-older", "agent.c", &flags.each_ref().map(String::as_str));
    let preloaded = second("older", "libpcp.so.2");
    for (program, preload) in [
        (&linked, None),
        (&profile_dir().join("test-misfit/agent-alone"), Some(&*preloaded)),
    ] {
        let (outcome, text, errors) = run(program, "older", preload);
        assert_eq!((outcome.end.as_str(), &text), ("exit 0", &expected), "{errors}");
        assert_eq!(complaints(&errors), Vec::<&str>::new());
    }
}

/// `pcp-pmda-rust fits` reads from the file what the library was built for.
#[test]
fn the_file_says_what_it_was_built_for() {
    let bytes = fs::read(Library::Ours.file()).expect("built");
    let text = String::from_utf8_lossy(&bytes);
    let start = "libpcp_pmda in Rust, built for PCP ";
    let found: Vec<_> = text.match_indices(start).collect();
    assert_eq!(found.len(), 1);
    let line = &text[found[0].0 + start.len()..][..60];
    let widths: &[&str] = if cfg!(target_pointer_width = "64") {
        &["64"]
    } else {
        &["32", "64"]
    };
    let is_one = |width: &&str| line.contains(&format!(" with a time_t of {width} bits"));
    assert!(widths.iter().any(is_one), "{line}");
}

/// pmcd drops the agent that is a shared object and sees the daemon end; it serves clients all the
/// same.
#[test]
fn pmcd_goes_on_without_its_agents() {
    let directory = pcp::agent("sample");
    let namespace = directory.join("root");
    for (place, (file, reason)) in others("pmcd").into_iter().enumerate() {
        let mut environment = Environment::new(&format!("misfit-{place}"), Library::Ours);
        let wrapper = if pcp_pmda_test::is_root() {
            "libnss_wrapper.so"
        } else {
            "libnss_wrapper.so:libuid_wrapper.so"
        };
        let preload = format!("{wrapper}:{}", file.display());
        environment.variables.push(("LD_PRELOAD", preload));
        let dso = directory.join("pmda_sample.so");
        let configuration = format!(
            "one 29 dso sample_init {}\ntwo 30 pipe binary {} -d 30\n",
            dso.display(),
            directory.join("pmdasample").display()
        );
        let pmcd = environment.pmcd(&configuration, &namespace).expect("pmcd serves");
        let status = pmcd.tool("pmprobe", &["-v", "pmcd.numagents"]);
        let log = pmcd.log();
        assert_eq!(status.end, "exit 0", "{}{log}", pcp::text(&status));
        // pmcd and the daemon, each once.
        let lines = complaints(&log);
        assert_eq!(lines.len(), 2, "{log}");
        assert!(lines.iter().all(|line| line.contains(reason)), "{log}");
        assert!(pmcd.agent_pid("pmdasample").is_none(), "{log}");
    }
}

/// A shared object of an earlier PCP, whose libpcp pmcd loads with it, before the first call of the
/// library: the shared object has values, and so has the agent behind it.
#[test]
fn pmcd_serves_an_agent_that_brings_an_older_libpcp() {
    let environment = Environment::new("misfit-older", Library::Ours);
    let agent = environment.directory.join("pmda_static.so");
    let mut flags = vec!["-shared".to_owned(), "-fPIC".to_owned()];
    flags.extend(with_an_older("older-dso"));
    let flags: Vec<_> = flags.iter().map(String::as_str).collect();
    compile_c(&root().join("tests/c/dso/static_agent.c"), &agent, &flags);
    let names = environment.directory.join("names");
    fs::write(
        &names,
        "root {\n    static\n    sample\n}\nstatic {\n    colour 77:0:0\n}\nsample {\n    control 29:0:0\n}\n",
    )
    .expect("target is writable");
    let configuration = format!(
        "static 77 dso static_init {}\nsample 29 dso sample_init {}\n",
        agent.display(),
        pcp::agent("sample").join("pmda_sample.so").display()
    );
    let pmcd = environment.pmcd(&configuration, &names).expect("pmcd serves");
    let answer = pcp::text(&pmcd.tool("pminfo", &["-f", "static.colour", "sample.control"]));
    let log = pmcd.log();
    assert_eq!(complaints(&log), Vec::<&str>::new());
    for value in [
        "inst [3 or \"red\"] value 43",
        "inst [5 or \"blue\"] value 45",
        "sample.control\n    value ",
    ] {
        assert!(answer.contains(value), "{answer}{log}");
    }
}
