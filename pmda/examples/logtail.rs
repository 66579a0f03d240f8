//! The lines of a log as events: each client sees those that come after its first fetch, or those
//! of them that hold the text of its filter (`pmevent -x TEXT logtail.line`).

#![forbid(unsafe_code)]
use pmda::prelude::*;
use std::process::ExitCode;

struct LogTail {
    log: Tail,
    lines: Queue<String>,
    bytes: u64,
}

impl LogTail {
    /// Takes a line into account.
    fn add(lines: &mut Queue<String>, bytes: &mut u64, line: &str) {
        *bytes += line.len() as u64 + 1;
        lines.push(line.to_owned());
    }
}

impl Agent for LogTail {
    const NAME: &'static str = "logtail";
    const DOMAIN: u32 = 409;
    const OPTIONS: &'static [Opt] = &[Opt::new("file")
        .short('f')
        .argument("FILE")
        .help("the log, instead of /var/log/messages")];
    fn start(env: &Env) -> Result<LogTail> {
        Ok(LogTail {
            log: env.tail(env.option("file").unwrap_or("/var/log/messages")),
            lines: Queue::new(1000),
            bytes: 0,
        })
    }
    fn metrics(m: &mut Metrics<LogTail>) {
        let text = m.parameter::<str>("text", |def| {
            def.help("A line of the log");
        });
        m.events(
            "line",
            |s| &mut s.lines,
            move |line, record| {
                record.add(text, line);
            },
        )
        .help(
            "Lines since the last fetch of the same client\nA client that stores a text sees only lines that hold it.",
        )
        .writable_by(|_| true)
        .store(|s, text: String, client| match &*text {
            "" => {
                s.lines.clear_filter(client.id());
                Ok(())
            }
            _ => s.lines.set_filter(client.id(), move |line| line.contains(&text)),
        });
        m.value("bytes", |s| s.bytes)
            .counter()
            .unit(BYTE)
            .help("Bytes that were added to the log");
    }
    fn begin(&mut self, _: &Request<'_>) -> Result<()> {
        let add = |line: &str| LogTail::add(&mut self.lines, &mut self.bytes, line);
        self.log.read_to_end(add)?;
        Ok(())
    }
    fn woken(&mut self) -> Result<()> {
        let add = |line: &str| LogTail::add(&mut self.lines, &mut self.bytes, line);
        self.log.read_lines(add)?;
        Ok(())
    }
}

fn main() -> ExitCode {
    pmda::run::<LogTail>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pmda::testing::Harness;
    use std::fs::OpenOptions;
    use std::io::Write;
    use std::path::Path;
    use std::time::Duration;

    fn add(log: &Path, text: &str) {
        let log = OpenOptions::new().append(true).create(true).open(log);
        log.and_then(|mut log| log.write_all(text.as_bytes()))
            .expect("a folder of our own");
    }

    fn lines_of(pmcd: &mut Harness<LogTail>) -> Result<Vec<String>> {
        let fetched = pmcd.fetch("logtail.line")?;
        let text = |record: &pmda::testing::EventRecord| record.parameter("logtail.text");
        Ok(fetched.events().iter().filter_map(text).collect())
    }

    #[test]
    fn each_client_has_its_filter() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let log = folder.path().join("log");
        let mut pmcd = Harness::<LogTail>::builder()
            .option("file", log.display().to_string())
            .start()?;
        lines_of(&mut pmcd)?;
        lines_of(pmcd.as_client(1))?;
        pmcd.store("logtail.line", "error")?;
        add(&log, "good\nan error\n");
        assert_eq!(lines_of(&mut pmcd)?, ["an error"]);
        assert_eq!(lines_of(pmcd.as_client(0))?, ["good", "an error"]);
        std::fs::rename(&log, folder.path().join("log.1"))?;
        add(&log, "another error\nmore\n");
        assert_eq!(lines_of(&mut pmcd)?, ["another error", "more"]);
        assert_eq!(lines_of(pmcd.as_client(1))?, ["another error"]);
        assert_eq!(pmcd.fetch("logtail.bytes")?.value(), Some(33_u64));
        Ok(())
    }

    /// New lines are read soon, whether a client asks or not.
    #[test]
    fn read_by_itself() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let log = folder.path().join("log");
        let mut pmcd = Harness::<LogTail>::builder()
            .option("file", log.display().to_string())
            .start()?;
        add(&log, "one\n");
        assert!(!pmcd.wait(Duration::ZERO));
        pmcd.advance(Duration::from_secs(1));
        assert!(pmcd.wait(Duration::ZERO));
        assert_eq!(pmcd.agent().bytes, 4);
        Ok(())
    }
}
