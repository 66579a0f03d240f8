//! What is shown of the PDUs that go by (WIRE-77), and what libpcp's encoders and decoders say of
//! them under debug options. The C library calls those; ours says the same.

use std::fmt::{self, Display, Write};

use super::{HEADER, Kind, PADDING, Way, count, number, word};
use crate::ident::{InDom, MetricId};
use crate::log::{Bytes, Line};

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

/// The names of PMNS_NAMES.
pub struct Names<'a>(pub &'a [u8]);

/// The states that come with the names of PMNS_NAMES, if any do.
pub struct States<'a>(pub &'a [u8]);

impl<'a> Names<'a> {
    fn entries(&self) -> impl Iterator<Item = (i32, &'a [u8])> + use<'a> {
        let with_states = self.has_states();
        let mut rest = self.0.get(24..).unwrap_or_default();
        let names = count(self.0, 20).unwrap_or(0);
        (0..names).map_while(move |_| {
            let mut state = 0;
            if with_states {
                state = number(rest, 0)?;
                rest = rest.get(4..)?;
            }
            let length = count(rest, 0)?;
            let name = rest.get(4..)?.get(..length)?;
            let next = length.next_multiple_of(4) + 4;
            rest = rest.get(next..).unwrap_or_default();
            Some((state, name))
        })
    }

    fn has_states(&self) -> bool {
        number(self.0, 16).is_some_and(|states| states != 0)
    }
}

impl Display for Names<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = number(self.0, 20).unwrap_or(0);
        writeln!(out, "namelist dump: numnames = {names}")?;
        for (index, (_, name)) in self.entries().enumerate() {
            // It is shown as a C string.
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            writeln!(out, "  name[{index}]: \"{}\"", Bytes(name))?;
        }
        Ok(())
    }
}

impl Display for States<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Names(self.0);
        if names.has_states() {
            let states = number(self.0, 16).unwrap_or(0);
            writeln!(out, "statuslist dump: numstatus = {states}")?;
            for (index, (state, _)) in names.entries().enumerate() {
                writeln!(out, "  status[{index}]: {state}")?;
            }
        }
        Ok(())
    }
}

/// The metrics of PMNS_IDS.
pub struct Ids<'a>(pub &'a [u8]);

impl Display for Ids<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids = count(self.0, 16).unwrap_or(0);
        writeln!(out, "IDlist dump: numids = {ids}")?;
        for index in 0..ids {
            let Some(id) = word(self.0, 20 + 4 * index) else { break };
            writeln!(out, "  PMID[{index}]: {id:#010x} {}", MetricId(id))?;
        }
        Ok(())
    }
}

/// The entries of an INSTANCE; those of a domain have identifiers and names, the answer about one
/// instance has what was asked.
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
            // What the answer about a single instance lacks was in the question.
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

/// An ATTR: what cannot be shown of its value is a dot.
pub struct Attribute<'a>(pub &'a [u8]);

impl Display for Attribute<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, value) = (word(self.0, HEADER).unwrap_or(0), self.0.get(16..).unwrap_or_default());
        write!(out, "__pmDecodeAttr [len={}]: ", value.len())?;
        match key {
            // What a mechanism of authentication has to say.
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

/// The credentials of a CREDS that was received.
pub struct Credentials<'a>(pub &'a [u8]);

impl Display for Credentials<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = self.0.get(16..).unwrap_or_default();
        for (index, entry) in list.chunks_exact(4).enumerate() {
            let [kind, a, b, c] = [entry[0], entry[1], entry[2], entry[3]];
            writeln!(
                out,
                "__pmDecodeCreds: #{index} = {{ type={kind:#x} a={a:#x} b={b:#x} c={c:#x} }}"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::encode::tests::hex;

    fn shown(text: impl Display) -> String {
        String::from_utf8(Line::new(format_args!("{text}")).bytes().to_vec()).expect("ASCII")
    }

    #[test]
    fn names_and_ids() {
        let pdu = hex(
            "00000030 0000700e 00000000 00000007 00000002 00000002 00000000 00000001 617e7e7e 00000001 00000004 62626363",
        );
        let names = "namelist dump: numnames = 2\n  name[0]: \"a\"\n  name[1]: \"bbcc\"\n";
        let states = "statuslist dump: numstatus = 2\n  status[0]: 0\n  status[1]: 1\n";
        assert_eq!(shown(Names(&pdu)), names);
        assert_eq!(shown(States(&pdu)), states);
        let pdu = hex("00000018 0000700d 00000000 00000000 00000001 00401401");
        assert_eq!(
            shown(Ids(&pdu)),
            "IDlist dump: numids = 1\n  PMID[0]: 0x00401401 1.5.1\n"
        );
    }

    /// What ends too early is shown as far as it goes.
    #[test]
    fn cut() {
        let whole = hex(
            "00000030 0000700e 00000000 00000007 00000002 00000002 00000000 00000001 617e7e7e 00000001 00000004 62626363",
        );
        for length in 0..whole.len() {
            let pdu = &whole[..length];
            let all = [
                shown(Names(pdu)),
                shown(States(pdu)),
                shown(Ids(pdu)),
                shown(Instances(pdu)),
                shown(Attribute(pdu)),
                shown(Credentials(pdu)),
            ];
            assert!(all.iter().all(|text| text.len() < 500));
        }
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
