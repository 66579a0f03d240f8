//! `--write DIR`: the files that PCP wants of an installed agent.

use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use pmda_core::dir_entry::DirEntry;
use pmda_core::log::Bytes;
use pmda_core::save::write_anew;

use crate::agent::Agent;
use crate::check::findings;
use crate::env::Env;
use crate::logger;
use crate::metrics::Metrics;
use crate::metrics::help_parts;
use crate::pmns::{Node, cannot_write, domain_name, tree};

/// Writes `domain.h`, `pmns`, `root`, `help`, `Install` and `Remove` to a directory, which is made.
/// When they are in `$PCP_PMDAS_DIR/NAME` beside the agent's program `pmdaNAME`, `./Install` tells
/// pmcd of the agent. Options of the command line may choose domain and root. An agent with several
/// roots has a file of names for each: `pmns` for that with the agent's name, `pmns.ROOT` for the
/// others.
pub(crate) fn write<A: Agent>(directory: &Path, env: &Env) -> ExitCode {
    let say = |line: &str| logger::write(format_args!("{}: {}\n", A::NAME, Bytes(line.as_bytes())));
    let findings = findings::<A>(env);
    findings.others.iter().for_each(|line| say(&format!("warning: {line}")));
    let files = match files::<A>(env, findings.errors) {
        Ok(files) => files,
        Err(problems) => {
            problems.iter().for_each(|line| say(line));
            say("nothing is written");
            return ExitCode::FAILURE;
        }
    };
    let one = |WrittenFile { name, text, mode }| -> io::Result<()> {
        // Root may be told to write to another user's directory: no link in it is followed.
        let entry = entry(&directory.join(&name))?;
        let keep = || {
            if mode == SCRIPT {
                keep_changed(&entry, &text)
            } else {
                Ok(())
            }
        };
        write_anew(&entry, mode, text.as_bytes(), keep)
    };
    match make(directory).and_then(|()| files.into_iter().try_for_each(one)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let (path, reason) = (directory.display(), logger::reason(&error));
            logger::write(format_args!("cannot write to {path}: {reason}\n"));
            ExitCode::FAILURE
        }
    }
}

/// A file that `--write` makes.
pub(crate) struct WrittenFile {
    name: String,
    text: String,
    mode: u32,
}

/// The files of an agent with these problems.
///
/// # Errors
/// The problems; else the reason why its names have no files.
pub(crate) fn files<A: Agent>(env: &Env, problems: Vec<String>) -> Result<Vec<WrittenFile>, Vec<String>> {
    if !problems.is_empty() {
        return Err(problems);
    }
    let env = env.clone().with_root(A::root(env)).without_files();
    let metrics = Metrics::of(&env, A::metrics);
    if let Some(why) = cannot_write(&metrics) {
        return Err(vec![why]);
    }
    let tree = tree(&metrics, A::NAME);
    let file = |name: &str, text, mode| WrittenFile {
        name: name.to_owned(),
        text,
        mode,
    };
    let mut files = vec![
        file("domain.h", domain(&metrics, A::NAME), 0o644),
        file("root", root(&tree, A::NAME), 0o644),
        file("help", help(&metrics, A::NAME), 0o644),
        file("Install", script::<A>(&tree, "pmdaInstall"), SCRIPT),
        file("Remove", script::<A>(&tree, "pmdaRemove"), SCRIPT),
    ];
    files.extend(tree.children().map(|(name, node)| {
        let mut text = String::new();
        match &node.number {
            Some(number) => text = format!("{name}\t{number}\n"),
            None => level(&mut text, name, node),
        }
        file(&names_file(&tree, name, A::NAME), text, 0o644)
    }));
    Ok(files)
}

/// The mode of a script.
const SCRIPT: u32 = 0o755;

/// Largest script that is compared with the new one, in bytes.
const SCRIPT_MAX: usize = 1 << 20;

/// Keeps a script that is not the one to be written, since its owner has changed it, under another
/// name, and says so.
fn keep_changed(entry: &DirEntry, text: &str) -> io::Result<()> {
    match entry.content(SCRIPT_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Ok(content) if content == text.as_bytes() => return Ok(()),
        _ => {}
    }
    let kept = entry.keep_aside("old")?;
    let (name, kept) = (Bytes(entry.name().bytes()), Bytes(kept.bytes()));
    logger::write(format_args!("{name} was changed: the old one is {kept} now\n"));
    Ok(())
}

fn entry(path: &Path) -> io::Result<DirEntry> {
    DirEntry::at(path)
}

/// Makes a directory and those above it, and follows no link on the way.
fn make(directory: &Path) -> io::Result<()> {
    let above = directory.parent().filter(|above| !above.as_os_str().is_empty());
    if let Some(above) = above {
        make(above)?;
        entry(directory)?.make_directory(0o777)?;
    } else if directory != Path::new("/") {
        entry(directory)?.make_directory(0o777)?;
    }
    Ok(())
}

fn domain<S>(metrics: &Metrics<S>, name: &str) -> String {
    format!("#define {} {}\n", domain_name(name), metrics.domain())
}

/// The file of a root's names, as `pmdaproc.sh` looks for it.
fn names_file(tree: &Node, root: &str, agent: &str) -> String {
    if root == agent || tree.order.len() == 1 {
        return "pmns".to_owned();
    }
    format!("pmns.{root}")
}

/// The names of the agent alone, to be checked.
fn root(tree: &Node, agent: &str) -> String {
    let include = |name: &str| format!("#include \"{}\"\n", names_file(tree, name, agent));
    let mut names = String::from("root {\n");
    let mut behind = String::new();
    for (name, node) in tree.children() {
        // A name that the agent answers for is no node of its own: it stands within the root.
        if node.number.is_some() {
            names += &include(name);
        } else {
            names += &format!("    {name}\n");
            behind += &format!("\n{}", include(name));
        }
    }
    let all = tree.order.join(", ");
    format!("/* The names of {all} alone, to be checked. */\n#include \"domain.h\"\n\n{names}}}\n{behind}")
}

fn level(text: &mut String, name: &str, node: &Node) {
    let separator = if text.is_empty() { "" } else { "\n" };
    let _ = writeln!(text, "{separator}{name} {{");
    for (part, child) in node.children() {
        let _ = match &child.number {
            Some(number) => writeln!(text, "    {part}\t{number}"),
            None => writeln!(text, "    {part}"),
        };
    }
    text.push_str("}\n");
    for (part, child) in node.children().filter(|(_, child)| child.number.is_none()) {
        level(text, &format!("{name}.{part}"), child);
    }
}

/// The help texts in `newhelp`'s format, for people: pmcd asks the agent.
fn help<S>(metrics: &Metrics<S>, agent: &str) -> String {
    // newhelp would look for names that only the agent knows.
    if metrics.are_dynamic() {
        return "# The names are made at run time: the agent itself has the texts.\n".to_owned();
    }
    let mut text = String::new();
    let mut add = |name: String, help: &str| {
        let (line, long) = help_parts(help);
        let _ = writeln!(text, "@ {name} {line}");
        // At the start of a line newhelp takes @ for the next text, and # for a comment.
        for line in long.lines() {
            let escape = if line.starts_with(['@', '#']) { " " } else { "" };
            let _ = writeln!(text, "{escape}{line}");
        }
        text.push('\n');
    };
    for indom in metrics.declared_indoms() {
        add(format!("{}.{}", domain_name(agent), indom.serial), indom.help);
    }
    for metric in metrics
        .declared()
        .filter(|metric| !metrics.is_dynamic_below(metric.name))
    {
        add(metrics.with_root(metric.name), metric.help);
    }
    text
}

fn script<A: Agent>(tree: &Node, action: &str) -> String {
    let name = A::NAME;
    let protocol = if A::NOT_READY {
        "ipc_prot=\"binary notready\"\n"
    } else {
        ""
    };
    // pmdaproc.sh takes the agent's name for that of the tree, unless it is told others.
    let root = match tree.order.as_slice() {
        [root] if root == name => String::new(),
        [root] => format!("pmns_name={root}\n"),
        roots => format!("pmns_name=\"{}\"\n", roots.join(" ")),
    };
    // Only an Install that its owner changes to `dso_opt=true` uses the entry.
    format!(
        "#! /bin/sh\n# The variables are for pmdaproc.sh.\n# shellcheck disable=SC2034\n. \"$PCP_DIR/etc/pcp.env\"\n. \"$PCP_SHARE_DIR/lib/pmdaproc.sh\"\n\niam={name}\ndso_entry=pmda_{name}_init\n{root}{protocol}\npmdaSetup\n{action}\nexit\n"
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;
    use crate::prelude::*;

    struct Tree;

    struct Slow;

    impl Agent for Slow {
        const NAME: &'static str = "slow";
        const DOMAIN: u32 = 78;
        const NOT_READY: bool = true;
        fn start(_: &Env) -> Result<Slow> {
            Ok(Slow)
        }
        fn metrics(_: &mut Metrics<Slow>) {}
    }

    #[test]
    fn an_agent_that_pmcd_waits_for() {
        let env = Env::in_folder(Slow::NAME, Slow::DOMAIN, Path::new(""));
        let text = script::<Slow>(
            &tree(&Metrics::of(&env.without_files(), Slow::metrics), Slow::NAME),
            "pmdaInstall",
        );
        assert!(
            text.contains(
                "\niam=slow\ndso_entry=pmda_slow_init\nipc_prot=\"binary notready\"\n\npmdaSetup\npmdaInstall\n"
            ),
            "{text}"
        );
    }

    impl Agent for Tree {
        const NAME: &'static str = "tree";
        const DOMAIN: u32 = 77;
        fn start(_: &Env) -> Result<Tree> {
            Ok(Tree)
        }
        fn metrics(m: &mut Metrics<Tree>) {
            m.value("b.y", |_| 1).help("One line\n@ more\ntext");
            m.value("a", |_| 1).help("A");
            m.value("b.x.z", |_| 1).item(7).help("Z");
        }
    }

    #[test]
    fn files() {
        let directory = tempfile::tempdir().expect("a directory");
        let target = directory.path().join("tree");
        let env = Env::in_folder(Tree::NAME, Tree::DOMAIN, directory.path());
        assert_eq!(write::<Tree>(&target, &env), ExitCode::SUCCESS);
        let read = |name: &str| fs::read_to_string(target.join(name)).expect("written");
        assert_eq!(read("domain.h"), "#define TREE 77\n");
        assert!(read("root").contains("#include \"domain.h\"\n\nroot {\n    tree\n}\n\n#include \"pmns\"\n"));
        assert_eq!(
            read("pmns"),
            "tree {\n    b\n    a\tTREE:0:1\n}\n\ntree.b {\n    y\tTREE:0:0\n    x\n}\n\ntree.b.x {\n    z\tTREE:0:7\n}\n"
        );
        assert_eq!(
            read("help"),
            "@ tree.b.y One line\n @ more\ntext\n\n@ tree.a A\n\n@ tree.b.x.z Z\n\n"
        );
        assert!(read("Install").contains("\niam=tree\ndso_entry=pmda_tree_init\n\npmdaSetup\npmdaInstall\n"));
        let mode = fs::metadata(target.join("Remove"))
            .expect("written")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o755);
    }

    struct Refused;

    impl Agent for Refused {
        const NAME: &'static str = "refused";
        const DOMAIN: u32 = 76;
        fn start(_: &Env) -> Result<Refused> {
            Ok(Refused)
        }
        fn metrics(m: &mut Metrics<Refused>) {
            m.value("one", |_| 1).help("One");
            m.value("again", |_| 1).item(0).help("The number of another one");
        }
    }

    /// For an agent that `--check` refuses no file is written: a file without one of the metrics would hide the
    /// mistake.
    #[test]
    fn what_is_wrong_is_not_written() {
        let directory = tempfile::tempdir().expect("a directory");
        let target = directory.path().join("refused");
        let env = Env::in_folder(Refused::NAME, Refused::DOMAIN, directory.path());
        assert_eq!(write::<Refused>(&target, &env), ExitCode::FAILURE);
        assert!(!target.exists());
    }

    /// In another user's directory root follows no links, neither in the place of a file nor of a
    /// directory.
    #[test]
    fn links_of_others() {
        if !crate::skipped::is_root() {
            return;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let (theirs, victim) = (directory.path().join("theirs"), directory.path().join("victim"));
        let inside = directory.path().join("inside");
        fs::create_dir(&theirs).expect("ours");
        fs::create_dir(&inside).expect("ours");
        fs::write(&victim, "secret").expect("ours");
        chown(&theirs, Some(65534), Some(65534)).expect("root");
        symlink(&victim, theirs.join("help")).expect("a link");
        symlink(&inside, theirs.join("tree")).expect("a link");
        let env = Env::in_folder(Tree::NAME, Tree::DOMAIN, directory.path());
        assert_eq!(write::<Tree>(&theirs, &env), ExitCode::SUCCESS);
        assert_eq!(write::<Tree>(&theirs.join("tree"), &env), ExitCode::FAILURE);
        assert_eq!(write::<Tree>(&theirs.join("tree/below"), &env), ExitCode::FAILURE);
        assert_eq!(fs::read_to_string(&victim).expect("ours"), "secret");
        assert_eq!(fs::read_dir(&inside).expect("ours").count(), 0);
        assert!(fs::symlink_metadata(theirs.join("help")).expect("written").is_file());
    }

    struct Rooted;

    impl Agent for Rooted {
        const NAME: &'static str = "rooted";
        const DOMAIN: u32 = 78;
        fn root(env: &Env) -> String {
            env.option("root").unwrap_or(Self::NAME).to_owned()
        }
        fn start(_: &Env) -> Result<Rooted> {
            Ok(Rooted)
        }
        fn metrics(m: &mut Metrics<Rooted>) {
            m.dynamic_names().value("a", |_| 1).help("A");
        }
    }

    /// Names below an option's root, and of `-d`'s domain.
    #[test]
    fn another_root() {
        let directory = tempfile::tempdir().expect("a directory");
        let env = |root: &str| {
            let env = Env::in_folder(Rooted::NAME, 99, directory.path());
            env.with_options(vec![("root", root.to_owned())], Vec::new())
        };
        assert_eq!(write::<Rooted>(directory.path(), &env("other")), ExitCode::SUCCESS);
        let read = |name: &str| fs::read_to_string(directory.path().join(name)).expect("written");
        assert_eq!(read("domain.h"), "#define ROOTED 99\n");
        assert_eq!(read("pmns"), "other\tROOTED:*:*\n");
        assert!(read("root").contains("#include \"domain.h\"\n\nroot {\n#include \"pmns\"\n}\n"));
        assert!(read("help").starts_with("# ") && !read("help").contains('@'));
        assert!(read("Install").contains("\niam=rooted\ndso_entry=pmda_rooted_init\npmns_name=other\n\npmdaSetup\n"));
        assert_eq!(write::<Rooted>(directory.path(), &env("a.b")), ExitCode::FAILURE);
    }

    /// Several roots: one whose names are all declared, one that has both kinds, and one that comes
    /// and goes whole.
    struct Roots;

    impl Agent for Roots {
        const NAME: &'static str = "proc";
        const DOMAIN: u32 = 79;
        fn root(_: &Env) -> String {
            String::new()
        }
        fn start(_: &Env) -> Result<Roots> {
            Ok(Roots)
        }
        fn metrics(m: &mut Metrics<Roots>) {
            m.dynamic_names_below("proc.psinfo").dynamic_names_below("hot");
            m.dynamic_names_below("hot.below");
            m.value("acct.id.uid", |_| 1).help("User");
            m.value("proc.nprocs", |_| 1).help("Number");
            m.value("proc.psinfo.cmd", |_| 1).help("The agent answers");
        }
    }

    #[test]
    fn several_roots() {
        let directory = tempfile::tempdir().expect("a directory");
        let env = Env::in_folder(Roots::NAME, Roots::DOMAIN, directory.path());
        assert_eq!(write::<Roots>(directory.path(), &env), ExitCode::SUCCESS);
        let read = |name: &str| fs::read_to_string(directory.path().join(name)).expect("written");
        assert_eq!(
            read("pmns.acct"),
            "acct {\n    id\n}\n\nacct.id {\n    uid\tPROC:0:0\n}\n"
        );
        assert_eq!(read("pmns"), "proc {\n    nprocs\tPROC:0:1\n    psinfo\tPROC:*:*\n}\n");
        assert_eq!(read("pmns.hot"), "hot\tPROC:*:*\n");
        assert_eq!(
            read("root"),
            "/* The names of acct, proc, hot alone, to be checked. */\n#include \"domain.h\"\n\nroot {\n    acct\n    proc\n#include \"pmns.hot\"\n}\n\n#include \"pmns.acct\"\n\n#include \"pmns\"\n"
        );
        assert_eq!(read("help"), "@ acct.id.uid User\n\n@ proc.nprocs Number\n\n");
        for script in ["Install", "Remove"] {
            let text = read(script);
            assert!(
                text.contains("\niam=proc\ndso_entry=pmda_proc_init\npmns_name=\"acct proc hot\"\n\n"),
                "{text}"
            );
        }
    }
}
