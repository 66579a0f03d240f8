//! Debug output about PDUs: the line of `-Dlibpmda` about a request (its kind with PCP 6.0.3, and
//! since 6.0.5 its content as well), and the hex dump of a PDU under `-Dpdu`, as libpcp writes it
//! (WIRE-78).

use std::fmt::{self, Display, Write};

use super::{HEADER, Kind, PADDING, Way, decode, number, result};
use crate::constants::{PM_TEXT_INDOM, PM_TEXT_PMID};
use crate::error::{Error, Result};
use crate::ident::{InDom, MetricId};
use crate::log::{Bytes, Line};

/// The requests that are shown. Others are not received, or are reported as errors (MAIN-30).
const SHOWN: [Kind; 13] = [
    Kind::PDU_PROFILE,
    Kind::PDU_ATTR,
    Kind::PDU_RESULT,
    Kind::PDU_CONTROL_REQ,
    Kind::PDU_FETCH,
    Kind::PDU_DESC_REQ,
    Kind::PDU_INSTANCE_REQ,
    Kind::PDU_TEXT_REQ,
    Kind::PDU_PMNS_NAMES,
    Kind::PDU_PMNS_IDS,
    Kind::PDU_PMNS_CHILD,
    Kind::PDU_PMNS_TRAVERSE,
    Kind::PDU_LABEL_REQ,
];

/// The names of the attributes, by their keys from 1.
const ATTRIBUTES: [&str; 16] = [
    "protocol",
    "secure",
    "compress",
    "userauth",
    "username",
    "authname",
    "password",
    "method",
    "realm",
    "unixsock",
    "userid",
    "groupid",
    "local",
    "processid",
    "container",
    "exclusive",
];

/// Returns the line about a request; `None` for one that is not shown. `context` is the client that
/// it comes from, for interfaces that have attributes of clients. Names and values are shown as
/// they are: they need not be UTF-8.
#[must_use]
pub fn request(kind: Kind, pdu: &[u8], context: Option<i32>, with_details: bool) -> Option<Line> {
    if !SHOWN.contains(&kind) {
        return None;
    }
    if !with_details {
        return Some(Line::new(format_args!("Received PDU_{kind}")));
    }
    if kind == Kind::PDU_CONTROL_REQ {
        return Some(Line::new(format_args!("Error: received PDU_CONTROL_REQ, not expected")));
    }
    let mut line = Line::new(format_args!("Received PDU_{kind} "));
    if details(&mut line, kind, pdu, context).is_err() {
        line.push(b"???");
    }
    Some(line)
}

/// Adds the content of a request. Text for which the line has no room is left out.
///
/// # Errors
/// `PM_ERR_IPC` when the request cannot be decoded; nothing was added.
fn details(line: &mut Line, kind: Kind, pdu: &[u8], context: Option<i32>) -> Result<()> {
    let mut add = |text: fmt::Arguments<'_>| _ = line.write_fmt(text);
    match kind {
        Kind::PDU_PROFILE => {
            let profile = decode::profile(pdu)?;
            let len = profile.len();
            match profile.state {
                0 => add(format_args!("state INCLUDE, len {len}")),
                1 => add(format_args!("state EXCLUDE, len {len}")),
                other => add(format_args!("state {other} ???, len {len}")),
            }
        }
        Kind::PDU_FETCH => {
            let mut metrics = decode::fetch(pdu)?;
            list(add, metrics.len(), metrics.next(), metrics.last());
        }
        Kind::PDU_RESULT => {
            let values = result::decode(pdu)?;
            let mut metrics = values.sets().map(|set| set.metric);
            list(add, values.metrics, metrics.next(), metrics.last());
        }
        Kind::PDU_DESC_REQ => add(format_args!("pmid {}", decode::desc_request(pdu)?)),
        Kind::PDU_INSTANCE_REQ => {
            let decode::InstanceRequest { indom, inst, name } = decode::instance_request(pdu)?;
            add(format_args!("indom {indom}, inst {inst}, iname "));
            match name {
                Some(name) => add(format_args!("\"{}\"", Bytes(name))),
                None => add(format_args!("NULL")),
            }
        }
        Kind::PDU_TEXT_REQ => {
            let decode::About { ident, kind } = decode::text_request(pdu)?;
            match kind {
                _ if kind & PM_TEXT_PMID != 0 => add(format_args!("type {kind:#x}, pmid {}", MetricId(ident))),
                _ if kind & PM_TEXT_INDOM != 0 => add(format_args!("type {kind:#x}, indom {}", InDom(ident))),
                _ => add(format_args!("type {kind:#x}, ident {ident:#x}")),
            }
        }
        Kind::PDU_LABEL_REQ => {
            let decode::About { ident, kind } = decode::label_request(pdu)?;
            add(format_args!("ident {}, type {kind}", ident as i32));
        }
        Kind::PDU_PMNS_NAMES => {
            let mut names = decode::name_list(pdu)?.map(|(name, _)| Bytes(name));
            let count = names.len();
            let first = names.next();
            list(add, count, first, names.last());
        }
        Kind::PDU_PMNS_IDS => add(format_args!("pmid {}", decode::listed_id(pdu).ok_or(Error::IPC)?)),
        Kind::PDU_PMNS_CHILD => {
            let subtype = number(pdu, HEADER).unwrap_or(0);
            let name = Bytes(decode::names_below(pdu)?.name);
            add(format_args!("name {name}, subtype {subtype}"));
        }
        Kind::PDU_PMNS_TRAVERSE => add(format_args!("name {}", Bytes(decode::names_below(pdu)?.name))),
        _ => attribute(add, decode::attribute(pdu)?, context),
    }
    Ok(())
}

/// Adds an attribute of a client; NULs of its value are left out.
fn attribute(mut add: impl FnMut(fmt::Arguments<'_>), attribute: decode::Attribute<'_>, context: Option<i32>) {
    let decode::Attribute { key, value } = attribute;
    let name = usize::try_from(key)
        .ok()
        .and_then(|key| ATTRIBUTES.get(key.checked_sub(1)?))
        .unwrap_or(&"???");
    add(format_args!("key {name} ({key}), value \""));
    for part in value.split(|byte| *byte == 0) {
        add(format_args!("{}", Bytes(part)));
    }
    add(format_args!("\" (len {})", value.len()));
    if let Some(context) = context {
        add(format_args!(", ctxnum {context}"));
    }
}

/// Adds a number of metrics (or names), the first one and the last one.
fn list<M: Display>(mut add: impl FnMut(fmt::Arguments<'_>), count: usize, first: Option<M>, last: Option<M>) {
    add(format_args!("npmids {count}"));
    if let Some(first) = first {
        add(format_args!(", [0] {first}"));
    }
    if let Some(last) = last {
        add(format_args!(" ... [{}] {last}", count.saturating_sub(1)));
    }
}

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
    use super::{request as request_line, *};
    use crate::wire::encode::tests::hex;

    fn request(kind: Kind, pdu: &[u8], context: i32, with_details: bool) -> Option<Vec<u8>> {
        request_line(kind, pdu, Some(context), with_details).map(|line| line.bytes().to_vec())
    }

    /// The lines are those of PCP 6.3.8 (MAIN-30, MAIN-31).
    #[test]
    fn details_of_requests() {
        let said = [
            (
                "00000020 00007002 0 0 00000001 00000000 00000000 00000000",
                "PROFILE state EXCLUDE, len 0",
            ),
            ("00000010 00007002 0 0", "PROFILE ???"),
            (
                "00000020 00007003 0 0 0 0 00000001 3f400001",
                "FETCH npmids 1, [0] 253.0.1",
            ),
            (
                "00000024 00007003 0 0 0 0 00000002 3f400001 3f400402",
                "FETCH npmids 2, [0] 253.0.1 ... [1] 253.1.2",
            ),
            ("0000001c 00007003 0 0 0 0 0", "FETCH ???"),
            ("00000018 00007001 0 0 0 0", "RESULT npmids 0"),
            (
                "0000002c 00007001 0 0 0 00000001 3f400001 00000001 00000000 ffffffff 00000005",
                "RESULT npmids 1, [0] 253.0.1",
            ),
            ("00000010 00007004 0 3f400001", "DESC_REQ pmid 253.0.1"),
            (
                "00000020 00007006 0 3f400002 0 0 00000007 0",
                "INSTANCE_REQ indom 253.2, inst 7, iname NULL",
            ),
            (
                "00000024 00007006 0 3f400002 0 0 ffffffff 00000003 61626300",
                "INSTANCE_REQ indom 253.2, inst -1, iname \"abc\"",
            ),
            (
                "00000014 00007008 0 3f400005 00000005",
                "TEXT_REQ type 0x5, pmid 253.0.5",
            ),
            (
                "00000014 00007008 0 3f400005 0000000a",
                "TEXT_REQ type 0xa, indom 253.5",
            ),
            (
                "00000014 00007008 0 3f400005 00000001",
                "TEXT_REQ type 0x1, ident 0xffffffff",
            ),
            (
                "00000024 0000700e 0 00000009 0 00000001 00000008 6b732e64 796e2e61",
                "PMNS_NAMES npmids 1, [0] ks.dyn.a",
            ),
            (
                "00000028 0000700e 0 00000004 0 00000002 00000001 617e7e7e 00000001 627e7e7e",
                "PMNS_NAMES npmids 2, [0] a ... [1] b",
            ),
            ("00000018 0000700e 0 0 0 0", "PMNS_NAMES npmids 0"),
            ("00000018 0000700d 0 0 00000001 3f401401", "PMNS_IDS pmid 253.5.1"),
            (
                "00000018 0000700f 0 00000001 00000003 612e627e",
                "PMNS_CHILD name a.b, subtype 1",
            ),
            ("00000018 00007010 0 0 00000003 6162637e", "PMNS_TRAVERSE name abc"),
            ("00000014 00007012 0 3f400005 00000001", "LABEL_REQ ident -1, type 1"),
            (
                "00000016 00007011 00000003 00000005 74616e79 6100",
                "ATTR key username (5), value \"tanya\" (len 6), ctxnum 3",
            ),
            (
                "00000010 00007011 00000003 00000000",
                "ATTR key ??? (0), value \"\" (len 0), ctxnum 3",
            ),
        ];
        for (words, expected) in said {
            let words: Vec<_> = words
                .split(' ')
                .map(|word| if word == "0" { "00000000" } else { word })
                .collect();
            let pdu = hex(&words.join(" "));
            let kind = Kind(number(&pdu, 4).expect("a header"));
            let line = request(kind, &pdu, 3, true);
            assert_eq!(line, Some(format!("Received PDU_{expected}").into_bytes()));
            let head = expected.split(' ').next().expect("a word");
            let short = format!("Received PDU_{head}").into_bytes();
            assert_eq!(request(kind, &pdu, 3, false), Some(short));
        }
    }

    /// Other PDUs are not shown, or are errors (MAIN-30).
    #[test]
    fn others() {
        assert_eq!(request(Kind::PDU_ERROR, &[], 0, true), None);
        let text = b"Error: received PDU_CONTROL_REQ, not expected";
        assert_eq!(request(Kind::PDU_CONTROL_REQ, &[], 0, true).as_deref(), Some(&text[..]));
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
