//! The replies: values in, bytes out, into one buffer that is used again and again.

#![forbid(unsafe_code)]

use super::block::{self, Direction};
use super::{HEADER, Kind, PADDING, padded};
use crate::error::{Error, Result};
use crate::ident::{InDom, MetricId};

/// A buffer that has grown beyond this is given back after its PDU.
const KEPT: usize = 1024 * 1024;

/// A PDU under construction. Sizes are checked once, in [`Reply::finish`].
#[derive(Default, Debug)]
pub struct Reply {
    bytes: Vec<u8>,
}

impl Reply {
    /// An empty buffer.
    #[must_use]
    pub const fn new() -> Reply {
        Reply { bytes: Vec::new() }
    }

    /// Starts a PDU; what was in the buffer is gone.
    fn begin(&mut self, kind: Kind, from: i32) {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT);
        self.word(0);
        self.number(kind.0);
        self.number(from);
    }

    fn word(&mut self, word: u32) {
        self.bytes.extend_from_slice(&word.to_be_bytes());
    }

    fn number(&mut self, number: i32) {
        self.bytes.extend_from_slice(&number.to_be_bytes());
    }

    fn length(&mut self, length: usize) -> Result<()> {
        self.number(i32::try_from(length).map_err(|_| Error::TOOBIG)?);
        Ok(())
    }

    /// Bytes, filled up to a whole word.
    fn padded(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), PADDING);
    }

    /// Puts the length in (WIRE-75).
    fn finish(&mut self) -> Result<()> {
        let length = i32::try_from(self.bytes.len()).map_err(|_| Error::TOOBIG)?;
        if let Some(place) = self.bytes.first_chunk_mut::<4>() {
            *place = length.to_be_bytes();
        }
        Ok(())
    }

    /// The finished PDU.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// ERROR (WIRE-43: the code is sent as it is).
    pub fn error(&mut self, code: i32) {
        self.begin(Kind::ERROR, 0);
        self.number(code);
        // 16 bytes are not too many.
        let _ = self.finish();
    }

    /// CREDS: protocol version 2 and the flags of the agent.
    ///
    /// # Errors
    /// None that can happen.
    pub fn credentials(&mut self, process: i32, flags: u16) -> Result<()> {
        self.begin(Kind::CREDS, process);
        self.number(1);
        self.word(0x0102_0000 | u32::from(flags));
        self.finish()
    }

    /// DESC: metric, type, domain, semantics and units, each as a word (WIRE-41, WIRE-42).
    ///
    /// # Errors
    /// None that can happen.
    pub fn desc(&mut self, words: [u32; 5]) -> Result<()> {
        self.begin(Kind::DESC, 0);
        words.into_iter().for_each(|word| self.word(word));
        self.finish()
    }

    /// INSTANCE: a missing list of instances or names is `None` in each entry.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG`.
    pub fn instances<'a>(
        &mut self,
        indom: InDom,
        entries: impl ExactSizeIterator<Item = (Option<i32>, Option<&'a [u8]>)>,
    ) -> Result<()> {
        self.begin(Kind::INSTANCE, 0);
        self.word(indom.0);
        self.length(entries.len())?;
        for (inst, name) in entries {
            self.number(inst.unwrap_or(-1));
            let name = name.unwrap_or_default();
            self.length(name.len())?;
            self.padded(name);
        }
        self.finish()
    }

    /// TEXT. The identifier goes out in the order of the host (WIRE-55).
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG`.
    pub fn text(&mut self, ident: u32, text: &[u8]) -> Result<()> {
        self.begin(Kind::TEXT, 0);
        self.bytes.extend_from_slice(&ident.to_ne_bytes());
        self.length(text.len())?;
        self.padded(text);
        self.finish()
    }

    /// PMNS_IDS: one metric, with the status of the method that found it.
    ///
    /// # Errors
    /// None that can happen.
    pub fn ids(&mut self, status: i32, metric: MetricId) -> Result<()> {
        self.begin(Kind::PMNS_IDS, 0);
        self.number(status);
        self.number(1);
        self.word(metric.0);
        self.finish()
    }

    /// PMNS_NAMES, with the state of each name when `states` is there.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG`.
    pub fn names<'a>(
        &mut self,
        names: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
        states: Option<&[i32]>,
    ) -> Result<()> {
        self.begin(Kind::PMNS_NAMES, 0);
        let total = names
            .clone()
            .try_fold(0_usize, |sum, name| sum.checked_add(name.len())?.checked_add(1));
        self.length(total.ok_or(Error::TOOBIG)?)?;
        self.length(states.map_or(0, |_| names.len()))?;
        self.length(names.len())?;
        for (index, name) in names.enumerate() {
            if let Some(states) = states {
                self.number(states.get(index).copied().unwrap_or(0));
            }
            self.length(name.len())?;
            self.padded(name);
        }
        self.finish()
    }

    /// LABEL.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG`.
    pub fn labels<'a>(
        &mut self,
        ident: u32,
        kind: i32,
        sets: impl ExactSizeIterator<Item = LabelSet<'a>> + Clone,
    ) -> Result<()> {
        self.begin(Kind::LABEL, 0);
        self.word(super::decode::label_ident(ident, kind));
        self.number(kind);
        self.number(0);
        self.length(sets.len())?;
        let records: usize = sets.clone().map(|set| 16 + 8 * set.labels.len()).sum();
        let mut place = self.bytes.len().checked_add(records).ok_or(Error::TOOBIG)?;
        for set in sets.clone() {
            self.word(set.inst);
            self.number(set.count);
            self.length(place)?;
            self.length(set.json.len())?;
            for label in set.labels {
                self.bytes.extend_from_slice(&label.name.to_be_bytes());
                self.bytes.extend_from_slice(&[label.name_len, label.flags]);
                self.bytes.extend_from_slice(&label.value.to_be_bytes());
                self.bytes.extend_from_slice(&label.value_len.to_be_bytes());
            }
            place = place.checked_add(set.json.len()).ok_or(Error::TOOBIG)?;
        }
        sets.for_each(|set| self.bytes.extend_from_slice(set.json));
        self.finish()
    }

    /// Starts a RESULT of `metrics` value sets whose entries take `entries` bytes together ([`entry_size`]). The room for
    /// them keeps what was in the buffer before: clearing it would cost as much as writing it, and [`Values::finish`] sees
    /// to it that all of it has been written.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG`.
    pub fn result(&mut self, flags: u32, metrics: usize, entries: usize) -> Result<Values<'_>> {
        let metrics = i32::try_from(metrics).map_err(|_| Error::TOOBIG)?;
        let head = [0, Kind::RESULT.0 as u32, 0, flags, 0, metrics as u32];
        let next = size_of_val(&head);
        let end = next
            .checked_add(entries)
            .filter(|end| i32::try_from(*end).is_ok())
            .ok_or(Error::TOOBIG)?;
        self.bytes.resize(end, 0);
        self.bytes.shrink_to(KEPT);
        for (place, word) in self.bytes.chunks_exact_mut(4).zip(head) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        Ok(Values { reply: self, next, end })
    }
}

/// One label set of a LABEL reply.
#[derive(Clone, Debug)]
pub struct LabelSet<'a> {
    /// The instance.
    pub inst: u32,
    /// The number of labels as the agent gave it; negative is an error code.
    pub count: i32,
    /// The text.
    pub json: &'a [u8],
    /// Where names and values are in the text.
    pub labels: Vec<crate::labels::Place>,
}

/// The size of a value set's entry in a RESULT, in bytes; the blocks come on top.
#[must_use]
pub fn entry_size(numval: i32) -> usize {
    match usize::try_from(numval) {
        Ok(values) if values > 0 => values.saturating_mul(8).saturating_add(12),
        _ => 8,
    }
}

/// The value sets of a RESULT, one after the other: entries in front, blocks behind them (WIRE-50).
#[derive(Debug)]
pub struct Values<'a> {
    reply: &'a mut Reply,
    next: usize,
    end: usize,
}

impl Values<'_> {
    /// The place for the next `size` bytes of entries.
    fn entry(&mut self, size: usize) -> Result<&mut [u8]> {
        let start = self.next;
        let end = start
            .checked_add(size)
            .filter(|end| *end <= self.end)
            .ok_or(Error::GENERIC)?;
        self.next = end;
        self.reply.bytes.get_mut(start..end).ok_or(Error::GENERIC)
    }

    fn head(&mut self, metric: MetricId, values: usize, format: i32) -> Result<&mut [u8]> {
        let count = i32::try_from(values).map_err(|_| Error::TOOBIG)?;
        let entry = self.entry(entry_size(count))?;
        let (head, pairs) = entry.split_at_mut_checked(12).ok_or(Error::GENERIC)?;
        for (place, word) in head.chunks_exact_mut(4).zip([metric.0, count as u32, format as u32]) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        Ok(pairs)
    }

    /// A metric without values: `numval` is 0 or an error code.
    ///
    /// # Errors
    /// `PM_ERR_GENERIC` when there is no room left for it.
    pub fn none(&mut self, metric: MetricId, numval: i32) -> Result<()> {
        let entry = self.entry(8)?;
        for (place, word) in entry.chunks_exact_mut(4).zip([metric.0, numval as u32]) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        Ok(())
    }

    /// Values in place, each with its instance; at least one.
    ///
    /// # Errors
    /// As [`Values::none`].
    pub fn words(
        &mut self,
        metric: MetricId,
        format: i32,
        values: impl ExactSizeIterator<Item = (i32, u32)>,
    ) -> Result<()> {
        let pairs = self.head(metric, values.len(), format)?;
        for (place, (inst, value)) in pairs.chunks_exact_mut(8).zip(values) {
            let pair = u64::from(inst as u32) << 32 | u64::from(value);
            place.copy_from_slice(&pair.to_be_bytes());
        }
        Ok(())
    }

    /// Values as blocks in the order of the host, header included; at least one.
    ///
    /// # Errors
    /// `PM_ERR_GENERIC` for a block that is missing, or shorter than its type or than what it says (WIRE-74, WIRE-75,
    /// WIRE-76); `PM_ERR_TOOBIG`.
    pub fn blocks<'b>(
        &mut self,
        metric: MetricId,
        format: i32,
        values: impl ExactSizeIterator<Item = (i32, Option<&'b [u8]>)>,
    ) -> Result<()> {
        let mut place = self.next.checked_add(12).ok_or(Error::TOOBIG)?;
        self.head(metric, values.len(), format)?;
        for (inst, block) in values {
            let word = u32::try_from(self.reply.bytes.len() / 4).map_err(|_| Error::TOOBIG)?;
            self.block(block.ok_or(Error::GENERIC)?)?;
            let pair = self
                .reply
                .bytes
                .get_mut(place..)
                .and_then(|rest| rest.first_chunk_mut::<8>());
            let value = u64::from(inst as u32) << 32 | u64::from(word);
            *pair.ok_or(Error::GENERIC)? = value.to_be_bytes();
            place += 8;
        }
        Ok(())
    }

    fn block(&mut self, bytes: &[u8]) -> Result<()> {
        let (header, _) = bytes.split_first_chunk::<4>().ok_or(Error::GENERIC)?;
        let header = u32::from_ne_bytes(*header);
        let size = padded(bytes.len()).ok_or(Error::TOOBIG)?;
        let start = self.reply.bytes.len();
        if start.checked_add(size).is_none_or(|end| i32::try_from(end).is_err()) {
            return Err(Error::TOOBIG);
        }
        self.reply.padded(bytes);
        let copy = self
            .reply
            .bytes
            .get_mut(start..start + bytes.len())
            .ok_or(Error::GENERIC)?;
        let (head, payload) = copy.split_at_mut(block::HEADER);
        head.copy_from_slice(&header.to_be_bytes());
        block::exchange(block::kind(header), payload, Direction::Encode).map_err(|_| Error::GENERIC)
    }

    /// The RESULT is complete.
    ///
    /// # Errors
    /// `PM_ERR_GENERIC` when entries are missing; `PM_ERR_TOOBIG`.
    pub fn finish(self) -> Result<()> {
        if self.next != self.end {
            return Err(Error::GENERIC);
        }
        self.reply.finish()
    }
}

/// Whether `bytes` are a PDU with a header whose length is right; used to check what is about to be sent.
#[must_use]
pub fn is_whole(bytes: &[u8]) -> bool {
    bytes.len() >= HEADER && super::count(bytes, 0) == Some(bytes.len())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::labels::Place;

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

    /// WIRE-50: what was in the buffer before does not show in a RESULT, and one with entries missing is refused.
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
        let set = |inst, json: &'static [u8]| LabelSet {
            inst,
            count: i32::from(!json.is_empty()),
            json,
            labels: if json.is_empty() {
                Vec::new()
            } else {
                vec![Place {
                    name: 2,
                    name_len: 4,
                    flags: 0x20,
                    value: 8,
                    value_len: 1,
                }]
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
            |reply| reply.labels(7, 1, [].into_iter()),
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
}
