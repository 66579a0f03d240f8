//! Tasks of tokio behind an agent: as a daemon, and as a shared object.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use pcp_pmda_test::pcp::{Pmcd, kill};

use crate::agents::{daemon, environment, object};

/// Sends lines to the agent, and asks for their values until they are there.
fn assert_values(pmcd: &Pmcd<'_>, socket: &Path, first: u32) -> Result<(), String> {
    // The agent listens when it has started, and pmcd may be ready before that.
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut connection = loop {
        match UnixStream::connect(socket) {
            Ok(connection) => break connection,
            Err(_) if Instant::now() < deadline => thread::sleep(Duration::from_millis(5)),
            Err(error) => return Err(format!("{error}: {}", pmcd.log())),
        }
    };
    for number in first..first + 65 {
        writeln!(connection, "name{number} {number}.5").map_err(|error| error.to_string())?;
    }
    let last = format!("or \"name{}\"] value {0}.5\n", first + 64);
    let values = pmcd.tool_until("pminfo", &["-f", "tasks.value", "tasks.received"], |text| {
        text.contains(&last)
    })?;
    assert!(
        values.contains(&format!("tasks.received\n    value {}\n", first + 65)),
        "{values}"
    );
    Ok(())
}

#[test]
fn in_a_daemon() -> Result<(), String> {
    let (environment, names) = environment("tasks_in_a_daemon", &["tasks"]);
    let socket = environment.socket("tasks");
    let program = daemon("tasks");
    let line = format!(
        "tasks 413 pipe binary {} -l tasks.log --socket {}\n",
        program.display(),
        socket.display()
    );
    let pmcd = environment.pmcd(&line, &names)?;
    assert_values(&pmcd, &socket, 0)?;
    // SIGTERM ends the tasks, and takes the socket away.
    let process = pmcd.agent_pid("tasks").ok_or("no process")?;
    kill(process, libc::SIGTERM);
    let deadline = Instant::now() + Duration::from_secs(60);
    while socket.exists() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(5));
    }
    assert!(!socket.exists());
    Ok(())
}

#[test]
fn in_a_shared_object() -> Result<(), String> {
    let (mut environment, names) = environment("tasks_in_a_shared_object", &["tasks"]);
    // A shared object has no options, and a socket a short name.
    let socket = environment.socket("tasks.socket");
    let folder = socket.parent().ok_or("no folder")?.display().to_string();
    environment.variables.push(("PCP_RUN_DIR", folder));
    let line = format!("tasks 413 dso pmda_tasks_init {}\n", object("tasks").display());
    let pmcd = environment.pmcd(&line, &names)?;
    assert_values(&pmcd, &socket, 0)?;
    assert_values(&pmcd, &socket, 65)
}
