//! `--write DIR`: the files that PCP wants of an installed agent.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::ExitCode;

use pmda_core::dir_entry::DirEntry;
use pmda_core::log::Bytes;

use crate::metrics::{help_parts, is_name};
use crate::{Agent, Env, Metrics, logger};

/// Writes `domain.h`, `pmns`, `root`, `help`, `Install` and `Remove` to a directory, which is made.
/// When they are in `$PCP_PMDAS_DIR/NAME` beside the agent's program `pmdaNAME`, `./Install` tells
/// pmcd of the agent. Options of the command line may choose domain and root.
pub(crate) fn write<A: Agent>(directory: &Path, env: &Env) -> ExitCode {
    let root_name = A::root(env);
    if root_name.contains('.') || !is_name(&root_name) {
        let root_name = Bytes(root_name.as_bytes());
        logger::write(format_args!(
            "cannot write files for names below \"{root_name}\": the root is to be one name\n"
        ));
        return ExitCode::FAILURE;
    }
    let env = env.clone().with_root(root_name);
    let metrics = Metrics::of(&env.without_files(), A::metrics);
    let files = [
        ("domain.h", domain(&metrics, A::NAME), 0o644),
        ("pmns", names(&metrics, A::NAME), 0o644),
        ("root", root(&metrics), 0o644),
        ("help", help(&metrics, A::NAME), 0o644),
        ("Install", script::<A>(&metrics, "pmdaInstall"), 0o755),
        ("Remove", script::<A>(&metrics, "pmdaRemove"), 0o755),
    ];
    let one = |(name, text, mode): (&str, String, u32)| -> io::Result<()> {
        // Root may be told to write to another user's directory: no link there is followed.
        let mut file = entry(&directory.join(name))?.replace(mode)?;
        file.write_all(text.as_bytes())?;
        file.set_permissions(Permissions::from_mode(mode))
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

/// The name of the domain in the other files.
fn domain_name(name: &str) -> String {
    name.to_ascii_uppercase()
}

fn domain<S>(metrics: &Metrics<S>, name: &str) -> String {
    format!("#define {} {}\n", domain_name(name), metrics.domain)
}

fn root<S>(metrics: &Metrics<S>) -> String {
    let name = metrics.root();
    // A name that the agent answers for is no node of its own: it stands within the root.
    let names = if metrics.are_dynamic() {
        "root {\n#include \"pmns\"\n}\n".to_owned()
    } else {
        format!("root {{ {name} }}\n\n#include \"pmns\"\n")
    };
    format!("/* The names of {name} alone, to be checked. */\n#include \"domain.h\"\n\n{names}")
}

/// The names below one: metrics with their numbers, and branches.
#[derive(Default)]
struct Node<'m> {
    number: Option<(u32, u32)>,
    below: BTreeMap<&'m str, Node<'m>>,
    /// In the order of their declaration.
    order: Vec<&'m str>,
}

/// The name space. An agent whose metrics come and go answers for its names itself.
fn names<S>(metrics: &Metrics<S>, agent: &str) -> String {
    let name = metrics.root();
    let domain = domain_name(agent);
    if metrics.are_dynamic() {
        return format!("{name}\t{domain}:*:*\n");
    }
    let mut root = Node::default();
    for metric in metrics.declared() {
        let mut node = &mut root;
        for part in metric.name.split('.') {
            if !node.below.contains_key(part) {
                node.order.push(part);
            }
            node = node.below.entry(part).or_default();
        }
        node.number = Some((metric.cluster, metric.item));
    }
    let mut text = String::new();
    level(&mut text, name, &domain, &root);
    text
}

fn level(text: &mut String, name: &str, domain: &str, node: &Node<'_>) {
    let separator = if text.is_empty() { "" } else { "\n" };
    let _ = writeln!(text, "{separator}{name} {{");
    let below = || node.order.iter().filter_map(|part| Some((part, node.below.get(part)?)));
    for (part, child) in below() {
        let _ = match child.number {
            Some((cluster, item)) => writeln!(text, "    {part}\t{domain}:{cluster}:{item}"),
            None => writeln!(text, "    {part}"),
        };
    }
    text.push_str("}\n");
    for (part, child) in below().filter(|(_, child)| child.number.is_none()) {
        level(text, &format!("{name}.{part}"), domain, child);
    }
}

/// The help texts in `newhelp`'s format, for people: pmcd asks the agent.
fn help<S>(metrics: &Metrics<S>, agent: &str) -> String {
    // newhelp would look for names that only the agent knows.
    if metrics.are_dynamic() {
        return "# The names come and go: the agent itself has the texts.\n".to_owned();
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
    for metric in metrics.declared() {
        add(format!("{}.{}", metrics.root(), metric.name), metric.help);
    }
    text
}

fn script<A: Agent>(metrics: &Metrics<A>, action: &str) -> String {
    let name = A::NAME;
    let protocol = if A::NOT_READY {
        "ipc_prot=\"binary notready\"\n"
    } else {
        ""
    };
    // pmdaproc.sh takes the agent's name for that of the tree, unless it is told another one.
    let root = match metrics.root() {
        root if root == name => String::new(),
        root => format!("pmns_name={root}\n"),
    };
    format!(
        "#! /bin/sh\n. \"$PCP_DIR/etc/pcp.env\"\n. \"$PCP_SHARE_DIR/lib/pmdaproc.sh\"\n\n# For pmdaproc.sh.\n# shellcheck disable=SC2034\niam={name}\n{root}{protocol}\npmdaSetup\n{action}\nexit\n"
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{chown, symlink};

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
        let text = script::<Slow>(&Metrics::of(&env.without_files(), Slow::metrics), "pmdaInstall");
        assert!(
            text.contains("\niam=slow\nipc_prot=\"binary notready\"\n\npmdaSetup\npmdaInstall\n"),
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
        let place = directory.path().join("tree");
        let env = Env::in_folder(Tree::NAME, Tree::DOMAIN, directory.path());
        assert_eq!(write::<Tree>(&place, &env), ExitCode::SUCCESS);
        let read = |name: &str| fs::read_to_string(place.join(name)).expect("written");
        assert_eq!(read("domain.h"), "#define TREE 77\n");
        assert!(read("root").contains("#include \"domain.h\"\n\nroot { tree }\n"));
        assert_eq!(
            read("pmns"),
            "tree {\n    b\n    a\tTREE:0:1\n}\n\ntree.b {\n    y\tTREE:0:0\n    x\n}\n\ntree.b.x {\n    z\tTREE:0:7\n}\n"
        );
        assert_eq!(
            read("help"),
            "@ tree.b.y One line\n @ more\ntext\n\n@ tree.a A\n\n@ tree.b.x.z Z\n\n"
        );
        assert!(read("Install").contains("\niam=tree\n\npmdaSetup\npmdaInstall\n"));
        let mode = fs::metadata(place.join("Remove"))
            .expect("written")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o755);
    }

    /// In another user's directory root follows no links, neither in the place of a file nor of a
    /// directory.
    #[test]
    fn links_of_others() {
        if !nix::unistd::geteuid().is_root() {
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
        assert!(read("Install").contains("\niam=rooted\npmns_name=other\n\npmdaSetup\n"));
        assert_eq!(write::<Rooted>(directory.path(), &env("a.b")), ExitCode::FAILURE);
    }
}
