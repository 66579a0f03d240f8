use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Option<String> {
    match parse(text.as_bytes(), 0, true) {
        Ok(ParsedText::Plain(set)) => Some(
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
        Ok(ParsedText::Other(text)) => Some(String::from_utf8(text).unwrap()),
        _ => None,
    }
}

/// Labels come in order, with values of every kind, and white space does not matter (LABEL-33,
/// LABEL-36, L-6).
#[test]
fn plain_texts() {
    assert_eq!(read(r#"{"b":1,"a":"x y"}"#).as_deref(), Some(r#"a="x y";b=1;"#));
    let list = " {\t\"l\" : [ 1 , \"a, b\" ,[ ] , -2.5e+10 ],\n\"n\": null , \"t\":true,\"f\":false } ";
    let expected = r#"f=false;l=[1,"a, b",[],-2.5e+10];n=null;t=true;"#;
    assert_eq!(read(list).as_deref(), Some(expected));
    assert_eq!(
        read(r#"{"a":"\n\t\"\\\/\b\f\r\u0041"}"#).as_deref(),
        Some(r#"a="\n\t\"\\\/\b\f\r\u0041";"#)
    );
    assert_eq!(read(" { } ").as_deref(), Some(""));
}

/// A run of one byte means what it means, however long it is: control characters and quotes end
/// what is plain, and backslashes are pairs.
#[test]
fn runs() {
    for byte in (0..=127).map(char::from) {
        for length in 1..40 {
            let run = byte.to_string().repeat(length);
            let is_plain = match byte {
                '"' | '\0'..' ' => false,
                '\\' => length % 2 == 0,
                _ => true,
            };
            for text in [
                format!("{{\"a\":\"{run}\"}}"),
                format!("{{\"a\":\"{}{run}\"}}", "x".repeat(16)),
            ] {
                assert_eq!(read(&text).is_some(), is_plain, "{length} times {byte:?}");
            }
        }
    }
}

/// All other texts are left to libpcp (LABEL-32, LABEL-33, LABEL-34, LABEL-35).
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
    assert!(read(&format!("{{\"{}\":1}}", &name[1..])).is_some());
}

/// Names that begin with a digit or an underscore are legal since PCP 7.2 (LABEL-32).
#[test]
fn names_of_pcp_7() {
    for name in ["1", "_a", "9_"] {
        let text = format!("{{\"{name}\":1}}");
        assert!(
            matches!(parse(text.as_bytes(), 0, false), Ok(ParsedText::Plain(_))),
            "{name}"
        );
    }
    assert!(matches!(parse(b"{\"a.b\":1}", 0, false), Ok(ParsedText::Other(_))));
}

/// White space that separates nothing is taken out, and strings stay as they are (L-6).
#[test]
fn white_space_for_libpcp() {
    let text = " { \"a\" : { \"b\\\" [\" : [ 1 , 2  3 ] } } x ";
    assert_eq!(passed_on(text).as_deref(), Some("{\"a\":{\"b\\\" [\":[1,2 3]}}x "));
    assert_eq!(passed_on(" ").as_deref(), Some(""));
}

/// Since PCP 7.2, a list in a list is refused only in a value that libpcp keeps (LABEL-32, L-7).
#[test]
fn lists_in_lists_of_pcp_7() {
    let judged = |text: &str| parse(text.as_bytes(), 0, false);
    for text in [
        r#"{"bad-1":[[1,2],[3]],"ok":"yes"}"#,
        r#"{"ok":"yes","bad-1":[[1,2],[3]]}"#,
        r#"{"ok":"b\"","bad-1":{"b":[[1]]}}"#,
        r#"{"a":{"bad-1":[[1]],"b":2}}"#,
    ] {
        assert_eq!(judged(text), Ok(ParsedText::Other(text.into())), "{text}");
        assert_eq!(parse(text.as_bytes(), 0, true), Err(Error::EINVAL), "{text}");
    }
    for text in [
        r#"{"bad-1":[[1]],"a":[[1]]}"#,
        r#"{"bad-1":{"a":1},"b":{"a":[[1]]}}"#,
        r#"{"b":{"bad-1":1},"a":[[1]],"c":{}}"#,
        r#"{"bad-1":1,"a":[[1]]}"#,
    ] {
        assert_eq!(judged(text), Err(Error::EINVAL), "{text}");
    }
}

/// Texts that libpcp would read wrongly are refused (L-7, L-8, LABEL-31).
#[test]
fn refused() {
    assert_eq!(parse(b"{\"a\":{\"b\":[[1]]}}", 0, true), Err(Error::EINVAL));
    let nested = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    assert!(passed_on(&nested(60)).is_some());
    assert_eq!(parse(nested(61).as_bytes(), 0, true), Err(Error::EINVAL));
    let listed = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert!(read(&listed(59)).is_some());
    assert_eq!(parse(listed(60).as_bytes(), 0, true), Err(Error::EINVAL));
    let long = |size: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(size - 8));
    assert!(read(&long(65533)).is_some());
    assert_eq!(parse(long(65534).as_bytes(), 0, true), Err(Error::E2BIG));
}

/// 255 labels are plain; a text with one more is left to libpcp, which refuses it (LABEL-31).
#[test]
fn number_of_labels() {
    let text = |count: usize| {
        let members: Vec<_> = (0..count).map(|number| format!("\"n{number}\":{number}")).collect();
        format!("{{{}}}", members.join(","))
    };
    assert!(read(&text(255)).is_some());
    assert!(passed_on(&text(256)).is_some());
}

proptest! {
    /// No white space beside brackets is left for libpcp.
    #[test]
    fn any_text(text in r#"[ \t{}\[\],:"\\a-c0-2._eE+-]{0,60}"#) {
        if let Ok(ParsedText::Other(compact)) = parse(text.as_bytes(), 0, false) {
            prop_assert!(compact.len() <= text.len());
            prop_assert_eq!(other(&compact, false), Ok(compact));
        }
    }

    /// A value that was written as JSON is read as the same value (LABEL-33, LABEL-36).
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
        let Ok(ParsedText::Plain(set)) = parse(format!("{space}{{{}}}{space}", list.join(",")).as_bytes(), 4, true) else {
            return Err(TestCaseError::fail("not plain"));
        };
        let expected: Vec<_> = members.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes(), 4)).collect();
        let labels: Vec<_> = set.iter().map(|label| (label.name, label.value, label.flags)).collect();
        prop_assert_eq!(labels, expected);
        prop_assert!(set.labels.is_empty() || parse(&set.json, 4, true) == Ok(ParsedText::Plain(set.clone())));
    }
}
