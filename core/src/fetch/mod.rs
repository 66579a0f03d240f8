//! The rules of a fetch: the meaning of a callback's return, `numval` of a metric whose instances
//! failed, the encoding of values, and the report of changes to pmcd.

use crate::constants::{
    PM_TYPE_32, PM_TYPE_64, PM_TYPE_AGGREGATE, PM_TYPE_AGGREGATE_STATIC, PM_TYPE_DOUBLE, PM_TYPE_EVENT, PM_TYPE_FLOAT,
    PM_TYPE_HIGHRES_EVENT, PM_TYPE_NOSUPPORT, PM_TYPE_STRING, PM_TYPE_U32, PM_TYPE_U64, PM_TYPE_UNKNOWN,
    PMCD_LABEL_CHANGE, PMCD_NAMES_CHANGE, PMDA_EXT_LABEL_CHANGE, PMDA_EXT_NAMES_CHANGE, PMDA_FETCH_DYNAMIC,
    PMDA_FETCH_NOVALUES,
};
use crate::error::{Error, Result};
use crate::ident::Interface;

/// The bits of `e_flags` that a fetch reports and clears (FETCH-60).
pub const CHANGE_FLAGS: u32 = PMDA_EXT_LABEL_CHANGE | PMDA_EXT_NAMES_CHANGE;

/// The meaning of what a fetch callback has returned, if it is no error (FETCH-40).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FetchStatus {
    /// The atom holds a value.
    Value,
    /// The atom holds a value in memory that is to be freed when the value has been copied.
    ValueToFree,
    /// The metric has no value now.
    NoValue,
}

impl FetchStatus {
    /// Returns the meaning of a callback's return for an agent of an interface version.
    ///
    /// # Errors
    /// A negative return, as the error that it is.
    pub fn of(interface: Interface, returned: i32) -> Result<FetchStatus> {
        match Error::check(returned)? {
            PMDA_FETCH_NOVALUES if interface.has_missing_values() => Ok(FetchStatus::NoValue),
            PMDA_FETCH_DYNAMIC if interface.has_values_to_free() => Ok(FetchStatus::ValueToFree),
            _ => Ok(FetchStatus::Value),
        }
    }
}

/// The outcome of a metric's instances so far, which gives `numval` (FETCH-36).
#[derive(Clone, Copy, Debug)]
pub struct Tally {
    /// The number of values.
    stored: u32,
    /// The status of the last instance that had no value.
    last: i32,
}

impl Tally {
    /// The tally of no instance yet.
    pub const EMPTY: Tally = Tally { stored: 0, last: 0 };

    /// The greatest number of values of a metric: `numval` is an `int`.
    pub const MOST: usize = i32::MAX as usize;

    /// Counts one more value.
    #[inline(always)]
    pub fn stored(&mut self) {
        self.stored = self.stored.wrapping_add(1);
    }

    /// Notes an instance that had no value (`Ok`) or failed.
    pub fn failed(&mut self, status: Result<()>) {
        self.last = status.map_or_else(Error::code, |()| 0);
    }

    /// The number of values.
    #[must_use]
    #[inline(always)]
    pub fn count(self) -> usize {
        self.stored as usize
    }

    /// The number of values, or the status of the last instance when there are none.
    #[must_use]
    #[inline(always)]
    pub fn numval(self) -> i32 {
        match self.stored {
            0 => self.last,
            stored => stored as i32,
        }
    }
}

/// Returns the bits by which a result tells pmcd about changes of labels and names (FETCH-60).
#[must_use]
pub fn change_report(interface: Interface, flags: u32) -> u8 {
    if !interface.reports_changes() {
        return 0;
    }
    let bit = |flag: u32, report: u8| if flags & flag != 0 { report } else { 0 };
    bit(PMDA_EXT_LABEL_CHANGE, PMCD_LABEL_CHANGE) | bit(PMDA_EXT_NAMES_CHANGE, PMCD_NAMES_CHANGE)
}

/// Returns the first eight bytes of a result's time stamp, in which the report travels: since 7.1.1
/// as one number in the byte order of the host, before that in the first byte. On little-endian
/// machines both are the same (FETCH-60).
#[must_use]
pub fn change_stamp(report: u8, since_7_1_1: bool) -> [u8; 8] {
    if since_7_1_1 {
        u64::from(report).to_ne_bytes()
    } else {
        [report, 0, 0, 0, 0, 0, 0, 0]
    }
}

/// The size in bytes of the header of a value block.
const HEADER: usize = 4;

/// The greatest length in bytes that the 24 bits of a block's header can hold, header included.
const MAX_BLOCK: usize = 0xff_ffff;

/// The way in which a value is put into a result.
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
    /// No encoding: the metric has no type with values.
    Unknown,
}

impl Encoding {
    /// The encoding of a metric type.
    #[must_use]
    pub fn of(kind: i32) -> Encoding {
        match kind {
            PM_TYPE_32 | PM_TYPE_U32 => Encoding::InSitu,
            PM_TYPE_64 | PM_TYPE_U64 | PM_TYPE_DOUBLE => Encoding::Wide,
            PM_TYPE_FLOAT => Encoding::Narrow,
            PM_TYPE_STRING => Encoding::Text,
            PM_TYPE_AGGREGATE => Encoding::Copy,
            PM_TYPE_AGGREGATE_STATIC | PM_TYPE_EVENT | PM_TYPE_HIGHRES_EVENT => Encoding::Borrowed,
            _ => Encoding::Unknown,
        }
    }

    /// Returns whether a value that the agent hands over can be freed: only these encodings make a
    /// copy (FETCH-42).
    #[must_use]
    pub fn can_free(self) -> bool {
        matches!(self, Encoding::Text | Encoding::Copy)
    }
}

/// Returns the header of a value block with `data` bytes of data.
///
/// # Errors
/// `PM_ERR_TOOBIG` when the length does not fit in 24 bits (F-4).
pub fn header(kind: i32, data: usize) -> Result<u32> {
    let length = data.checked_add(HEADER).filter(|length| *length <= MAX_BLOCK);
    let length = length
        .and_then(|length| u32::try_from(length).ok())
        .ok_or(Error::TOOBIG)?;
    Ok(length | (kind as u32 & 0xff) << 24)
}

/// Returns the name of a type as `pmTypeStr` has it (FETCH-45).
#[must_use]
pub fn type_name(kind: i32) -> &'static str {
    match kind {
        PM_TYPE_NOSUPPORT => "NO_SUPPORT",
        PM_TYPE_32 => "32",
        PM_TYPE_U32 => "U32",
        PM_TYPE_64 => "64",
        PM_TYPE_U64 => "U64",
        PM_TYPE_FLOAT => "FLOAT",
        PM_TYPE_DOUBLE => "DOUBLE",
        PM_TYPE_STRING => "STRING",
        PM_TYPE_AGGREGATE => "AGGREGATE",
        PM_TYPE_AGGREGATE_STATIC => "AGGREGATE_STATIC",
        PM_TYPE_EVENT => "EVENT",
        PM_TYPE_HIGHRES_EVENT => "HIGHRES_EVENT",
        PM_TYPE_UNKNOWN => "UNKNOWN",
        _ => "???",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each return has its meaning in each interface version (FETCH-40, F-16).
    #[test]
    fn answers() {
        use FetchStatus::{NoValue, Value, ValueToFree};
        for (interface, expected) in [
            (2, [Value, Value, Value, Value]),
            (3, [NoValue, Value, Value, Value]),
            (4, [NoValue, Value, Value, Value]),
            (5, [NoValue, Value, ValueToFree, Value]),
            (6, [NoValue, Value, ValueToFree, Value]),
            (7, [NoValue, Value, ValueToFree, Value]),
        ] {
            assert_eq!(
                [0, 1, 2, 3].map(|answer| FetchStatus::of(Interface(interface), answer)),
                expected.map(Ok)
            );
            assert_eq!(FetchStatus::of(Interface(interface), -12360), Err(Error::INST));
        }
    }

    /// Values count; without any, the last status does (FETCH-36, F-11).
    #[test]
    fn tally() {
        let numval = |statuses: &[i32]| {
            let mut tally = Tally::EMPTY;
            for status in statuses {
                match status {
                    1 => tally.stored(),
                    status => tally.failed(Error::check(*status).map(|_| ())),
                }
            }
            assert_eq!(tally.count(), statuses.iter().filter(|status| **status == 1).count());
            tally.numval()
        };
        assert_eq!(numval(&[]), 0);
        assert_eq!(numval(&[-12360, -12351, 0]), 0);
        assert_eq!(numval(&[0, -12358, -2]), -2);
        assert_eq!(numval(&[-2, 1, 0, 1]), 2);
    }

    /// Both bits are reported, and only with interface 7 (FETCH-60, FETCH-61).
    #[test]
    fn changes() {
        assert_eq!(
            [0x20, 0x40, 0x60, 0x1f].map(|flags| change_report(Interface(7), flags)),
            [8, 16, 24, 0]
        );
        assert_eq!(change_report(Interface(6), 0x60), 0);
        assert_eq!(change_stamp(24, true), 24_u64.to_ne_bytes());
        assert_eq!(change_stamp(24, false), 24_u64.to_le_bytes());
    }

    /// Every type and its neighbours have their encoding and name (FETCH-45).
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

    /// Lengths are right at the ends of what a header can say (FETCH-3, F-3, F-4).
    #[test]
    fn headers() {
        assert_eq!(header(6, 1), Ok(0x0600_0005));
        assert_eq!(header(7, 0), Ok(0x0700_0004));
        assert_eq!(header(7, 0xff_fffb), Ok(0x07ff_ffff));
        assert_eq!(header(7, 0xff_fffc), Err(Error::TOOBIG));
        assert_eq!(header(7, usize::MAX), Err(Error::TOOBIG));
    }
}
