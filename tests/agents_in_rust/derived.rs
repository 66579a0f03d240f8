//! The errors of the derive macros, as the compiler shows them to an author.

use std::fs;
use std::process::Command;

use pcp_pmda_test::root;
use regex::Regex;

use crate::agents::as_author;

/// An agent with several mistakes: behind each line the errors that the compiler is to show there.
const MISTAKES: &str = r#"
use pmda::prelude::*;

#[derive(pmda::Metrics)]
pub struct Wrong {
    #[metric(counter, unit = BYTE, unit = BYTE)] //~ `unit` stands here twice
    twice: u64,
    #[metric(counter, instant)] //~ a metric has one semantics: `counter` and `instant` stand here
    both: u64,
    #[metric(count)] //~ expected `counter`, `instant`, `discrete`, `unit = …`, `name = "…"` or `item = …`
    unknown: u64,
    #[metric(item = 1024)] //~ expected `item = …`, a number from 0 to 1023
    item: u64,
    #[metric(name = "1st", item)] //~ expected `item = value` //~ "1st" is not a metric's name
    name: u64,
    #[metric = "counter"] //~ expected `#[metric]` or `#[metric(…)]`
    equals: u64,
    #[metric(item = 5)]
    first: u64,
    #[metric(item = 5)] //~ item 5 is that of the field `first`
    second: u64,
    #[metric(name = "first")] //~ two metrics have the name "first"
    third: u64,
    #[metric]
    #[metric] //~ a field is one metric: `#[metric]` stands here twice
    fourth: u64,
    #[metric]
    good: u64,
}

#[derive(pmda::Row)]
pub struct Nothing { //~ no field has #[metric] or #[metric(…)]
    _field: u64,
}

#[derive(pmda::Row)]
pub enum Other { //~ metrics are made from a struct with named fields
    One,
}

#[derive(pmda::Row)]
#[metric(counter)] //~ on a struct, expected `#[metric(crate = PATH)]`
pub struct Misplaced {
    #[metric]
    good: u64,
}

/// No error says that the trait is missing.
pub fn declare(m: &mut Metrics<Wrong>) {
    m.fields();
}
"#;

/// An agent of an author who has the crate under another name, forbids all that can be forbidden, and
/// has names of his own for what the macros may use: it compiles without a word of the compiler.
const STRANGE: &str = r#"
//! An agent.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, unreachable_pub, unused_qualifications)]
#![no_implicit_prelude]

use ::core::result::Result::Ok;

#[allow(dead_code)]
mod std {}
#[allow(dead_code)]
enum Result {
    Ok,
    Err,
}
#[allow(dead_code)]
enum Option {
    Some,
    None,
}
#[allow(dead_code)]
struct Clone;
#[allow(dead_code)]
struct String;

/// A row.
#[derive(::metrics::Row)]
#[metric(crate = ::metrics)]
pub struct Row {
    /// A field with the name of a keyword
    #[metric(counter)]
    r#type: u64,
    /// A text
    #[metric(name = "the.text")]
    text: ::std::string::String,
}

/// The agent.
#[derive(::metrics::Metrics)]
#[metric(crate = ::metrics)]
pub struct Strange {
    /// One
    #[metric]
    one: u32,
    rows: ::metrics::Indom<Row>,
}

impl ::metrics::Agent for Strange {
    const NAME: &'static str = "strange";
    const DOMAIN: u32 = 253;
    fn start(_: &::metrics::Env) -> ::metrics::Result<Self> {
        let rows = ::metrics::Indom::new();
        Ok(Strange { one: 1, rows })
    }
    fn metrics(m: &mut ::metrics::Metrics<Self>) {
        m.fields();
        let rows = m.indom(0, "Rows", |s| &mut s.rows);
        m.rows("row.", rows);
    }
}

::metrics::export_dso!(pmda_strange_init, Strange);

macro_rules! with {
    ($vis:vis $name:ident, $field:ident: $kind:ty, $label:literal, $item:literal, $unit:expr) => {
        /// A structure of a macro of the author.
        #[derive(::metrics::Metrics)]
        #[metric(crate = ::metrics)]
        $vis struct $name {
            #[doc = concat!("A field", " of ", stringify!($name))]
            #[metric(name = $label, item = $item, unit = $unit)]
            $vis $field: $kind,
        }
    };
}
with!(pub Filled, text: ::std::string::String, "x.y", 3, ::metrics::Unit::NONE);
with!(pub(crate) Hidden, number: u32, "x.y", 3, ::metrics::BYTE.per(::metrics::SEC));

/// Declares both.
pub fn declare(m: &mut ::metrics::Metrics<Filled>) {
    m.fields();
    let _ = |m: &mut ::metrics::Metrics<Hidden>| m.fields();
    let _ = Hidden { number: 1 }.number;
}
"#;

/// Compiles an agent that has the crate `pmda` under this name, and the crate `log`. Returns what the compiler says.
pub fn compile(name: &str, library: &str, source: &str) -> String {
    let folder = tempfile::tempdir().expect("a directory");
    fs::create_dir(folder.path().join("src")).expect("ours");
    let manifest = format!(
        "[package]\nname = \"{name}\"\nedition = \"2024\"\n[dependencies]\n{library} = {{ package = \"pmda\", path = {:?} }}\nlog = \"0.4\"\n[workspace]\n",
        root().join("pmda")
    );
    fs::write(folder.path().join("Cargo.toml"), manifest).expect("ours");
    fs::copy(root().join("Cargo.lock"), folder.path().join("Cargo.lock")).expect("ours");
    fs::write(folder.path().join("src/lib.rs"), source).expect("ours");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["check", "--quiet", "--offline", "--message-format=short"]);
    as_author(&mut cargo);
    cargo.current_dir(folder.path());
    let output = cargo.output().expect("cargo is there");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn strange_authors() {
    assert_eq!(compile("strange", "metrics", STRANGE), "");
}

#[test]
fn all_mistakes_are_shown() {
    let shown = compile("mistakes", "pmda", MISTAKES);
    let error = Regex::new(r"(?m)^src/lib\.rs:(\d+):\d+: error: (.*)$").expect("a pattern");
    let shown_errors: Vec<(usize, &str)> = error
        .captures_iter(&shown)
        .map(|found| {
            (
                found[1].parse().expect("a number"),
                found.get(2).expect("a text").as_str(),
            )
        })
        .collect();
    let lines = MISTAKES.lines().enumerate();
    let expected =
        lines.flat_map(|(number, line)| line.split("//~ ").skip(1).map(move |text| (number + 1, text.trim())));
    let mut expected: Vec<(usize, &str)> = expected.collect();
    for (line, text) in &shown_errors {
        let is_it = |(number, start): &(usize, &str)| number == line && text.starts_with(start);
        let place = expected.iter().position(is_it);
        let place = place.unwrap_or_else(|| panic!("line {line}: {text}\n{shown}"));
        expected.remove(place);
    }
    assert_eq!(expected, [], "{shown}");
}
