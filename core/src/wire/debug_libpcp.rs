//! The hex dump of a PDU under `-Dpdu`, as libpcp writes it (WIRE-78).

use std::fmt::Write;

use super::{HEADER, Kind, PADDING, Way, number};
use crate::log::Line;

/// Returns the hex dump of `-Dpdu`: the words of the header as numbers, all others as they are in
/// memory, eight in a line.
#[must_use]
pub fn dump(process: u32, way: Way, fd: i32, pdu: &[u8]) -> Line {
    let function = match way {
        Way::In => "pmGetPDU",
        Way::Out => "pmXmitPDU",
    };
    let kind = Kind(number(pdu, 4).unwrap_or(0));
    let mut text = Line::new(format_args!("[{process}]{function}: {kind} fd={fd} len={}", pdu.len()));
    if way == Way::In {
        let _ = write!(text, " from={}", number(pdu, 8).unwrap_or(0));
    }
    for (index, bytes) in pdu.chunks(4).enumerate() {
        if index % 8 == 0 {
            let _ = write!(text, "\n{index:03}: ");
        }
        let mut word = [PADDING; 4];
        word[..bytes.len()].copy_from_slice(bytes);
        let value = if index * 4 < HEADER {
            u32::from_be_bytes(word)
        } else {
            u32::from_ne_bytes(word)
        };
        let _ = write!(text, "{value:8x} ");
    }
    text.push(b"\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::encode::tests::hex;

    /// The dump has padding in its last word (WIRE-77).
    #[test]
    #[cfg(target_endian = "little")]
    fn hex_dump() {
        let pdu = hex("00000016 00007011 00000005 00000005 74616e79 6100");
        let text =
            "[9]pmGetPDU: ATTR fd=0 len=22 from=5\n000:       16     7011        5  5000000 796e6174 7e7e0061 \n";
        assert_eq!(dump(9, Way::In, 0, &pdu).bytes(), text.as_bytes());
    }
}
