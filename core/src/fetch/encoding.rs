//! How a value of each type is put into a result (the table of section 5).

use crate::error::{Error, Result};

/// The bytes of a value block in front of the data.
pub const HEADER: usize = 4;

/// The largest length that the 24 bits of a block's header can hold, header included.
pub const MAX_BLOCK: usize = 0xff_ffff;

/// The way in which a value goes into a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// The 32 bits stand in the value itself.
    InSitu,
    /// A block with the 64 bits of a number.
    Wide,
    /// A block with the 32 bits of a number.
    Narrow,
    /// A block with a copy of a C string and its NUL.
    Text,
    /// A block with a copy of the agent's block.
    Copy,
    /// The agent's own block.
    Borrowed,
    /// None: it is no type.
    Unknown,
}

impl Encoding {
    /// The encoding of a metric type.
    #[must_use]
    pub fn of(kind: i32) -> Encoding {
        match kind {
            0 | 1 => Encoding::InSitu,
            2 | 3 | 5 => Encoding::Wide,
            4 => Encoding::Narrow,
            6 => Encoding::Text,
            7 => Encoding::Copy,
            8..=10 => Encoding::Borrowed,
            _ => Encoding::Unknown,
        }
    }

    /// Whether a value that the agent hands over can be freed: copies are made of these alone
    /// (FETCH-42).
    #[must_use]
    pub fn can_free(self) -> bool {
        matches!(self, Encoding::Text | Encoding::Copy)
    }
}

/// The header of a value block with `data` bytes of data.
///
/// # Errors
/// `PM_ERR_TOOBIG` when the length does not fit into 24 bits (F-4).
#[inline]
pub fn header(kind: i32, data: usize) -> Result<u32> {
    let length = data.checked_add(HEADER).filter(|length| *length <= MAX_BLOCK);
    let length = length
        .and_then(|length| u32::try_from(length).ok())
        .ok_or(Error::TOOBIG)?;
    Ok(length | (kind as u32 & 0xff) << 24)
}

/// The number of data bytes that a block's header announces; `None` for a length that has no room
/// for the header (F-3).
#[must_use]
pub fn data_length(header: u32) -> Option<usize> {
    ((header & 0xff_ffff) as usize).checked_sub(HEADER)
}

/// The name of a type as `pmTypeStr` gives it (FETCH-45).
#[must_use]
pub fn type_name(kind: i32) -> &'static str {
    match kind {
        -1 => "NO_SUPPORT",
        0 => "32",
        1 => "U32",
        2 => "64",
        3 => "U64",
        4 => "FLOAT",
        5 => "DOUBLE",
        6 => "STRING",
        7 => "AGGREGATE",
        8 => "AGGREGATE_STATIC",
        9 => "EVENT",
        10 => "HIGHRES_EVENT",
        255 => "UNKNOWN",
        _ => "???",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FETCH-45, section 5: every type and its neighbours.
    #[test]
    fn types() {
        for (kind, encoding, name) in [
            (0, Encoding::InSitu, "32"),
            (1, Encoding::InSitu, "U32"),
            (2, Encoding::Wide, "64"),
            (3, Encoding::Wide, "U64"),
            (4, Encoding::Narrow, "FLOAT"),
            (5, Encoding::Wide, "DOUBLE"),
            (6, Encoding::Text, "STRING"),
            (7, Encoding::Copy, "AGGREGATE"),
            (8, Encoding::Borrowed, "AGGREGATE_STATIC"),
            (9, Encoding::Borrowed, "EVENT"),
            (10, Encoding::Borrowed, "HIGHRES_EVENT"),
        ] {
            assert_eq!((Encoding::of(kind), type_name(kind)), (encoding, name));
        }
        for (kind, name) in [(-1, "NO_SUPPORT"), (11, "???"), (255, "UNKNOWN"), (-2, "???")] {
            assert_eq!((Encoding::of(kind), type_name(kind)), (Encoding::Unknown, name));
        }
        assert!(Encoding::Text.can_free() && Encoding::Copy.can_free(), "FETCH-42");
        assert!(!Encoding::Borrowed.can_free() && !Encoding::InSitu.can_free() && !Encoding::Wide.can_free());
    }

    /// FETCH-3, F-3, F-4: the ends of what a header can say.
    #[test]
    fn headers() {
        assert_eq!(header(6, 1), Ok(0x0600_0005));
        assert_eq!(header(7, 0), Ok(0x0700_0004));
        assert_eq!(header(7, 0xff_fffb), Ok(0x07ff_ffff));
        assert_eq!(header(7, 0xff_fffc), Err(Error::TOOBIG));
        assert_eq!(header(7, usize::MAX), Err(Error::TOOBIG));
        assert_eq!(data_length(0x0700_0004), Some(0));
        assert_eq!(data_length(0xff00_0003), None);
    }
}
