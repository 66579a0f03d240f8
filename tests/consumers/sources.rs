//! The agent sources that the package ships, compiled against our headers and linked with our
//! library: no new warning, and the same answers as when they are compiled against the installed
//! headers and run on the C library. Also an agent in C++, and the example programs that feed an
//! agent through shared memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use libtest_mimic::Trial;

use crate::survey;
use pcp_pmda_test::pcp::{self, Environment};
use pcp_pmda_test::run::bounded;
use pcp_pmda_test::{Library, profile_dir, root};

/// An agent that comes as source.
struct Source {
    name: &'static str,
    files: &'static [&'static str],
    /// More arguments for the compiler.
    flags: &'static [&'static str],
    arguments: &'static str,
    domain: u32,
    dso: bool,
}

const SOURCES: [Source; 4] = [
    Source {
        name: "simple",
        files: &["simple.c"],
        flags: &[],
        arguments: "",
        domain: 253,
        dso: true,
    },
    Source {
        name: "trivial",
        files: &["trivial.c"],
        flags: &[],
        arguments: "",
        domain: 250,
        dso: false,
    },
    Source {
        name: "txmon",
        files: &["txmon.c"],
        flags: &[],
        arguments: "first second",
        domain: 251,
        dso: false,
    },
    Source {
        name: "sample",
        files: &["pmda.c", "sample.c", "percontext.c", "events.c", "proc.c"],
        flags: &[],
        arguments: "",
        domain: 29,
        dso: true,
    },
];

/// One trial for each source and form.
pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for source in &SOURCES {
        for dso in [false, true].into_iter().filter(|dso| source.dso || !dso) {
            let name = format!("sources::{}_{}", source.name, if dso { "dso" } else { "daemon" });
            trials.push(Trial::test(name, move || source.check(dso).map_err(Into::into)));
        }
    }
    trials.push(Trial::test("sources::cplusplus", || cplusplus().map_err(Into::into)));
    trials
}

impl Source {
    /// Compiles the agent against the library's own headers; the warnings are returned beside the
    /// file.
    fn compile(&self, library: Library, dso: bool) -> Result<(PathBuf, String), String> {
        let output = profile_dir().join("test-sources").join(format!("{library:?}"));
        fs::create_dir_all(&output).expect("target is writable");
        let file = output.join(if dso {
            format!("pmda_{}.so", self.name)
        } else {
            format!("pmda{}", self.name)
        });
        let directory = pcp::agent(self.name);
        let mut command = Command::new("cc");
        command.current_dir(&directory).args(["-O1", "-g", "-Wall", "-Wextra"]);
        if library == Library::Ours {
            command.arg("-I").arg(root().join("include"));
        }
        command
            .args(dso.then_some(["-fPIC", "-shared"]).into_iter().flatten())
            .args(self.flags);
        command.args(self.files).arg("-o").arg(&file);
        command
            .arg("-L")
            .arg(library.directory())
            .args(["-lpcp_pmda", "-lpcp", "-lm", "-lpthread"]);
        let outcome = command.output().expect("cc is installed");
        let warnings = String::from_utf8_lossy(&outcome.stderr).into_owned();
        if outcome.status.success() {
            Ok((file, warnings))
        } else {
            Err(warnings)
        }
    }

    fn picture(&self, library: Library, file: &Path, dso: bool) -> Result<survey::Answers, String> {
        let environment = Environment::new(&format!("sources-{}_{dso}", self.name), library);
        let Source {
            name,
            domain,
            arguments,
            ..
        } = self;
        let line = if dso {
            format!("{name} {domain} dso {name}_init {}\n", file.display())
        } else {
            format!(
                "{name} {domain} pipe binary {} -d {domain} {arguments}\n",
                file.display()
            )
        };
        let pmcd = environment.pmcd(&line, &pcp::agent(name).join("root"))?;
        if *name == "txmon" {
            transactions(&environment)?;
        }
        survey::of(&pmcd)
    }

    fn check(&self, dso: bool) -> Result<(), String> {
        let (c, before) = self.compile(Library::C, dso)?;
        let (ours, after) = self.compile(Library::Ours, dso)?;
        let warnings = |text: &str| text.matches("warning:").count();
        if warnings(&after) > warnings(&before) {
            return Err(format!("new warnings with our headers:\n{after}"));
        }
        let answers = survey::compare(
            || self.picture(Library::C, &c, dso),
            || self.picture(Library::Ours, &ours, dso),
        )?;
        // Of a metric without an agent there are eight answers.
        if answers < 15 {
            return Err(format!("only {answers} answers: the agent did not run"));
        }
        Ok(())
    }
}

/// A client of txmon's shared memory records some transactions.
fn transactions(environment: &Environment) -> Result<(), String> {
    let directory = pcp::agent("txmon");
    let program = environment.directory.join("txrecord");
    let mut compile = Command::new("cc");
    compile
        .current_dir(&directory)
        .arg("-o")
        .arg(&program)
        .args(["txrecord.c", "-lpcp"]);
    let outcome = compile.output().expect("cc is installed");
    if !outcome.status.success() {
        return Err(String::from_utf8_lossy(&outcome.stderr).into_owned());
    }
    for (kind, seconds) in [("first", "0.25"), ("second", "1.5"), ("first", "0.75")] {
        let mut record = environment.command(&program);
        record.args([kind, seconds]);
        let outcome = bounded(record, Duration::from_secs(20));
        if outcome.end != "exit 0" {
            return Err(format!("txrecord: {}", pcp::text(&outcome)));
        }
    }
    Ok(())
}

/// An agent in C++ against our header, run on both libraries.
fn cplusplus() -> Result<(), String> {
    let program = profile_dir().join("test-cplusplus");
    let mut command = Command::new("c++");
    command
        .args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(root().join("include"));
    command
        .arg(root().join("tests/consumers/counter.cpp"))
        .arg("-o")
        .arg(&program);
    command
        .arg("-L")
        .arg(Library::Ours.directory())
        .args(["-lpcp_pmda", "-lpcp"]);
    let outcome = command.output().expect("c++ is installed");
    if !outcome.status.success() {
        return Err(String::from_utf8_lossy(&outcome.stderr).into_owned());
    }
    let picture = |library| {
        let environment = Environment::new("sources-cplusplus", library);
        let names = environment.directory.join("names");
        fs::write(&names, "root { counter }\ncounter { value 496:0:0 words 496:0:1 }\n").expect("target is writable");
        let pmcd = environment.pmcd(&format!("counter 496 pipe binary {}\n", program.display()), &names)?;
        survey::of(&pmcd)
    };
    survey::compare(|| picture(Library::C), || picture(Library::Ours)).map(drop)
}
