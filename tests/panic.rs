//! A panic inside the library, provoked by a hook that only debug builds have, is logged and
//! becomes an error code; pmcd, which has loaded the library, and its other agents live on
//! (MAIN-54).

use std::fs;

use pcp_pmda_test::Library;
use pcp_pmda_test::pcp::{self, Environment, text};

/// Two DSO agents in pmcd and a daemon with a library of its own; whoever asks for a text, a label
/// or an event runs into a panic. `pmdaLabel` has several steps, the others one.
#[test]
fn pmcd_lives_on() {
    let mut environment = Environment::new("panic", Library::Ours);
    let broken = ["pmdaText", "pmdaEventAddRecord", "pmdaLabel"];
    environment.variables.push(("PCP_PMDA_PANIC", broken.join(" ")));
    let configuration = format!(
        "sample 29 dso sample_init {}\npmcd 2 dso pmcd_init {}\nother 31 pipe binary {} -d 31\n",
        pcp::agent("sample").join("pmda_sample.so").display(),
        pcp::agent("pmcd").join("pmda_pmcd.so").display(),
        pcp::agent("sample").join("pmdasample").display(),
    );
    let names = environment.directory.join("names");
    let all = "root { sample pmcd other }\nsample { ten 29:0:11 events 29:0:136 }\n\
               pmcd { numagents 2:0:2 }\nother { ten 31:0:11 }\n";
    fs::write(&names, all).expect("target is writable");
    let pmcd = environment.pmcd(&configuration, &names).expect("pmcd starts");
    let ask = |options: &str, metric: &str| text(&pmcd.tool("pminfo", &[options, metric]));
    let whole = || {
        for (metric, value) in [("sample.ten", 10), ("pmcd.numagents", 3), ("other.ten", 10)] {
            let answer = ask("-f", metric);
            assert!(
                answer.contains(&format!("value {value}\n")),
                "{metric}: {answer}\n{}",
                pmcd.log()
            );
        }
    };

    whole();
    let (daemon, server) = (pmcd.agent_pid("other"), pmcd.pid());
    for metric in ["sample.ten", "pmcd.numagents", "other.ten"] {
        let answer = ask("-t", metric);
        assert!(answer.contains("Error: Generic error"), "{metric}: {answer}");
    }
    // Without its labels a metric still has those of its host.
    ask("-l", "sample.ten");
    let answer = ask("-f", "sample.events");
    assert!(answer.contains("No value(s) available"), "{answer}");
    whole();
    for function in broken {
        let line = format!("libpcp_pmda: internal error: {function} was asked to panic");
        assert!(pmcd.log().contains(&line), "{function} did not panic:\n{}", pmcd.log());
    }
    assert_eq!(
        (daemon, server),
        (pmcd.agent_pid("other"), pmcd.pid()),
        "nobody was restarted"
    );
}
