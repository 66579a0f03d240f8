//! What a release says of itself is the same everywhere: RELEASING.md names the places.

use std::fs;
use std::path::Path;

use regex::Regex;

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// What the first group of the pattern finds first.
fn first(name: &str, pattern: &str) -> String {
    let text = text(name);
    let found = Regex::new(pattern).expect("valid").captures(&text);
    found.unwrap_or_else(|| panic!("{name}: nothing is like {pattern}"))[1].to_owned()
}

#[test]
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

/// The oldest Rust that Cargo.toml allows is the one that packages ask for, and that guides and error messages name.
#[test]
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

/// A guide that another one leads to is there.
#[test]
fn links_lead_somewhere() {
    let link = Regex::new(r"\]\(([^)#:]+)(#[^)]*)?\)").expect("valid");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = vec![root.join("c-examples/README.md")];
    for directory in ["", "docs"] {
        let entries = fs::read_dir(root.join(directory)).expect("a directory of the sources");
        let files = entries.map(|entry| entry.expect("readable").path());
        pages.extend(files.filter(|file| file.extension().is_some_and(|extension| extension == "md")));
    }
    for page in pages {
        let text = fs::read_to_string(&page).expect("readable");
        for found in link.captures_iter(&text) {
            let there = page.parent().expect("in a directory").join(&found[1]);
            assert!(there.exists(), "{}: {} is not there", page.display(), &found[1]);
        }
    }
}
