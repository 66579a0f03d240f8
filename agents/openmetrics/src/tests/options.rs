//! Options, and whose rights the agent has.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pmda::Opt;
use pmda::prelude::*;
use pmda::testing::Harness;

use super::Host;
use crate::{OpenMetrics, options};

/// The settings that the agent takes from its environment.
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

/// The options -r, -c, -t and -R set the root, the folder of sources and the times, which have
/// defaults; a time that is no number of seconds is an error (OM-1).
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
    let (mut pmcd, _) = told(&[("config", "/etc/d"), ("timeout", "x"), ("refresh", "-1")]);
    let agent = pmcd.agent();
    assert_eq!(agent.folder, Path::new("/etc/d"));
    let wrong = ["-t x: no number of seconds", "-R -1: no number of seconds"];
    assert_eq!(agent.times, wrong.map(|wrong| Err(wrong.to_owned())));
}

/// pmcd ends an agent that does not answer within five seconds, so no request waits that long
/// (OM-1).
#[test]
fn times_that_cannot_be_kept() {
    for (text, time, is_said) in [
        ("-1", 0, true),
        ("0", 0, true),
        ("4", 4, false),
        ("5", 4, true),
        ("99999999999", 4, true),
    ] {
        let (mut pmcd, _) = told(&[("timeout", text)]);
        assert_eq!(pmcd.agent().times[0], Ok(Duration::from_secs(time)), "{text}");
        assert_eq!(pmcd.log().contains(&format!("-t {text}: ")), is_said, "{}", pmcd.log());
    }
}

/// A source that hangs delays the start by one request at most, and the other sources have values
/// (OM-2).
#[test]
fn a_source_that_hangs_at_the_start() {
    let host = Host::new();
    host.script("hangs.sh", "sleep 60");
    host.page("good", "x 1\n");
    let folder = host.at("config.d").display().to_string();
    let begun = Instant::now();
    let start = Harness::<OpenMetrics>::builder().option("timeout", "1");
    let mut pmcd = start.option("config", &folder).start().expect("it starts");
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "ten times as long as a request"
    );
    let values = pmcd.fetch("openmetrics.good.x").expect("values");
    assert_eq!(values.value::<f64>(), Some(1.0));
}

/// The agent runs as root before PCP 6.1, and since then as the user of all agents; an option names
/// another user (OM-1).
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
