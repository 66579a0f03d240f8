//! A RESULT that is written while its values are being asked for: their number is known only at its
//! end.

use super::{Reply, put_block};
use crate::constants::{PM_VAL_DPTR, PM_VAL_INSITU, PM_VAL_SPTR};
use crate::error::{Error, Result};
use crate::ident::MetricId;
use crate::wire::builder::KEPT;
use crate::wire::{HEADER, Kind, PADDING, number, padded};

/// Bytes in front of the first entry: the header, the two words of the time stamp, and the number
/// of metrics.
const FIRST: usize = HEADER + 12;

/// Bytes of an entry in front of its values.
const HEAD: usize = 12;

/// A RESULT under construction. Entries go to the reply, blocks to a buffer of their own that is
/// put behind the entries in the end; until then a value holds the place of its block in that
/// buffer. Nothing is allocated once the buffers have grown to the size of the agent's largest
/// reply.
#[derive(Default, Debug)]
pub struct ResultBuilder {
    reply: Reply,
    blocks: Vec<u8>,
    /// Blocks that belong to the agent: how many bytes of blocks are in front, and what the caller
    /// calls them.
    deferred: Vec<(usize, usize)>,
    /// The start of the entry that is being written.
    entry: usize,
    /// The bytes of blocks, and the number of blocks to be copied in the end, at its start.
    before: (usize, usize),
    /// Its `valfmt`: blocks that are copied at once are `PM_VAL_DPTR`, those that are copied in the
    /// end `PM_VAL_SPTR`.
    format: i32,
}

impl ResultBuilder {
    /// A builder with room for the head of a RESULT, or an error in its place.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub fn new() -> Result<ResultBuilder> {
        let mut builder = ResultBuilder::default();
        reserve(&mut builder.reply.pdu.bytes, FIRST)?;
        Ok(builder)
    }

    /// Gives large buffers back when the reply is sent, as [`Reply::trim`].
    pub fn trim(&mut self) {
        if self.blocks.capacity() > KEPT {
            self.blocks = Vec::new();
        }
        if self.deferred.capacity() > KEPT / size_of::<(usize, usize)>() {
            self.deferred = Vec::new();
        }
        self.reply.trim();
    }

    /// Starts a RESULT of `metrics` value sets: the reply to a fetch.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG`.
    pub fn begin(&mut self, flags: u32, metrics: usize) -> Result<()> {
        self.begin_from(0, flags, metrics)
    }

    /// Starts a RESULT of `metrics` value sets: a store of a client.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG`.
    pub fn begin_store(&mut self, client: i32, metrics: usize) -> Result<()> {
        self.begin_from(client, 0, metrics)
    }

    fn begin_from(&mut self, from: i32, first: u32, metrics: usize) -> Result<()> {
        self.blocks.clear();
        self.deferred.clear();
        self.trim();
        self.reply.begin(Kind::PDU_RESULT, from);
        self.reply.pdu.word(first);
        self.reply.pdu.word(0);
        self.reply.pdu.length(metrics)
    }

    /// Starts the set of a metric, with about `values` values.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub fn open(&mut self, metric: MetricId, values: usize) -> Result<()> {
        let room = values.checked_mul(8).and_then(|room| room.checked_add(HEAD));
        reserve(&mut self.reply.pdu.bytes, room.ok_or(Error::ENOMEM)?)?;
        self.entry = self.reply.pdu.bytes.len();
        self.before = (self.blocks.len(), self.deferred.len());
        self.format = PM_VAL_INSITU;
        self.reply.pdu.word(metric.0);
        self.reply.pdu.word(0);
        self.reply.pdu.word(0);
        Ok(())
    }

    /// Adds an instance with the second word of its value.
    fn pair(&mut self, inst: i32, word: u32) -> Result<()> {
        let pair = u64::from(inst as u32) << 32 | u64::from(word);
        append(&mut self.reply.pdu.bytes, &pair.to_be_bytes())
    }

    /// Adds a value in place.
    ///
    /// # Errors
    /// `-ENOMEM`; nothing is added then, here as in the functions that follow.
    pub fn word(&mut self, inst: i32, word: u32) -> Result<()> {
        self.format = PM_VAL_INSITU;
        self.pair(inst, word)
    }

    /// Adds a block with a number of 64 bits, as its `header` tells.
    ///
    /// # Errors
    /// As [`ResultBuilder::word`].
    pub fn wide(&mut self, inst: i32, header: u32, value: u64) -> Result<()> {
        let mut block = [0; 12];
        block[..4].copy_from_slice(&header.to_be_bytes());
        block[4..].copy_from_slice(&value.to_be_bytes());
        self.copied(inst, |blocks| append(blocks, &block))
    }

    /// Adds a block with data in the order of the wire, as its `header` tells.
    ///
    /// # Errors
    /// As [`ResultBuilder::word`].
    pub fn block(&mut self, inst: i32, header: u32, data: &[u8]) -> Result<()> {
        self.copied(inst, |blocks| {
            let size = padded(data.len()).and_then(|size| size.checked_add(4));
            reserve(blocks, size.ok_or(Error::ENOMEM)?)?;
            blocks.extend_from_slice(&header.to_be_bytes());
            blocks.extend_from_slice(data);
            blocks.resize(blocks.len().next_multiple_of(4), PADDING);
            Ok(())
        })
    }

    /// Adds a block with a text and the NUL that ends it, as its `header` tells.
    ///
    /// # Errors
    /// As [`ResultBuilder::word`].
    pub fn text(&mut self, inst: i32, header: u32, text: &[u8]) -> Result<()> {
        self.copied(inst, |blocks| {
            let size = text.len().checked_add(1).and_then(padded);
            reserve(blocks, size.and_then(|size| size.checked_add(4)).ok_or(Error::ENOMEM)?)?;
            blocks.extend_from_slice(&header.to_be_bytes());
            blocks.extend_from_slice(text);
            blocks.push(0);
            blocks.resize(blocks.len().next_multiple_of(4), PADDING);
            Ok(())
        })
    }

    /// Adds a value with a block that `add` puts behind the others.
    fn copied(&mut self, inst: i32, add: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        let place = u32::try_from(self.blocks.len() / 4).map_err(|_| Error::TOOBIG)?;
        reserve(&mut self.reply.pdu.bytes, 8)?;
        add(&mut self.blocks)?;
        self.format = PM_VAL_DPTR;
        self.pair(inst, place)
    }

    /// Adds a block that is copied in the end: the agent may fill it until then.
    ///
    /// # Errors
    /// As [`ResultBuilder::word`].
    pub fn deferred(&mut self, inst: i32, block: usize) -> Result<()> {
        self.deferred.try_reserve(1).map_err(|_| Error::ENOMEM)?;
        self.pair(inst, 0)?;
        self.deferred.push((self.blocks.len(), block));
        self.format = PM_VAL_SPTR;
        Ok(())
    }

    /// Ends the set with its `numval`: the number of values that were added, or what it is without
    /// any.
    pub fn close(&mut self, numval: i32) {
        let bytes = &mut self.reply.pdu.bytes;
        if numval <= 0 {
            bytes.truncate(self.entry + 8);
        }
        let words = bytes.get_mut(self.entry + 4..).unwrap_or_default();
        for (place, word) in words.chunks_exact_mut(4).zip([numval, self.format]) {
            place.copy_from_slice(&word.to_be_bytes());
        }
    }

    /// Ends the set without values, whatever was added: `code` says why, or is 0.
    pub fn fail(&mut self, code: i32) {
        let (blocks, deferred) = self.before;
        self.blocks.truncate(blocks);
        self.deferred.truncate(deferred);
        self.close(code.min(0));
    }

    /// Puts the blocks behind the entries. `find` gives the bytes of a block that was to be copied
    /// in the end.
    ///
    /// # Errors
    /// `PM_ERR_GENERIC` for a block that is missing or shorter than its type or than what it says
    /// (WIRE-74 to WIRE-76); `PM_ERR_TOOBIG`; `-ENOMEM`.
    pub fn finish<'b>(&mut self, find: impl Fn(usize) -> Option<&'b [u8]>) -> Result<()> {
        let end = self.reply.pdu.bytes.len();
        let blocks = std::mem::take(&mut self.blocks);
        let outcome = self.place_blocks(&blocks, end, find);
        self.blocks = blocks;
        outcome?;
        self.reply.pdu.finish()
    }

    fn place_blocks<'b>(&mut self, blocks: &[u8], end: usize, find: impl Fn(usize) -> Option<&'b [u8]>) -> Result<()> {
        let total = end.checked_add(blocks.len());
        if total.is_none_or(|total| i32::try_from(total).is_err()) {
            return Err(Error::TOOBIG);
        }
        let bytes = &mut self.reply.pdu.bytes;
        reserve(bytes, blocks.len())?;
        let mut deferred = self.deferred.iter();
        let mut copied = 0;
        let mut entry = FIRST;
        while entry < end {
            let values = usize::try_from(number(bytes, entry + 4).unwrap_or(0)).unwrap_or(0);
            if values == 0 {
                entry += 8;
                continue;
            }
            let format = number(bytes, entry + 8).unwrap_or(PM_VAL_INSITU);
            let pairs = entry + HEAD..entry + HEAD + values * 8;
            entry = pairs.end;
            if format == PM_VAL_DPTR {
                // The deferred blocks in front push these blocks back.
                let shift = bytes.len() - copied;
                add_to_places(bytes.get_mut(pairs).ok_or(Error::GENERIC)?, shift)?;
            } else if format == PM_VAL_SPTR {
                for pair in pairs.step_by(8) {
                    let (before, block) = deferred.next().ok_or(Error::GENERIC)?;
                    append(bytes, blocks.get(copied..*before).ok_or(Error::GENERIC)?)?;
                    copied = *before;
                    let place = u32::try_from(bytes.len() / 4).map_err(|_| Error::TOOBIG)?;
                    put_block(bytes, find(*block).ok_or(Error::GENERIC)?)?;
                    let word = bytes.get_mut(pair + 4..).and_then(|rest| rest.first_chunk_mut::<4>());
                    *word.ok_or(Error::GENERIC)? = place.to_be_bytes();
                }
            }
        }
        append(bytes, blocks.get(copied..).ok_or(Error::GENERIC)?)
    }

    /// The finished reply.
    pub fn reply(&mut self) -> &mut Reply {
        &mut self.reply
    }
}

/// Adds `bytes` to the places of the blocks of one set.
fn add_to_places(pairs: &mut [u8], bytes: usize) -> Result<()> {
    let words = u32::try_from(bytes / 4).map_err(|_| Error::TOOBIG)?;
    for pair in pairs.chunks_exact_mut(8) {
        if let Some(place) = pair.last_chunk_mut::<4>() {
            *place = u32::from_be_bytes(*place).wrapping_add(words).to_be_bytes();
        }
    }
    Ok(())
}

/// Makes room for more bytes.
fn reserve(bytes: &mut Vec<u8>, more: usize) -> Result<()> {
    if bytes.capacity() - bytes.len() < more {
        return bytes.try_reserve(more).map_err(|_| Error::ENOMEM);
    }
    Ok(())
}

/// Adds a few bytes.
fn append(bytes: &mut Vec<u8>, more: &[u8]) -> Result<()> {
    if bytes.capacity() - bytes.len() < more.len() {
        return append_to_full(bytes, more);
    }
    // Room: there is, see above.
    bytes.extend_from_slice(more);
    Ok(())
}

#[cold]
fn append_to_full(bytes: &mut Vec<u8>, more: &[u8]) -> Result<()> {
    reserve(bytes, more.len())?;
    bytes.extend_from_slice(more);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::encode::tests::hex;

    fn check(fill: impl FnOnce(&mut ResultBuilder) -> Result<()>, blocks: &[&[u8]], expected: &str) {
        let mut builder = ResultBuilder::new().expect("memory");
        // What was in the buffers before does not show.
        builder.begin(9, 3).expect("small");
        builder.open(MetricId(3), 1).expect("memory");
        builder.deferred(0, 1).expect("memory");
        fill(&mut builder).expect("memory");
        builder.finish(|name| blocks.get(name).copied()).expect("well formed");
        assert_eq!(builder.reply().bytes(), hex(expected));
    }

    /// WIRE-50, WIRE-44, WIRE-45: the mixed example, as the encoder of finished results makes it.
    #[test]
    fn mixed() {
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
            builder.open(MetricId(0x3f40_0002), 1)?;
            builder.wide(-1, 0x0300_000c, 0x0102_0304_0506_0708)?;
            builder.close(1);
            builder.open(MetricId(0x3f40_0003), 1)?;
            builder.block(-1, 0x0400_0008, &1.5_f32.to_be_bytes())?;
            builder.close(1);
            builder.open(MetricId(0x3f40_0004), 1)?;
            builder.wide(-1, 0x0500_000c, 2.5_f64.to_bits())?;
            builder.close(1);
            Ok(())
        };
        check(
            fill,
            &[],
            "000000ac 00007001 00000000 00000000 00000000 00000005 3f400000 00000001 00000000 ffffffff 01020304 \
             3f400001 00000003 00000000 00000000 ffffffff 00000001 fffffffe 00000002 fffffffd \
             3f400002 00000001 00000001 ffffffff 00000023 3f400003 00000001 00000001 ffffffff 00000026 \
             3f400004 00000001 00000001 ffffffff 00000028 \
             0300000c 01020304 05060708 04000008 3fc00000 0500000c 40040000 00000000",
        );
    }

    /// The room for blocks stays for the next reply, unless it has become large.
    #[test]
    fn large_buffers_go() {
        let mut builder = ResultBuilder::new().expect("memory");
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
        for value in 0..=KEPT / size_of::<(usize, usize)>() {
            builder.deferred(0, value).expect("memory");
        }
        builder.trim();
        assert_eq!(
            (builder.reply.pdu.bytes.capacity(), builder.deferred.capacity()),
            (0, 0)
        );
    }

    /// WIRE-50, WIRE-52: blocks stand in the order of their values, whenever they are copied; a set
    /// whose values have all failed is an error.
    #[test]
    fn in_order() {
        let text = |kind: u32, text: &[u8]| {
            let header = kind << 24 | u32::try_from(text.len() + 4).expect("short");
            [&header.to_ne_bytes(), text].concat()
        };
        let (first, second) = (text(8, b"abc"), text(8, b"defgh"));
        let fill = |builder: &mut ResultBuilder| {
            builder.begin(0x18, 4)?;
            builder.open(MetricId(1), 2)?;
            builder.block(7, 0x0600_0006, b"x\0")?;
            builder.close(1);
            builder.open(MetricId(2), 2)?;
            builder.deferred(8, 0)?;
            builder.deferred(9, 1)?;
            builder.close(2);
            builder.open(MetricId(3), 2)?;
            builder.close(-12358);
            builder.open(MetricId(4), 2)?;
            builder.block(7, 0x0600_0005, b"\0")?;
            builder.close(1);
            Ok(())
        };
        check(
            fill,
            &[&first, &second],
            "00000088 00007001 00000000 00000018 00000000 00000004 \
             00000001 00000001 00000001 00000007 00000019 \
             00000002 00000002 00000002 00000008 0000001b 00000009 0000001d \
             00000003 ffffcfba 00000004 00000001 00000001 00000007 00000020 \
             06000006 78007e7e 08000007 6162637e 08000009 64656667 687e7e7e 06000005 007e7e7e",
        );
    }

    /// WIRE-44, WIRE-50: a set that failed half way leaves nothing behind; a text ends with a NUL.
    #[test]
    fn failed() {
        let fill = |builder: &mut ResultBuilder| {
            builder.begin(0, 2)?;
            builder.open(MetricId(1), 2)?;
            builder.text(7, 0x0600_0008, b"abc")?;
            builder.deferred(8, 0)?;
            builder.fail(-12358);
            builder.open(MetricId(2), 1)?;
            builder.text(9, 0x0600_0007, b"hi")?;
            builder.close(1);
            Ok(())
        };
        check(
            fill,
            &[],
            "0000003c 00007001 00000000 00000000 00000000 00000002 00000001 ffffcfba \
             00000002 00000001 00000001 00000009 0000000d 06000007 6869007e",
        );
    }

    /// WIRE-74, WIRE-76: a block that is gone, or shorter than its type, is refused.
    #[test]
    fn refused() {
        for block in [None, Some(&[0_u8, 0][..]), Some(&[4, 0, 0, 9])] {
            let mut builder = ResultBuilder::default();
            builder.begin(0, 1).expect("small");
            builder.open(MetricId(1), 1).expect("memory");
            builder.deferred(0, 5).expect("memory");
            builder.close(1);
            assert_eq!(builder.finish(|_| block), Err(Error::GENERIC));
        }
    }
}
