//! Asks which libpcp_pmda processes have loaded, in a process of its own.
//!
//! What is read of another user's process, or of a file on a file system that another user serves
//! (FUSE), may never come, and the kernel may not let the reader end either. So another process
//! reads: for one question it gets some seconds; then it is given up, without waiting for its end,
//! and a new one takes the next question. All questions together get half a minute. Root's
//! processes are asked about first, then those of system users, so that nobody else takes their
//! time.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use pmda_core::log::Counted;

use crate::loaded::{self, Libraries};
use crate::value::plain;

/// The first argument of the process that reads.
pub const READER: &str = "--loaded-reader";

/// The time that one question, and all of them, may take.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For one question.
    pub one: Duration,
    /// For all questions.
    pub all: Duration,
}

/// The times that a user waits for.
pub const PATIENCE: Patience = Patience {
    one: Duration::from_secs(3),
    all: Duration::from_secs(30),
};

/// Lines that are shown at most.
const LINES: usize = 1000;

/// Answers the questions in `input`, one a line, each with lines and an empty one. `library` and
/// `prefix` are those of [`Libraries::new`].
///
/// # Errors
/// What the operating system says; the process that asks has ended.
pub fn answer(library: &Path, prefix: &str, input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut libraries = Libraries::new(library, prefix);
    for subject in input.lines() {
        output.write_all((libraries.lines(&subject?) + "\n").as_bytes())?;
        output.flush()?;
    }
    Ok(())
}

/// All processes, by their users' numbers, which are low for system users, and their own.
#[must_use]
pub fn all_processes() -> Vec<String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let process = |entry: fs::DirEntry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        Some((entry.metadata().ok()?.uid(), pid))
    };
    let mut processes: Vec<(u32, i32)> = entries.filter_map(process).collect();
    processes.sort_unstable();
    processes.into_iter().map(|(_, pid)| pid.to_string()).collect()
}

/// The answers to questions about processes and files.
#[derive(Default, Debug)]
pub struct Answers {
    /// The lines.
    pub lines: Vec<String>,
    /// The answers that are missing, each with its reason.
    pub missing: Vec<String>,
}

/// Asks about each of `subjects`; `reader` is the command that answers.
///
/// # Errors
/// What the operating system says when the reader is started.
pub fn ask(subjects: &[String], reader: &dyn Fn() -> Command, patience: Patience) -> io::Result<Answers> {
    let begin = Instant::now();
    let mut answers = Answers::default();
    let mut more = 0;
    let mut asked: Option<Reader> = None;
    for (number, subject) in subjects.iter().enumerate() {
        if begin.elapsed() >= patience.all {
            let left = Counted(subjects.len() - number, "process was", "processes were");
            let limit = patience.all.as_secs();
            answers
                .missing
                .push(format!("{left} not looked into: the others took {limit} s"));
            break;
        }
        let mut reader = match asked.take() {
            Some(reader) => reader,
            None => Reader::start(reader())?,
        };
        match reader.ask(subject, patience.one) {
            Some(lines) => {
                let room = LINES.saturating_sub(answers.lines.len());
                more += lines.len().saturating_sub(room);
                answers.lines.extend(lines.into_iter().take(room));
                asked = Some(reader);
            }
            None => {
                let missing = format!("{} cannot be looked into: no answer", named(subject));
                answers.missing.push(missing);
                // Of a service it is not known, then, what it has loaded.
                let is_service = subject.parse().is_ok_and(loaded::is_service);
                let line = || format!("{subject}\tunknown: no answer\t\t\t\tservice");
                answers.lines.extend(is_service.then(line));
            }
        }
    }
    if more > 0 {
        let more = Counted(more, "more library is", "more libraries are");
        answers.missing.push(format!("{more} not shown"));
    }
    Ok(answers)
}

fn named(subject: &str) -> String {
    let is_process = subject.parse::<i32>().is_ok();
    format!("{}{}", if is_process { "process " } else { "" }, plain(subject))
}

/// A process that reads.
struct Reader {
    child: Child,
    questions: ChildStdin,
    lines: Receiver<String>,
}

impl Reader {
    fn start(mut command: Command) -> io::Result<Reader> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (questions, answers) = pipes.ok_or(io::ErrorKind::BrokenPipe)?;
        let (sender, lines) = mpsc::channel();
        // Whoever waits gives up before this thread does.
        thread::Builder::new().spawn(move || {
            for line in BufReader::new(answers).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        })?;
        Ok(Reader {
            child,
            questions,
            lines,
        })
    }

    /// The lines of an answer; `None` if it does not come.
    fn ask(&mut self, subject: &str, patience: Duration) -> Option<Vec<String>> {
        self.questions.write_all(format!("{subject}\n").as_bytes()).ok()?;
        let begin = Instant::now();
        let mut lines = Vec::new();
        loop {
            match self.lines.recv_timeout(patience.saturating_sub(begin.elapsed())) {
                Ok(line) if line.is_empty() => return Some(lines),
                Ok(line) => lines.push(line),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            }
        }
    }
}

/// Its end is not waited for: the kernel may not let it.
impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &'static str) -> impl Fn() -> Command {
        move || {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        }
    }

    fn subjects(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// A question that is never answered costs only its own answer.
    #[test]
    fn a_question_without_an_answer() {
        let reader =
            shell("while read -r subject; do [ $subject != 2 ] || exec sleep 60; echo about $subject; echo; done");
        let patience = Patience {
            one: Duration::from_secs(5),
            all: Duration::from_secs(60),
        };
        let answers = ask(&subjects(&["1", "2", "3"]), &reader, patience).expect("sh starts");
        assert_eq!(answers.lines, ["about 1", "about 3"]);
        assert_eq!(answers.missing, ["process 2 cannot be looked into: no answer"]);
    }

    /// Neither all processes of a user, nor one that says too much, take more than their share.
    #[test]
    fn limits_of_all_questions() {
        let silent = Patience {
            one: Duration::from_millis(50),
            all: Duration::from_millis(120),
        };
        let names: Vec<String> = (1..=1000).map(|number| number.to_string()).collect();
        let answers = ask(&names, &shell("exec sleep 60"), silent).expect("sh starts");
        assert!(answers.lines.is_empty());
        let (last, others) = answers.missing.split_last().expect("several");
        assert!((1..10).contains(&others.len()), "{others:?}");
        assert!(
            last.starts_with(&format!("{} processes were not", 1000 - others.len())),
            "{last}"
        );

        let talks = shell("read -r subject; yes | head -n 1200; echo; exec sleep 60");
        let answers = ask(&subjects(&["1"]), &talks, PATIENCE).expect("sh starts");
        assert_eq!(answers.lines.len(), LINES);
        assert_eq!(answers.missing, ["200 more libraries are not shown"]);
    }
}
