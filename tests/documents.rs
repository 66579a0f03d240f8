//! Statements of documents and packages about this repository, compared with the repository. Until a release such a statement may be out of date: `make -C
//! packaging release-check`.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use pcp_pmda_test::program::Program;
use pcp_pmda_test::{Library, root, skipped};
use regex::Regex;

fn text(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The first match of the pattern's first group.
fn first(name: &str, pattern: &str) -> String {
    let text = text(name);
    let found = Regex::new(pattern).expect("valid").captures(&text);
    found.unwrap_or_else(|| panic!("{name}: nothing is like {pattern}"))[1].to_owned()
}

#[test]
#[ignore = "at a release: make -C packaging release-check"]
fn one_version() {
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        first("debian/changelog", r"^pcp-pmda-rust \(([0-9.]+)-[0-9]+\) "),
        version
    );
    let spec = "packaging/rpm/libpcp-pmda-rust.spec";
    assert_eq!(first(spec, r"(?m)^Version: +([0-9.]+)$"), version);
    assert_eq!(first(spec, r"%changelog\n\* .* - ([0-9.]+)-[0-9]+\n"), version);
    assert_eq!(first("CHANGELOG.md", r"(?m)^## ([0-9.]+) \("), version);
}

/// The oldest Rust that Cargo.toml allows is the one that packages ask for, and that guides and
/// error messages name.
#[test]
#[ignore = "at a release: make -C packaging release-check"]
fn one_oldest_rust() {
    let oldest = env!("CARGO_PKG_RUST_VERSION");
    for pattern in [
        r"cargo \(>= ([0-9.]+)\)",
        r"rustc \(>= ([0-9.]+)\)",
        r"rustc-web \(>= ([0-9.]+)\)",
    ] {
        assert_eq!(first("debian/control", pattern), oldest);
    }
    assert_eq!(
        first("packaging/rpm/libpcp-pmda-rust.spec", r"cargo >= ([0-9.]+)"),
        oldest
    );
    assert_eq!(first("README.md", r"Rust ([0-9.]+) or later"), oldest);
}

/// The documents.
fn pages(root: &Path) -> Vec<PathBuf> {
    let mut pages = ["c-examples/README.md", "packaging/pairs.md", "tests/README.md"]
        .map(|page| root.join(page))
        .to_vec();
    for directory in ["", "docs", "docs/spec"] {
        let entries = fs::read_dir(root.join(directory)).expect("a directory of the sources");
        let files = entries.map(|entry| entry.expect("readable").path());
        pages.extend(files.filter(|file| file.extension().is_some_and(|extension| extension == "md")));
    }
    pages
}

/// A guide that another one leads to is there, and so is the heading in it.
#[test]
#[ignore = "at a release: make -C packaging release-check"]
fn links_lead_somewhere() {
    let link = Regex::new(r"\]\(([^)#:\s]*)(?:#([^)]*))?\)").expect("valid");
    let root = root();
    for page in pages(root) {
        let text = fs::read_to_string(&page).expect("readable");
        for found in link.captures_iter(&text) {
            let there = match &found[1] {
                "" => page.clone(),
                other => page.parent().expect("in a directory").join(other),
            };
            assert!(there.exists(), "{}: {} is not there", page.display(), &found[1]);
            if let (Some(heading), Some("md")) = (found.get(2), there.extension().and_then(OsStr::to_str)) {
                let is_there = anchors(&there).iter().any(|anchor| anchor == heading.as_str());
                assert!(is_there, "{}: no heading for {}", page.display(), &found[0]);
            }
        }
    }
}

/// The names by which links reach a page's headings.
fn anchors(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).expect("readable");
    let headings = text.lines().filter_map(|line| line.strip_prefix('#'));
    let name = |heading: &str| -> String {
        let heading = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        heading
            .chars()
            .filter(|letter| letter.is_alphanumeric() || "-_".contains(*letter))
            .collect()
    };
    headings.map(name).collect()
}

/// A file of the sources that a document names is there.
#[test]
#[ignore = "at a release: make -C packaging release-check"]
fn named_files_are_there() {
    let name = Regex::new(
        r"`((?:benches|capi|core|docs|fuzz|include|packaging|src|tests)/[a-z0-9_./-]+\.(?:c|csv|cpp|h|ld|md|py|rs|sh|svg|tsv))`",
    );
    let name = name.expect("valid");
    let root = root();
    let mut found = 0;
    for page in pages(root) {
        // Its folder is the reader's own.
        let guide = page.ends_with("RUST-AGENTS.md");
        let text = fs::read_to_string(&page).expect("readable");
        for file in name.captures_iter(&text).map(|found| found[1].to_owned()) {
            found += 1;
            let there = root.join(&file).exists() || (guide && file.starts_with("src/"));
            assert!(there, "{}: {file} is not there", page.display());
        }
    }
    assert!(found > 50, "only {found} files are named");
}

/// A command of a document that runs some tests by a word, as `cargo test -p pmda-core save::` does, runs some: the
/// word is in a path or in the name of a test of that package. The same for `--test FILE`.
#[test]
#[ignore = "at a release: make -C packaging release-check"]
fn named_tests_are_there() {
    let folders = [
        ("pmda-core", "core"),
        ("pcp-pmda", "src"),
        ("pmda", "pmda"),
        ("pmda-openmetrics", "agents/openmetrics"),
        ("pcp-pmda-rust-compare", "tools/compare"),
    ];
    let command = Regex::new(r"cargo test (?:-p ([a-z-]+) )?(?:--lib |--test ([a-z_]+) ?)?([a-z_:]*)").expect("valid");
    let root = root();
    let mut found = 0;
    for page in pages(root) {
        let text = fs::read_to_string(&page).expect("readable");
        for command in command.captures_iter(&text) {
            let group = |number| command.get(number).map_or("", |found| found.as_str());
            let (package, file, word) = (group(1), group(2), group(3).trim_end_matches(':'));
            let (_, folder) = *folders.iter().find(|(name, _)| *name == package).unwrap_or(&("", "."));
            let sources = Command::new("git")
                .arg("-C")
                .arg(root)
                .args(["grep", "-l", "", "--", folder])
                .output();
            let sources = String::from_utf8(sources.expect("git is there").stdout).expect("text");
            let is_file = |path: &str| {
                path.ends_with(&format!("tests/{file}.rs")) || path.ends_with(&format!("tests/{file}/main.rs"))
            };
            found += 1;
            assert!(
                file.is_empty() || sources.lines().any(is_file),
                "{}: {}",
                page.display(),
                &command[0]
            );
            let is_module = |path: &str| path.contains(&format!("/{word}/")) || path.contains(&format!("/{word}."));
            let is_test = || {
                let name = Regex::new(&format!(r"(?-u:\b)fn [a-z0-9_]*{word}")).expect("valid");
                let mut rust = sources.lines().filter(|path| path.ends_with(".rs"));
                rust.any(|path| name.is_match(&fs::read_to_string(root.join(path)).unwrap_or_default()))
            };
            assert!(
                word.is_empty() || sources.lines().any(is_module) || is_test(),
                "{}: {}",
                page.display(),
                &command[0]
            );
        }
    }
    assert!(found > 30, "only {found} commands");
}

/// CONTRIBUTING's table has a row for each part of the library, and for each program of tests/c.
#[test]
#[ignore = "at a release: make -C packaging release-check"]
fn each_part_has_a_row() {
    let table = text("CONTRIBUTING.md");
    let word = Regex::new("C=([a-z]+)`").expect("valid");
    let words: Vec<_> = word.captures_iter(&table).map(|found| found[1].to_owned()).collect();
    let programs: Vec<_> = ["c", "c/fixed"].into_iter().flat_map(Program::all).collect();
    for program in &programs {
        let has_row = words.iter().any(|word| program.short_name().contains(word));
        assert!(has_row, "no row has a command for {}", program.name);
    }
    for word in &words {
        let has_program = programs.iter().any(|program| program.short_name().contains(word));
        assert!(has_program, "no program is named {word}");
    }
    for entry in fs::read_dir(root().join("src")).expect("the sources") {
        let name = entry.expect("readable").file_name().to_string_lossy().into_owned();
        assert!(
            name == "lib.rs" || table.contains(&format!("`src/{name}`")),
            "no row has src/{name}"
        );
    }
}

/// A table that names the commit which it was measured at is not older than so many commits of the
/// library: what it says is of code that is gone otherwise. The commands that measure write the
/// date and the commit.
#[test]
#[ignore = "at a release: make -C packaging release-check"]
fn tables_are_of_this_library() {
    const LIMIT: u32 = 250;
    let root = root();
    let git = |args: &[&str]| {
        let output = Command::new("git").arg("-C").arg(root).args(args).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    if git(&["rev-parse", "--is-shallow-repository"]).as_deref() != Some("false") {
        skipped("not a clone with its history: nothing can be said");
        return;
    }
    let commit = r"(?:, commit |\| [0-9]{4}-[0-9]{2}-[0-9]{2} \| )([0-9a-f]{7,40})(?:[,.]| \|)";
    let commit = Regex::new(commit).expect("valid");
    let mut found = 0;
    for page in ["docs/OPERATING.md", "docs/PERFORMANCE.md"] {
        let text = text(page);
        assert!(commit.is_match(&text), "{page} names no commit");
        for commit in commit.captures_iter(&text).map(|found| found[1].to_owned()) {
            found += 1;
            // A commit that was left behind is in the clone where it was made, and in no other.
            let lost = git(&["merge-base", "--is-ancestor", &commit, "HEAD"]).is_none();
            assert!(!lost, "{page}: commit {commit} is not in the history of this one");
            let count = git(&["rev-list", "--count", &format!("{commit}..HEAD"), "--", "src", "core"]);
            let count = count.expect("it is in the history");
            assert!(
                count.parse::<u32>().expect("a number") <= LIMIT,
                "{page}: what was measured at {commit} is {count} commits of src and core old: measure again"
            );
        }
    }
    assert!(found >= 10, "only {found} tables and rows name a commit");
}

/// The parts of Rust's standard library that this build has taken in: the toolchain's debug
/// information names their files.
#[test]
#[ignore = "at a release: make -C packaging release-check"]
fn what_comes_with_rust_is_named() {
    let library = fs::read(Library::Ours.file()).expect("cargo has built it");
    let third_party = text("THIRD-PARTY.txt");
    let path = regex::bytes::Regex::new(r"/rust/deps/([a-z0-9_-]+?)-\d+\.\d|/rustc/[0-9a-f]{40}/library/([a-z_-]+)/")
        .expect("valid");
    let found: BTreeSet<_> = path
        .captures_iter(&library)
        .filter_map(|found| found.get(1).or(found.get(2)))
        .map(|name| String::from_utf8_lossy(name.as_bytes()).into_owned())
        .collect();
    assert!(!found.is_empty(), "no debug information of the standard library");
    for name in found {
        let crate_name = if name == "compiler-builtins" {
            "compiler_builtins"
        } else {
            &name
        };
        let word = Regex::new(&format!(r"(?-u:\b){}(?-u:\b)", regex::escape(crate_name))).expect("valid");
        assert!(word.is_match(&third_party), "THIRD-PARTY.txt does not name {name}");
    }
}

/// Returns whether a crate is one of ours, which no registry has yet.
fn is_own(name: &str) -> bool {
    name.starts_with("pcp-pmda") || name.starts_with("pmda")
}

/// Name, version and licence of each crate that is linked into the library, into the program behind
/// `pcp-pmda-rust compare`, and into the agent openmetrics.
fn linked() -> BTreeSet<(String, String, String)> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--package", "pcp-pmda", "--package", "pcp-pmda-rust-compare"])
        .args([
            "--package",
            "pmda-openmetrics",
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--locked",
            "--offline",
        ])
        .args(["--format", "{p}|{l}"])
        .current_dir(root())
        .output()
        .expect("cargo is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).expect("text");
    let row = Regex::new(r"(?m)^(\S+) v(\S+)[^|\n]*\|(.*?)(?: \(\*\))?$").expect("valid");
    let found = row
        .captures_iter(&lines)
        .map(|row| (row[1].to_owned(), row[2].to_owned(), row[3].replace('/', " OR ")));
    found.filter(|(name, ..)| !is_own(name)).collect()
}

/// packaging/sbom.sh: every linked crate with its licence, its checksum and one that needs it.
#[test]
#[ignore = "at a release: make -C packaging release-check"]
fn the_bill_of_materials_names_what_is_linked() {
    let place = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(root().join("packaging/sbom.sh"));
    command
        .env("SOURCE_DATE_EPOCH", "0")
        .env("CARGO_TARGET_DIR", place.path())
        .env("CARGO_NET_OFFLINE", "true");
    let output = command.output().expect("bash is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let path = String::from_utf8(output.stdout).expect("a path");
    let bill = fs::read_to_string(path.trim()).expect("written");
    let part = Regex::new(
        r"PackageName: (\S+)\nSPDXID: (\S+)\nPackageVersion: (\S+)\n(?:.*\n)*?PackageLicenseDeclared: (.*)\n",
    );
    let sum = Regex::new(r"PackageChecksum: SHA256: (\S+)").expect("valid");
    let (mut named, lock) = (BTreeSet::new(), text("Cargo.lock"));
    for found in part.expect("valid").captures_iter(&bill) {
        if !found[0].contains("PackageChecksum") {
            assert!(is_own(&found[1]), "{} has no checksum", &found[1]);
            continue;
        }
        let checksum = &sum.captures(&found[0]).expect("seen")[1];
        let entry = format!("name = \"{}\"\nversion = \"{}\"\n", &found[1], &found[3]);
        let at = lock.find(&entry).expect("locked");
        let entry = lock.get(at..at + 300).unwrap_or(&lock[at..]);
        assert!(entry.contains(checksum), "{}: {checksum}", &found[1]);
        assert!(
            bill.contains(&format!(" DEPENDS_ON {}\n", &found[2])),
            "who needs {}",
            &found[1]
        );
        named.insert((found[1].to_owned(), found[3].to_owned(), found[4].to_owned()));
    }
    assert_eq!(named, linked());
}
