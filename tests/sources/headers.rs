//! The installed headers and ours, as the compiler sees them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use pcp_pmda_test::{profile_dir, root};

/// Our headers.
pub const HEADERS: [&str; 2] = ["pmda.h", "pmdaroot.h"];

/// The line before it.
pub const PMAPI: &str = "#include <pcp/pmapi.h>\n";
/// All that is tested.
pub const INCLUDES: &str = "#include <pcp/pmapi.h>\n#include <pcp/pmda.h>\n#include <pcp/pmdaroot.h>\n";

/// Whose headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Headers {
    /// The headers of the package.
    Installed,
    /// Ours, in front of those.
    Ours,
}

impl Headers {
    pub fn arguments(self) -> Vec<String> {
        match self {
            Headers::Installed => vec![],
            Headers::Ours => vec![format!("-I{}", root().join("include").display())],
        }
    }
}

/// A private file of one test.
pub fn file(name: &str) -> PathBuf {
    let folder = profile_dir().join("test-header");
    fs::create_dir_all(&folder).expect("target is writable");
    folder.join(name)
}

/// Compiles a text with these headers.
pub fn compile(compiler: &str, headers: Headers, name: &str, text: &str, arguments: &[&str]) -> Output {
    let source = file(&format!("{headers:?}-{name}"));
    fs::write(&source, text).expect("target is writable");
    Command::new(compiler)
        .args(headers.arguments())
        .args(arguments)
        .arg(&source)
        .output()
        .expect("a compiler is installed")
}

/// The output of a program that must succeed.
pub fn succeeds(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Compiles and runs a program; gives what it prints.
pub fn run(headers: Headers, name: &str, text: &str) -> String {
    let program = file(&format!("{headers:?}-{name}.run"));
    let place = program.display().to_string();
    succeeds(&compile(
        "gcc",
        headers,
        name,
        text,
        &["-std=c11", "-Wall", "-Wextra", "-Werror", "-o", &place],
    ));
    succeeds(&Command::new(program).output().expect("a program that was just made"))
}

/// The functions that the headers declare, with gcc's own view of their prototypes.
pub fn prototypes(headers: Headers) -> BTreeMap<String, String> {
    let list = file(&format!("{headers:?}.aux"));
    let place = list.display().to_string();
    succeeds(&compile(
        "gcc",
        headers,
        "aux.c",
        INCLUDES,
        &["-fsyntax-only", "-aux-info", &place],
    ));
    let text = fs::read_to_string(list).expect("gcc has written it");
    let lines = text
        .lines()
        .filter_map(|line| line.strip_prefix("/* ")?.split_once(" */ "));
    let ours = lines.filter(|(place, _)| HEADERS.iter().any(|header| place.contains(&format!("/pcp/{header}:"))));
    ours.map(|(_, prototype)| {
        let name = prototype
            .split(" (")
            .next()
            .expect("a function")
            .rsplit([' ', '*'])
            .next();
        (name.expect("a name").to_owned(), prototype.to_owned())
    })
    .collect()
}

/// The macros that the headers define beyond pmapi.h, with their parameters, and what they stand
/// for.
pub fn macros(headers: Headers) -> BTreeMap<String, String> {
    let list = |name: &str, text: &str| {
        let output = succeeds(&compile("gcc", headers, name, text, &["-E", "-dM"]));
        output.lines().map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let before = list("before.c", &format!("{PMAPI}#include <stdarg.h>\n"));
    let all = list("macros.c", INCLUDES);
    let fresh = all.difference(&before).filter_map(|line| line.strip_prefix("#define "));
    fresh
        .map(|line| {
            // A function-like macro has its parameters, without a space, behind its name.
            let end = line.find(' ').unwrap_or(line.len());
            let (name, body) = line.split_at(end);
            (name.to_owned(), body.split_whitespace().collect::<Vec<_>>().join(" "))
        })
        .collect()
}
