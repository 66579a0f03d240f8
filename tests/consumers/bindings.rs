//! Agents of our own in Perl and Python whose names are found out at run time (dynamic.pl,
//! dynamic.python): a client stores how many metrics there are to be, and asks for all of them.
//! Interpreters call the library from callbacks of the library.

use std::fmt::Write as _;
use std::fs;

use libtest_mimic::Trial;

use pcp_pmda_test::pcp::{self, Environment, Pmcd, text};
use pcp_pmda_test::{Library, compare, root};

/// An agent of this directory.
#[derive(Clone, Copy)]
struct Script {
    file: &'static str,
    interpreter: &'static str,
    /// The agent's name and the root of its names.
    name: &'static str,
    domain: u32,
    /// Its names are those of its start.
    restarts: bool,
}

const SCRIPTS: [Script; 2] = [
    Script {
        file: "dynamic.pl",
        interpreter: "/usr/bin/perl",
        name: "dynamicpl",
        domain: 498,
        restarts: true,
    },
    Script {
        file: "dynamic.python",
        interpreter: "/usr/bin/python3",
        name: "dynamicpy",
        domain: 499,
        restarts: false,
    },
];

/// One trial for each script.
pub fn trials() -> Vec<Trial> {
    let trial = |script: Script| {
        Trial::test(format!("bindings::{}", script.name), move || {
            let (c, ours) = (script.play(Library::C)?, script.play(Library::Ours)?);
            compare::difference(("C library", &c), ("ours", &ours)).map_or(Ok(()), |text| Err(text.into()))
        })
    };
    SCRIPTS.into_iter().map(trial).collect()
}

impl Script {
    /// Two metrics at first, then five, one, none, too many, and two again.
    fn play(self, library: Library) -> Result<String, String> {
        let mut environment = Environment::new(&format!("bindings-{}", self.name), library);
        let Script { name, domain, .. } = self;
        let names = environment.directory.join("names");
        fs::write(&names, format!("root {{ {name} {domain}:*:* }}\n")).expect("target is writable");
        let made = environment.directory.join("made");
        fs::write(&made, "2\n").expect("target is writable");
        environment.variables.push(("MADE", made.display().to_string()));
        // The order in which Perl walks a hash decides about the order of names and the numbers of
        // instances.
        for (name, value) in [("PERL_HASH_SEED", "0"), ("PERL_PERTURB_KEYS", "0")] {
            environment.variables.push((name, value.to_owned()));
        }
        // pmcd's configuration has no quotes: a path of the sources may have a blank.
        let file = environment.directory.join(self.file);
        fs::copy(root().join("tests/consumers").join(self.file), &file).expect("part of the sources");
        let line = format!("{name} {domain} pipe binary {} {}\n", self.interpreter, file.display());
        // Interpreters start slowly on a busy machine.
        let pmcd = environment.pmcd_with(&line, &names, &["-q", "60", "-t", "30"])?;
        let (count, mut told) = (format!("{name}.count"), String::new());
        for stored in ["2", "5", "1", "0", "10", "2"] {
            let _ = writeln!(told, "== {stored}");
            told += &text(&pmcd.tool("pmstore", &[&count, stored]));
            told += &self.shown(&pmcd);
            if self.restarts {
                let first = pmcd.agent_pid(name).ok_or("pmcd lists no process of the agent")?;
                pcp::kill(first, libc::SIGKILL);
                // pmcd starts agents again of which it knows that they are gone.
                pmcd.tool_until("pminfo", &["-f", &count], |answer| {
                    let again = answer.contains("value") && pmcd.agent_pid(name) != Some(first);
                    if !again {
                        pmcd.signal(libc::SIGHUP);
                    }
                    again
                })?;
                let _ = writeln!(told, "started again:");
                told += &self.shown(&pmcd);
            }
        }
        for expected in [format!("{name}.made.m4 PMID: {domain}.1.4"), "value 104004".to_owned()] {
            if !told.contains(&expected) {
                return Err(format!("{expected} is not shown:\n{told}\n{}", pmcd.log()));
            }
        }
        Ok(told)
    }

    /// All of its metrics, and two of which one or both may not be there.
    fn shown(self, pmcd: &Pmcd<'_>) -> String {
        let made = |number: u32| format!("{}.made.m{number}", self.name);
        let mut told = text(&pmcd.tool("pminfo", &["-dfmtTlI", self.name]));
        told += &text(&pmcd.tool("pminfo", &["-f", &made(0), &made(4)]));
        told + &text(&pmcd.tool("pmprobe", &["-I", self.name]))
    }
}
