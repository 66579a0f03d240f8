//! One of the agents of `c-examples`, built by its own Makefile, and what dbpmda shows of it.

use std::fs;
use std::path::PathBuf;

use super::installation::{Installation, expect_success};
use super::pcp::Environment;
use super::{Library, root};

/// The names of the agents' metrics, as an administrator would add them to pmcd's name space.
const NAMESPACE: &str = "
root { hello instances keyed labels dynamic 494:*:* events store both cplusplus }
hello { count 490:0:0 }
instances { length 491:0:0 }
keyed { temperature 492:0:0 }
labels { temperature 493:0:0 }
events { trigger 495:0:0 records 495:0:1 filter 495:0:2 message 495:0:3 }
store { limit 496:0:0 changes 496:0:1 }
both { seconds 497:0:0 }
cplusplus { count 498:0:0 }
";

/// One example, built outside of the repository.
pub struct Example {
    /// The folders of the agent, and the variables of its programs.
    pub environment: Environment,
    namespace: PathBuf,
}

impl Example {
    /// Copies the example's folder and runs `make` there, with warnings as errors.
    pub fn build(name: &str) -> Example {
        Example::build_for("example", name)
    }

    /// [`Example::build`] for a test that runs beside those of the examples.
    pub fn build_for(test: &str, name: &str) -> Example {
        let installation = Installation::new(&format!("{test}-{name}"));
        let environment = Environment::new(&format!("{test}-{name}"), Library::Ours);
        let folder = root().join("c-examples").join(name);
        for file in ["Makefile".to_owned(), format!("{name}.c"), format!("{name}.cpp")] {
            if folder.join(&file).exists() {
                fs::copy(folder.join(&file), environment.directory.join(&file)).expect("target is writable");
            }
        }
        let mut make = installation.command("make");
        make.arg("--silent").current_dir(&environment.directory);
        make.env("CFLAGS", "-O2 -g -Werror").env("CXXFLAGS", "-O2 -g -Werror");
        expect_success(make, &format!("make in c-examples/{name}"));
        let namespace = environment.directory.join("root.pmns");
        fs::write(&namespace, NAMESPACE).expect("target is writable");
        Example { environment, namespace }
    }

    /// Puts the program of the guide together from its pieces and compiles it as the guide says,
    /// with warnings as errors.
    pub fn of_the_guide() -> Example {
        let guide = fs::read_to_string(root().join("docs/WRITING-AGENTS.md")).expect("part of the sources");
        let pieces = guide.split("```c\n").skip(1);
        let pieces: Vec<_> = pieces.map(|rest| rest.split("```").next().unwrap_or(rest)).collect();
        let installation = Installation::new("example-guide");
        let environment = Environment::new("example-guide", Library::Ours);
        fs::write(environment.directory.join("hello.c"), pieces.join("\n")).expect("target is writable");
        let mut cc = installation.command("cc");
        cc.args(["-Wall", "-Werror", "-o", "hello", "hello.c"])
            .args(installation.pkg_config(&["--cflags", "--libs"]))
            .current_dir(&environment.directory);
        expect_success(cc, "the program of docs/WRITING-AGENTS.md");
        let namespace = environment.directory.join("root.pmns");
        fs::write(&namespace, NAMESPACE).expect("target is writable");
        Example { environment, namespace }
    }

    /// Writes a file beside the agent.
    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.environment.directory.join(name), text).expect("target is writable");
    }

    /// Opens the agent with dbpmda and gives it these commands.
    pub fn session(&self, open: &str, commands: &[&str]) -> Session {
        let script = format!("open {open}\ngetdesc on\n{}\n", commands.join("\n"));
        let output = self.environment.dbpmda(&self.namespace, &script);
        // Each answer follows its command, which dbpmda repeats behind its prompt.
        let answers = output.split("dbpmda> ").skip(3).map(|part| {
            let (command, answer) = part.split_once('\n').unwrap_or((part, ""));
            (command.to_owned(), answer.to_owned())
        });
        Session {
            answers: answers.take(commands.len()).collect(),
            output,
        }
    }
}

/// The output of dbpmda: the commands in their order, each with its answer.
pub struct Session {
    answers: Vec<(String, String)>,
    output: String,
}

impl Session {
    /// Checks the answer to the next command: its lines, without indentation, include these, in
    /// this order.
    #[track_caller]
    pub fn expect(&mut self, command: &str, lines: &[&str]) -> &mut Session {
        let answer = self.next(command);
        let mut rest = answer.lines().map(str::trim);
        for line in lines {
            assert!(
                rest.any(|found| found == *line),
                "{command}: no line {line:?} in\n{answer}"
            );
        }
        self
    }

    /// Checks that the next command was refused, for this reason.
    #[track_caller]
    pub fn expect_error(&mut self, command: &str, reason: &str) -> &mut Session {
        self.expect(command, &[&format!("Error PDU: {reason}")])
    }

    /// Checks the number of lines that contain a text in the answer to the next command.
    #[track_caller]
    pub fn expect_count(&mut self, command: &str, text: &str, count: usize) -> &mut Session {
        let answer = self.next(command);
        let found = answer.lines().filter(|line| line.contains(text)).count();
        assert_eq!(found, count, "{command}: lines with {text:?} in\n{answer}");
        self
    }

    #[track_caller]
    pub fn next(&mut self, command: &str) -> String {
        assert!(!self.answers.is_empty(), "no answer to {command}:\n{}", self.output);
        let (given, answer) = self.answers.remove(0);
        assert_eq!(
            given, command,
            "the commands of the test and its expectations differ:\n{}",
            self.output
        );
        answer
    }
}
