//! The command `pcp-pmda-rust`, installed below a directory of its own: which library is the
//! default, which one a process has loaded, and how that is changed. The system's ldconfig works on
//! a configuration and a cache of the test's.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use pcp_pmda_test::Library;
use pcp_pmda_test::installation::{Installation, expect_success, files_below, plain};
use pcp_pmda_test::run::{Outcome, bounded};

/// The installation, a directory that stands for the system's libraries, and an ldconfig that knows
/// these two.
struct Host {
    installation: Installation,
}

impl Host {
    fn new(name: &str) -> Host {
        let installation = Installation::new(name);
        let host = Host { installation };
        fs::create_dir_all(host.path("etc/ld.so.conf.d")).expect("target is writable");
        fs::create_dir_all(host.path("system")).expect("target is writable");
        fs::create_dir_all(host.path("tools")).expect("target is writable");
        symlink(Library::C.file(), host.path("system/libpcp_pmda.so.3")).expect("target is writable");
        let lines = format!(
            "include {}/*.conf\n{}\n",
            host.path("etc/ld.so.conf.d").display(),
            host.path("system").display()
        );
        fs::write(host.path("etc/ld.so.conf"), lines).expect("target is writable");
        let wrapper = format!(
            "#!/bin/sh\nPATH=$PATH:/usr/sbin:/sbin\nfor tool in /usr/sbin/ldconfig /sbin/ldconfig; do\n    \
             [ ! -x $tool ] || exec $tool -X -f {} -C {} \"$@\"\ndone\nexit 1\n",
            host.path("etc/ld.so.conf").display(),
            host.path("etc/ld.so.cache").display()
        );
        fs::write(host.path("tools/ldconfig"), wrapper).expect("target is writable");
        fs::set_permissions(host.path("tools/ldconfig"), fs::Permissions::from_mode(0o755)).expect("ours");
        expect_success(plain(&host.path("tools/ldconfig").display().to_string()), "ldconfig");
        // A clone may be where PCP's user cannot look.
        fs::write(host.path("own.conf"), "PCP_USER=root\n").expect("ours");
        host
    }

    /// Runs the system's ldconfig on the files of this host, as an update of anything does.
    fn ldconfig(&self) {
        expect_success(plain(&self.path("tools/ldconfig").display().to_string()), "ldconfig");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.installation.prefix.join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = plain("/bin/sh");
        let search = std::env::var("PATH").expect("a search path");
        let search = format!("{}:{search}", self.path("tools").display());
        command
            .arg(self.path("bin/pcp-pmda-rust"))
            .args(args)
            .env("PATH", search)
            .env("PCP_CONF", self.path("own.conf"))
            .env_remove("LD_LIBRARY_PATH");
        command
    }

    /// The lines that a script writes, in a process name space of its own: other processes of the
    /// machine are none of this host. `$PR` is the command, `$OURS` the folder of its library.
    fn script(&self, script: &str) -> String {
        let command = self.command(&[]);
        let mut alone = alone();
        alone.args(["sh", "-c", script]);
        let variables = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
        alone.envs(variables).env_remove("LD_LIBRARY_PATH");
        alone.env("PR", self.path("bin/pcp-pmda-rust"));
        alone.env("OURS", self.installation.libraries());
        alone.current_dir(&self.installation.prefix);
        let outcome = expect_success(alone, script);
        [outcome.stdout, outcome.stderr]
            .map(|text| String::from_utf8_lossy(&text).into_owned())
            .concat()
    }

    fn run(&self, args: &[&str]) -> Outcome {
        bounded(self.command(args), Duration::from_secs(120))
    }

    /// Its output, if it ends as it should.
    fn says(&self, args: &[&str], end: &str) -> String {
        let outcome = self.run(args);
        let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
        let errors = String::from_utf8_lossy(&outcome.stderr);
        assert_eq!(outcome.end, end, "{args:?}: {text}{errors}");
        text
    }

    fn ours(&self) -> String {
        self.installation
            .libraries()
            .join("libpcp_pmda.so.3")
            .display()
            .to_string()
    }
}

/// `unshare`: the command that follows it is alone.
fn alone() -> Command {
    let mut unshare = plain("unshare");
    unshare.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    if !pcp_pmda_test::is_root() {
        unshare.args(["--user", "--map-root-user"]);
    }
    unshare
}

/// A program that needs libpcp_pmda and waits until its input ends.
fn waiting_program(directory: &Path) -> PathBuf {
    let source = directory.join("waits.c");
    let program = directory.join("waits");
    let text = "#include <stdio.h>\n#include <pcp/pmapi.h>\n#include <pcp/pmda.h>\n\
                int main(void)\n{\n    pmdaCacheOp(1, PMDA_CACHE_SIZE);\n    puts(\"ready\");\n    fflush(stdout);\n    \
                return getchar() == EOF ? 0 : 1;\n}\n";
    fs::write(&source, text).expect("target is writable");
    let mut cc = plain("cc");
    cc.arg("-o")
        .arg(&program)
        .arg(&source)
        .arg("-L")
        .arg(directory.join("system"))
        .args(["-l:libpcp_pmda.so.3", "-lpcp"]);
    expect_success(cc, "cc");
    program
}

/// Waits until the child has loaded a library whose path contains this.
fn until_loaded(child: &Child, path: &str) {
    let limit = Instant::now() + Duration::from_secs(60);
    let maps = format!("/proc/{}/maps", child.id());
    while !fs::read_to_string(&maps).unwrap_or_default().contains(path) {
        assert!(Instant::now() < limit, "{path} was not loaded");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_default_changes_and_changes_back() {
    let host = Host::new("switch-default");
    let conf = host.path("etc/ld.so.conf.d/00-pcp-pmda-rust-local.conf");
    assert!(host.says(&["status"], "exit 3").starts_with("disabled: "));

    let text = host.says(&["enable"], "exit 0");
    assert!(text.contains(&host.ours()) && text.contains("restart"), "{text}");
    assert!(text.contains("pmcd") && text.contains("pmproxy"), "{text}");
    let line = format!("{}\n", host.installation.libraries().display());
    assert_eq!(fs::read_to_string(&conf).expect("written"), line);
    assert!(host.script("sh $PR status").starts_with("enabled: "));
    host.says(&["enable"], "exit 0");

    let text = host.says(&["disable"], "exit 0");
    assert!(text.contains("system/libpcp_pmda.so.3"), "{text}");
    assert!(fs::read_to_string(&conf).expect("left").starts_with("# "));
    assert!(host.says(&["status"], "exit 3").starts_with("disabled: "));
}

/// The package's library and one of `make install`: where the other one is in front, this one's
/// command does not say that the C library is back.
#[test]
fn another_copy_is_not_the_c_library() {
    let host = Host::new("switch-copies");
    let other = host.path("other/lib/pcp-pmda-rust");
    fs::create_dir_all(&other).expect("target is writable");
    fs::hard_link(host.ours(), other.join("libpcp_pmda.so.3")).expect("target is writable");
    let line = format!("{}\n", other.display());
    fs::write(host.path("etc/ld.so.conf.d/01-other.conf"), line).expect("target is writable");
    host.says(&["enable"], "exit 0");
    let refused = |said: &str| {
        let outcome = host.run(&["disable"]);
        let text = String::from_utf8_lossy(&outcome.stderr).into_owned();
        assert_eq!(outcome.end, "exit 1", "{text}");
        let expected = format!("now loads another copy, {}/libpcp_pmda.so.3: {said}\n", other.display());
        assert!(text.ends_with(&expected), "{text}");
    };
    refused("disable that one, too");
    let command = host.path("other/bin/pcp-pmda-rust");
    fs::create_dir_all(host.path("other/bin")).expect("target is writable");
    fs::copy(host.path("bin/pcp-pmda-rust"), &command).expect("target is writable");
    refused(&format!("disable that one, too: {} disable", command.display()));
    let status = host.says(&["status"], "exit 3");
    assert!(
        status.starts_with("disabled: a process that starts now loads another copy"),
        "{status}"
    );
    fs::remove_file(host.path("etc/ld.so.conf.d/01-other.conf")).expect("ours");
    host.says(&["disable"], "exit 0");
}

/// Commands, and the agents of the host, complete in bash.
#[test]
fn words_complete() {
    let host = Host::new("switch-words");
    fs::write(
        host.path("pcp.conf"),
        format!("PCP_PMCDCONF_PATH={}\n", host.path("pmcd.conf").display()),
    )
    .expect("ours");
    fs::write(
        host.path("pmcd.conf"),
        "# proc\nproc 3 pipe\nxfs\t11 pipe\n[access]\nprotected 1\n",
    )
    .expect("ours");
    let completed = |words: &str| {
        let script = format!(
            ". {}; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _pcp_pmda_rust; echo \"${{COMPREPLY[*]}}\"",
            host.path("share/bash-completion/completions/pcp-pmda-rust").display()
        );
        let mut bash = plain("bash");
        bash.args(["-c", &script]).env("PCP_CONF", host.path("pcp.conf"));
        let outcome = expect_success(bash, "bash");
        assert!(
            outcome.stderr.is_empty(),
            "{}",
            String::from_utf8_lossy(&outcome.stderr)
        );
        String::from_utf8_lossy(&outcome.stdout).trim_end().to_owned()
    };
    assert_eq!(completed("pcp-pmda-rust st"), "status");
    assert_eq!(completed("pcp-pmda-rust compare p"), "proc");
    assert_eq!(completed("pcp-pmda-rust compare ''"), "--fetches --json proc xfs");
    let commands = completed("pcp-pmda-rust which mktem");
    assert!(commands.split(' ').all(|command| command == "mktemp"), "{commands}");
    assert_eq!(completed("pcp-pmda-rust status ''"), "--brief");
    assert_eq!(completed("pcp-pmda-rust enable ''"), "");
}

/// `compare` gets both libraries, whichever is the default, and names one that is missing. What it does is in tests/compare.
#[test]
fn a_comparison_needs_the_c_library() {
    let host = Host::new("switch-compare");
    let text = host.says(&["compare", "--help"], "exit 0");
    assert!(text.starts_with("Usage: pcp-pmda-rust compare"), "{text}");
    host.says(&["enable"], "exit 0");
    host.says(&["compare", "--help"], "exit 0");
    fs::write(host.path("tools/ldconfig"), "#!/bin/sh\n").expect("ours");
    let text = host.says(&["compare"], "exit 2");
    assert_eq!(text, "could not compare: the C library is not installed\n");
    let library = host.ours();
    fs::remove_file(&library).expect("it was installed");
    let text = host.says(&["compare"], "exit 2");
    let expected = format!("could not compare: {library} does not exist: install the library again\n");
    assert_eq!(text, expected);
}

#[test]
fn status_says_what_each_process_has_loaded() {
    let host = Host::new("switch-processes");
    let program = waiting_program(&host.installation.prefix);
    let start = |mut command: Command| {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::null());
        command.spawn().expect("the program starts")
    };
    let mut with_ours = start(host.command(&["run", &program.display().to_string()]));
    let mut plain_program = plain(&program.display().to_string());
    plain_program.env("LD_LIBRARY_PATH", host.path("system"));
    let mut with_c = start(plain_program);
    until_loaded(&with_ours, &host.ours());
    until_loaded(&with_c, "libpcp_pmda.so.3");
    let text = host.says(&["status"], "exit 3");
    let lines: Vec<_> = text.lines().collect();
    for (child, library) in [(&with_ours, "this library ("), (&with_c, "the C library (")] {
        let at = lines
            .iter()
            .position(|line| line.split_whitespace().next() == Some(&child.id().to_string()));
        let at = at.unwrap_or_else(|| panic!("process {} is not in\n{text}", child.id()));
        assert!(lines[at + 1].trim_start().starts_with(library), "{text}");
    }
    assert!(text.contains(", by its own LD_LIBRARY_PATH\n"), "{text}");
    for child in [&mut with_ours, &mut with_c] {
        drop(child.stdin.take());
        child.wait().expect("it was started");
    }
}

/// A program that maps a file, and then puts something else in its place.
fn mapping_program(directory: &Path) -> PathBuf {
    let source = directory.join("maps.c");
    let program = directory.join("maps");
    let text = "#include <fcntl.h>\n#include <stdio.h>\n#include <string.h>\n#include <sys/mman.h>\n#include <sys/stat.h>\n\
                #include <unistd.h>\n\
                int main(int argc, char **argv)\n{\n\
                    int fd = open(argv[1], O_RDONLY);\n\
                    if (argc != 3 || mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)\n        return 1;\n\
                    if (strcmp(argv[2], \"fifo\") == 0 && (unlink(argv[1]) < 0 || mkfifo(argv[1], 0644) < 0))\n        return 1;\n\
                    if (strcmp(argv[2], \"zero\") == 0 && (unlink(argv[1]) < 0 || symlink(\"/dev/zero\", argv[1]) < 0))\n        return 1;\n\
                    puts(\"ready\");\n    fflush(stdout);\n    return getchar() == EOF ? 0 : 1;\n}\n";
    fs::write(&source, text).expect("target is writable");
    let mut cc = plain("cc");
    cc.arg("-o").arg(&program).arg(&source);
    expect_success(cc, "cc");
    program
}

/// Whatever another user's process maps under the name of the library: nothing of it is waited for,
/// and what is said of it is one line for people.
#[test]
fn processes_of_other_users_do_no_harm() {
    let host = Host::new("switch-hostile");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let open = fs::Permissions::from_mode(0o777);
    fs::set_permissions(directory.path(), open.clone()).expect("ours");
    let program = mapping_program(directory.path());
    // The mapped file, its length, the file that takes its place, and the line about it.
    let odd = "|this library (\u{1b}[2J\t";
    let replaced = if pcp_pmda_test::is_root() {
        "the C library, a file that was replaced since"
    } else {
        "unknown: its file cannot be read: entity not found, a file that was replaced since"
    };
    let scenes = [
        ("waits", 4096, "fifo", replaced),
        ("endless", 4096, "zero", replaced),
        ("large", 1 << 40, "stay", "the C library"),
        (odd, 4096, "stay", "the C library"),
    ];
    let start = |(folder, length, becomes, _): &(&str, u64, &str, &str)| {
        let folder = directory.path().join(folder);
        fs::create_dir(&folder).expect("ours");
        fs::set_permissions(&folder, open.clone()).expect("ours");
        let file = folder.join("libpcp_pmda.so.3");
        let made = fs::File::create(&file).expect("ours");
        made.set_len(*length).expect("a file with a hole");
        let mut command = Command::new(&program);
        command.arg(&file).arg(becomes);
        if pcp_pmda_test::is_root() {
            command.uid(65_534).gid(65_534);
        }
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it was compiled");
        let mut ready = [0; 6];
        let stdout = child.stdout.as_mut().expect("piped");
        stdout.read_exact(&mut ready).expect("it maps the file");
        child
    };
    let mut children: Vec<Child> = scenes.iter().map(start).collect();
    let status = host.says(&["status"], "exit 3");
    for (child, (folder, .., library)) in children.iter().zip(&scenes) {
        let which = host.run(&["which", &child.id().to_string()]);
        let which = String::from_utf8_lossy(&which.stdout).into_owned();
        let shown = format!(
            "{library} ({}/{}/libpcp_pmda.so.3",
            directory.path().display(),
            folder.escape_debug()
        );
        for text in [&status, &which] {
            assert!(text.contains(&shown), "{shown} in {text:?}");
            assert!(!text.contains(['\u{1b}', '\t']), "{text:?}");
        }
        assert_eq!(which.lines().count(), 1, "{which:?}");
    }
    for child in &mut children {
        drop(child.stdin.take());
        child.wait().expect("it was started");
    }
}

/// `which` asks processes that run, and commands that it runs by itself; `dladdr` tells an agent
/// the same of itself.
#[test]
fn which_library_a_process_or_a_command_has_loaded() {
    let host = Host::new("switch-which");
    let program = waiting_program(&host.installation.prefix).display().to_string();
    let mut child = host.command(&["run", &program]);
    let mut child = child
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts");
    until_loaded(&child, &host.ours());
    let text = host.says(&["which", &child.id().to_string()], "exit 0");
    let line = format!("waits (process {}): this library ({})\n", child.id(), host.ours());
    assert_eq!(text, line);
    drop(child.stdin.take());
    child.wait().expect("it was started");

    let with = |libraries: &Path, command: &[&str]| {
        let mut which = host.command(&[&["which"], command].concat());
        which.env("LD_LIBRARY_PATH", libraries).stdin(Stdio::null());
        let outcome = bounded(which, Duration::from_secs(120));
        (outcome.end, String::from_utf8_lossy(&outcome.stdout).into_owned())
    };
    let (end, text) = with(&host.installation.libraries(), &[&program]);
    assert_eq!(end, "exit 0", "{text}");
    let (said, which) = text.split_once('\n').expect("two lines");
    assert_eq!(said, "ready");
    assert!(which.starts_with("waits (process "), "{which}");
    assert!(
        which.ends_with(&format!("): this library ({})\n", host.ours())),
        "{which}"
    );
    // The C library in a process that the command starts.
    let (end, text) = with(&host.path("system"), &["sh", "-c", &program]);
    assert_eq!(end, "exit 3", "{text}");
    assert!(text.contains("): the C library ("), "{text}");
    let (end, text) = with(&host.path("system"), &["true"]);
    assert_eq!((end.as_str(), text.as_str()), ("exit 1", ""));
    assert_eq!(host.run(&["which", "4194305"]).end, "exit 1");
    // A command that fails is not taken for one that has worked, whatever it has loaded.
    let fails = |status: &str, libraries: &Path, expected: &str| {
        let (end, text) = with(libraries, &["sh", "-c", &format!("{program}; {status}")]);
        assert_eq!(end, expected, "{text}");
        assert!(text.contains("waits (process "), "{text}");
    };
    fails("exit 7", &host.installation.libraries(), "exit 7");
    fails("exit 7", &host.path("system"), "exit 7");
    fails("kill -TERM $$", &host.installation.libraries(), "exit 143");
    assert_eq!(with(&host.path("system"), &["sh", "-c", "exit 7"]).0, "exit 7");

    let source = host.path("asks.c");
    let text = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\n#include <pcp/pmapi.h>\n#include <pcp/pmda.h>\n\
                int main(void)\n{\n    Dl_info found;\n    return dladdr((void *)pmdaInit, &found) == 0 || puts(found.dli_fname) < 0;\n}\n";
    fs::write(&source, text).expect("target is writable");
    let asks = host.path("asks");
    let mut cc = plain("cc");
    cc.arg("-o").arg(&asks).arg(&source).arg("-L").arg(host.path("system"));
    cc.args(["-l:libpcp_pmda.so.3", "-lpcp"]);
    expect_success(cc, "cc");
    let text = host.says(&["run", &asks.display().to_string()], "exit 0");
    assert_eq!(text, format!("{}\n", host.ours()));
}

/// pmcd of another generation of PCP uses another libpcp: with both in one process structures would
/// be misread.
#[test]
fn a_library_for_another_generation_of_pcp_is_refused() {
    let host = Host::new("switch-generation");
    let daemon = host.path("daemons/pmcd");
    fs::create_dir_all(host.path("daemons")).expect("target is writable");
    let conf = host.path("pcp.conf");
    let text = format!("PCP_BINADM_DIR={}\nPCP_USER=root\n", host.path("daemons").display());
    fs::write(&conf, text).expect("target is writable");
    let run = |args: &[&str]| {
        let mut command = host.command(args);
        command.env("PCP_CONF", &conf);
        let outcome = bounded(command, Duration::from_secs(120));
        let text = [outcome.stdout, outcome.stderr].concat();
        (outcome.end, String::from_utf8_lossy(&text).into_owned())
    };
    let install = || {
        let mut command = plain("make");
        let prefix = format!("PREFIX={}", host.path("again").display());
        let built = format!("BUILT={}", host.path("built").display());
        command.args(["-s", "install", &prefix, &built]);
        command.current_dir(pcp_pmda_test::root()).env("PCP_CONF", &conf);
        let outcome = bounded(command, Duration::from_secs(120));
        (outcome.end, String::from_utf8_lossy(&outcome.stderr).into_owned())
    };
    fs::create_dir_all(host.path("built")).expect("target is writable");
    for (from, name) in [
        ("libpcp_pmda.so.3", "libpcp_pmda.so"),
        ("libpcp_pmda.a", "libpcp_pmda.a"),
        ("pkgconfig/libpcp_pmda.pc", "libpcp_pmda.pc"),
    ] {
        let from = host.installation.libraries().join(from);
        fs::hard_link(from, host.path("built").join(name)).expect("target is writable");
    }
    let compare = host.installation.libraries().join("compare");
    fs::hard_link(compare, host.path("built/pcp-pmda-rust-compare")).expect("target is writable");

    // Without a pmcd, and with one that uses the same libpcp as the C library here.
    let fits = || {
        let (end, text) = run(&["fits"]);
        assert_eq!(end, "exit 0", "{text}");
        assert!(
            text.starts_with(&format!("fits: {} was built for PCP ", host.ours())),
            "{text}"
        );
        assert_eq!(text.lines().count(), 1, "{text}");
    };
    fits();
    fs::copy(Library::C.file(), &daemon).expect("target is writable");
    fits();
    assert_eq!(run(&["enable"]).0, "exit 0");
    assert_eq!(run(&["disable"]).0, "exit 0");
    assert_eq!(install(), ("exit 0".to_owned(), String::new()));

    fs::write(&daemon, b"\0libpcp_pmda.so.3\0libpcp.so.99\0").expect("target is writable");
    for args in [&["fits"][..], &["enable"], &["fits", &host.ours()]] {
        let (end, text) = run(args);
        assert_eq!(end, "exit 1", "{args:?}: {text}");
        assert!(text.contains("uses libpcp.so.99: build it anew"), "{args:?}: {text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
    let (end, text) = run(&["status"]);
    assert_eq!(end, "exit 4", "{text}");
    let misfit = text.lines().any(|line| line.starts_with("does not fit: "));
    assert!(text.starts_with("disabled: ") && misfit, "{text}");
    let (end, text) = install();
    assert_eq!(end, "exit 2", "{text}");
    assert!(text.contains("uses libpcp.so.99: build it anew"), "{text}");
}

/// `fits` reads what the library was built for from the file, and asks the dynamic linker for what
/// it needs.
#[test]
fn what_does_not_fit_is_refused_with_the_reason() {
    let host = Host::new("switch-fits");
    let says = |file: &Path| {
        let outcome = host.run(&["fits", &file.display().to_string()]);
        let text = String::from_utf8_lossy(&outcome.stderr).into_owned();
        assert_eq!(outcome.end, "exit 1", "{}: {text}", file.display());
        assert_eq!(text.lines().count(), 1, "{text}");
        text
    };
    for other in ["/etc/passwd", "/bin/sh", "/"] {
        assert!(says(Path::new(other)).contains("is not this library"), "{other}");
    }
    assert!(says(&Library::C.file()).contains("is not this library"));

    let bytes = fs::read(host.ours()).expect("installed");
    let changed = |name: &str, from: &[u8], to: &[u8]| {
        let mut bytes = bytes.clone();
        let places: Vec<_> = (0..bytes.len() - from.len())
            .filter(|place| bytes[*place..].starts_with(from))
            .collect();
        assert!(!places.is_empty(), "{name}");
        for place in places {
            bytes[place..place + to.len()].copy_from_slice(to);
        }
        let file = host.path(name);
        fs::write(&file, bytes).expect("target is writable");
        file
    };
    // The library of another time_t.
    let (ours, other) = if bytes.windows(19).any(|text| text == b"a time_t of 64 bits") {
        ("64", "32")
    } else {
        ("32", "64")
    };
    let file = changed(
        "times.so",
        format!("a time_t of {ours} bits").as_bytes(),
        format!("a time_t of {other} bits").as_bytes(),
    );
    let text = says(&file);
    assert!(
        text.contains(&format!("with a time_t of {other} bits, and "))
            && text.contains(&format!(" has one of {ours}: build it anew")),
        "{text}"
    );
    // A libpcp that is not there, and a function that it does not have.
    let text = says(&changed("missing.so", b"libpcp.so.", b"libqcp.so."));
    assert!(
        text.contains("the dynamic linker says \"libqcp.so.") && text.contains("not found"),
        "{text}"
    );
    let text = says(&changed("version.so", b"\0pmtimevalToReal\0", b"\0pmtimevalToReaL\0"));
    assert!(text.contains("pmtimevalToReaL"), "{text}");
}

#[test]
fn directories_that_ldconfig_would_split_are_refused() {
    let host = Host::new("switch-names");
    let libraries = host.installation.libraries();
    let command = host.path("bin/pcp-pmda-rust");
    let script = fs::read_to_string(&command).expect("installed");
    for name in ["a blank", "a\ttab", "a:colon", "a,comma"] {
        let moved = host.path(name);
        fs::rename(&libraries, &moved).expect("installed");
        let moved_script = script.replace(&libraries.display().to_string(), &moved.display().to_string());
        fs::write(&command, moved_script).expect("installed");
        let outcome = host.run(&["enable"]);
        assert_eq!(outcome.end, "exit 1", "{name:?}");
        let text = String::from_utf8_lossy(&outcome.stderr);
        assert!(text.contains("ldconfig takes no directory with"), "{name:?}: {text}");
        assert!(text.contains(name), "{name:?}: {text}");
        fs::rename(&moved, &libraries).expect("ours");
    }
    let configured = host.path("etc/ld.so.conf.d").read_dir().expect("ours").count();
    assert_eq!(configured, 0, "a line of ldconfig's was written");
}

#[test]
fn what_cannot_be_done_is_said() {
    let host = Host::new("switch-errors");
    for (args, said) in [
        (&[][..], "a command is missing"),
        (&["nonsense"], "there is no command nonsense"),
        (&["run"], "run takes a command"),
        (&["status", "more"], "status takes no arguments but --brief"),
        (&["which"], "which takes processes or a command"),
        (&["fits", "a", "b"], "fits takes one library"),
    ] {
        let outcome = host.run(args);
        assert_eq!(outcome.end, "exit 2", "{args:?}");
        let text = String::from_utf8_lossy(&outcome.stderr);
        assert_eq!(text.lines().next(), Some(&*format!("pcp-pmda-rust: {said}")), "{text}");
        assert!(text.contains("\nUsage: "), "{text}");
    }
    assert!(host.says(&["--help"], "exit 0").starts_with("Usage: "));
    let version = concat!("pcp-pmda-rust ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(host.says(&["--version"], "exit 0"), version);
    assert_eq!(host.run(&["run", "/bin/sh", "-c", "exit 7"]).end, "exit 7");

    fs::remove_file(host.ours()).expect("installed");
    for args in [&["enable"][..], &["run", "true"], &["fits"]] {
        let outcome = host.run(args);
        assert_eq!(outcome.end, "exit 1", "{args:?}");
        assert!(
            String::from_utf8_lossy(&outcome.stderr).contains("does not exist"),
            "{args:?}"
        );
    }
    fs::remove_dir_all(host.path("etc")).expect("ours");
    fs::write(host.path("etc"), "").expect("target is writable");
    let outcome = host.run(&["disable"]);
    assert_eq!(outcome.end, "exit 1");
    let text = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert!(
        text.contains("/ld.so.conf.d") && text.contains("Not a directory"),
        "{text}"
    );
    assert_eq!(text.contains("run this as root"), !pcp_pmda_test::is_root(), "{text}");
}

/// What fails leaves the line as it was: else the next ldconfig, of anybody, would switch.
#[test]
fn a_switch_that_fails_is_taken_back() {
    let host = Host::new("switch-back");
    let conf = host.path("etc/ld.so.conf.d/00-pcp-pmda-rust-local.conf");
    let tool = host.path("tools/ldconfig");
    let wrapper = fs::read_to_string(&tool).expect("ours");
    let fails = wrapper.replace(
        "#!/bin/sh\n",
        "#!/bin/sh\n[ \"$1\" = -p ] || { echo 'ldconfig: cache: No space left on device' >&2; exit 1; }\n",
    );
    for (command, other, state, end) in [
        ("enable", "disable", "disabled: ", "exit 3"),
        ("disable", "enable", "enabled: ", "exit 0"),
        ("enable", "disable", "disabled: ", "exit 3"),
    ] {
        let before = fs::read(&conf).ok();
        fs::write(&tool, &fails).expect("ours");
        let outcome = host.run(&[command]);
        fs::write(&tool, &wrapper).expect("ours");
        let text = String::from_utf8_lossy(&outcome.stderr).into_owned();
        assert_eq!(outcome.end, "exit 1", "{text}");
        assert!(text.contains("No space left on device"), "{text}");
        assert_eq!(text.contains("run this as root"), !pcp_pmda_test::is_root(), "{text}");
        assert_eq!(fs::read(&conf).ok(), before, "after {command}");
        host.ldconfig();
        let status = host.script("sh $PR status || echo exit $?");
        assert!(status.starts_with(state), "{status}");
        assert!(end == "exit 0" || status.contains(end), "{status}");
        // Now with a line, be it one or a comment.
        host.says(&[command], "exit 0");
        host.says(&[other], "exit 0");
        host.says(&[command], "exit 0");
    }
    // A line before this one that names another library.
    host.says(&["disable"], "exit 0");
    let before = fs::read(&conf).expect("written");
    let line = format!("{}\n", host.path("system").display());
    fs::write(host.path("etc/ld.so.conf.d/00-a.conf"), line).expect("ours");
    let outcome = host.run(&["enable"]);
    let text = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert_eq!(outcome.end, "exit 1", "{text}");
    assert!(text.contains("does another line of ld.so.conf come before") && text.contains("Nothing was changed"));
    assert_eq!(fs::read(&conf).expect("left"), before);
    let names = files_below(&host.path("etc/ld.so.conf.d"));
    assert_eq!(
        names,
        ["00-a.conf", "00-pcp-pmda-rust-local.conf"],
        "nothing is left beside"
    );
}

/// A full file system below /etc, one that cannot be written, and no ldconfig: what the system says
/// is said, and not that root should be root.
#[test]
fn a_switch_says_what_the_system_says() {
    let host = Host::new("switch-system");
    let said = host.script(
        "mount -t tmpfs -o size=16k tmpfs etc/ld.so.conf.d && head -c 16k /dev/zero >etc/ld.so.conf.d/fill\n\
         sh $PR enable; echo exit $?; ls etc/ld.so.conf.d\n\
         rm etc/ld.so.conf.d/fill; sh $PR enable; cat /dev/zero >etc/ld.so.conf.d/fill\n\
         sh $PR disable; echo exit $?; cat etc/ld.so.conf.d/*.conf; ls etc/ld.so.conf.d\n\
         mount -o remount,ro etc/ld.so.conf.d; sh $PR enable; echo exit $?\n\
         PATH=$PWD/none:/usr/bin:/bin; rm tools/ldconfig; mkdir none; for tool in sh cat awk grep sed tr; do ln -s $(command -v $tool) none/; done\n\
         mount -t tmpfs tmpfs /usr/sbin; mount -t tmpfs tmpfs /sbin 2>/dev/null; sh $PR status; echo exit $?\n",
    );
    // The line of before is whole, and nothing is left beside it.
    let line = host.installation.libraries().display().to_string();
    let conf = "00-pcp-pmda-rust-local.conf";
    let expected = ["exit 1", "fill", "exit 1", &line, conf, "fill", "exit 1", "exit 1"];
    let told = |text: &&str| expected.contains(text) || text.starts_with(conf);
    let lines: Vec<&str> = said.lines().filter(told).collect();
    assert_eq!(lines, expected, "{said}");
    for text in [
        "No space left on device",
        "Read-only file system",
        "there is no ldconfig in ",
    ] {
        assert!(said.contains(text), "{text} is not in {said}");
    }
    assert!(!said.contains("as root"), "{said}");
}

/// The exit status says whether services have the default, and whether the next ldconfig switches.
#[test]
fn status_says_that_the_switch_has_happened() {
    let host = Host::new("switch-services");
    let program = waiting_program(&host.installation.prefix);
    let source = program.with_extension("c");
    // Services that have loaded either library, whatever the default is.
    for (folder, libraries) in [("c", host.path("system")), ("ours", host.installation.libraries())] {
        fs::create_dir(host.path(folder)).expect("ours");
        let mut cc = plain("cc");
        cc.arg("-o").arg(host.path(folder).join("pmcd")).arg(&source);
        cc.arg(format!("-Wl,-rpath,{}", libraries.display()));
        cc.arg("-L")
            .arg(host.path("system"))
            .args(["-l:libpcp_pmda.so.3", "-lpcp"]);
        expect_success(cc, "cc");
    }
    let begin = "mkfifo input output; exec 9<>input\n\
                 start() { \"$@\" <input >output & read -r ready <output; }\n\
                 status() { sh $PR status --brief; echo \"exit $?\"; }\n";
    let says = |script: &str| {
        host.script(&format!(
            "{begin}{script}\nfor job in $(jobs -p); do kill $job; done; rm input output"
        ))
    };
    let none = "pmcd and pmproxy do not run";
    let restart =
        |number| format!("restart pmcd and pmproxy: {number} of their {number} processes have another library");

    assert_eq!(says("status"), format!("disabled: {none}\nexit 3\n"));
    let have = |library| format!("1 of 1 processes of pmcd and pmproxy have {library} library");
    assert_eq!(
        says("start c/pmcd; status"),
        format!("disabled: {}\nexit 3\n", have("another"))
    );
    assert_eq!(
        says("start ours/pmcd; status"),
        format!("disabled: {}\nexit 6\n", restart(1))
    );
    // A client of somebody's, and an agent with a library of its own, are no matter of a restart.
    let others = "cp ours/pmcd client; start ./client; cp waits pmcd; LD_LIBRARY_PATH=$OURS start ./pmcd; status";
    assert_eq!(says(others), format!("disabled: {none}\nexit 3\n"));

    host.says(&["enable"], "exit 0");
    assert_eq!(says("status"), format!("enabled: {none}\nexit 0\n"));
    assert_eq!(
        says("start ours/pmcd; status"),
        format!("enabled: {}\nexit 0\n", have("this"))
    );
    assert_eq!(
        says("start c/pmcd; status"),
        format!("enabled: {}\nexit 5\n", restart(1))
    );
    // The file of before an update.
    let update = "cp $OURS/libpcp_pmda.so.3 new; mv new $OURS/libpcp_pmda.so.3";
    let text = says(&format!("start ours/pmcd; {update}; status"));
    assert_eq!(text, format!("enabled: {}\nexit 5\n", restart(1)));

    // The line was changed, and ldconfig has not been run; it is what apt runs at the next update.
    let conf = host.path("etc/ld.so.conf.d/00-pcp-pmda-rust-local.conf");
    let line = fs::read(&conf).expect("written");
    fs::write(&conf, "# not\n").expect("ours");
    let text = says("status");
    assert!(
        text.starts_with("enabled: the next ldconfig disables this library: no line"),
        "{text}"
    );
    assert!(text.ends_with("exit 7\n"), "{text}");
    host.ldconfig();
    assert_eq!(says("status"), format!("disabled: {none}\nexit 3\n"));
    fs::write(&conf, line).expect("ours");
    let text = says("status");
    assert!(
        text.starts_with("disabled: the next ldconfig enables this library: "),
        "{text}"
    );
    assert!(
        text.ends_with(": run pcp-pmda-rust enable or disable\nexit 7\n"),
        "{text}"
    );
}

/// The user that pmcd becomes has to be able to load the library.
#[test]
fn a_library_that_pmcd_cannot_read_is_not_enabled() {
    if !pcp_pmda_test::is_root() {
        return;
    }
    let host = Host::new("switch-modes");
    // Whoever the directories above are closed to.
    let place = tempfile::tempdir().expect("a temporary directory");
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).expect("ours");
    let script = format!(
        "mkdir {0}/p && mount --bind . {0}/p && cd {0}/p && sed -i \"s:$OLDPWD:{0}/p:g\" bin/pcp-pmda-rust tools/ldconfig etc/ld.so.conf\n\
         echo PCP_USER=nobody >own.conf; export PCP_CONF=$PWD/own.conf PATH=$PWD/tools:$PATH; ldconfig; chmod 755 . lib\n\
         for mode in 700 755; do chmod $mode lib/pcp-pmda-rust; sh bin/pcp-pmda-rust enable; echo exit $?; done\n\
         chmod 700 lib/pcp-pmda-rust; sh bin/pcp-pmda-rust status --brief; echo exit $?\n",
        place.path().display()
    );
    let said = host.script(&script);
    let ends: Vec<&str> = said.lines().filter(|line| line.starts_with("exit ")).collect();
    assert_eq!(ends, ["exit 1", "exit 0", "exit 4"], "{said}");
    assert_eq!(said.matches("nobody cannot read ").count(), 2, "{said}");
}

/// In a clone each command works, or says that it needs an installation.
#[test]
fn commands_of_a_clone() {
    let host = Host::new("switch-clone");
    let clone = host.path("clone");
    let built = clone.join("target/release");
    fs::create_dir_all(clone.join("packaging")).expect("ours");
    fs::create_dir_all(built.join("pcp-pmda-rust")).expect("ours");
    let root = pcp_pmda_test::root();
    fs::copy(root.join("Cargo.toml"), clone.join("Cargo.toml")).expect("ours");
    let script = clone.join("packaging/pcp-pmda-rust.in");
    fs::copy(root.join("packaging/pcp-pmda-rust.in"), &script).expect("ours");
    let run = |args: &[&str]| {
        let mut command = plain("sh");
        command.arg("packaging/pcp-pmda-rust.in").args(args).current_dir(&clone);
        for (name, value) in host.command(&[]).get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let outcome = bounded(command, Duration::from_secs(120));
        let text = [outcome.stdout, outcome.stderr].concat();
        (outcome.end, String::from_utf8_lossy(&text).into_owned())
    };
    let (end, text) = run(&["run", "true"]);
    assert!(end == "exit 1" && text.contains("run make"), "{text}");
    let (end, text) = run(&["which", "true"]);
    assert!(end == "exit 1" && text.contains("no libpcp_pmda"), "{text}");

    fs::hard_link(host.ours(), built.join("libpcp_pmda.so")).expect("ours");
    let compare = host.installation.libraries().join("compare");
    fs::hard_link(compare, built.join("pcp-pmda-rust-compare")).expect("ours");
    symlink("../libpcp_pmda.so", built.join("pcp-pmda-rust/libpcp_pmda.so.3")).expect("ours");
    for command in ["enable", "disable"] {
        let (end, text) = run(&[command]);
        assert_eq!(end, "exit 1", "{text}");
        let said = format!("pcp-pmda-rust: {command} needs an installation: run make install");
        assert!(text.starts_with(&said) && text.lines().count() == 1, "{text}");
    }
    let version = concat!("pcp-pmda-rust ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(run(&["--version"]), ("exit 0".to_owned(), version.to_owned()));
    assert_eq!(run(&["status"]).0, "exit 3");
    assert_eq!(run(&["fits"]).0, "exit 0");
    let program = waiting_program(&host.installation.prefix).display().to_string();
    let quiet = format!("{program} </dev/null");
    let script = script.display().to_string();
    let (end, text) = run(&["run", "sh", &script, "which", "sh", "-c", &quiet]);
    assert_eq!(end, "exit 0", "{text}");
    assert!(text.contains("): this library ("), "{text}");
    let left: Vec<_> = fs::read_dir(&clone)
        .expect("ours")
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

/// `which` for a name, for what is no program, and without a directory for its files.
#[test]
fn which_says_what_it_takes() {
    let host = Host::new("switch-names-of-processes");
    let says = |args: &[&str], said: &str| {
        let outcome = host.run(args);
        let text = String::from_utf8_lossy(&outcome.stderr).into_owned();
        assert_eq!(outcome.end, "exit 1", "{args:?}: {text}");
        assert!(text.contains(said), "{args:?}: {text}");
        text
    };
    fs::copy("/bin/sleep", host.path("no_such_tool")).expect("sleep is there");
    let mut sleeps = plain(&host.path("no_such_tool").display().to_string());
    let mut sleeps = sleeps.arg("60").spawn().expect("it was copied");
    let number = format!("which {}\n", sleeps.id());
    let text = says(
        &["which", "no_such_tool"],
        "which takes numbers of processes, or a command",
    );
    sleeps.kill().expect("it runs");
    sleeps.wait().expect("it runs");
    assert!(text.ends_with(&number), "{text}");
    says(&["which", "no_such_tool"], "no process of this name");
    // A function of the script is no command.
    let outcome = host.run(&["which", "set_line", "x"]);
    assert!(String::from_utf8_lossy(&outcome.stderr).contains("set_line"));
    assert!(!host.path("etc/ld.so.conf.d/00-pcp-pmda-rust-local.conf").exists());
    let mut command = host.command(&["which", "true"]);
    command.env("TMPDIR", "/nonexistent");
    let outcome = bounded(command, Duration::from_secs(120));
    let text = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert_eq!(outcome.end, "exit 1", "{text}");
    assert!(text.contains("create /nonexistent, or set TMPDIR"), "{text}");
}
