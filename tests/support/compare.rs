//! Compares what two runs left behind, apart from times, process ids and directories.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::run::Outcome;

/// The picture of a run: its end, its output, and its files with their contents.
pub fn picture(outcome: &Outcome, directory: &Path) -> String {
    let mut text = format!("end: {}\n", outcome.end);
    for (name, bytes) in [("stdout", &outcome.stdout), ("stderr", &outcome.stderr)] {
        text += &format!("--- {name}\n{}", readable(&steady(bytes, directory)));
    }
    for (name, bytes) in files(directory) {
        text += &format!("--- file {name}\n{}", readable(&steady(&bytes, directory)));
    }
    text
}

/// The end of a picture's run: with a status, by a signal, or at the time limit.
#[must_use]
pub fn end(picture: &str) -> String {
    let line = picture.lines().next().unwrap_or_default();
    let end = line.strip_prefix("end: ").unwrap_or("how it ended is not said");
    let name = end.strip_prefix("signal ").map(|number| match number {
        "4" => "SIGILL",
        "6" => "SIGABRT",
        "7" => "SIGBUS",
        "8" => "SIGFPE",
        "9" => "SIGKILL",
        "11" => "SIGSEGV",
        "13" => "SIGPIPE",
        "14" => "SIGALRM",
        "15" => "SIGTERM",
        _ => "another",
    });
    match name {
        Some(name) => format!("{end} ({name})"),
        None if end.starts_with("killed after ") => format!("{end}, the time limit"),
        None => end.to_owned(),
    }
}

/// Replaces what differs from run to run: log times, process ids, addresses, the private directory,
/// time stamps of cache files.
fn steady(bytes: &[u8], directory: &Path) -> Vec<u8> {
    static TIME: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(\.\d+)?\]"));
    static STARTED: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?m)^(Log for [^ \n]+ on [^ \n]+ (?:started|finished)) [A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4}",
        )
    });
    static PID: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"\] ([^ \n]+?)\(\d+\) (Critical|Error|Warning|Info|Debug):"));
    // libpcp writes it when a handshake of the C library fails; ours does not (COMPATIBILITY.md).
    static RECENT_PDUS: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?m)^__pmDumpPDUTrace: recent PDUs \.\.\.\n(\[\d+\] [^\n]*\n)*"));
    static TRACE: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^\[\d+\](pm|__pm)"));
    static SENDER: LazyLock<Regex> = LazyLock::new(|| pattern(r"(pmXmitPDU: CREDS [^\n]*\n000: +14 +700c) +[0-9a-f]+"));
    // With 32 bits they are as long as identifiers, but higher; below qemu programs start at
    // 0x400000, and their heap is behind them.
    static ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(if cfg!(target_pointer_width = "32") {
            r"0x([5-9a-f][0-9a-f]{7}|[45][0-9a-f]{5})\b"
        } else {
            r"0x[0-9a-f]{9,16}\b"
        })
    });
    static STAMP: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^(-?\d+) 1[6-9]\d{8} "));
    let bytes = TIME.replace_all(bytes, &b"[TIME]"[..]);
    let bytes = STARTED.replace_all(&bytes, &b"$1 TIME"[..]);
    let bytes = PID.replace_all(&bytes, &b"] $1(PID) $2:"[..]);
    let bytes = RECENT_PDUS.replace_all(&bytes, &b""[..]);
    let bytes = TRACE.replace_all(&bytes, &b"[PID]$1"[..]);
    let bytes = SENDER.replace_all(&bytes, &b"$1 PID"[..]);
    let bytes = ADDRESS.replace_all(&bytes, &b"ADDRESS"[..]);
    let bytes = STAMP.replace_all(&bytes, &b"$1 STAMP "[..]);
    let name = directory.display().to_string();
    let private = pattern(&regex::escape(&name));
    private.replace_all(&bytes, &b"DIR"[..]).into_owned()
}

fn pattern(text: &str) -> Regex {
    regex::bytes::RegexBuilder::new(text)
        .unicode(false)
        .build()
        .expect("a valid pattern")
}

/// Escapes what a terminal cannot show, line by line, so that a difference can be read.
fn readable(bytes: &[u8]) -> String {
    let mut text = String::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let (line, end) = line
            .strip_suffix(b"\n")
            .map_or((line, "<no newline>\n"), |line| (line, "\n"));
        text += &line
            .escape_ascii()
            .to_string()
            .replace("\\\"", "\"")
            .replace("\\'", "'");
        text += end;
    }
    text
}

/// The regular files below `directory`, by name, with mode and content.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).expect("a directory of the test").flatten() {
            let path = entry.path();
            let kind = entry.file_type().expect("a file of the test");
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_file() {
                let name = path.strip_prefix(directory).expect("below").display().to_string();
                let mode = std::os::unix::fs::PermissionsExt::mode(&entry.metadata().expect("metadata").permissions());
                let bytes = fs::read(&path).unwrap_or_else(|error| error.to_string().into_bytes());
                found.insert(format!("{name} mode {:o}", mode & 0o7777), bytes);
            }
        }
    }
    found
}

/// The first lines in which two pictures differ, with what stands around them; `None` when they are
/// equal.
pub fn difference(left: (&str, &str), right: (&str, &str)) -> Option<String> {
    if left.1 == right.1 {
        return None;
    }
    let (a, b): (Vec<_>, Vec<_>) = (left.1.lines().collect(), right.1.lines().collect());
    let first = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let part = |lines: &[&str]| {
        lines
            .iter()
            .skip(first.saturating_sub(5))
            .take(14)
            .map(|line| format!("    {line}\n"))
            .collect::<String>()
    };
    Some(format!(
        "first difference in line {}:\n  {}:\n{}  {}:\n{}",
        first + 1,
        left.0,
        part(&a),
        right.0,
        part(&b)
    ))
}

#[cfg(test)]
mod tests {
    use super::end;

    #[test]
    fn ends_of_runs() {
        assert_eq!(end("end: exit 3\n--- stdout\n"), "exit 3");
        assert_eq!(end("end: signal 11\n"), "signal 11 (SIGSEGV)");
        assert_eq!(end("end: killed after 60 s\n"), "killed after 60 s, the time limit");
    }
}
