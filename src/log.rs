//! What the core has to say, collected while it works and handed to libpcp when no lock is held any more.

#![forbid(unsafe_code)]

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
