//! Facts about documents (docs/spec/openmetrics.md, section 3).

use std::time::Duration;

use super::*;
use crate::limits;

/// Samples of a document, each as `name{labels} value`, and what is wrong with its last line that is
/// none.
fn samples(document: &str) -> (Vec<String>, Option<Reason>) {
    let mut parser = Parser::new(document);
    let (mut samples, mut reason) = (Vec::new(), None);
    while let Some(sample) = parser.next_sample() {
        match sample {
            Ok(sample) => {
                let labels: Vec<_> = sample
                    .labels
                    .iter()
                    .map(|l| format!("{}={}", l.name(), l.value()))
                    .collect();
                samples.push(format!("{}{{{}}} {}", sample.name, labels.join(","), sample.value));
            }
            Err(fault) => reason = Some(fault.reason),
        }
    }
    (samples, reason)
}

fn one(line: &str) -> String {
    match samples(line) {
        (samples, None) if samples.len() == 1 => samples.into_iter().next().unwrap_or_default(),
        other => panic!("{line}: {other:?}"),
    }
}

fn fault(line: &str) -> Reason {
    let (samples, reason) = samples(&format!("good 1\n{line}\nbehind 2\n"));
    assert_eq!(samples, ["good{} 1", "behind{} 2"], "{line}");
    reason.expect(line)
}

/// Blanks at the ends of a line and empty lines do not count, and a document without a sample
/// is good (OM-30, OM-44).
#[test]
fn lines() {
    assert_eq!(samples(""), (vec![], None));
    assert_eq!(samples("\n \t\r\n\n"), (vec![], None));
    let expected = (vec!["a{} 1".to_owned(), "b{} 2".to_owned(), "c{} 3".to_owned()], None);
    assert_eq!(samples("a 1\r\nb 2\n\n  \t c 3  "), expected);
    assert_eq!(one("a{l=\"x\u{2028}y\"} 1"), "a{l=x\u{2028}y} 1");
    assert_eq!(one("a{l=\"x\u{b}y\"} 1"), "a{l=x\u{b}y} 1");
}

/// A document is UTF-8; bytes that are not become U+FFFD (OM-31).
#[test]
fn encoding() {
    assert_eq!(text(b"a{b=\"\xff\"} 1"), "a{b=\"\u{fffd}\"} 1");
    assert_eq!(text("\u{feff}a 1".as_bytes()), "a 1");
    assert!(matches!(text("ü 1".as_bytes()), Cow::Borrowed(_)));
    assert_eq!(text(b"\xef\xbb"), "\u{fffd}");
}

/// A sample is a name, a label set if there is one, and a value; a timestamp or exemplar behind
/// it does not count (OM-36).
#[test]
fn parts_of_a_sample() {
    assert_eq!(one("a 1"), "a{} 1");
    assert_eq!(one("a\t 1\t1395066363000"), "a{} 1");
    assert_eq!(one("a 6 # {x=\"y\"} 1 2"), "a{} 6");
    assert_eq!(one("a{} 1"), "a{} 1");
    assert_eq!(one("a { } 1"), "a{} 1");
    assert_eq!(one("a{b=\"c\"}2"), "a{b=c} 2");
    assert_eq!(one("a{b=\"c\"}\t3\t99"), "a{b=c} 3");
    assert_eq!(one("ünï:x.y 4"), "ünï:x.y{} 4");
    assert_eq!(one("a b c"), "a{} b");
    assert_eq!(one("a\"b 1"), "a\"b{} 1");
}

/// A label set is pairs with commas between, with blanks around names and values, and with
/// three escapes in values (OM-37).
#[test]
fn labels() {
    assert_eq!(one("a{b = \"c\" , d=\"e\"} 1"), "a{b=c,d=e} 1");
    assert_eq!(one("a{b=\"c\",} 1"), "a{b=c} 1");
    assert_eq!(one("a{b=\"\"} 1"), "a{b=} 1");
    assert_eq!(one("a{b=\"x\",b=\"y\"} 1"), "a{b=x,b=y} 1");
    assert_eq!(one(r#"a{b="C:\\D\"\n\t\ü"} 1"#), "a{b=C:\\D\"\n\\t\\ü} 1");
    assert_eq!(one("a{b=\"}, c=\"} 1"), "a{b=}, c=} 1");
    assert_eq!(one("a{ü=\"ö\"} 1"), "a{ü=ö} 1");
    assert_eq!(one("a{x}=\"y\"} 1"), "a{x}=y} 1");
    let mut parser = Parser::new("a{b=\"\\\"\", c=\"d\" } 1");
    let sample = parser.next_sample().expect("one").expect("good");
    assert_eq!(sample.label_text, "b=\"\\\"\", c=\"d\" ");
    let values = sample.labels.iter().map(Label::value_with_backslashes);
    assert_eq!(values.collect::<Vec<_>>(), ["\"", "d"]);
    assert_eq!(sample.line, "a{b=\"\\\"\", c=\"d\" } 1");
}

/// Blanks beyond ASCII separate words, except within quotes (OM-36).
#[test]
fn blanks_of_unicode() {
    for blank in [
        "\u{a0}", "\u{85}", "\u{1680}", "\u{2003}", "\u{2028}", "\u{202f}", "\u{205f}", "\u{3000}",
    ] {
        assert_eq!(one(&format!("a{blank}1{blank}2")), "a{} 1", "{blank:?}");
        let line =
            format!("{blank}\u{e2}{blank} {{{blank}b{blank}={blank}\"c{blank}\"{blank},{blank}}}{blank}7{blank}");
        assert_eq!(one(&line), format!("\u{e2}{{b=c{blank}}} 7"), "{blank:?}");
        assert_eq!(fault(&format!("a{blank}")), Reason::Value);
    }
    // Letters that begin with the same bytes.
    assert_eq!(
        one("\u{e2}\u{ac}\u{1234}\u{20ac}\u{3042} \u{20ac}"),
        "\u{e2}\u{ac}\u{1234}\u{20ac}\u{3042}{} \u{20ac}"
    );
}

/// Names in quotes, as exporters of Prometheus 3 send them (OM-36, OM-37).
#[test]
fn names_in_quotes() {
    for (line, expected) in [
        (
            r#"{"http.server.duration", path="/"} 2"#,
            "http_server_duration{path=/} 2",
        ),
        (r#"{ "a" } 2"#, "a{} 2"),
        (r#"{"a:b",} 2"#, "a:b{} 2"),
        (
            r#"{"9 \"x\"\\ü","service.name"="s","9"="n","a:b"="c"} 2"#,
            r"__ _x____{service_name=s,_=n,a_b=c} 2",
        ),
        (r#"a{"b"="c"} 1"#, "a{b=c} 1"),
    ] {
        let expected = expected.replace("__ _x____", "___x___");
        assert_eq!(one(line), expected, "{line}");
    }
    let mut parser = Parser::new("{ \"a.b\" , c=\"d\" } 1");
    let sample = parser.next_sample().expect("one").expect("good");
    assert_eq!(sample.label_text, " c=\"d\" ");
    let labels = |count: usize| format!("a{{{}}} 1", "b=\"\",".repeat(count));
    let most = limits::SAMPLE_LABELS;
    assert_eq!(fault(&labels(most + 1)), Reason::Labels);
    let line = labels(most);
    let mut parser = Parser::new(&line);
    let sample = parser.next_sample().expect("one").expect("good");
    assert_eq!(sample.labels.len(), most);
    for (line, reason) in [
        ("{\"a\"=\"b\"} 1", Reason::Name),
        ("{\"\"} 1", Reason::Name),
        ("{} 1", Reason::Name),
        ("{a} 1", Reason::Name),
        ("{\"a\" b=\"c\"} 1", Reason::Comma),
        ("{\"a\"", Reason::Unclosed),
        ("{\"a", Reason::Unclosed),
        ("a{\"b\"} 1", Reason::Equals),
        ("a{\"\"=\"c\"} 1", Reason::LabelName),
        ("{\"a\"}", Reason::Value),
    ] {
        assert_eq!(fault(line), reason, "{line}");
    }
}

/// If backslashes are kept, escaped quotes and line ends are resolved all the same (OM-61).
#[test]
fn labels_with_backslashes() {
    let mut parser = Parser::new(r#"a{b="C:\\D\"\n\t"} 1"#);
    let sample = parser.next_sample().expect("one").expect("good");
    assert_eq!(sample.labels[0].value_with_backslashes(), "C:\\\\D\"\n\\t");
}

/// A line with a fault is left out, and the lines after it are read (OM-38, OM-39).
#[test]
fn faults() {
    assert_eq!(fault("{a=\"b\"} 1"), Reason::Name);
    assert_eq!(fault("a{,b=\"c\"} 1"), Reason::LabelName);
    assert_eq!(fault("a{b=\"c\",,d=\"e\"} 1"), Reason::LabelName);
    assert_eq!(fault("a{=\"c\"} 1"), Reason::LabelName);
    assert_eq!(fault("a{b c=\"d\"} 1"), Reason::Equals);
    assert_eq!(fault("a{b=c} 1"), Reason::Quote);
    assert_eq!(fault("a{b=\"c\"d=\"e\"} 1"), Reason::Comma);
    for line in [
        "a{",
        "a{b",
        "a{b ",
        "a{b=",
        "a{b=\"",
        "a{b=\"c\\",
        "a{b=\"c\\\"",
        "a{b=\"c\"",
        "a{b=\"c\",",
    ] {
        assert_eq!(fault(line), Reason::Unclosed, "{line}");
    }
    for line in ["a", "a{}", "a{b=\"c\"} "] {
        assert_eq!(fault(line), Reason::Value, "{line}");
    }
    assert!(Reason::Comma.is_about_a_name() && !Reason::Value.is_about_a_name());
}

/// The words of a fault in the log. They are bounded, though a line may be as long as a document
/// (OM-38, OM-39).
#[test]
fn fault_lines() {
    let shown = |line: &str| {
        let mut parser = Parser::new(line);
        parser.next_sample().expect("one").expect_err("bad").to_string()
    };
    assert_eq!(shown("a{b=c} 1"), "cannot parse name in a{b=c} 1: Expected \"");
    assert_eq!(shown("noval"), "cannot parse/store noval: there is no value");
    let long = shown(&"ü".repeat(1_000_000));
    assert_eq!(long.chars().filter(|letter| *letter == 'ü').count(), 256);
    assert!(long.ends_with("... (1999488 bytes more): there is no value"), "{long}");
    assert_eq!(shown("a\u{1b}[2J"), "cannot parse/store a\\u{1b}[2J: there is no value");
}

/// The comments above each sample: PCP, help, type.
fn described(document: &str) -> Vec<(Option<String>, Option<String>, String)> {
    let mut parser = Parser::new(document);
    let mut comments = Vec::new();
    while let Some(sample) = parser.next_sample() {
        let metadata = sample.expect("good").metadata;
        let pcp = metadata.pcp().map(str::to_owned);
        comments.push((pcp, metadata.help(), metadata.kind().to_owned()));
    }
    comments
}

fn description(pcp: &str, help: &str, kind: &str) -> (Option<String>, Option<String>, String) {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    (some(pcp), some(help), kind.to_owned())
}

/// The comments HELP, TYPE and PCP are kept for all samples that follow, until a comment after
/// a sample drops them (OM-32, OM-33).
#[test]
fn comments() {
    assert_eq!(
        described("# TYPE x counter\n#  HELP\ty  two\t words \na 1\nb 2\n# EOF\nc 3\n"),
        [
            description("", "two words", "counter"),
            description("", "two words", "counter"),
            description("", "", ""),
        ]
    );
    assert_eq!(described("# TYPE x\na 1"), [description("", "", "")]);
    assert_eq!(described("# TYPE x counter extra\na 1"), [description("", "", "")]);
    assert_eq!(described("# HELP x one\n# HELP x\na 1"), [description("", "", "")]);
    assert_eq!(
        described("#TYPE x counter\n#\n# UNIT x seconds\na 1"),
        [description("", "", "")]
    );
    assert_eq!(
        described("# HELP \"a b\\\"c\" two words\n# TYPE \"a b\" gauge\na 1"),
        [description("", "two words", "gauge")]
    );
    assert_eq!(described("# TYPE \"a b gauge\na 1"), [description("", "", "")]);
    assert_eq!(
        described("# HELP a b\n\n# TYPE a gauge\n\na 1"),
        [description("", "b", "gauge")]
    );
    assert_eq!(
        described("# PCP5 x.y 144.0.1 u32  x  instant none\na 1\n#\nb 1"),
        [
            description("PCP5 x.y 144.0.1 u32  x  instant none", "", ""),
            description("", "", "")
        ]
    );
}

/// A comment of more than so many bytes describes nothing, and is counted. One that says nothing may
/// be as long (OM-32).
#[test]
fn long_comments() {
    let line = |begin: &str, length: usize| begin.to_owned() + &"x".repeat(length - begin.len());
    let nothing = line("# nothing ", 2 * limits::COMMENT);
    for begin in ["# HELP a ", "# TYPE a ", "# PCP a ", "# PCP5 a "] {
        for count in 0..=1 {
            let long = line(begin, limits::COMMENT + count);
            let text = format!("{nothing}\n{begin}short\n{long}\na 1\n");
            let mut parser = Parser::new(&text);
            let metadata = *parser.next_sample().expect("a line").expect("a sample").metadata;
            assert_eq!(metadata == Metadata::default(), count == 1, "{begin}");
            let first = 3 * count;
            assert_eq!(parser.long_comments(), Lines { count, first }, "{begin}");
        }
    }
}

/// At the deadline the parser ends, whatever is left: samples, comments or empty lines.
#[test]
fn what_is_not_read_in_time() {
    for line in ["a 1\n", "# a\n", "\n"] {
        let text = line.repeat(3 * LINES - 1) + "b 1";
        for (time, count) in [(Duration::ZERO, 3 * LINES), (Duration::from_secs(600), 0)] {
            let mut parser = Parser::until(&text, Deadline::after(time));
            let mut read = 0;
            while parser.next_sample().is_some() {
                read += 1;
            }
            assert_eq!((parser.unread().count, read == 0), (count, count > 0), "{line:?}");
        }
    }
    let mut parser = Parser::until("\na 1\n", Deadline::after(Duration::ZERO));
    assert!(parser.next_sample().is_none());
    assert_eq!(parser.unread(), Lines { count: 2, first: 1 });
}

/// A double is a sign, digits with a point and an exponent, or a word for infinity or NaN;
/// single underscores may stand between digits (OM-40).
#[test]
fn floats() {
    for (word, expected) in [
        ("1_000", 1000.0),
        ("infinity", f64::INFINITY),
        ("-INF", f64::NEG_INFINITY),
        ("+Inf", f64::INFINITY),
        ("1e999", f64::INFINITY),
        ("+5", 5.0),
        ("1.", 1.0),
        (".5", 0.5),
        ("1e5", 1e5),
        ("1_0.5e1_0", 10.5e10),
        ("1.7560473e+07", 17_560_473.0),
    ] {
        assert_eq!(value::float(word), Some(expected), "{word}");
    }
    assert!(value::float("nan").is_some_and(f64::is_nan));
    assert!(value::float("-NaN").is_some_and(f64::is_nan));
    for word in [
        "0x10", "1__0", "abc", "1,5", "_1", "1_", "1_.5", "1._5", "1e_5", "", "-", "1e",
    ] {
        assert_eq!(value::float(word), None, "{word}");
    }
}

/// An integer is a sign and digits; beyond its range an unsigned one is taken modulo 2^32 or
/// 2^64, and a signed one has no value (OM-40, OM-41).
#[test]
fn integers() {
    assert_eq!(value::signed_32("2147483647"), Some(i32::MAX));
    assert_eq!(value::signed_32("2147483648"), None);
    assert_eq!(value::signed_32("-2147483649"), None);
    assert_eq!(value::signed_32("1_000"), Some(1000));
    assert_eq!(value::signed_32("+7"), Some(7));
    assert_eq!(value::signed_64("-9223372036854775808"), Some(i64::MIN));
    assert_eq!(value::signed_64("9223372036854775808"), None);
    assert_eq!(value::unsigned_32("-1"), Some(u32::MAX));
    assert_eq!(value::unsigned_32("4294967297"), Some(1));
    assert_eq!(value::unsigned_64("18446744073709551615"), Some(u64::MAX));
    assert_eq!(value::unsigned_64("18446744073709551616"), Some(0));
    assert_eq!(value::unsigned_64("-1"), Some(u64::MAX));
    assert_eq!(value::unsigned_64("+1_0"), Some(10));
    for word in ["1e3", "1.0", "", "-", "+", "0x1", "1__0", "_1", "1_", "-_1", "+-1", "ü"] {
        assert_eq!(value::unsigned_64(word), None, "{word}");
        assert_eq!(value::signed_64(word), None, "{word}");
    }
}

/// The comments between two metrics are those of the second one alone (OM-32).
#[test]
fn each_metric_has_its_own_comments() {
    let text = "# HELP a Of a.\n# TYPE a counter\na 1\n# TYPE b gauge\nb 1\nb 2\n# HELP c Of c.\n# anything\nc 1\n# anything\nd 1\n";
    let mut parser = Parser::new(text);
    let mut comments = Vec::new();
    while let Some(sample) = parser.next_sample() {
        let sample = sample.expect("well formed");
        let help = sample.metadata.help().unwrap_or_default();
        comments.push((sample.name.into_owned(), help, sample.metadata.kind()));
    }
    let expected = [
        ("a", "Of a.", "counter"),
        ("b", "", "gauge"),
        ("b", "", "gauge"),
        ("c", "Of c.", ""),
        ("d", "", ""),
    ];
    let comments: Vec<_> = comments
        .iter()
        .map(|(name, help, kind)| (name.as_str(), help.as_str(), *kind))
        .collect();
    assert_eq!(comments, expected);
}
