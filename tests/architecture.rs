//! What docs/ARCHITECTURE.md says about the sources: where unsafe code may stand, how much of it
//! there is, and which rooms know each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use pcp_pmda_test::root;
use regex::Regex;

/// Whether unsafe code may stand in a file: C's structures, the operating system and libpcp, and
/// what a room exports.
fn touches_c(path: &str) -> bool {
    path.starts_with("view/") || path.starts_with("sys/") || path.ends_with("/exports.rs")
}

/// The files of a folder of the repository: the path below it, and the text.
fn texts(folder: &str) -> Vec<(String, String)> {
    fn collect(folder: &Path, base: &Path, list: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(folder).expect("sources") {
            let path = entry.expect("sources").path();
            if path.is_dir() {
                collect(&path, base, list);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = fs::read_to_string(&path).expect("a source");
                let name = path.strip_prefix(base).expect("below it").to_string_lossy();
                list.push((name.into_owned(), text));
            }
        }
    }
    let mut list = Vec::new();
    let base = root().join(folder);
    collect(&base, &base, &mut list);
    list
}

/// The sources of the library without their comments.
fn sources() -> Vec<(String, String)> {
    let mut list = texts("src");
    for (_, text) in &mut list {
        let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
        *text = code.collect::<Vec<_>>().join("\n");
    }
    list
}

/// The lines of code inside of unsafe blocks, first and last included, in each room. Those of unit
/// tests, which stand at the end of a file, do not count.
fn unsafe_lines() -> BTreeMap<String, usize> {
    let block = Regex::new(r"(?-u:\b)unsafe\s*\{").expect("valid");
    let mut rooms: BTreeMap<String, usize> = BTreeMap::new();
    for (path, code) in sources() {
        let library = code.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let (mut end, mut lines) = (0, 0);
        for found in block.find_iter(library) {
            // What is inside of another block was counted with it.
            if found.start() >= end {
                end = found.end() + length_of_block(&library[found.end()..]);
                let code = |line: &&str| !line.trim().is_empty();
                lines += library[found.start()..end].lines().filter(code).count();
            }
        }
        if lines > 0 {
            *rooms.entry(room_of(&path)).or_default() += lines;
        }
    }
    rooms
}

/// Where the block ends whose opening bracket stands before `code`.
fn length_of_block(code: &str) -> usize {
    let mut depth = 1;
    let end = code.bytes().position(|byte| {
        depth += i32::from(byte == b'{') - i32::from(byte == b'}');
        depth == 0
    });
    end.map_or(code.len(), |end| end + 1)
}

fn room_of(path: &str) -> String {
    path.split('/').next().unwrap_or_default().to_owned()
}

/// A view or a view's field does without unsafe code of its own: see there before the limit is
/// raised.
#[test]
fn unsafe_lines_are_few() {
    let word = Regex::new(r"(?-u:\b)unsafe(?-u:\b)").expect("valid");
    let spoken: Vec<_> = sources()
        .into_iter()
        .filter(|(path, code)| !touches_c(path) && word.is_match(code))
        .map(|(path, _)| path)
        .collect();
    assert!(spoken.is_empty(), "unsafe is spoken of in {spoken:?}");
    let rooms = unsafe_lines();
    let all: usize = rooms.values().sum();
    assert!(all < 500, "{all} lines in unsafe blocks: {rooms:?}");
}

/// The crate for agents in Rust has unsafe blocks in front of the hosts of shared objects alone.
#[test]
fn agents_in_rust_are_safe() {
    let block = Regex::new(r"(?-u:\b)unsafe(?: extern [^{]*)?\s*\{").expect("valid");
    let mut blocks = 0;
    for (path, code) in texts("pmda") {
        let code: String = code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect();
        let found = block.find_iter(&code).count();
        assert!(
            found == 0 || path.starts_with("src/dso/") || path.starts_with("src/memory/"),
            "{path}"
        );
        blocks += found;
    }
    assert!(blocks <= 25, "{blocks} unsafe blocks");
}

/// What C's structures are, and the operating system, know none of the families of functions.
#[test]
fn view_and_sys_know_no_family() {
    let known = Regex::new(r"crate::\{?([a-z_]+)").expect("valid");
    let below = ["view", "sys", "boundary"];
    let mut arrows = Vec::new();
    for (path, code) in sources() {
        if !(path.starts_with("view/") || path.starts_with("sys/")) {
            continue;
        }
        let found = known.captures_iter(&code).filter(|found| !below.contains(&&found[1]));
        arrows.extend(found.map(|found| format!("{path}: {}", &found[0])));
    }
    assert!(arrows.is_empty(), "{arrows:#?}");
}

/// Within a room, too, arrows run one way. A view is a pointer to one of C's structures, and these
/// hold functions that take views: in `view` the definitions go in a circle, as in C's header.
#[test]
fn files_do_not_know_each_other_in_a_circle() {
    let listed = Regex::new(r"(?-u:\b)([a-z_]+)").expect("valid");
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, code) in sources() {
        let Some((room, rest)) = path.split_once('/') else {
            continue;
        };
        let file = |name: &str| format!("{room}/{name}");
        let (name, below) = rest.split_once('/').map_or((rest, ""), |(name, below)| (name, below));
        let name = name.trim_end_matches(".rs");
        if room == "view" || name == "mod" {
            continue;
        }
        let library = code.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        // What a file of a folder in the room calls `super` is that folder.
        let beside = if below.is_empty() { "super" } else { "super::super" };
        let used = Regex::new(&format!(r"(?:crate::{room}|(?-u:\b){beside})::(\{{[^;]*\}}|[a-z_]+)")).expect("valid");
        let known = arrows.entry(file(name)).or_default();
        for list in used.captures_iter(library) {
            known.extend(listed.find_iter(&list[1]).map(|name| file(name.as_str())));
        }
        known.remove(&file(name));
    }
    // What knows no other one that is left goes, until nothing does.
    while let Some(lowest) = arrows.iter().find_map(|(file, known)| {
        known
            .iter()
            .all(|other| !arrows.contains_key(other))
            .then(|| file.clone())
    }) {
        arrows.remove(&lowest);
    }
    assert!(arrows.is_empty(), "in circles, or above one: {:?}", arrows.keys());
}

/// Comments have at most 100 columns, and files at most 500 lines.
#[test]
fn files_can_be_read() {
    let mut large = Vec::new();
    for folder in ["src", "core", "pmda", "tests", "benches", "build", "fuzz"] {
        for (path, text) in texts(folder) {
            let is_wide = |line: &str| line.trim_start().starts_with("//") && line.chars().count() > 100;
            let wide = (1..).zip(text.lines()).filter(|(_, line)| is_wide(line));
            large.extend(wide.map(|(number, _)| format!("{folder}/{path}:{number}")));
            let lines = text.lines().count();
            if lines > 500 {
                large.push(format!("{folder}/{path}: {lines} lines"));
            }
        }
    }
    assert!(large.is_empty(), "{large:#?}");
}
