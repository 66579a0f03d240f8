//! Files that grow: logs.
//!
//! A file that is renamed stays open beside the new one of its name until it is read to its end, and
//! for a while longer, since its writer may go on with it. So nothing is lost if a file is renamed
//! while the agent is behind, or several are.

use std::collections::VecDeque;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead, ErrorKind, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pmda_core::dir_entry::DirEntry;
use pmda_core::log::Counted;

use super::{Reactor, Timer};
use crate::error::{Error, Result};
use crate::guard;
use crate::logger::reason;
use crate::reports::Losses;

/// The time between two looks at a file.
const INTERVAL: Duration = Duration::from_secs(1);

/// Bounds of one [`Tail::read_lines`], which may be called while pmcd waits.
const A_PART: Bounds = Bounds {
    bytes: 1 << 20,
    time: Duration::from_millis(100),
};

/// Bounds of one [`Tail::read_to_end`], which a request waits for: pmcd has five seconds.
const ALL: Bounds = Bounds {
    bytes: u64::MAX,
    time: Duration::from_secs(2),
};

/// Maximum length of a line in bytes: a longer line is returned in parts.
const LONGEST_LINE: usize = 1 << 16;

/// Read size in bytes.
const PIECE: usize = 1 << 16;

/// The time for which a file is kept open after it was renamed: its writer may still add lines.
const KEPT: Duration = Duration::from_secs(60);

/// Maximum number of open files with the name.
const FILES: usize = 16;

#[derive(Clone, Copy)]
struct Bounds {
    bytes: u64,
    time: Duration,
}

/// The lines that are added to a file. It wakes its agent each second, to look at the file, and at
/// once while there is more than one call reads.
///
/// What is in the file at first is skipped. The file need not exist yet. One that is renamed, as
/// logs are, is read to its end before the new one of its name, and for a minute more: its writer may
/// go on with it. One that becomes shorter is read from its beginning. Lines that are lost all the
/// same, as a file was cut before they were read, are counted ([`Tail::lost`]) and logged. A process
/// of root follows no symbolic link that another user may have put on the way.
pub struct Tail {
    path: PathBuf,
    /// The file of this name, behind those that had the name before it.
    files: VecDeque<Open>,
    /// The number of bytes that are known to be lost.
    lost: u64,
    losses: Losses,
    /// A failure was logged, and is not logged each time.
    has_failed: bool,
    timer: Timer,
}

struct Open {
    file: File,
    /// Device and inode.
    identity: (u64, u64),
    /// The number of bytes that were read.
    position: u64,
    /// Its length when it was last looked at.
    len: u64,
    /// Bytes that were read; from `start` on those that are not passed on yet.
    buffer: Vec<u8>,
    start: usize,
    /// The time when another file was found in its place.
    replaced: Option<Instant>,
}

/// What a function says about a line: nothing, an error, that no more lines are wanted now
/// (`ControlFlow::Break`), or both.
pub trait LineOutcome {
    #[doc(hidden)]
    fn outcome(self) -> Result<ControlFlow<()>>;
}

impl LineOutcome for () {
    fn outcome(self) -> Result<ControlFlow<()>> {
        Ok(ControlFlow::Continue(()))
    }
}

impl LineOutcome for ControlFlow<()> {
    fn outcome(self) -> Result<ControlFlow<()>> {
        Ok(self)
    }
}

impl<O: LineOutcome> LineOutcome for Result<O> {
    fn outcome(self) -> Result<ControlFlow<()>> {
        self.and_then(O::outcome)
    }
}

impl Tail {
    pub(crate) fn new(reactor: &Reactor, path: &Path) -> Tail {
        let mut tail = Tail {
            path: path.to_owned(),
            files: VecDeque::new(),
            lost: 0,
            losses: Losses::default(),
            has_failed: false,
            timer: reactor.timer(INTERVAL),
        };
        let skipped = tail.open().and_then(|mut open| {
            open.position = open.file.seek(SeekFrom::End(0))?;
            open.len = open.position;
            tail.files.push_back(open);
            Ok(())
        });
        tail.note(skipped);
        tail
    }

    /// Calls a function with lines that were added since the last call, without their ends. What is
    /// not UTF-8 is replaced. Returns whether there is more: one call reads a megabyte, or for a
    /// tenth of a second, so that pmcd does not wait. Then the agent is woken again at once, after a
    /// request that has come meanwhile. For [`Agent::woken`](crate::Agent::woken).
    ///
    /// The function returns nothing; or a `ControlFlow<()>`, whose `Break` leaves the lines behind
    /// this one for the next call, which is not due before a second has passed; or a `Result` of
    /// either. If it panics, that line alone is lost, and the log says so.
    ///
    /// ```
    /// # use pmda::prelude::*;
    /// # fn read(log: &mut Tail) -> Result<u64> {
    /// let mut sum = 0;
    /// log.read_lines(|line| {
    ///     sum += line.parse::<u64>()?;
    ///     Ok(())
    /// })?;
    /// # Ok(sum)
    /// # }
    /// ```
    ///
    /// # Errors
    /// The first one of the function, which ends the call; the lines behind that one are for the next
    /// call. A file that cannot be read is no error: it is logged once, and waited for.
    pub fn read_lines<O: LineOutcome>(&mut self, line: impl FnMut(&str) -> O) -> Result<bool> {
        self.read_within(A_PART, line)
    }

    /// As [`Tail::read_lines`], with all lines that are there now: for
    /// [`Agent::begin`](crate::Agent::begin) or a refresh, whose values then count each line that was
    /// written before the request. Returns whether there is more: it reads for two seconds at most.
    ///
    /// # Errors
    /// As [`Tail::read_lines`].
    pub fn read_to_end<O: LineOutcome>(&mut self, line: impl FnMut(&str) -> O) -> Result<bool> {
        self.read_within(ALL, line)
    }

    /// The number of bytes that are known to be lost so far: the file was cut before they were read,
    /// or more than 16 files had its name while the agent was behind.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    fn read_within<O: LineOutcome>(&mut self, bounds: Bounds, mut line: impl FnMut(&str) -> O) -> Result<bool> {
        self.timer.passed();
        let found = self.look();
        let end = self.read(bounds, &mut |bytes| {
            let mut outcome = || line(&String::from_utf8_lossy(bytes)).outcome();
            // Otherwise it is a thread of the agent's own, which nobody guards.
            if !guard::is_serving() {
                return outcome();
            }
            let panicked = |panic: guard::PartPanic| {
                panic.of("a line");
                Ok(ControlFlow::Continue(()))
            };
            guard::part(outcome).unwrap_or_else(panicked)
        });
        self.forget_old();
        let (outcome, failed) = match end {
            End::Bound => {
                self.timer.fire_soon();
                (Ok(true), Ok(()))
            }
            End::Stopped => (Ok(self.has_more()), Ok(())),
            End::Failed(error) => (Err(error), Ok(())),
            End::Read(outcome) => (Ok(false), outcome),
        };
        self.note(found.and(failed));
        outcome
    }

    /// Logs why the file cannot be read, once. A file that is missing is waited for.
    fn note(&mut self, outcome: io::Result<()>) {
        match outcome {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                if !std::mem::replace(&mut self.has_failed, true) {
                    log::warn!("cannot read {}: {}", self.path.display(), reason(&error));
                }
            }
            _ => self.has_failed = false,
        }
    }

    /// Counts bytes that are lost; the log has a line about them, at most one a minute.
    fn lose(&mut self, bytes: u64, why: &str) {
        self.lost = self.lost.saturating_add(bytes);
        if bytes == 0 {
            return;
        }
        if let Some(bytes) = self.losses.count(bytes, Instant::now()) {
            let path = self.path.display();
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            log::warn!("{path}: {} lost: {why}", Counted(bytes, "byte is", "bytes are"));
        }
    }

    fn open(&self) -> io::Result<Open> {
        let file = match DirEntry::target_at(&self.path)?.read() {
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                return Err(io::Error::other("it is no regular file"));
            }
            opened => opened?,
        };
        let metadata = file.metadata()?;
        Ok(Open {
            file,
            identity: (metadata.dev(), metadata.ino()),
            position: 0,
            len: metadata.len(),
            buffer: Vec::new(),
            start: 0,
            replaced: None,
        })
    }

    /// Looks at the open files, and opens a new one in the place of the last.
    fn look(&mut self) -> io::Result<()> {
        let mut cut = 0;
        for open in &mut self.files {
            let len = open.file.metadata()?.len();
            if len < open.position {
                cut += open.len.saturating_sub(open.position);
                open.position = open.file.seek(SeekFrom::Start(0))?;
                open.end_line();
            }
            open.len = len;
        }
        self.lose(cut, "the file was cut before they were read");
        let now = fs::metadata(&self.path)?;
        let is_open = |open: &Open| open.identity == (now.dev(), now.ino());
        if self.files.back().is_some_and(is_open) {
            return Ok(());
        }
        let new = self.open()?;
        if let Some(last) = self.files.back_mut() {
            last.replaced = Some(Instant::now());
        }
        self.files.push_back(new);
        Ok(())
    }

    /// Closes files that were replaced long ago, and the oldest one if they are too many.
    fn forget_old(&mut self) {
        loop {
            let is_many = self.files.len() > FILES;
            let is_done = |open: &Open| {
                let is_old = open.replaced.is_some_and(|time| time.elapsed() >= KEPT);
                is_old && open.is_read()
            };
            if !(is_many || self.files.front().is_some_and(is_done)) {
                return;
            }
            let Some(old) = self.files.pop_front() else { return };
            let rest = (old.buffer.len() - old.start) as u64;
            let unread = old.len.saturating_sub(old.position);
            self.lose(rest + unread, "files came in its place faster than they were read");
        }
    }

    fn has_more(&self) -> bool {
        self.files.iter().any(|open| !open.is_read())
    }

    /// Passes on lines, those of the oldest file first.
    fn read(&mut self, bounds: Bounds, line: &mut dyn FnMut(&[u8]) -> Result<ControlFlow<()>>) -> End {
        let (start, mut left) = (Instant::now(), bounds.bytes);
        for open in &mut self.files {
            loop {
                while let Some(range) = open.next_line() {
                    let outcome = line(&open.buffer[range]);
                    match outcome {
                        Ok(ControlFlow::Continue(())) => {}
                        Ok(ControlFlow::Break(())) => return End::Stopped,
                        Err(error) => return End::Failed(error),
                    }
                    if start.elapsed() >= bounds.time {
                        return End::Bound;
                    }
                }
                if left == 0 && (open.replaced.is_some() || !open.is_at_end()) {
                    return End::Bound;
                }
                match open.fill(left) {
                    // The new file's lines come after the last line of this one.
                    Ok(0) if open.replaced.is_some() && open.start < open.buffer.len() => open.end_line(),
                    Ok(0) => break,
                    Ok(count) => left = left.saturating_sub(count),
                    Err(error) => return End::Read(Err(error)),
                }
            }
        }
        End::Read(Ok(()))
    }
}

/// The end of a reading.
enum End {
    /// All is read that was there, unless a file could not be read.
    Read(io::Result<()>),
    /// There is more, for the next call, which is due at once.
    Bound,
    /// The function wants no more lines now.
    Stopped,
    /// The function has failed.
    Failed(Error),
}

impl Open {
    /// The place in the buffer of the next line, which counts as passed on: if the agent panics, it
    /// does not get the line again. `None` if its end is not read yet.
    fn next_line(&mut self) -> Option<std::ops::Range<usize>> {
        let start = self.start;
        let rest = self.buffer.get(start..)?;
        let longest = rest.get(..LONGEST_LINE).unwrap_or(rest);
        // A slice is read without errors.
        let count = { longest }.skip_until(b'\n').unwrap_or(0);
        let has_end = longest.get(..count).is_some_and(|line| line.ends_with(b"\n"));
        if !has_end && count < LONGEST_LINE {
            return None;
        }
        self.start = start + count;
        Some(start..self.start - usize::from(has_end))
    }

    /// Reads a piece, at most `limit` bytes, up to the length that the file had at the last look: a
    /// file that grows faster than it is read has no end. Returns the number of bytes.
    fn fill(&mut self, limit: u64) -> io::Result<u64> {
        self.buffer.drain(..self.start);
        self.start = 0;
        let unread = self.len.saturating_sub(self.position);
        // One that was replaced does not grow for ever, and is read to its end.
        let wanted = if self.replaced.is_some() {
            limit
        } else {
            unread.min(limit)
        };
        let wanted = wanted.min(PIECE as u64);
        let count = (&self.file).take(wanted).read_to_end(&mut self.buffer)? as u64;
        self.position += count;
        Ok(count)
    }

    /// Ends a line whose end will not come.
    fn end_line(&mut self) {
        if self
            .buffer
            .get(self.start..)
            .is_some_and(|rest| !rest.is_empty() && !rest.ends_with(b"\n"))
        {
            self.buffer.push(b'\n');
        }
    }

    /// Returns whether all was read that was there at the last look.
    fn is_at_end(&self) -> bool {
        self.position >= self.len
    }

    /// Returns whether all lines were passed on that were there at the last look.
    fn is_read(&self) -> bool {
        self.is_at_end() && !self.buffer[self.start..].contains(&b'\n')
    }
}

impl fmt::Debug for Tail {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Tail of {}", self.path.display())
    }
}
