//! The replies, as captured from the C library.

use super::*;
use crate::labels::Span;
use crate::wire::KEPT;

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

/// A LABEL may have three instances, one of them without a text.
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

fn check_result(fill: impl FnOnce(&mut ResultBuilder) -> Result<()>, expected: &str) {
    let mut builder = ResultBuilder::new();
    // Leaves something in the buffers.
    builder.begin(9, 3).expect("small");
    builder.open(MetricId(3), 1).expect("memory");
    builder.wide(0, 0x0300_000c, 1).expect("memory");
    fill(&mut builder).expect("memory");
    builder.finish().expect("well formed");
    assert_eq!(builder.reply().bytes(), hex(expected));
}

/// The mixed example is as captured (WIRE-44, WIRE-45, WIRE-50).
#[test]
fn mixed() {
    let (wide, narrow, double) = (0x0102_0304_0506_0708_u64, 1.5_f32, 2.5_f64);
    let from_host = [
        host_block(3, &wide.to_ne_bytes()),
        host_block(4, &narrow.to_ne_bytes()),
        host_block(5, &double.to_ne_bytes()),
    ];
    let from_wire: [(u32, &[u8]); 3] = [
        (0x0300_000c, &wide.to_be_bytes()),
        (0x0400_0008, &narrow.to_be_bytes()),
        (0x0500_000c, &double.to_be_bytes()),
    ];
    for is_host in [false, true] {
        let fill = |builder: &mut ResultBuilder| {
            builder.begin(0, 5)?;
            builder.open(MetricId(0x3f40_0000), 1)?;
            builder.word(-1, 0x0102_0304)?;
            builder.close(1);
            builder.open(MetricId(0x3f40_0001), 0)?;
            for inst in 0..3 {
                builder.word(inst, !(inst as u32))?;
            }
            builder.close(3);
            for (metric, (block, (header, data))) in (0x3f40_0002..).zip(from_host.iter().zip(from_wire)) {
                builder.open(MetricId(metric), 1)?;
                if is_host {
                    builder.host_block(-1, block)?;
                } else {
                    builder.block(-1, header, data)?;
                }
                builder.close(1);
            }
            Ok(())
        };
        check_result(
            fill,
            "000000ac 00007001 00000000 00000000 00000000 00000005 3f400000 00000001 00000000 ffffffff 01020304 \
             3f400001 00000003 00000000 00000000 ffffffff 00000001 fffffffe 00000002 fffffffd \
             3f400002 00000001 00000001 ffffffff 00000023 3f400003 00000001 00000001 ffffffff 00000026 \
             3f400004 00000001 00000001 ffffffff 00000028 \
             0300000c 01020304 05060708 04000008 3fc00000 0500000c 40040000 00000000",
        );
    }
}

/// A value block as C has it.
fn host_block(kind: u32, data: &[u8]) -> Vec<u8> {
    let header = kind << 24 | u32::try_from(data.len() + 4).expect("short");
    [&header.to_ne_bytes(), data].concat()
}

/// Eight bytes that are no number stay as they are, and a number that is too short for its type is
/// refused (WIRE-44, WIRE-75).
#[test]
fn blocks_of_eight_bytes() {
    for (kind, is_number) in [(2, true), (3, true), (5, true), (6, false), (7, false), (8, false)] {
        let data = 0x0102_0304_0506_0708_u64.to_ne_bytes();
        let fill = |builder: &mut ResultBuilder| {
            builder.begin(0, 1)?;
            builder.open(MetricId(1), 1)?;
            builder.host_block(-1, &host_block(kind, &data))?;
            builder.close(1);
            Ok(())
        };
        let sent = if is_number { [1, 2, 3, 4, 5, 6, 7, 8] } else { data };
        let sent: String = sent.iter().map(|byte| format!("{byte:02x}")).collect();
        check_result(
            fill,
            &format!(
                "00000038 00007001 00000000 00000000 00000000 00000001 00000001 00000001 00000001 ffffffff 0000000b \
                 {kind:02x}00000c {sent}"
            ),
        );
    }
    let mut builder = ResultBuilder::new();
    builder.begin(0, 1).expect("small");
    builder.open(MetricId(1), 1).expect("memory");
    assert_eq!(builder.host_block(-1, &host_block(3, &[0; 7])), Err(Error::GENERIC));
}

/// A store has its client as its sender (WIRE-53).
#[test]
fn stores() {
    let fill = |builder: &mut ResultBuilder| {
        builder.begin_store(7, 1)?;
        builder.open(MetricId(0x3f40_0005), 1)?;
        builder.word(-1, 3)?;
        builder.close(1);
        Ok(())
    };
    let expected = "0000002c 00007001 00000007 00000000 00000000 00000001 3f400005 00000001 00000000 ffffffff 00000003";
    check_result(fill, expected);
}

/// A PDU is whole if it has a header, and as many bytes as that says.
#[test]
fn whole() {
    let pdu = hex("00000010 00007000 00000000 ffffcfba");
    assert!(is_whole(&pdu) && !is_whole(&pdu[..15]) && !is_whole(&[&pdu[..], b"x"].concat()));
    for length in [0, 4, 11] {
        let mut short = hex("00000000 00007000 00000000");
        short.truncate(length as usize);
        if length > 0 {
            short[3] = length;
        }
        assert!(!is_whole(&short), "{length}");
    }
    assert!(is_whole(&hex("0000000c 00007000 00000000")));
}

/// The flags of a fetch are sent, and errors in place of values (WIRE-52).
#[test]
fn without_values() {
    let fill = |builder: &mut ResultBuilder| {
        builder.begin(0x18, 2)?;
        for (metric, code) in [(0x3f40_0009, -12389), (0x3f40_2409, -12358)] {
            builder.open(MetricId(metric), 0)?;
            builder.close(code);
        }
        Ok(())
    };
    let expected = "00000028 00007001 00000000 00000018 00000000 00000002 3f400009 ffffcf9b 3f402409 ffffcfba";
    check_result(fill, expected);
}

/// Buffers stay for the next reply, unless they are large.
#[test]
fn large_results_go() {
    let mut builder = ResultBuilder::new();
    let mut room_after = |length: usize| {
        builder.begin(0, 1).expect("small");
        builder.open(MetricId(1), 1).expect("memory");
        builder.block(-1, 0x0600_0004, &vec![b'a'; length]).expect("memory");
        let filled = builder.blocks.capacity();
        builder.trim();
        (filled, builder.blocks.capacity())
    };
    let (filled, kept) = room_after(1000);
    assert_eq!(kept, filled);
    assert_eq!(room_after(KEPT).1, 0);
    builder.begin(0, 1).expect("small");
    builder.open(MetricId(1), KEPT / 8).expect("memory");
    builder.trim();
    assert_eq!(builder.reply.pdu.bytes.capacity(), 0);
    // A large result that nobody has given back goes when the next one begins.
    builder.begin(0, 2).expect("small");
    builder.open(MetricId(1), KEPT / 8).expect("memory");
    builder.block(-1, 0x0600_0004, &vec![b'a'; KEPT]).expect("memory");
    builder.begin(0, 1).expect("small");
    assert_eq!(builder.blocks.capacity(), 0);
    assert!(builder.reply.pdu.bytes.capacity() < filled);
}

/// Blocks stand in the order of their values. A set whose values have all
/// failed is an error. A caller may choose the format (WIRE-50, WIRE-52).
#[test]
fn in_order() {
    let (first, second) = (host_block(8, b"abc"), host_block(8, b"defgh"));
    let fill = |builder: &mut ResultBuilder| {
        builder.begin(0x18, 4)?;
        builder.open(MetricId(1), 2)?;
        builder.block(7, 0x0600_0006, b"x\0")?;
        builder.close(1);
        builder.open(MetricId(2), 2)?;
        builder.host_block(8, &first)?;
        builder.host_block(9, &second)?;
        builder.set_format(PM_VAL_SPTR);
        builder.close(2);
        builder.open(MetricId(3), 2)?;
        builder.close(-12358);
        builder.open(MetricId(4), 2)?;
        builder.block(7, 0x0600_0005, b"\0")?;
        builder.set_format(PM_VAL_SPTR);
        builder.close(1);
        Ok(())
    };
    check_result(
        fill,
        "00000088 00007001 00000000 00000018 00000000 00000004 \
         00000001 00000001 00000001 00000007 00000019 \
         00000002 00000002 00000002 00000008 0000001b 00000009 0000001d \
         00000003 ffffcfba 00000004 00000001 00000002 00000007 00000020 \
         06000006 78007e7e 08000007 6162637e 08000009 64656667 687e7e7e 06000005 007e7e7e",
    );
}

/// A set that failed half way leaves no bytes in the PDU, and a text ends with a NUL (WIRE-44,
/// WIRE-50).
#[test]
fn failed() {
    let fill = |builder: &mut ResultBuilder| {
        builder.begin(0, 2)?;
        builder.open(MetricId(1), 2)?;
        builder.text(7, 0x0600_0008, b"abc")?;
        builder.fail(-12358);
        builder.open(MetricId(2), 1)?;
        builder.text(9, 0x0600_0007, b"hi")?;
        builder.close(1);
        Ok(())
    };
    check_result(
        fill,
        "0000003c 00007001 00000000 00000000 00000000 00000002 00000001 ffffcfba \
         00000002 00000001 00000001 00000009 0000000d 06000007 6869007e",
    );
}

/// A block that is shorter than its type is refused (WIRE-75, WIRE-76).
#[test]
fn refused() {
    for block in [vec![0, 0], host_block(3, b"short"), host_block(9, b"no")] {
        assert_eq!(ResultBuilder::default().host_block(0, &block), Err(Error::GENERIC));
    }
}
