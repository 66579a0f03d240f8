//! The eight threads of tests/hostile on a library with ThreadSanitizer: no data race. A program
//! that has one on purpose shows that the tool looks.
//!
//! valgrind's helgrind and drd are no use here: they know the locks of pthreads, and report each
//! access under another lock.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use pcp_pmda_test::program::Program;
use pcp_pmda_test::{run, target_dir};

use super::{fresh, said, sanitized};

const FOUND: &str = "WARNING: ThreadSanitizer";

/// Runs the threads for some milliseconds, ten seconds if nothing else is said.
pub fn run(arguments: &[String]) -> Result<(), String> {
    // The standard library comes without the sanitizer; what of it is generic is compiled here,
    // with it.
    let flags = "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer";
    let library = sanitized("races", flags)?;
    let (_, log) = one("race", &[], &library)?;
    if !log.contains("WARNING: ThreadSanitizer: data race") {
        return Err("races: the race on purpose was not seen: target/races/race.log".to_owned());
    }
    let time = arguments.first().map_or("10000", String::as_str);
    let (end, log) = one("threads", &[time], &library)?;
    let found = log.matches(FOUND).count();
    println!("{}\nraces: {found} found", log.lines().last().unwrap_or_default());
    if end == "exit 0" && found == 0 {
        Ok(())
    } else {
        Err(format!("races: {end}: target/races/threads.log"))
    }
}

/// Compiles a program and runs it: how it ended, and all that it wrote.
fn one(name: &str, arguments: &[&str], library: &Path) -> Result<(String, String), String> {
    let out = target_dir().join("races");
    let program = Program::new(&format!("hostile/{name}"))?;
    let sysroot = said("rustc", &["+nightly", "--print", "sysroot"])?;
    let runtime = library.join("libtsan.a");
    let host = said("rustc", &["-vV"])?;
    let host = host
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .unwrap_or_default();
    let from = format!("{}/lib/rustlib/{host}/lib/librustc-nightly_rt.tsan.a", sysroot.trim());
    fs::copy(&from, &runtime).map_err(|error| format!("{from}: {error}"))?;
    let status = Command::new("cc")
        .args(["-g", "-O1", "-w", "-std=gnu11", "-D_GNU_SOURCE", "-o"])
        .arg(out.join(name))
        .arg(&program.source)
        .arg("-L")
        .arg(library)
        .args(["-lpcp_pmda", "-lpcp", "-Wl,--whole-archive"])
        .arg(&runtime)
        .args(["-Wl,--no-whole-archive", "-Wl,-E", "-lpthread", "-ldl", "-lm", "-lrt"])
        .status();
    if !status.is_ok_and(|status| status.success()) {
        return Err(format!("races: {name} does not compile"));
    }
    let directory = out.join("run").join(name);
    fresh(&directory.join("var/config/pmda"))?;
    // The sanitizer wants addresses where it expects them.
    let mut command = Command::new("setarch");
    command.arg("-R").arg(out.join(name)).args(arguments);
    run::private(&mut command, library, &directory);
    let outcome = run::bounded(command, Duration::from_secs(1800));
    let log = [outcome.stderr, outcome.stdout].concat();
    fs::write(out.join(format!("{name}.log")), &log).map_err(|error| error.to_string())?;
    Ok((outcome.end, String::from_utf8_lossy(&log).into_owned()))
}
