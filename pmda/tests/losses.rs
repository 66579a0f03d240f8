//! What cannot be shown costs nothing else, and is reported: by a `Problem`, or by one line in the
//! log.

#![forbid(unsafe_code)]

use pmda::prelude::*;
use pmda::testing::Harness;
use pmda::{IndomRef, Problem};

type Step = Box<dyn FnMut(&mut Metrics<Tagged>)>;

/// An agent that gives its instances labels from tags of users.
struct Tagged {
    rows: Indom<&'static str>,
    /// What is declared for each request.
    step: Option<Step>,
}

impl Agent for Tagged {
    const NAME: &'static str = "tagged";
    const DOMAIN: u32 = 247;

    fn start(_: &Env) -> Result<Tagged> {
        let rows = Indom::fixed([("a", "ok"), ("b", "0k"), ("c", "no blanks"), ("d", "ok2")]);
        Ok(Tagged { rows, step: None })
    }

    fn metrics(m: &mut Metrics<Tagged>) {
        let rows = m.indom(0, "Rows", |s| &mut s.rows);
        m.instance_labels(rows, |name, tag| Labels::new().add("name", name).add(tag, f64::NAN));
        m.each_text("tag", rows, |tag| tag);
    }

    fn dynamic(&mut self, m: &mut Metrics<Tagged>, _: &Request<'_>) -> Result<()> {
        if let Some(mut step) = self.step.take() {
            step(m);
            self.step = Some(step);
        }
        Ok(())
    }
}

fn tagged() -> Harness<Tagged> {
    Harness::new().expect("it starts")
}

/// Declares something in each of three requests.
fn each_time(pmcd: &mut Harness<Tagged>, step: impl FnMut(&mut Metrics<Tagged>) + 'static) -> Result<()> {
    pmcd.agent().step = Some(Box::new(step));
    for _ in 0..3 {
        pmcd.fetch("tagged.tag")?;
    }
    Ok(())
}

#[test]
fn labels_of_instances() -> Result<()> {
    let mut pmcd = tagged();
    for _ in 0..3 {
        let labels: Vec<String> = pmcd
            .instance_labels("tagged.tag")?
            .into_iter()
            .map(|(_, labels)| labels)
            .collect();
        let expected = [
            r#"{"name":"a","ok":"NaN"}"#,
            r#"{"name":"b"}"#,
            r#"{"name":"c"}"#,
            r#"{"name":"d","ok2":"NaN"}"#,
        ];
        assert_eq!(labels, expected);
    }
    let log = pmcd.log();
    assert_eq!(log.lines().count(), 1, "{log}");
    let line = r#"Warning: instance "b" of instance domain 0: label "0k": a name is made of parts"#;
    assert!(log.starts_with(line), "{log}");
    Ok(())
}

#[test]
fn labels_of_agents_clusters_and_domains() -> Result<()> {
    let mut pmcd = tagged();
    let bad = || Labels::new().add("0k", 1).add("good", true);
    each_time(&mut pmcd, move |m| {
        m.set_labels(bad()).set_cluster_labels(bad());
        let rows: IndomRef<Tagged, &'static str> = m.find_indom(0).expect("declared");
        m.set_indom_labels(rows, bad()).indom_label(rows, "0k", "no");
    })?;
    assert_eq!(pmcd.labels("tagged.tag")?, r#"{"agent":"tagged","good":true}"#);
    let log = pmcd.log();
    for of in ["the agent", "cluster 0", "instance domain 0"] {
        let line = format!("Error: {of}: label \"0k\"");
        assert_eq!(log.matches(&line).count(), 1, "{log}");
    }
    Ok(())
}

/// The label that every agent has is one of its set: what the set has no room for is reported, and the
/// others are shown.
#[test]
fn a_full_set_of_the_agent() -> Result<()> {
    let mut pmcd = tagged();
    each_time(&mut pmcd, |m| {
        m.set_labels((0..255).map(|number| (format!("n{number}"), number)).collect());
    })?;
    let labels = pmcd.labels("tagged.tag")?;
    assert!(
        labels.starts_with(r#"{"agent":"tagged","n0":0,"#) && labels.contains(r#""n253":253"#),
        "{labels}"
    );
    let log = pmcd.log();
    let line = "Error: the agent: label \"n254\": a set has at most 255 labels";
    assert!(log.starts_with(line) && log.lines().count() == 1, "{log}");
    Ok(())
}

/// What is wrong again and again, in other words each time, has some lines of the log and no more.
#[test]
fn labels_that_are_wrong_in_many_ways() -> Result<()> {
    let mut pmcd = tagged();
    let mut count = 0;
    pmcd.agent().step = Some(Box::new(move |m: &mut Metrics<Tagged>| {
        for _ in 0..10 {
            count += 1;
            m.cluster_label(format!("{count}"), 1);
            m.value("x", |_| 1).label(format!("{count}"), 1);
        }
    }));
    for _ in 0..3 {
        pmcd.fetch("tagged.tag")?;
    }
    let log = pmcd.log();
    for of in ["cluster 0", "metric x"] {
        let count = log.matches(&format!("Error: {of}: label ")).count();
        assert_eq!(count, 8, "{log}");
    }
    Ok(())
}

/// A metric is declared where it should be, or not at all.
#[test]
fn places_that_do_not_exist() -> Result<()> {
    let mut pmcd = tagged();
    each_time(&mut pmcd, |m| {
        let said = |problem: std::result::Result<_, Problem>| problem.map_err(|problem| problem.to_string());
        m.cluster(4096).cluster_label("a", "b").refresh(|_, _| Ok(()));
        m.indom(7, "Nowhere", |s| &mut s.rows);
        let declared = said(m.value("x", |_| 1).declare());
        let problem = "metric x: cluster 4096: the last possible one is 4095";
        assert_eq!(declared, Err(problem.to_owned()));
        m.value("y", |_| 1);
        let declared = said(m.cluster(5).numbered_by(0).value("z", |_| 1).declare());
        let problem = "metric z: the numbers of metrics cannot be in instance domain 0";
        assert_eq!(declared, Err(problem.to_owned()));
        assert!(m.cluster(6).has("there") || m.value("there", |_| 1).declare().is_ok());
    })?;
    assert_eq!(pmcd.names()?, ["tagged.tag", "tagged.there"]);
    let log = pmcd.log();
    assert_eq!(log.matches("Error: metric y: cluster 4096").count(), 1, "{log}");
    Ok(())
}

#[test]
fn domains_that_do_not_exist() -> Result<()> {
    let mut pmcd = tagged();
    each_time(&mut pmcd, |m| {
        let gone = m.indom(1, "Gone", |s| &mut s.rows);
        assert!(m.remove_indom(1));
        m.indom_label(gone, "a", "b")
            .set_indom_help(gone, "x")
            .instance_labels(gone, |_, _| Labels::new());
    })?;
    assert_eq!(pmcd.log(), "Error: instance domain 1 is not declared\n");
    Ok(())
}

/// An agent whose static declarations are wrong.
struct Wrong;

impl Agent for Wrong {
    const NAME: &'static str = "wrong";
    const DOMAIN: u32 = 246;

    fn start(_: &Env) -> Result<Wrong> {
        Ok(Wrong)
    }

    fn metrics(m: &mut Metrics<Wrong>) {
        m.cluster(4096).value("x", |_| 1);
    }
}

#[test]
fn a_wrong_place_from_the_start() {
    assert_eq!(Harness::<Wrong>::new().err(), Some(Error::EINVAL));
}
