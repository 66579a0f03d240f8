//! What a request wants of an instance domain: an agent with thousands of instances reads those.

#![forbid(unsafe_code)]

use std::time::Duration;

use pmda::prelude::*;
use pmda::testing::Harness;

/// The serial of the domain, and that of another one in the same cluster.
const MANY: u32 = 3;
const FEW: u32 = 4;

/// An agent with 5,000 instances that reads those that are wanted.
#[derive(Default)]
struct Many {
    many: Indom<u32>,
    few: Indom<()>,
    /// How often the agent has read an instance.
    reads: u32,
    /// What `begin` was told: the list for both domains, and whether 17 is wanted.
    asked: Option<[Option<Vec<i32>>; 2]>,
    wants_17: bool,
    /// The agent knows instances by their numbers without zeros.
    translates: bool,
}

impl Agent for Many {
    const NAME: &'static str = "many";
    const DOMAIN: u32 = 454;

    fn start(_: &Env) -> Result<Many> {
        let mut many = Many::default();
        let mut update = many.many.update();
        for inst in 0..5000 {
            update.set_at(inst, &format!("{inst:06}"), 0)?;
        }
        drop(update);
        many.few.update().set("few", ())?;
        Ok(many)
    }

    fn metrics(m: &mut Metrics<Many>) {
        let many = m.indom(MANY, "Many", |s| &mut s.many);
        let few = m.indom(FEW, "Few", |s| &mut s.few);
        m.refresh(move |s, request| {
            for inst in 0..5000 {
                if request.wants_instance(many.serial(), inst) {
                    s.reads += 1;
                    *s.many.get_mut(inst).ok_or(Error::INST)? += 1;
                }
            }
            Ok(())
        });
        m.each("read", many, |read| *read).help("Times that it was read");
        m.each("few", few, |()| 1_u32).help("One");
        m.value("none", |_| 1_u32).help("One");
        m.instance_labels(many, |_, read| Labels::new().add("read", *read));
        m.instance_lookup(many, |s, text| {
            assert!(text != "panic", "told to panic");
            text.parse().ok().filter(|_| s.translates)
        });
        m.cluster(1).valid_for(Duration::from_secs(60));
        m.refresh(|s, request| {
            s.reads += (0..5000)
                .map(|inst| u32::from(request.wants_instance(MANY, inst)))
                .sum::<u32>();
            Ok(())
        });
        m.each("kept", many, |_| 1_u32).help("One");
    }

    fn begin(&mut self, request: &Request<'_>) -> Result<()> {
        let only = |serial| request.only_instances(serial).map(<[i32]>::to_vec);
        self.asked = Some([MANY, FEW].map(only));
        self.wants_17 = request.wants_instance(MANY, 17);
        Ok(())
    }
}

impl Many {
    /// The instances that were read for the last request, and what `begin` was told.
    fn take(&mut self) -> (u32, [Option<Vec<i32>>; 2], bool) {
        let asked = self.asked.take().expect("a request has begun");
        (std::mem::take(&mut self.reads), asked, self.wants_17)
    }
}

#[test]
fn a_fetch_wants_what_the_profile_selects() -> Result<()> {
    let mut pmcd = Harness::<Many>::new()?;
    let fetch = |pmcd: &mut Harness<Many>, name: &str| {
        let count = pmcd.fetch(name)?.len();
        Ok::<_, Error>((count, pmcd.agent().take()))
    };
    assert_eq!(fetch(&mut pmcd, "many.read")?, (5000, (5000, [None, None], true)));
    let indom = pmcd.desc("many.read")?.indom;
    pmcd.profile_numbers(indom, &[4000, 17, 17, -3]);
    let listed = Some(vec![-3, 17, 4000]);
    assert_eq!(fetch(&mut pmcd, "many.read")?, (2, (2, [listed.clone(), None], true)));
    pmcd.profile_numbers(indom, &[4000]);
    assert_eq!(
        fetch(&mut pmcd, "many.read")?,
        (1, (1, [Some(vec![4000]), None], false))
    );
    // What is read for a time is for other clients, too.
    assert_eq!(pmcd.fetch("many.kept")?.len(), 1);
    assert_eq!(pmcd.agent().take(), (5000, [Some(vec![4000]), None], false));
    pmcd.profile_numbers(indom, &[]);
    assert_eq!(fetch(&mut pmcd, "many.read")?, (0, (0, [Some(vec![]), None], false)));
    pmcd.profile_all();
    assert_eq!(fetch(&mut pmcd, "many.none")?, (1, (5000, [None, None], true)));
    Ok(())
}

#[test]
fn other_requests_want_what_they_are_about() -> Result<()> {
    let mut pmcd = Harness::<Many>::new()?;
    pmcd.advance(Duration::from_secs(1));
    // The list of a domain is about all of it, whatever the profile selects, and nothing else.
    let indom = pmcd.desc("many.read")?.indom;
    pmcd.profile_numbers(indom, &[17]);
    pmcd.fetch("many.kept")?;
    pmcd.agent().take();
    assert_eq!(pmcd.instances("many.read")?.len(), 5000);
    assert_eq!(pmcd.agent().take(), (5000, [None, Some(vec![])], true));
    assert_eq!(pmcd.instances("many.few")?.len(), 1);
    assert_eq!(pmcd.agent().take(), (0, [Some(vec![]), None], false));
    // A name may be that of any instance; a number is that of one.
    assert_eq!(pmcd.instance("many.read", "000017")?, 17);
    assert_eq!(pmcd.agent().take(), (5000, [None, Some(vec![])], true));
    let mut request = pmda_core::wire::client::ClientRequest::new();
    request.of(0).instance(indom, 17, None)?;
    pmcd.raw(request.bytes());
    assert_eq!(pmcd.agent().take(), (1, [Some(vec![17]), Some(vec![])], true));
    // Labels are those of the instances that the profile selects.
    let labels = pmcd.instance_labels("many.read")?;
    assert_eq!(labels.len(), 1, "{labels:?}");
    assert_eq!(pmcd.agent().take(), (1, [Some(vec![17]), Some(vec![])], true));
    // Names want no instances.
    pmcd.names()?;
    assert_eq!(pmcd.agent().take(), (0, [Some(vec![]), Some(vec![])], false));
    Ok(())
}

/// A text that the agent knows as an instance is about that one; any other text is a name.
#[test]
fn an_agent_translates_what_a_client_writes() -> Result<()> {
    let mut pmcd = Harness::<Many>::new()?;
    pmcd.fetch("many.kept")?;
    assert_eq!(pmcd.instance("many.read", "17"), Err(Error::INST));
    pmcd.agent().translates = true;
    pmcd.agent().take();
    let mut ask = |text| {
        let outcome = pmcd.instance("many.read", text);
        (outcome, pmcd.agent().take())
    };
    let other = Some(vec![]);
    assert_eq!(ask("17"), (Ok(17), (1, [Some(vec![17]), other.clone()], true)));
    assert_eq!(ask("000017"), (Ok(17), (1, [Some(vec![17]), other.clone()], true)));
    assert_eq!(
        ask("5000"),
        (Err(Error::INST), (0, [Some(vec![5000]), other.clone()], false))
    );
    assert_eq!(ask("000017 x"), (Ok(17), (5000, [None, other.clone()], true)));
    assert_eq!(ask("x"), (Err(Error::INST), (5000, [None, other], true)));
    assert_eq!(pmcd.instance("many.read", "panic"), Err(Error::GENERIC));
    assert!(pmcd.log().contains("told to panic"), "{}", pmcd.log());
    // The number is what counts, as in each other request for an instance.
    pmcd.profile("many.read", &["17", "4000"])?;
    assert_eq!(pmcd.fetch("many.read")?.len(), 2);
    Ok(())
}

/// A domain that is not declared gets no translation, and that is told.
#[test]
fn a_translation_needs_a_domain() {
    struct Wrong(Indom<()>);
    impl Agent for Wrong {
        const NAME: &'static str = "wrong";
        const DOMAIN: u32 = 455;
        fn start(_: &Env) -> Result<Wrong> {
            Ok(Wrong(Indom::new()))
        }
        fn metrics(m: &mut Metrics<Wrong>) {
            let too_large = m.indom(1 << 22, "No domain", |s| &mut s.0);
            m.instance_lookup(too_large, |_, _| None);
        }
    }
    let error = Harness::<Wrong>::new().expect_err("no such domain").to_string();
    assert!(error.contains("instance domain 4194304 is not declared"), "{error}");
}
