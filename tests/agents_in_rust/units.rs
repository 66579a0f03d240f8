//! Units that are read from texts, beside libpcp's `pmParseUnitsStr`.

use std::io::Write;
use std::process::{Command, Stdio};

use pcp_pmda_test::{compile_c, release, root};
use pmda::Unit;

/// Words that begin a unit, and some that are none.
const WORDS: [&str; 40] = [
    "byte",
    "bytes",
    "kb",
    "KiB",
    "Mbyte",
    "gigabyte",
    "tebibytes",
    "eb",
    "zb",
    "YB",
    "b",
    "kibyte",
    "ns",
    "us",
    "ms",
    "sec",
    "s",
    "second",
    "secs",
    "min",
    "minutes",
    "hr",
    "hours",
    "day",
    "count",
    "counts",
    "count x 10",
    "count x 10^3",
    "count x 10^-8",
    "count X 10^7",
    "count x 10^0",
    "x",
    "1",
    "2",
    "10",
    "1e3",
    "2.5",
    ".5",
    "-3",
    "none",
];
/// Extra units, which PCP knows since 7.2. Only a slash, a number or the end follows them: after an
/// extra unit a wrong or repeated word makes `pmParseUnitsStr` of 7.2.2 go on for ever.
const EXTRA: [&str; 9] = [
    "temperature (C)",
    "Temperature (f) ",
    "temperature (K)",
    "voltage (mV)",
    "current (ua)2",
    "CURRENT (A) -1",
    "power (KW)",
    "power (uW) voltage (V)",
    "power  (W)",
];
/// Extra units with something behind them.
const WITH_EXTRA: [&str; 4] = [
    "temperature (K)sec",
    "power (W)count / min",
    "CURRENT (A) kb^2 / s",
    "kb power (kW) ms count / count",
];
const POWERS: [&str; 12] = ["", "", "", "", "^2", "^-1", "^7", "^-8", "^0", "^8", "^15", "^01"];
const BLANKS: [&str; 4] = [" ", " ", "  ", "\t"];
const SLASHES: [&str; 6] = ["", "", "/", " / ", " /", "/ kb /"];

/// Numbers that look random, and are the same in each run (a linear congruence).
struct Picker(u64);

impl Picker {
    fn number(&mut self, below: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.number(from.len())]
    }

    fn side(&mut self, has_extra: bool) -> String {
        let count = self.number(4);
        let words = (0..count).map(|_| [self.pick(&WORDS), self.pick(&POWERS), self.pick(&BLANKS)].concat());
        let words: String = words.collect();
        let is_extra = has_extra && self.number(4) == 0;
        words + if is_extra { self.pick(&EXTRA) } else { "" }
    }

    fn text(&mut self, has_extra: bool) -> String {
        let slash = self.pick(&SLASHES);
        // Nothing but a slash or the end may follow an extra unit.
        let dividend = self.side(has_extra && !slash.is_empty());
        [&dividend, slash, &self.side(has_extra)].concat()
    }
}

/// The result of `Unit::parse_scaled`, as the program in C prints it.
fn in_rust(text: &str) -> Option<(u32, f64, String)> {
    let (unit, number) = Unit::parse_scaled(text).ok()?;
    let shown = if unit == Unit::NONE {
        String::new()
    } else {
        unit.to_string()
    };
    Some((unit.word(), number, shown))
}

fn in_c(line: &str) -> Option<(u32, f64, String)> {
    let (word, rest) = line.split_once(' ')?;
    let (number, shown) = rest.split_once(' ')?;
    Some((
        u32::from_str_radix(word, 16).ok()?,
        number.parse().ok()?,
        shown.to_owned(),
    ))
}

#[test]
fn as_libpcp_reads_them() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = directory.path().join("units");
    compile_c(&root().join("tests/agents_in_rust/units.c"), &program, &["-lpcp"]);
    let mut picker = Picker(1);
    let has_extra = release() >= [7, 2, 0];
    let extra = EXTRA.iter().chain(&WITH_EXTRA).filter(|_| has_extra);
    let alone = WORDS.iter().chain(extra).map(|text| (*text).to_owned());
    let texts: Vec<String> = alone.chain((0..20_000).map(|_| picker.text(has_extra))).collect();
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = texts.join("\n") + "\n";
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("no panic").expect("it reads all");
    let output = String::from_utf8(output.stdout).expect("ASCII");
    assert_eq!(output.lines().count(), texts.len());
    let mut accepted = 0;
    for (text, line) in texts.iter().zip(output.lines()) {
        let (rust, c) = (in_rust(text), in_c(line));
        // The last digits depend on the order of multiplications.
        let is_near = |one: f64, other: f64| one == other || (one - other).abs() <= 1e-12 * other.abs();
        let is_same = match (&rust, &c) {
            (Some((unit, number, shown)), Some((expected, factor, expected_shown))) => {
                unit == expected && is_near(*number, *factor) && shown == expected_shown
            }
            (one, other) => one.is_none() && other.is_none(),
        };
        assert!(is_same, "{text:?}: {rust:?} is not {line}");
        accepted += usize::from(c.is_some());
    }
    assert!(accepted > 2000, "only {accepted} are units");
}
