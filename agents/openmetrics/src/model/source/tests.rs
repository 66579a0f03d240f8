use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::super::instances::{instance_size, number_size, series_size};
use pmda::{Atom, Labels, Semantics, Type, Unit};

use super::*;
use crate::cache::Full;

/// The file may be another one by now than when it was found.
#[test]
fn an_address_is_in_a_small_regular_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.url");
    let files = Files::new(directory.path(), 144);
    let target = |path: &Path| {
        let (name, kind) = ("a".to_owned(), Kind::Url);
        let path = path.to_owned();
        let mut source = Source::new(
            SourceFile { path, name, kind },
            1,
            &"openmetrics".into(),
            &files,
            Generation::V6_1,
        );
        source.target().map(|(target, _)| target)
    };
    let refused = |why: &str| {
        let reason = target(&path).expect_err("no address");
        assert!(
            reason.starts_with(&format!("cannot read {}: ", path.display())),
            "{reason}"
        );
        assert!(reason.contains(why), "{reason}");
        fs::remove_file(&path).expect("its own");
    };
    let mut text = b"file:///x\n".to_vec();
    text.resize(limits::CONFIG, b'\n');
    fs::write(&path, &text).expect("written");
    assert_eq!(*target(&path).expect("an address"), Target::File("/x".into()));
    text.push(b'\n');
    fs::write(&path, &text).expect("written");
    refused("it has more than 1048576 bytes");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("ours");
    refused("Invalid argument");
    symlink("/dev/zero", &path).expect("ours");
    refused("Invalid argument");
}

fn source(path: &Path, kind: Kind) -> Source {
    let (name, path) = ("a".to_owned(), path.to_owned());
    let directory = path.parent().expect("a folder");
    fs::create_dir_all(directory.join("config/pmda")).expect("made");
    let files = Files::new(directory, 144);
    Source::new(
        SourceFile { path, name, kind },
        1,
        &"openmetrics".into(),
        &files,
        Generation::V7,
    )
}

/// The head of a script ends with its last whole line; a line that is cut off does not count
/// (OM-22).
#[test]
fn heads_of_scripts() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.sh");
    let whole = "#!/bin/sh\n# 2";
    let long = "x".repeat(HEAD as usize);
    for (text, expected) in [
        (whole.to_owned(), whole),
        (format!("{whole}\n{long}"), whole),
        (format!("{whole}\n{long}\n"), whole),
        (long.clone() + "\n#", ""),
        (String::new(), ""),
    ] {
        fs::write(&path, &text).expect("written");
        assert_eq!(head(&Folders::default(), &path), expected, "{} bytes", text.len());
    }
    assert_eq!(head(&Folders::default(), &directory.path().join("missing")), "");
}

/// A script may have become another file since it was found.
#[test]
fn a_script_is_executable() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.sh");
    fs::write(&path, "#!/bin/sh\n").expect("written");
    let mut source = source(&path, Kind::Script);
    for (mode, is_executable) in [(0o644, false), (0o755, true), (0o077, false), (0o100, true)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("ours");
        let expected = if is_executable {
            Ok((Arc::new(Target::Script(path.clone())), true))
        } else {
            Err(format!("cannot execute '{}': its owner may not", path.display()))
        };
        assert_eq!(source.target(), expected, "{mode:o}");
    }
    std::thread::sleep(Duration::from_millis(100));
    assert!(source.target().expect("a script").1, "it had only just changed");
    assert!(!source.target().expect("a script").1);
}

/// A source with INTERVAL is asked again once that time is over, less a tenth of it and at most a
/// second; without INTERVAL at any time (OM-22).
#[test]
fn times_of_a_source() {
    let mut source = source(Path::new("/none/a.url"), Kind::Url);
    let now = Instant::now();
    let after = |seconds: f64| now + Duration::from_secs_f64(seconds);
    assert!(source.may_be_asked(now));
    source.fetched = Some(now);
    assert!(source.may_be_asked(now), "it has no interval");
    for (interval, early, due) in [(100.0, 98.99, 99.0), (10.0, 8.99, 9.0), (0.5, 0.44, 0.46)] {
        source.config = Rc::new(Config::read(&format!("u\nINTERVAL: {interval}\n")).0);
        assert!(
            !source.may_be_asked(now) && !source.may_be_asked(after(early)),
            "{interval}"
        );
        assert!(source.may_be_asked(after(due)), "{interval}");
    }
}

#[test]
fn samples_are_counted() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut source = source(&directory.path().join("a.url"), Kind::Url);
    let files = Files::new(directory.path(), 144);
    for (document, samples, metrics) in [("", 0, 0), ("a 1\nb 2\na 3\n", 3, 2), ("a 1\nc 1\nd{\ne 1", 3, 2)] {
        source.begin();
        let news = source.take(document.as_bytes(), &files);
        assert_eq!((news.samples, news.metrics.len()), (samples, metrics), "{document}");
    }
}

/// A name takes twice its length and something for its metric. What has no place is counted.
#[test]
fn names_take_memory() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut source = source(&directory.path().join("a.url"), Kind::Url);
    let files = Files::new(directory.path(), 144);
    let mut take = |memory: usize| {
        source.begin();
        source.limit_memory(memory);
        let metrics = source.take(b"abcdefghij 1\n", &files).metrics.len();
        (metrics, source.budget.used(), source.not_shown())
    };
    let reason = "1 series are not shown (there are more than a source may have; a line FORGET: makes room) (line 1)";
    assert_eq!(take(419), (0, 0, Some(reason.to_owned())));
    assert_eq!(take(420), (1, 420, None));
}

/// Help texts, names and labels of metrics that are long count as well.
#[test]
fn texts_take_memory() {
    let directory = tempfile::tempdir().expect("a directory");
    let files = Files::new(directory.path(), 144);
    let (long, label) = ("x".repeat(limits::COMMENT - 100), "x".repeat(limits::LABEL_BYTES - 10));
    for (name, document) in [
        ("help", format!("# HELP a {long}\na 1\n")),
        (
            "name",
            format!("# PCP5 {long} 1.1.1 double PM_INDOM_NULL instant none\na 1\n"),
        ),
        (
            "labels",
            format!("# PCP5 a 1.1.1 double PM_INDOM_NULL instant none\na{{x=\"{label}\"}} 1\n"),
        ),
    ] {
        let mut source = source(&directory.path().join("a.url"), Kind::Url);
        for (memory, is_lost) in [(10_000, true), (500_000, false)] {
            source.limit_memory(memory);
            source.begin();
            source.take(document.as_bytes(), &files);
            let what = source.not_shown().unwrap_or_default();
            assert_eq!(what.starts_with("1 series are not shown"), is_lost, "{name}: {what}");
        }
        assert!(source.budget.used() > 10_000, "{name}: {}", source.budget.used());
    }
}

/// The value of an instance that a document does not have any more takes no memory.
#[test]
fn old_texts_are_dropped() {
    let directory = tempfile::tempdir().expect("a directory");
    let files = Files::new(directory.path(), 144);
    let mut source = source(&directory.path().join("a.url"), Kind::Url);
    let document = |instance: u32| format!("# PCP5 a 1.1.1 string 1.1 instant none\na{{x=\"{instance}\"}} text\n");
    for instance in 0..3 {
        source.begin();
        source.take(document(instance).as_bytes(), &files);
    }
    let rows = source.metric(0).and_then(Metric::rows).expect("instances");
    let texts: Vec<bool> = rows.iter().map(|(_, row)| row.has_text()).collect();
    assert_eq!(texts, [false, false, true]);
}

/// The log names each limit once, however many names are beyond it.
#[test]
fn a_limit_is_met_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut source = source(&directory.path().join("a.url"), Kind::Url);
    let files = Files::new(directory.path(), 144);
    let names = (0..limits::METRICS + 2).map(|number| format!("a{number} 1\n"));
    source.take(names.collect::<String>().as_bytes(), &files);
    let reason = "2 names are not shown (a source has at most 1024: divide it by filters) (line 1025)";
    assert_eq!(
        (source.not_shown().as_deref(), source.lost_samples()),
        (Some(reason), 2)
    );
}

/// The numbers of instances are in the file of the metric's own domain (OM-72).
#[test]
fn files_of_instances() {
    let directory = tempfile::tempdir().expect("a directory");
    let folder = directory.path().join("config/pmda");
    fs::create_dir_all(&folder).expect("made");
    let mut source = source(&directory.path().join("a.url"), Kind::Url);
    let files = Files::new(directory.path(), 144);
    source.take(b"a{x=\"1\"} 1\nb{x=\"1\"} 1\nc{x=\"1\"} 1\n", &files);
    for serial in [5120, 5121, 5122] {
        assert!(folder.join(format!("144.{serial}.py")).exists(), "{serial}");
    }
}

/// Every quarter of the FORGET time the source is examined, and forgotten series give their memory
/// back (OM-73).
#[test]
fn forgotten_series_give_their_memory_back() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut source = source(&directory.path().join("a.url"), Kind::Url);
    let files = Files::new(directory.path(), 144);
    source.take(b"a{x=\"1\"} 1\n", &files);
    let before = source.budget.used();
    source.take(b"a{x=\"1\"} 1\na{x=\"2\"} 1\n", &files);
    assert!(source.budget.used() > before);
    source.config = Rc::new(Config::read("u\nFORGET: 4\n").0);
    let now = Instant::now();
    source.forget(now);
    for second in 1..=6 {
        source.begin();
        source.take(b"a{x=\"1\"} 1\n", &files);
        source.forget(now + Duration::from_secs(second));
    }
    assert_eq!(source.budget.used(), before);
}

/// A document that does not change costs nothing any more: neither names beyond the limit, nor
/// those that filters exclude, however often the file changes.
#[test]
fn what_is_kept_is_charged_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut source = source(&directory.path().join("a.url"), Kind::Url);
    let files = Files::new(directory.path(), 144);
    let names = (0..limits::METRICS + 500).map(|number| format!("a{number}{{x=\"1\"}} 1\n"));
    let document = names.collect::<String>() + "go_x 1\ngo_y 1\n";
    let mut used = Vec::new();
    for _ in 0..5 {
        let (config, faults) = Config::read("u\nFILTER: EXCLUDE METRIC go_\n");
        source.take_config(config, faults);
        for _ in 0..5 {
            source.begin();
            source.take(document.as_bytes(), &files);
            used.push((source.budget.used(), source.excluded.used()));
        }
    }
    assert!(used.iter().all(|now| *now == used[0]), "{used:?}");
    assert_eq!(used[0].1, 2 * excluded_size("go_x"));
}

/// Names that a filter excludes take no memory of those that are shown.
#[test]
fn excluded_names_are_bounded() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut source = source(&directory.path().join("a.url"), Kind::Url);
    let files = Files::new(directory.path(), 144);
    source.config = Rc::new(Config::read("u\nFILTER: EXCLUDE METRIC go_\n").0);
    for document in 0..4 {
        let names = (0..5000).map(|number| format!("go_{document}_{number} 1\n"));
        source.begin();
        source.take((names.collect::<String>() + "a 1\n").as_bytes(), &files);
    }
    assert!(source.excluded.used() <= limits::EXCLUDED && source.by_name.len() < 16_000);
    assert_eq!((source.budget.used(), source.not_shown()), (metric_size("a"), None));
}

/// The names in the files of numbers are charged as well, and only once, so a restart does not make
/// more room. A name that is forgotten makes room for another one.
#[test]
fn loaded_names_are_charged() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::create_dir_all(directory.path().join("config/pmda")).expect("made");
    let files = Files::new(directory.path(), 144);
    let start = || source(&directory.path().join("a.url"), Kind::Url);
    let document = |names: std::ops::Range<u32>| {
        let series = names.map(|number| format!("a{{x=\"{number}\"}} 1\n"));
        series.collect::<String>() + "b 1\n"
    };
    let mut first = start();
    first.take(document(100..200).as_bytes(), &files);
    let used = first.budget.used();
    let mut again = start();
    again.take(document(100..101).as_bytes(), &files);
    let series = series_size("x=\"100\"");
    let absent = instance_size("x:100") - number_size("x:100");
    assert_eq!(again.budget.used(), used - 99 * (series + absent));
    again.begin();
    again.take(document(100..200).as_bytes(), &files);
    assert_eq!(again.budget.used(), used);

    // Series that clients have seen before a restart are shown, also if the file alone fills the
    // budget.
    let mut small = start();
    small.limit_memory(80 * number_size("x:100"));
    small.take(document(100..101).as_bytes(), &files);
    assert_eq!(small.not_shown(), None);

    // A source that has used up its budget before a restart gets no more after it.
    let mut full = start();
    full.limit_memory(used + series);
    full.take(document(100..200).as_bytes(), &files);
    full.begin();
    full.take(document(200..201).as_bytes(), &files);
    assert!(full.not_shown().is_some_and(|what| what.starts_with("1 series")));
    full.config = Rc::new(Config::read("u\nFORGET: 4\n").0);
    let now = Instant::now();
    for second in 0..=6 {
        full.begin();
        full.take(document(300..301).as_bytes(), &files);
        full.forget(now + Duration::from_secs(second));
    }
    full.begin();
    full.take(document(300..301).as_bytes(), &files);
    assert_eq!(full.not_shown(), None);
}

/// A forgotten number is no instance after a restart.
#[test]
fn forgotten_numbers_are_no_instances() {
    let directory = tempfile::tempdir().expect("a directory");
    let folder = directory.path().join("config/pmda");
    fs::create_dir_all(&folder).expect("made");
    let file = "(lp0\nVx:1\np1\naV\\u0000\\u0000\np2\nag2\naVx:2\np4\na.I01\n.";
    fs::write(folder.join("144.5120.py"), file).expect("written");
    let mut source = source(&directory.path().join("a.url"), Kind::Url);
    let files = Files::new(directory.path(), 144);
    source.take(b"a{x=\"2\"} 1\na{x=\"3\"} 2\n", &files);
    let rows = source.metric(0).and_then(Metric::rows).expect("instances");
    let numbers: Vec<i32> = rows.iter().map(|(number, _)| number).collect();
    assert_eq!(numbers, [0, 3, 4]);
}

/// The parts of a document that are not shown, and the words of the agent about them.
fn lost(source: &mut Source, files: &Files, document: &str) -> (usize, usize, Option<String>) {
    source.begin();
    let news = source.take(document.as_bytes(), files);
    (news.shown, source.lost_samples(), source.not_shown())
}

/// Each reason is reported with the first line that it concerns, and the other lines are shown
/// (OM-38, OM-39, OM-40, OM-43, OM-60).
#[test]
fn each_loss_is_told() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut source = source(&directory.path().join("a.url"), Kind::Url);
    let files = Files::new(directory.path(), 144);
    let good = "a{x=\"1\"} 1\nb 2\n";
    assert_eq!(lost(&mut source, &files, good), (3 - 1, 0, None));
    for (more, shown, lost_samples, told) in [
        (
            "c{\n_d 1\n",
            2,
            2,
            "2 lines are no samples (line 3: the labels are not closed by })",
        ),
        (
            "a 1\n",
            2,
            1,
            "1 sample without a label of metrics with instances is not shown (line 3)",
        ),
        (
            "c what\n",
            2,
            1,
            "1 sample without a value of the metric's type is not shown (line 3)",
        ),
        (
            "b{x=\"1\"} 3\n",
            2,
            1,
            "1 sample is not shown, as another one of the same instance follows (line 3)",
        ),
        (
            "a{x=\"1\"} 3\n",
            2,
            1,
            "1 sample is not shown, as another one of the same instance follows (line 3)",
        ),
    ] {
        let told = Some(told.to_owned());
        assert_eq!(
            lost(&mut source, &files, &format!("{good}{more}")),
            (shown, lost_samples, told),
            "{more}"
        );
        assert_eq!(lost(&mut source, &files, good), (2, 0, None));
    }
}

/// Numbers for which there was no memory are read with the next document, which has no others for its names.
#[test]
fn numbers_that_are_read_later() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.url");
    let files = Files::new(directory.path(), 144);
    assert_eq!(lost(&mut source(&path, Kind::Url), &files, "a 1\nb 2\n").0, 2);
    let mut again = source(&path, Kind::Url);
    // A serial without a file.
    again.numbers = Table::load(&files, limits::SOURCES, limits::METRICS);
    again.numbers.leave_unread(Full::Memory);
    assert_eq!(lost(&mut again, &files, "b 2\na 1\n").0, 2);
    let numbers: Vec<_> = again
        .metrics()
        .iter()
        .map(|metric| (&*metric.name, metric.item))
        .collect();
    assert_eq!(numbers, [("b", 1), ("a", 0)]);
}

/// A metric keeps its type whatever comes; the status says so, with its name (OM-57).
#[test]
fn types_that_change() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut source = source(&directory.path().join("a.url"), Kind::Url);
    let files = Files::new(directory.path(), 144);
    let (gauge, counter) = ("# TYPE a gauge\na 1\n", "# TYPE a counter\na 1\n");
    assert_eq!(lost(&mut source, &files, gauge).2, None);
    // The same type in other words.
    assert_eq!(
        lost(&mut source, &files, "# TYPE a gauge \n# UNIT a s\na 1\na 1\n").1,
        1
    );
    // A second group of samples may be below the comments of another metric.
    let twice = lost(&mut source, &files, "# TYPE a gauge\na 1\n# TYPE b counter\nb 1\na 2\n");
    assert!(
        twice.2.is_some_and(|what| !what.contains("another type")),
        "the comments before b"
    );
    let told = "1 metric would have another type, semantics, unit or instances if new: restart pmcd to take it over (openmetrics.a.a)";
    let labelled = "# TYPE a gauge\na{x=\"1\"} 1\n";
    assert_eq!(lost(&mut source, &files, labelled), (1, 0, Some(told.to_owned())));
    for _ in 0..2 {
        assert_eq!(lost(&mut source, &files, counter), (1, 0, Some(told.to_owned())));
    }
    let mut rewrite = |lines: &str| {
        let (config, faults) = Config::read(&format!("u\n{lines}\n"));
        source.take_config(config, faults);
        let seen = lost(&mut source, &files, gauge);
        let metric = &source.metrics()[0];
        let described = (metric.kind, metric.semantics, metric.unit);
        assert_eq!(described, (Type::F64, Semantics::Instant, Unit::NONE), "{lines}");
        seen
    };
    for (lines, is_other) in [
        ("# A comment.", false),
        ("HEADER: a: b", false),
        ("METADATA: a double - instant none", false),
        ("METADATA: a u64 - instant none", true),
        ("METADATA: a double - instant byte", true),
        ("METADATA: a double - discrete none", true),
        ("TYPES: document", false),
        ("", false),
    ] {
        assert_eq!(rewrite(lines), (1, 0, is_other.then(|| told.to_owned())), "{lines}");
    }
}

/// Filters take effect at once, and a metric that is included again is the one that it was (OM-18).
#[test]
fn filters_that_change() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut source = source(&directory.path().join("a.url"), Kind::Url);
    let files = Files::new(directory.path(), 144);
    let document = "a{x=\"1\",y=\"2\"} 1\nb{z=\"3\"} 2\n";
    let mut seen = |lines: &str| {
        let (config, faults) = Config::read(&format!("u\n{lines}\n"));
        source.take_config(config, faults);
        let (shown, lost_samples, told) = lost(&mut source, &files, document);
        assert_eq!((lost_samples, told, source.metrics().len()), (0, None, 2), "{lines}");
        let used = source.budget.used();
        let names = source.metric(0).and_then(Metric::rows).expect("instances");
        let in_document = names
            .iter()
            .filter(|(_, row)| row.atom().is_ok_and(|atom| atom != Atom::None));
        let numbers: Vec<i32> = in_document.map(|(number, _)| number).collect();
        (shown, numbers, source.metrics()[0].labels(), used)
    };
    let (x, y) = (Labels::new().add("x", "1"), Labels::new().add("x", "1").add("y", "2"));
    let (first, used) = ((2, vec![0], y.clone()), seen("").3);
    for (lines, expected) in [
        ("", first.clone()),
        ("FILTER: EXCLUDE METRIC b", (1, vec![0], y.clone())),
        ("FILTER: EXCLUDE LABEL y", (2, vec![1], x.clone())),
        (
            "FILTER: OPTIONAL LABEL y",
            (2, vec![1], Labels::new().optional("y", "2").add("x", "1")),
        ),
        // Its labels wait for a sample.
        (
            "FILTER: EXCLUDE METRIC a",
            (1, vec![], Labels::new().optional("y", "2").add("x", "1")),
        ),
        ("", first),
    ] {
        let (shown, numbers, labels, _) = seen(lines);
        assert_eq!((shown, numbers, labels), expected, "{lines}");
    }
    // One more instance.
    assert_eq!(seen("").3, used + instance_size("x:1"));
}

/// A document is read for so long. What was not read in time is said, and takes no name away; what
/// was read has its values (OM-39).
#[test]
fn documents_that_take_long() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut source = source(&directory.path().join("a.url"), Kind::Url);
    let files = Files::new(directory.path(), 144);
    let (good, page) = ("a 1\nb 1\n", "<p>\n".repeat(3));
    assert_eq!(lost(&mut source, &files, good), (2, 0, None));
    let told = |lines: &str| {
        Some(format!(
            "{lines} not read, as the document takes more than 1 s of the processor (line 1)"
        ))
    };
    source.reads = Duration::ZERO;
    for (document, lines, samples) in [
        (good, "2 lines are", 2),
        ("a 1", "1 line is", 1),
        (&page, "3 lines are", 3),
    ] {
        source.begin();
        let news = source.take(document.as_bytes(), &files);
        assert_eq!((news.shown, news.gone.len(), news.no_document), (0, 0, None));
        assert_eq!((source.not_shown(), source.lost_samples()), (told(lines), samples));
    }
    source.reads = limits::READS;
    assert_eq!(lost(&mut source, &files, "a 1\n"), (1, 0, None));
    assert_eq!(source.metrics().iter().filter(|metric| metric.is_shown).count(), 1);
}

/// A comment that is too long costs what it says, and no sample.
#[test]
fn comments_that_are_too_long() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut source = source(&directory.path().join("a.url"), Kind::Url);
    let files = Files::new(directory.path(), 144);
    let help = format!("# HELP a {}\n", "x".repeat(limits::COMMENT));
    for (count, told) in [(1, "1 comment is"), (2, "2 comments are")] {
        let told = format!("{told} left out, with more than 16384 bytes (line 1)");
        let document = help.repeat(count) + "a 1\n";
        assert_eq!(lost(&mut source, &files, &document), (1, 0, Some(told)));
    }
    assert_eq!(source.metrics()[0].help, "\n");
}

/// A page is no document if most of its lines are no samples. Such a page has no values and takes
/// no names away, and the documents before and after it are read as if it had not come (OM-38).
#[test]
fn pages_that_are_no_documents() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut source = source(&directory.path().join("a.url"), Kind::Url);
    let files = Files::new(directory.path(), 144);
    assert_eq!(lost(&mut source, &files, "a 1\n"), (1, 0, None));
    for page in [
        "<html>\n<body>login please</body></html>\n",
        "{\n  \"status\": \"error\",\n  \"a\": 1\n}\n",
        "a 1\n<p>\n</p>\n",
    ] {
        source.begin();
        let news = source.take(page.as_bytes(), &files);
        assert!(
            news.no_document.is_some_and(|first| first.starts_with("line ")),
            "{page}"
        );
        assert_eq!((news.shown, news.gone.len()), (0, 0), "{page}");
        assert!(
            source.metrics()[0].is_shown && source.metrics()[0].atom().is_err(),
            "{page}"
        );
    }
    assert_eq!(
        lost(&mut source, &files, "a 1\nb{\n"),
        (
            1,
            1,
            Some("1 line is no sample (line 2: the labels are not closed by })".to_owned())
        )
    );
    assert_eq!(source.metrics().len(), 1);
}
