//! The text of a cache file: a header, and a record for each instance, read from lines and written
//! to lines. [`super::load`] and [`super::persist`] read and write the file.

use super::entry::{SmallText, find_byte, reserve};
use super::id_list::{MAXIMUM, Mode};
use crate::error::Result;

/// The longest line in bytes. A longer one is no record when a file is read, and no instance with a
/// larger record is written.
pub(super) const LONGEST_LINE: usize = 16 << 20;

/// The first line of a file (CACHE-91).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FileHeader {
    pub(super) mode: Mode,
    pub(super) maximum: u32,
}

/// The line of an instance (CACHE-92).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Record<'l> {
    pub(super) id: u32,
    /// Seconds since the epoch; 0 = not yet written.
    pub(super) stamp: i64,
    /// Pairs of hexadecimal digits; empty without a key.
    pub(super) key: &'l [u8],
    pub(super) name: &'l [u8],
}

/// A record that is not loaded, since its id is above the limit that the agent has set. It stays in
/// the file.
#[derive(Debug)]
pub(super) struct OverLimitRecord {
    pub(super) id: u32,
    pub(super) stamp: i64,
    pub(super) key: SmallText,
    pub(super) name: SmallText,
}

impl Record<'_> {
    /// Replaces the content of `bytes` by the bytes of the key.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn decode_key(&self, bytes: &mut Vec<u8>) -> Result<()> {
        bytes.clear();
        reserve(bytes, self.key.len() / 2)?;
        let pairs = self.key.chunks_exact(2);
        bytes.extend(pairs.map(|pair| digit(pair[0]) << 4 | digit(pair[1])));
        Ok(())
    }
}

/// The value of a hexadecimal digit.
fn digit(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}

/// Returns whether a byte is white space for scanf.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

fn skip_space(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|byte| is_space(**byte)).count();
    &text[blanks..]
}

/// The number at the beginning and the rest. Missing digits are 0 (CACHE-92); `None` if the number
/// is greater than `limit`.
fn digits(text: &[u8], limit: i64) -> Option<(i64, &[u8])> {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = text.split_at(count);
    let step = |sum: i64, digit: &u8| sum.checked_mul(10)?.checked_add(i64::from(digit - b'0'));
    let number = number.iter().try_fold(0, step)?;
    (number <= limit).then_some((number, rest))
}

/// The number at the beginning, as scanf reads it (white space, a sign, digits), and the rest.
fn scanned(text: &[u8]) -> Option<(i64, &[u8])> {
    let text = skip_space(text);
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    text.first().filter(|byte| byte.is_ascii_digit())?;
    let (number, rest) = digits(text, i64::from(MAXIMUM))?;
    Some((if negative { -number } else { number }, rest))
}

/// The header in the first line; `None` if it is a bad one (CACHE-91).
pub(super) fn header(line: &[u8]) -> Option<FileHeader> {
    let (version, rest) = scanned(line)?;
    let (mode, rest) = scanned(rest)?;
    let maximum = match version {
        1 => i64::from(MAXIMUM),
        2 => scanned(rest)?.0,
        _ => return None,
    };
    Some(FileHeader {
        mode: match mode {
            0 => Mode::Monotonic,
            1 => Mode::Reuse,
            _ => return None,
        },
        maximum: u32::try_from(maximum).ok()?,
    })
}

/// The record in a line without its newline; `None` if it is a bad one (CACHE-92).
pub(super) fn record(line: &[u8]) -> Option<Record<'_>> {
    let (id, rest) = digits(skip_space(line), i64::from(MAXIMUM))?;
    let rest = skip_space(rest);
    let (stamp, rest) = digits(rest, i64::MAX)?;
    let rest = skip_space(rest);
    let (key, name) = key(rest).map_or((&[][..], rest), |(key, rest)| (key, after_key(rest)));
    Some(Record {
        id: u32::try_from(id).ok()?,
        stamp,
        key,
        name: (!name.is_empty()).then_some(name)?,
    })
}

/// The name after a key. White space in front of it is skipped; but after the tab of
/// [`write_record`] the rest, white space included, is the name.
fn after_key(rest: &[u8]) -> &[u8] {
    rest.strip_prefix(b"\t").unwrap_or_else(|| skip_space(rest))
}

/// The key in brackets at the beginning and the rest. Anything else in brackets belongs to the name
/// (DEF-9), except for the empty key that [`write_record`] puts in front of a name that begins with
/// a bracket or white space.
fn key(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.strip_prefix(b"[")?;
    let end = find_byte(text, b']')?;
    let (digits, rest) = (&text[..end], &text[end + 1..]);
    let is_empty = match rest {
        [b'\t', next, ..] if is_space(*next) => true,
        [next, ..] => is_space(*next) && skip_space(rest).starts_with(b"["),
        [] => false,
    };
    if digits.is_empty() && is_empty {
        return Some((digits, rest));
    }
    let is_key = !digits.is_empty() && digits.len() % 2 == 0 && digits.iter().all(u8::is_ascii_hexdigit);
    (is_key && rest.first().is_none_or(|byte| is_space(*byte))).then_some((digits, rest))
}

/// Returns whether a file can hold a name: it is not empty, and has no newline (DEF-9).
pub(super) fn is_savable(name: &[u8]) -> bool {
    !name.is_empty() && find_byte(name, b'\n').is_none()
}

/// Appends the first line.
///
/// # Errors
/// `-ENOMEM`.
pub(super) fn write_header(out: &mut Vec<u8>, header: FileHeader) -> Result<()> {
    reserve(out, 64)?;
    out.extend_from_slice(b"2 ");
    out.extend_from_slice(Decimal::new(header.mode as i64).digits());
    out.push(b' ');
    out.extend_from_slice(Decimal::new(i64::from(header.maximum)).digits());
    out.push(b'\n');
    Ok(())
}

/// Appends the line of an instance (CACHE-74).
///
/// A name that begins with a bracket gets an empty key in front if the instance has none. Otherwise
/// the name would be read as a key, or the line as no record at all; the C library reads it
/// correctly in this way, too (DEF-9).
///
/// A name that begins with white space gets a tab in front, after a key that may be empty. The C
/// library never writes such a line; when it reads one, it skips the white space, as it always
/// does.
///
/// # Errors
/// `-ENOMEM`.
pub(super) fn write_record(out: &mut Vec<u8>, id: u32, stamp: &Decimal, key: &[u8], name: &[u8]) -> Result<()> {
    reserve(out, 64 + 2 * key.len() + name.len())?;
    out.extend_from_slice(Decimal::new(i64::from(id)).digits());
    out.push(b' ');
    out.extend_from_slice(stamp.digits());
    let is_indented = name.first().is_some_and(|byte| is_space(*byte));
    if !key.is_empty() {
        out.extend_from_slice(b" [");
        let digit = |value: u8| HEX[usize::from(value)];
        out.extend(key.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]));
        out.push(b']');
    } else if is_indented || name.starts_with(b"[") {
        out.extend_from_slice(b" []");
    }
    out.push(if is_indented { b'\t' } else { b' ' });
    out.extend_from_slice(name);
    out.push(b'\n');
    Ok(())
}

const HEX: &[u8; 16] = b"0123456789abcdef";

/// A number with its decimal digits. A save writes millions of them, so this avoids `fmt`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decimal {
    pub(super) value: i64,
    text: [u8; 20],
    start: usize,
}

impl Decimal {
    pub(super) fn new(value: i64) -> Decimal {
        let mut text = [0; 20];
        let mut start = text.len();
        let mut rest = value.unsigned_abs();
        loop {
            start -= 1;
            text[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if value < 0 {
            start -= 1;
            text[start] = b'-';
        }
        Decimal { value, text, start }
    }

    pub(super) fn digits(&self) -> &[u8] {
        &self.text[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Good headers are read, and bad ones are refused (CACHE-91, DEF-7, DEF-10).
    #[test]
    fn headers() {
        let parsed = |text: &str| header(text.as_bytes()).map(|header| (header.mode as u8, header.maximum));
        assert_eq!(parsed("1 0"), Some((0, MAXIMUM)));
        assert_eq!(parsed(" 2 1 99 more"), Some((1, 99)));
        assert_eq!(parsed("+2 +0 7x"), Some((0, 7)));
        assert_eq!(parsed("2 -0 7"), Some((0, 7)));
        for bad in [
            "",
            "x",
            "0 0",
            "3 0 1",
            "1",
            "2 0",
            "1x 0",
            "1.5 0",
            "1 2",
            "2 0 -1",
            "2 0 2147483648",
            "-1 0",
        ] {
            assert_eq!(parsed(bad), None, "{bad}");
        }
    }

    /// Good records are read, and bad ones are refused (CACHE-92, CACHE-95, DEF-8, DEF-9, DEF-10).
    #[test]
    fn records() {
        let parsed = |text: &'static str| {
            record(text.as_bytes()).map(|r| {
                (
                    r.id,
                    r.stamp,
                    String::from_utf8_lossy(r.key).into_owned(),
                    String::from_utf8_lossy(r.name),
                )
            })
        };
        for (text, id, stamp, key, name) in [
            ("1 5 a b", 1, 5, "", "a b"),
            ("abc def", 0, 0, "", "abc def"),
            ("12abc", 12, 0, "", "abc"),
            ("3 5name", 3, 5, "", "name"),
            ("-5 1 x", 0, 0, "", "-5 1 x"),
            ("01 02 \t x \r", 1, 2, "", "x \r"),
            ("7 5 [aA0f] one", 7, 5, "aA0f", "one"),
            ("7 5[aa] one", 7, 5, "aa", "one"),
            ("[aa] one", 0, 0, "aa", "one"),
            ("7 5 [aa] [bb] x", 7, 5, "aa", "[bb] x"),
            ("7 5 [] x", 7, 5, "", "[] x"),
            ("7 5 [] [aa] x", 7, 5, "", "[aa] x"),
            ("7 5 [] [] x", 7, 5, "", "[] x"),
            ("7 5 []", 7, 5, "", "[]"),
            ("7 5 []\tx", 7, 5, "", "[]\tx"),
            ("7 5 []\t\tx", 7, 5, "", "\tx"),
            ("7 5 []\t  ", 7, 5, "", "  "),
            ("7 5 [aa]\tx", 7, 5, "aa", "x"),
            ("7 5 [aa]\t x", 7, 5, "aa", " x"),
            ("7 5 [abc] x", 7, 5, "", "[abc] x"),
            ("7 5 [zz] x", 7, 5, "", "[zz] x"),
            ("7 5 [aa]x", 7, 5, "", "[aa]x"),
            ("7 5 [aa", 7, 5, "", "[aa"),
            ("7 99999999999 x", 7, 99_999_999_999, "", "x"),
        ] {
            assert_eq!(parsed(text), Some((id, stamp, key.to_owned(), name.into())), "{text}");
        }
        for bad in [
            "",
            "  ",
            "1",
            "1 ",
            "1 2",
            "1 2 ",
            "1 2 [aa]",
            "1 2 [aa] ",
            "2147483648 1 x",
            "4294967296 5 x",
        ] {
            assert_eq!(parsed(bad), None, "{bad}");
        }
    }

    /// Names with brackets or white space in front are read as they were written, with a key and
    /// without one (DEF-9).
    #[test]
    fn brackets() {
        for name in [
            "[aa] x",
            "[] x",
            "[]",
            "[",
            "[zz",
            "[aa]x",
            "[] [] [aa]",
            "]x",
            " ",
            "\t",
            "   ",
            " \t x",
            "\tx ",
            "\x0b[aa] x",
            " [] x",
            "[]\t x",
            "[]\t\tx",
            "[aa]\t x",
            "[aa]\tx",
        ] {
            for key in [&[][..], &[0xbb, 1]] {
                let mut out = Vec::new();
                write_record(&mut out, 3, &Decimal::new(4), key, name.as_bytes()).expect("memory");
                let read = record(out.strip_suffix(b"\n").expect("a line")).expect("a record");
                let mut bytes = Vec::new();
                read.decode_key(&mut bytes).expect("memory");
                assert_eq!((read.id, read.stamp, &*bytes, read.name), (3, 4, key, name.as_bytes()));
            }
        }
    }

    /// A record is written as the C library writes it, and read as it was (CACHE-74).
    #[test]
    fn round_trip() {
        let mut out = Vec::new();
        write_record(
            &mut out,
            910_699_166,
            &Decimal::new(1_795_229_386),
            &[0, 255, 128],
            b"k",
        )
        .expect("memory");
        assert_eq!(out, b"910699166 1795229386 [00ff80] k\n");
        let read = record(&out[..out.len() - 1]).expect("a record");
        assert_eq!(
            (read.id, read.stamp, read.key, read.name),
            (910_699_166, 1_795_229_386, &b"00ff80"[..], &b"k"[..])
        );
    }
}
