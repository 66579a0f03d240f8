//! `make install` and `make uninstall`: what is installed where, that a C project needs nothing but
//! pkg-config to build with it, shared and static, and that nothing is left behind.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use pcp_pmda_sources::elf;
use pcp_pmda_test::installation::{Installation, all_below, expect_success, files_below, make, plain};
use pcp_pmda_test::run::bounded;
use pcp_pmda_test::{is_root, profile_dir, root};
use regex::Regex;

/// The first program of a project: both headers, the cache, a variadic function, a whole agent's
/// set-up.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include <pcp/pmdaroot.h>

int
main(void)
{
    pmdaInterface dispatch;
    pmLabelSet *labels = NULL;
    char *name;

    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, "installed", 400, NULL, NULL);
    pmdaCacheStore(7, PMDA_CACHE_ADD, "alpha", NULL);
    if (pmdaCacheLookup(7, 0, &name, NULL) != PMDA_CACHE_ACTIVE)
	return 1;
    printf("status %d, instance %s, labels %d, root protocol %d\n", dispatch.status, name,
	   pmdaAddLabels(&labels, "{\"number\":%d}", 42), ROOT_PDU_VERSION1);
    return 0;
}
"#;
const ANSWER: &str = "status 0, instance alpha, labels 1, root protocol 1\n";

/// Compiles `PROGRAM` with nothing but what pkg-config says, runs it, and returns the libraries
/// that it needs.
fn build_and_run(installation: &Installation, linking: &[&str]) -> Vec<String> {
    let source = installation.prefix.join("program.c");
    let program = installation.prefix.join("program");
    fs::write(&source, PROGRAM).expect("target is writable");
    let mut cc = installation.command("cc");
    cc.args(["-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg(&source);
    cc.args(installation.pkg_config(&[&["--cflags", "--libs"], linking].concat()));
    expect_success(cc, "cc");
    let run = expect_success(installation.command(&program.display().to_string()), "the program");
    assert_eq!(String::from_utf8_lossy(&run.stdout), ANSWER);
    elf::read(&program).needed.into_iter().collect()
}

#[test]
fn a_project_builds_with_the_shared_library() {
    let installation = Installation::new("shared");
    let needed = build_and_run(&installation, &[]);
    assert!(needed.contains(&"libpcp_pmda.so.3".to_owned()), "{needed:?}");

    let mut trace = installation.command(&installation.prefix.join("program").display().to_string());
    trace.env("LD_TRACE_LOADED_OBJECTS", "1");
    let loaded = String::from_utf8(expect_success(trace, "the loader").stdout).expect("text");
    let ours = installation.libraries().join("libpcp_pmda.so.3").display().to_string();
    assert!(loaded.contains(&ours), "{loaded}");
}

#[test]
fn a_project_builds_with_the_static_library() {
    let installation = Installation::new("static");
    // As everywhere, the linker prefers a shared library that it finds; here it is to find none.
    for name in ["libpcp_pmda.so", "libpcp_pmda.so.3"] {
        fs::remove_file(installation.libraries().join(name)).expect("installed");
    }
    let needed = build_and_run(&installation, &["--static"]);
    assert!(!needed.iter().any(|name| name.contains("pcp_pmda")), "{needed:?}");
}

#[test]
fn the_headers_come_from_the_installation() {
    let installation = Installation::new("headers");
    let source = installation.prefix.join("program.c");
    fs::write(&source, PROGRAM).expect("target is writable");
    let mut cc = installation.command("cc");
    cc.arg("-M").arg(&source).args(installation.pkg_config(&["--cflags"]));
    let rule = String::from_utf8(expect_success(cc, "cc -M").stdout).expect("text");
    let is_pmda = |word: &&str| {
        Path::new(word)
            .file_name()
            .is_some_and(|name| name.to_string_lossy().contains("pmda"))
    };
    let headers: Vec<_> = rule.split_whitespace().filter(is_pmda).collect();
    let own = installation.prefix.join("include/pcp-pmda-rust/pcp");
    assert_eq!(headers.len(), 2, "{headers:?}");
    assert!(
        headers.iter().all(|header| Path::new(header).starts_with(&own)),
        "{headers:?}"
    );
}

/// Compiles nothing but checks, with these arguments; returns what the compiler says.
fn check_syntax(installation: &Installation, args: &[&str], source: &Path) -> String {
    let mut cc = installation.command("cc");
    cc.args(["-Wall", "-Wextra", "-Werror", "-fsyntax-only"]).args(args);
    cc.args(installation.pkg_config(&["--cflags"])).arg(source);
    let outcome = bounded(cc, Duration::from_secs(300));
    String::from_utf8_lossy(&outcome.stderr).into_owned()
}

#[test]
fn the_examples_keep_to_the_standard() {
    let installation = Installation::new("standard");
    let names = files_below(&root().join("c-examples"));
    let sources: Vec<_> = names.iter().filter(|name| name.ends_with(".c")).collect();
    assert!(sources.len() >= 8, "{sources:?}");
    for name in sources {
        let said = check_syntax(&installation, &["-std=c11"], &root().join("c-examples").join(name));
        assert_eq!(said, "", "{name}");
    }
}

/// One sentence, and none of the errors that would follow.
#[test]
fn who_forgets_pmapi_h_is_told() {
    let installation = Installation::new("forgotten");
    let source = installation.prefix.join("forgotten.c");
    fs::write(&source, "#include <pcp/pmda.h>\nint nothing;\n").expect("target is writable");
    let said = check_syntax(&installation, &[], &source);
    assert!(said.contains("#include <pcp/pmapi.h> before"), "{said}");
    assert_eq!(said.matches(" error: ").count(), 1, "{said}");
}

#[test]
fn the_installed_pkg_config_file_names_its_directories_and_the_version_of_pcp() {
    let installation = Installation::new("pkgconfig");
    let prefix = installation.prefix.display().to_string();
    assert_eq!(installation.pkg_config(&["--variable=prefix"]), [prefix.as_str()]);
    assert_eq!(
        installation.pkg_config(&["--variable=libdir"]),
        [format!("{prefix}/lib/pcp-pmda-rust")]
    );
    assert_eq!(
        installation.pkg_config(&["--variable=includedir"]),
        [format!("{prefix}/include/pcp-pmda-rust")]
    );
    let mut system = plain("pkg-config");
    system.args(["--modversion", "libpcp"]);
    let version = String::from_utf8(expect_success(system, "pkg-config").stdout).expect("text");
    assert_eq!(installation.pkg_config(&["--modversion"]), [version.trim()]);
}

#[test]
fn directories_may_have_blanks() {
    let stage = profile_dir().join("test-install/stage with blanks");
    let _ = fs::remove_dir_all(&stage);
    let variables = [
        format!("DESTDIR={}", stage.display()),
        "PREFIX=/opt/of ours".to_owned(),
        "SYSCONFDIR=/opt/of ours/etc".to_owned(),
    ];
    make("install", &variables);
    let prefix = stage.join("opt/of ours");
    let libraries = prefix.join("lib/pcp-pmda-rust");
    assert!(libraries.join("libpcp_pmda.so.3").exists());
    assert!(prefix.join("share/man/man3/pmdaTreeCreate.3").exists());
    let mut flags = plain("pkg-config");
    flags.args(["--cflags", "--libs", "libpcp_pmda"]);
    flags.env("PKG_CONFIG_PATH", libraries.join("pkgconfig"));
    let flags = String::from_utf8(expect_success(flags, "pkg-config").stdout).expect("text");
    assert!(flags.contains(r"-L/opt/of\ ours/lib/pcp-pmda-rust "), "{flags}");
    assert!(flags.contains(r"-I/opt/of\ ours/include/pcp-pmda-rust/pcp "), "{flags}");
    let mut version = plain("sh");
    version.arg(prefix.join("bin/pcp-pmda-rust")).arg("--version");
    expect_success(version, "pcp-pmda-rust --version");
    // A second installation forgets no directory that the first has made.
    make("install", &variables);
    make("uninstall", &variables);
    assert_eq!(all_below(&stage), [""; 0]);
}

#[test]
fn every_directory_can_be_chosen_and_nothing_is_left_behind() {
    let stage = profile_dir().join("test-install/stage");
    let _ = fs::remove_dir_all(&stage);
    // Stands for what others have installed there.
    fs::create_dir_all(stage.join("opt/headers/pcp")).expect("target is writable");
    fs::write(stage.join("opt/headers/pcp/pmapi.h"), "").expect("target is writable");
    fs::create_dir_all(stage.join("opt/pcp/bin")).expect("target is writable");
    let variables = [
        format!("DESTDIR={}", stage.display()),
        "PREFIX=/opt/pcp".to_owned(),
        "LIBDIR=/opt/lib64".to_owned(),
        "INCLUDEDIR=/opt/headers".to_owned(),
        "MANDIR=/opt/man".to_owned(),
        "DOCDIR=/opt/doc".to_owned(),
        "SYSCONFDIR=/opt/etc".to_owned(),
        "COMPLETIONDIR=/opt/completions".to_owned(),
        "MANEXT=3pcprust".to_owned(),
    ];
    make("install", &variables);
    let installed = files_below(&stage);
    for file in [
        "opt/lib64/libpcp_pmda.so.3",
        "opt/lib64/libpcp_pmda.so",
        "opt/lib64/libpcp_pmda.a",
        "opt/lib64/pkgconfig/libpcp_pmda.pc",
        "opt/headers/pcp/pmda.h",
        "opt/headers/pcp/pmdaroot.h",
        "opt/pcp/bin/pcp-pmda-rust",
        "opt/man/man1/pcp-pmda-rust.1",
        "opt/completions/pcp-pmda-rust",
        "opt/man/man3/pmdaTreeCreate.3pcprust",
        "opt/man/man3/pmdaTreeInsert.3pcprust",
        "opt/doc/LICENSE",
        "opt/doc/THIRD-PARTY.txt",
        "opt/doc/README.md",
        "opt/doc/docs/COMPATIBILITY.md",
        "opt/doc/docs/growth.svg",
        "opt/doc/c-examples/hello/hello.c",
    ] {
        assert!(
            installed.iter().any(|name| name == file),
            "{file} is not among {installed:?}"
        );
    }
    let text = fs::read_to_string(stage.join("opt/lib64/pkgconfig/libpcp_pmda.pc")).expect("installed");
    for line in ["prefix=/opt/pcp", "libdir=/opt/lib64", "includedir=/opt/headers"] {
        assert!(text.lines().any(|found| found == line), "no {line} in\n{text}");
    }
    let link = fs::read_to_string(stage.join("opt/man/man3/pmdaTreeInsert.3pcprust")).expect("installed");
    assert_eq!(link, ".so man3/pmdaTreeCreate.3pcprust\n");
    let mut readelf = plain("readelf");
    readelf.args(["-WS"]).arg(stage.join("opt/lib64/libpcp_pmda.so.3"));
    let sections = String::from_utf8(expect_success(readelf, "readelf").stdout).expect("text");
    assert!(
        sections.contains(".dynsym") && !sections.contains(".debug_"),
        "{sections}"
    );
    make("uninstall", &variables);
    let others = [
        "opt",
        "opt/headers",
        "opt/headers/pcp",
        "opt/headers/pcp/pmapi.h",
        "opt/pcp",
        "opt/pcp/bin",
    ];
    assert_eq!(all_below(&stage), others);
}

/// The files that a guide links to are installed as well, at the place that the guide names. Guides
/// for people who have the sources link into the sources.
#[test]
#[ignore = "at a release: make -C packaging release-check"]
fn the_guides_lead_to_what_is_installed() {
    let installation = Installation::new("guides");
    let guides = installation.prefix.join("share/doc/pcp-pmda-rust");
    let link = Regex::new(r"\]\(([^)#: ]+)(#[^)]*)?\)").expect("valid");
    let names = files_below(&guides);
    let pages: Vec<_> = names.iter().filter(|name| name.ends_with(".md")).collect();
    assert!(pages.len() > 10, "{pages:?}");
    for page in pages {
        let page = guides.join(page);
        let text = fs::read_to_string(&page).expect("installed");
        for found in link.captures_iter(&text) {
            let there = page.parent().expect("in a directory").join(&found[1]);
            assert!(there.exists(), "{}: {} is not there", page.display(), &found[1]);
        }
    }
}

#[test]
fn the_manual_pages_are_free_of_warnings_and_cover_what_has_no_other() {
    let installation = Installation::new("manual");
    let manual = installation.prefix.join("share/man");
    let pages = manual.join("man3");
    let names = files_below(&pages);
    let mut all: Vec<_> = names.iter().map(|name| format!("man3/{name}")).collect();
    all.push("man1/pcp-pmda-rust.1".to_owned());
    for name in &all {
        let mut man = plain("man");
        man.args(["--warnings", "-l", "-E", "UTF-8", "-Tutf8", "-P", "cat"])
            .arg(manual.join(name));
        // Link pages lead to `man3/…` below this directory.
        man.current_dir(&manual);
        man.env("MANPATH", &manual)
            .env("MANROFFOPT", "-ww")
            .env("MANWIDTH", "80");
        let outcome = expect_success(man, name);
        assert!(
            outcome.stderr.is_empty(),
            "{name}: {}",
            String::from_utf8_lossy(&outcome.stderr)
        );
        let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
        assert!(
            text.contains(&name[5..name.len() - 2]),
            "{name} does not name its function:\n{text}"
        );
    }
    let exports = fs::read_to_string(root().join("capi/exports.map")).expect("part of the sources");
    for name in names.iter().map(|name| name.trim_end_matches(".3")) {
        assert!(
            exports.contains(&format!("{name};")),
            "{name} is described but not exported"
        );
    }
    assert_eq!(names.len(), 45, "{names:?}");
}

/// `.TH NAME SECTION "YEAR-MM-DD" …`: the title is the name of the page, and there is a date.
#[test]
fn manual_pages_have_titles_and_dates() {
    let head =
        Regex::new(r#"^\.TH (\S+) ([13]) "20\d\d-\d\d-\d\d" "pcp_pmda" "Performance Co-Pilot"$"#).expect("valid");
    for page in files_below(&root().join("docs/man")) {
        let text = fs::read_to_string(root().join("docs/man").join(&page)).expect("part of the sources");
        let first = text.lines().next().expect("a line");
        let found = head.captures(first).unwrap_or_else(|| panic!("{page}: {first}"));
        assert_eq!(
            format!("{}.{}", found[1].to_lowercase(), &found[2]),
            page.to_lowercase()
        );
    }
}

/// The files from which the Makefile installs, beside an agent that writes its files as
/// pmdaopenmetrics does: a script.
fn built(name: &str) -> PathBuf {
    let installation = Installation::new(&format!("{name}-from"));
    let built = profile_dir().join("test-install").join(format!("{name}-built"));
    let _ = fs::remove_dir_all(&built);
    fs::create_dir_all(&built).expect("target is writable");
    for (from, to) in [
        ("libpcp_pmda.so.3", "libpcp_pmda.so"),
        ("libpcp_pmda.a", "libpcp_pmda.a"),
        ("pkgconfig/libpcp_pmda.pc", "libpcp_pmda.pc"),
        ("compare", "pcp-pmda-rust-compare"),
    ] {
        fs::copy(installation.libraries().join(from), built.join(to)).expect("installed");
    }
    let agent = "#!/bin/sh\n[ \"$1\" = --write ] || exit 1\n\
                 for name in Install Remove; do echo new >\"$2/$name\" && chmod 755 \"$2/$name\" || exit 1; done\n\
                 head -c ${HELP:-1000} /dev/zero >\"$2/help\"\n";
    fs::write(built.join("pmdaopenmetrics"), agent).expect("target is writable");
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(built.join("pmdaopenmetrics"), mode).expect("ours");
    built
}

/// `sh -c SCRIPT` in the sources, as root of a mount name space of its own: `$M TARGET` is the
/// Makefile's target below `$P`, an empty directory. Returns what it says.
fn in_a_name_space(name: &str, script: &str) -> String {
    let built = built(name);
    let prefix = profile_dir().join("test-install").join(name);
    let _ = fs::remove_dir_all(&prefix);
    fs::create_dir_all(&prefix).expect("target is writable");
    let mut command: Command = plain("unshare");
    command.arg("--mount");
    if !is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    let make = format!(
        "make --silent --no-print-directory BUILT={} PREFIX={prefix} SYSCONFDIR={prefix}/etc OPENMETRICSDIR={prefix}/rust/pmdas/openmetrics \
         STRIP=:",
        built.display(),
        prefix = prefix.display()
    );
    command.args(["sh", "-c", script]).current_dir(root());
    command.env("M", make).env("P", &prefix).env("PCP_CONF", "/nonexistent");
    let outcome = expect_success(command, script);
    let _ = fs::remove_dir_all(&prefix);
    let _ = fs::remove_dir_all(&built);
    [outcome.stdout, outcome.stderr]
        .map(|text| String::from_utf8_lossy(&text).into_owned())
        .concat()
}

/// The lines of a text that begin with this.
fn lines_with<'a>(text: &'a str, begin: &str) -> Vec<&'a str> {
    text.lines().filter_map(|line| line.strip_prefix(begin)).collect()
}

/// An update on a full disk leaves the installation of before as it is, at each byte at which the
/// disk may be full; one into an empty directory leaves nothing.
#[test]
fn a_full_disk_leaves_what_was_there() {
    let said = in_a_name_space(
        "full",
        "sum() { find \"$P\" ! -path \"$P/fill\" ! -path \"$P\" -printf '%p %m %y %l\\n' -type f -exec md5sum {} + | sort | md5sum; }\n\
         mount -t tmpfs -o size=400m tmpfs \"$P\"\n\
         room() { rm -f \"$P/fill\"; head -c $(($(df --output=avail -B1 \"$P\" | tail -n 1) - $1)) /dev/zero >\"$P/fill\"; }\n\
         for target in install install-openmetrics; do\n\
             for size in 0 40000 3000000; do\n\
                 room $size; before=$(sum)\n\
                 HELP=9000000 $M $target 2>&1 && echo \"end 0\" || echo \"end failed\"\n\
                 [ \"$before\" = \"$(sum)\" ] && echo same unchanged || { echo same CHANGED; find \"$P\" ! -type d; }\n\
             done\n\
             [ $target = install-openmetrics ] || { rm \"$P/fill\"; $M install >/dev/null || exit; echo old >>\"$P/lib/pcp-pmda-rust/libpcp_pmda.so.3\"; }\n\
             rm -f \"$P/fill\"\n\
         done\n\
         for size in 0 40000 3000000; do\n\
             room $size; before=$(sum)\n\
             $M install 2>&1 && echo \"end 0\" || echo \"end failed\"\n\
             [ \"$before\" = \"$(sum)\" ] && echo same unchanged || echo same CHANGED\n\
         done\n\
         rm \"$P/fill\"; $M install && $M install-openmetrics && echo \"left $(find \"$P\" -name '.*.new' | wc -l)\"\n\
         $M uninstall-openmetrics && $M uninstall; echo \"rest $(find \"$P\" | wc -l)\"\n",
    );
    assert_eq!(lines_with(&said, "end "), ["failed"; 9], "{said}");
    assert_eq!(lines_with(&said, "same "), ["unchanged"; 9], "{said}");
    assert_eq!(lines_with(&said, "left "), ["0"], "{said}");
    assert_eq!(lines_with(&said, "rest "), ["1"], "{said}");
    assert!(said.matches("No space left on device").count() >= 8, "{said}");
    assert!(
        lines_with(&said, "make install: nothing was changed").len() >= 6,
        "{said}"
    );
}

/// Modes are given, whatever the umask, and an installation mends those of an earlier one.
#[test]
fn everybody_can_read_what_a_careful_root_installs() {
    let said = in_a_name_space(
        "umask",
        "chmod 755 \"$P\"; umask 077; $M install >/dev/null && $M install-openmetrics >/dev/null || exit\n\
         modes() { find \"$P\" -type d ! -perm 755 -o -type f ! -perm 644 ! -perm 755; }\n\
         echo \"modes $(modes | wc -l)\"; modes\n\
         echo \"files $(find \"$P\" -type f | wc -l)\"\n\
         chmod 700 \"$P/lib\" \"$P/lib/pcp-pmda-rust\" \"$P/share/doc/pcp-pmda-rust/docs\"\n\
         $M install >/dev/null; echo \"modes $(modes | wc -l)\"\n",
    );
    assert_eq!(lines_with(&said, "modes "), ["0", "0"], "{said}");
    assert!(
        lines_with(&said, "files ")[0]
            .parse::<usize>()
            .is_ok_and(|files| files > 100),
        "{said}"
    );
}

/// What is not there to be removed, or is still in use, is said.
#[test]
fn uninstalling_removes_what_was_installed_alone() {
    let said = in_a_name_space(
        "removal",
        "$M uninstall 2>&1 && echo end 0 || echo end failed\n\
         $M uninstall-openmetrics 2>&1 && echo end 0 || echo end failed\n\
         mkdir -p \"$P/doc\"; echo mine >\"$P/doc/mine\"\n\
         $M install DOCDIR=\"$P/doc\" >/dev/null && $M install-openmetrics >/dev/null && echo end 0\n\
         echo old >\"$P/rust/pmdas/openmetrics/Install\"; $M install-openmetrics >/dev/null; echo \"script $(cat \"$P/rust/pmdas/openmetrics/Install\")\"\n\
         echo \"PCP_PMCDCONF_PATH=$P/pmcd.conf\" >\"$P/pcp.conf\"; export PCP_CONF=\"$P/pcp.conf\"\n\
         echo \"openmetrics 144 pipe binary $P/rust/pmdas/openmetrics/pmdaopenmetrics\" >\"$P/pmcd.conf\"\n\
         $M uninstall-openmetrics 2>&1 && echo end 0 || echo end failed\n\
         rm \"$P/pmcd.conf\" \"$P/pcp.conf\"; $M uninstall-openmetrics >/dev/null && $M uninstall >/dev/null && echo end 0\n\
         find \"$P\" ! -path \"$P\" -printf 'left %P\\n' | sort\n",
    );
    assert_eq!(
        lines_with(&said, "end "),
        ["failed", "failed", "0", "failed", "0"],
        "{said}"
    );
    assert_eq!(lines_with(&said, "script "), ["new"], "{said}");
    assert_eq!(lines_with(&said, "left "), ["doc", "doc/mine"], "{said}");
    assert!(said.contains("./Remove"), "{said}");
}
