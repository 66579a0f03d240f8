//! Requests as pmcd sends them.

use pmda_core::wire::{HEADER, Kind, PADDING};

/// A request while it is written; its memory is used again.
#[derive(Default)]
pub(super) struct RequestBuilder {
    bytes: Vec<u8>,
    context: i32,
}

impl RequestBuilder {
    /// Starts a request of this client.
    pub(super) fn begin(&mut self, context: i32) {
        self.bytes.clear();
        self.bytes.resize(HEADER, 0);
        self.context = context;
    }

    /// Says which kind it is, and of which client if it is not the one of the extension.
    pub(super) fn kind(&mut self, kind: Kind) -> &mut RequestBuilder {
        self.bytes[4..8].copy_from_slice(&kind.0.to_be_bytes());
        self
    }

    /// Another client than that of the extension.
    pub(super) fn of_client(&mut self, context: i32) -> &mut RequestBuilder {
        self.context = context;
        self
    }

    /// Appends a number.
    pub(super) fn word(&mut self, word: u32) -> &mut RequestBuilder {
        self.bytes.extend_from_slice(&word.to_be_bytes());
        self
    }

    /// Appends a signed number.
    pub(super) fn number(&mut self, number: i32) -> &mut RequestBuilder {
        self.word(number as u32)
    }

    /// Appends a length, or how many of something there are.
    pub(super) fn count(&mut self, count: usize) -> &mut RequestBuilder {
        self.number(i32::try_from(count).unwrap_or(i32::MAX))
    }

    /// Appends bytes as they are.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut RequestBuilder {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Appends the length of a text and the text, filled up to a whole word.
    pub(super) fn text(&mut self, text: &[u8]) -> &mut RequestBuilder {
        self.count(text.len()).bytes(text).pad()
    }

    /// Fills up to a whole word.
    pub(super) fn pad(&mut self) -> &mut RequestBuilder {
        let whole = self.bytes.len().next_multiple_of(4);
        self.bytes.resize(whole, PADDING);
        self
    }

    /// How many bytes there are so far.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes so far.
    pub(super) fn written(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// The request with its header.
    pub(super) fn finish(&mut self) -> &[u8] {
        let len = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.bytes[..4].copy_from_slice(&len.to_be_bytes());
        self.bytes[8..12].copy_from_slice(&self.context.to_be_bytes());
        &self.bytes
    }
}
