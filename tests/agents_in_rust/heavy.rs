//! The examples that are as heavy as PCP's own agents: statsd and processes, in dbpmda and under a
//! pmcd.

use std::fs;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::agents::{environment, example, text};

/// Metrics come up while dbpmda and pmcd have the agent, with tags as labels, and their numbers are
/// the same for both, one after the other.
#[test]
fn statsd() -> Result<(), String> {
    let (environment, names) = environment("statsd", &[]);
    fs::write(&names, "root { statsd\t408:*:* }\n").expect("target is writable");
    let client = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let free = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let address = free.expect("loopback");
    let agent = format!(
        "{} -l statsd.log -d 408 --port {}",
        example("statsd").display(),
        address.port()
    );

    let has_ended = AtomicBool::new(false);
    let script = format!(
        "open pipe {agent}\nwait 1\ntraverse statsd\nfetch 408.1.0\ninstance 408.1\nlabel instances 408.1\nclose\nquit\n"
    );
    let answer = thread::scope(|scope| {
        scope.spawn(|| {
            while !has_ended.load(Ordering::Relaxed) {
                let _ = client.send_to(b"load,host=a:3.5|g\nvisits:1|c", address);
                thread::sleep(Duration::from_millis(20));
            }
        });
        let answer = environment.dbpmda(&names, &script);
        has_ended.store(true, Ordering::Relaxed);
        answer
    });
    for part in ["statsd.load", "statsd.visits", "value 3.5", r#"host="a""#] {
        assert!(answer.contains(part), "{part}\n{answer}");
    }

    let pmcd = environment.pmcd(&format!("statsd 408 pipe binary {agent}\n"), &names)?;
    let before = text(&pmcd.tool("pminfo", &["-m", "statsd"]));
    assert!(
        before.contains("statsd.pmda.received PMID: 408.0.1\n") && !before.contains("visits"),
        "{before}"
    );
    for datagram in [
        "visits:1|c",
        "visits:2|c\nanswer:20|ms\nanswer:40|ms",
        "load,host=a:4|g",
    ] {
        client.send_to(datagram.as_bytes(), address).expect("loopback");
    }
    let values = pmcd.tool_until("pminfo", &["-dfmtl", "statsd"], |text| text.contains("host=a"))?;
    for part in [
        "statsd.load PMID: 408.1.0 ",
        "inst [0 or \"host=a\"] value 4\n",
        "\"host\":\"a\"",
        "statsd.visits PMID: 408.1.8 ",
        "inst [1 or \"/\"] value 3\n",
        "Semantics: counter  Units: count\n",
        "statsd.answer.count PMID: 408.1.16 ",
        "statsd.answer.p50 PMID: 408.1.18 ",
        "Semantics: instant  Units: millisec\n",
        "statsd.pmda.dropped",
    ] {
        assert!(values.contains(part), "{part}\n{values}");
    }
    Ok(())
}
