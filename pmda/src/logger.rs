//! The log in PCP's form: a header, lines with time, program and severity, a footer.
//!
//! Messages that the agent and other crates log with the crate `log` become such lines on stderr.
//! In a daemon stderr leads to the log file; a shared object has the stderr of its host.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fmt, fs, io, process};

use log::{Level, LevelFilter, Log, Metadata, Record};
use nix::unistd::{dup2_stderr, geteuid};
use pmda_core::dir_entry::DirEntry;
use pmda_core::log::{Line, cut};
use tz::{DateTime, TimeZone};

use crate::error::Error;

pub(crate) mod capture;

/// Writes messages to stderr.
struct Logger {
    program: String,
    zone: TimeZone,
}

static LOGGER: OnceLock<Logger> = OnceLock::new();

/// Installs the logger, under this name of the program, unless the agent has one of its own.
pub(crate) fn start(program: &str, level: LevelFilter) {
    let logger = LOGGER.get_or_init(|| Logger {
        program: program.to_owned(),
        zone: zone(),
    });
    if log::set_logger(logger).is_ok() {
        log::set_max_level(level);
    }
}

/// Makes stderr lead to `file`, and writes the header. If the file cannot be made, stderr stays as
/// it is.
pub(crate) fn open(program: &str, file: &Path) {
    if file == Path::new("-") {
        return;
    }
    match create(file) {
        Ok(log) => {
            if dup2_stderr(&log).is_ok() {
                let host = nix::unistd::gethostname().unwrap_or_default();
                let host = host.to_string_lossy();
                write(format_args!(
                    "Log for {program} on {host} started {}\n\n",
                    now(&zone(), true)
                ));
            }
        }
        Err(error) => write(format_args!(
            "{program}: cannot open log \"{}\" for writing : {}\n",
            file.display(),
            reason(&error)
        )),
    }
}

/// Makes a new log. An old one is removed first: so no link is followed to another user's file, and
/// a program that still writes to the old log keeps it. Devices are not removed.
fn create(file: &Path) -> io::Result<File> {
    if file.parent() == Some(Path::new("/dev")) {
        return File::options().write(true).open(file);
    }
    let entry = DirEntry::at(file)?;
    match entry.replace(0o666) {
        // Users other than root may have a file of their own in a directory that they cannot write
        // to.
        Err(error) if error.kind() == ErrorKind::PermissionDenied && !geteuid().is_root() => {
            DirEntry::target_at(file)?.overwrite(0o666)
        }
        created => created,
    }
}

/// Writes the footer, once: SIGTERM may come while the agent ends.
pub(crate) fn close() {
    static IS_CLOSED: AtomicBool = AtomicBool::new(false);
    if IS_CLOSED.swap(true, Ordering::Relaxed) {
        return;
    }
    let zone = LOGGER.get().map_or_else(TimeZone::utc, |logger| logger.zone.clone());
    write(format_args!("\nLog finished {}\n", now(&zone, true)));
}

impl Log for Logger {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let severity = match record.level() {
            Level::Error => "Error",
            Level::Warn => "Warning",
            Level::Info => "Info",
            Level::Debug | Level::Trace => "Debug",
        };
        let (date, program, process) = (now(&self.zone, false), &self.program, process::id());
        if capture::keep(severity, record.args()) {
            // The test runner shows it if the test fails.
            eprintln!("[{date}] {program}({process}) {severity}: {}", record.args());
        } else {
            write(format_args!(
                "[{date}] {program}({process}) {severity}: {}\n",
                record.args()
            ));
        }
    }

    fn flush(&self) {}
}

/// An error in words: its text, and its code as PCP's tools print it.
pub(crate) fn describe(error: &Error) -> String {
    let code = match error.code().number() {
        errno @ -999..0 => nix::errno::Errno::from_raw(-errno).desc().to_owned(),
        _ => error.code().to_string(),
    };
    match error.said() {
        Some(text) => format!("{text}: {code}"),
        None => code,
    }
}

/// A name for a line of the log: quoted, and its beginning only, as a user may have chosen
/// it.
pub(crate) fn excerpt(name: &str) -> String {
    const LONGEST: usize = 64;
    let (kept, missing) = cut(name, LONGEST);
    format!("{kept:?}{missing}")
}

/// The reason why a system call has failed, without the number that Rust adds.
pub(crate) fn reason(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(errno) => nix::errno::Errno::from_raw(errno).desc().to_owned(),
        None => error.to_string(),
    }
}

/// Writes a line by one call, so that lines of several threads and processes do not mix. A line of
/// more than [`LINE_MAX`](pmda_core::log::LINE_MAX) bytes is cut. An error has no place where it
/// could be reported.
pub(crate) fn write(text: fmt::Arguments<'_>) {
    let _ = io::stderr().write_all(limited(text).bytes());
}

/// Prints the answer to a command line. Returns false if that fails, as on a full disk, and says why on
/// stderr.
pub(crate) fn print(text: &str) -> bool {
    let printed = io::stdout()
        .write_all(text.as_bytes())
        .and_then(|()| io::stdout().flush());
    match printed {
        Ok(()) => true,
        Err(error) => {
            write(format_args!("cannot write to stdout: {}\n", reason(&error)));
            false
        }
    }
}

fn limited(text: fmt::Arguments<'_>) -> Line {
    let mut line = Line::new(text);
    line.limit();
    line
}

/// The zone of `TZ`, else that of the machine.
fn zone() -> TimeZone {
    let zone = match std::env::var("TZ") {
        Ok(name) if !name.is_empty() => TimeZone::from_posix_tz(&name),
        Ok(_) => return TimeZone::utc(),
        Err(_) if fs::exists("/etc/localtime").unwrap_or(false) => TimeZone::local(),
        Err(_) => return TimeZone::utc(),
    };
    zone.unwrap_or_else(|_| TimeZone::utc())
}

/// The time as `ctime` writes it, with or without the year.
fn now(zone: &TimeZone, with_year: bool) -> String {
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    date(i64::try_from(seconds).unwrap_or(0), zone, with_year)
}

fn date(seconds: i64, zone: &TimeZone, with_year: bool) -> String {
    const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let Ok(time) = DateTime::from_timespec(seconds, 0, zone.as_ref()) else {
        return seconds.to_string();
    };
    let day = DAYS[usize::from(time.week_day()) % DAYS.len()];
    let month = MONTHS[usize::from(time.month().saturating_sub(1)) % MONTHS.len()];
    let (hour, minute, second) = (time.hour(), time.minute(), time.second());
    let year = if with_year {
        format!(" {}", time.year())
    } else {
        String::new()
    };
    format!(
        "{day} {month} {:2} {hour:02}:{minute:02}:{second:02}{year}",
        time.month_day()
    )
}

#[cfg(test)]
mod tests {
    use pmda_core::log::LINE_MAX;

    use super::*;

    /// An agent's own text is bounded, too (DEF-19).
    #[test]
    fn lines_are_cut() {
        let text = "é".repeat(1 << 20);
        let line = limited(format_args!("[now] agent: {text}\n"));
        assert!(line.bytes().len() < LINE_MAX + 40);
        let line = String::from_utf8(line.bytes().to_vec()).expect("no character is cut in two");
        assert!(
            line.ends_with("é... (2086926 bytes more)\n"),
            "{}",
            &line[LINE_MAX - 20..]
        );
    }

    #[test]
    fn dates_are_those_of_ctime() {
        let utc = TimeZone::utc();
        assert_eq!(date(0, &utc, true), "Thu Jan  1 00:00:00 1970");
        assert_eq!(date(1_795_385_352, &utc, false), "Sun Nov 22 22:09:12");
        let vienna = TimeZone::from_posix_tz("CET-1CEST,M3.5.0,M10.5.0/3").expect("a zone");
        assert_eq!(date(1_782_000_000, &vienna, true), "Sun Jun 21 02:00:00 2026");
    }
}
