//! An agent with tasks of tokio: one accepts connections of a unix socket, one for each connection
//! reads lines such as `temperature 21.5`. The lines become values, one for each name.
//!
//! The agent itself waits for nothing. Its runtime has one thread, whose tasks send what they have
//! read and wake the agent, which takes it in [`Agent::woken`]: at once in a daemon, before the next
//! request in a shared object. When the agent is dropped, the runtime ends, and the socket goes.

#![forbid(unsafe_code)]

use std::fs;
use std::io::ErrorKind;
use std::os::unix::net;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use pmda::prelude::*;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

/// Maximum number of readings that wait for the agent: more of them are lost.
const WAITING: usize = 1000;

/// Maximum number of names, and of connections at a time.
const NAMES: usize = 1000;
const CONNECTIONS: usize = 100;

/// Maximum length of a line in bytes.
const LINE: u64 = 256;

/// The agent.
pub struct Tasks {
    values: Indom<f64>,
    readings: Receiver<Reading>,
    received: u64,
    runtime: Option<Runtime>,
    socket: PathBuf,
}

/// A reading of a task.
struct Reading {
    name: String,
    value: f64,
}

/// The way from a task to the agent.
#[derive(Clone)]
struct Sender {
    readings: SyncSender<Reading>,
    waker: Waker,
}

impl Sender {
    /// Hands a reading on. Returns false when the agent has ended.
    fn send(&self, reading: Reading) -> bool {
        match self.readings.try_send(reading) {
            Ok(()) => self.waker.wake(),
            // A shared object is called for requests only.
            Err(TrySendError::Full(_)) => log::debug!("a reading is lost: the agent has not taken the others"),
            Err(TrySendError::Disconnected(_)) => return false,
        }
        true
    }
}

/// Accepts connections until the runtime ends.
async fn accept(listener: UnixListener, sender: Sender) {
    let mut connections = JoinSet::new();
    loop {
        if connections.len() >= CONNECTIONS {
            connections.join_next().await;
        }
        match listener.accept().await {
            Ok((connection, _)) => {
                connections.spawn(read(connection, sender.clone()));
            }
            // The process has no descriptor left, for instance.
            Err(error) => {
                log::warn!("cannot accept a connection: {error}");
                connections.join_next().await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
}

/// Reads lines until the connection ends, or a line is wrong.
async fn read(connection: UnixStream, sender: Sender) {
    let mut lines = BufReader::new(connection);
    let mut line = String::new();
    loop {
        line.clear();
        match (&mut lines).take(LINE).read_line(&mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let Some(reading) = reading(&line) else { return };
        if !sender.send(reading) {
            return;
        }
    }
}

/// A name and a number.
fn reading(line: &str) -> Option<Reading> {
    let (name, value) = line.strip_suffix('\n')?.split_once(' ')?;
    let is_name = !name.is_empty()
        && name
            .chars()
            .all(|letter| letter.is_alphanumeric() || "._-".contains(letter));
    let value = value.trim().parse().ok().filter(|_| is_name)?;
    let name = name.to_owned();
    Some(Reading { name, value })
}

impl Agent for Tasks {
    const NAME: &'static str = "tasks";
    const DOMAIN: u32 = 413;
    const OPTIONS: &'static [Opt] = &[Opt::new("socket")
        .argument("PATH")
        .help("the socket on which it listens")];

    fn start(env: &Env) -> Result<Tasks> {
        let folder = || {
            env.setting("PCP_RUN_DIR")
                .ok_or(Error::VALUE.text("PCP_RUN_DIR is not set"))
        };
        let socket = match env.option("socket") {
            Some(socket) => PathBuf::from(socket),
            None => PathBuf::from(folder()?).join("tasks.socket"),
        };
        // Removes the socket of an agent that was killed.
        match fs::remove_file(&socket) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let listener = net::UnixListener::bind(&socket)?;
        listener.set_nonblocking(true)?;
        let (readings, received) = sync_channel(WAITING);
        let sender = Sender {
            readings,
            waker: env.waker(),
        };
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_io().build()?;
        let listener = {
            let _guard = runtime.enter();
            UnixListener::from_std(listener)?
        };
        runtime.spawn(accept(listener, sender));
        Ok(Tasks {
            values: Indom::new(),
            readings: received,
            received: 0,
            runtime: Some(runtime),
            socket,
        })
    }

    fn metrics(m: &mut Metrics<Tasks>) {
        let values = m.indom(0, "What was read\nOne instance for each name.", |s| &mut s.values);
        m.each("value", values, |value| *value)
            .help("The last value of each name");
        m.value("received", |s| s.received)
            .counter()
            .unit(COUNT)
            .help("Values that were read");
    }

    fn woken(&mut self) -> Result<()> {
        for Reading { name, value } in self.readings.try_iter() {
            self.received += 1;
            if self.values.len() < NAMES || self.values.find(&name).is_some() {
                self.values.change().set(&name, value)?;
            }
        }
        Ok(())
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(1));
        }
        // The socket may have been removed already.
        let _ = fs::remove_file(&self.socket);
    }
}

pmda::export_dso!(pmda_tasks_init, Tasks);

/// Runs the agent as a daemon.
#[must_use]
pub fn main() -> ExitCode {
    pmda::run::<Tasks>()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use pmda::testing::Harness;

    use super::*;

    /// Each of several connections wakes the agent; the end of the agent is that of its tasks.
    #[test]
    fn lines_become_values() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let socket = folder.path().join("socket");
        let option = socket.display().to_string();
        let mut pmcd = Harness::<Tasks>::builder().option("socket", option).start()?;
        let mut connections = [(); 3].map(|()| UnixStream::connect(&socket).expect("it listens"));
        for (place, connection) in connections.iter_mut().enumerate() {
            writeln!(connection, "name{place} {place}.5")?;
        }
        writeln!(connections[2], "name2 -1\nnot a reading")?;
        while pmcd.fetch("tasks.received")?.value::<u64>() != Some(4) {
            assert!(pmcd.wait(Duration::from_secs(60)));
        }
        let values = pmcd.fetch("tasks.value")?;
        let values = ["name0", "name1", "name2"].map(|name| values.value_of::<f64>(name));
        assert_eq!(values, [Some(0.5), Some(1.5), Some(-1.0)]);
        drop(pmcd);
        assert!(UnixStream::connect(&socket).is_err());
        Ok(())
    }
}
