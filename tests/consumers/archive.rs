//! An archive over changes of the library: a pmlogger goes on in its archive when pmcd, with its
//! agents, is restarted on the other library, in either direction.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;

use pcp_pmda_test::Library;
use pcp_pmda_test::pcp::{self, Environment, text};

/// One trial.
pub fn trials() -> Vec<Trial> {
    vec![Trial::test("archive::goes_on_over_changes_of_the_library", || {
        goes_on().map_err(Into::into)
    })]
}

/// Waits until the log of pmlogger has a text so many times.
fn wait_for(log: &Path, wanted: &str, times: usize) -> Result<(), String> {
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        let said = fs::read_to_string(log).unwrap_or_default();
        if said.matches(wanted).count() >= times {
            return Ok(());
        }
        if Instant::now() >= deadline || said.contains("exiting") {
            return Err(format!("{times} times {wanted:?} in the log of pmlogger: {said}"));
        }
        thread::sleep(Duration::from_millis(50));
    }
}

fn goes_on() -> Result<(), String> {
    let libraries = tempfile::tempdir().expect("a temporary directory");
    let environment = Environment::with("archive", libraries.path().to_owned());
    let link = libraries.path().join("libpcp_pmda.so.3");
    let change = |library: Library| {
        let _ = fs::remove_file(&link);
        symlink(library.file(), &link).expect("a directory of the test");
    };
    let sample = pcp::agent("sample");
    let line = format!("sample 29 pipe binary {} -d 29\n", sample.join("pmdasample").display());
    let start = || environment.pmcd(&line, &sample.join("root"));

    change(Library::C);
    let pmcd = start()?;
    let at = |name: &str| environment.directory.join(name);
    fs::write(
        at("config"),
        "log mandatory on 200 msec { sample.long.ten sample.colour }\n",
    )
    .expect("ours");
    let mut pmlogger = pmcd.client(pcp::installed("usr/bin/pmlogger"));
    pmlogger.args(["-c", "config", "-l", "pmlogger.log", "-h", &pmcd.host(), "archive"]);
    let mut pmlogger = pmlogger.stdout(Stdio::null()).spawn().expect("it is installed");
    let log = at("pmlogger.log");
    let changes = [Library::Ours, Library::C, Library::Ours, Library::C];
    let archived = wait_for(&log, "Archive basename", 1).and_then(|()| {
        let mut pmcd = Some(pmcd);
        for (changed, library) in (1..).zip(changes) {
            // Some samples on each library.
            thread::sleep(Duration::from_secs(1));
            drop(pmcd.take());
            change(library);
            pmcd = Some(start()?);
            wait_for(&log, "re-established connection", changed)?;
        }
        thread::sleep(Duration::from_secs(1));
        drop(pmcd);
        Ok(())
    });
    pcp::kill(pmlogger.id(), libc::SIGINT);
    let ended = pmlogger.wait().expect("our child");
    archived?;
    let said = fs::read_to_string(&log).unwrap_or_default();
    if !ended.success() {
        return Err(format!("pmlogger: {ended}: {said}"));
    }
    let checked = text(&environment.run(pcp::installed("usr/bin/pmlogcheck"), &["archive"]));
    let dumped = text(&environment.run(pcp::installed("usr/bin/pmdumplog"), &["archive"]));
    // A mark for each restart, and values in front of the first, between each two, and behind the last.
    let parts: Vec<&str> = dumped.split("<mark>").collect();
    if checked != "[exit 0]\n"
        || parts.len() != changes.len() + 1
        || !parts.iter().all(|part| part.contains("value 10"))
    {
        return Err(format!("{checked}{dumped}{said}"));
    }
    Ok(())
}
