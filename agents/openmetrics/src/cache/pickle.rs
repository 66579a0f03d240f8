//! The form of the files that PCP's agent keeps its numbers in: two values of Python, a list of
//! texts and a truth value, one after the other, as `pickle` writes them with protocol 0.
//!
//! ```text
//! (lp0          a list begins, and is remembered as 0
//! Vcontrol      a text up to the end of the line
//! p1            it is remembered as 1
//! aVsimple      the first text belongs to the list; the next one
//! p2
//! a.            it does, too; the value ends
//! I00           false
//! .
//! ```
//!
//! A pickle is a program for a stack machine. [`read`] runs the instructions that make lists, texts
//! and truth values in protocols 0 to 4. It refuses all others: those that call a function would
//! let a file execute code.

use std::io::{BufWriter, Write};
use std::rc::Rc;

/// The most values that are on the stack at a time. Python puts up to a thousand there, and then
/// adds them to the list.
const STACK: usize = 4096;

/// The most bytes of memory that reading a file of names takes for each of its bytes: names of a
/// letter, each in four lists.
pub const MEMORY: usize = 24;

/// The number of bytes that the texts of the list may have beyond those of the file: a text that is
/// not ASCII takes more, and so does one that the list has more than once.
const MORE: usize = 1 << 20;

/// The name of a number whose own name was forgotten: no document has it, and for programs in C it
/// is empty.
pub const FORGOTTEN: &str = "\0\0";

/// The most bytes of a file that a forgotten name takes, but for the first: `g`, a number of ten
/// digits, `\n` and `a`.
pub const FORGOTTEN_SIZE: usize = 13;

/// Write size in bytes.
const PIECE: usize = 64 << 10;

/// The first bytes of a file that [`write()`] makes.
const BEGIN: &[u8] = b"(lp0\n";

/// The number of bytes after the names.
pub const END: usize = 6;

/// The most bytes of a file beside its names: its two ends, and the first forgotten name.
pub const FRAME: usize = BEGIN.len() + END + 32;

/// The content of a file: names, and how clients see those of instances.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Names {
    /// In the order of their numbers, from 0; `None` for one that was forgotten.
    pub list: Vec<Option<String>>,
    /// True if clients see the number of each instance in front of its name.
    pub has_prefix: bool,
}

/// Writes names as PCP's agent does, in pieces: there may be more of them than the agent remembers.
///
/// # Errors
/// What the system says.
pub fn write<'n>(
    out: &mut impl Write,
    names: impl IntoIterator<Item = &'n str>,
    has_prefix: bool,
) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(PIECE, out);
    out.write_all(BEGIN)?;
    add(&mut out, 0, names, has_prefix)?;
    out.flush()
}

/// The bytes that replace the last [`END`] bytes of a file with `count` names, so that these names
/// follow.
#[must_use]
pub fn more<'n>(count: u32, names: impl IntoIterator<Item = &'n str>, has_prefix: bool) -> Vec<u8> {
    let mut out = Vec::new();
    // Memory takes all.
    let _ = add(&mut out, count, names, has_prefix);
    out
}

fn add<'n>(
    out: &mut impl Write,
    count: u32,
    names: impl IntoIterator<Item = &'n str>,
    has_prefix: bool,
) -> std::io::Result<()> {
    let mut forgotten = None;
    for (number, name) in (count + 1..).zip(names) {
        if name == FORGOTTEN {
            if let Some(first) = forgotten {
                write!(out, "g{first}\na")?;
                continue;
            }
            forgotten = Some(number);
        }
        out.write_all(b"V")?;
        escape(out, name)?;
        write!(out, "\np{number}\na")?;
    }
    let end: &[u8; END] = if has_prefix { b".I01\n." } else { b".I00\n." };
    out.write_all(end)
}

/// The most bytes of a file that a name takes: itself, and what [`add`] writes around it, with a
/// number of ten digits.
#[must_use]
pub fn size(name: &str) -> usize {
    let escaped = name.chars().map(|character| match (character, u32::from(character)) {
        ('\\' | '\0' | '\n' | '\r' | '\x1a', _) => 6,
        (_, 0..=0xff) => 1,
        (_, 0..=0xffff) => 6,
        _ => 10,
    });
    escaped.sum::<usize>() + "V\np0123456789\na".len()
}

/// Latin-1, with escapes for other characters, and for characters that would end the text.
fn escape(out: &mut impl Write, name: &str) -> std::io::Result<()> {
    let is_plain = |byte: u8| (b' '..0x7f).contains(&byte) && byte != b'\\';
    if name.bytes().all(is_plain) {
        return out.write_all(name.as_bytes());
    }
    for character in name.chars() {
        let code = u32::from(character);
        match (character, u8::try_from(code)) {
            ('\\' | '\0' | '\n' | '\r' | '\x1a', _) => write!(out, "\\u{code:04x}")?,
            (_, Ok(byte)) => out.write_all(&[byte])?,
            _ if code <= 0xffff => write!(out, "\\u{code:04x}")?,
            _ => write!(out, "\\U{code:08x}")?,
        }
    }
    Ok(())
}

/// Reads such a file. One without the truth value is an older one.
///
/// # Errors
/// What is wrong with it, and where.
pub fn read(file: &[u8]) -> Result<Names, String> {
    let mut reader = Reader {
        rest: file,
        memo: Vec::new(),
        has_remembered: false,
    };
    let text = |value| match value {
        Value::Text(text) => Some(text),
        _ => None,
    };
    let at = |reader: &Reader<'_>| file.len() - reader.rest.len();
    let Some(Value::List(list)) = reader.value() else {
        return Err(format!("no list of names at byte {}", at(&reader)));
    };
    let list: Option<Vec<Rc<str>>> = list.into_iter().map(text).collect();
    let list = list.ok_or("something in the list is no text")?;
    let size = list.iter().try_fold(0_usize, |sum, text| sum.checked_add(text.len()));
    if size.is_none_or(|size| size > file.len().saturating_mul(2).saturating_add(MORE)) {
        return Err("its texts are meant again too often".to_owned());
    }
    let list = list.iter().map(|text| match &**text {
        FORGOTTEN => None,
        text => Some(text.to_owned()),
    });
    let list = list.collect();
    if reader.rest.is_empty() {
        return Ok(Names {
            list,
            has_prefix: false,
        });
    }
    reader.memo.clear();
    match reader.value() {
        Some(Value::Bool(has_prefix)) => Ok(Names { list, has_prefix }),
        _ => Err(format!("no truth value at byte {}", at(&reader))),
    }
}

/// The names of a file of [`write()`] without its end, as a host that has lost its power may leave
/// one to which names were added. `None` if it has none.
#[must_use]
pub fn rescue(file: &[u8]) -> Option<Names> {
    // A name has no newline.
    let last = memchr::memmem::rfind(file, b"\na")?;
    let names = file.get(..last + 2).filter(|names| names.starts_with(BEGIN))?;
    read(&[names, b".I00\n."].concat()).ok()
}

#[derive(Clone, Debug)]
enum Value {
    Mark,
    List(Vec<Value>),
    Text(Rc<str>),
    Bool(bool),
}

struct Reader<'f> {
    rest: &'f [u8],
    /// Texts that later instructions may push again, by their numbers; Python counts them upwards.
    memo: Vec<(u32, Rc<str>)>,
    /// The last instruction has remembered a value; none does so twice.
    has_remembered: bool,
}

impl<'f> Reader<'f> {
    /// Reads one value, up to the end of its pickle. `None` if an instruction is unknown or does
    /// not fit.
    fn value(&mut self) -> Option<Value> {
        let mut stack: Vec<Value> = Vec::new();
        loop {
            if stack.len() > STACK {
                return None;
            }
            let instruction = *self.bytes(1)?.first()?;
            let remembers = matches!(instruction, b'p' | b'q' | b'r' | b'\x94');
            if remembers && self.has_remembered {
                return None;
            }
            self.has_remembered = remembers;
            match instruction {
                b'.' => return if stack.len() == 1 { stack.pop() } else { None },
                b'(' => stack.push(Value::Mark),
                b']' => stack.push(Value::List(Vec::new())),
                b'l' => {
                    let items = above_mark(&mut stack)?;
                    stack.push(Value::List(items));
                }
                b'a' => {
                    let item = stack.pop()?;
                    let Some(Value::List(list)) = stack.last_mut() else {
                        return None;
                    };
                    list.push(item);
                }
                b'e' => {
                    let items = above_mark(&mut stack)?;
                    let Some(Value::List(list)) = stack.last_mut() else {
                        return None;
                    };
                    list.extend(items);
                }
                b'V' => {
                    let line = self.line()?;
                    stack.push(Value::Text(unescape(line)?.into()));
                }
                b'X' => stack.push(self.text(4)?),
                b'\x8c' => stack.push(self.text(1)?),
                b'\x88' => stack.push(Value::Bool(true)),
                b'\x89' => stack.push(Value::Bool(false)),
                b'I' => {
                    let value = match self.line()? {
                        b"01" => true,
                        b"00" => false,
                        _ => return None,
                    };
                    stack.push(Value::Bool(value));
                }
                b'p' => {
                    let number = decimal(self.line()?)?;
                    self.remember(number, &stack);
                }
                b'q' => {
                    let number = self.number(1)?;
                    self.remember(number, &stack);
                }
                b'r' => {
                    let number = self.number(4)?;
                    self.remember(number, &stack);
                }
                b'\x94' => {
                    let number = u32::try_from(self.memo.len()).ok()?;
                    self.remember(number, &stack);
                }
                b'g' => {
                    let number = decimal(self.line()?)?;
                    stack.push(self.remembered(number)?);
                }
                b'h' => {
                    let number = self.number(1)?;
                    stack.push(self.remembered(number)?);
                }
                b'\x80' => drop(self.bytes(1)?),
                b'\x95' => drop(self.bytes(8)?),
                _ => return None,
            }
        }
    }

    fn bytes(&mut self, count: usize) -> Option<&'f [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(bytes)
    }

    /// The bytes up to the end of the line, which is skipped.
    fn line(&mut self) -> Option<&'f [u8]> {
        let end = self.rest.iter().position(|byte| *byte == b'\n')?;
        let line = self.bytes(end)?;
        self.bytes(1)?;
        Some(line)
    }

    /// A little-endian number of `width` bytes, 4 at most.
    fn number(&mut self, width: usize) -> Option<u32> {
        let bytes = self.bytes(width)?;
        Some(
            bytes
                .iter()
                .rev()
                .fold(0, |number, byte| number << 8 | u32::from(*byte)),
        )
    }

    /// A text in UTF-8, which follows its length of `width` bytes.
    fn text(&mut self, width: usize) -> Option<Value> {
        let length = usize::try_from(self.number(width)?).ok()?;
        let text = std::str::from_utf8(self.bytes(length)?).ok()?;
        Some(Value::Text(text.into()))
    }

    fn remember(&mut self, number: u32, stack: &[Value]) {
        let text = match stack.last() {
            Some(Value::Text(text)) => Rc::clone(text),
            // No file pushes a list again; its place only counts.
            _ => "".into(),
        };
        self.memo.push((number, text));
    }

    fn remembered(&self, number: u32) -> Option<Value> {
        let position = self.memo.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        self.memo.get(position).map(|(_, text)| Value::Text(Rc::clone(text)))
    }
}

/// Takes the values above the last mark from the stack, and the mark.
fn above_mark(stack: &mut Vec<Value>) -> Option<Vec<Value>> {
    let mark = stack.iter().rposition(|value| matches!(value, Value::Mark))?;
    let items = stack.split_off(mark + 1);
    stack.pop();
    Some(items)
}

fn decimal(digits: &[u8]) -> Option<u32> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Latin-1 with the escapes `\uXXXX` and `\UXXXXXXXX`.
fn unescape(line: &[u8]) -> Option<String> {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((first, behind)) = rest.split_first() {
        let digits = match (first, behind.first()) {
            (b'\\', Some(b'u')) => behind.get(1..5),
            (b'\\', Some(b'U')) => behind.get(1..9),
            _ => {
                text.push(char::from(*first));
                rest = behind;
                continue;
            }
        };
        let digits = std::str::from_utf8(digits?).ok()?;
        text.push(char::from_u32(u32::from_str_radix(digits, 16).ok()?)?);
        rest = behind.get(1 + digits.len()..)?;
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str], has_prefix: bool) -> Names {
        Names {
            list: list.iter().map(|name| Some((*name).to_owned())).collect(),
            has_prefix,
        }
    }

    fn written<'n>(names: impl IntoIterator<Item = &'n str>, has_prefix: bool) -> Vec<u8> {
        let mut file = Vec::new();
        write(&mut file, names, has_prefix).expect("memory takes all");
        file
    }

    /// Written by Python 3.11.
    const PYTHON: &[u8] = b"(lp0\nVcontrol\np1\naVa\\u005cb\\u000ac\np2\naV\xe4\\u20ac\\U0001f600\np3\na.I01\n.";

    #[test]
    fn as_python_writes_it() {
        let expected = names(&["control", "a\\b\nc", "\u{e4}\u{20ac}\u{1f600}"], true);
        assert_eq!(read(PYTHON), Ok(expected.clone()));
        let list = expected.list.iter().flatten().map(String::as_str);
        assert_eq!(written(list, true), PYTHON);
        let slashes = b"(lp0\nV\\u005c\\u005c\np1\naV\\u0000\\u000d\\u001a\x7f \np2\na.I00\n.";
        let list = ["\\\\", "\0\r\x1a\x7f "];
        assert_eq!(written(list, false), slashes);
        assert_eq!(read(slashes), Ok(names(&list, false)));
    }

    #[test]
    fn later_protocols_and_older_files() {
        // pickle.dumps(["a", "b"], 2), and with protocol 4 behind it True.
        let two = b"\x80\x02]q\x00(X\x01\x00\x00\x00aq\x01X\x01\x00\x00\x00bq\x02e.";
        assert_eq!(read(two), Ok(names(&["a", "b"], false)));
        let four = b"\x80\x04\x95\x0c\x00\x00\x00\x00\x00\x00\x00]\x94(\x8c\x01a\x94\x8c\x01b\x94e.\x80\x04\x88.";
        assert_eq!(read(four), Ok(names(&["a", "b"], true)));
        assert_eq!(read(b"(lp0\nVx\np1\nag1\na."), Ok(names(&["x", "x"], false)));
        assert_eq!(read(b"(lp0\n.I00\n."), Ok(names(&[], false)));
        let two = b"\x80\x02]q\x00X\x01\x00\x00\x00aq\x05ah\x05a.\x80\x02\x89.";
        assert_eq!(read(two), Ok(names(&["a", "a"], false)));
        // A text of 0x12c bytes, remembered under 0x12d.
        let text = "x".repeat(300);
        let begin = b"\x80\x02]q\x00X\x2c\x01\x00\x00";
        let long = [begin, text.as_bytes(), b"r\x2d\x01\x00\x00ag301\na.\x80\x02\x88."].concat();
        assert_eq!(read(&long), Ok(names(&[&*text, &*text], true)));
    }

    /// Each name keeps its number, however many names before it were forgotten (OM-72).
    #[test]
    fn forgotten_names() {
        let list = ["a", FORGOTTEN, "b", FORGOTTEN, FORGOTTEN, "c"];
        let file = written(list, false);
        assert_eq!(
            file,
            b"(lp0\nVa\np1\naV\\u0000\\u0000\np2\naVb\np3\nag2\nag2\naVc\np6\na.I00\n."
        );
        let expected = list.map(|name| (name != FORGOTTEN).then(|| name.to_owned()));
        assert_eq!(read(&file).expect("a file").list, expected);
        let many = written(std::iter::repeat_n(FORGOTTEN, 3_000_000), true);
        assert_eq!(read(&many).expect("a file").list.len(), 3_000_000);
    }

    /// Reading a file takes hardly more memory than the file has bytes (OM-72).
    #[test]
    fn small_files_stay_small() {
        let text = "x".repeat(500_000);
        let again = |count: usize| format!("(lp0\nV{text}\np1\na{}.", "g1\na".repeat(count));
        assert_eq!(read(again(2).as_bytes()).map(|names| names.list.len()), Ok(3));
        assert!(read(again(100_000).as_bytes()).is_err());
        let remembered = format!("(lp0\nV{text}\n{}a.", "p1\n".repeat(100_000));
        assert!(read(remembered.as_bytes()).is_err());
        assert!(read(&vec![b'('; 10_000_000]).is_err());
    }

    #[test]
    fn what_is_no_such_file() {
        for end in 0..PYTHON.len() {
            let outcome = read(&PYTHON[..end]);
            // A file that ends after its first value is one of an older release.
            assert_eq!(outcome.is_ok(), PYTHON[..end].ends_with(b"a."), "{end}");
        }
        for file in [
            &b"cos\nsystem\n(Vtrue\ntR."[..],
            b".",
            b"a.",
            b"l.",
            b"(lp0\n(a.",
            b"Vx\n.",
            b"h\x00.",
            b"V\\uXYZ1\n.",
        ] {
            assert!(read(file).is_err(), "{file:?}");
        }
        for (file, reason) in [
            (&b"(lp0\nc"[..], "no list of names at byte 6"),
            (b"I01\n.more", "no list of names at byte 5"),
            (b"(lp0\n.x", "no truth value at byte 7"),
            (b"(lp0\nI01\na.", "something in the list is no text"),
        ] {
            assert_eq!(read(file), Err(reason.to_owned()), "{file:?}");
        }
    }
}
