//! Without memory nothing ends the process: what lets a list grow stands where room has been made
//! for it, by something that can fail, or says where that was done.
//!
//! `clippy.toml` forbids what always allocates. `push` and its like allocate only when there is no
//! room, so that no lint can tell; here each of them in `src` and `core/src` is looked for by its
//! name. One that has no `try_reserve` or [`ROOM`] above it in its function needs a comment that
//! begins with "Room:" in front of it, or is a method of our own that gives an error.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

/// What may allocate, by name.
static GROWS: LazyLock<Regex> = LazyLock::new(|| {
    let names = "push|push_back|push_front|push_str|insert_str|append|extend|extend_from_slice|extend_from_within|resize|resize_with|insert|to_vec|concat|join";
    Regex::new(&format!(r"\.({names})\(")).expect("a pattern")
});

/// What makes room.
static ROOM: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"try_reserve|[^a-z]reserve[a-z_]*\(|// Room: ").expect("a pattern"));

/// What begins the tests of a file.
static TESTS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"#\[cfg\(test\)\]\n(pub[a-z()]* )?mod [a-z_]+ \{").expect("a pattern"));

/// What begins a function.
static FUNCTION: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(^|[ (])fn [a-z_]").expect("a pattern"));

/// Our own methods with such names, which give an error, or write into what does: by the end of the
/// expression in front of the name.
const OWN: [&str; 17] = [
    "self.push",
    "self.insert",
    "self.extend",
    "cache.resize",
    "place.insert",
    "index.insert",
    "sparse.insert",
    "names.insert",
    "positions.insert",
    "block.push",
    "text.push",
    "line.push",
    "out.push",
    "tree.insert",
    "queues.append",
    "labels.insert",
    "list.push",
];

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The lines of a file that let something grow where no room was made.
fn careless(text: &str) -> Vec<(usize, String)> {
    // Tests come last in a file, and may end.
    let text = TESTS.splitn(text, 2).next().unwrap_or(text);
    let lines: Vec<&str> = text.lines().collect();
    let is_careless = |at: &usize| {
        let code = lines[*at].split("//").next().unwrap_or_default();
        let Some(found) = GROWS.find(code) else { return false };
        let call = code[..found.end()].trim_end_matches('(');
        let is_own = OWN.iter().any(|own| call.ends_with(own)) || code.trim_end().ends_with(")?;");
        let start = (0..=*at)
            .rev()
            .find(|line| FUNCTION.is_match(lines[*line]))
            .unwrap_or(0);
        let is_own = is_own || call.trim_start() == ".append";
        !is_own && !lines[start..=*at].iter().any(|line| ROOM.is_match(line))
    };
    (0..lines.len())
        .filter(is_careless)
        .map(|at| (at + 1, lines[at].trim().to_owned()))
        .collect()
}

#[test]
fn lists_grow_where_there_is_room() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for folder in ["src", "core/src"] {
        files(&root.join(folder), &mut found);
    }
    // Unit tests may end: `tests.rs` of a module, and the files of the folder `tests` beside it.
    let is_test = |path: &Path| path.iter().any(|part| part == "tests" || part == "tests.rs");
    let mut report = String::new();
    for path in found.iter().map(|path| path.strip_prefix(root).unwrap_or(path)) {
        if is_test(path) {
            continue;
        }
        let text = fs::read_to_string(root.join(path)).expect("a source file");
        for (line, text) in careless(&text) {
            report += &format!("{}:{line}: {text}\n", path.display());
        }
    }
    assert!(report.is_empty(), "these may end the process without memory:\n{report}");
}

#[test]
fn finds_what_has_no_room() {
    let grows = "fn f(list: &mut Vec<u8>) {\n    list.push(1);\n}\n";
    // `list` is a name of our own, too.
    assert!(careless(grows).is_empty());
    let grows = grows.replace("list", "bytes");
    assert_eq!(careless(&grows), [(2, "bytes.push(1);".to_owned())]);
    let reserved = grows.replace("    bytes", "    bytes.try_reserve(1)?;\n    bytes");
    assert!(careless(&reserved).is_empty());
    assert!(careless(&grows.replace("    bytes", "    // Room: of the caller.\n    bytes")).is_empty());
    assert_eq!(careless(&grows.replace("push(1)", "extend(other)")).len(), 1);
}
