//! Every agent of the Debian package, as it can be found there: each DSO, each daemon, each Perl
//! and Python script.
//!
//! None is left out by hand: the list is what the package's agent directories hold. An agent that
//! cannot start on the C library in this place is listed with the reason, and must not start on
//! ours either.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::thread;
use std::time::Duration;

use libtest_mimic::{Completion, Trial};

use crate::{surroundings, survey, table};
use pcp_pmda_test::pcp::{self, Environment};
use pcp_pmda_test::{Library, run::bounded};

/// The form of an agent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Form {
    Dso,
    Daemon,
    Perl,
    Python,
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Form::Dso => "DSO",
            Form::Daemon => "daemon",
            Form::Perl => "Perl",
            Form::Python => "Python",
        })
    }
}

/// The reason why an agent cannot start here, on either library.
struct Obstacle(String);

/// One agent in one of its forms.
#[derive(Clone, Debug)]
pub struct Agent {
    pub name: String,
    pub form: Form,
    file: PathBuf,
    domain: u32,
}

/// All agents of the package.
pub fn all() -> Vec<Agent> {
    let mut found = Vec::new();
    for entry in fs::read_dir(pcp::installed("var/lib/pcp/pmdas"))
        .expect("make setup")
        .flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        let forms = [
            (Form::Dso, format!("pmda_{name}.so")),
            (Form::Daemon, format!("pmda{name}")),
            (Form::Perl, format!("pmda{name}.pl")),
            (Form::Perl, format!("pmda{name}.perl")),
            (Form::Python, format!("pmda{name}.python")),
        ];
        for (form, file) in forms {
            let file = entry.path().join(file);
            if file.exists() {
                found.push(Agent {
                    domain: domain(&name),
                    name: name.clone(),
                    form,
                    file,
                });
            }
        }
    }
    found.sort_by(|a, b| (&a.name, a.form).cmp(&(&b.name, b.form)));
    found
}

/// The domain number that PCP has given to an agent.
fn domain(name: &str) -> u32 {
    static KNOWN: LazyLock<BTreeMap<String, u32>> = LazyLock::new(|| {
        let text = fs::read_to_string(pcp::installed("var/lib/pcp/pmns/stdpmid")).expect("make setup");
        let define = |line: &str| {
            let mut words = line.strip_prefix("#define")?.split_whitespace();
            Some((words.next()?.to_owned(), words.next()?.parse().ok()?))
        };
        text.lines().filter_map(define).collect()
    });
    // Some have a symbol of their own in domain.h, and the number there; the others get a number
    // that nobody has.
    let header = fs::read_to_string(pcp::agent(name).join("domain.h")).unwrap_or_default();
    let own = || {
        header
            .lines()
            .find_map(|line| line.strip_prefix("#define ")?.split_whitespace().nth(1)?.parse().ok())
    };
    KNOWN.get(&name.to_uppercase()).copied().or_else(own).unwrap_or(500)
}

impl Agent {
    /// The name of the trial.
    fn title(&self) -> String {
        format!("agents::{}_{}", self.name, self.form.to_string().to_lowercase())
    }

    /// Returns whether the agent reads its configuration first and then says that it is ready, as
    /// its Install script announces.
    fn tells_when_ready(&self) -> bool {
        ["netcheck", "openmetrics"].contains(&self.name.as_str())
    }

    /// Returns whether the agent asks the pmcd that starts it, which has to run for that.
    fn joins_later(&self) -> bool {
        self.name == "summary"
    }

    /// Returns whether the agent runs its commands once when it starts, beside the first requests.
    fn measures_first(&self) -> bool {
        self.name == "shping"
    }

    /// Returns whether the agent waits in each fetch, without an end, for a service that does not
    /// run.
    fn waits_in_fetches(&self) -> bool {
        self.name == "docker"
    }

    /// The program and its arguments, as a daemon.
    fn command(&self, environment: &Environment) -> String {
        let file = self.file.display();
        match self.form {
            Form::Perl => format!("/usr/bin/perl {file}"),
            Form::Python => format!(
                "/usr/bin/python3 {file} {}",
                surroundings::arguments(&self.name, environment)
            ),
            _ => format!(
                "{file} -d {} {}",
                self.domain,
                surroundings::arguments(&self.name, environment)
            ),
        }
    }

    /// The line of this agent in pmcd.conf.
    fn configuration(&self, environment: &Environment) -> String {
        let Agent { name, domain, file, .. } = self;
        match self.form {
            Form::Dso => format!("{name} {domain} dso {name}_init {}\n", file.display()),
            // As their Install scripts say: they tell when they have read their configuration.
            _ if self.tells_when_ready() => {
                format!("{name} {domain} pipe binary notready {}\n", self.command(environment))
            }
            _ => format!("{name} {domain} pipe binary {}\n", self.command(environment)),
        }
    }

    /// The agent's name space as a file of its own: scripts print it, the others bring it.
    fn name_space(&self, environment: &Environment) -> Result<PathBuf, String> {
        let made = environment.directory.join("root");
        let printed = match self.form {
            Form::Perl => Some(("/usr/bin/perl", "PCP_PERL_PMNS")),
            Form::Python => Some(("/usr/bin/python3", "PCP_PYTHON_PMNS")),
            _ => None,
        };
        if let Some((interpreter, variable)) = printed {
            let mut command = environment.command(interpreter);
            let arguments = surroundings::arguments(&self.name, environment);
            command
                .arg(&self.file)
                .args(arguments.split_whitespace())
                .env(variable, "root");
            let outcome = bounded(command, Duration::from_secs(30));
            if outcome.end != "exit 0" || outcome.stdout.is_empty() {
                let errors = String::from_utf8_lossy(&outcome.stderr).into_owned();
                return Err(last_line(&errors).unwrap_or(outcome.end));
            }
            fs::write(&made, outcome.stdout).expect("target is writable");
            return Ok(made);
        }
        let directory = self.file.parent().expect("an agent's directory");
        if self.joins_later() {
            // Plain, as it is a local name space for what the agent starts, too; and that asks
            // about another agent's.
            let text = format!(
                "root {{\n\t{name}\n\tpmcd\n}}\n{name} {{\n\tcpu\n}}\n{name}.cpu {{\n\tutil {domain}:0:1\n\tbusy {domain}:0:2\n}}\n\
                 pmcd {{\n\tnumagents 2:0:2\n}}\n",
                name = self.name,
                domain = self.domain
            );
            fs::write(&made, text).expect("target is writable");
            return Ok(made);
        }
        let own = directory.join("root");
        if own.exists() {
            return Ok(own);
        }
        let standard = format!("root_{}", self.name);
        let places = [
            directory.join(&standard),
            pcp::installed("var/lib/pcp/pmns").join(&standard),
        ];
        let file = places
            .iter()
            .find(|file| file.exists())
            .ok_or("the package has no name space for it")?;
        let text = format!("#include <stdpmid>\n#include \"{}\"\n", file.display());
        fs::write(&made, text).expect("target is writable");
        Ok(made)
    }

    /// As `once`, with more attempts for an agent that started and was lost: on a busy machine an
    /// interpreter may be too slow for pmcd, on either library.
    fn picture(&self, library: Library) -> Result<survey::Answers, String> {
        let mut picture = self.once(library);
        for _ in 0..4 {
            match &picture {
                Err(reason) if reason.contains("Cleanup ") => picture = self.once(library),
                _ => break,
            }
        }
        picture
    }

    /// Runs the agent under pmcd and under dbpmda and takes down what they show; `Err` when it
    /// cannot start.
    fn once(&self, library: Library) -> Result<survey::Answers, String> {
        let mut environment = Environment::new(&self.title().replace("::", "-"), library);
        surroundings::lay_out(&self.name, &mut environment);
        let name_space = self.name_space(&environment)?;
        if self.joins_later() {
            environment
                .variables
                .push(("PMNS_DEFAULT", name_space.display().to_string()));
        }
        let configuration = self.configuration(&environment);
        let mut answers;
        {
            // Interpreters start slowly on a busy machine.
            let slowly = ["-q", "30", "-t", "10"];
            let pmcd = if self.joins_later() {
                let alone = line("pmcd", Form::Dso, &environment);
                let pmcd = environment.pmcd_with(&alone, &name_space, &slowly)?;
                environment.configure(&(alone + &configuration));
                pmcd.signal(libc::SIGHUP);
                pmcd
            } else {
                environment.pmcd_with(&configuration, &name_space, &slowly)?
            };
            if self.tells_when_ready() || self.joins_later() {
                let described = |answer: &str| answer.contains("Data Type");
                if pmcd.tool_until("pminfo", &["-d", &self.name], described).is_err() {
                    return Err(self.reason(&environment, &pmcd.log()));
                }
            }
            if self.measures_first() {
                pmcd.tool_until("pminfo", &["-f", "shping.status"], |answer| {
                    !answer.contains("value -1")
                })?;
            }
            let started = |line: &str| {
                let mut words = line.split_whitespace();
                words.next() == Some(&self.name) && words.next() == Some(&self.domain.to_string())
            };
            if !pmcd.log().lines().any(started) {
                return Err(self.reason(&environment, &pmcd.log()));
            }
            answers = survey::of(&pmcd)?;
            let described =
                |(question, answer): (&String, &String)| question.ends_with(" desc") && !answer.starts_with("error");
            if !answers.iter().any(described) {
                return Err(self.reason(&environment, &pmcd.log()));
            }
        }
        if matches!(self.form, Form::Dso | Form::Daemon) {
            let script = self.debug_script(&environment, &answers);
            answers.extend(survey::lines("dbpmda", &environment.dbpmda(&name_space, &script)));
        }
        // The directories are named after the library.
        let private = environment.directory.display().to_string();
        for answer in answers.values_mut().filter(|answer| answer.contains(&private)) {
            *answer = answer.replace(&private, "DIR");
        }
        Ok(answers)
    }

    /// A session of dbpmda, as a person would type it: some of the agent's metrics, one by one and
    /// together.
    fn debug_script(&self, environment: &Environment, answers: &survey::Answers) -> String {
        let mut script = match self.form {
            Form::Dso => format!("open dso {} {}_init {}\n", self.file.display(), self.name, self.domain),
            _ => format!("open pipe {}\n", self.command(environment)),
        };
        if self.measures_first() {
            script += "wait 1\n";
        }
        script += "getdesc on\nstatus\n";
        let names: Vec<_> = answers
            .keys()
            .filter_map(|question| question.strip_suffix(" pmid"))
            .collect();
        let some: Vec<_> = names.iter().step_by(names.len() / 12 + 1).copied().collect();
        for name in &some {
            script += &format!("desc {name}\ntext {name}\n");
            if !self.waits_in_fetches() {
                script += &format!("fetch {name}\n");
            }
        }
        if !self.waits_in_fetches() {
            script += &format!("fetch {}\n", some.join(" "));
        }
        script + "close\nquit\n"
    }

    /// Why pmcd has not started the agent: the last words of the agent's log, or of pmcd about it.
    fn reason(&self, environment: &Environment, log: &str) -> String {
        let directory = environment.directory.join("log/pmcd");
        let own = fs::read_to_string(directory.join(format!("{}.log", self.name))).unwrap_or_default();
        let output = fs::read_to_string(directory.join("output")).unwrap_or_default();
        // The directory is named after the agent.
        let private = environment.directory.display().to_string();
        let [own, output, log] = [&own, &output, log].map(|text| text.replace(&private, "DIR"));
        let speaks =
            |line: &&str| line.contains(&self.name) && (line.contains("] pmcd(") || line.starts_with("Cleanup "));
        let about: Vec<_> = log.lines().filter(speaks).collect();
        let found = last_line(&own)
            .or_else(|| last_line(&output))
            .or_else(|| last_line(&about.join("\n")));
        found.unwrap_or_else(|| "pmcd does not list it".to_owned())
    }

    /// The reason why an agent cannot start here, in better words than its last log line.
    fn obstacle(&self) -> Option<&'static str> {
        Some(match (self.name.as_str(), self.form) {
            ("bcc", _) => "its default module, netproc, compiles a program for the running kernel",
            ("docker", Form::Dso) => "it waits for a docker daemon, and pmcd with it",
            ("kvm", Form::Dso) => "it sets no interface version when pmcd loads it, and then crashes, and pmcd with it",
            ("sendmail", Form::Dso) => "it sets no interface version when pmcd loads it, so that pmdaInit refuses it",
            ("lmsensors", _) => "it needs the sensors of real hardware",
            ("mic", _) => "it needs the management module of Xeon Phi cards",
            ("roomtemp", _) => "it needs a thermometer at a serial line",
            ("slurm", _) => "it needs a Slurm cluster's library and configuration",
            _ => return None,
        })
    }

    /// The first picture on the C library, or the reason why the agent cannot start here on either
    /// library.
    fn first(&self) -> Result<Result<survey::Answers, Obstacle>, String> {
        let (c, ours) = if self.obstacle().is_some() {
            // Most of them wait for what is not there, as long as pmcd does.
            thread::scope(|scope| {
                let ours = scope.spawn(|| self.picture(Library::Ours));
                (self.picture(Library::C), ours.join().expect("it ends"))
            })
        } else {
            match self.picture(Library::C) {
                Ok(first) => return Ok(Ok(first)),
                failed => (failed, self.picture(Library::Ours)),
            }
        };
        match (c, ours) {
            (Ok(first), _) => Ok(Ok(first)),
            (Err(reason), Err(_)) => {
                let said = reason.lines().next().unwrap_or_default();
                Ok(Err(Obstacle(self.obstacle().unwrap_or(said).to_owned())))
            }
            // An agent that starts on ours alone is an error here, unless the C library was merely
            // too slow.
            (Err(_), Ok(_)) => self.picture(Library::C).map(Ok),
        }
    }

    /// The same on both libraries. Ignored if the agent starts on neither.
    fn check(&self) -> Result<Completion, String> {
        let mut first = match self.first()? {
            Ok(first) => Some(first),
            Err(Obstacle(reason)) => {
                let reason = format!("cannot start here, on either library: {reason}");
                table::note(self, &reason);
                return Ok(Completion::ignored_with(reason));
            }
        };
        let c = || first.take().map_or_else(|| self.picture(Library::C), Ok);
        survey::compare(c, || self.picture(Library::Ours))?;
        table::note(self, "the same");
        Ok(Completion::Completed)
    }
}

/// The last line that says something, without time and process.
fn last_line(text: &str) -> Option<String> {
    let boiler =
        |line: &&str| !line.trim().is_empty() && !line.starts_with("Log finished") && !line.starts_with("Log for ");
    let line = text.lines().rev().find(boiler)?;
    let line = line
        .split_once("] ")
        .filter(|_| line.starts_with('['))
        .map_or(line, |(_, rest)| rest);
    let line = regex::Regex::new(r"\(\d+\)")
        .expect("a valid pattern")
        .replace_all(line, "")
        .into_owned();
    let root = pcp::home().join("root").display().to_string();
    Some(line.trim().replace(&root, "").replace('|', "\\|"))
}

/// One trial for each agent and form. Those that wait for what is not there take longest, and come
/// first.
pub fn trials() -> Vec<Trial> {
    let mut agents = all();
    agents.sort_by_key(|agent| agent.obstacle().is_none());
    let trial = |agent: Agent| Trial::ignorable_test(agent.title(), move || agent.check().map_err(Into::into));
    agents.into_iter().map(trial).collect()
}

/// The line of an agent in pmcd.conf.
pub fn line(name: &str, form: Form, environment: &Environment) -> String {
    let agent = all().into_iter().find(|agent| agent.name == name && agent.form == form);
    agent.expect("an agent of the package").configuration(environment)
}
