//! The agents, built, and where they are.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use pcp_pmda_test::pcp::{self, Environment};
use pcp_pmda_test::{Library, profile_dir, root, run::Outcome};

/// The programs of the workspace that are agents, `pmda` not in front.
const AGENTS: [&str; 9] = [
    "failing", "hanging", "load", "mounts", "sample", "simple", "staying", "tasks", "ticking",
];

/// Builds all of them once: cargo builds no other member's programs for a test. As part of the
/// whole workspace, since cargo would compile what they depend on once more for their own packages,
/// with fewer features.
static BUILT: LazyLock<()> = LazyLock::new(|| {
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .current_dir(root())
        .args(["build", "--quiet", "--offline", "--locked", "--workspace", "--examples"]);
    if profile_dir().ends_with("release") {
        cargo.arg("--release");
    }
    for agent in AGENTS {
        cargo.args(["--bin", &format!("pmda{agent}")]);
    }
    assert!(cargo.status().expect("cargo is there").success());
});

/// Lets a command of an author run outside of the workspace: with the crates that cargo has
/// downloaded, and a target folder of its own. What several authors need is compiled once for all
/// (since Rust 1.91; an older cargo compiles it for each).
pub fn as_author(command: &mut Command) {
    let below_home = |folder| Some(Path::new(&env::var_os("HOME")?).join(folder));
    // The author may have another home.
    for (variable, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        let is_there = |folder: &PathBuf| folder.exists();
        let found = env::var_os(variable).map(PathBuf::from);
        if let Some(folder) = found.or_else(|| below_home(folder).filter(is_there)) {
            command.env(variable, folder);
        }
    }
    command
        .env("CARGO_NET_OFFLINE", "true")
        .env("CARGO_BUILD_BUILD_DIR", profile_dir().join("test-authors"))
        .env_remove("CARGO_TARGET_DIR");
}

/// The daemon of an agent.
pub fn daemon(name: &str) -> PathBuf {
    LazyLock::force(&BUILT);
    profile_dir().join(format!("pmda{name}"))
}

/// The program of an example of `pmda` that is one file.
pub fn example(name: &str) -> PathBuf {
    LazyLock::force(&BUILT);
    profile_dir().join("examples").join(name)
}

/// The shared object of an agent, which cargo makes with the library that its program is built on.
pub fn object(name: &str) -> PathBuf {
    LazyLock::force(&BUILT);
    profile_dir().join(format!("deps/libpmda_{name}.so"))
}

/// A private PCP in which the agents have a folder of their own, with a name space of these agents
/// as `--write` has made it.
pub fn environment(test: &str, agents: &[&str]) -> (Environment, PathBuf) {
    environment_on(Library::C, test, agents)
}

/// The same with one of the two libraries under pmcd, dbpmda and agents in C.
pub fn environment_on(library: Library, test: &str, agents: &[&str]) -> (Environment, PathBuf) {
    let name = format!("agents_in_rust/{test}/{library:?}");
    let mut environment = Environment::with(&name, library.directory());
    let folder = environment.directory.join("pmdas");
    environment
        .variables
        .push(("PCP_PMDAS_DIR", folder.display().to_string()));
    let mut names = format!("root {{ {} }}\n", agents.join(" "));
    for agent in agents {
        let own = folder.join(agent);
        let written = environment.run(daemon(agent), &["--write", &own.display().to_string()]);
        assert_eq!(pcp::text(&written), "[exit 0]\n");
        let domain = std::fs::read_to_string(own.join("domain.h")).expect("written");
        let words: Vec<&str> = domain.split_whitespace().collect();
        let pmns = std::fs::read_to_string(own.join("pmns")).expect("written");
        names += &pmns.replace(&format!("{}:", words[1]), &format!("{}:", words[2]));
    }
    let file = environment.directory.join("names");
    std::fs::write(&file, names).expect("target is writable");
    if agents.contains(&"simple") {
        std::fs::write(folder.join("simple/simple.conf"), "sec,min,hour\n").expect("target is writable");
    }
    (environment, file)
}

/// The output of a program, and its end.
pub fn text(outcome: &Outcome) -> String {
    pcp::text(outcome)
}
