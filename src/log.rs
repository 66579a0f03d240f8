//! What the core has to say, collected while it works and handed to libpcp when no lock is held any more.
//!
//! When there is no memory for a message, it stays unsaid: the call itself goes on.

#![forbid(unsafe_code)]

use std::fmt::{self, Display, Write};

/// How bad it is; the names that `pmNotifyErr` prints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Critical: the agent cannot work.
    Crit,
    /// Error.
    Err,
    /// Warning.
    Warning,
    /// Info.
    Info,
    /// Debug.
    Debug,
}

/// One thing to say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// A line for the log, with time, program and severity (`pmNotifyErr`).
    Notify(Level, Vec<u8>),
    /// A line of debug output, which gets the head that it has in the release of PCP.
    Debug(Vec<u8>),
    /// Text for stderr as it is: debug output.
    Trace(Vec<u8>),
}

/// A piece of a message: names need not be UTF-8.
#[derive(Clone, Copy)]
pub enum Part<'t> {
    /// Bytes as they are.
    Raw(&'t [u8]),
    /// A value as it prints.
    Show(&'t dyn Display),
}

/// The pieces put together; `None` when there is no memory for that.
#[must_use]
pub fn line(parts: &[Part<'_>]) -> Option<Vec<u8>> {
    let mut text = Growing::default();
    text.add(parts);
    text.whole()
}

/// Text that grows while there is memory for it, and ends where that ran out.
#[derive(Default, Debug)]
pub struct Growing {
    bytes: Vec<u8>,
    cut: bool,
}

impl Growing {
    /// Adds bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.cut |= self.bytes.try_reserve(bytes.len()).is_err();
        if !self.cut {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Adds text.
    pub fn show(&mut self, text: fmt::Arguments<'_>) {
        // What did not fit is marked.
        let _ = self.write_fmt(text);
    }

    /// Adds the pieces of a message.
    pub fn add(&mut self, parts: &[Part<'_>]) {
        for part in parts {
            match part {
                Part::Raw(bytes) => self.push(bytes),
                Part::Show(value) => self.show(format_args!("{value}")),
            }
        }
    }

    /// The text, unless a part of it is missing.
    #[must_use]
    pub fn whole(self) -> Option<Vec<u8>> {
        (!self.cut).then_some(self.bytes)
    }

    /// As much of the text as there was memory for.
    #[must_use]
    pub fn so_far(self) -> Vec<u8> {
        self.bytes
    }
}

impl Write for Growing {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        if self.cut { Err(fmt::Error) } else { Ok(()) }
    }
}

/// Messages in the order in which they arose.
///
/// The core never calls C, and nothing may be locked while C is called (`docs/ARCHITECTURE.md`), so whoever
/// holds the lock passes a journal in and writes it out afterwards. An empty journal costs nothing.
#[derive(Default, Debug)]
pub struct Journal {
    messages: Vec<Message>,
}

impl Journal {
    /// An empty journal.
    #[must_use]
    pub const fn new() -> Journal {
        Journal { messages: Vec::new() }
    }

    /// Adds a line for the log. Text is bytes: names of instances need not be UTF-8.
    pub fn notify(&mut self, level: Level, text: impl Into<Vec<u8>>) {
        self.push(Message::Notify(level, text.into()));
    }

    /// Adds a line of debug output, without a newline.
    pub fn debug(&mut self, text: impl Into<Vec<u8>>) {
        self.push(Message::Debug(text.into()));
    }

    /// Adds debug output for stderr; `text` brings its own newline.
    pub fn trace(&mut self, text: impl Into<Vec<u8>>) {
        self.push(Message::Trace(text.into()));
    }

    /// Without memory the message is lost, not the process.
    fn push(&mut self, message: Message) {
        if self.messages.try_reserve(1).is_ok() {
            self.messages.push(message);
        }
    }

    /// Whether nothing was said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Takes the messages out, oldest first.
    pub fn drain(&mut self) -> impl Iterator<Item = Message> + '_ {
        self.messages.drain(..)
    }
}
