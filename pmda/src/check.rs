//! `--check`: the problems of an agent's declarations, and warnings.

use std::fmt::Write;
use std::process::ExitCode;

use pmda_core::log::Counted;

use crate::agent::Agent;
use crate::env::Env;
use crate::env::pcp_setting;
use crate::metrics::Metrics;
use crate::metrics::help_parts;
use crate::pmns::cannot_write;
use crate::{logger, problems};

/// Maximum length of the one-line text: PCP's tools print it after the name.
const ONE_LINE_MAX: usize = 120;

/// The problems of declarations, in words.
#[derive(Default, PartialEq, Eq, Debug)]
pub(crate) struct Findings {
    /// The number of metrics that are declared.
    metrics: usize,
    /// The problems with which the agent does not start.
    pub errors: Vec<String>,
    /// People miss something, or tools do not show it well.
    warnings: Vec<String>,
    /// Other agents that have the domain in the installed PCP.
    pub others: Vec<String>,
}

/// Prints the problems, one a line, and fails if one of them is an error, or if nobody can be told.
pub(crate) fn check<A: Agent>(env: &Env) -> ExitCode {
    let findings = findings::<A>(env);
    let mut text = String::new();
    for line in &findings.errors {
        let _ = writeln!(text, "{}: {line}", A::NAME);
    }
    for line in findings.warnings.iter().chain(&findings.others) {
        let _ = writeln!(text, "{}: warning: {line}", A::NAME);
    }
    if text.is_empty() {
        let metrics = Counted(findings.metrics, "metric", "metrics");
        let _ = writeln!(text, "{}: {metrics}, nothing is wrong", A::NAME);
    }
    if logger::print(&text) && findings.errors.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The problems of an agent's declarations, and of its domain in an installed PCP.
pub(crate) fn findings<A: Agent>(env: &Env) -> Findings {
    let env = env.clone().with_root(A::root(env)).without_files();
    let metrics = Metrics::of(&env, A::metrics);
    let errors = problems::of::<A>(&metrics);
    let mut warnings = Vec::new();
    for metric in metrics.declared() {
        warnings.extend(texts(metric.help).map(|what| format!("{}: {what}", metric.name)));
    }
    for indom in metrics.declared_indoms() {
        warnings.extend(texts(indom.help).map(|what| format!("instance domain {}: {what}", indom.serial)));
    }
    if errors.is_empty() {
        warnings.extend(cannot_write(&metrics).map(|why| format!("--write cannot write its files: {why}")));
    }
    Findings {
        metrics: metrics.declared().count(),
        errors,
        warnings,
        others: other_agents(A::NAME, env.domain()),
    }
}

/// The agents of the installed PCP that have this domain already, by the files that say so.
fn other_agents(name: &str, domain: u32) -> Vec<String> {
    let setting = |setting: &str, default: &str| pcp_setting(setting).unwrap_or_else(|| default.to_owned());
    let configuration = setting("PCP_PMCDCONF_PATH", "/etc/pcp/pmcd/pmcd.conf");
    let numbers = setting("PCP_VAR_DIR", "/var/lib/pcp") + "/pmns/stdpmid";
    let mut agents = Vec::new();
    for (path, number_of) in [
        (configuration, configured as fn(&str) -> Option<(&str, &str)>),
        (numbers, defined),
    ] {
        // Without PCP the file is missing, and the host has no other agent.
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let other = text
            .lines()
            .filter_map(number_of)
            .find(|(other, number)| number.parse() == Ok(domain) && !other.eq_ignore_ascii_case(name));
        agents.extend(other.map(|(other, _)| {
            format!("domain {domain} is that of the agent {other} in {path}: ./Install would take its place")
        }));
    }
    agents
}

/// Name and domain in a line of `pmcd.conf`.
fn configured(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split_whitespace();
    let name = words.next().filter(|name| !name.starts_with('#'))?;
    Some((name, words.next()?))
}

/// Name and domain in a line of `stdpmid`, `#define NAME 60`.
fn defined(line: &str) -> Option<(&str, &str)> {
    let mut words = line.strip_prefix("#define")?.split_whitespace();
    Some((words.next()?, words.next()?))
}

/// Checks a help text.
fn texts(help: &str) -> Option<&'static str> {
    match help_parts(help).0 {
        "" => Some("no help text"),
        line if line.chars().count() > ONE_LINE_MAX => Some("the one-line help text is longer than 120 characters"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    fn env<A: Agent>() -> Env {
        Env::installed(A::NAME, A::DOMAIN, false)
    }

    fn findings_of<A: Agent>() -> Findings {
        findings::<A>(&env::<A>())
    }

    /// Lines of PCP's files with a name and a domain.
    #[test]
    fn domains_of_others() {
        assert_eq!(configured("linux\t60\tpipe\tbinary /a"), Some(("linux", "60")));
        assert_eq!(configured("# linux 60"), None);
        assert_eq!(configured("[access]"), None);
        assert_eq!(configured("allow \"local:*\" : all;"), Some(("allow", "\"local:*\"")));
        assert_eq!(defined("#define LINUX\t60"), Some(("LINUX", "60")));
        assert_eq!(defined("#ifndef _STDPMID"), None);
    }

    struct Wrong(Indom<u32>);

    impl Agent for Wrong {
        const NAME: &'static str = "wrong";
        const DOMAIN: u32 = 511;
        fn start(_: &Env) -> Result<Wrong> {
            Ok(Wrong(Indom::new()))
        }
        fn metrics(m: &mut Metrics<Wrong>) {
            m.indom(0, "", |s: &mut Wrong| &mut s.0);
            m.value("silent", |_| 1);
            m.value("two words", |_| 1).help("Two words");
            m.value("again", |_| 1).item(0).help("The number of another one");
            m.value("silent", |_| 1).help("The name of another one");
            m.text("state", |_| "up").counter().help("State");
            m.text("size", |_| "1").unit(BYTE).help("Size");
            m.value("good", |_| 1).unit(BYTE).help("Good\nAs it should be.");
        }
    }

    #[test]
    fn each_mistake_has_a_line() {
        let findings = findings_of::<Wrong>();
        assert_eq!(
            findings.errors,
            [
                "domain 511 is not between 1 and 510",
                "metric \"two words\": a name is made of parts between dots, each a letter and then letters, digits and underscores",
                "metrics silent and again both have the number 0.0",
                "metric silent is declared twice",
                "state: only numbers can be counters",
                "size: only numbers have a unit",
            ]
        );
        assert_eq!(
            findings.warnings,
            ["silent: no help text", "instance domain 0: no help text"]
        );
        assert_eq!(check::<Wrong>(&env::<Wrong>()), ExitCode::FAILURE);
    }

    struct Right;

    impl Agent for Right {
        const NAME: &'static str = "right";
        const DOMAIN: u32 = 400;
        fn start(_: &Env) -> Result<Right> {
            Ok(Right)
        }
        fn metrics(m: &mut Metrics<Right>) {
            m.value("silent", |_| 1).help("Not silent");
        }
    }

    #[test]
    fn nothing_is_wrong() {
        let findings = findings_of::<Right>();
        assert_eq!(
            (findings.metrics, findings.errors, findings.warnings),
            (1, vec![], vec![])
        );
        assert_eq!(check::<Right>(&env::<Right>()), ExitCode::SUCCESS);
    }

    /// A warning is no failure.
    struct Silent;

    impl Agent for Silent {
        const NAME: &'static str = "silent";
        const DOMAIN: u32 = 400;
        fn start(_: &Env) -> Result<Silent> {
            Ok(Silent)
        }
        fn metrics(m: &mut Metrics<Silent>) {
            m.value("one", |_| 1);
        }
    }

    #[test]
    fn warnings() {
        assert_eq!(findings_of::<Silent>().warnings, ["one: no help text"]);
        assert_eq!(check::<Silent>(&env::<Silent>()), ExitCode::SUCCESS);
    }

    struct Rootless;

    impl Agent for Rootless {
        const NAME: &'static str = "rootless";
        const DOMAIN: u32 = 500;
        fn root(_: &Env) -> String {
            String::new()
        }
        fn start(_: &Env) -> Result<Rootless> {
            Ok(Rootless)
        }
        fn metrics(m: &mut Metrics<Rootless>) {
            m.value("alone", |_| 1).help("No root");
            m.value("one.two", |_| 1).help("A root");
        }
    }

    #[test]
    fn names_without_a_root() {
        let findings = findings_of::<Rootless>();
        assert_eq!(
            findings.errors,
            ["metric alone: the agent has several roots, so a name is a root, a dot and the rest"]
        );
        assert_eq!(findings.warnings, [""; 0]);
    }

    struct Misrooted;

    impl Agent for Misrooted {
        const NAME: &'static str = "misrooted";
        const DOMAIN: u32 = 500;
        fn root(_: &Env) -> String {
            "a..b".to_owned()
        }
        fn start(_: &Env) -> Result<Misrooted> {
            Ok(Misrooted)
        }
        fn metrics(m: &mut Metrics<Misrooted>) {
            m.value("one", |_| 1).help("One");
        }
    }

    #[test]
    fn a_root_that_is_no_name() {
        let findings = findings_of::<Misrooted>();
        assert_eq!(findings.errors, ["\"a..b\" is not a name that metrics can be below"]);
    }
}
