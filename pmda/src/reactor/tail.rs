//! Files that grow: logs.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pmda_core::dir_entry::DirEntry;

use super::{Reactor, Timer};
use crate::logger::reason;

/// The time between two looks at a file.
const INTERVAL: Duration = Duration::from_secs(1);

/// Maximum number of bytes that one call reads, so that pmcd does not wait for long.
const AT_ONCE: usize = 1 << 20;

/// Maximum length of a line in bytes: a longer line is returned in parts.
const LONGEST_LINE: usize = 1 << 16;

/// The lines that are added to a file. It wakes its agent each second, to look at the file.
///
/// What is in the file at first is skipped. The file need not exist yet. One that is renamed, as
/// logs are, is read to its end before the new one of its name; one that becomes shorter is read
/// from its beginning. A process of root follows no symbolic link that another user may have put on
/// the way.
pub struct Tail {
    path: PathBuf,
    open: Option<Open>,
    /// The start of a line whose end was not written yet.
    part: Vec<u8>,
    /// A failure was logged, and is not logged each time.
    has_failed: bool,
    timer: Timer,
}

struct Open {
    file: File,
    /// Device and inode.
    identity: (u64, u64),
    position: u64,
}

impl Tail {
    pub(crate) fn new(reactor: &Reactor, path: &Path) -> Tail {
        let mut tail = Tail {
            path: path.to_owned(),
            open: None,
            part: Vec::new(),
            has_failed: false,
            timer: reactor.timer(INTERVAL),
        };
        let skipped = tail.open_again().and_then(|()| tail.skip());
        tail.note(skipped);
        tail
    }

    /// Calls a function with each line that was added since the last call, without its end. What is
    /// not UTF-8 is replaced. This may be called at any time, such as before values are fetched;
    /// one call reads a megabyte at most, and the next one goes on.
    pub fn read_lines(&mut self, mut line: impl FnMut(&str)) {
        self.timer.passed();
        let outcome = self.read(&mut |bytes: &[u8]| line(&String::from_utf8_lossy(bytes)));
        self.note(outcome);
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

    fn skip(&mut self) -> io::Result<()> {
        if let Some(open) = &mut self.open {
            open.position = open.file.seek(SeekFrom::End(0))?;
        }
        Ok(())
    }

    fn open_again(&mut self) -> io::Result<()> {
        let file = match DirEntry::target_at(&self.path)?.read() {
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                return Err(io::Error::other("it is no regular file"));
            }
            opened => opened?,
        };
        let metadata = file.metadata()?;
        self.open = Some(Open {
            file,
            identity: (metadata.dev(), metadata.ino()),
            position: 0,
        });
        Ok(())
    }

    fn read(&mut self, line: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let mut left = AT_ONCE;
        loop {
            self.read_open(&mut left, line)?;
            if left == 0 {
                return Ok(());
            }
            let now = fs::metadata(&self.path)?;
            if self
                .open
                .as_ref()
                .is_some_and(|open| open.identity == (now.dev(), now.ino()))
            {
                return Ok(());
            }
            // The old file is read to its end.
            self.end_line(line);
            self.open_again()?;
        }
    }

    /// Reads the rest of the open file, at most `left` bytes, and subtracts the bytes that it has
    /// read from `left`.
    fn read_open(&mut self, left: &mut usize, line: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        if open.file.metadata()?.len() < open.position {
            open.position = open.file.seek(SeekFrom::Start(0))?;
            self.part.clear();
        }
        let mut buffer = [0; 8192];
        while *left > 0 {
            let wanted = buffer.len().min(*left);
            let Some(open) = &mut self.open else { return Ok(()) };
            let count = open.file.read(&mut buffer[..wanted])?;
            if count == 0 {
                return Ok(());
            }
            open.position += count as u64;
            *left -= count;
            self.split(&buffer[..count], line);
        }
        Ok(())
    }

    fn split(&mut self, bytes: &[u8], line: &mut dyn FnMut(&[u8])) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.part.extend_from_slice(piece);
            if self.part.ends_with(b"\n") {
                self.part.pop();
                line(&std::mem::take(&mut self.part));
            } else if self.part.len() >= LONGEST_LINE {
                self.end_line(line);
            }
        }
    }

    /// Passes on the start of a line whose end will not come.
    fn end_line(&mut self, line: &mut dyn FnMut(&[u8])) {
        if !self.part.is_empty() {
            line(&std::mem::take(&mut self.part));
        }
    }
}

impl fmt::Debug for Tail {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Tail of {}", self.path.display())
    }
}
