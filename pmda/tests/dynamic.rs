//! Metrics that come and go, as an agent needs them that finds its sources at run time.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use pmda::prelude::*;
use pmda::testing::Harness;
use pmda::{Problem, Unit};

/// An agent like PCP's openmetrics: each source has a cluster, each of its metrics an instance
/// domain.
struct Sources {
    sources: Indom<u64>,
    /// What the next refresh finds: sources and their metrics.
    documents: Vec<(&'static str, Vec<Definition>)>,
    metrics: BTreeMap<(u32, &'static str), Shown>,
    problems: Vec<String>,
    /// Calls of `dynamic`, before and after clusters were read.
    calls: [u32; 2],
}

#[derive(Clone)]
struct Definition {
    name: &'static str,
    kind: Type,
    unit: &'static str,
    rows: Vec<(i32, &'static str, Atom<'static>)>,
}

/// A metric that is shown.
struct Shown {
    definition: Definition,
    rows: Indom<Atom<'static>>,
    metric: Option<MetricRef>,
}

fn definition(
    name: &'static str,
    kind: Type,
    unit: &'static str,
    rows: &[(i32, &'static str, Atom<'static>)],
) -> Definition {
    let rows = rows.to_vec();
    Definition { name, kind, unit, rows }
}

impl Agent for Sources {
    const NAME: &'static str = "sources";
    const DOMAIN: u32 = 451;
    const OPTIONS: &'static [Opt] = &[Opt::new("root").short('r').argument("NAME").help("root of the names")];

    fn root(env: &Env) -> String {
        env.option("root").unwrap_or(Self::NAME).to_owned()
    }

    fn start(env: &Env) -> Result<Sources> {
        let mut sources = Indom::persistent_in(env, 0);
        sources.change().reserve_at(0, "control")?;
        Ok(Sources {
            sources,
            documents: Vec::new(),
            metrics: BTreeMap::new(),
            problems: Vec::new(),
            calls: [0; 2],
        })
    }

    fn metrics(m: &mut Metrics<Sources>) {
        m.dynamic_names();
        m.refresh(|s, _| s.read());
        let sources = m.indom(0, "Sources", |s| &mut s.sources);
        m.each("control.calls", sources, |calls| *calls).item(1).counter();
        m.value_as("control.user", Type::String, |_, client| {
            Ok(client.user().map_or(Atom::None, |user| Atom::from(user.to_owned())))
        })
        .item(7);
    }

    fn dynamic(&mut self, m: &mut Metrics<Sources>, request: &Request<'_>) -> Result<()> {
        self.calls[usize::from(request.has_read())] += 1;
        if request.why() == Why::Names {
            self.read()?;
        }
        for ((cluster, name), shown) in &mut self.metrics {
            if shown.metric.is_none() {
                match declare(m, *cluster, name, &shown.definition) {
                    Ok(metric) => shown.metric = Some(metric),
                    Err(problem) => self.problems.push(problem.to_string()),
                }
            }
        }
        Ok(())
    }
}

fn declare(
    m: &mut Metrics<Sources>,
    cluster: u32,
    name: &'static str,
    definition: &Definition,
) -> std::result::Result<MetricRef, Problem> {
    let source = m.find_indom::<u64>(0).expect("it was declared");
    assert_eq!((source.serial(), m.find_indom::<i8>(0).is_none()), (0, true));
    m.cluster(cluster).numbered_by(cluster);
    let full = format!("s{cluster}.{name}");
    let unit = definition.unit.parse().unwrap_or(Unit::NONE);
    let is_single = definition.rows.iter().all(|(_, name, _)| name.is_empty());
    if is_single {
        let value = m.value_as(&full, definition.kind, move |s, _| s.single(cluster, name));
        return value.unit(unit).help("One value").declare();
    }
    let item = m.reserve_item(&full).expect("there is room");
    let indom = m.try_indom(4096 + 1024 * cluster + item, "Instances", move |s| {
        Some(&mut s.metrics.get_mut(&(cluster, name))?.rows)
    });
    m.instance_labels(indom, |name, _| Labels::new().add("name", name));
    m.each_as(&full, indom, definition.kind, |row, _| Ok(row.clone()))
        .unit(unit)
        .help("Several values")
        .store(|row: &mut Atom<'static>, value: f64, _| {
            *row = Atom::F64(value);
            Ok(())
        })
        .declare()
}

impl Sources {
    fn single(&self, cluster: u32, name: &'static str) -> Result<Atom<'_>> {
        let shown = self.metrics.get(&(cluster, name)).ok_or(Error::VALUE)?;
        shown
            .definition
            .rows
            .first()
            .map(|(_, _, atom)| atom.clone())
            .ok_or(Error::AGAIN)
    }

    fn read(&mut self) -> Result<()> {
        for (source, document) in std::mem::take(&mut self.documents) {
            let cluster = self.sources.change().reserve(source)?.ok_or(Error::INST)? as u32;
            self.sources.change().set(source, 1)?;
            for definition in document {
                let mut rows = Indom::new();
                let mut update = rows.update();
                for (inst, name, atom) in definition.rows.iter().filter(|(_, name, _)| !name.is_empty()) {
                    update.set_at(*inst, name, atom.clone())?;
                }
                drop(update);
                let metric = None;
                let name = definition.name;
                self.metrics.insert(
                    (cluster, name),
                    Shown {
                        definition,
                        rows,
                        metric,
                    },
                );
            }
        }
        Ok(())
    }
}

fn web() -> (&'static str, Vec<Definition>) {
    let requests = [(7, "7 get", Atom::U64(5)), (3, "3 put", Atom::U64(1))];
    let definitions = vec![
        definition("requests", Type::U64, "count", &requests),
        definition("load", Type::F64, "none", &[(0, "", Atom::F64(0.5))]),
        definition("size", Type::I64, "Kbyte / sec", &[(0, "", Atom::I64(-4))]),
    ];
    ("web", definitions)
}

fn sources() -> Harness<Sources> {
    Harness::new().expect("it starts")
}

/// What a refresh has found has its names in the same request: with types and units known at run
/// time, and own numbers of instances.
#[test]
fn found_by_a_refresh() -> Result<()> {
    let mut pmcd = sources();
    assert_eq!(pmcd.names()?, ["sources.control.calls", "sources.control.user"]);
    pmcd.agent().documents.push(web());
    let before = pmcd.agent().calls;
    assert!(pmcd.fetch("sources.control.calls")?.names_changed());
    let calls = pmcd.agent().calls;
    assert_eq!(calls[1] - before[1], 1, "once after reading");
    assert!(!pmcd.fetch("sources.control.calls")?.names_changed());
    let names = pmcd.names()?;
    assert_eq!(
        names[2..],
        ["sources.s1.load", "sources.s1.requests", "sources.s1.size"]
    );
    let requests = pmcd.desc("sources.s1.requests")?;
    assert_eq!((requests.kind, requests.unit), (Some(Type::U64), COUNT));
    assert_eq!(pmcd.desc("sources.s1.size")?.unit, KBYTE.per(SEC));
    assert_eq!(pmcd.fetch("sources.s1.size")?.value(), Some(-4_i64));
    let names = [(3, "3 put".to_owned()), (7, "7 get".to_owned())];
    assert_eq!(pmcd.instances("sources.s1.requests")?, names);
    assert_eq!(pmcd.fetch("sources.s1.requests")?.value_of("7 get"), Some(5_u64));
    let labels = pmcd.instance_labels("sources.s1.requests")?;
    assert_eq!(labels[0], ("3 put".to_owned(), r#"{"name":"3 put"}"#.to_owned()));
    // A value of another type is not sent.
    pmcd.store_instance("sources.s1.requests", "3 put", 7_u64)?;
    let fetched = pmcd.fetch("sources.s1.requests")?;
    assert_eq!((fetched.len(), fetched.value_of("7 get")), (1, Some(5_u64)));
    assert_eq!(pmcd.agent().problems, [""; 0]);
    Ok(())
}

/// Names below an option's root.
#[test]
fn roots() -> Result<()> {
    let mut pmcd = Harness::<Sources>::builder().option("root", "my.metrics").start()?;
    pmcd.agent().documents.push(web());
    assert_eq!(pmcd.fetch("my.metrics.s1.load")?.value(), Some(0.5));
    assert_eq!(pmcd.fetch("sources.s1.load").err(), Some(Error::NAME));
    assert_eq!(pmcd.names()?.len(), 5);
    assert_eq!(pmcd.children("my")?, ["metrics."]);
    assert_eq!(pmcd.children("my.metrics")?, ["control.", "s1."]);
    assert_eq!(pmcd.children("my.metrics.s1")?, ["load", "requests", "size"]);
    assert_eq!(pmcd.children("my.metrics.s1.load")?, [""; 0]);
    for none in [
        "m",
        "my.metric",
        "my.metrics.s",
        "my.metrics.s1.lo",
        "mymetrics",
        "my.metrics.s1.load.x",
    ] {
        assert_eq!(pmcd.children(none).err(), Some(Error::NAME), "{none}");
    }
    for bad in ["a b", "1", "a..b", "a."] {
        assert_eq!(
            Harness::<Sources>::builder().option("root", bad).start().err(),
            Some(Error::EINVAL)
        );
    }
    Ok(())
}

/// The same agent without a root: the first parts of its names are roots.
#[test]
fn names_that_are_whole() -> Result<()> {
    let mut pmcd = Harness::<Sources>::builder().option("root", "").start()?;
    pmcd.agent().documents.push(web());
    assert_eq!(pmcd.fetch("s1.load")?.value(), Some(0.5));
    let names = ["control.calls", "control.user", "s1.load", "s1.requests", "s1.size"];
    assert_eq!(pmcd.names()?, names);
    assert_eq!(pmcd.children("")?, ["control.", "s1."]);
    assert_eq!(pmcd.children("s1")?, ["load", "requests", "size"]);
    assert_eq!(pmcd.children("s1.load")?, [""; 0]);
    for none in [".", ".s1", "s1.", "s", "control.callsx", "sources", "s1.load.x"] {
        assert_eq!(pmcd.children(none).err(), Some(Error::NAME), "{none}");
        assert_eq!(pmcd.fetch(none).err(), Some(Error::NAME), "{none}");
    }
    assert!(pmcd.numbers().contains("\ns1.size 451.1."), "{}", pmcd.numbers());
    Ok(())
}

/// The value function knows the client.
#[test]
fn clients() -> Result<()> {
    let mut pmcd = sources();
    assert!(pmcd.fetch("sources.control.user")?.is_empty());
    let user =
        |pmcd: &mut Harness<Sources>| -> Result<Option<String>> { Ok(pmcd.fetch("sources.control.user")?.value()) };
    pmcd.as_client(3).set_user("tanya");
    assert_eq!(user(&mut pmcd)?.as_deref(), Some("tanya"));
    pmcd.as_client(4).set_user("bob");
    assert_eq!(user(&mut pmcd)?.as_deref(), Some("bob"));
    pmcd.as_client(3);
    assert_eq!(user(&mut pmcd)?.as_deref(), Some("tanya"));
    Ok(())
}

/// Numbers of sources and of their metrics stay, in any order.
#[test]
fn numbers_that_stay() -> Result<()> {
    let mut pmcd = sources();
    pmcd.agent().documents = vec![("one", web().1), ("two", web().1)];
    let ids =
        ["s1.load", "s1.requests", "s2.size"].map(|name| pmcd.desc(&format!("sources.{name}")).map(|desc| desc.id));
    let folder = pmcd.folder().join("config/pmda");
    let text = std::fs::read_to_string(folder.join("451.0"))?;
    assert!(
        text.contains("control") && text.contains("one") && text.contains("two"),
        "{text}"
    );
    assert!(
        folder.join("451.2").exists(),
        "numbers of the metrics of the second source"
    );
    let mut pmcd = pmcd.restart()?;
    let mut turned = web().1;
    turned.reverse();
    pmcd.agent().documents = vec![("two", turned.clone()), ("three", web().1), ("one", turned)];
    let again =
        ["s1.load", "s1.requests", "s2.size"].map(|name| pmcd.desc(&format!("sources.{name}")).map(|desc| desc.id));
    assert_eq!(ids, again);
    assert_eq!(pmcd.agent().sources.known("three"), Some((3, true)));
    assert_eq!(pmcd.agent().sources.known("control"), Some((0, false)));
    assert_eq!(pmcd.agent().sources.inactive().collect::<Vec<_>>(), [(0, "control")]);
    assert!(pmcd.numbers().contains("sources.s3.size 451.3."));
    Ok(())
}
