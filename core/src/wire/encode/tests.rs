//! The replies, as captured from the C library.

use super::*;
use crate::labels::Span;

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

/// WIRE-50: what was in the buffer before does not show in a RESULT, and one with entries missing
/// is refused.
#[test]
fn used_again() {
    let fill = |reply: &mut Reply, values: i32| {
        let mut sets = reply.result(0, 2, entry_size(values) + entry_size(0))?;
        sets.words(
            MetricId(1),
            0,
            (0..values).map(|inst| (inst, 7)).collect::<Vec<_>>().into_iter(),
        )?;
        sets.none(MetricId(2), 0)?;
        sets.finish()
    };
    let mut used = Reply::new();
    for values in [3, 90, 1, 40, 100] {
        let mut fresh = Reply::new();
        fill(&mut fresh, values).expect("a few values");
        fill(&mut used, values).expect("a few values");
        assert_eq!(used.bytes(), fresh.bytes());
        used.error(-values);
        if values == 1 {
            fill(&mut used, 1000).expect("many values");
        }
    }
    let missing = used.result(0, 2, entry_size(3)).expect("room");
    assert_eq!(missing.finish(), Err(Error::GENERIC));
}

/// The buffer stays for the next reply, unless it has become large.
#[test]
fn large_buffers_go() {
    let mut reply = Reply::new();
    reply.text(1, &[b'a'; 1000]).expect("a text");
    let small = reply.pdu.bytes.capacity();
    reply.error(-1);
    assert_eq!(reply.pdu.bytes.capacity(), small);
    let next: [fn(&mut Reply) -> Result<()>; 2] = [|reply| reply.desc([0; 5]), |reply| reply.result(0, 0, 0)?.finish()];
    for next in next {
        reply.text(1, &vec![b'a'; KEPT]).expect("a large text");
        next(&mut reply).expect("a small reply");
        assert!(reply.pdu.bytes.capacity() < small);
    }
    reply.text(1, &[b'a'; 1000]).expect("a text");
    reply.trim();
    assert_eq!(reply.pdu.bytes.capacity(), small);
    reply.text(1, &vec![b'a'; KEPT]).expect("a large text");
    reply.trim();
    assert_eq!(reply.pdu.bytes.capacity(), 0);
}

/// WIRE-2, WIRE-40 to WIRE-43: the small replies, as captured.
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

/// WIRE-55: the identifier of a text is in the order of the host.
#[test]
#[cfg(target_endian = "little")]
fn text() {
    let expected = "0000001c 00007009 00000000 0000403f 00000008 6f6e6568 656c7021";
    check(|reply| reply.text(0x3f40_0000, b"onehelp!"), expected);
}

/// INSTANCE: all, and either list missing (WIRE-74: a missing name is empty).
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

/// PMNS_NAMES with and without states, and empty.
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

/// LABEL: three instances of which the second has no text.
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

fn block(kind: u32, payload: &[u8]) -> Vec<u8> {
    let header = kind << 24 | u32::try_from(payload.len() + 4).expect("short");
    [&header.to_ne_bytes(), payload].concat()
}

/// WIRE-50, WIRE-44, WIRE-45: the mixed example.
#[test]
fn result() {
    let blocks = [
        block(3, &0x0102_0304_0506_0708_u64.to_ne_bytes()),
        block(4, &1.5_f32.to_ne_bytes()),
        block(5, &2.5_f64.to_ne_bytes()),
    ];
    let fill = |reply: &mut Reply| {
        let entries = [1, 3, 1, 1, 1].into_iter().map(entry_size).sum();
        let mut values = reply.result(0, 5, entries)?;
        values.words(MetricId(0x3f40_0000), 0, [(-1, 0x0102_0304)].into_iter())?;
        let three = [(0, u32::MAX), (1, u32::MAX - 1), (2, u32::MAX - 2)];
        values.words(MetricId(0x3f40_0001), 0, three.into_iter())?;
        for (metric, block) in (0x3f40_0002..).zip(&blocks) {
            values.blocks(MetricId(metric), 1, [(-1, Some(&block[..]))].into_iter())?;
        }
        values.finish()
    };
    check(
        fill,
        "000000ac 00007001 00000000 00000000 00000000 00000005 3f400000 00000001 00000000 ffffffff 01020304 \
         3f400001 00000003 00000000 00000000 ffffffff 00000001 fffffffe 00000002 fffffffd \
         3f400002 00000001 00000001 ffffffff 00000023 3f400003 00000001 00000001 ffffffff 00000026 \
         3f400004 00000001 00000001 ffffffff 00000028 \
         0300000c 01020304 05060708 04000008 3fc00000 0500000c 40040000 00000000",
    );
}

/// WIRE-52: the flags of a fetch; errors in place of values.
#[test]
fn result_without_values() {
    let fill = |reply: &mut Reply| {
        let mut values = reply.result(0x18, 2, 16)?;
        values.none(MetricId(0x3f40_0009), -12389)?;
        values.none(MetricId(0x3f40_2409), -12358)?;
        values.finish()
    };
    check(
        fill,
        "00000028 00007001 00000000 00000018 00000000 00000002 3f400009 ffffcf9b 3f402409 ffffcfba",
    );
}

/// WIRE-73 to WIRE-76: what an agent must not give is refused.
#[test]
fn refused() {
    let one = |block: Option<&[u8]>| {
        let mut reply = Reply::default();
        let mut values = reply.result(0, 1, entry_size(1)).expect("small");
        values.blocks(MetricId(1), 1, [(0, block)].into_iter())
    };
    assert_eq!(one(None), Err(Error::GENERIC));
    assert_eq!(one(Some(&[0, 0])), Err(Error::GENERIC));
    assert_eq!(one(Some(&block(3, b"short"))), Err(Error::GENERIC));
    assert_eq!(one(Some(&block(9, b"no"))), Err(Error::GENERIC));
    let mut reply = Reply::default();
    let mut values = reply.result(0, 1, 8).expect("small");
    assert_eq!(values.words(MetricId(1), 0, [(0, 0)].into_iter()), Err(Error::GENERIC));
    assert_eq!(reply.result(0, 1, usize::MAX).err(), Some(Error::TOOBIG));
}
