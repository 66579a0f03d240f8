//! Published files hold nothing of the builder's machine: the archives of the sources, the
//! libraries.

use std::os::unix::fs::{chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use pcp_pmda_test::root;

fn text(name: &str) -> String {
    let path = root().join(name);
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// packaging/dist.sh packs what git lists (or its index, where git is not installed), all of it
/// where there is no clone, and nothing where git does not look into the clone. The bytes are the
/// same in each case.
#[test]
fn archives_hold_no_secrets() {
    let place = tempfile::tempdir().expect("a directory");
    let at = |name: &str| place.path().join(name);
    for directory in ["debian", "packaging", "vendor/crate", "src"] {
        fs::create_dir_all(at(directory)).expect("writable");
    }
    let script = root().join("packaging/dist.sh");
    fs::copy(script, at("packaging/dist.sh")).expect("writable");
    fs::write(at("Cargo.toml"), "version = \"1.2.3\"\n").expect("writable");
    let entry = "pcp-pmda-rust (1.2.3-1) unstable\n\n -- A <a@localhost>  Sat, 21 Nov 2026 12:00:00 +0000\n";
    fs::write(at("debian/changelog"), entry).expect("writable");
    fs::write(at("src/lib.rs"), "").expect("writable");
    fs::write(at("vendor/crate/lib.rs"), "").expect("writable");
    let pack_with = |search: Option<&Path>| {
        let mut command = Command::new(at("packaging/dist.sh"));
        command
            .env_remove("SOURCE_DATE_EPOCH")
            .env("CARGO_TARGET_DIR", at("target"));
        if let Some(search) = search {
            command.env("PATH", search);
        }
        let outcome = command.output().expect("bash is there");
        let archive = at("target/dist/pcp-pmda-1.2.3.tar.gz");
        let bytes = fs::read(&archive).unwrap_or_default();
        let list = Command::new("tar").arg("-tzf").arg(archive).output();
        let _ = fs::remove_dir_all(at("target"));
        let names = String::from_utf8(list.expect("tar is there").stdout).expect("names");
        (
            outcome.status.success(),
            String::from_utf8_lossy(&outcome.stderr).into_owned(),
            names,
            bytes,
        )
    };
    let pack = || pack_with(None);
    let sources = ["Cargo.toml", "debian/changelog", "packaging/dist.sh", "src/lib.rs"]
        .map(|name| format!("pcp-pmda-1.2.3/{name}\n"))
        .concat();
    let (done, errors, names, bytes) = pack();
    assert!(done && names == sources, "{errors}{names}");

    // A clone that git refuses to look into.
    fs::create_dir(at(".git")).expect("writable");
    fs::write(at(".git/config"), "a token").expect("writable");
    fs::write(at("password"), "").expect("writable");
    let (done, errors, names, _) = pack();
    assert!(
        !done && names.is_empty() && errors.starts_with("packaging/dist.sh: this is a clone"),
        "{errors}{names}"
    );

    fs::remove_dir_all(at(".git")).expect("ours");
    for args in [
        &["init", "-q"][..],
        &["add", "Cargo.toml", "debian", "packaging", "src"],
    ] {
        let git = Command::new("git").args(args).current_dir(place.path()).output();
        assert!(git.expect("git is there").status.success());
    }
    let (done, errors, names, others) = pack();
    assert!(done && names == sources && others == bytes, "{errors}{names}");

    let tools = tempfile::tempdir().expect("a directory");
    for tool in [
        "bash", "cat", "date", "dirname", "env", "find", "gzip", "ls", "mkdir", "perl", "realpath", "rm", "sed",
        "sort", "tar",
    ] {
        let place = env::split_paths(&env::var_os("PATH").expect("a search path"))
            .map(|directory| directory.join(tool))
            .find(|file| file.exists());
        symlink(place.expect("Debian has it"), tools.path().join(tool)).expect("writable");
    }
    let (done, errors, names, others) = pack_with(Some(tools.path()));
    assert!(
        done && names == sources && others == bytes,
        "without git: {errors}{names}"
    );

    // Another user's clone, as root has it below sudo. Nobody else can make one.
    let nobody = |path: &Path| chown(path, Some(65_534), None);
    if nobody(place.path()).and_then(|()| nobody(&at(".git"))).is_ok() {
        let (done, errors, names, _) = pack();
        assert!(done && names == sources, "{errors}{names}");
    }
}

/// The files that `make` builds name no directory of the builder's machine: not the sources', nor
/// those of the crates and of Rust.
#[test]
fn nothing_of_the_builder() {
    let root = root();
    let built = Command::new(root.join("packaging/build.sh")).status();
    assert!(built.expect("bash is there").success(), "packaging/build.sh failed");
    let rustc = Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()
        .expect("rustc is there");
    let sysroot = String::from_utf8(rustc.stdout).expect("a path");
    let crates = env::var_os("CARGO_HOME").map(PathBuf::from);
    let crates = crates
        .or_else(|| Some(env::home_dir()?.join(".cargo")))
        .expect("a home directory");
    let directory = text("target/built");
    for library in ["libpcp_pmda.so", "libpcp_pmda.a"] {
        let bytes = fs::read(Path::new(directory.trim()).join(library)).expect("built");
        for private in [root, Path::new(sysroot.trim()), &crates] {
            let name = private.as_os_str().as_encoded_bytes();
            // The name that the sources have in there may have that of the directory in it.
            let other = b"/usr/src/pcp-pmda-rust";
            let inside = |at: usize| at >= 4 && bytes[at - 4..].starts_with(other);
            let mut places = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(name));
            let found = places.find(|at| !inside(*at));
            assert_eq!(found, None, "{library} names {} at this offset", private.display());
        }
    }
}
