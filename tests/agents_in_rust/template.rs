//! The folder that `pmda/template/new` writes: its tests, those under a private pmcd, its Debian package
//! and its RPM package.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use pcp_pmda_test::run::bounded;
use pcp_pmda_test::{Library, root, skipped};

use crate::agents::{as_author, environment_on, text};

/// Time for a compilation of the agent and the crates that it needs.
const COMPILED: Duration = Duration::from_secs(550);

#[test]
fn a_new_agent() {
    let (environment, _) = environment_on(Library::Ours, "template", &[]);
    // Outside of the workspace.
    let directory = tempfile::tempdir().expect("a temporary directory");
    let folder = directory.path().join("net_traffic");
    let run_in = |place: &Path, program: &str, arguments: &[&str]| {
        let mut command: Command = environment.command(program);
        as_author(&mut command);
        command.args(arguments).current_dir(place).env_remove("PCP_PMDAS_DIR");
        text(&bounded(command, COMPILED))
    };
    let new = root().join("pmda/template/new").display().to_string();
    let new = |arguments: &[&str]| run_in(directory.path(), &new, arguments);
    let made = new(&["net_traffic", "450", "net_traffic"]);
    assert!(made.ends_with("[exit 0]\n"), "{made}");
    for wrong in [
        &["Traffic", "450", "x"][..],
        &["net_traffic", "511", "x"],
        &["net_traffic", "045", "x"],
        &["net_traffic", "450"],
    ] {
        assert!(new(wrong).contains("usage: "), "{wrong:?}");
    }
    let again = new(&["net_traffic", "450", "net_traffic"]);
    assert!(again.contains("exists"), "{again}");
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).expect("target is writable");
    let run = |program: &str, arguments: &[&str]| run_in(&folder, program, arguments);
    let formatted = run(env!("CARGO"), &["fmt", "--check"]);
    assert!(formatted.ends_with("[exit 0]\n"), "{formatted}");
    let tests = run(env!("CARGO"), &["test", "--features", "pmcd"]);
    for line in ["3 passed; 0 failed", "pminfo_shows_values ... ok", "[exit 0]"] {
        assert!(tests.contains(line), "{line}: {tests}");
    }
    check_rpm(&run, &folder);
    if fs::metadata("/usr/bin/dpkg-deb").is_err() {
        skipped("a Debian package needs dpkg-deb");
        return;
    }
    let built = run("packaging/deb.sh", &[]);
    assert!(built.ends_with("[exit 0]\n"), "{built}");
    let package = fs::read_dir(folder.join("target/deb")).expect("built").flatten();
    let mut packages = package
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|end| end == "deb"));
    let package = packages.next().expect("a package").display().to_string();
    let unpacked = folder.join("unpacked");
    let unpacked = unpacked.display().to_string();
    assert!(run("dpkg-deb", &["--raw-extract", &package, &unpacked]).ends_with("[exit 0]\n"));
    let files = run("find", &[&unpacked, "-type", "f", "-printf", "%m %P\\n"]);
    let mut files: Vec<&str> = files.lines().collect();
    files.sort_unstable();
    let agent = "var/lib/pcp/pmdas/net_traffic";
    let expected = [
        "644 DEBIAN/control".to_owned(),
        format!("644 {agent}/domain.h"),
        format!("644 {agent}/help"),
        format!("644 {agent}/pmns"),
        format!("644 {agent}/root"),
        "755 DEBIAN/postinst".to_owned(),
        "755 DEBIAN/prerm".to_owned(),
        format!("755 {agent}/Install"),
        format!("755 {agent}/Remove"),
        format!("755 {agent}/pmdanet_traffic"),
        "[exit 0]".to_owned(),
    ];
    assert_eq!(files, expected);
}

/// The checkout and the folder may have any path.
#[test]
fn odd_places() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let checkout = directory.path().join(r#"a & b|"c\d"#);
    fs::create_dir(&checkout).expect("ours");
    let template = root().join("pmda/template");
    let copied = Command::new("cp").arg("-R").arg(template).arg(&checkout).status();
    assert!(copied.is_ok_and(|status| status.success()));
    let mut new = Command::new(checkout.join("template/new"));
    new.args(["odd", "450", "-"]).current_dir(directory.path());
    assert!(text(&bounded(new, COMPILED)).ends_with("[exit 0]\n"));
    let manifest = fs::read_to_string(directory.path().join("-/Cargo.toml")).expect("written");
    let path = checkout
        .display()
        .to_string()
        .replace('\\', r"\\")
        .replace('"', r#"\""#);
    assert!(
        manifest.contains(&format!("pmda = {{ path = \"{path}\" }}")),
        "{manifest}"
    );
}

/// Builds the RPM package, if `rpmbuild` is installed, and looks at its files.
fn check_rpm(run: &dyn Fn(&str, &[&str]) -> String, folder: &Path) {
    if fs::metadata("/usr/bin/rpmbuild").is_err() {
        skipped("an RPM package needs rpmbuild");
        return;
    }
    let define = |name: &str, value: &Path| format!("{name} {}", value.display());
    let (top, sources) = (define("_topdir", &folder.join("rpm")), define("_sourcedir", folder));
    let specification = "packaging/pcp-pmda-net-traffic.spec";
    let defined = ["--define", &top, "--define", &sources];
    let built = run(
        "rpmbuild",
        &[&["-bb", "--nodeps"][..], &defined, &[specification]].concat(),
    );
    assert!(built.ends_with("[exit 0]\n"), "{built}");
    let found = run("find", &["rpm/RPMS", "-name", "*.rpm"]);
    let package = found.lines().next().expect("a package");
    let listed = run("rpm", &["--query", "--list", "--package", package]);
    for file in [
        "Install",
        "Remove",
        "domain.h",
        "help",
        "pmdanet_traffic",
        "pmns",
        "root",
    ] {
        assert!(
            listed.contains(&format!("/var/lib/pcp/pmdas/net_traffic/{file}\n")),
            "{file}: {listed}"
        );
    }
}
