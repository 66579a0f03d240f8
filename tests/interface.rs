//! The public interface of the crate `pmda`, as rustdoc shows it: `pmda/interface.txt` has all of it.
//! A change of the interface changes that file, so nobody changes it by accident.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use pcp_pmda_test::root;
use regex::Regex;

/// The pages of all items, as the list of them in the documentation says.
fn pages(folder: &Path) -> Vec<String> {
    let list = fs::read_to_string(folder.join("all.html")).expect("the list of all items");
    let link = Regex::new(r#"<li><a href="([^"]*)">"#).expect("a pattern");
    link.captures_iter(&list).map(|found| found[1].to_owned()).collect()
}

/// HTML as plain text, in one line.
fn plain(html: &str) -> String {
    let tags = Regex::new("<[^>]*>").expect("a pattern");
    let mut text = tags.replace_all(html, "").into_owned();
    for (entity, character) in [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ] {
        text = text.replace(entity, character);
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// An item: its declaration, its functions, and the traits that it has, but for those that the
/// compiler or a blanket implementation gives it.
fn item(page: &str, out: &mut String) {
    let own = page.split("id=\"synthetic-implementations\"").next().unwrap_or(page);
    let own = own.split("id=\"blanket-implementations\"").next().unwrap_or(own);
    let (functions, traits) = own.split_once("id=\"trait-implementations\"").unwrap_or((own, ""));
    let declaration = Regex::new(r#"(?s)<pre class="rust (?:item-decl|macro)">(.*?)</pre>"#).expect("a pattern");
    let function = Regex::new(r#"(?s)<h4 class="code-header">(.*?)</h4>"#).expect("a pattern");
    let implemented = Regex::new(r#"(?s)<h3 class="code-header">(.*?)</h3>"#).expect("a pattern");
    for found in declaration.captures_iter(functions) {
        writeln!(out, "{}", plain(&found[1])).expect("a string takes all");
    }
    // A trait's page has its functions in the declaration, and then those who implement it.
    if !page.contains("id=\"implementors\"") {
        for found in function.captures_iter(functions) {
            writeln!(out, "    {}", plain(&found[1])).expect("a string takes all");
        }
        for found in implemented.captures_iter(traits) {
            writeln!(out, "    {}", plain(&found[1])).expect("a string takes all");
        }
    }
}

/// The whole interface, item by item.
fn interface() -> String {
    let root = root();
    let target = root.join("target/interface");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let made = Command::new(cargo)
        .args([
            "doc",
            "--quiet",
            "--locked",
            "--no-deps",
            "--lib",
            "--package",
            "pmda",
            "--target-dir",
        ])
        .arg(&target)
        .current_dir(root)
        .status();
    assert!(made.is_ok_and(|status| status.success()), "cargo doc");
    let folder = target.join("doc/pmda");
    let read = |page: &str| fs::read_to_string(folder.join(page)).expect("a page of the documentation");
    let mut text = format!("{}\n", version());
    for page in pages(&folder) {
        let name = page.trim_end_matches(".html").replacen('.', " ", 1);
        writeln!(text, "# {name}").expect("a string takes all");
        item(&read(&page), &mut text);
    }
    text += "# prelude\n";
    let reexport = Regex::new(r"(?s)<code>(pub use .*?)</code>").expect("a pattern");
    for found in reexport.captures_iter(&read("prelude/index.html")) {
        writeln!(text, "{}", plain(&found[1])).expect("a string takes all");
    }
    text
}

/// The version of the compiler, with which the way changes in which rustdoc writes things.
fn version() -> String {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().expect("a compiler");
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    output.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

/// The names of items and functions only: the same with each compiler.
fn names(interface: &str) -> String {
    let function = Regex::new(r"(?-u:\b)fn ([A-Za-z0-9_]+)").expect("a pattern");
    let names = interface.lines().skip(1).flat_map(|line| {
        let heading = line.strip_prefix("# ").map(|name| format!("{name}\n"));
        let functions = function.captures_iter(line).map(|found| format!("    {}\n", &found[1]));
        heading.into_iter().chain(functions.collect::<Vec<_>>())
    });
    names.collect()
}

/// The file is what the sources say; with another compiler only the names are compared. With `INTERFACE=write` in the environment it is written anew:
/// look at the difference, and say in CHANGELOG.md what it means for agents.
#[test]
fn the_interface_is_the_one_that_is_written_down() {
    let file = root().join("pmda/interface.txt");
    let now = interface();
    if env::var_os("INTERFACE").is_some_and(|what| what == "write") {
        fs::write(&file, &now).expect("the sources can be written");
    }
    let known = fs::read_to_string(&file).unwrap_or_default();
    let is_same = known.lines().next() == Some(&version());
    let (now, known) = if is_same {
        (now, known)
    } else {
        (names(&now), names(&known))
    };
    let differs: Vec<String> = known
        .lines()
        .filter(|line| !now.lines().any(|other| other == *line))
        .map(|line| format!("- {line}"))
        .chain(
            now.lines()
                .filter(|line| !known.lines().any(|other| other == *line))
                .map(|line| format!("+ {line}")),
        )
        .collect();
    assert!(
        now == known,
        "the interface of the crate pmda has changed; INTERFACE=write cargo test --test interface takes it over\n{}",
        differs.join("\n")
    );
}

/// The items of the interface by their last name, each with its lines.
fn items(interface: &str) -> BTreeMap<String, String> {
    let mut items = BTreeMap::new();
    for part in interface.split("\n# ").skip(1) {
        let (heading, lines) = part.split_once('\n').unwrap_or((part, ""));
        let name = heading.rsplit([' ', '/']).next().unwrap_or(heading);
        let known: &mut String = items.entry(name.to_owned()).or_default();
        *known += lines;
    }
    items
}

/// All tests of the crate and its examples.
fn tests() -> String {
    fn collect(folder: &Path, is_test: bool, text: &mut String) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let is_test = is_test || path.file_stem().is_some_and(|name| name == "tests");
            if path.is_dir() {
                collect(&path, is_test, text);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let source = fs::read_to_string(&path).expect("a source");
                let own = source.split_once("#[cfg(test)]").map_or("", |(_, tests)| tests);
                text.push_str(if is_test { &source } else { own });
            }
        }
    }
    let root = root();
    let mut text = String::new();
    for (folder, is_test) in [
        ("pmda/tests", true),
        ("pmda/examples", true),
        ("pmda/src", false),
        ("tests/agents_in_rust", true),
    ] {
        collect(&root.join(folder), is_test, &mut text);
    }
    text
}

/// Each item that the guide names in place of a function of C, or of its argument, exists, and a
/// test uses it.
#[test]
fn the_guide_names_what_is_there_and_tested() {
    let root = root();
    let read = |file: &str| fs::read_to_string(root.join(file)).expect("part of the sources");
    let (guide, items, tests) = (read("docs/RUST-AGENTS.md"), items(&read("pmda/interface.txt")), tests());
    let (_, tables) = guide
        .split_once("## Each function of C, Perl and Python")
        .expect("a heading");
    let (tables, _) = tables.split_once("## Metrics at run time").expect("a heading");
    let name = Regex::new(r"`([A-Z][A-Za-z0-9]+)::([A-Za-z0-9_]+)").expect("a pattern");
    let (mut seen, mut wrong) = (0, Vec::new());
    for found in name.captures_iter(tables) {
        let (of, name) = (&found[1], &found[2]);
        let Some(lines) = items.get(of) else {
            wrong.push(format!("{of} is no item"));
            continue;
        };
        if !Regex::new(&format!(r"(fn|const) {name}(?-u:\b)"))
            .expect("a pattern")
            .is_match(lines)
        {
            wrong.push(format!("{of} has no {name}"));
        }
        if !Regex::new(&format!(r"(\.|::|fn |const ){name}(?-u:\b)"))
            .expect("a pattern")
            .is_match(&tests)
        {
            wrong.push(format!("{of}::{name} is in no test"));
        }
        seen += 1;
    }
    assert!(wrong.is_empty() && seen > 80, "{seen} names: {wrong:#?}");
}
