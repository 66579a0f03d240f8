//! What `-Dlibpmda` says of a request: with PCP 6.0.3 its kind, since 6.0.5 what is asked for as well.

use super::{HEADER, Kind, decode, number, store};
use crate::error::Result;
use crate::ident::{InDom, MetricId};

/// The requests that are shown; others are not received, or are reported as errors (MAIN-30).
const SHOWN: [Kind; 13] = [
    Kind::PROFILE,
    Kind::ATTR,
    Kind::RESULT,
    Kind::CONTROL_REQ,
    Kind::FETCH,
    Kind::DESC_REQ,
    Kind::INSTANCE_REQ,
    Kind::TEXT_REQ,
    Kind::PMNS_NAMES,
    Kind::PMNS_IDS,
    Kind::PMNS_CHILD,
    Kind::PMNS_TRAVERSE,
    Kind::LABEL_REQ,
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

/// The line about a request, `None` for what is not shown; `context` is the client that it comes from. Names and values are
/// shown as they came: they need not be UTF-8.
#[must_use]
pub fn request(kind: Kind, pdu: &[u8], context: i32, with_details: bool) -> Option<Vec<u8>> {
    if !SHOWN.contains(&kind) {
        return None;
    }
    if !with_details {
        return Some(format!("Received PDU_{kind}").into_bytes());
    }
    if kind == Kind::CONTROL_REQ {
        return Some(b"Error: received PDU_CONTROL_REQ, not expected".to_vec());
    }
    let mut line = format!("Received PDU_{kind} ").into_bytes();
    line.append(&mut details(kind, pdu, context).unwrap_or_else(|_| b"???".to_vec()));
    Some(line)
}

/// What is asked for.
fn details(kind: Kind, pdu: &[u8], context: i32) -> Result<Vec<u8>> {
    let text = match kind {
        Kind::PROFILE => {
            let profile = decode::profile(pdu)?;
            let state = match profile.state {
                0 => "INCLUDE".to_owned(),
                1 => "EXCLUDE".to_owned(),
                other => format!("{other} ???"),
            };
            format!("state {state}, len {}", profile.len())
        }
        Kind::FETCH => {
            let mut metrics = decode::fetch(pdu)?;
            list(metrics.len(), metrics.next(), metrics.last())
        }
        Kind::RESULT => {
            let values = store::store(pdu)?;
            let mut metrics = values.sets().map(|set| set.metric);
            list(values.metrics, metrics.next(), metrics.last())
        }
        Kind::DESC_REQ => format!("pmid {}", decode::desc_request(pdu)?),
        Kind::INSTANCE_REQ => {
            let decode::InstanceRequest { indom, inst, name } = decode::instance_request(pdu)?;
            let head = format!("indom {indom}, inst {inst}, iname ").into_bytes();
            return Ok(match name {
                Some(name) => [&head, &b"\""[..], name, b"\""].concat(),
                None => [&head, &b"NULL"[..]].concat(),
            });
        }
        Kind::TEXT_REQ => {
            let decode::About { ident, kind } = decode::text_request(pdu)?;
            match kind {
                _ if kind & 4 != 0 => format!("type {kind:#x}, pmid {}", MetricId(ident)),
                _ if kind & 8 != 0 => format!("type {kind:#x}, indom {}", InDom(ident)),
                _ => format!("type {kind:#x}, ident {ident:#x}"),
            }
        }
        Kind::LABEL_REQ => {
            let decode::About { ident, kind } = decode::label_request(pdu)?;
            format!("ident {}, type {kind}", ident as i32)
        }
        Kind::PMNS_NAMES => return Ok([b"npmids 1, [0] ", decode::names_request(pdu)?].concat()),
        Kind::PMNS_IDS => format!("pmid {}", decode::ids_request(pdu)?),
        Kind::PMNS_CHILD => {
            let subtype = number(pdu, HEADER).unwrap_or(0);
            let tail = format!(", subtype {subtype}");
            return Ok([b"name ", decode::names_below(pdu)?.name, tail.as_bytes()].concat());
        }
        Kind::PMNS_TRAVERSE => return Ok([b"name ", decode::names_below(pdu)?.name].concat()),
        // All others are not shown.
        _ => return Ok(attribute(decode::attribute(pdu)?, context)),
    };
    Ok(text.into_bytes())
}

/// An attribute of a client; NUL bytes are left out of its value.
fn attribute(attribute: decode::Attribute, context: i32) -> Vec<u8> {
    let decode::Attribute { key, value } = attribute;
    let name = usize::try_from(key)
        .ok()
        .and_then(|key| ATTRIBUTES.get(key.checked_sub(1)?))
        .unwrap_or(&"???");
    let mut line = format!("key {name} ({key}), value \"").into_bytes();
    line.extend(value.iter().filter(|byte| **byte != 0));
    line.extend(format!("\" (len {}), ctxnum {context}", value.len()).bytes());
    line
}

/// A number of metrics, the first of them and the last.
fn list(count: usize, first: Option<MetricId>, last: Option<MetricId>) -> String {
    let mut text = format!("npmids {count}");
    if let Some(first) = first {
        text += &format!(", [0] {first}");
    }
    if let Some(last) = last {
        text += &format!(" ... [{}] {last}", count.saturating_sub(1));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::encode::tests::hex;

    /// MAIN-30, MAIN-31: what PCP 6.3.8 says of each kind of request.
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

    /// MAIN-30: what is not shown, and what nobody should send.
    #[test]
    fn others() {
        assert_eq!(request(Kind::ERROR, &[], 0, true), None);
        let text = b"Error: received PDU_CONTROL_REQ, not expected";
        assert_eq!(request(Kind::CONTROL_REQ, &[], 0, true).as_deref(), Some(&text[..]));
    }
}
