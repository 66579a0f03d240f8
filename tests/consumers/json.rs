//! PCP's Python agent `json` under dbpmda, with its data file changed between fetches. It brings
//! its instances up to date inside of the fetch callback, at the first one that it is asked for, so
//! what is new has a value in that fetch if the walk over the domain sees it.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::{Completion, Trial};

use pcp_pmda_test::pcp::{self, Environment};
use pcp_pmda_test::{Library, compare, is_root, release};

/// The time that an answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

const PROMPT: &str = "dbpmda> ";

/// The description of the agent's data.
const METADATA: &str = r#"{ "metrics": [
    { "name": "total", "type": "integer", "pointer": "/total" },
    { "name": "disks", "type": "array", "pointer": "/disks", "index": "/name", "metrics": [
        { "name": "reads", "type": "integer", "pointer": "/reads" },
        { "name": "writes", "type": "integer", "pointer": "/writes" } ] } ] }"#;

/// The names of the instances that the data file has, one after another: some are added, all are
/// replaced, some go, old ones come back.
const NAMES: [&[&str]; 9] = [
    &["a", "b"],
    &["a", "b", "c"],
    &["a", "b", "c", "d", "e", "f"],
    &["x"],
    &["x", "y"],
    &["z", "y", "x"],
    &["y"],
    &["q", "r", "s"],
    &["a", "b", "q", "z"],
];

/// The one trial. The agent takes only directories that belong to root, and PCP 7.2 has it no more.
pub fn trials() -> Vec<Trial> {
    let trial = Trial::ignorable_test("json_changes_under_dbpmda", || {
        if release() >= [7, 0, 0] && !pcp::agent("json").exists() {
            return Ok(Completion::ignored_with("this PCP has the agent no more"));
        }
        if !is_root() {
            return Ok(Completion::ignored_with("the agent takes only directories of root"));
        }
        let (c, ours) = (play(Library::C)?, play(Library::Ours)?);
        let difference = compare::difference(("C library", &c), ("ours", &ours));
        difference.map_or(Ok(Completion::Completed), |text| Err(text.into()))
    });
    vec![trial]
}

/// All that dbpmda shows, without addresses.
fn play(library: Library) -> Result<String, String> {
    let mut environment = Environment::new("json", library);
    let (agents, source) = (
        environment.directory.join("agents"),
        environment.directory.join("source"),
    );
    let data = source.join("one/data.json");
    for directory in [agents.join("json"), source.join("one")] {
        fs::create_dir_all(directory).expect("target is writable");
    }
    let configuration = format!("{{ \"directory_list\": [ \"{}\" ] }}", source.display());
    let names = environment.directory.join("names");
    for (file, text) in [
        (agents.join("json/config.json"), configuration.as_str()),
        (source.join("one/metadata.json"), METADATA),
        (names.clone(), "root { json 137:*:* }\n"),
        (data.clone(), &content(NAMES[0])),
    ] {
        fs::write(file, text).expect("target is writable");
    }
    environment
        .variables
        .push(("PCP_PMDAS_DIR", agents.display().to_string()));

    let mut command = environment.command(pcp::installed("usr/bin/dbpmda"));
    command.args(["-ie", "-n"]).arg(names);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut dialogue = Dialogue::start(command.spawn().map_err(|error| error.to_string())?)?;
    let agent = pcp::agent("json").join("pmdajson.python");
    dialogue.ask(&format!("open pipe /usr/bin/python3 {}", agent.display()))?;
    for some in NAMES {
        fs::write(&data, content(some)).expect("target is writable");
        let _ = writeln!(dialogue.told, "== {some:?}");
        dialogue.ask("fetch json.one.disks.reads json.one.total")?;
        dialogue.ask("fetch json.one.disks.writes")?;
        dialogue.ask("instance 137.2")?;
    }
    for expected in ["numval: 6", "numval: 3", "inst: 0 name: \"a\""] {
        if !dialogue.told.contains(expected) {
            return Err(format!("{expected} is not shown:\n{}", dialogue.told));
        }
    }
    let address = regex::Regex::new("0x[0-9a-f]+").expect("a valid pattern");
    Ok(address.replace_all(&dialogue.told, "ADDRESS").into_owned())
}

/// The data file with these instances.
fn content(names: &[&str]) -> String {
    let disk = |(place, name): (usize, &&str)| {
        let letter = name.as_bytes()[0];
        format!("{{ \"name\": \"{name}\", \"reads\": {letter}, \"writes\": {place} }}")
    };
    let disks: Vec<_> = names.iter().enumerate().map(disk).collect();
    format!(
        "{{ \"total\": {}, \"disks\": [ {} ] }}\n",
        names.len(),
        disks.join(", ")
    )
}

/// A dbpmda that is asked one thing after another; it is killed when this goes out of scope.
struct Dialogue {
    child: Child,
    questions: ChildStdin,
    answers: Receiver<Vec<u8>>,
    told: String,
}

impl Dialogue {
    /// Waits for the first prompt.
    fn start(mut child: Child) -> Result<Dialogue, String> {
        let questions = child.stdin.take().expect("piped");
        let answers = read(child.stdout.take().expect("piped"));
        let mut dialogue = Dialogue {
            child,
            questions,
            answers,
            told: String::new(),
        };
        dialogue.wait()?;
        Ok(dialogue)
    }

    /// Asks, and waits for the prompt behind the answer.
    fn ask(&mut self, question: &str) -> Result<(), String> {
        writeln!(self.questions, "{question}").map_err(|error| format!("{question}: {error}\n{}", self.told))?;
        self.wait()
    }

    fn wait(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        let mut answer = String::new();
        while !answer.ends_with(PROMPT) {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(some) = self.answers.recv_timeout(left) else {
                return Err(format!("no answer:\n{}{answer}", self.told));
            };
            answer += &String::from_utf8_lossy(&some);
        }
        self.told += &answer;
        Ok(())
    }
}

impl Drop for Dialogue {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The bytes of a pipe, until it is closed.
fn read(mut pipe: ChildStdout) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut some = [0; 4096];
        while let Ok(len @ 1..) = pipe.read(&mut some) {
            if sender.send(some[..len].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}
