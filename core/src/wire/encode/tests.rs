//! The replies, as captured from the C library.

use super::*;
use crate::labels::Span;
use crate::wire::builder::KEPT;

/// Bytes written in hex.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.chars().filter(|char| !char.is_whitespace()).collect();
    let byte = |pair: &[char]| u8::from_str_radix(&String::from_iter(pair), 16).expect("hex");
    digits.chunks(2).map(byte).collect()
}

fn check(fill: impl FnOnce(&mut Reply) -> Result<()>, expected: &str) {
    let mut reply = Reply::default();
    fill(&mut reply).expect("encodes");
    assert_eq!(reply.bytes(), hex(expected));
    assert!(is_whole(reply.bytes()));
}

/// The buffer stays for the next reply, unless it has become large.
#[test]
fn large_buffers_go() {
    let mut reply = Reply::new();
    reply.text(1, &[b'a'; 1000]).expect("a text");
    let small = reply.pdu.bytes.capacity();
    reply.error(-1);
    assert_eq!(reply.pdu.bytes.capacity(), small);
    reply.text(1, &vec![b'a'; KEPT]).expect("a large text");
    reply.desc([0; 5]).expect("a small reply");
    assert!(reply.pdu.bytes.capacity() < small);
    reply.text(1, &[b'a'; 1000]).expect("a text");
    reply.trim();
    assert_eq!(reply.pdu.bytes.capacity(), small);
    reply.text(1, &vec![b'a'; KEPT]).expect("a large text");
    reply.trim();
    assert_eq!(reply.pdu.bytes.capacity(), 0);
}

/// The small replies are as captured (WIRE-2, WIRE-40 to WIRE-43).
#[test]
fn small() {
    let error = |reply: &mut Reply| {
        reply.error(-12358);
        Ok(())
    };
    check(error, "00000010 00007000 00000000 ffffcfba");
    check(
        |reply| reply.credentials(0x49ca, 0x44),
        "00000014 0000700c 000049ca 00000001 01020044",
    );
    let desc = [0x3f40_0000, 1, u32::MAX, 3, 0x1f21_3300];
    check(
        |reply| reply.desc(desc),
        "00000020 00007005 00000000 3f400000 00000001 ffffffff 00000003 1f213300",
    );
    check(
        |reply| reply.ids(3, MetricId(0x3f40_1402)),
        "00000018 0000700d 00000000 00000003 00000001 3f401402",
    );
}

/// The identifier of a text is in the byte order of the host (WIRE-55).
#[test]
#[cfg(target_endian = "little")]
fn text() {
    let expected = "0000001c 00007009 00000000 0000403f 00000008 6f6e6568 656c7021";
    check(|reply| reply.text(0x3f40_0000, b"onehelp!"), expected);
}

/// An INSTANCE may have all, or lack either list; a missing name is empty (WIRE-74).
#[test]
fn instances() {
    let indom = InDom(0x3f40_0000);
    let all = [
        (Some(0), Some(&b"red"[..])),
        (Some(1), Some(b"green1")),
        (Some(2), Some(b"blue")),
    ];
    check(
        |reply| reply.instances(indom, all.into_iter()),
        "0000003c 00007007 00000000 3f400000 00000003 00000000 00000003 7265647e 00000001 00000006 67726565 6e317e7e \
         00000002 00000004 626c7565",
    );
    check(
        |reply| reply.instances(indom, [(None, Some(&b"green1"[..]))].into_iter()),
        "00000024 00007007 00000000 3f400000 00000001 ffffffff 00000006 67726565 6e317e7e",
    );
    check(
        |reply| reply.instances(indom, [(Some(1), None)].into_iter()),
        "0000001c 00007007 00000000 3f400000 00000001 00000001 00000000",
    );
}

/// A PMNS_NAMES may have states or not, and may be empty.
#[test]
fn names() {
    let names = [&b"a"[..], b"bbcc"];
    check(
        |reply| reply.names(names.into_iter(), Some(&[0, 1])),
        "00000030 0000700e 00000000 00000007 00000002 00000002 00000000 00000001 617e7e7e 00000001 00000004 62626363",
    );
    check(
        |reply| reply.names(names.into_iter(), None),
        "00000028 0000700e 00000000 00000007 00000000 00000002 00000001 617e7e7e 00000004 62626363",
    );
    check(
        |reply| reply.names([].into_iter(), None),
        "00000018 0000700e 00000000 00000000 00000000 00000000",
    );
}

/// A LABEL may have three instances of which one has no text.
#[test]
fn labels() {
    let set = |inst, json: &'static [u8]| LabelSetData {
        inst,
        count: i32::from(!json.is_empty()),
        json,
        labels: if json.is_empty() {
            Vec::new().into_iter()
        } else {
            vec![Span {
                name: 2,
                name_len: 4,
                flags: 0x20,
                value: 8,
                value_len: 1,
            }]
            .into_iter()
        },
    };
    let sets = [set(0, b"{\"inst\":0}"), set(1, b""), set(2, b"{\"inst\":2}")];
    check(
        |reply| reply.labels(0x3f40_0000, 32, sets.into_iter()),
        "00000070 00007013 00000000 3f400000 00000020 00000000 00000003 00000000 00000001 0000005c 0000000a 00020420 \
         00080001 00000001 00000000 00000066 00000000 00000002 00000001 00000066 0000000a 00020420 00080001 \
         7b22696e 7374223a 307d7b22 696e7374 223a327d",
    );
    check(
        |reply| reply.labels(7, 1, std::iter::empty::<LabelSetData<'_, std::vec::IntoIter<Span>>>()),
        "0000001c 00007013 00000000 ffffffff 00000001 00000000 00000000",
    );
}
