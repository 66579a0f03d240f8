//! The processes of the machine: thousands of instances that come and go, numbered by their process
//! ids. Clients see their own processes, the superuser sees all.
//!
//! The files of a process are read when a metric asks for them, so a fetch of one metric opens one
//! file of each process, and a fetch of one process opens files of that one only.

#![forbid(unsafe_code)]
use pmda::prelude::*;
use std::cell::OnceCell;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::process::ExitCode;

/// The serial of the instance domain.
const PROCESSES: u32 = 0;

/// A number in a file of `/proc/PID`: its metric, a key and how many words stand between them, a
/// factor, semantics, unit and help.
type Number = (&'static str, &'static str, usize, u64, Semantics, Unit, &'static str);
use Semantics::{Counter, Instant};

/// The files that are read, with their numbers. A tick is 10 ms, a page 4 KiB.
const FILES: [(&str, &[Number]); 5] = [
    ("stat", STAT),
    ("statm", STATM),
    ("schedstat", SCHEDSTAT),
    ("status", STATUS),
    ("io", IO),
];
const STAT: &[Number] = &[
    ("parent", ")", 1, 1, Instant, Unit::NONE, "Process id of the parent"),
    ("threads", ")", 17, 1, Instant, Unit::NONE, "Number of threads"),
    ("cpu.user", ")", 11, 10, Counter, MSEC, "Processor time of its code"),
    ("cpu.system", ")", 12, 10, Counter, MSEC, "Processor time in the kernel"),
];
const STATM: &[Number] = &[
    ("memory.size", "", 0, 4096, Instant, BYTE, "Virtual memory"),
    ("memory.resident", "", 1, 4096, Instant, BYTE, "Memory in use"),
];
const SCHEDSTAT: &[Number] = &[
    ("sched.running", "", 0, 1, Counter, NSEC, "Time on a processor"),
    ("sched.waiting", "", 1, 1, Counter, NSEC, "Time in the run queue"),
];
const STATUS: &[Number] = &[("waits", "\nvoluntary_ctxt_switches:", 0, 1, Counter, COUNT, "Waits")];
const IO: &[Number] = &[
    ("io.read", "\nread_bytes:", 0, 1, Counter, BYTE, "From disks"),
    ("io.written", "\nwrite_bytes:", 0, 1, Counter, BYTE, "To disks"),
];

/// A process, and the numbers of those files that were read for the request that is being served.
struct Process {
    pid: i32,
    files: [OnceCell<Option<Vec<u64>>>; FILES.len()],
}

impl Process {
    fn new(pid: i32) -> Process {
        let files = Default::default();
        Process { pid, files }
    }

    /// A number of a file, which is read now unless it was read before. `None` if the process has
    /// ended.
    fn number(&self, file: usize, index: usize) -> Option<u64> {
        let (name, numbers) = FILES[file];
        let values = self.files[file].get_or_init(|| {
            let text = read(self.pid, name)?;
            numbers.iter().map(|number| find(&text, number)).collect()
        });
        values.as_ref()?.get(index).copied()
    }
}

/// Finds a number in the text of its file.
fn find(text: &str, (_, key, word, factor, ..): &Number) -> Option<u64> {
    let rest = match *key {
        "" => text,
        // The last one: the name of a program, in front of it, may have any characters in it.
        ")" => text.rsplit_once(')')?.1,
        key => text.split_once(key)?.1,
    };
    Some(rest.split_ascii_whitespace().nth(*word)?.parse::<u64>().ok()? * factor)
}

/// Reads 4 KiB of a file of a process, which are all that most have.
fn read(pid: i32, name: &str) -> Option<String> {
    let mut buffer = [0; 4096];
    let length = File::open(format!("/proc/{pid}/{name}")).ok()?.read(&mut buffer).ok()?;
    Some(String::from_utf8_lossy(&buffer[..length]).into_owned())
}

#[derive(Default)]
struct Processes {
    processes: Indom<Process>,
    /// The clients that want the processes of their own user only.
    modest: HashSet<ClientId>,
}

impl Processes {
    /// Makes those processes active that the client may see, of those that it asks for.
    fn refresh(&mut self, request: &Request<'_>) -> Result<()> {
        let client = request.client();
        let user = client.uid().ok_or(Error::PERMISSION)?;
        let sees_all = user == 0 && !self.modest.contains(&client.id());
        let is_visible = |pid: i32| {
            let folder = fs::metadata(format!("/proc/{pid}"));
            folder.is_ok_and(|folder| sees_all || folder.uid() == user)
        };
        if let Some(pids) = request.only_instances(PROCESSES) {
            let mut some = self.processes.change();
            for pid in pids.iter().copied() {
                if is_visible(pid) {
                    keep(&mut some, pid)?;
                } else {
                    some.hide_at(pid);
                }
            }
            return Ok(());
        }
        let mut all = self.processes.update();
        for entry in fs::read_dir("/proc")? {
            // Other names are not those of processes.
            let pid = entry?.file_name().to_str().and_then(|name| name.parse().ok());
            if let Some(pid) = pid.filter(|pid| sees_all || is_visible(*pid)) {
                keep(&mut all, pid)?;
            }
        }
        Ok(())
    }
}

/// Makes a process active whose files were not read for this request. The process keeps the name
/// that it had when it was first seen.
fn keep(processes: &mut Update<'_, Process>, pid: i32) -> Result<()> {
    if let Some(process) = processes.keep_at(pid) {
        *process = Process::new(pid);
    } else {
        processes.set_at(pid, &name(pid), Process::new(pid))?;
    }
    Ok(())
}

/// The name of a process, as `000001 /sbin/init`. A thread of the kernel has no arguments.
fn name(pid: i32) -> String {
    let arguments = read(pid, "cmdline").unwrap_or_default().replace('\0', " ");
    let program = || format!("({})", read(pid, "comm").unwrap_or_default().trim());
    match arguments.trim() {
        "" => format!("{pid:06} {}", program()),
        arguments => format!("{pid:06} {arguments}"),
    }
}

impl Agent for Processes {
    const NAME: &'static str = "processes";
    const DOMAIN: u32 = 411;
    /// Only root may read all files of a process.
    const STAYS_ROOT: bool = true;
    fn start(_: &Env) -> Result<Processes> {
        Ok(Processes::default())
    }
    fn metrics(m: &mut Metrics<Processes>) {
        m.refresh(|s, request| s.refresh(request));
        let all = m.indom(PROCESSES, "Processes", |s| &mut s.processes);
        // `pmval -i 1` means the process with the name `000001 /sbin/init`.
        m.instance_lookup(all, |_, text| text.parse().ok());
        for (file, (_, numbers)) in FILES.iter().enumerate() {
            for (index, &(name, _, _, _, semantics, unit, help)) in numbers.iter().enumerate() {
                m.each(name, all, move |process| process.number(file, index))
                    .semantics(semantics)
                    .unit(unit)
                    .help(help);
            }
        }
        m.cluster(1)
            .value_as("control.own", Type::U32, |s, client| {
                Ok(Atom::U32(s.modest.contains(&client.id()).into()))
            })
            .help("1 for processes of the client's own user only\nEach client has a value of its own.")
            .store(|s, own: bool, client| {
                match own {
                    true => s.modest.insert(client.id()),
                    false => s.modest.remove(&client.id()),
                };
                Ok(())
            })
            .writable_by(|_| true);
    }
    fn client_ended(&mut self, client: ClientId) {
        self.modest.remove(&client);
    }
}

fn main() -> ExitCode {
    pmda::run::<Processes>()
}

#[test]
fn clients_see_what_they_may() -> Result<()> {
    let mut pmcd = pmda::testing::Harness::<Processes>::new()?;
    // The agent knows a process by its id, and reads no file but the one that is asked for.
    let own = std::process::id() as i32;
    assert_eq!(pmcd.instance("processes.memory.size", &own.to_string())?, own);
    pmcd.fetch("processes.memory.size")?;
    let files = &pmcd.agent().processes.get(own).ok_or(Error::INST)?.files;
    let read = FILES.iter().zip(files).filter(|(_, numbers)| numbers.get().is_some());
    assert!(read.map(|((name, _), _)| *name).eq(["statm"]));
    // A process comes and goes.
    let mut child = std::process::Command::new("sleep").arg("60").spawn()?;
    let pid = child.id().to_string();
    assert_eq!(pmcd.instance("processes.parent", &pid)?, child.id() as i32);
    child.kill()?;
    child.wait()?;
    assert_eq!(pmcd.instance("processes.parent", &pid), Err(Error::INST));
    // A client sees the processes of its user, and one that is not known sees none.
    assert_eq!(
        pmcd.as_client(1).fetch("processes.parent").err(),
        Some(Error::PERMISSION)
    );
    assert_eq!(pmcd.set_uid(4_000_000).fetch("processes.parent")?.len(), 0);
    // A client's setting is for that client alone, until it ends.
    pmcd.as_client(2).set_uid(0).store("processes.control.own", 1_u32)?;
    let mut wants = |client| {
        pmcd.as_client(client)
            .fetch("processes.control.own")
            .ok()?
            .value::<u32>()
    };
    assert_eq!([wants(2), wants(0)], [Some(1), Some(0)]);
    pmcd.as_client(2).end_client();
    assert!(pmcd.agent().modest.is_empty());
    Ok(())
}
