//! Examples of the crate that do the work of PCP's agents mmv, linux and bash, beside these: processor
//! time and instructions of a fetch, and resident memory.
//!
//! Both agents of a row run at the same time, look at the same files, and are asked in turns; what
//! counts is the median of the ratios. Callgrind counts the instructions of other runs: what the kernel
//! does for an agent is not among them.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, SystemTime};

use pcp_pmda_test::pcp::agent;
use pcp_pmda_test::{profile_dir, target_dir};

use super::{CORE, Daemon, RUNS, cargo, median, request, shown, stay_on};
use crate::agents::{processor, resident};

/// The domains of PCP's agents, which the examples get as well.
const MMV: u32 = 70;
const LINUX: u32 = 60;
const BASH: u32 = 112;
/// The cluster of the file in which a program keeps values.
const CLUSTER: u32 = 77;

struct Row {
    name: &'static str,
    what: What,
    /// Metrics, as cluster and item.
    metrics: &'static [(u32, u32)],
    rounds: u32,
}

/// What an agent looks at.
#[derive(Clone, Copy)]
enum What {
    /// A file with a value, and with a metric that has so many instances.
    File(u32),
    /// The disks and interfaces of the machine.
    Machine,
    /// So many interfaces, in files below `$LINUX_STATSPATH`.
    Interfaces(u32),
    /// So many scripts that trace themselves, and write nothing.
    Scripts(u32),
}
use What::{File as MmvFile, Interfaces, Machine, Scripts};

const fn row(name: &'static str, what: What, metrics: &'static [(u32, u32)], rounds: u32) -> Row {
    Row {
        name,
        what,
        metrics,
        rounds,
    }
}

const SINGLE: &[(u32, u32)] = &[(CLUSTER, 1)];
const MANY: &[(u32, u32)] = &[(CLUSTER, 2)];
/// network.interface.in.bytes and those that follow it, and disk.dev.read.
const BYTES: &[(u32, u32)] = &[(3, 0)];
const COUNTERS: &[(u32, u32)] = &[(3, 0), (3, 1), (3, 2), (3, 3), (3, 8), (3, 9), (3, 10), (3, 11)];
const READS: &[(u32, u32)] = &[(0, 4)];
/// bash.xtrace.count.
const COUNT: &[(u32, u32)] = &[(0, 3)];

const ROWS: [Row; 17] = [
    row("mmv, a value; the file has 5 instances", MmvFile(5), SINGLE, 5000),
    row("mmv, 5 instances", MmvFile(5), MANY, 5000),
    row("mmv, a value; the file has 300 instances", MmvFile(300), SINGLE, 5000),
    row("mmv, 300 instances", MmvFile(300), MANY, 500),
    row(
        "mmv, a value; the file has 65,536 instances",
        MmvFile(65_536),
        SINGLE,
        2000,
    ),
    row("mmv, 65,536 instances", MmvFile(65_536), MANY, 20),
    row("linuxnd, a metric of the interfaces", Machine, BYTES, 1000),
    row("linuxnd, eight metrics of the interfaces", Machine, COUNTERS, 1000),
    row("linuxnd, a metric of the disks", Machine, READS, 1000),
    row("linuxnd, a metric of 5 interfaces", Interfaces(5), BYTES, 1000),
    row("linuxnd, eight metrics of 5 interfaces", Interfaces(5), COUNTERS, 1000),
    row("linuxnd, a metric of 300 interfaces", Interfaces(300), BYTES, 300),
    row(
        "linuxnd, eight metrics of 300 interfaces",
        Interfaces(300),
        COUNTERS,
        300,
    ),
    row("linuxnd, a metric of 65,536 interfaces", Interfaces(65_536), BYTES, 2),
    row(
        "linuxnd, eight metrics of 65,536 interfaces",
        Interfaces(65_536),
        COUNTERS,
        2,
    ),
    row("bash, 5 scripts", Scripts(5), COUNT, 1000),
    row("bash, 300 scripts", Scripts(300), COUNT, 30),
];

/// The most instances of a file whose values PCP's agent is asked for: it looks for each value from the
/// first one on, so that 65,536 take minutes.
const MOST_IN_C: u32 = 10_000;

/// The table of all rows whose names contain one of these words, or of all.
pub fn table(words: &[&str]) -> String {
    cargo(&[
        "--package",
        "pmda",
        "--example",
        "mmv",
        "--example",
        "linuxnd",
        "--example",
        "bash",
    ]);
    let mut text = "| | agent in C, µs | agent in Rust, µs | Rust / C | instructions in C | in Rust | resident in C, KiB | in Rust |\n\
                    |---|---:|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    let is_wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    for row in ROWS.iter().filter(|row| is_wanted(row.name)) {
        let line = row.line();
        eprint!("{line}");
        text.write_str(&line).expect("a string");
    }
    text
}

impl Row {
    fn line(&self) -> String {
        let place = Place::of(self.what);
        stay_on(CORE);
        let mut agents: Vec<Daemon> = self
            .programs()
            .iter()
            .map(|program| self.start(Command::new("taskset").args(["-c", CORE]).arg(program), &place))
            .collect();
        let mut times = vec![Vec::new(); agents.len()];
        for _ in 0..RUNS {
            for (agent, times) in agents.iter_mut().zip(&mut times) {
                let before = processor(agent.child.id());
                (0..self.rounds).for_each(|_| self.fetch(agent));
                times.push((processor(agent.child.id()) - before) / f64::from(self.rounds));
            }
        }
        let mut memory: Vec<u64> = agents.iter().map(|agent| resident(agent.child.id())).collect();
        drop(agents);
        let (rust_memory, c_memory) = (memory.pop(), memory.pop());
        let of_rust = times.pop().unwrap_or_default();
        let of_c = times.pop();
        let time = |times: &[f64]| shown(median(times.iter().copied()));
        let ratio = of_c
            .as_ref()
            .map(|of_c| of_rust.iter().zip(of_c).map(|(rust, c)| rust / c));
        // PCP's agent for Linux has some hundred million instructions for a fetch of so many interfaces.
        let uncounted = usize::from(matches!(self.what, Interfaces(MOST_IN_C..)));
        let counted = self.programs().into_iter().skip(uncounted);
        let instructions = counted
            .map(|program| self.instructions(&program, &place))
            .collect::<Vec<u64>>();
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let number = |number: Option<u64>| or_none(number.map(|number| number.to_string()));
        let [c, rust] = match &instructions[..] {
            [c, rust] => [Some(*c), Some(*rust)],
            _ => [None, instructions.last().copied()],
        };
        format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} |\n",
            self.name,
            or_none(of_c.as_deref().map(time)),
            time(&of_rust),
            or_none(ratio.map(|ratios| format!("{:.2}", median(ratios)))),
            number(c),
            number(rust),
            number(c_memory),
            number(rust_memory),
        )
    }

    /// The agent in C, if it is asked, and the example.
    fn programs(&self) -> Vec<PathBuf> {
        let (name, program, example) = match self.what {
            MmvFile(_) => ("mmv", "pmdammv", "mmv"),
            Machine | Interfaces(_) => ("linux", "pmdalinux", "linuxnd"),
            Scripts(_) => ("bash", "pmdabash", "bash"),
        };
        let is_too_much = matches!(self.what, MmvFile(MOST_IN_C..)) && self.metrics == MANY;
        let c = (!is_too_much).then(|| agent(name).join(program));
        let rust = target_dir().join("release/examples").join(example);
        c.into_iter().chain([rust]).collect()
    }

    /// Starts an agent, by this command, and asks it for what it does only once.
    fn start(&self, command: &mut Command, place: &Place) -> Daemon {
        let domain = match self.what {
            MmvFile(_) => MMV,
            Machine | Interfaces(_) => LINUX,
            Scripts(_) => BASH,
        };
        command
            .env("PCP_CONF", target_dir().join("pcp/pcp.conf"))
            .env("PCP_LOG_DIR", profile_dir())
            .env("PCP_TMP_DIR", &place.folder)
            .env("PCP_VAR_DIR", profile_dir().join("bench-var"))
            .env("PCP_USER", "root")
            .current_dir(profile_dir());
        if let Interfaces(_) = self.what {
            command.env("LINUX_STATSPATH", &place.folder);
        }
        if let Scripts(_) = self.what {
            // A timer looks for new scripts, which is not what is measured.
            command.args(["-s", "3600"]);
        }
        let mut agent = Daemon::of(command, domain);
        agent.wait_until_started(&request(domain, self.metrics));
        (0..3).for_each(|_| self.fetch(&mut agent));
        agent
    }

    fn fetch(&self, agent: &mut Daemon) {
        let (domain, values) = match self.what {
            MmvFile(instances) if self.metrics == MANY => (MMV, Some(instances)),
            MmvFile(_) => (MMV, Some(1)),
            Machine => (LINUX, None),
            Interfaces(interfaces) => (LINUX, Some(interfaces)),
            Scripts(scripts) => (BASH, Some(scripts)),
        };
        let found = agent.values(self.name, &request(domain, self.metrics));
        let has_values = values.map_or(found[1] as i32 > 0, |values| found[1] == values);
        assert!(
            found[0] == self.metrics.len() as u32 && has_values,
            "{}: not all values: {found:?}",
            self.name
        );
    }

    /// The instructions of a fetch. What two starts of an agent differ in, some thousands for a large file,
    /// is nothing beside as many fetches as are timed.
    fn instructions(&self, program: &Path, place: &Place) -> u64 {
        let first = self.rounds.min(10);
        let counts = [first, first + self.rounds].map(|rounds| {
            let out = profile_dir().join("bench-ports.callgrind");
            let mut command = Command::new("valgrind");
            command
                .args(["--quiet", "--tool=callgrind"])
                .arg(format!("--callgrind-out-file={}", out.display()))
                .arg(program);
            let mut agent = self.start(&mut command, place);
            (0..rounds).for_each(|_| self.fetch(&mut agent));
            drop(agent);
            let text = fs::read_to_string(&out).expect("callgrind writes it");
            let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
            total
                .and_then(|total| total.trim().parse::<u64>().ok())
                .expect("a number")
        });
        (counts[1] - counts[0]) / u64::from(self.rounds)
    }
}

/// What the agents of a row find: a folder, and the processes and files that belong to it.
struct Place {
    folder: PathBuf,
    scripts: Vec<(Child, File)>,
}

impl Place {
    fn of(what: What) -> Place {
        let folder = profile_dir().join("bench-ports");
        let _ = fs::remove_dir_all(&folder);
        let mut place = Place {
            folder,
            scripts: Vec::new(),
        };
        for name in ["mmv", "bash"] {
            fs::create_dir_all(place.folder.join(name)).expect("target is writable");
        }
        // Numbers of instances that an earlier row has left.
        let _ = fs::remove_dir_all(profile_dir().join("bench-var/config/pmda"));
        fs::create_dir_all(profile_dir().join("bench-var/config/pmda")).expect("target is writable");
        match what {
            MmvFile(instances) => {
                let file = place.folder.join("mmv/bench");
                fs::write(file, mmv_file(instances as usize)).expect("target is writable");
                // A folder that has changed within a second is listed at each fetch.
                let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
                let folder = File::open(place.folder.join("mmv")).expect("a folder of ours");
                folder.set_modified(long_ago).expect("ours");
            }
            Machine => {}
            Interfaces(count) => place.add_interfaces(count),
            Scripts(count) => (0..count).for_each(|_| place.add_script()),
        }
        place
    }

    /// Adds the file of interfaces that Linux has in `/proc`.
    fn add_interfaces(&self, count: u32) {
        let mut text = String::from(
            "Inter-|   Receive                                                |  Transmit\n \
             face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n",
        );
        for number in 0..count {
            let name = format!("if{number}");
            writeln!(
                text,
                "{name:>6}: 1234567{number} 7654 0 0 0 0 0 12 3456789{number} 6543 0 0 0 0 0 0"
            )
            .expect("a string");
        }
        let folder = self.folder.join("proc/net");
        fs::create_dir_all(&folder).expect("target is writable");
        fs::write(folder.join("dev"), text).expect("target is writable");
    }

    /// Adds a process with a FIFO that has a writer, and a header.
    fn add_script(&mut self) {
        let child = Command::new("sleep").arg("1000").spawn().expect("sleep is installed");
        let path = |name: String| self.folder.join("bash").join(name);
        let fifo = path(child.id().to_string());
        let made = Command::new("mkfifo").arg(&fifo).status();
        assert!(made.expect("mkfifo is installed").success());
        let header = "version:1 ppid:1 date:1700000000 + script\n";
        fs::write(path(format!(".{}", child.id())), header).expect("target is writable");
        let held = File::options()
            .read(true)
            .write(true)
            .open(fifo)
            .expect("a FIFO of ours");
        self.scripts.push((child, held));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for (child, _) in &mut self.scripts {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A file of version 1 of mmv(5) with a metric without instances, and one with so many.
fn mmv_file(instances: usize) -> Vec<u8> {
    let (indom, entries) = (40 + 4 * 16, 40 + 4 * 16 + 32);
    let metrics = entries + 80 * instances;
    let values = metrics + 2 * 104;
    let mut file = vec![0; values + 32 * (instances + 1)];
    let mut put = |place: usize, bytes: &[u8]| file[place..place + bytes.len()].copy_from_slice(bytes);
    put(0, b"MMV");
    // Version, both generations, number of sections, cluster.
    for (place, word) in [(4, 1), (8, 1), (16, 1), (24, 4), (36, CLUSTER)] {
        put(place, &word.to_ne_bytes());
    }
    let sections = [
        (1, 1, indom),
        (2, instances, entries),
        (3, 2, metrics),
        (4, instances + 1, values),
    ];
    for (section, (kind, count, start)) in (40..).step_by(16).zip(sections) {
        put(section, &(kind as u32).to_ne_bytes());
        put(section + 4, &(count as u32).to_ne_bytes());
        put(section + 8, &(start as u64).to_ne_bytes());
    }
    put(indom, &3_u32.to_ne_bytes());
    put(indom + 4, &(instances as u32).to_ne_bytes());
    put(indom + 8, &(entries as u64).to_ne_bytes());
    // Each with its item, type U32, semantics instant, no unit, and its domain.
    for (metric, name, item, of) in [(metrics, "single", 1_u32, u32::MAX), (metrics + 104, "many", 2, 3)] {
        put(metric, name.as_bytes());
        for (word, number) in (metric + 64..).step_by(4).zip([item, 1, 3, 0, of]) {
            put(word, &number.to_ne_bytes());
        }
    }
    put(values, &7_u64.to_ne_bytes());
    put(values + 16, &(metrics as u64).to_ne_bytes());
    for inst in 0..instances {
        let (entry, value) = (entries + 80 * inst, values + 32 * (inst + 1));
        put(entry, &(indom as u64).to_ne_bytes());
        put(entry + 12, &(inst as u32).to_ne_bytes());
        put(entry + 16, format!("inst{inst}").as_bytes());
        put(value, &(inst as u64).to_ne_bytes());
        put(value + 16, &(metrics as u64 + 104).to_ne_bytes());
        put(value + 24, &(entry as u64).to_ne_bytes());
    }
    file
}
