//! `--check`: what is wrong with an agent's declarations.

use std::process::ExitCode;

use crate::metrics::{help_parts, is_name};
use crate::{Agent, Declared, Env, Metrics, Semantics, Type, Unit};

/// Maximum length of the one-line text: PCP's tools print it behind the name.
const LINE_MAX: usize = 120;

/// What is wrong with declarations, in words.
#[derive(Default, PartialEq, Eq, Debug)]
struct Findings {
    /// The agent does not start, or its metrics are not what they say.
    errors: Vec<String>,
    /// People miss something, or tools do not show it well.
    warnings: Vec<String>,
}

/// Prints what is wrong, one a line, and fails if there are errors.
pub(crate) fn check<A: Agent>() -> ExitCode {
    let Findings { errors, warnings } = findings::<A>();
    for line in &errors {
        println!("{}: {line}", A::NAME);
    }
    for line in warnings {
        println!("{}: warning: {line}", A::NAME);
    }
    if errors.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn findings<A: Agent>() -> Findings {
    let env = Env::installed(A::NAME, A::DOMAIN, false).without_files();
    let root = A::root(&env);
    let is_root = root.is_empty() || is_name(&root);
    let problem = (!is_root).then(|| format!("\"{root}\" is not a name that metrics can be below"));
    let metrics = Metrics::of(&env.with_root(root), A::metrics);
    let mut errors = metrics.problems().to_vec();
    errors.extend(problem);
    if A::NAME.contains('.') || !is_name(A::NAME) {
        errors.push(format!("\"{}\" is not a name for an agent", A::NAME));
    }
    if !(1..=510).contains(&A::DOMAIN) {
        errors.push(format!("domain {} is not between 1 and 510", A::DOMAIN));
    }
    let mut warnings = Vec::new();
    for metric in metrics.declared() {
        errors.extend(semantics(&metric).map(|what| format!("{}: {what}", metric.name)));
        warnings.extend(texts(metric.help).map(|what| format!("{}: {what}", metric.name)));
    }
    for indom in metrics.declared_indoms() {
        warnings.extend(texts(indom.help).map(|what| format!("instance domain {}: {what}", indom.serial)));
    }
    Findings { errors, warnings }
}

/// Checks a help text.
fn texts(help: &str) -> Option<&'static str> {
    match help_parts(help).0 {
        "" => Some("no help text"),
        line if line.chars().count() > LINE_MAX => Some("the one-line help text is longer than 120 characters"),
        _ => None,
    }
}

/// Checks type, semantics and unit.
fn semantics(metric: &Declared<'_>) -> Option<&'static str> {
    let is_number = !matches!(
        metric.kind,
        Type::String | Type::Aggregate | Type::Event | Type::HighresEvent | Type::NoSupport
    );
    if is_number {
        return None;
    }
    if metric.semantics == Semantics::Counter {
        return Some("only numbers can be counters");
    }
    (metric.unit != Unit::NONE).then_some("only numbers have a unit")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

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
        let found = findings::<Wrong>();
        assert_eq!(
            found.errors,
            [
                "metric \"two words\": a name is made of parts between dots, each a letter and then letters, digits and underscores",
                "metrics silent and again both have the number 0.0",
                "metric silent is declared twice",
                "domain 511 is not between 1 and 510",
                "state: only numbers can be counters",
                "size: only numbers have a unit",
            ]
        );
        assert_eq!(
            found.warnings,
            ["silent: no help text", "instance domain 0: no help text"]
        );
        assert_eq!(check::<Wrong>(), ExitCode::FAILURE);
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
        assert_eq!(findings::<Right>(), Findings::default());
        assert_eq!(check::<Right>(), ExitCode::SUCCESS);
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
        assert_eq!(findings::<Silent>().warnings, ["one: no help text"]);
        assert_eq!(check::<Silent>(), ExitCode::SUCCESS);
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
        let found = findings::<Rootless>();
        assert_eq!(
            found.errors,
            ["metric alone: the agent has several roots, so a name is a root, a dot and the rest"]
        );
        assert_eq!(found.warnings, [""; 0]);
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
        let found = findings::<Misrooted>();
        assert_eq!(found.errors, ["\"a..b\" is not a name that metrics can be below"]);
    }
}
