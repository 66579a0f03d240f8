//! Attacks on the surroundings of an agent: on the host of a shared object, and on files of the
//! system, by links.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown, lchown, symlink};
use std::process::{Command, Stdio};
use std::time::Duration;

use pcp_pmda_test::pcp::Environment;
use pcp_pmda_test::run::{Outcome, bounded};
use pcp_pmda_test::{compile_c, is_root, root, skipped};

use crate::agents::{daemon, environment, object, text};

/// Whoever may write to the folder of a log may put a link there: an agent of root does not follow
/// it. It makes a new log, so that an old agent keeps its own.
#[test]
fn the_log_is_a_new_file() {
    if !is_root() {
        skipped("only root can make folders for others");
        return;
    }
    let (environment, _) = environment("the_log_is_a_new_file", &["simple"]);
    let (folder, safe) = (environment.directory.join("theirs"), environment.directory.join("safe"));
    for new in [&folder, &safe] {
        let _ = fs::remove_dir_all(new);
        fs::create_dir_all(new).expect("target is writable");
    }
    chown(&folder, Some(65534), Some(65534)).expect("root");
    let victim = safe.join("victim");
    fs::write(&victim, "secret").expect("target is writable");
    let (log, way) = (folder.join("simple.log"), folder.join("way"));
    symlink(&victim, &log).expect("target is writable");
    symlink(&safe, &way).expect("target is writable");
    for link in [&log, &way] {
        lchown(link, Some(65534), Some(65534)).expect("root");
    }
    let run = |file: &str| {
        let mut command = environment.command(daemon("simple"));
        command.args(["-U", "root", "-l", file]).stdin(Stdio::null());
        text(&bounded(command, Duration::from_secs(60)))
    };
    run(&log.display().to_string());
    assert_eq!(fs::read_to_string(&victim).expect("ours"), "secret");
    let first = fs::symlink_metadata(&log).expect("the log");
    assert!(first.is_file());
    assert!(
        fs::read_to_string(&log)
            .expect("the log")
            .starts_with("Log for pmdasimple")
    );
    // An old agent may still write to what it has open.
    let kept = fs::File::open(&log).expect("the log");
    run(&log.display().to_string());
    assert_eq!(kept.metadata().expect("open").nlink(), 0);
    let refused = run(&way.join("new.log").display().to_string());
    assert!(
        refused.contains("cannot open log") && refused.contains("Permission denied"),
        "{refused}"
    );
    assert_eq!(fs::read_dir(&safe).expect("ours").count(), 1);
}

/// A host of the agent that panics in all that it does.
fn host(environment: &Environment, valgrind: bool) -> Outcome {
    let program = environment.directory.join("host");
    compile_c(&root().join("tests/agents_in_rust/host.c"), &program, &[]);
    let mut command: Command = match valgrind {
        true => environment.command("valgrind"),
        false => environment.command(&program),
    };
    if valgrind {
        command.args([
            "--error-exitcode=99",
            "--leak-check=full",
            "--errors-for-leak-kinds=definite",
        ]);
        command.arg(&program);
    }
    command.arg(object("failing"));
    bounded(command, Duration::from_secs(300))
}

/// Whatever panics, whenever it is called: the host goes on, and ends as it wants to.
#[test]
fn a_host_survives() {
    let (environment, _) = environment("a_host_survives", &["failing"]);
    let outcome = host(&environment, false);
    let answer = String::from_utf8_lossy(&outcome.stdout).into_owned();
    assert_eq!(outcome.end, "exit 0", "{}", text(&outcome));
    let good = "0 0 0 0 -12349 -12345 0 1 5 0 0 1 1";
    let thread = "-12398";
    let all = [
        "at once",
        "again",
        "opened again",
        "after dlclose",
        "at exit",
        "destructor",
    ];
    for when in all {
        assert!(answer.contains(&format!("{when}: {good}\n")), "{when}: {answer}");
    }
    assert!(
        answer.contains(&format!("another thread: {}", [thread; 13].join(" "))),
        "{answer}"
    );
}

/// Nothing of it is lost, panics and their payloads neither.
#[test]
fn a_host_loses_nothing() {
    let (environment, _) = environment("a_host_loses_nothing", &["failing"]);
    let outcome = host(&environment, true);
    assert_eq!(outcome.end, "exit 0", "{}", text(&outcome));
}

/// A panic at the end of an agent is a line in the log of the daemon, which ends as without it.
#[test]
fn the_end_of_a_daemon() {
    let (environment, _) = environment("the_end_of_a_daemon", &["failing"]);
    let mut command = environment.command(daemon("failing"));
    command
        .args(["-l", "-", "-p"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut agent = command.spawn().expect("built");
    let credentials = [0, 0, 0, 20, 0, 0, 0x70, 0x0c, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 0, 0];
    let mut input = agent.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut input, &credentials).expect("the agent reads");
    drop(input);
    let output = agent.wait_with_output().expect("our own child");
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{log}");
    assert!(
        log.contains("the end of the agent: the agent has panicked: told to panic at the end"),
        "{log}"
    );
    assert!(log.contains("Log finished"), "{log}");
}
