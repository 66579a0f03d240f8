//! What is remembered and shown of the PDUs that went by (WIRE-77).

use std::fmt::Write;

use super::{HEADER, Kind, PADDING, number};
use crate::log::Line;

/// How many PDUs are remembered.
const REMEMBERED: usize = 8;

/// Which way a PDU went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// It was received.
    In,
    /// It was sent.
    Out,
}

/// The PDUs that went by last, oldest first.
#[derive(Debug)]
pub struct Ring {
    entries: [Option<(Way, Kind, i32, usize)>; REMEMBERED],
    /// Where the next one goes.
    next: usize,
}

impl Ring {
    /// Nothing has gone by yet.
    #[must_use]
    pub const fn new() -> Ring {
        Ring {
            entries: [None; REMEMBERED],
            next: 0,
        }
    }

    /// Remembers a PDU.
    pub fn note(&mut self, way: Way, kind: Kind, fd: i32, len: usize) {
        if let Some(place) = self.entries.get_mut(self.next) {
            *place = Some((way, kind, fd, len));
        }
        self.next = (self.next + 1) % REMEMBERED;
    }

    /// The lines that are shown when a handshake fails.
    #[must_use]
    pub fn lines(&self) -> Line {
        let mut text = Line::new(format_args!("__pmDumpPDUTrace: recent PDUs ...\n"));
        let (newer, older) = self.entries.split_at(self.next);
        for (index, (way, kind, fd, len)) in older.iter().chain(newer).flatten().enumerate() {
            let way = match way {
                Way::In => "recv",
                Way::Out => "xmit",
            };
            // What does not fit is left out.
            let _ = writeln!(text, "[{index}] {way} fd={fd} type={kind} len={len}");
        }
        text
    }
}

impl Default for Ring {
    fn default() -> Ring {
        Ring::new()
    }
}

/// The hex dump of -Dpdu: the header as numbers, the rest in words as they are in memory, eight in
/// a line.
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

    /// WIRE-77: eight PDUs are remembered.
    #[test]
    fn ring() {
        let mut ring = Ring::new();
        for len in 0..9 {
            ring.note(Way::In, Kind::PDU_FETCH, 3, len);
        }
        ring.note(Way::Out, Kind::PDU_ERROR, 4, 16);
        let lines = String::from_utf8(ring.lines().bytes().to_vec()).expect("text");
        assert_eq!(lines.lines().count(), REMEMBERED + 1);
        assert_eq!(lines.lines().nth(1), Some("[0] recv fd=3 type=FETCH len=2"));
        assert!(lines.ends_with("[7] xmit fd=4 type=ERROR len=16\n"));
    }

    /// WIRE-77: the dump, with its tail filled up.
    #[test]
    #[cfg(target_endian = "little")]
    fn hex_dump() {
        let pdu = hex("00000016 00007011 00000005 00000005 74616e79 6100");
        let text =
            "[9]pmGetPDU: ATTR fd=0 len=22 from=5\n000:       16     7011        5  5000000 796e6174 7e7e0061 \n";
        assert_eq!(dump(9, Way::In, 0, &pdu).bytes(), text.as_bytes());
    }
}
