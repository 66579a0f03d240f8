//! What a declaration can say of a metric, and how a harness starts an agent.

#![forbid(unsafe_code)]

use pmda::prelude::*;
use pmda::testing::Harness;

struct Described {
    rows: Indom<u32>,
    told: Vec<String>,
}

impl Agent for Described {
    const NAME: &'static str = "described";
    const DOMAIN: u32 = 240;
    const OPTIONS: &'static [Opt] = &[
        Opt::new("names")
            .short('n')
            .argument("FILE")
            .help("names of more metrics"),
        Opt::new("quick").help("read less"),
    ];

    fn start(env: &Env) -> Result<Described> {
        let options = ["names", "quick"].map(|long| format!("{long} {:?}", env.option(long)));
        let mut told = options.to_vec();
        told.extend(env.arguments().iter().cloned());
        told.push(env.domain().to_string());
        Ok(Described {
            rows: Indom::fixed([("one", 1)]),
            told,
        })
    }

    fn metrics(m: &mut Metrics<Described>) {
        m.label("number", 7).label(format!("kinds{}", 2), ["block", "memory"]);
        m.cluster_label("limits", Labels::new().add("depth", 32));
        m.cluster_label("limits", Labels::new().add("width", 3));
        let rows = m.indom(0, String::from("Rows"), |s| &mut s.rows);
        m.indom_label(rows, "shared", true);
        m.value(format!("new.{}", "name"), |_| 1)
            .alias("old")
            .alias(format!("{}.name", "older"))
            .help(format!("Line {}", 1))
            .label("none", ())
            .optional_label("note", 2.5);
        m.unsupported("elsewhere").help("Only other hosts have it");
        m.value("long", |_| 1).help("\nA long text alone.");
        if let Some(file) = m.env().option("names").map(str::to_owned) {
            match fs::read_to_string(m.env().folder().join(file)) {
                Ok(names) => names.lines().for_each(|name| drop(m.value(name, |_| 1))),
                Err(error) => m.problem(error),
            }
        }
    }
}

/// Two names lead to one number, and the number back to both; the metric goes with either.
#[test]
fn two_names() -> Result<()> {
    let mut pmcd = Harness::<Described>::new()?;
    let ids =
        ["described.new.name", "described.old", "described.older.name"].map(|name| pmcd.desc(name).map(|desc| desc.id));
    assert!(ids.iter().all(|id| *id == ids[0]) && ids[0].is_ok());
    assert_eq!(pmcd.fetch("described.old")?.value(), Some(1));
    let names = pmcd.names()?;
    assert_eq!(
        names,
        [
            "described.elsewhere",
            "described.long",
            "described.new.name",
            "described.old",
            "described.older.name"
        ]
    );
    assert_eq!(
        pmcd.children("described")?,
        ["elsewhere", "long", "new.", "old", "older."]
    );
    let mut request = pmda_core::wire::client::ClientRequest::new();
    request.of(0).names_of(ids[0].clone()?)?;
    let reply = pmcd.raw(request.bytes());
    let names: Vec<_> = pmda_core::wire::client::names(&reply)?
        .map(|(name, _)| name.to_vec())
        .collect();
    assert_eq!(
        names,
        [&b"described.new.name"[..], b"described.old", b"described.older.name"]
    );
    assert_eq!(
        pmcd.numbers(),
        "described.new.name 240.0.0\ndescribed.old 240.0.0\ndescribed.older.name 240.0.0\ndescribed.elsewhere 240.0.1\ndescribed.long 240.0.2\n"
    );
    Ok(())
}

/// A metric that is not supported has a description without a type, and no value; help may have no
/// line for lists.
#[test]
fn without_a_type_and_without_a_line() -> Result<()> {
    let mut pmcd = Harness::<Described>::new()?;
    assert_eq!(pmcd.desc("described.elsewhere")?.kind, Some(Type::NoSupport));
    assert_eq!(Type::NoSupport.number(), u32::MAX);
    assert_eq!(pmcd.fetch("described.elsewhere").err(), Some(Error::APPVERSION));
    assert_eq!(pmcd.text("described.elsewhere")?.0, "Only other hosts have it");
    assert_eq!(
        pmcd.text("described.long")?,
        (String::new(), "A long text alone.".to_owned())
    );
    let id = pmcd.desc("described.long")?.id.0;
    let mut request = pmda_core::wire::client::ClientRequest::new();
    request.of(0).text(
        id,
        pmda_core::constants::PM_TEXT_PMID | pmda_core::constants::PM_TEXT_ONELINE,
    )?;
    let reply = pmcd.raw(request.bytes());
    let expected = pmda_core::wire::client::expect(&reply, pmda_core::wire::Kind::PDU_TEXT);
    assert_eq!(expected.map_err(Error::from).err(), Some(Error::TEXT));
    assert_eq!(pmcd.log(), "");
    Ok(())
}

/// Labels of any JSON at each level; a label that is given again takes the place of the earlier one,
/// with all that is below it.
#[test]
fn labels_of_any_kind() -> Result<()> {
    let mut pmcd = Harness::<Described>::new()?;
    let json =
        r#"{"agent":"described","kinds2":["block","memory"],"limits.width":3,"none":null,"note":2.5,"number":7}"#;
    assert_eq!(pmcd.labels("described.new.name")?, json);
    Ok(())
}

/// Options, arguments, folder, domain, client and attributes together; they stay over a restart.
#[test]
fn a_harness_of_all_parts() -> Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("more"), "first\nsecond.one\n")?;
    let start = || {
        Harness::<Described>::builder()
            .option("names", "more")
            .option("quick", "")
            .argument("rest")
            .folder(folder.path())
            .domain(77)
            .client(3)
            .uid(1000)
            .gid(100)
            .pid(7)
            .user("tanya")
            .container("web")
    };
    let mut pmcd = start().start()?;
    for _ in 0..2 {
        let told = ["names Some(\"more\")", "quick Some(\"\")", "rest", "77"];
        assert_eq!(pmcd.agent().told, told);
        assert_eq!(
            (
                pmcd.fetch("described.second.one")?.value(),
                pmcd.desc("described.first")?.id.domain()
            ),
            (Some(1), 77)
        );
        assert_eq!(pmcd.folder(), folder.path());
        pmcd = pmcd.restart()?;
    }
    let error = start().option("names", "nothing").start().expect_err("no file");
    assert!(
        error.to_string().contains("/nothing: No such file or directory"),
        "{error}"
    );
    let error = start().option("unknown", "").start().expect_err("no such option");
    assert!(error.to_string().contains("no option --unknown"), "{error}");
    Ok(())
}

/// The first client has the attributes that it was given, and no others.
#[test]
fn the_first_client() -> Result<()> {
    struct Asked(Option<Client>);
    impl Agent for Asked {
        const NAME: &'static str = "asked";
        const DOMAIN: u32 = 239;
        fn start(_: &Env) -> Result<Asked> {
            Ok(Asked(None))
        }
        fn metrics(m: &mut Metrics<Asked>) {
            m.value("x", |_| 1);
        }
        fn begin(&mut self, request: &Request<'_>) -> Result<()> {
            self.0 = Some(request.client().clone());
            Ok(())
        }
    }
    let asked = |builder: pmda::testing::Builder<Asked>| -> Result<_> {
        let mut pmcd = builder.start()?;
        pmcd.fetch("asked.x")?;
        let client = pmcd.agent().0.take().context("a client")?;
        let [user, container] = [client.user(), client.container()].map(|name| name.map(str::to_owned));
        Ok((
            client.id().number(),
            [client.uid(), client.gid(), client.pid()],
            user,
            container,
        ))
    };
    let builder = Harness::<Asked>::builder;
    assert_eq!(asked(builder()), Ok((0, [Some(0), None, None], None, None)));
    assert_eq!(asked(builder().uid(7)), Ok((0, [Some(7), None, None], None, None)));
    assert_eq!(asked(builder().client(4)), Ok((4, [None; 3], None, None)));
    let all = builder()
        .client(4)
        .uid(1000)
        .gid(100)
        .pid(7)
        .user("joe")
        .container("web");
    let [joe, web] = ["joe", "web"].map(|name| Some(name.to_owned()));
    assert_eq!(asked(all), Ok((4, [Some(1000), Some(100), Some(7)], joe, web)));
    Ok(())
}
