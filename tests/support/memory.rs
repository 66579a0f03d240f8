//! Programs and agents below valgrind: how many blocks they lose, and what else valgrind says, on
//! either library.
//!
//! Nothing is suppressed. What an agent or a program loses of its own counts on both libraries
//! alike, so the C library's number is the measure, not zero.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Library;
use super::pcp::{Environment, agent, installed};
use super::program::{Course, Program};
use super::run::{Outcome, bounded, private};

const LIMIT: Duration = Duration::from_secs(300);

/// The number of an agent's metrics that are asked for.
const METRICS: usize = 12;

/// Valgrind's report about a run, its children included.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Blocks that are definitely lost.
    pub definite: u32,
    /// Blocks that are possibly lost.
    pub possible: u32,
    /// Memory errors: accesses to memory that is not allocated, decisions on memory that was never
    /// written.
    pub errors: u32,
    /// The lines before valgrind's summaries: errors, and warnings such as that of a system call
    /// that valgrind does not know. Addresses are `#`, and stacks are left out.
    pub remarks: BTreeSet<String>,
}

impl Counts {
    /// Nothing is more than there, and valgrind says nothing that it does not say there. A lost block is "possibly lost" when any word points into it:
    /// one that a method's `longjmp` has left on the stack too, which is a matter of chance. So
    /// those count together with the others.
    #[must_use]
    pub fn within(&self, measure: &Counts) -> bool {
        let lost = |counts: &Counts| counts.definite + counts.possible;
        self.definite <= measure.definite
            && lost(self) <= lost(measure)
            && self.errors <= measure.errors
            && self.remarks.is_subset(&measure.remarks)
    }

    /// Returns whether no block is lost, and no error was made.
    #[must_use]
    pub fn are_clean(&self) -> bool {
        self.definite + self.possible + self.errors == 0
    }

    /// Reads the reports in a directory, where a process may not have come to its end yet.
    ///
    /// # Errors
    /// When there is no whole report after so long.
    pub(super) fn wait(directory: &Path, limit: Duration) -> Result<Counts, String> {
        let deadline = Instant::now() + limit;
        loop {
            match Counts::so_far(directory) {
                Some(counts) => return Ok(counts),
                None if Instant::now() >= deadline => {
                    return Err(format!("valgrind has written no report in {}", directory.display()));
                }
                None => thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    /// Reads the reports in a directory; `None` when there is none that is whole: then nothing was
    /// counted.
    #[must_use]
    pub fn so_far(directory: &Path) -> Option<Counts> {
        let mut counts = Counts::default();
        let mut whole = false;
        for report in reports(directory) {
            let text = fs::read_to_string(report).unwrap_or_default();
            counts.definite += number(&text, "definitely lost: ", " bytes in ");
            counts.possible += number(&text, "possibly lost: ", " bytes in ");
            counts.errors += number(&text, "ERROR SUMMARY", ": ");
            counts.remarks.extend(remarks(&text));
            whole |= text.contains("ERROR SUMMARY");
        }
        whole.then_some(counts)
    }
}

/// The reports of a tool in a directory, a file for each process.
pub(super) fn reports(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("report."))
        .map(|entry| entry.path())
}

/// The number behind `before` in the last line with `what`; 0 if there is none.
fn number(text: &str, what: &str, before: &str) -> u32 {
    let line = text.lines().rev().find(|line| line.contains(what));
    let tail = line.and_then(|line| line.split_once(what)?.1.split_once(before));
    let digits = tail.and_then(|(_, rest)| rest.split(' ').next());
    digits
        .and_then(|digits| digits.replace(',', "").parse().ok())
        .unwrap_or(0)
}

/// The lines of a report before its summaries, without its head.
fn remarks(report: &str) -> impl Iterator<Item = String> {
    let address = regex::Regex::new("0x[0-9A-Fa-f]+").expect("a valid pattern");
    let lines = report.lines().skip_while(|line| !line.contains("Parent PID: ")).skip(1);
    let lines = lines.take_while(|line| !line.contains("HEAP SUMMARY:") && !line.contains("ERROR SUMMARY:"));
    // `==PID== ` or `--PID-- `, then what it says; a stack is indented further than its error.
    let said = lines.filter_map(|line| Some(line.split_once(' ')?.1));
    let said = said.filter(|text| !text.trim().is_empty() && !text.starts_with("   "));
    said.map(move |text| address.replace_all(text, "#").into_owned())
}

/// The options of valgrind, whose reports lie in `directory`; older ones go.
pub(super) fn watch(command: &mut Command, directory: &Path) {
    for report in reports(directory) {
        let _ = fs::remove_file(report);
    }
    options(command, directory);
}

fn options(command: &mut Command, directory: &Path) {
    command
        .args([
            "--leak-check=full",
            "--errors-for-leak-kinds=none",
            "--keep-debuginfo=yes",
        ])
        .args(["--num-callers=30", "--trace-children=no"])
        .arg(format!("--log-file={}/report.%p", directory.display()));
}

/// A command that runs `program` below valgrind, which leaves its reports in `directory`, where they
/// are counted: those of the runs before stay.
#[must_use]
pub fn below_valgrind(program: &Path, directory: &Path) -> Command {
    let mut command = Command::new("valgrind");
    options(&mut command, directory);
    command.arg(program);
    command
}

/// Runs a compiled program of the tests on a library; no counts when valgrind has not come to its
/// end.
pub fn program(program: &Program, file: &Path, library: Library, directory: &Path) -> (Outcome, Option<Counts>) {
    let _ = fs::remove_dir_all(directory);
    fs::create_dir_all(directory.join("var/config")).expect("target is writable");
    let mut command = Command::new("valgrind");
    watch(&mut command, directory);
    // A program that starts itself again is watched there too, the tools that it calls are not.
    command.args(["--trace-children=yes", "--trace-children-skip=/bin/*,/usr/bin/*"]);
    command.arg(file).args(program.arguments(Course::Memcheck));
    private(&mut command, &library.directory(), directory);
    command.env("HOSTILE_TOOL", "valgrind");
    let outcome = bounded(command, LIMIT);
    (outcome, Counts::so_far(directory))
}

/// Agents that do not start here on the C library either, opened by anybody or in one way, and why.
const NOT_HERE: [(&str, Option<Opener>, &str); 6] = [
    ("bpf", Some(Opener::Dbpmda), "it hangs there"),
    ("docker", None, "it waits for a docker daemon"),
    ("nvidia", Some(Opener::Pminfo), "it finds no library of the driver"),
    ("pmcd", None, "it needs variables of pmcd itself"),
    (
        "kvm",
        None,
        "it sets no interface version when it is opened, and then crashes",
    ),
    (
        "sendmail",
        None,
        "it sets no interface version when it is opened, so that pmdaInit refuses it",
    ),
];

/// Agents that stay open until dbpmda ends: a thread of their own runs on in the code that "close"
/// unloads, so that it is chance whether they crash, on either library.
const STAY_OPEN: [&str; 1] = ["perfevent"];

/// An agent of the package that is a shared object.
#[derive(Clone, Debug)]
pub struct Dso {
    /// Its name.
    pub name: String,
    file: PathBuf,
    domain: u32,
    name_space: PathBuf,
}

/// The program that opens an agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opener {
    /// dbpmda, which unloads it as well.
    Dbpmda,
    /// `pminfo -L -K add`: a local context, which keeps it.
    Pminfo,
}

impl Dso {
    /// All of the package, those without a name space left out: no metric of them can be named.
    ///
    /// # Panics
    /// If PCP is not set up.
    #[must_use]
    pub fn all() -> Vec<Dso> {
        let domains = domains();
        let entries = fs::read_dir(installed("var/lib/pcp/pmdas")).expect("make setup");
        let mut found: Vec<_> = entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().to_string_lossy().into_owned();
                let file = entry.path().join(format!("pmda_{name}.so"));
                let standard = installed("var/lib/pcp/pmns").join(format!("root_{name}"));
                let own = [format!("root_{name}"), "root".to_owned()].map(|file| agent(&name).join(file));
                let name_space = [standard].into_iter().chain(own).find(|file| file.exists())?;
                file.exists().then_some(())?;
                let domain = domains.get(&name.to_uppercase()).copied().unwrap_or(500);
                Some(Dso {
                    name,
                    file,
                    domain,
                    name_space,
                })
            })
            .collect();
        found.sort_by(|one, other| one.name.cmp(&other.name));
        found
    }

    /// Why it is not opened here, if it is not.
    #[must_use]
    pub fn not_here(&self, opener: Opener) -> Option<&'static str> {
        let row = NOT_HERE
            .iter()
            .find(|(name, by, _)| *name == self.name && by.is_none_or(|by| by == opener));
        row.map(|(_, _, reason)| *reason)
    }

    /// Some names of its metrics, from all over its tree.
    fn metrics(&self, environment: &Environment) -> Vec<String> {
        let mut command = environment.command(installed("usr/bin/pminfo"));
        command.arg("-n").arg(&self.name_space);
        let output = bounded(command, Duration::from_secs(30)).stdout;
        let text = String::from_utf8_lossy(&output).into_owned();
        let names: Vec<_> = text.lines().filter(|name| !name.starts_with("event.")).collect();
        let some = names.iter().step_by(names.len() / METRICS + 1);
        some.map(|name| (*name).to_owned()).collect()
    }

    /// Opens it below valgrind; None if it does not start.
    ///
    /// # Panics
    /// If its directory cannot be written.
    #[must_use]
    pub fn run(&self, opener: Opener, library: Library) -> Option<Counts> {
        let environment = Environment::new(&format!("memcheck-{}-{opener:?}", self.name), library);
        let metrics = self.metrics(&environment);
        let mut command = environment.command("valgrind");
        watch(&mut command, &environment.directory);
        let (file, init) = (self.file.display(), format!("{}_init", self.name));
        match opener {
            Opener::Dbpmda => {
                let open = format!("open dso {file} {init} {}\n", self.domain);
                let status = environment.dbpmda(&self.name_space, &format!("{open}status\n"));
                let mut script = format!("{open}getdesc on\nstatus\n");
                for name in &metrics {
                    writeln!(script, "desc {name}\nfetch {name}\ntext {name}").expect("a string");
                }
                if status.contains("DSO Interface Version:  7") {
                    // dbpmda calls the method also where there is none.
                    script += "label context\nlabel domain\n";
                }
                if !STAY_OPEN.contains(&self.name.as_str()) {
                    script += "close\n";
                }
                script += "quit\n";
                let input = environment.directory.join("dbpmda.in");
                fs::write(&input, script).expect("target is writable");
                command
                    .arg(installed("usr/bin/dbpmda"))
                    .args(["-ie", "-n"])
                    .arg(&self.name_space);
                command.stdin(fs::File::open(input).expect("just written"));
            }
            Opener::Pminfo => {
                let add = format!("add,{},{file},{init}", self.domain);
                command.arg(installed("usr/bin/pminfo"));
                command
                    .args(["-L", "-K", "clear", "-K", &add, "-fdtTl", "-n"])
                    .arg(&self.name_space);
                command.args(&metrics).stdin(Stdio::null());
            }
        }
        let outcome = bounded(command, LIMIT);
        let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
        fs::write(
            environment.directory.join("output"),
            [outcome.stdout, outcome.stderr].concat(),
        )
        .ok()?;
        let ended = !outcome.end.starts_with("killed") && !outcome.end.starts_with("signal");
        // It may have no values here: there is no docker, no zfs.
        let started = match opener {
            Opener::Dbpmda => "DSO Interface Version: ",
            Opener::Pminfo => "Data Type: ",
        };
        let counts = Counts::so_far(&environment.directory);
        counts.filter(|_| ended && text.contains(started))
    }

    /// On both libraries: the C library's counts, and ours. Values and processes come and go while
    /// it runs, so ours gets three chances; None if the agent does not start on the C library.
    #[must_use]
    pub fn both(&self, opener: Opener) -> Option<(Counts, Option<Counts>)> {
        let mut pair = None;
        for _ in 0..3 {
            let measure = self.run(opener, Library::C)?;
            let ours = self.run(opener, Library::Ours);
            let is_good = ours.as_ref().is_some_and(|ours| ours.within(&measure));
            pair = Some((measure, ours));
            if is_good {
                break;
            }
        }
        pair
    }
}

/// The domain numbers that PCP has given to its agents.
fn domains() -> BTreeMap<String, u32> {
    let text = fs::read_to_string(installed("var/lib/pcp/pmns/stdpmid")).expect("make setup");
    let define = |line: &str| {
        let mut words = line.strip_prefix("#define")?.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.parse().ok()?))
    };
    text.lines().filter_map(define).collect()
}
