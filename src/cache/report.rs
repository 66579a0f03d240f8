//! What a cache has to say. When there is no memory for it, it stays unsaid: the call itself goes on.

#![forbid(unsafe_code)]

use std::fmt::{self, Display, Write};

use super::room;
use crate::log::{Journal, Level};

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
        if let Some(text) = line(parts) {
            self.journal.notify(level, text);
        }
    }

    /// Debug output, if it is wanted.
    pub(super) fn trace(&mut self, parts: &[Part<'_>]) {
        if !self.debug {
            return;
        }
        if let Some(text) = line(parts) {
            self.journal.trace(text);
        }
    }
}

/// A piece of a message: names need not be UTF-8.
#[derive(Clone, Copy)]
pub(super) enum Part<'t> {
    Raw(&'t [u8]),
    Show(&'t dyn Display),
}

/// The pieces put together.
fn line(parts: &[Part<'_>]) -> Option<Vec<u8>> {
    let mut text = Growing::default();
    for part in parts {
        match part {
            Part::Raw(bytes) => text.push(bytes),
            Part::Show(value) => text.show(format_args!("{value}")),
        }
    }
    text.whole()
}

/// Text that grows while there is memory for it, and ends where that ran out.
#[derive(Default, Debug)]
pub(super) struct Growing {
    bytes: Vec<u8>,
    cut: bool,
}

impl Growing {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.cut |= room(&mut self.bytes, bytes.len()).is_err();
        if !self.cut {
            self.bytes.extend_from_slice(bytes);
        }
    }

    pub(super) fn show(&mut self, text: fmt::Arguments<'_>) {
        // What did not fit is marked.
        let _ = self.write_fmt(text);
    }

    /// The text, unless a part of it is missing.
    pub(super) fn whole(self) -> Option<Vec<u8>> {
        (!self.cut).then_some(self.bytes)
    }

    /// As much of the text as there was memory for.
    pub(super) fn so_far(self) -> Vec<u8> {
        self.bytes
    }
}

impl Write for Growing {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        if self.cut { Err(fmt::Error) } else { Ok(()) }
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
