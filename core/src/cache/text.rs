//! Bytes that an entry owns: names and keys.

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

/// Bytes to be kept, and the memory for them: what can fail is done before anything is changed.
#[derive(Debug)]
pub(super) struct NewText<'t> {
    text: &'t [u8],
    /// For a long text.
    heap: Option<Box<[u8]>>,
}

impl<'t> NewText<'t> {
    /// No bytes.
    pub(super) const EMPTY: NewText<'static> = NewText { text: &[], heap: None };

    /// A copy of `text` in the making.
    ///
    /// # Errors
    /// `-ENOMEM`.
    #[inline]
    pub(super) fn new(text: &'t [u8]) -> Result<NewText<'t>> {
        let heap = if text.len() > INLINE { Some(copy(text)?) } else { None };
        Ok(NewText { text, heap })
    }

    pub(super) fn bytes(&self) -> &'t [u8] {
        self.text
    }
}

#[cold]
fn copy(text: &[u8]) -> Result<Box<[u8]>> {
    let mut bytes = Vec::new();
    room(&mut bytes, text.len() + 1)?;
    bytes.extend_from_slice(text);
    bytes.push(0);
    Ok(bytes.into_boxed_slice())
}

impl Text {
    pub(super) const EMPTY: Text = Text::Inline(0, [0; INLINE + 1]);

    /// A text of its own.
    pub(super) fn new(draft: NewText<'_>) -> Text {
        let mut text = Text::EMPTY;
        text.assign(draft);
        text
    }

    /// Takes over new bytes. They are written to where they stay: moving a text that was just put
    /// together byte by byte costs more than the rest of an insertion.
    #[inline]
    pub(super) fn assign(&mut self, draft: NewText<'_>) {
        if let Some(heap) = draft.heap {
            *self = Text::Heap(heap);
            return;
        }
        *self = Text::EMPTY;
        if let (Text::Inline(length, bytes), Ok(new)) = (self, u8::try_from(draft.text.len())) {
            *length = new;
            bytes[..draft.text.len()].copy_from_slice(draft.text);
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
