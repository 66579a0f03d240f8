//! The test agents, through pmcd: every question that a client can ask, twice, with stores in
//! between.

use std::fs;
use std::path::PathBuf;

use crate::{LIMIT, survey, testsuite};
use pcp_pmda_test::Library;
use pcp_pmda_test::pcp::Environment;
use pcp_pmda_test::run::bounded;

/// The way by which pmcd reaches an agent.
#[derive(Clone, Copy)]
enum Form {
    Dso,
    Daemon,
    Perl,
    Python,
}

/// A test agent, and what pmcd and its clients see of it.
struct Agent {
    name: &'static str,
    form: Form,
    file: &'static str,
    /// The name space in the agent's directory; scripts print theirs.
    names: &'static str,
    /// The domain of a compiled agent; scripts print theirs.
    domain: u32,
}

impl Agent {
    fn answers(&self, library: Library) -> Result<survey::Answers, String> {
        let environment = Environment::new(&format!("upstream-{}", self.file.replace('/', "-")), library);
        let Agent { name, domain, .. } = self;
        let file = testsuite(&format!("pmdas/{}", self.file));
        let script = match self.form {
            Form::Perl => Some(("/usr/bin/perl", "PCP_PERL_PMNS")),
            Form::Python => Some(("/usr/bin/python3", "PCP_PYTHON_PMNS")),
            Form::Dso | Form::Daemon => None,
        };
        let file = file.display();
        let (line, names) = if let Some((interpreter, variable)) = script {
            let (names, domain) = self.printed(&environment, interpreter, variable)?;
            (format!("{name} {domain} pipe binary {interpreter} {file}\n"), names)
        } else {
            let line = match self.form {
                Form::Dso => format!("{name} {domain} dso {name}_init {file}\n"),
                _ => format!("{name} {domain} pipe binary {file} -d {domain}\n"),
            };
            (line, testsuite(&format!("pmdas/{}", self.names)))
        };
        let pmcd = environment.pmcd_with(&line, &names, &["-q", "60", "-t", "30"])?;
        let mut answers = survey::of(&pmcd)?;
        // The survey stores: what the agent has become of that is asked once more.
        let again = survey::of(&pmcd)?;
        answers.extend(
            again
                .into_iter()
                .map(|(question, answer)| (format!("again: {question}"), answer)),
        );
        Ok(answers)
    }

    /// The name space that a script prints, in a file, and the domain in it: that differs between
    /// releases of PCP.
    fn printed(&self, environment: &Environment, interpreter: &str, variable: &str) -> Result<(PathBuf, u32), String> {
        let mut command = environment.command(interpreter);
        command
            .arg(testsuite(&format!("pmdas/{}", self.file)))
            .env(variable, "root");
        let outcome = bounded(command, LIMIT);
        let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
        let domain = text
            .split_whitespace()
            .find_map(|word| word.strip_suffix(":*:*")?.parse().ok())
            .ok_or_else(|| format!("no name space is printed: {outcome:?}"))?;
        let names = environment.directory.join("names");
        fs::write(&names, text).map_err(|error| error.to_string())?;
        Ok((names, domain))
    }

    #[track_caller]
    fn same(&self, at_least: usize) {
        let compared = survey::compare(|| self.answers(Library::C), || self.answers(Library::Ours));
        let answers = compared.unwrap_or_else(|error| panic!("{}: {error}", self.file));
        assert!(answers >= at_least, "{}: only {answers} answers", self.file);
    }
}

/// An agent whose instances come and go by stores.
#[test]
fn agent_with_changing_instances() {
    let agent = Agent {
        name: "dynamic",
        form: Form::Daemon,
        file: "dynamic/pmdadynamic",
        names: "dynamic/root",
        domain: 247,
    };
    agent.same(150);
}

/// Two agents with one name and different metrics.
#[test]
fn agents_that_change_their_metrics() {
    for (file, names) in [
        ("schizo/pmdaschizo-A", "schizo/root-A"),
        ("schizo/pmdaschizo-B", "schizo/root-B"),
    ] {
        let agent = Agent {
            name: "schizo",
            form: Form::Daemon,
            file,
            names,
            domain: 241,
        };
        agent.same(150);
    }
}

/// An agent with big values, in pmcd's process. pmcd takes no store of that size from a client, so
/// none is tried.
#[test]
fn agent_with_big_values() {
    let agent = Agent {
        name: "bigun",
        form: Form::Dso,
        file: "bigun/bigun.so",
        names: "bigun/root",
        domain: 249,
    };
    agent.same(38);
}

/// One agent in six builds, five of them defective: tables that are missing or contradict each
/// other, no help.
///
/// An agent that is lost and started again is a change, which pmcd tells before values (WIRE-81).
#[test]
fn defective_agents() {
    for file in [
        "broken/broken_pmda_2_0",
        "broken/broken_pmda_2_1",
        "broken/broken_pmda_2_2",
        "broken/broken_pmda_2_3",
        "broken/broken_pmda_2_4",
        "broken/broken_pmda_2_5",
    ] {
        let agent = Agent {
            name: "broken",
            form: Form::Daemon,
            file,
            names: "broken/root",
            domain: 249,
        };
        agent.same(20);
    }
}

/// The bindings' own test agents: lists and hashes of instances that change with each refresh,
/// metrics that are made anew within a fetch.
#[test]
fn agents_of_the_bindings() {
    for (name, form, file, at_least) in [
        ("test_perl", Form::Perl, "test_perl/pmdatest_perl.pl", 150),
        ("test_python", Form::Python, "test_python/pmdatest_python.python", 150),
        (
            "memory_python",
            Form::Python,
            "memory_python/pmdamemory_python.python",
            40,
        ),
    ] {
        let agent = Agent {
            name,
            form,
            file,
            names: "",
            domain: 0,
        };
        agent.same(at_least);
    }
}
