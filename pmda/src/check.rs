//! `--check`: what is wrong with an agent's declarations.

use std::process::ExitCode;

use crate::metrics::{help_parts, is_name};
use crate::{Agent, Declared, Env, Metrics, Semantics, Type, Unit};

/// Maximum length of the one-line text: PCP's tools print it behind the name.
const LINE_MAX: usize = 120;

/// Prints what is wrong, one a line, and fails if there is anything.
pub(crate) fn check<A: Agent>() -> ExitCode {
    let wrong = wrong::<A>();
    for line in &wrong {
        println!("{}: {line}", A::NAME);
    }
    if wrong.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn wrong<A: Agent>() -> Vec<String> {
    let metrics = Metrics::of(&Env::installed(A::NAME, A::DOMAIN, false).without_files(), A::metrics);
    let mut wrong = metrics.problems().to_vec();
    if A::NAME.contains('.') || !is_name(A::NAME) {
        wrong.push(format!("\"{}\" is not a name for an agent", A::NAME));
    }
    if !(1..=510).contains(&A::DOMAIN) {
        wrong.push(format!("domain {} is not between 1 and 510", A::DOMAIN));
    }
    for metric in metrics.declared() {
        let of_metric = texts(metric.help).into_iter().chain(semantics(&metric));
        wrong.extend(of_metric.map(|what| format!("{}: {what}", metric.name)));
    }
    for indom in metrics.declared_indoms() {
        let of_indom = texts(indom.help).into_iter();
        wrong.extend(of_indom.map(|what| format!("instance domain {}: {what}", indom.serial)));
    }
    wrong
}

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
        Type::String | Type::Aggregate | Type::Event | Type::HighresEvent
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

    struct Wrong;

    impl Agent for Wrong {
        const NAME: &'static str = "wrong";
        const DOMAIN: u32 = 511;
        fn start(_: &Env) -> Result<Wrong> {
            Ok(Wrong)
        }
        fn metrics(m: &mut Metrics<Wrong>) {
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
        assert_eq!(
            wrong::<Wrong>(),
            [
                "metric \"two words\": a name is made of parts between dots, each a letter and then letters, digits and underscores",
                "metrics silent and again both have the number 0.0",
                "metric silent is declared twice",
                "domain 511 is not between 1 and 510",
                "silent: no help text",
                "state: only numbers can be counters",
                "size: only numbers have a unit",
            ]
        );
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
        assert_eq!(wrong::<Right>(), [""; 0]);
    }
}
