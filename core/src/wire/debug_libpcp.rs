//! PDUs as libpcp shows them under its debug options (WIRE-78): a dump, the instances of a reply,
//! and the attribute of a client.

use std::fmt::{self, Display, Write};

use super::{HEADER, Kind, PADDING, Way, count, number, word};
use crate::ident::InDom;
use crate::log::{Bytes, Line};

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

/// The entries of an INSTANCE: with identifiers and names if it is about a whole domain; with the
/// part that was asked for if it is about one instance.
pub struct Instances<'a>(pub &'a [u8]);

impl Display for Instances<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (indom, entries) = (word(self.0, 12).unwrap_or(0), count(self.0, 16).unwrap_or(0));
        let place = self.0.as_ptr();
        writeln!(
            out,
            "pmInResult dump from {place:p} for InDom {} ({indom:#x}), numinst={entries}",
            InDom(indom)
        )?;
        let mut rest = self.0.get(20..).unwrap_or_default();
        for index in 0..entries {
            let (Some(inst), Some(length)) = (number(rest, 0), count(rest, 4)) else {
                break;
            };
            write!(out, "  [{index}]")?;
            // The reply about a single instance lacks the part that was in the request.
            let single = entries == 1;
            if !single || inst != -1 {
                write!(out, " inst={inst}")?;
            }
            if !single || length > 0 {
                let name = rest.get(8..).and_then(|rest| rest.get(..length));
                write!(out, " name=\"{}\"", Bytes(name.unwrap_or_default()))?;
            }
            writeln!(out)?;
            let next = length.next_multiple_of(4) + 8;
            rest = rest.get(next..).unwrap_or_default();
        }
        Ok(())
    }
}

/// An ATTR. Bytes of its value that cannot be printed are shown as dots.
pub struct AttributeDump<'a>(pub &'a [u8]);

impl Display for AttributeDump<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, value) = (word(self.0, HEADER).unwrap_or(0), self.0.get(16..).unwrap_or_default());
        write!(out, "__pmDecodeAttr [len={}]: ", value.len())?;
        match key {
            // The data of an authentication mechanism.
            0 => out.write_str("payload=\"")?,
            _ => write!(out, "attr={key:#x} value=\"")?,
        }
        for byte in value {
            let shown = if matches!(byte, b' '..=b'~') { *byte } else { b'.' };
            write!(out, "{}", Bytes(&[shown]))?;
        }
        out.write_str("\"\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::encode::tests::hex;

    fn shown(text: impl Display) -> String {
        String::from_utf8(Line::new(format_args!("{text}")).bytes().to_vec()).expect("ASCII")
    }

    /// A PDU that ends too early is shown as far as it goes.
    #[test]
    fn cut() {
        let whole = hex(
            "00000030 0000700e 00000000 00000007 00000002 00000002 00000000 00000001 617e7e7e 00000001 00000004 62626363",
        );
        for length in 0..whole.len() {
            let pdu = &whole[..length];
            let all = [shown(Instances(pdu)), shown(AttributeDump(pdu))];
            assert!(all.iter().all(|text| text.len() < 500));
        }
    }

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
