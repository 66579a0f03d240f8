//! Bytes that an entry owns: names and keys.

#![forbid(unsafe_code)]

use super::room;
use crate::error::Result;

/// Texts that are not longer are kept in the value itself.
const INLINE: usize = 21;

/// Bytes with a NUL behind them.
#[derive(Debug)]
pub(super) enum Text {
    Inline(u8, [u8; INLINE + 1]),
    Heap(Box<[u8]>),
}

impl Text {
    pub(super) const EMPTY: Text = Text::Inline(0, [0; INLINE + 1]);

    /// A copy of `text`.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn new(text: &[u8]) -> Result<Text> {
        match u8::try_from(text.len()) {
            Ok(length) if text.len() <= INLINE => {
                let mut bytes = [0; INLINE + 1];
                bytes[..text.len()].copy_from_slice(text);
                Ok(Text::Inline(length, bytes))
            }
            _ => {
                let mut bytes = Vec::new();
                room(&mut bytes, text.len() + 1)?;
                bytes.extend_from_slice(text);
                bytes.push(0);
                Ok(Text::Heap(bytes.into_boxed_slice()))
            }
        }
    }

    /// The text with its NUL.
    pub(super) fn terminated(&self) -> &[u8] {
        match self {
            Text::Inline(length, bytes) => &bytes[..=usize::from(*length)],
            Text::Heap(bytes) => bytes,
        }
    }

    /// The text without its NUL.
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Text::Inline(length, bytes) => &bytes[..usize::from(*length)],
            Text::Heap(bytes) => bytes.split_last().map_or(&[], |(_, text)| text),
        }
    }

    /// Whether a byte other than NUL is in the text.
    pub(super) fn contains(&self, byte: u8) -> bool {
        match self {
            // All bytes of the array at once: what is behind the text is NUL.
            Text::Inline(_, bytes) => bytes.iter().fold(false, |found, other| found | (*other == byte)),
            Text::Heap(bytes) => bytes.contains(&byte),
        }
    }
}
