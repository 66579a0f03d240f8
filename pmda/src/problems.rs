//! Problems of an agent's declarations: one list, with which the agent does not start, and which
//! `--check` and `--write` show.

use crate::agent::Agent;
use crate::env::Opt;
use crate::metrics::is_name;
use crate::metrics::{Declared, Metrics};
use crate::unit::Unit;
use crate::value::{Semantics, Type};

/// The greatest domain: it has nine bits, and the last number is that of dynamic metrics.
pub(crate) const DOMAIN_MAX: u32 = 510;

/// Every problem of the agent and of its static declarations, each in words.
pub(crate) fn of<A: Agent>(metrics: &Metrics<A>) -> Vec<String> {
    let (name, root, domain) = (A::NAME, metrics.root(), metrics.domain());
    let mut problems = Vec::new();
    if name.contains('.') || !is_name(name) {
        problems.push(format!("\"{name}\" is not a name for an agent"));
    }
    if !root.is_empty() && !is_name(root) {
        problems.push(format!("\"{root}\" is not a name that metrics can be below"));
    }
    if !(1..=DOMAIN_MAX).contains(&domain) {
        problems.push(format!("domain {domain} is not between 1 and {DOMAIN_MAX}"));
    }
    problems.extend(of_options(A::OPTIONS));
    problems.extend(metrics.problems());
    let of_kinds = metrics
        .declared()
        .filter_map(|metric| Some(format!("{}: {}", metric.name, of_kind(&metric)?)));
    problems.extend(of_kinds);
    problems
}

/// The problems of the agent's own options: names that nobody could write, or that two have.
fn of_options(options: &[Opt]) -> Vec<String> {
    let mut problems = Vec::new();
    for (index, Opt { long, short, .. }) in options.iter().enumerate() {
        let before = &options[..index];
        let is_blank = |character: char| character.is_whitespace() || character.is_control();
        if long.is_empty() || long.starts_with('-') || long.contains(is_blank) || long.contains('=') {
            problems.push(format!(
                "option \"{long}\": a name has no blanks and no =, and the hyphens in front are not part of it"
            ));
        }
        if before.iter().any(|other| other.long == *long) {
            problems.push(format!("option --{long} is there twice"));
        }
        let Some(letter) = short else { continue };
        if is_blank(*letter) || "-=".contains(*letter) {
            problems.push(format!("option --{long}: {letter:?} cannot be its letter"));
        }
        if let Some(other) = before.iter().find(|other| other.short == *short) {
            problems.push(format!(
                "options {:?} and {long:?} both have the letter {letter}",
                other.long
            ));
        }
    }
    problems
}

/// The problem of a metric whose semantics or unit does not fit its type.
fn of_kind(metric: &Declared<'_>) -> Option<&'static str> {
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
    use std::process::ExitCode;
    use std::time::Duration;

    use crate::check::{check, findings};
    use crate::prelude::*;
    use crate::session::Session;
    use crate::write::{files, write};

    /// Has a problem of each kind.
    struct Wrong(Indom<u32>, Indom<String>);

    impl Agent for Wrong {
        const NAME: &'static str = "wrong.name";
        const DOMAIN: u32 = 511;
        const OPTIONS: &'static [Opt] = &[
            Opt::new("--file").short('f'),
            Opt::new("quick").short('f'),
            Opt::new("quick").short('-'),
        ];
        fn root(_: &Env) -> String {
            "a..b".to_owned()
        }
        fn start(_: &Env) -> Result<Wrong> {
            Ok(Wrong(Indom::new(), Indom::new()))
        }
        fn metrics(m: &mut Metrics<Wrong>) {
            let rows = m.indom(0, "", |s| &mut s.0);
            m.value("silent", |_| 1);
            m.value("two words", |_| 1);
            m.value("again", |_| 1).item(0);
            m.value("silent", |_| 1);
            m.value("silent.below", |_| 1);
            m.value("late", |_| 1).item(1024);
            m.value("labelled", |_| 1).label("1", "a name that is none");
            m.value_as("events", Type::Event, |_, _| Ok(Atom::None));
            m.text("state", |_| "up").counter();
            m.text("size", |_| "1").unit(BYTE);
            let again = m.indom(0, "Again", |s| &mut s.1);
            m.each_text("other", again, |row| row);
            m.indom(1 << 22, "Late", |s| &mut s.0);
            m.each("one", rows, |row| *row).help("One");
            m.dynamic_names_below("silent.names").dynamic_names_below("two words");
            m.numbered_by(0).value("unnumbered", |_| 1);
            m.cluster(4096).value("lost", |_| 1);
            m.problem("a file is not there");
            let (short, long) = (Duration::from_secs(1), Duration::from_secs(20));
            m.background("exchanged").every(long).expires_after(short);
            m.background("right").every(short).expires_after(long);
            m.background("for ever").every(short);
            m.background("again").every(short).expires_after(short);
            m.background("again");
            m.background("never");
            m.cluster(2).refresh_with(0);
        }
    }

    /// The start, `--check` and `--write` say the same problems, and all of them.
    #[test]
    fn said_by_all() {
        let directory = tempfile::tempdir().expect("a directory");
        let env = Env::in_folder(Wrong::NAME, Wrong::DOMAIN, directory.path());
        let expected = [
            "\"wrong.name\" is not a name for an agent",
            "\"a..b\" is not a name that metrics can be below",
            "domain 511 is not between 1 and 510",
            "option \"--file\": a name has no blanks and no =, and the hyphens in front are not part of it",
            "options \"--file\" and \"quick\" both have the letter f",
            "option --quick is there twice",
            "option --quick: '-' cannot be its letter",
            "metric \"two words\": a name is made of parts between dots, each a letter and then letters, digits and underscores",
            "metrics silent and again both have the number 0.0",
            "metric silent is declared twice",
            "metric silent.below cannot be beside metric silent: one would be below the other",
            "metric late: item 1024 is too great, the last possible one is 1023",
            "metric labelled: label \"1\": a name is made of parts between dots, each a letter and then letters, digits and underscores, of 254 bytes at most",
            "metric events: type Event has no values of its own: see Metrics::events",
            "instance domain 0 is declared twice",
            "metric other: instance domain 0 is not declared, or has other rows",
            "instance domain 4194304: the last possible one is 4194303",
            "metric silent: no name can be below a metric, so names below silent.names cannot be dynamic",
            "names below \"two words\": a name is made of parts between dots, each a letter and then letters, digits and underscores",
            "the numbers of metrics cannot be in instance domain 0",
            "metric unnumbered: the numbers of metrics cannot be in instance domain 0",
            "cluster 4096: the last possible one is 4095",
            "metric lost: cluster 4096: the last possible one is 4095",
            "a file is not there",
            "background \"again\" is declared twice",
            "background \"exchanged\": a value expires after 1s, before the next one is read after 20s",
            "background \"for ever\": its values do not expire: see Schedule::expires_after",
            "background \"never\": it has no interval: see Schedule::every",
            "cluster 2 is read with cluster 0, which has no refresh",
            "state: only numbers can be counters",
            "size: only numbers have a unit",
        ];
        assert_eq!(findings::<Wrong>(&env).errors, expected);
        assert_eq!(check::<Wrong>(&env), ExitCode::FAILURE);
        let target = directory.path().join("files");
        assert_eq!(write::<Wrong>(&target, &env), ExitCode::FAILURE);
        let refused = files::<Wrong>(&env, findings::<Wrong>(&env).errors).err();
        assert_eq!(refused, Some(expected.map(str::to_owned).to_vec()));
        assert!(!target.exists());
        let error = Session::<Wrong>::start(&env).expect_err("it has problems");
        let text = crate::logger::describe(&error);
        assert_eq!(text, expected.join("; ") + ": Invalid argument");
    }
}
