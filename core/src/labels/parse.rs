//! Reads the JSON texts of labels.

use super::plain::{self, is_space};
use super::{MAX_DEPTH, MAX_TEXT, Set};
use crate::error::{Error, Result};

/// A text as the parser sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Text {
    /// An object without objects inside: the labels, sorted by name, over the text without white
    /// space.
    Plain(Set),
    /// Something else, for libpcp to judge: the text without the white space beside brackets,
    /// commas and colons, about which libpcp errs (L-6).
    Other(Vec<u8>),
}

/// Reads a JSON text with labels; they get `flags`.
///
/// A plain text is one that can mean only one thing: a complete object of strings, numbers, words
/// and lists of such, with legal and different names (LABEL-32, LABEL-33). `leading_letter`:
/// whether a name must start with a letter, as before PCP 7.2.
///
/// # Errors
/// `-E2BIG` for 65534 bytes and more (LABEL-31); `-EINVAL` for what libpcp gets wrong beyond
/// repair: more than 60 levels (L-8), and lists in lists in a text that is not plain (L-7);
/// `-ENOMEM`.
pub fn parse(text: &[u8], flags: u8, leading_letter: bool) -> Result<Text> {
    if text.len() >= MAX_TEXT {
        return Err(Error::E2BIG);
    }
    match plain::read(text, flags, leading_letter)? {
        Some(set) => Ok(Text::Plain(set)),
        None => other(text).map(Text::Other),
    }
}

/// Prepares a text for libpcp: takes out white space where it separates nothing, so that a wrong
/// text stays as wrong as it is, and refuses what libpcp would get wrong without saying so.
fn other(text: &[u8]) -> Result<Vec<u8>> {
    // It never gets longer.
    let mut short: Vec<u8> = Vec::new();
    short.try_reserve_exact(text.len()).map_err(|_| Error::NOMEM)?;
    let (mut open, mut depth) = ([0; MAX_DEPTH], 0);
    let mut bytes = text.iter().copied().peekable();
    let mut space = false;
    while let Some(byte) = bytes.next() {
        if is_space(byte) {
            space = true;
            continue;
        }
        let separates = short.last().is_some_and(|last| !is_structural(*last)) && !is_structural(byte);
        if space && separates {
            short.push(b' ');
        }
        space = false;
        short.push(byte);
        match byte {
            b'"' => {
                while let Some(inner) = bytes.next() {
                    short.push(inner);
                    match inner {
                        b'"' => break,
                        b'\\' => short.extend(bytes.next()),
                        _ => {}
                    }
                }
            }
            b'[' if depth > 0 && open[depth - 1] == b'[' => return Err(Error::INVAL),
            b'[' | b'{' if depth == MAX_DEPTH => return Err(Error::INVAL),
            b'[' | b'{' => {
                open[depth] = byte;
                depth += 1;
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    // At the end of an unfinished text it ends a number or a word.
    if space && short.last().is_some_and(|last| !is_structural(*last)) {
        short.push(b' ');
    }
    Ok(short)
}

const fn is_structural(byte: u8) -> bool {
    matches!(byte, b'{' | b'}' | b'[' | b']' | b',' | b':')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plain(text: &str) -> Option<String> {
        match parse(text.as_bytes(), 0, true) {
            Ok(Text::Plain(set)) => Some(
                set.iter()
                    .map(|label| {
                        format!(
                            "{}={};",
                            String::from_utf8_lossy(label.name),
                            String::from_utf8_lossy(label.value)
                        )
                    })
                    .collect(),
            ),
            _ => None,
        }
    }

    fn passed_on(text: &str) -> Option<String> {
        match parse(text.as_bytes(), 0, true) {
            Ok(Text::Other(text)) => Some(String::from_utf8(text).unwrap()),
            _ => None,
        }
    }

    /// LABEL-33, LABEL-36, L-6: order, values of every kind, white space.
    #[test]
    fn plain_texts() {
        assert_eq!(plain(r#"{"b":1,"a":"x y"}"#).as_deref(), Some(r#"a="x y";b=1;"#));
        let list = " {\t\"l\" : [ 1 , \"a, b\" ,[ ] , -2.5e+10 ],\n\"n\": null , \"t\":true,\"f\":false } ";
        let expected = r#"f=false;l=[1,"a, b",[],-2.5e+10];n=null;t=true;"#;
        assert_eq!(plain(list).as_deref(), Some(expected));
        assert_eq!(
            plain(r#"{"a":"\n\t\"\\\/\b\f\r\u0041"}"#).as_deref(),
            Some(r#"a="\n\t\"\\\/\b\f\r\u0041";"#)
        );
        assert_eq!(plain(" { } ").as_deref(), Some(""));
    }

    /// LABEL-32, LABEL-33, LABEL-34, LABEL-35: everything else is libpcp's to judge.
    #[test]
    fn other_texts() {
        for text in [
            "",
            "{",
            "{}x",
            "{}{}",
            "[]",
            "[{\"a\":1}]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{,\"a\":1}",
            "{\"a\":{}}",
            "{\"a\":{\"b\":1}}",
            "{\"a\":[{}]}",
            "{\"a\":01}",
            "{\"a\":-}",
            "{\"a\":1.}",
            "{\"a\":1e}",
            "{\"a\":1e+}",
            "{\"a\":.5}",
            "{\"a\":tru}",
            "{\"a\":\"\\x\"}",
            "{\"a\":\"\t\"}",
            "{\"a\":\"",
            "{\"a\":\"\\",
            "{\"a\":[1,]}",
            "{\"a\":[1",
            "{\"a\":1e",
            "{\"a\":-",
            "{\"a\":1,\"b\":2,\"a\":3}",
            "{\"1\":1}",
            "{\"_a\":1}",
            "{\"a.b\":1}",
            "{\"\":1}",
            "{\"a-b\":1}",
            "{'a':1}",
        ] {
            assert!(passed_on(text).is_some(), "{text}");
        }
        let name = "n".repeat(255);
        assert!(passed_on(&format!("{{\"{name}\":1}}")).is_some());
        assert!(plain(&format!("{{\"{}\":1}}", &name[1..])).is_some());
    }

    /// LABEL-32: since PCP 7.2 a name starts with anything that it may contain.
    #[test]
    fn names_of_pcp_7() {
        for name in ["1", "_a", "9_"] {
            let text = format!("{{\"{name}\":1}}");
            assert!(matches!(parse(text.as_bytes(), 0, false), Ok(Text::Plain(_))), "{name}");
        }
        assert!(matches!(parse(b"{\"a.b\":1}", 0, false), Ok(Text::Other(_))));
    }

    /// L-6: white space that separates nothing goes, the rest stays, and strings are left alone.
    #[test]
    fn white_space_for_libpcp() {
        let text = " { \"a\" : { \"b\\\" [\" : [ 1 , 2  3 ] } } x ";
        assert_eq!(passed_on(text).as_deref(), Some("{\"a\":{\"b\\\" [\":[1,2 3]}}x "));
        assert_eq!(passed_on(" ").as_deref(), Some(""));
    }

    /// L-7, L-8, LABEL-31: what is refused outright.
    #[test]
    fn refused() {
        assert_eq!(parse(b"{\"a\":{\"b\":[[1]]}}", 0, true), Err(Error::INVAL));
        let nested = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
        assert!(passed_on(&nested(60)).is_some());
        assert_eq!(parse(nested(61).as_bytes(), 0, true), Err(Error::INVAL));
        let listed = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert!(plain(&listed(59)).is_some());
        assert_eq!(parse(listed(60).as_bytes(), 0, true), Err(Error::INVAL));
        let long = |size: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(size - 8));
        assert!(plain(&long(65533)).is_some());
        assert_eq!(parse(long(65534).as_bytes(), 0, true), Err(Error::E2BIG));
    }

    /// LABEL-31: 255 labels are plain, one more is for libpcp to refuse.
    #[test]
    fn number_of_labels() {
        let text = |count: usize| {
            let members: Vec<_> = (0..count).map(|number| format!("\"n{number}\":{number}")).collect();
            format!("{{{}}}", members.join(","))
        };
        assert!(plain(&text(255)).is_some());
        assert!(passed_on(&text(256)).is_some());
    }

    proptest! {
        /// Whatever comes in is read to its end, and a text for libpcp holds no white space beside
        /// brackets.
        #[test]
        fn any_text(text in r#"[ \t{}\[\],:"\\a-c0-2._eE+-]{0,60}"#) {
            if let Ok(Text::Other(short)) = parse(text.as_bytes(), 0, false) {
                prop_assert!(short.len() <= text.len());
                prop_assert_eq!(other(&short), Ok(short));
            }
        }

        /// LABEL-33, LABEL-36: white space between tokens changes nothing, and what is read can be
        /// read again.
        #[test]
        fn read_again(
            members in proptest::collection::btree_map(
                "[a-z][a-z0-9_]{0,8}",
                r#"-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?|"([ -!#-\[\]-~]|\\[nrt"\\/])*"|true|false|null|\[\]"#,
                0..12,
            ),
            space in "[ \t\n]{0,3}",
        ) {
            let list: Vec<_> = members
                .iter()
                .map(|(name, value)| format!("{space}\"{name}\"{space}:{space}{value}{space}"))
                .collect();
            let Ok(Text::Plain(set)) = parse(format!("{space}{{{}}}{space}", list.join(",")).as_bytes(), 4, true) else {
                return Err(TestCaseError::fail("not plain"));
            };
            let expected: Vec<_> = members.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes(), 4)).collect();
            let found: Vec<_> = set.iter().map(|label| (label.name, label.value, label.flags)).collect();
            prop_assert_eq!(found, expected);
            prop_assert!(set.labels.is_empty() || parse(&set.json, 4, true) == Ok(Text::Plain(set.clone())));
        }
    }
}
