//! The files about licences name every crate that is there: THIRD-PARTY.txt and
//! docs/DEPENDENCIES.md what is linked, debian/copyright all that the Debian source package holds.
//! packaging/licences.sh writes the two anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use pcp_pmda_test::{Library, root};
use regex::Regex;

fn text(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Name, version and licence of each crate that is linked into the library, and into the program
/// behind `pcp-pmda-rust compare`.
fn linked() -> BTreeMap<String, (String, String)> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--package", "pcp-pmda", "--package", "pcp-pmda-rust-compare"])
        .args(["--edges", "normal", "--prefix", "none", "--locked", "--offline"])
        .args(["--format", "{p}|{l}"])
        .current_dir(root())
        .output()
        .expect("cargo is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).expect("text");
    let row = Regex::new(r"(?m)^(\S+) v(\S+)[^|\n]*\|(.*?)(?: \(\*\))?$").expect("valid");
    let found = row
        .captures_iter(&lines)
        .map(|row| (row[1].to_owned(), (row[2].to_owned(), row[3].replace('/', " OR "))));
    found
        .filter(|(name, _)| !name.starts_with("pcp-pmda") && name != "pmda-core")
        .collect()
}

#[test]
fn third_party_names_what_is_linked() {
    let text = text("THIRD-PARTY.txt");
    let entry = Regex::new(r"(?m)^(\S+) (\d\S+)\n    SPDX-License-Identifier: (.*)\n    Copyright: ").expect("valid");
    let named: BTreeMap<_, _> = entry
        .captures_iter(&text)
        .map(|entry| (entry[1].to_owned(), (entry[2].to_owned(), entry[3].to_owned())))
        .collect();
    assert_eq!(named, linked(), "run packaging/licences.sh");
}

#[test]
fn the_rpm_names_what_is_linked() {
    let spec = text("packaging/rpm/libpcp-pmda-rust.spec");
    let entry = Regex::new(r"(?m)^Provides: +bundled\(crate\((\S+)\)\) = (\S+)$").expect("valid");
    let named: BTreeMap<_, _> = entry
        .captures_iter(&spec)
        .map(|entry| (entry[1].to_owned(), entry[2].to_owned()))
        .collect();
    let linked = linked()
        .into_iter()
        .map(|(name, (version, _))| (name, version))
        .collect();
    assert_eq!(named, linked, "run packaging/licences.sh");
    // What is there beside crates.
    for exception in [
        "Apache-2.0 WITH LLVM-exception",
        "GPL-3.0-or-later WITH GCC-exception-3.1",
    ] {
        assert!(spec.contains(exception), "{exception}");
    }
}

/// packaging/sbom.sh: every linked crate with its licence, its checksum and one that needs it.
#[test]
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
    let (mut named, lock) = (BTreeMap::new(), text("Cargo.lock"));
    for found in part.expect("valid").captures_iter(&bill) {
        if !found[0].contains("PackageChecksum") {
            assert!(
                ["pcp-pmda", "pcp-pmda-rust-compare", "pmda-core"].contains(&&found[1]),
                "{} has no checksum",
                &found[1]
            );
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
        named.insert(found[1].to_owned(), (found[3].to_owned(), found[4].to_owned()));
    }
    assert_eq!(named, linked());
}

/// Whoever is named as a holder is named by the crate itself, in a file about its licence or as an
/// author.
#[test]
fn the_holders_are_those_that_the_crates_name() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(root())
        .output()
        .expect("cargo is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata = String::from_utf8(output.stdout).expect("text");
    let manifest = Regex::new(r#""manifest_path":"([^"]*/([^/"]+))/Cargo.toml""#).expect("valid");
    let authors = Regex::new(r"(?s)authors = \[(.*?)\]\n").expect("valid");
    let sources: BTreeMap<_, _> = manifest
        .captures_iter(&metadata)
        .map(|found| {
            let files = fs::read_dir(&found[1]).expect("cargo names a directory").flatten();
            let about = files.filter(|file| {
                let name = file.file_name().to_string_lossy().to_uppercase();
                ["LICEN", "COPY", "NOTICE", "UNLICEN"]
                    .iter()
                    .any(|start| name.starts_with(start))
            });
            let mut text: String = about
                .map(|file| fs::read_to_string(file.path()).unwrap_or_default())
                .collect();
            let cargo = fs::read_to_string(format!("{}/Cargo.toml", &found[1])).expect("a manifest");
            text += authors
                .captures(&cargo)
                .map_or("", |list| list.get(1).map_or("", |list| list.as_str()));
            (found[2].to_owned(), text)
        })
        .collect();

    let stanza = Regex::new(r"(?m)^Files: vendor/(\S+)/\*\nCopyright: (.*\n(?: .*\n)*)License: ").expect("valid");
    let entry = Regex::new(r"(?m)^(\S+) (\d\S+)\n    SPDX.*\n((?:    Copyright: .*\n)+)").expect("valid");
    let (debian, third_party) = (text("debian/copyright"), text("THIRD-PARTY.txt"));
    let stanzas = stanza
        .captures_iter(&debian)
        .map(|found| (found[1].to_owned(), found[2].to_owned()));
    let entries = entry.captures_iter(&third_party).map(|found| {
        (
            format!("{}-{}", &found[1], &found[2]),
            found[3].replace("    Copyright:", ""),
        )
    });
    let mut compared = 0;
    for (directory, holders) in stanzas.chain(entries) {
        let Some(source) = sources.get(&directory) else {
            continue;
        };
        let name = directory.rsplit_once('-').map_or("", |(name, _)| name);
        for holder in holders.lines().map(str::trim) {
            let years = holder.trim_start_matches(|one: char| one.is_ascii_digit() || "-, ".contains(one));
            let nobody = [format!("the authors of {name}"), format!("the contributors to {name}")];
            let named = years.chars().any(char::is_alphabetic) && source.contains(holder);
            assert!(
                named || nobody.iter().any(|one| one == years),
                "{directory} does not name {holder:?}"
            );
            compared += 1;
        }
    }
    assert!(compared > 80, "{compared} holders");
}

/// One stanza for each crate of Cargo.lock, and a text for each licence that a stanza names.
#[test]
fn the_debian_copyright_names_every_source() {
    let lock = text("Cargo.lock");
    let package = Regex::new("name = \"(.*)\"\nversion = \"(.*)\"\nsource").expect("valid");
    let locked: BTreeSet<_> = package
        .captures_iter(&lock)
        .map(|found| format!("{}-{}", &found[1], &found[2]))
        .collect();
    let text = text("debian/copyright");
    let stanza = Regex::new(r"(?m)^Files: vendor/(\S+)/\*\nCopyright: \S.*\n(?: .*\n)*License: \S").expect("valid");
    let named: BTreeSet<_> = stanza.captures_iter(&text).map(|found| found[1].to_owned()).collect();
    assert_eq!(named, locked, "run packaging/licences.sh");

    let licence = Regex::new(r"(?m)^License: (.*)$").expect("valid");
    let one = Regex::new(" or | and ").expect("valid");
    let told = Regex::new(r"(?m)^License: (.*)\n \S").expect("valid");
    let told: BTreeSet<_> = told.captures_iter(&text).map(|found| found[1].to_owned()).collect();
    for found in licence.captures_iter(&text) {
        for name in one.split(&found[1]).filter(|_| !told.contains(&found[1])) {
            assert!(told.contains(name), "debian/copyright does not say what {name} is");
        }
    }
}

/// The parts of Rust's standard library that this build has taken in: the toolchain's debug
/// information names their files.
#[test]
fn what_comes_with_rust_is_named() {
    let library = fs::read(Library::Ours.file()).expect("cargo has built it");
    let third_party = text("THIRD-PARTY.txt");
    let table = text("docs/DEPENDENCIES.md");
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
        assert!(word.is_match(&table), "docs/DEPENDENCIES.md does not name {name}");
    }
}
