//! Content codings: what a server has packed (OM-97).

use std::io::Read;
use std::sync::Arc;

use flate2::bufread::{DeflateDecoder, GzDecoder, ZlibDecoder};

use crate::fetch::document::{Document, Memory};
use crate::limits;

/// The codings that requests accept.
pub(in crate::fetch) const ACCEPTED: &str = "gzip, deflate";

/// The first bytes of data that gzip has packed.
const GZIP: &[u8] = &[0x1f, 0x8b];

/// A way of packing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::fetch) enum Coding {
    Gzip,
    Deflate,
}

/// The codings of a header, in the order in which they were applied.
///
/// # Errors
/// Which one is not known.
pub(in crate::fetch) fn named(header: &str) -> Result<Vec<Coding>, String> {
    let mut codings = Vec::new();
    for word in header.split(',').map(|word| word.trim().to_ascii_lowercase()) {
        match word.as_str() {
            "" | "identity" => {}
            "gzip" | "x-gzip" => codings.push(Coding::Gzip),
            "deflate" => codings.push(Coding::Deflate),
            _ => return Err(format!("the document is packed by {word}, which was not asked for")),
        }
        if codings.len() > limits::CODINGS {
            return Err(format!("the document is packed more than {} times", limits::CODINGS));
        }
    }
    Ok(codings)
}

/// Unpacks a document. `None` if it, or what it is packed in, has more than `most` bytes.
///
/// # Errors
/// Why not.
pub(in crate::fetch) fn unpack(
    packed: &Document,
    codings: &[Coding],
    memory: &Arc<Memory>,
    most: usize,
) -> Result<Option<Document>, String> {
    let mut document = Document::new(memory);
    for (number, coding) in codings.iter().rev().enumerate() {
        let packed = if number == 0 { packed.bytes() } else { document.bytes() };
        // Nothing, packed by a server that did not look, is nothing.
        if packed.is_empty() {
            break;
        }
        let unpacked = match coding {
            Coding::Gzip => gzip(packed, memory, most)?,
            Coding::Deflate => deflate(packed, memory, most)?,
        };
        match unpacked {
            Some(unpacked) => document = unpacked,
            None => return Ok(None),
        }
    }
    Ok(Some(document))
}

/// Several that follow each other are one; what follows them, such as zeros, counts for nothing.
fn gzip(packed: &[u8], memory: &Arc<Memory>, most: usize) -> Result<Option<Document>, String> {
    let mut document = Document::new(memory);
    let mut rest = packed;
    for _ in 0..limits::PARTS {
        let mut decoder = GzDecoder::new(rest);
        if !read(&mut document, &mut decoder, "gzip", most)? {
            return Ok(None);
        }
        rest = decoder.into_inner();
        if !rest.starts_with(GZIP) {
            return Ok(Some(document));
        }
    }
    Err(format!("the document is packed in more than {} parts", limits::PARTS))
}

/// With the head of zlib, or without, as some servers have it.
fn deflate(packed: &[u8], memory: &Arc<Memory>, most: usize) -> Result<Option<Document>, String> {
    let mut document = Document::new(memory);
    let has_head = matches!(packed, [first, second, ..]
        if first & 0x0f == 8 && (u16::from(*first) << 8 | u16::from(*second)) % 31 == 0);
    let is_whole = if has_head {
        read(&mut document, &mut ZlibDecoder::new(packed), "deflate", most)?
    } else {
        read(&mut document, &mut DeflateDecoder::new(packed), "deflate", most)?
    };
    Ok(is_whole.then_some(document))
}

/// Reads to the end, or until the document has more than `most` bytes: then it returns false.
fn read(document: &mut Document, decoder: &mut dyn Read, coding: &str, most: usize) -> Result<bool, String> {
    while document.bytes().len() <= most {
        let read = document.read_from(decoder);
        if read.map_err(|reason| format!("the document cannot be unpacked by {coding}: {reason}"))? == 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `x 1` and a line end.
    const PACKED: &[u8] = &[
        0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 0xff, 0xab, 0x50, 0x30, 0xe4, 2, 0, 0x23, 0xff, 0xa, 0x91, 4, 0, 0, 0,
    ];
    const RAW: &[u8] = &[0xab, 0x50, 0x30, 0xe4, 2, 0];

    fn unpacked(header: &str, packed: &[u8]) -> Result<String, String> {
        let memory = Memory::limited(1 << 20, 1 << 17);
        let mut document = Document::new(&memory);
        document.push(packed)?;
        let codings = named(header)?;
        if codings.is_empty() {
            return Ok(String::from_utf8_lossy(document.bytes()).into_owned());
        }
        let document = unpack(&document, &codings, &memory, usize::MAX)?.expect("no limit");
        Ok(String::from_utf8_lossy(document.bytes()).into_owned())
    }

    #[test]
    fn codings() {
        let zlib = [&[0x78, 0x9c], RAW, &[0x02, 0xb0, 0x00, 0xd4]].concat();
        let padded = [PACKED, &[0; 100]].concat();
        let mut twice = Vec::new();
        let mut packer = flate2::read::DeflateEncoder::new(PACKED, flate2::Compression::fast());
        packer.read_to_end(&mut twice).expect("packed");
        for (header, packed, text) in [
            ("GZIP", PACKED, "x 1\n"),
            ("x-gzip", PACKED, "x 1\n"),
            ("identity, gzip", PACKED, "x 1\n"),
            ("gzip", &padded, "x 1\n"),
            ("gzip", &[PACKED, PACKED].concat(), "x 1\nx 1\n"),
            ("gzip", b"", ""),
            ("deflate", b"", ""),
            ("deflate", RAW, "x 1\n"),
            ("deflate", &zlib, "x 1\n"),
            // The last one was applied last.
            ("gzip, deflate", &twice, "x 1\n"),
            ("", b"x", "x"),
        ] {
            assert_eq!(unpacked(header, packed).as_deref(), Ok(text), "{header}");
        }
    }

    /// Work that takes long stops, whichever of the codings has more bytes.
    #[test]
    fn what_is_unpacked_at_once() {
        let memory = Memory::new();
        let pack = |bytes: &[u8]| {
            let mut packed = Vec::new();
            let mut packer = flate2::read::GzEncoder::new(bytes, flate2::Compression::best());
            packer.read_to_end(&mut packed).expect("packed");
            packed
        };
        let noise: Vec<u8> = (0..30_000_u32).map(|number| ((number * number) >> 7) as u8).collect();
        let codings = named("gzip, gzip").expect("known");
        for (text, most, is_whole) in [
            (&noise[..], 40_000, true),
            (&noise, 29_999, false),
            (&[0; 30_000], 40_000, true),
            (&[0; 30_000], 29_999, false),
        ] {
            let mut document = Document::new(&memory);
            document.push(&pack(&pack(text))).expect("not too large");
            let unpacked = unpack(&document, &codings, &memory, most).expect("packed");
            assert_eq!(unpacked.is_some(), is_whole, "{most}");
            assert!(unpacked.is_none_or(|document| document.bytes() == text));
        }
    }

    #[test]
    fn what_cannot_be_unpacked() {
        let expected = Err("the document is packed by br, which was not asked for".to_owned());
        assert_eq!(unpacked("br", b"x"), expected);
        for (header, packed) in [
            ("gzip", &b"x 1\n"[..]),
            ("gzip", &PACKED[..15]),
            ("deflate", b"\xff\xff\xff"),
            ("deflate", &RAW[..2]),
        ] {
            let error = unpacked(header, packed).expect_err("broken");
            assert!(error.starts_with("the document cannot be unpacked by "), "{error}");
        }
        let most = PACKED.repeat(limits::PARTS);
        assert_eq!(unpacked("gzip", &most).map(|text| text.len()), Ok(4 * limits::PARTS));
        let error = unpacked("gzip", &[&*most, PACKED].concat()).expect_err("too many");
        assert_eq!(error, "the document is packed in more than 4096 parts");
        let named = |count: usize| named(&vec!["gzip"; count].join(","));
        assert_eq!(named(limits::CODINGS).map(|codings| codings.len()), Ok(limits::CODINGS));
        let error = named(limits::CODINGS + 1).expect_err("too many");
        assert_eq!(error, "the document is packed more than 5 times");
        let bomb = {
            let mut packer =
                flate2::read::GzEncoder::new(std::io::repeat(b'x').take(1 << 20), flate2::Compression::best());
            let mut packed = Vec::new();
            packer.read_to_end(&mut packed).expect("packed");
            packed
        };
        assert!(
            unpacked("gzip", &bomb)
                .expect_err("too large")
                .contains("more than 131072 bytes")
        );
    }
}
