//! A host with one of the agents: private directories, the documents as sources, a pmcd.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use pcp_pmda_test::Library;
use pcp_pmda_test::pcp::{self, Environment, Pmcd};

/// Which agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// PCP's own.
    Python,
    /// The one of this package.
    Ours,
}

/// A document of `tests/documents`.
#[derive(Clone, Debug)]
pub struct Document {
    /// The name of its source.
    pub name: String,
    file: PathBuf,
}

impl Document {
    fn beside(&self, suffix: &str) -> Option<String> {
        fs::read_to_string(self.file.with_extension(suffix)).ok()
    }

    /// The document that follows, if there is one.
    pub fn then(&self) -> Option<String> {
        self.beside("then")
    }
}

/// All documents, by name.
pub fn documents() -> Vec<Document> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/documents");
    let entries = fs::read_dir(folder).expect("documents").flatten();
    let mut found: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|suffix| suffix == "txt"))
        .map(|file| Document {
            name: file.file_stem().expect("a name").to_string_lossy().into_owned(),
            file,
        })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// Sources that are no documents: scripts, folders, and what is passed over or fails.
const SCRIPTS: [(&str, &str); 9] = [
    ("script.sh", "echo 'load {interval=\"1\"} 0.5'; echo 'arguments '$#"),
    ("folder/below/it.x.sh", "echo 'a 1'"),
    (".folder/hidden.sh", "echo 'a 1'"),
    (".hidden.sh", "echo 'a 1'"),
    ("bad-name.sh", "echo 'a 1'"),
    ("control.sh", "echo 'a 1'"),
    ("no_suffix", "echo 'a 1'"),
    ("failing.sh", "echo 'a 1'; exit 3"),
    ("twice.sh", "echo 'a 1'"),
];

/// Names of sources beside the documents, for questions; of one with many metrics the first, the
/// last, and one that it may not have.
pub const OTHERS: [&str; 9] = [
    "script",
    "folder.below.it.x",
    "no_suffix",
    "failing",
    "twice",
    "missing",
    "many.m0",
    "many.m1023",
    "many.m1024",
];

/// A host with one of the agents.
pub struct Host {
    environment: Rc<Environment>,
    which: Which,
    /// The root of the names.
    root: &'static str,
    /// The agent's own variables of the environment, each `NAME=VALUE`.
    variables: Vec<String>,
}

impl Host {
    /// A host without sources.
    pub fn new(test: &str, which: Which) -> Host {
        let environment = Environment::new(&format!("openmetrics-{test}-{which:?}"), Library::C);
        let host = Host {
            environment: Rc::new(environment),
            which,
            root: "openmetrics",
            variables: Vec::new(),
        };
        fs::create_dir_all(host.at("pages")).expect("target is writable");
        fs::create_dir_all(host.at("sources")).expect("target is writable");
        host
    }

    /// A host with all documents, and with sources that are none.
    pub fn with_documents(test: &str, which: Which) -> Host {
        let host = Host::new(test, which);
        for document in documents() {
            let text = fs::read(&document.file).expect("a document");
            fs::write(host.page(&document.name), text).expect("target is writable");
            let url = format!(
                "file://{}\n{}",
                host.page(&document.name).display(),
                document.beside("url").unwrap_or_default()
            );
            host.source(&format!("{}.url", document.name), &url, 0o644);
        }
        for (name, script) in SCRIPTS {
            host.source(name, &format!("#!/bin/sh\n{script}\n"), 0o755);
        }
        host.source("twice.url", "file:///none\n", 0o644);
        host.source("missing.url", "file:///nonexistent\n", 0o644);
        host.source("README", "nothing", 0o644);
        let many: String = (0..1030).map(|number| format!("m{number} {number}\n")).collect();
        host.add_document("many", &many);
        host
    }

    /// The same host with another agent.
    pub fn with(&self, which: Which) -> Host {
        Host {
            environment: Rc::clone(&self.environment),
            which,
            root: self.root,
            variables: self.variables.clone(),
        }
    }

    /// The same host with another root of the names.
    pub fn named(self, root: &'static str) -> Host {
        Host { root, ..self }
    }

    /// The same host with a variable of the environment for the agent.
    pub fn with_variable(mut self, name: &str, value: &str) -> Host {
        self.variables.push(format!("{name}={value}"));
        self
    }

    /// A file beside the sources.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.at(name);
        fs::write(&path, text).expect("target is writable");
        path
    }

    fn at(&self, name: &str) -> PathBuf {
        self.environment.directory.join(name)
    }

    /// The file of a document.
    pub fn page(&self, name: &str) -> PathBuf {
        self.at("pages").join(format!("{name}.txt"))
    }

    fn source(&self, name: &str, text: &str, mode: u32) {
        let file = self.source_file(name);
        fs::create_dir_all(file.parent().expect("below the folder")).expect("target is writable");
        fs::write(&file, text).expect("target is writable");
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("our own file");
    }

    /// The file of a source.
    pub fn source_file(&self, name: &str) -> PathBuf {
        self.at("sources").join(name)
    }

    /// Adds or changes a source with this document.
    pub fn add_document(&self, name: &str, text: &str) {
        fs::write(self.page(name), text).expect("target is writable");
        self.point_to(name, name);
    }

    /// Adds a source with this text of its file.
    pub fn add_url(&self, name: &str, text: &str) {
        self.source(&format!("{name}.url"), text, 0o644);
    }

    /// Adds a source that is a script.
    pub fn add_script(&self, file: &str, commands: &str) {
        self.source(file, &format!("#!/bin/sh\n{commands}\n"), 0o755);
    }

    /// Lets the source have the document of another.
    pub fn point_to(&self, name: &str, other: &str) {
        let url = format!("file://{}\n", self.page(other).display());
        self.add_url(name, &url);
    }

    /// Takes the file of a source away.
    pub fn remove_source(&self, file: &str) {
        fs::remove_file(self.source_file(file)).expect("it was there");
    }

    /// Takes a document away.
    pub fn remove_document(&self, name: &str) {
        fs::remove_file(self.page(name)).expect("it was there");
    }

    /// Replaces documents by those that follow.
    pub fn change_documents(&self) {
        for document in documents() {
            if let Some(text) = document.then() {
                fs::write(self.page(&document.name), text).expect("target is writable");
            }
        }
    }

    /// How the agent is started.
    pub fn command(&self) -> String {
        let program = match self.which {
            Which::Python => {
                let script = pcp::agent("openmetrics").join("pmdaopenmetrics.python");
                format!("/usr/bin/python3 {}", script.display())
            }
            Which::Ours => format!("{} --notready", env!("CARGO_BIN_EXE_pmdaopenmetrics")),
        };
        let sources = self.at("sources");
        // The log of another root has another name.
        let root = if self.root == "openmetrics" {
            String::new()
        } else {
            format!(" -r {} -l openmetrics.log", self.root)
        };
        let variables = match self.variables.as_slice() {
            [] => String::new(),
            variables => format!("/usr/bin/env {} ", variables.join(" ")),
        };
        format!("{variables}{program} -c {}{root}", sources.display())
    }

    /// A pmcd that has started the agent, and knows that it is ready.
    pub fn pmcd(&self) -> Pmcd<'_> {
        let configuration = format!("{} 144 pipe binary notready {}\n", self.root, self.command());
        let slowly = ["-q", "60", "-t", "30"];
        let pmcd = self.environment.pmcd_with(&configuration, &self.name_space(), &slowly);
        let pmcd = pmcd.expect("pmcd starts");
        let is_described = |answer: &str| answer.contains("Data Type");
        let question = format!("{}.control.calls", self.root);
        // Interpreters start slowly on a busy machine.
        let mut attempts = (0..6).map(|_| pmcd.tool_until("pminfo", &["-d", &question], is_described));
        assert!(
            attempts.any(|attempt| attempt.is_ok()),
            "{:?} is not ready: {}\n{}",
            self.which,
            pmcd.log(),
            self.log()
        );
        drop(attempts);
        pmcd
    }

    fn name_space(&self) -> PathBuf {
        let file = self.at("root");
        fs::write(&file, format!("root {{\n\t{}\t144:*:*\n}}\n", self.root)).expect("target is writable");
        file
    }

    /// The agent's log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.at("openmetrics.log")).unwrap_or_default()
    }

    /// Runs dbpmda.
    pub fn dbpmda(&self, script: &str) -> String {
        self.environment.dbpmda(&self.name_space(), script)
    }

    /// An answer without what differs from host to host.
    pub fn steady(&self, answer: &str) -> String {
        answer
            .replace(&self.command(), "AGENT")
            .replace(&self.environment.directory.display().to_string(), "DIR")
    }

    /// The tables of names, by file name.
    pub fn tables(&self) -> BTreeMap<String, String> {
        let entries = fs::read_dir(self.at("var/config/pmda"))
            .expect("the directory of tables")
            .flatten();
        let named = entries.map(|entry| {
            let text = fs::read(entry.path()).expect("a table").escape_ascii().to_string();
            (entry.file_name().to_string_lossy().into_owned(), text)
        });
        named.collect()
    }

    /// The file of a table.
    pub fn table(&self, file: &str) -> PathBuf {
        self.at("var/config/pmda").join(file)
    }

    /// The source that a table belongs to.
    pub fn source_of_table(&self, file: &str) -> String {
        let serial: usize = file
            .split('.')
            .nth(1)
            .and_then(|serial| serial.parse().ok())
            .unwrap_or(0);
        let cluster = if serial < 4096 { serial } else { (serial - 4096) / 1024 };
        let sources = fs::read_to_string(self.at("var/config/pmda/144.0.py")).unwrap_or_default();
        let mut names = sources
            .lines()
            .filter_map(|line| line.split_once('V').map(|(_, name)| name.to_owned()));
        names.nth(cluster).unwrap_or_default()
    }
}
