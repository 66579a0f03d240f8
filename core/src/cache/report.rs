//! What a cache has to say. When there is no memory for it, it stays unsaid: the call itself goes
//! on.

use std::fmt::{self, Display};

use crate::log::{self, Bytes, Journal, Level};
pub(super) use crate::log::{Part, TextBuffer};

/// Where messages go, and whether debugging is on (`-Dindom`).
#[derive(Default, Debug)]
pub struct Report {
    /// What there is to say.
    pub journal: Journal,
    /// Whether debug output is wanted.
    pub debug: bool,
}

impl Report {
    /// A line for the log.
    pub(super) fn notify(&mut self, level: Level, parts: &[Part<'_>]) {
        if let Some(text) = log::line(parts) {
            self.journal.notify(level, Bytes(&text));
        }
    }

    /// Debug output, if it is wanted.
    pub(super) fn trace(&mut self, parts: &[Part<'_>]) {
        if !self.debug {
            return;
        }
        if let Some(text) = log::line(parts) {
            self.journal.trace(Bytes(&text));
        }
    }
}

/// `[key=0x...]` or `[no key]`, as messages show a key.
pub(super) struct Key<'k>(pub(super) &'k [u8]);

impl Display for Key<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return out.write_str("[no key]");
        }
        out.write_str("[key=0x")?;
        for byte in self.0 {
            write!(out, "{byte:02x}")?;
        }
        out.write_str("]")
    }
}

/// A name as a message prints it.
pub(super) fn named(name: Option<&[u8]>) -> Part<'_> {
    Part::Raw(name.unwrap_or(b"(null)"))
}
