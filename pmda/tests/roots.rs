//! Agents with several roots, as PCP's proc has them.

#![forbid(unsafe_code)]

use pmda::prelude::*;
use pmda::testing::Harness;

/// An agent with roots as PCP's proc has, some of which come up.
#[derive(Default)]
struct Roots {
    next: Vec<fn(&mut Metrics<Roots>)>,
}

impl Agent for Roots {
    const NAME: &'static str = "proc";
    const DOMAIN: u32 = 453;
    fn root(_: &Env) -> String {
        String::new()
    }
    fn start(_: &Env) -> Result<Roots> {
        Ok(Roots::default())
    }
    fn metrics(m: &mut Metrics<Roots>) {
        m.dynamic_names_below("hotproc").dynamic_names_below("proc.psinfo");
        m.value("proc.nprocs", |_| 1).help("Processes");
        m.value("acct.id.uid", |_| 2).help("User");
    }
    fn dynamic(&mut self, m: &mut Metrics<Roots>, _: &Request<'_>) -> Result<()> {
        for step in self.next.drain(..) {
            step(m);
        }
        Ok(())
    }
}

#[test]
fn several_roots() -> Result<()> {
    let mut pmcd = Harness::<Roots>::new()?;
    assert_eq!(pmcd.names()?, ["acct.id.uid", "proc.nprocs"]);
    assert_eq!(pmcd.children("hotproc").err(), Some(Error::NAME));
    pmcd.agent().next.push(|m| {
        assert_eq!(m.root(), "");
        m.cluster(1).value("hotproc.nprocs", |_| 3).help("Hot ones");
        m.value("proc.psinfo.cmd", |_| 4).help("Command");
    });
    assert!(pmcd.fetch("proc.nprocs")?.names_changed());
    assert_eq!(pmcd.children("")?, ["acct.", "hotproc.", "proc."]);
    assert_eq!(pmcd.children("proc")?, ["nprocs", "psinfo."]);
    let values = pmcd.fetch_all(&["acct.id.uid", "hotproc.nprocs", "proc.psinfo.cmd"])?;
    let values: Vec<_> = values.into_iter().map(|one| one.ok()?.value()).collect();
    assert_eq!(values, [Some(2), Some(3), Some(4)]);
    let numbers = "proc.nprocs 453.0.0\nacct.id.uid 453.0.1\nhotproc.nprocs 453.1.0\nproc.psinfo.cmd 453.1.1\n";
    assert_eq!(pmcd.numbers(), numbers);
    Ok(())
}

/// Names that are no metric's below several roots.
#[test]
fn wrong_names_below_several_roots() -> Result<()> {
    let mut pmcd = Harness::<Roots>::new()?;
    pmcd.agent().next.push(|m| {
        let mut wrong = |name: &str| m.value(name, |_| 1).declare().expect_err("it is wrong").to_string();
        assert_eq!(
            wrong("alone"),
            "metric alone: the agent has several roots, so a name is a root, a dot and the rest"
        );
        assert_eq!(
            wrong("proc.psinfo"),
            "metric proc.psinfo: no name can be below a metric, so names below proc.psinfo cannot be dynamic"
        );
        for empty in ["", ".x", "proc.", "proc..x", "."] {
            assert!(wrong(empty).contains("a name is made of parts"), "{empty}");
        }
        assert!(wrong("proc.nprocs.x").contains("cannot be beside"));
        assert!(wrong("acct.id").contains("cannot be beside"));
    });
    pmcd.fetch("proc.nprocs")?;
    assert_eq!(pmcd.names()?, ["acct.id.uid", "proc.nprocs"]);
    Ok(())
}

/// An agent that does not start, as names would be both a metric's and those of others.
#[derive(Debug)]
struct Clash;

impl Agent for Clash {
    const NAME: &'static str = "clash";
    const DOMAIN: u32 = 454;
    fn root(_: &Env) -> String {
        String::new()
    }
    fn start(_: &Env) -> Result<Clash> {
        Ok(Clash)
    }
    fn metrics(m: &mut Metrics<Clash>) {
        m.value("a.b", |_| 1);
        m.dynamic_names_below("a.b").dynamic_names_below("a.b.c");
        m.dynamic_names_below("a..b").dynamic_names_below("a");
    }
}

#[test]
fn roots_that_clash() {
    let text = Harness::<Clash>::new().expect_err("it does not start").to_string();
    for problem in [
        "metric a.b: no name can be below a metric, so names below a.b cannot be dynamic;",
        "metric a.b: no name can be below a metric, so names below a.b.c cannot be dynamic;",
        "names below \"a..b\": a name is made of parts between dots",
    ] {
        assert!(text.contains(problem), "{problem}\n{text}");
    }
    assert_eq!(text.matches("cannot be dynamic").count(), 2, "{text}");
}
