//! Agents as shared objects, in each of their hosts.

use std::path::Path;
use std::process::Command;
use std::time::Duration;
use std::{fs, thread};

use pcp_pmda_test::pcp::{self, Environment};
use pcp_pmda_test::release;

use crate::agents::{environment, object, text};

/// The line of pmcd.conf for a shared object.
fn dso(name: &str, domain: u32) -> String {
    format!("{name} {domain} dso pmda_{name}_init {}\n", object(name).display())
}

/// One exported function, and nothing of PCP linked.
#[test]
fn what_is_exported_and_linked() {
    for name in ["mounts", "simple", "ticking"] {
        let output = |program: &str, args: &[&str]| {
            let output = Command::new(program)
                .args(args)
                .arg(object(name))
                .output()
                .expect("installed");
            String::from_utf8(output.stdout).expect("text")
        };
        let symbols = output("nm", &["-D", "--defined-only"]);
        let symbols: Vec<&str> = symbols
            .lines()
            .filter_map(|line| line.split_whitespace().last())
            .collect();
        assert_eq!(symbols, [format!("pmda_{name}_init")]);
        let linked = output("ldd", &[]);
        assert!(!linked.contains("pcp"), "{linked}");
    }
}

#[test]
fn in_pmcd() -> Result<(), String> {
    let (environment, names) = environment("in_pmcd", &["simple", "ticking"]);
    let pmcd = environment.pmcd(&(dso("simple", 253) + &dso("ticking", 401)), &names)?;
    let first = text(&pmcd.tool("pminfo", &["-f", "simple.numfetch", "simple.color"]));
    assert!(first.contains("simple.numfetch\n    value 1\n"), "{first}");
    assert!(first.contains("inst [2 or \"blue\"] value 201\n"), "{first}");
    let stored = text(&pmcd.tool("pmstore", &["simple.numfetch", "77"]));
    assert!(stored.contains("new value=77"), "{stored}");
    let then = text(&pmcd.tool("pminfo", &["-f", "simple.numfetch"]));
    assert!(then.contains("value 79\n") || then.contains("value 78\n"), "{then}");
    let refused = text(&pmcd.tool("pmstore", &["-i", "red", "simple.color", "256"]));
    assert!(
        refused.contains("Negative value in conversion to unsigned"),
        "{refused}"
    );
    let types = text(&pmcd.tool("pminfo", &["-f", "ticking.wide", "ticking.single", "ticking.big"]));
    let expected = "value 18446744073709551615\n";
    assert!(types.contains(expected) && types.contains("value 1.5\n"), "{types}");
    assert!(types.contains("value \"text\"\n"), "{types}");
    // Clients before PCP 7.2 ignore the bits of an extra unit.
    let units = text(&pmcd.tool("pminfo", &["-d", "ticking.warmth", "ticking.draw"]));
    let (warmth, draw) = if release() >= [7, 2, 0] {
        ("temperature (C)", "power (W) / count")
    } else {
        ("none", "/ count")
    };
    for unit in [warmth, draw] {
        assert!(units.contains(&format!("Units: {unit}\n")), "{units}");
    }
    // The context of each of these clients has ended.
    let ended = pmcd.tool_until("pminfo", &["-f", "ticking.ended"], |text| !text.contains("value 0\n"))?;
    assert!(ended.contains("value "), "{ended}");
    let background = pmcd.tool_until("pminfo", &["-f", "ticking.ticks"], |text| text.contains("value "))?;
    assert!(background.contains("ticking.ticks"), "{background}");
    assert!(pmcd.log().contains("Info: started as DSO"), "{}", pmcd.log());
    Ok(())
}

#[test]
fn in_dbpmda() {
    let (environment, names) = environment("in_dbpmda", &["simple"]);
    let answer = environment.dbpmda(&names, &script());
    assert!(!answer.contains("rror") && answer.ends_with("[exit 0]\n"), "{answer}");
    for line in [
        "DSO Interface Version:  7\nPMDA PMAPI Version:     2\n",
        "    inst [0 or ???] value 1\n    inst [1 or ???] value 101\n",
        "numval: 1 valfmt: 0 vlist[]:\n    inst [1 or ???] value 102\n",
        "[  0] inst: 0 name: \"red\"\n[  1] inst: 1 name: \"green\"\n",
        "[A saw-tooth for each color]\n",
        "   value 42\n",
        "   non-leaf time\n",
    ] {
        assert!(answer.contains(line), "{line}{answer}");
    }
}

/// Each of dbpmda's requests.
fn script() -> String {
    format!(
        "open dso {} pmda_simple_init 253\ngetdesc on\nstatus\ndesc simple.color\nattr 11 \"0\"\nfetch simple.color\nfetch simple.numfetch\n\
         profile 253.0 none\nprofile 253.0 add 1\nfetch simple.color\ninstance 253.0\ninstance 253.0 2\n\
         instance 253.0 \"green\"\ntext simple.color\ntext indom 253.0\nstore simple.numfetch \"41\"\n\
         fetch simple.numfetch\nlabel item simple.color\nlabel instances 253.0\n\
         children simple\nclose\nquit\n",
        object("simple").display()
    )
}

#[test]
fn in_a_local_context() {
    let (environment, names) = environment("in_a_local_context", &["simple"]);
    let spec = format!("add,253,{},pmda_simple_init", object("simple").display());
    let names = names.display().to_string();
    let pminfo = pcp::installed("usr/bin/pminfo");
    let answer = text(&environment.run(
        pminfo,
        &["-L", "-K", "clear", "-K", &spec, "-n", &names, "-dfmtTlI", "simple"],
    ));
    assert!(
        answer.contains("simple.numfetch PMID: 253.0.0 [Number of fetches]"),
        "{answer}"
    );
    assert!(answer.contains("inst [1 or \"green\"] value 101"), "{answer}");
    assert!(answer.contains("\"role\":\"testing\""), "{answer}");
    assert!(answer.ends_with("[exit 0]\n"), "{answer}");
}

/// Two objects in Rust and one in C share a pmcd: neither has anything of the other.
#[test]
fn beside_one_in_c() -> Result<(), String> {
    let (environment, names) = environment("beside_one_in_c", &["simple", "ticking"]);
    let sample = pcp::agent("sample").join("pmda_sample.so");
    let all = fs::read_to_string(&names)
        .expect("written")
        .replace("root { simple", "root { sample simple");
    fs::write(&names, all + "sample { load 29:0:37 }\n").expect("target is writable");
    let lines =
        dso("simple", 253) + &dso("ticking", 401) + &format!("sample 29 dso sample_init {}\n", sample.display());
    let pmcd = environment.pmcd(&lines, &names)?;
    let values = text(&pmcd.tool("pminfo", &["-f", "simple.numfetch", "ticking.big", "sample.load"]));
    for line in [
        "simple.numfetch\n    value 1\n",
        "ticking.big\n    value \"text\"\n",
        "sample.load\n    inst ",
    ] {
        assert!(values.contains(line), "{values}\n{}", pmcd.log());
    }
    Ok(())
}

/// pmcd closes an object whose thread goes on: the object stays in memory. It can be opened again.
#[test]
fn removed_with_a_thread() -> Result<(), String> {
    let (environment, names) = environment("removed_with_a_thread", &["simple", "ticking"]);
    let both = dso("simple", 253) + &dso("ticking", 401);
    let pmcd = environment.pmcd(&both, &names)?;
    pmcd.tool_until("pminfo", &["-f", "ticking.ticks"], |text| text.contains("value "))?;
    for _ in 0..3 {
        reconfigure(&environment, &pmcd, &dso("simple", 253));
        pmcd.tool_until("pminfo", &["-f", "ticking.big"], |text| !text.contains("value "))?;
        thread::sleep(Duration::from_millis(100));
        let alive = text(&pmcd.tool("pminfo", &["-f", "simple.numfetch"]));
        assert!(alive.contains("value "), "{alive}");
        let maps = fs::read_to_string(format!("/proc/{}/maps", pmcd.pid())).map_err(|error| error.to_string())?;
        assert!(maps.contains("libpmda_ticking.so"));
        reconfigure(&environment, &pmcd, &both);
        pmcd.tool_until("pminfo", &["-f", "ticking.ticks"], |text| text.contains("value "))?;
    }
    Ok(())
}

/// pmcd looks at the time of its configuration, in seconds.
fn reconfigure(environment: &Environment, pmcd: &pcp::Pmcd<'_>, lines: &str) {
    thread::sleep(Duration::from_millis(1100));
    environment.configure(lines);
    pmcd.signal(libc::SIGHUP);
}

/// No error of memory, and nothing lost, in a host that calls everything.
#[test]
fn under_valgrind() {
    let (environment, names) = environment("under_valgrind", &["simple"]);
    let file = environment.directory.join("script");
    fs::write(&file, script()).expect("target is writable");
    let mut command = environment.command("valgrind");
    command
        .args([
            "--error-exitcode=99",
            "--leak-check=full",
            "--errors-for-leak-kinds=definite",
        ])
        .args([&format!("--suppressions={}", suppressions(&environment.directory))])
        .arg(pcp::installed("usr/bin/dbpmda"))
        .args(["-ie", "-n"])
        .arg(&names)
        .stdin(fs::File::open(&file).expect("just written"));
    let outcome = pcp_pmda_test::run::bounded(command, Duration::from_secs(300));
    let (end, text) = (outcome.end.clone(), text(&outcome));
    assert_eq!(end, "exit 0", "{text}");
}

/// Blocks that dbpmda itself loses do not count.
fn suppressions(directory: &Path) -> String {
    let file = directory.join("suppressions");
    let text = "{\n   of dbpmda\n   Memcheck:Leak\n   ...\n   obj:*/dbpmda\n}\n";
    fs::write(&file, text).expect("target is writable");
    file.display().to_string()
}
