//! The replies to fetches, as captured from the C library.

use super::*;
use crate::wire::encode::tests::hex;

fn check(fill: impl FnOnce(&mut ResultBuilder) -> Result<()>, expected: &str) {
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
        check(
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
    check(fill, expected);
}

/// Buffers stay for the next reply, unless they are large.
#[test]
fn large_buffers_go() {
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
    check(
        fill,
        "00000088 00007001 00000000 00000018 00000000 00000004 \
         00000001 00000001 00000001 00000007 00000019 \
         00000002 00000002 00000002 00000008 0000001b 00000009 0000001d \
         00000003 ffffcfba 00000004 00000001 00000002 00000007 00000020 \
         06000006 78007e7e 08000007 6162637e 08000009 64656667 687e7e7e 06000005 007e7e7e",
    );
}

/// A set that failed half way leaves nothing behind, and a text ends with a NUL (WIRE-44, WIRE-50).
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
    check(
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
