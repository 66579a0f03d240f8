//! Facts about the file of an address (docs/spec/openmetrics.md, section 2).

use super::*;

fn good(text: &str) -> Config {
    let (config, faults) = Config::read(text);
    assert_eq!(faults, [""; 0], "{text}");
    config
}

fn faults(text: &str) -> Vec<String> {
    Config::read(text).1
}

/// OM-15.
#[test]
fn lines_of_the_file() {
    assert_eq!(good("").url, "");
    assert_eq!(good("\n\n http://x/y\r\n\r\n# c\n\n").url, "http://x/y");
    assert_eq!(
        faults("http://x\nJUNK: x\n header: a"),
        [
            "http://x ignored unrecognised config entry \"JUNK: x\"",
            "http://x ignored unrecognised config entry \" header: a\"",
        ]
    );
}

/// OM-16.
#[test]
fn headers() {
    let config =
        good("u\nHEADER: X-My  : a   b:c \nHEADER: Accept: text/html\nHEADER: x-my: d\nHEADER: alone\nHEADER:A:b");
    let expected = [("Accept", "text/html"), ("x-my", "d"), ("alone", ""), ("A", "b")];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(config.headers, expected);
    assert_eq!(
        good("u\nHEADER: X-My  : a   b:c \n").headers,
        [("X-My".to_owned(), "a   b:c".to_owned())]
    );
}

/// OM-17.
#[test]
fn filters() {
    let config = good(
        "u\nFILTER: INCLUDE METRIC keep\nFILTER:  EXCLUDE  METRIC  drop|^x y\nFILTER: OPTIONAL METRIC optm\nFILTER:EXCLUDE LABEL ^ex$\n\
         FILTER: OPTIONAL LABEL opt:never",
    );
    for (name, expected) in [
        ("keep_drop", true),
        ("drop_this", false),
        ("not_drop", true),
        ("x y", false),
        ("optm", false),
        ("other", true),
        ("", true),
    ] {
        assert_eq!(config.includes_metric(name), expected, "{name}");
    }
    assert_eq!(config.label("ex"), Action::Exclude);
    assert_eq!(config.label("exx"), Action::Include);
    assert_eq!(config.label("option"), Action::Optional);
    assert_eq!(config.label("drop"), Action::Include);
    assert_eq!(good("u").label("a"), Action::Include);
    // Python's expressions look ahead and behind, too.
    let ahead = good("u\nFILTER: INCLUDE METRIC (?!go_)\nFILTER: EXCLUDE METRIC .*");
    assert!(ahead.includes_metric("a_go_b") && !ahead.includes_metric("go_b"));
    let flags = good("u\nFILTER: EXCLUDE METRIC (?i)GO|x");
    assert!(!flags.includes_metric("go_b") && !flags.includes_metric("xy") && flags.includes_metric("a_go"));
}

/// OM-19.
#[test]
fn wrong_filters_have_no_effect() {
    for (line, reason) in [
        ("FILTER: INCLUDE", "a regular expression"),
        ("FILTER:", "a regular expression"),
        ("FILTER: include METRIC x", "neither INCLUDE, EXCLUDE nor OPTIONAL"),
        ("FILTER: EXCLUDE METRICS x", "neither METRIC nor LABEL"),
        ("FILTER: EXCLUDE METRIC (", "not a regular expression"),
        ("FILTER: EXCLUDE METRIC a)(b", "not a regular expression"),
        ("METADATA:", "no regular expression"),
        ("METADATA: ( u32 x instant none", "not a regular expression"),
    ] {
        let (config, faults) = Config::read(&format!("u\n{line}\n"));
        assert_eq!(faults.len(), 1, "{line}");
        assert!(
            faults[0].starts_with("u ignored config entry, ") && faults[0].contains(reason),
            "{}",
            faults[0]
        );
        assert!(
            faults[0].ends_with(&format!(": \"{line}\"")) && !faults[0].contains('\n'),
            "{}",
            faults[0]
        );
        assert!(config.includes_metric("a") && config.metadata("a").is_none(), "{line}");
    }
}

/// OM-20.
#[test]
fn metadata() {
    let config = good("u\nMETADATA: meta  u64  PM_INDOM_NULL counter Kbyte / sec\nMETADATA: m.* u32 x discrete none");
    assert_eq!(
        config.metadata("metadata"),
        Some(("meta", "u64 PM_INDOM_NULL counter Kbyte / sec"))
    );
    assert_eq!(config.metadata("more"), Some(("m.*", "u32 x discrete none")));
    assert_eq!(config.metadata("a_meta"), None);
}

/// An expression that backtracks without end gives up.
#[test]
fn hostile_expressions() {
    let config = good("u\nFILTER: EXCLUDE METRIC (?=(a+)+$)b\nFILTER: EXCLUDE LABEL (a|a)*\\1b");
    let name = "a".repeat(200);
    let start = std::time::Instant::now();
    assert!(config.includes_metric(&name));
    assert_eq!(config.label(&name), Action::Include);
    assert!(start.elapsed().as_secs() < 10);
}
