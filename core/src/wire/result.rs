//! Decodes a RESULT: values to be stored, as a request (WIRE-51).

use super::block::{self, Direction};
use super::{count, number, padded, word};
use crate::constants::{PM_VAL_INSITU, PM_VAL_SPTR};
use crate::error::{Error, Result};
use crate::ident::MetricId;

/// The values of a store. Every place that it names was checked.
#[derive(Clone, Copy, Debug)]
pub struct StoreRequest<'a> {
    pdu: &'a [u8],
    /// Seconds of the time stamp.
    pub sec: i32,
    /// Microseconds of the time stamp.
    pub usec: i32,
    /// The number of metrics.
    pub metrics: usize,
}

/// The values of one metric.
#[derive(Clone, Copy, Debug)]
pub struct MetricValues<'a> {
    /// The metric.
    pub metric: MetricId,
    /// The number of values; without values an error code or 0.
    pub numval: i32,
    /// The format of the values: `PM_VAL_INSITU`, or another one for blocks.
    pub format: i32,
    pairs: &'a [u8],
    pdu: &'a [u8],
}

/// One value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SentValue<'a> {
    /// A number.
    Word(u32),
    /// A block: its header word, and its payload in the order of the wire.
    Block(u32, &'a [u8]),
}

impl SentValue<'_> {
    /// The length of the block in bytes, header included; 0 for a number.
    #[must_use]
    pub const fn block_len(self) -> usize {
        match self {
            SentValue::Word(_) => 0,
            SentValue::Block(_, payload) => block::HEADER + payload.len(),
        }
    }

    /// Writes the block to `out`, in the byte order of the host.
    ///
    /// # Errors
    /// `PM_ERR_IPC` when the block is shorter than its type or than the numbers in it say, or `out`
    /// has another length.
    pub fn write(self, out: &mut [u8]) -> Result<()> {
        let SentValue::Block(header, payload) = self else {
            return Err(Error::IPC);
        };
        let (head, body) = out.split_at_mut_checked(block::HEADER).ok_or(Error::IPC)?;
        if body.len() != payload.len() {
            return Err(Error::IPC);
        }
        head.copy_from_slice(&header.to_ne_bytes());
        body.copy_from_slice(payload);
        block::exchange(block::kind(header), body, Direction::Decode).map_err(|_| Error::IPC)
    }
}

impl<'a> MetricValues<'a> {
    /// The values, each with its instance.
    pub fn values(self) -> impl ExactSizeIterator<Item = (i32, SentValue<'a>)> {
        self.pairs.chunks_exact(8).map(move |pair| {
            let value = word(pair, 4).unwrap_or(0);
            let value = match self.format {
                PM_VAL_INSITU => SentValue::Word(value),
                _ => block_at(self.pdu, value).map_or(SentValue::Block(0, &[]), |(_, header, payload)| {
                    SentValue::Block(header, payload)
                }),
            };
            (number(pair, 0).unwrap_or(0), value)
        })
    }
}

impl<'a> StoreRequest<'a> {
    /// The metrics in order.
    pub fn sets(self) -> impl Iterator<Item = MetricValues<'a>> {
        let mut offset = 24;
        (0..self.metrics).map_while(move |_| {
            let (set, next) = set_at(self.pdu, offset)?;
            offset = next;
            Some(set)
        })
    }
}

/// The entry at byte `offset`, and the place where the next one begins.
fn set_at(pdu: &[u8], offset: usize) -> Option<(MetricValues<'_>, usize)> {
    let metric = MetricId(word(pdu, offset)?);
    let numval = number(pdu, offset.checked_add(4)?)?;
    let start = offset.checked_add(8)?;
    let (format, pairs, end) = match usize::try_from(numval) {
        Ok(values) if values > 0 => {
            let first = start.checked_add(4)?;
            let end = values.checked_mul(8)?.checked_add(first)?;
            (number(pdu, start)?, pdu.get(first..end)?, end)
        }
        _ => (PM_VAL_INSITU, &pdu[..0], start),
    };
    let set = MetricValues {
        metric,
        numval,
        format,
        pairs,
        pdu,
    };
    (PM_VAL_INSITU..=PM_VAL_SPTR).contains(&format).then_some((set, end))
}

/// The block at word `index`: its byte offset, header word and payload.
fn block_at(pdu: &[u8], index: u32) -> Option<(usize, u32, &[u8])> {
    let offset = usize::try_from(index).ok()?.checked_mul(4)?;
    let header = word(pdu, offset)?;
    let size = block::length(header);
    let payload = pdu.get(offset.checked_add(block::HEADER)?..offset.checked_add(size)?)?;
    Some((offset, header, payload))
}

/// Checks a store, as far as its places go. The insides of blocks are checked by
/// [`SentValue::write`].
///
/// # Errors
/// `PM_ERR_IPC`.
pub fn decode(pdu: &[u8]) -> Result<StoreRequest<'_>> {
    check(pdu).ok_or(Error::IPC)
}

/// [`decode`] without its error.
fn check(pdu: &[u8]) -> Option<StoreRequest<'_>> {
    let sec = number(pdu, 12)?;
    let usec = number(pdu, 16)?;
    let metrics = count(pdu, 20)?;
    let mut offset = 24;
    // The blocks fill the rest exactly: the first one begins at its start, and their sizes add up.
    let mut lowest = None;
    let mut total = 0_usize;
    for _ in 0..metrics {
        let (set, next) = set_at(pdu, offset)?;
        offset = next;
        if set.format == PM_VAL_INSITU {
            continue;
        }
        for pair in set.pairs.chunks_exact(8) {
            let (start, header, _) = block_at(pdu, word(pair, 4)?)?;
            lowest = Some(lowest.map_or(start, |lowest: usize| lowest.min(start)));
            total = total.checked_add(padded(block::length(header))?)?;
        }
    }
    if lowest.unwrap_or(offset) != offset || pdu.len().checked_sub(offset)? != total {
        return None;
    }
    Some(StoreRequest {
        pdu,
        sec,
        usec,
        metrics,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wire::encode::tests::hex;

    const EXAMPLE: &str = "00000038 00007001 00000000 00000001 00000002 00000001 3f400005 00000001 00000001 ffffffff \
                           0000000b 0600000b 6e657776 616c007e";

    /// The example is read, with its time stamp in two parts (WIRE-53).
    #[test]
    fn example() {
        let pdu = hex(EXAMPLE);
        let store = decode(&pdu).expect("well formed");
        assert_eq!((store.sec, store.usec, store.metrics), (1, 2, 1));
        let set = store.sets().next().expect("one metric");
        assert_eq!((set.metric.0, set.numval, set.format), (0x3f40_0005, 1, 1));
        let (inst, value) = set.values().next().expect("one value");
        assert_eq!((inst, value), (-1, SentValue::Block(0x0600_000b, b"newval\0")));
        let mut out = [0; 11];
        value.write(&mut out).expect("well formed");
        assert_eq!(out[..4], 0x0600_000b_u32.to_ne_bytes());
        assert_eq!(out[4..], *b"newval\0");
    }

    /// Every change of a length, a count or a place is an error; so are leftovers and gaps
    /// (WIRE-51).
    #[test]
    fn malformed() {
        let pdu = hex(EXAMPLE);
        for (offset, value) in [
            (20, 2),
            (20, -1),
            (28, 2),
            (32, 3),
            (32, -1),
            (40, 10),
            (40, 12),
            (40, -1),
            (44, 3),
            (44, 99),
        ] {
            let mut bad = pdu.clone();
            bad[offset..offset + 4].copy_from_slice(&i32::to_be_bytes(value));
            assert_eq!(decode(&bad).err(), Some(Error::IPC), "{value} at {offset}");
        }
        for cut in 0..pdu.len() {
            assert!(decode(&pdu[..cut]).is_err(), "{cut}");
        }
        assert!(decode(&[&pdu[..], &[0; 4]].concat()).is_err());
    }

    /// Numbers stand in the values themselves, and a metric without values has no format: the next
    /// one follows at once (WIRE-51).
    #[test]
    fn numbers() {
        let pdu = hex(
            "0000003c 00007001 00000000 00000000 00000000 00000002 3f400005 00000000 3f400006 00000002 00000000 00000003 \
             000000ff ffffffff 00000000",
        );
        let store = decode(&pdu).expect("well formed");
        let sets: Vec<_> = store
            .sets()
            .map(|set| (set.metric.0, set.numval, set.values().collect::<Vec<_>>()))
            .collect();
        let values = vec![(3, SentValue::Word(255)), (-1, SentValue::Word(0))];
        assert_eq!(sets, [(0x3f40_0005, 0, vec![]), (0x3f40_0006, 2, values)]);
        assert_eq!(SentValue::Word(255).block_len(), 0);
        for size in [0, 1, 7, 8] {
            assert_eq!(SentValue::Block(0x0600_0000, &[0; 8][..size]).block_len(), 4 + size);
        }
    }

    /// Empty stores, errors in place of values and empty blocks are legal (WIRE-51).
    #[test]
    fn legal() {
        let empty = hex("00000018 00007001 00000000 00000000 00000000 00000000");
        assert_eq!(decode(&empty).expect("empty").sets().count(), 0);
        let error = hex("00000020 00007001 00000000 00000000 00000000 00000001 3f400005 ffffcfba");
        assert_eq!(
            decode(&error).expect("an error").sets().next().expect("one").numval,
            -12358
        );
        let block = hex(
            "00000030 00007001 00000000 00000000 00000000 00000001 3f400005 00000001 00000001 ffffffff 0000000b 06000004",
        );
        assert!(decode(&block).is_ok());
    }

    proptest! {
        /// No bytes make the decoder panic, and a store that it accepts can be read to its end
        /// (WIRE-51, WIRE-71).
        #[test]
        fn any_bytes(at in 12_usize..56, with: u8, tail in proptest::collection::vec(any::<u8>(), 0..30)) {
            let mut pdu = hex(EXAMPLE);
            pdu[at] = with;
            for pdu in [pdu.clone(), [&pdu[..20], &tail].concat()] {
                if let Ok(store) = decode(&pdu) {
                    for (_, value) in store.sets().flat_map(MetricValues::values) {
                        let _ = value.write(&mut vec![0; value.block_len()]);
                    }
                }
            }
        }
    }
}
