//! Value blocks: their payloads between the byte order of the host and that of the wire (WIRE-44,
//! WIRE-46).

use super::padded;
use crate::constants::*;
use crate::events::PM_EVENT_FLAG_MISSED;

/// The size of a block's header in bytes.
pub const HEADER: usize = 4;

/// The direction in which the payload of a block is converted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From memory to the wire.
    Encode,
    /// From the wire to memory.
    Decode,
}

impl Direction {
    /// The number in bytes that are in the order of the source.
    fn read(self, bytes: [u8; 4]) -> u32 {
        match self {
            Direction::Encode => u32::from_ne_bytes(bytes),
            Direction::Decode => u32::from_be_bytes(bytes),
        }
    }
}

/// The type in a block's header word, as a number of the host.
#[must_use]
pub const fn kind(header: u32) -> u32 {
    header >> 24
}

/// The length in a block's header word, header included, in bytes.
#[must_use]
pub const fn length(header: u32) -> usize {
    (header & 0x00ff_ffff) as usize
}

/// The header word and the number of a block that holds a number of 64 bits, in the order of the
/// host; `None` for other blocks.
pub(super) fn wide(block: &[u8]) -> Option<(u32, u64)> {
    let block: &[u8; 12] = block.try_into().ok()?;
    let (header, value) = block.split_first_chunk::<4>()?;
    let header = u32::from_ne_bytes(*header);
    let is_wide = matches!(kind(header) as i32, PM_TYPE_64 | PM_TYPE_U64 | PM_TYPE_DOUBLE) && length(header) == 12;
    is_wide.then_some((header, u64::from_ne_bytes(*value.first_chunk()?)))
}

/// The error for a block that is shorter than its type, or than the numbers in it say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed;

/// Converts the payload of a block of type `kind` to the other byte order, in place. Nothing
/// outside of `payload` is touched (WIRE-51, WIRE-75, WIRE-76).
///
/// # Errors
/// [`Malformed`]; the payload is then in no defined order.
pub fn exchange(kind: u32, payload: &mut [u8], direction: Direction) -> Result<(), Malformed> {
    match kind as i32 {
        PM_TYPE_64 | PM_TYPE_U64 | PM_TYPE_DOUBLE => number::<8>(payload),
        PM_TYPE_FLOAT => number::<4>(payload),
        PM_TYPE_EVENT => events(payload, &[4, 4], direction),
        PM_TYPE_HIGHRES_EVENT => events(payload, &[8, 8], direction),
        _ => Ok(()),
    }
}

/// Converts the number at the start of `payload`.
fn number<const N: usize>(payload: &mut [u8]) -> Result<(), Malformed> {
    let bytes = payload.first_chunk_mut::<N>().ok_or(Malformed)?;
    if cfg!(target_endian = "little") {
        bytes.reverse();
    }
    Ok(())
}

/// A walk over an event array, which converts it on the way.
struct EventWalk<'a> {
    rest: &'a mut [u8],
    direction: Direction,
}

impl<'a> EventWalk<'a> {
    /// Takes the next `size` bytes.
    fn take(&mut self, size: usize) -> Result<&'a mut [u8], Malformed> {
        let rest = std::mem::take(&mut self.rest);
        let (taken, rest) = rest.split_at_mut_checked(size).ok_or(Malformed)?;
        self.rest = rest;
        Ok(taken)
    }

    /// Converts a word, and returns its value.
    fn word(&mut self) -> Result<u32, Malformed> {
        let direction = self.direction;
        let bytes = self.take(4)?.first_chunk_mut::<4>().ok_or(Malformed)?;
        let value = direction.read(*bytes);
        *bytes = value.to_be_bytes();
        if direction == Direction::Decode {
            *bytes = value.to_ne_bytes();
        }
        Ok(value)
    }

    /// Converts a parameter. The last one may lack its padding.
    fn parameter(&mut self) -> Result<(), Malformed> {
        self.word()?;
        let header = self.word()?;
        let size = length(header).checked_sub(HEADER).ok_or(Malformed)?;
        let padded = padded(size).ok_or(Malformed)?.min(self.rest.len());
        let payload = self.take(padded)?.get_mut(..size).ok_or(Malformed)?;
        match kind(header) as i32 {
            PM_TYPE_32 | PM_TYPE_U32 => number::<4>(payload),
            // Arrays do not nest.
            PM_TYPE_EVENT | PM_TYPE_HIGHRES_EVENT => Ok(()),
            other => exchange(other as u32, payload, self.direction),
        }
    }
}

/// Converts an array of event records whose time stamps have parts of `stamp` bytes each.
fn events(payload: &mut [u8], stamp: &[usize], direction: Direction) -> Result<(), Malformed> {
    let mut walk = EventWalk {
        rest: payload,
        direction,
    };
    for _ in 0..walk.word()? {
        for size in stamp {
            let part = walk.take(*size)?;
            if cfg!(target_endian = "little") {
                part.reverse();
            }
        }
        let flags = walk.word()?;
        let parameters = walk.word()?;
        if flags & PM_EVENT_FLAG_MISSED == 0 {
            for _ in 0..parameters {
                walk.parameter()?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        crate::wire::encode::tests::hex(text)
    }

    /// The example of an event array is converted both ways (WIRE-46).
    #[test]
    fn event_array() {
        let wire = hex(
            "00000002 11223344 00055667 00000001 00000003 3f400000 01000008 00000007 3f400005 06000006 78790000 \
                        3f400002 0300000c 01020304 05060708 11223344 00055667 80000000 00000009",
        );
        let mut bytes = wire.clone();
        exchange(9, &mut bytes, Direction::Decode).expect("well formed");
        assert_eq!(bytes[..4], 2_u32.to_ne_bytes());
        assert_eq!(bytes[48..52], 0x0300_000c_u32.to_ne_bytes());
        assert_eq!(bytes[52..60], 0x0102_0304_0506_0708_u64.to_ne_bytes());
        exchange(9, &mut bytes, Direction::Encode).expect("well formed");
        assert_eq!(bytes, wire);
    }

    /// A missed record keeps its count, also with high resolution (WIRE-47).
    #[test]
    fn missed() {
        let wire = hex("00000001 00000011 22334455 00000000 075bcd15 80000000 00000009");
        let mut bytes = wire.clone();
        exchange(10, &mut bytes, Direction::Decode).expect("well formed");
        assert_eq!(bytes[4..12], 0x11_2233_4455_u64.to_ne_bytes());
        assert_eq!(bytes[24..], 9_u32.to_ne_bytes());
        exchange(10, &mut bytes, Direction::Encode).expect("well formed");
        assert_eq!(bytes, wire);
    }

    /// A payload that is too short is refused (WIRE-51, WIRE-76).
    #[test]
    fn too_short() {
        for (kind, size) in [(2, 7), (3, 0), (4, 3), (5, 7), (9, 3), (10, 0)] {
            assert_eq!(exchange(kind, &mut vec![0; size], Direction::Decode), Err(Malformed));
        }
        let records = hex("00000002 00000001 00000001 00000000 00000000");
        assert_eq!(exchange(9, &mut records.clone(), Direction::Decode), Err(Malformed));
        let parameter = hex("00000001 00000001 00000001 00000000 00000001 3f400000 01000003 00000000");
        assert_eq!(exchange(9, &mut parameter.clone(), Direction::Decode), Err(Malformed));
    }

    proptest! {
        /// Converting a payload there and back changes nothing, and no payload panics (WIRE-44).
        #[test]
        fn round_trip(kind in 0_u32..12, bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let mut copy = bytes.clone();
            if exchange(kind, &mut copy, Direction::Decode).is_ok() {
                exchange(kind, &mut copy, Direction::Encode).expect("well formed");
                prop_assert_eq!(copy, bytes);
            }
        }
    }
}
