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

/// Clients see what they may, a process id is an instance, and what one client stores is for that
/// client alone: in dbpmda, and with pmcd's attributes of users.
#[test]
fn processes() -> Result<(), String> {
    let (environment, names) = environment("processes", &[]);
    let program = example("processes");
    let folder = environment.directory.join("pmdas/processes");
    let written = environment.run(&program, &["--write", &folder.display().to_string()]);
    assert_eq!(text(&written), "[exit 0]\n");
    let pmns = fs::read_to_string(folder.join("pmns")).expect("written");
    fs::write(
        &names,
        format!("root {{ processes }}\n{}", pmns.replace("PROCESSES:", "411:")),
    )
    .expect("writable");
    let agent = format!("{} -l processes.log -d 411", program.display());
    let own = std::process::id();

    let script = format!(
        "open pipe {agent}\nfetch processes.parent\nattr 11 \"0\"\ninstance 411.0 \"{own}\"\n\
         profile 411.0 none\nprofile 411.0 add {own}\nfetch processes.parent processes.io.read\n\
         store processes.control.own \"1\"\nfetch processes.control.own\nclose\nquit\n"
    );
    let answer = environment.dbpmda(&names, &script);
    let one = |metric: &str| format!("({metric}): numval: 1 valfmt: 1 vlist[]:\n    inst [{own} or ???] value ");
    for part in [
        "(processes.parent): No permission to perform requested operation",
        &format!("[  0] inst: {own}\n"),
        &one("processes.parent"),
        &one("processes.io.read"),
        "411.1.0: 0 -> 1\n",
        "   value 1 ",
    ] {
        assert!(answer.contains(part), "{part}\n{answer}");
    }

    let pmcd = environment.pmcd(&format!("processes 411 pipe binary {agent}\n"), &names)?;
    let ask = |tool, arguments: &[&str]| text(&pmcd.tool(tool, arguments));
    let value = ask(
        "pmval",
        &["-s", "1", "-i", &own.to_string(), "processes.memory.resident"],
    );
    assert!(
        value.contains(&format!(" {own} \n")) && value.contains("\n[exit 0]"),
        "{value}"
    );
    let all = ask("pminfo", &["-f", "processes.threads"]);
    assert!(all.contains(&format!("inst [{own} or \"{own:06} ")), "{all}");
    // A client's setting ends with the client.
    let stored = ask("pmstore", &["processes.control.own", "1"]);
    assert!(stored.contains("old value=0 new value=1"), "{stored}");
    let next = ask("pminfo", &["-f", "processes.control.own"]);
    assert!(next.contains("value 0"), "{next}");
    Ok(())
}
