//! PCP's agents simple, sample and mmv in all requests, with dbpmda as their pmcd: for each metric
//! and instance domain, stores, and a client that ends. As DSOs, and as daemons over a pipe, below
//! a tool that watches memory.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::memory::{self, Counts};
use super::pcp::{Environment, agent, installed};
use super::run::bounded;
use super::{Library, relink, root};

const LIMIT: Duration = Duration::from_secs(300);

/// The time that valgrind may take for its report about a daemon that has ended.
const PATIENCE: Duration = Duration::from_secs(60);

/// An agent, and what there is to ask for.
#[derive(Clone, Copy, Debug)]
pub struct Tour {
    /// The agent's name.
    pub name: &'static str,
    domain: u32,
    cluster: u32,
    items: u32,
    serials: &'static [u32],
}

/// The agents that are taken through all requests.
pub const TOURS: [Tour; 3] = [
    Tour {
        name: "simple",
        domain: 253,
        cluster: 0,
        items: 6,
        serials: &[0, 1],
    },
    Tour {
        name: "sample",
        domain: 29,
        cluster: 0,
        items: 170,
        serials: &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    },
    Tour {
        name: "mmv",
        domain: 70,
        cluster: 42,
        items: 6,
        serials: &[1],
    },
];

/// The form in which an agent runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// In dbpmda.
    Dso,
    /// As a process of its own.
    Daemon,
}

/// The tool that watches the agent.
#[derive(Clone, Copy, Debug)]
pub enum Tool<'l> {
    /// valgrind, on one of the libraries.
    Memcheck(Library),
    /// AddressSanitizer, which the library in this directory is built with.
    Asan(&'l Path),
}

impl Tour {
    /// Takes the agent through its requests: what valgrind has counted, or nothing for
    /// AddressSanitizer, which has not found anything then.
    ///
    /// # Errors
    /// What went wrong.
    pub fn run(&self, form: Form, tool: Tool<'_>) -> Result<Counts, String> {
        let of_agent = format!("{}-{form:?}", self.name);
        let mut environment = match tool {
            Tool::Memcheck(library) => Environment::new(&format!("memcheck-{of_agent}"), library),
            // There need be no library but the one with the sanitizer.
            Tool::Asan(directory) => Environment::with(&format!("asan-{of_agent}"), directory.to_owned()),
        };
        let place = environment.directory.clone();
        let report = place.join("report");
        let directory = environment.libraries().to_owned();
        let (dso, daemon) = self.build(tool, &place, &directory)?;
        let mut command = match tool {
            // A daemon is watched, and dbpmda is not.
            Tool::Memcheck(_) if form == Form::Daemon => environment.command(installed("usr/bin/dbpmda")),
            Tool::Memcheck(_) => {
                let mut command = environment.command("valgrind");
                memory::watch(&mut command, &place);
                command.arg(installed("usr/bin/dbpmda"));
                command
            }
            Tool::Asan(_) => {
                let runtime = Command::new("cc").arg("-print-file-name=libasan.so").output();
                let runtime = runtime.map_err(|error| error.to_string())?.stdout;
                environment.variables = vec![
                    ("LD_PRELOAD", String::from_utf8_lossy(&runtime).trim().to_owned()),
                    ("ASAN_OPTIONS", format!("detect_leaks=0:log_path={}", report.display())),
                ];
                environment.command(installed("usr/bin/dbpmda"))
            }
        };
        let log = place.join(format!("{}.log", self.name));
        let open = match (form, tool) {
            (Form::Dso, _) => format!("open dso {} {}_init {}", dso.display(), self.name, self.domain),
            (Form::Daemon, Tool::Asan(_)) => {
                format!("open pipe {} -d {} -l {}", daemon.display(), self.domain, log.display())
            }
            (Form::Daemon, Tool::Memcheck(_)) => {
                let mut watched = Command::new("valgrind");
                memory::watch(&mut watched, &place);
                watched
                    .arg(&daemon)
                    .args(["-d", &self.domain.to_string(), "-l"])
                    .arg(&log);
                format!("open pipe {}", script(&watched, &place)?.display())
            }
        };
        let input = place.join("dbpmda.in");
        fs::write(&input, format!("{open}\n{}", self.requests(form))).map_err(|error| error.to_string())?;
        let served = Served::start(self, &environment)?;
        let name_space = if self.name == "mmv" { "root_mmv" } else { "root" };
        command.args(["-ie", "-n"]).arg(agent(self.name).join(name_space));
        command.stdin(fs::File::open(input).map_err(|error| error.to_string())?);
        let outcome = bounded(command, LIMIT);
        drop(served);
        let output = [outcome.stdout, outcome.stderr].concat();
        let answered = String::from_utf8_lossy(&output).contains("value");
        fs::write(place.join("output"), output).map_err(|error| error.to_string())?;
        if outcome.end != "exit 0" || !answered {
            return Err(format!("{}, see {}", outcome.end, place.display()));
        }
        match tool {
            // A daemon ends behind dbpmda.
            Tool::Memcheck(_) => Counts::wait(&place, PATIENCE),
            Tool::Asan(_) if memory::reports(&place).next().is_some() => Err(format!("see {}", place.display())),
            Tool::Asan(_) => Ok(Counts::default()),
        }
    }

    /// The agent as a DSO and as a daemon. Simple and sample are compiled as PCP ships them, so
    /// that AddressSanitizer sees their part as well.
    fn build(&self, tool: Tool<'_>, place: &Path, library: &Path) -> Result<(PathBuf, PathBuf), String> {
        let (dso, daemon) = (
            place.join(format!("pmda_{}.so", self.name)),
            place.join(format!("pmda{}", self.name)),
        );
        if self.name == "mmv" {
            for file in [&dso, &daemon] {
                let name = file.file_name().expect("a name");
                relink(&agent("mmv").join(name), file);
            }
            return Ok((dso, daemon));
        }
        let entries = fs::read_dir(agent(self.name)).map_err(|error| error.to_string())?;
        let sources: Vec<_> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|file| file.extension().is_some_and(|extension| extension == "c"))
            .collect();
        for (file, flags) in [(&dso, &["-fPIC", "-shared"][..]), (&daemon, &[])] {
            let mut cc = Command::new("cc");
            cc.args(["-g", "-O1", "-w", "-D_GNU_SOURCE", "-I"])
                .arg(root().join("include"));
            cc.args(flags).arg("-o").arg(file).args(&sources);
            if matches!(tool, Tool::Asan(_)) {
                cc.arg("-fsanitize=address");
            }
            cc.arg("-L")
                .arg(library)
                .args(["-lpcp_pmda", "-lpcp", "-lm", "-lpthread", "-lrt"]);
            if !cc.status().is_ok_and(|status| status.success()) {
                return Err(format!("{} does not compile", self.name));
            }
        }
        Ok((dso, daemon))
    }

    /// The requests of dbpmda.
    fn requests(&self, form: Form) -> String {
        let (domain, cluster, name) = (self.domain, self.cluster, self.name);
        let mut script = "getdesc on\nstatus\n".to_owned();
        let mut ask = |words: std::fmt::Arguments<'_>| writeln!(script, "{words}").expect("a string");
        for item in 0..self.items {
            for request in ["desc", "fetch", "text", "label item", "name"] {
                ask(format_args!("{request} {domain}.{cluster}.{item}"));
            }
        }
        for serial in self.serials {
            for request in ["instance", "text indom", "label indom", "label instances"] {
                ask(format_args!("{request} {domain}.{serial}"));
            }
            ask(format_args!("profile {domain}.{serial} none"));
            ask(format_args!("profile {domain}.{serial} add 0"));
            ask(format_args!("fetch {domain}.{cluster}.1"));
            ask(format_args!("profile {domain}.{serial} all"));
        }
        ask(format_args!(
            "label context\nlabel domain\nlabel cluster {domain}.{cluster}"
        ));
        ask(format_args!(
            "children {name}\ntraverse {name}\npmid {name}.color\nattr \"userid\" \"0\""
        ));
        ask(format_args!("store {domain}.0.0 \"7\"\nfetch {domain}.0.0"));
        // dbpmda frees memory twice when it gives up the store into a DSO, whichever library is
        // below.
        if form == Form::Daemon {
            ask(format_args!(
                "store {domain}.{cluster}.1 \"text\"\nstore {domain}.{cluster}.2 \"1\""
            ));
            ask(format_args!(
                "fetch {domain}.{cluster}.0 {domain}.{cluster}.1 {domain}.{cluster}.2"
            ));
        }
        script + "close\nquit\n"
    }
}

/// A program that starts another one: dbpmda takes no options that it does not know.
fn script(command: &Command, place: &Path) -> Result<PathBuf, String> {
    let file = place.join("daemon.sh");
    let words = [command.get_program()].into_iter().chain(command.get_args());
    let words: Vec<_> = words.map(|word| format!("'{}'", word.to_string_lossy())).collect();
    fs::write(&file, format!("#!/bin/sh\nexec {}\n", words.join(" "))).map_err(|error| error.to_string())?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).map_err(|error| error.to_string())?;
    Ok(file)
}

/// A program whose values mmv serves, until this is dropped.
struct Served(Option<Child>);

impl Served {
    fn start(tour: &Tour, environment: &Environment) -> Result<Served, String> {
        if tour.name != "mmv" {
            return Ok(Served(None));
        }
        let program = environment.directory.join("instrumented");
        let source = root().join("tests/consumers/instrumented.c");
        let mut cc = Command::new("cc");
        cc.arg("-w")
            .arg("-o")
            .arg(&program)
            .arg(source)
            .args(["-lpcp_mmv", "-lpcp"]);
        if !cc.status().is_ok_and(|status| status.success()) {
            return Err("instrumented.c does not compile".to_owned());
        }
        let mut command = environment.command(program);
        command
            .env_remove("LD_PRELOAD")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        // It says so when its values are there.
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped"))
            .read_line(&mut line)
            .map_err(|error| error.to_string())?;
        Ok(Served(Some(child)))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // The end of its input is its end.
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}
