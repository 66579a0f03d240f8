//! Options, and whose rights the agent has.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pmda::Opt;
use pmda::prelude::*;
use pmda::testing::Harness;

use crate::{OpenMetrics, options};

/// What the agent makes of its environment.
struct Told {
    root: String,
    folder: PathBuf,
    times: [std::result::Result<Duration, String>; 2],
    user: Option<String>,
}

impl Agent for Told {
    const NAME: &'static str = "openmetrics";
    const DOMAIN: u32 = 144;
    const OPTIONS: &'static [Opt] = options::OPTIONS;

    fn start(env: &Env) -> Result<Told> {
        Ok(Told {
            root: options::root(env),
            folder: options::folder(env),
            times: [options::timeout(env), options::refresh(env)],
            user: OpenMetrics::user(env),
        })
    }

    fn metrics(_: &mut Metrics<Told>) {}
}

fn told(options: &[(&'static str, &str)]) -> (Harness<Told>, PathBuf) {
    let pmcd = options
        .iter()
        .fold(Harness::<Told>::builder(), |start, (name, value)| {
            start.option(*name, *value)
        })
        .start()
        .expect("it starts");
    let folder = pmcd.folder().to_owned();
    (pmcd, folder)
}

/// OM-1.
#[test]
fn folders_and_times() {
    let seconds = |seconds| Ok(Duration::from_secs(seconds));
    let (mut pmcd, own) = told(&[]);
    let agent = pmcd.agent();
    assert_eq!(
        (agent.root.as_str(), &agent.folder),
        ("openmetrics", &own.join("config.d"))
    );
    assert_eq!(agent.times, [seconds(2), seconds(10)]);
    let options = [("root", "mine"), ("config", "my/d"), ("timeout", "1"), ("refresh", "0")];
    let (mut pmcd, own) = told(&options);
    let agent = pmcd.agent();
    let beside = own.parent().expect("it has one").join("mine/my/d");
    assert_eq!((agent.root.as_str(), &agent.folder), ("mine", &beside));
    assert_eq!(agent.times, [seconds(1), seconds(0)]);
    let (mut pmcd, _) = told(&[("config", "/etc/d"), ("timeout", "0"), ("refresh", "-1")]);
    let agent = pmcd.agent();
    assert_eq!(agent.folder, Path::new("/etc/d"));
    let wrong = ["-t 0: no number of seconds", "-R -1: no number of seconds"];
    assert_eq!(agent.times, wrong.map(|wrong| Err(wrong.to_owned())));
}

/// OM-1: root before PCP 6.1, and then the user of all agents; an option names another one.
#[test]
fn whose_rights() {
    for (version, options, user) in [
        ("6.0.3", &[][..], Some("root")),
        ("6.1.0", &[], None),
        ("7.2.2", &[], None),
        ("6.0.3", &[("user", "somebody")], Some("somebody")),
        ("7.2.2", &[("user", "somebody")], Some("somebody")),
    ] {
        let (pmcd, own) = told(options);
        fs::write(own.join("pcp.conf"), format!("PCP_VERSION={version}\n")).expect("written");
        let mut pmcd = pmcd.restart().expect("it starts");
        assert_eq!(pmcd.agent().user.as_deref(), user, "{version} {options:?}");
    }
}
