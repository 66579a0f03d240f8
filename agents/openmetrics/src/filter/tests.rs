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

/// The first line is the address; a line that is neither a known one, nor empty, nor a comment
/// is a fault, and is shown up to its colon (OM-15).
#[test]
fn lines_of_the_file() {
    assert_eq!(good("").url.as_str(), "");
    assert_eq!(good("\n\n http://x/y\r\n\r\n# c\n\n").url.as_str(), "http://x/y");
    // CR, CR LF and LF end lines, and a byte order mark is no part of the first one.
    for end in ["\r", "\r\n", "\n"] {
        let text = [
            "\u{feff}http://x/y",
            "HEADER: Authorization: s3cret",
            "",
            "TIMEOUT: 7",
            "JUNK",
        ]
        .join(end);
        let (config, wrong) = Config::read(&text);
        assert_eq!(
            (config.url.as_str(), config.headers.len()),
            ("http://x/y", 1),
            "{end:?}"
        );
        assert_eq!(config.timeout, Some(Duration::from_secs(7)));
        assert_eq!(wrong, ["http://x/y ignored unrecognised config entry \"...\""]);
        assert_eq!(
            config.unused,
            ["line 5 \"...\" has no effect: unrecognised config entry"]
        );
    }
    // An address with a blank is not shown.
    let (config, hidden) = Config::read("http://x HEADER: a: s3cret\nJUNK");
    assert_eq!(config.url.as_str(), "...");
    assert_eq!(hidden, ["... ignored unrecognised config entry \"...\""]);
    assert_eq!(
        faults("http://x\nJUNK: x\n header: a"),
        [
            "http://x ignored unrecognised config entry \"JUNK: ...\"",
            "http://x ignored unrecognised config entry \"header: ...\"",
        ]
    );
}

/// A HEADER line has no blanks in the header's name and none before its value, and replaces a
/// header of that name whatever its case (OM-16).
#[test]
fn headers() {
    let config =
        good("u\nHEADER: X-My  : a   b:c \nHEADER: Accept: text/html\nHEADER: x-my: d\nHEADER: alone\nHEADER:A:b");
    let expected = [("Accept", "text/html"), ("x-my", "d"), ("alone", ""), ("A", "b")];
    let expected = expected.map(|(name, value)| (name.to_owned(), Secret::new(value)));
    assert!(config.headers == expected);
    assert!(good("u\nHEADER: X-My  : a   b:c \n").headers == [("X-My".to_owned(), Secret::new("a   b:c"))]);
}

/// The first filter of a kind whose expression matches the beginning of a name decides; without
/// one the name is included (OM-17).
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
    let takes = |names: &[&str]| config.takes_label(names.iter());
    assert!(takes(&["a", "ex"]) && takes(&["option"]) && !takes(&["a", "exx"]) && !takes(&[]));
    // Python's expressions look ahead and behind, too.
    let ahead = good("u\nFILTER: INCLUDE METRIC (?!go_)\nFILTER: EXCLUDE METRIC .*");
    assert!(ahead.includes_metric("a_go_b") && !ahead.includes_metric("go_b"));
    let flags = good("u\nFILTER: EXCLUDE METRIC (?i)GO|x");
    assert!(!flags.includes_metric("go_b") && !flags.includes_metric("xy") && flags.includes_metric("a_go"));
}

/// A FILTER or METADATA line that cannot be used is a fault with its reason, and filters
/// nothing (OM-19).
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

/// The first METADATA line whose expression matches the beginning of a name describes the
/// metric (OM-20).
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

/// A file may have lines that PCP's agent does not know; the last of two with one word counts
/// (OM-22).
#[test]
fn lines_of_this_agent() {
    let config = good(
        "https://x\nCERT: /a b.pem\nKEY:/k\nCA: /c\nVERIFY: no\nTIMEOUT: 0.5\nINTERVAL:60\nFORGET: 3600\nTIMEOUT: 7\n",
    );
    let secure = config.secure.expect("it has some");
    assert_eq!(secure.certificate, Some("/a b.pem".into()));
    assert_eq!(
        (&secure.key, &secure.authorities),
        (&Some("/k".into()), &Some("/c".into()))
    );
    assert!(secure.is_unverified && secure.fault.is_none());
    let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
    assert_eq!(seconds(config.timeout), Some(7.0));
    assert_eq!(
        (seconds(config.interval), seconds(config.forget)),
        (Some(60.0), Some(3600.0))
    );
    let none = good("https://x\nHEADER: a: b\n");
    assert!(none.secure.is_none() && none.timeout.is_none() && none.unused.is_empty());
}

/// A wrong line is named once in the log and once in the status, and a wrong line about
/// certificates never widens the trust (OM-22).
#[test]
fn wrong_lines_of_this_agent() {
    for line in [
        "TIMEOUT: 0",
        "TIMEOUT:",
        "TIMEOUT: -1",
        "TIMEOUT: 1e3",
        "TIMEOUT: nan",
        "TIMEOUT: inf",
        "TIMEOUT: 5 s",
        "TIMEOUT: 3601",
        "TIMEOUT: 99999999999999999999999999",
        "INTERVAL: 1.2.3",
        "INTERVAL: \u{661}",
        "FORGET: 0.5",
        "FORGET: +5",
    ] {
        let (config, faults) = Config::read(&format!("https://x\n{line}\n"));
        assert!(faults[0].starts_with("https://x ignored config entry, no number of seconds from "));
        assert!(
            faults[0].ends_with(&format!(": \"{line}\"")) && faults.len() == 1,
            "{faults:?}"
        );
        assert!(config.unused[0].starts_with(&format!("line 2 \"{line}\" has no effect: no number")));
        assert!(config.timeout.is_none() && config.interval.is_none() && config.forget.is_none());
    }
    for (line, why) in [
        ("VERIFY:", "neither yes nor no"),
        ("VERIFY: No", "neither yes nor no"),
        ("CA:", "no absolute path"),
        ("KEY: key.pem", "no absolute path"),
        ("CERT: ~/cert", "no absolute path"),
    ] {
        let (config, faults) = Config::read(&format!("https://x\n{line}\nVERIFY: no\n"));
        assert!(faults[0].contains(why) && faults.len() == 1, "{faults:?}");
        let fault = config
            .secure
            .expect("it has some")
            .fault
            .clone()
            .expect("nobody is asked");
        assert!(fault.starts_with("config entry ") && fault.contains(why), "{fault}");
    }
    let (config, faults) = Config::read(&format!("u\n{}", "TIMEOUT: x\n".repeat(100_000)));
    assert_eq!((config.unused.len(), faults.len()), (4, 51));
    assert_eq!(config.unused[3], "99997 more lines have no effect, see the log");
    let (config, _) = Config::read(&format!("u\n{}", "TIMEOUT: x\n".repeat(4)));
    assert_eq!(config.unused[3], "1 more line has no effect, see the log");
    let (config, _) = Config::read(&format!("u\n{}", "TIMEOUT: x\n".repeat(3)));
    assert_eq!(config.unused.len(), 3);
    assert_eq!(faults[50], "u ignored 99950 more config entries");
    let (config, _) = Config::read(&format!("u\nTIMEOUT: {}", "9".repeat(900_000)));
    assert!(config.unused[0].len() < 1000);
}

/// The log has no secret of a line that cannot be used, wherever a slip has put that; nor has it the
/// password of the address.
#[test]
fn the_log_has_no_secret() {
    for (line, shown) in [
        ("HEADER: Author ization: se\u{1}cret", "HEADER: ..."),
        ("HEADER: a\u{1}: secret", "HEADER: a\\u{1}: ..."),
        ("HEADER: \u{1}secret", "HEADER: ..."),
        ("HEADER Authorization: Bearer secret", "HEADER ..."),
        ("  Header: X-A: secret", "Header: ..."),
        ("Authorization: Bearer secret", "Authorization: ..."),
        ("Bearer secret", "..."),
        ("secret", "..."),
        ("CA: secret", "CA: ..."),
    ] {
        let faults = faults(&format!("http://us:secret@x\n{line}\n"));
        assert!(
            faults.len() == 1 && faults[0].starts_with("http://x ignored ") && !faults[0].contains("cret"),
            "{faults:?}"
        );
        assert!(
            Shortened(&faults[0]).to_string().ends_with(&format!(" \"{shown}\"")),
            "{faults:?}"
        );
    }
    let config = Config::read("http://us:secret@x\nCA: secret\nHEADER: a: secret\n").0;
    assert!(!format!("{:?} {config:?}", config.unused).contains("cret"));
}

/// The files with secrets. If a line about them is wrong, the source is not asked without the
/// secret (OM-22).
#[test]
fn files_with_secrets() {
    let config = good("u\nTOKEN_FILE: /run/token\nUSER: us er\nPASSWORD_FILE: /run/password");
    let proof = Proof {
        token: Some("/run/token".into()),
        user: Some("us er".to_owned()),
        password: Some("/run/password".into()),
        fault: None,
    };
    assert_eq!(config.proof.as_deref(), Some(&proof));
    for (line, shown, reason) in [
        ("TOKEN_FILE: s3cret", "TOKEN_FILE: ...", "no absolute path"),
        ("PASSWORD_FILE: s3cret", "PASSWORD_FILE: ...", "no absolute path"),
        ("USER: us:s3cret", "USER: ...", "no user: it is empty or has a colon"),
        ("USER:", "USER: ...", "no user: it is empty or has a colon"),
    ] {
        let (config, faults) = Config::read(&format!("u\n{line}"));
        let word = line.split(':').next().expect("a word");
        let fault = config.proof.and_then(|proof| proof.fault.clone());
        assert_eq!(fault, Some(format!("config entry {word}: has {reason}")));
        assert_eq!(faults, [format!("u ignored config entry, {reason}: \"{shown}\"")]);
        assert_eq!(config.unused, [format!("line 2 \"{shown}\" has no effect: {reason}")]);
    }
    let script = Config::of_script("/x.sh", "#!/bin/sh\n#OPENMETRICS TOKEN_FILE: /run/token\n");
    assert!(script.0.proof.is_none() && script.1.len() == 1);
}

/// The lines of a script are the comments at its head (OM-22).
#[test]
fn lines_of_scripts() {
    let of = |text: &str| Config::of_script("/x.sh", text);
    let head =
        "#!/bin/sh\n# FILTER: EXCLUDE METRIC b\n#OPENMETRICS FILTER: EXCLUDE METRIC a\r\n\n#OPENMETRICS   TIMEOUT: 5\n";
    let (config, faults) = of(&format!("{head}echo a 1\n#OPENMETRICS FILTER: EXCLUDE METRIC c\n"));
    assert_eq!(faults, [""; 0]);
    assert!(!config.includes_metric("a") && config.includes_metric("b") && config.includes_metric("c"));
    assert_eq!(config.timeout, Some(Duration::from_secs(5)));
    // A program has none, wherever such a text is in it.
    let (config, faults) = of(&format!("\x7fELF\n{head}"));
    assert!(config.includes_metric("a") && faults.is_empty());
    let (config, faults) = of("#!/bin/sh\n#OPENMETRICS CA: /x\n#OPENMETRICS JUNK\n#OPENMETRICS INTERVAL: x\n");
    assert!(config.secure.is_none(), "a script has no connection");
    assert_eq!(faults.len(), 3, "{faults:?}");
    assert!(
        faults.iter().all(|fault| fault.starts_with("/x.sh ignored ")),
        "{faults:?}"
    );
}
