//! Facts about names, descriptions, instances and labels (docs/spec/openmetrics.md, sections 4 and
//! 5).

use pmda::{Error, Semantics, Type, Unit};

use super::*;
use crate::exposition::Parser;
use crate::filter::Config;

/// The name of a sample begins with a letter and has letters, digits, `_`, `.` and `:`, as
/// Unicode has letters and digits (OM-38).
#[test]
fn valid_names() {
    for name in ["a", "A1", "a_b:c.d", "ünï", "a..b", "foo.", "x:", "日本"] {
        assert!(is_valid(name), "{name}");
    }
    for name in [
        "",
        "_a",
        ":a",
        ".a",
        "1a",
        "a-b",
        "a\"b",
        "\u{feff}a",
        "a\u{1f600}",
        "²",
    ] {
        assert!(!is_valid(name), "{name}");
    }
}

/// The definitions of all metrics of a document, below a configuration.
fn definitions(config: &str, document: &str) -> Vec<Definition> {
    let (config, faults) = Config::read(&format!("file:///x\n{config}"));
    assert_eq!(faults, [""; 0]);
    let mut parser = Parser::new(document);
    let mut found = Vec::new();
    while let Some(sample) = parser.next_sample() {
        found.push(Definition::of(&sample.expect("good"), &config));
    }
    found
}

/// With `TYPES: document` a type is that of its own family: a sample without one has none, where otherwise it
/// has that of the family before it (OM-22, OM-32).
#[test]
fn types_of_families() {
    let (counter, instant) = (Semantics::Counter, Semantics::Instant);
    for (comment, samples) in [
        (
            "# TYPE a counter",
            &[
                ("a_total", counter, counter),
                ("a_created", instant, counter),
                ("b", instant, counter),
                ("a_b", instant, counter),
                ("b_total", counter, counter),
                ("ab", instant, counter),
            ][..],
        ),
        (
            "# TYPE \"h.x\" histogram",
            &[
                ("h_x_count", counter, counter),
                ("h_x_bucket", counter, counter),
                ("g_bucket", instant, counter),
                ("h_x", instant, instant),
            ],
        ),
        (
            "# TYPE total gauge",
            &[("total", instant, counter), ("total_rest", counter, counter)],
        ),
    ] {
        let lines = samples.iter().map(|(name, ..)| format!("{name} 1\n"));
        let document = format!("{comment}\n{}", lines.collect::<String>());
        let semantics = |config: &str| -> Vec<Semantics> {
            let definitions = definitions(config, &document);
            definitions.iter().map(|definition| definition.semantics).collect()
        };
        let by_document: Vec<_> = samples.iter().map(|sample| sample.1).collect();
        let by_name: Vec<_> = samples.iter().map(|sample| sample.2).collect();
        assert_eq!(semantics("TYPES: document\n"), by_document, "{comment}");
        assert_eq!(semantics(""), by_name, "{comment}");
    }
}

fn defined(document: &str) -> Definition {
    definitions("", document).remove(0)
}

/// Name, type, semantics and unit, as `pminfo -d` words them.
fn shown(document: &str) -> String {
    let definition = defined(document);
    let kind = format!("{:?}", definition.kind).to_lowercase();
    let semantics = format!("{:?}", definition.semantics).to_lowercase();
    format!(
        "{} {kind} {semantics} {:#010x}",
        definition.name,
        definition.unit.word()
    )
}

const NONE: u32 = Unit::NONE.word();

fn plain(name: &str, semantics: &str, unit: Unit) -> String {
    format!("{name} f64 {semantics} {:#010x}", unit.word())
}

/// Without a PCP line the name has `.` for `:`, the semantics come from TYPE and the words of
/// the name, and so does the unit (OM-52, OM-54, OM-55).
#[test]
fn guessed_from_words() {
    for (document, name, semantics, unit) in [
        ("a:b:c 1", "a.b.c", "instant", Unit::NONE),
        ("a_seconds 1", "a_seconds", "instant", pmda::SEC),
        ("a_microseconds_total 1", "a_microseconds_total", "counter", pmda::USEC),
        ("a_milliseconds 1", "a_milliseconds", "instant", Unit::NONE),
        ("a_bytes_seconds 1", "a_bytes_seconds", "instant", pmda::SEC),
        ("a_bytes 1", "a_bytes", "instant", pmda::BYTE),
        ("a_sum 1", "a_sum", "counter", Unit::NONE),
        ("a_count 1", "a_count", "counter", Unit::NONE),
        ("a_bucket{le=\"1\"} 1", "a_bucket", "instant", Unit::NONE),
        (
            "# TYPE b histogram\nb_seconds_bucket 1",
            "b_seconds_bucket",
            "counter",
            pmda::COUNT,
        ),
        (
            "# TYPE b histogram\nb_bytes_count 1",
            "b_bytes_count",
            "counter",
            pmda::COUNT,
        ),
        (
            "# TYPE b histogram\nb_bytes_sum 1",
            "b_bytes_sum",
            "counter",
            pmda::BYTE,
        ),
        ("# TYPE b summary\nb_count 1", "b_count", "counter", pmda::COUNT),
        ("# TYPE b summary\nb_bucket 1", "b_bucket", "instant", Unit::NONE),
        ("# TYPE k counter\nk_created 1", "k_created", "counter", Unit::NONE),
        ("# TYPE k counter extra\nk 1", "k", "instant", Unit::NONE),
        (
            "# TYPE g gauge\ng_seconds_total 1",
            "g_seconds_total",
            "counter",
            pmda::SEC,
        ),
        ("# UNIT a_x seconds\na_x 1", "a_x", "instant", Unit::NONE),
        ("totals 1", "totals", "instant", Unit::NONE),
    ] {
        assert_eq!(shown(document), plain(name, semantics, unit), "{document}");
    }
}

/// A line PCP or PCP5 gives a metric its name, type, semantics and unit, and PM_INDOM_NULL
/// makes the metric singular (OM-34, OM-52).
#[test]
fn described_by_pcp_lines() {
    let rate = pmda::KBYTE.per(pmda::SEC).word();
    let count = pmda::COUNT.word();
    for (document, expected) in [
        (
            "# PCP5 x.y 144.0.1 u32 PM_INDOM_NULL counter Kbyte / sec\nx 1",
            format!("x.y u32 counter {rate:#010x}"),
        ),
        (
            "# PCP5 a:b 1 32 x instant none\nx 1",
            format!("a.b i32 instant {NONE:#010x}"),
        ),
        ("# PCP5 x 1 64 x discrete\nx 1", format!("x i64 discrete {NONE:#010x}")),
        (
            "# PCP5 x 1 u64 x weird none\nx 1",
            format!("x u64 instant {NONE:#010x}"),
        ),
        (
            "# PCP5 x 1 float x counter count\nx 1",
            format!("x f32 counter {count:#010x}"),
        ),
        (
            "# PCP5 x 1 string x instant none\nx 1",
            format!("x string instant {NONE:#010x}"),
        ),
        (
            "# PCP5 x 1 aggregate x instant none\nx 1",
            format!("x aggregate instant {NONE:#010x}"),
        ),
        (
            "# PCP5 x 1 what x instant none\nx 1",
            format!("x f64 instant {NONE:#010x}"),
        ),
        (
            "# PCP  i8   counter  count\nx_total 1",
            format!("i8 f64 counter {count:#010x}"),
        ),
        ("# PCP i8\nx_total 1", format!("i8 f64 instant {NONE:#010x}")),
        (
            "# PCP5 x 1 u32 x instant 10 count\nx 1",
            format!("x u32 instant {count:#010x}"),
        ),
    ] {
        assert_eq!(shown(document), expected, "{document}");
        assert_eq!(defined(document).notes, [], "{document}");
        assert!(defined(document).has_pcp_line);
    }
    assert!(defined("# PCP5 x 1 u32 PM_INDOM_NULL instant none\nx 1").is_singular);
    assert!(!defined("# PCP5 x 1 u32 PM_INDOM instant none\nx 1").is_singular);
    let unknown = defined("# PCP5 x 1 u32 x counter frobs per minute\nx 1");
    let reason = "PM_ERR_CONV Impossible value or scale conversion";
    let line = format!("parse_pcp_units \"frobs per minute\" Error: {reason}");
    assert_eq!((unknown.unit, unknown.notes), (Unit::NONE, vec![Note::Error(line)]));
}

/// A PCP or PCP5 line that is short is named in the log, and the rest has defaults; without a
/// name the line does not count (OM-35).
#[test]
fn incomplete_pcp_lines() {
    for line in ["# PCP5", "# PCP"] {
        let definition = defined(&format!("{line}\na_total 1"));
        assert_eq!(
            (definition.name.as_str(), definition.semantics),
            ("a_total", Semantics::Counter)
        );
        assert!(!definition.has_pcp_line);
        assert!(matches!(definition.notes.as_slice(), [Note::Error(text)] if text.contains("name of the metric")));
    }
    for line in ["# PCP5 x", "# PCP5 x 1", "# PCP5 x 1 u32", "# PCP5 x 1 u32 y"] {
        let definition = defined(&format!("{line}\na_total 1"));
        let kind = if line.contains("u32") { Type::U32 } else { Type::F64 };
        assert_eq!((definition.name.as_str(), definition.kind), ("x", kind), "{line}");
        assert!(
            matches!(definition.notes.as_slice(), [Note::Error(text)] if text.contains("lacks")),
            "{line}"
        );
    }
}

/// The first METADATA line that matches the beginning of a name takes the place of a PCP line
/// (OM-20).
#[test]
fn described_by_the_configuration() {
    let config = "METADATA: meta u64 PM_INDOM_NULL counter Kbyte\nMETADATA: m u32 x discrete count / sec";
    let found = definitions(config, "# PCP5 y 1 32 x instant none\nmetadata 1\nmore:x 2\nother 3\n");
    assert_eq!(found[0].name, "metadata");
    assert_eq!(
        (found[0].kind, found[0].semantics, found[0].unit),
        (Type::U64, Semantics::Counter, pmda::KBYTE)
    );
    assert!(found[0].is_singular && found[0].has_pcp_line);
    let info = "metric \"metadata\" config metadata matches \"meta\": pcpline = \"METADATA metadata u64 PM_INDOM_NULL counter Kbyte\"";
    assert_eq!(found[0].notes, [Note::Info(info.to_owned())]);
    assert_eq!(
        (found[1].name.as_str(), found[1].semantics),
        ("more.x", Semantics::Discrete)
    );
    assert_eq!((found[2].name.as_str(), found[2].kind), ("y", Type::I32));
}

/// The first line of HELP is the one-line text, the others are the long text, after the escapes
/// `\\` and `\n` (OM-56).
#[test]
fn help_texts() {
    let help = |text: &str| {
        let help = defined(&format!("# HELP a {text}\na 1")).help;
        help.map(|help| (help.short, help.long))
    };
    let texts = |short: &str, long: &str| Some((short.to_owned(), long.to_owned()));
    assert_eq!(help(""), None);
    assert_eq!(help("one   two"), texts("one two", "one two"));
    assert_eq!(help(r"one\ntwo \\ \q"), texts("one", r"two \ \q"));
    assert_eq!(help(r"one\\ntwo"), texts("one", "two"));
    assert_eq!(help(r"\nx"), texts("", "x"));
    assert_eq!(help(r"x\n"), texts("x", "x"));
    assert_eq!(defined("a 1").help, None);
}

fn labels(config: &str, line: &str) -> SampleLabels {
    let (config, _) = Config::read(&format!("file:///x\n{config}"));
    let mut parser = Parser::new(line);
    let sample = parser.next_sample().expect("one").expect("good");
    SampleLabels::of(&sample, &config)
}

fn pairs(list: &[(&str, &str)]) -> LabelPairs {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    list.iter().map(owned).collect()
}

/// Labels that no filter excludes or makes optional name the instance; a sample without any
/// label left makes the metric singular (OM-60, OM-61).
#[test]
fn labels_and_filters() {
    let line = "m{opt=\"1\",b=\"2\",ex=\"3\",a=\"x\\\\y\",exx=\"4\"} 1";
    let config = "FILTER: OPTIONAL LABEL opt\nFILTER: EXCLUDE LABEL ^ex$";
    let found = labels(config, line);
    assert_eq!(found.naming, pairs(&[("a", "x\\y"), ("b", "2"), ("exx", "4")]));
    assert_eq!(found.optional, pairs(&[("opt", "1")]));
    assert!(!found.is_empty());
    assert!(!labels("FILTER: OPTIONAL LABEL .*", line).is_empty());
    assert!(labels("FILTER: EXCLUDE LABEL .*", line).is_empty());
    assert!(labels("", "m{} 1").is_empty());
    // If a label stands twice, the last one counts (OM-37).
    assert_eq!(
        labels("", "m{a=\"x\",b=\"z\",a=\"y\"} 1").naming,
        pairs(&[("a", "y"), ("b", "z")])
    );
}

/// An instance is named by its labels and numbered; below a PCP line the label `instname`, else
/// `instance`, is the whole name, without a number (OM-61, OM-62).
#[test]
fn instance_names() {
    let named = |list: &[(&str, &str)], pcp| instance_name(&pairs(list), pcp);
    let name = |text: &str, is_numbered| (text.to_owned(), is_numbered);
    assert_eq!(
        named(&[("code", "200"), ("method", "post")], false),
        name("code:200 method:post", true)
    );
    assert_eq!(named(&[], false), name("", true));
    assert_eq!(named(&[("instance", "one"), ("z", "w")], true), name("one", false));
    assert_eq!(
        named(&[("instance", "no"), ("instname", "i n")], true),
        name("i n", false)
    );
    assert_eq!(named(&[("instname", "q")], false), name("instname:q", true));
    assert_eq!(named(&[("z", "w")], true), name("z:w", true));
}

/// Units are parsed as pmParseUnitsStr(3) of PCP 6.0.3 parses them (OM-34).
#[test]
fn units_in_words() {
    // Powers and scales of space, time and count.
    for (text, expected) in [
        ("byte", [1, 0, 0, 0, 0, 0]),
        ("BYTES", [1, 0, 0, 0, 0, 0]),
        ("Kb", [1, 0, 0, 1, 0, 0]),
        ("kibibytes", [1, 0, 0, 1, 0, 0]),
        ("MiB", [1, 0, 0, 2, 0, 0]),
        ("gigabyte", [1, 0, 0, 3, 0, 0]),
        ("tebibyte", [1, 0, 0, 4, 0, 0]),
        ("pbyte", [1, 0, 0, 5, 0, 0]),
        ("exbibyte", [1, 0, 0, 6, 0, 0]),
        ("zettabyte", [1, 0, 0, 7, 0, 0]),
        ("yb", [1, 0, 0, -8, 0, 0]),
        ("ns", [0, 1, 0, 0, 0, 0]),
        ("nanosec", [0, 1, 0, 0, 0, 0]),
        ("us", [0, 1, 0, 0, 1, 0]),
        ("milliseconds", [0, 1, 0, 0, 2, 0]),
        ("s", [0, 1, 0, 0, 3, 0]),
        ("seconds", [0, 1, 0, 0, 3, 0]),
        ("minutes", [0, 1, 0, 0, 4, 0]),
        ("hr", [0, 1, 0, 0, 5, 0]),
        ("counts", [0, 0, 1, 0, 0, 0]),
        ("count x 10", [0, 0, 1, 0, 0, 1]),
        ("count x 10^-3", [0, 0, 1, 0, 0, -3]),
        ("count x 10^7", [0, 0, 1, 0, 0, 7]),
        ("count x 10^-8", [0, 0, 1, 0, 0, -8]),
        ("count x 10^0", [0, 0, 0, 0, 0, 0]),
        ("count x 10^3^2", [0, 0, 2, 0, 0, 3]),
        ("", [0; 6]),
        ("10", [0; 6]),
        ("/", [0; 6]),
        ("byte / sec", [1, -1, 0, 0, 3, 0]),
        ("byte/sec", [1, -1, 0, 0, 3, 0]),
        ("/sec", [0, -1, 0, 0, 3, 0]),
        ("sec^2", [0, 2, 0, 0, 3, 0]),
        ("sec^-1", [0, -1, 0, 0, 3, 0]),
        ("sec^0", [0; 6]),
        ("byte^7", [7, 0, 0, 0, 0, 0]),
        ("byte^-8", [-8, 0, 0, 0, 0, 0]),
        ("\tbyte  sec ", [1, 1, 0, 0, 3, 0]),
        ("byte / kbyte", [0; 6]),
        ("kbyte^2 / byte", [1, 0, 0, 0, 0, 0]),
        ("millisecond / second^2", [0, -1, 0, 0, 3, 0]),
        ("hour^3 / min^2", [0, 1, 0, 0, 3, 0]),
        ("byte / sec byte", [0, -1, 0, 0, 3, 0]),
        ("byte^-1 / sec^-1", [-1, 1, 0, 0, 3, 0]),
        ("count x 10^3 / sec", [0, -1, 1, 0, 3, 3]),
        ("count / 7.5 nanosecond", [0, -1, 1, 0, 0, 0]),
        ("10 kilobytes / 2.5e2 count x 10^3", [1, 0, -1, 1, 0, 3]),
        ("2 3 count", [0, 0, 1, 0, 0, 0]),
        ("-2 byte", [1, 0, 0, 0, 0, 0]),
        ("2byte", [1, 0, 0, 0, 0, 0]),
        (".5 sec", [0, 1, 0, 0, 3, 0]),
        ("5. sec", [0, 1, 0, 0, 3, 0]),
        ("count 2", [0, 0, 1, 0, 0, 0]),
        ("zbyte / sec", [1, -1, 0, 7, 3, 0]),
    ] {
        let word = Unit::parse_scaled(text).map(|(unit, _)| unit.word());
        let shifts = [28, 24, 20, 16, 12, 8];
        let packed = expected
            .iter()
            .zip(shifts)
            .map(|(part, shift)| (*part as u32 & 0xf) << shift);
        assert_eq!(word, Ok(packed.sum()), "{text}");
    }
    for text in [
        "b",
        "nsec",
        "nanosecs",
        "usec",
        "msec",
        "secs",
        "mins",
        "hrs",
        "m",
        "c",
        "countx10",
        "count x10^3",
        "x 10^3",
        "none",
        "sec ^2",
        "sec^ 2",
        "byte^-9",
        "byte^16",
        "byte byte",
        "byte / sec / sec",
        "inf byte",
        "nan byte",
        "1e byte",
        "count^2 x 10^3",
        "frobs",
        "sec,byte",
        "byte^+2",
        "byte^2.5",
        "byte^x",
        "byte^",
        "day",
        "count x 10^",
        "count x",
        "countx",
        "count x 10^+3",
        "kbps",
        "byte x 10^3",
        "10^3 byte",
        "count x 1",
        "count x 100",
        "count x 10 ^3",
        "+5 sec",
        "min hour",
        "ü",
        "10ü",
        "kbs",
    ] {
        assert_eq!(Unit::parse_scaled(text), Err(Error::CONV), "{text}");
    }
    for text in ["byte^8", "count x 10^8", "byte^7 / byte^-7", "byte^4 / byte^-4"] {
        assert_eq!(Unit::parse_scaled(text), Err(Error::CONV), "{text}");
    }
}
