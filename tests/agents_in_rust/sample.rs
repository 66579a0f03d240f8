//! PCP's agent `sample` in Rust beside the one in C: the same requests of the same tools, the same
//! answers, with each of the two libraries under pmcd and the agent in C.
//!
//! What differs is in `DIFFERENCES`, each with its reason.

use std::fs;
use std::path::Path;

use pcp_pmda_test::pcp::{self, Environment, Pmcd};
use pcp_pmda_test::{Library, release, skipped};
use regex::{Captures, Regex};

use crate::agents::{daemon, environment_on, text};
use crate::beside::{compile_help, differences};

/// Lines that differ, those of the agent in C and of the one in Rust.
struct Differ {
    /// The versions of the agent in C that differ.
    versions: Versions,
    /// The number of times that the lines follow each other.
    times: usize,
    lines: &'static [&'static str],
}

/// Versions of the agent in C, known by the metrics of [`LATER`] that they have, and 7.1's, which has those of
/// 6.3, by the release.
enum Versions {
    All,
    /// Of PCP 6.2 and 6.3 alone.
    Of6_2And6_3,
    Since6_2,
    Since6_3,
    Since7_1,
}

impl Versions {
    /// Returns whether the agent in C has these metrics, which the one in Rust does not have.
    fn have(&self, later: &[&str]) -> bool {
        let (since_6_2, since_6_3, since_7_1) = (
            later.contains(&"sample.not_ready_msec"),
            later.contains(&"sample.updown.control.mode"),
            release() >= [7, 1, 0],
        );
        match self {
            Versions::All => true,
            Versions::Of6_2And6_3 => since_6_2 && !since_7_1,
            Versions::Since6_2 => since_6_2,
            Versions::Since6_3 => since_6_3,
            Versions::Since7_1 => since_7_1,
        }
    }
}

/// The differences, in the order of the script.
const DIFFERENCES: &[Differ] = &[
    // The agent's options for debugging, `sample.control`, are a text, no longer a number.
    Differ {
        versions: Versions::Since7_1,
        times: 1,
        lines: &[
            "C:        Data Type: string  InDom: PM_INDOM_NULL 0xffffffff",
            "Rust:     Data Type: 32-bit int  InDom: PM_INDOM_NULL 0xffffffff",
        ],
    },
    NO_SEMANTICS,
    // The agents of 6.2 and 6.3 have no help text for a metric that they do not know.
    Differ {
        versions: Versions::Of6_2And6_3,
        times: 1,
        lines: &[
            "C:    sample.bad.unknown One-line Help: Error: One-line or help text is not available",
            "Rust: sample.bad.unknown One-line Help: Error: Unknown or illegal metric identifier",
            "C:    Full Help: Error: One-line or help text is not available",
            "Rust: Full Help: Error: Unknown or illegal metric identifier",
        ],
    },
    Differ {
        versions: Versions::Since7_1,
        times: 1,
        lines: &[
            "C:        Data Type: string  InDom: PM_INDOM_NULL = 4294967295 = 0xffffffff",
            "Rust:     Data Type: 32-bit int  InDom: PM_INDOM_NULL = 4294967295 = 0xffffffff",
        ],
    },
    NO_SEMANTICS,
    Differ {
        versions: Versions::Since7_1,
        times: FETCHES,
        lines: &["C:        value \"\"", "Rust:     value 0"],
    },
    // An agent in Rust has values for the instances of a domain only, not for `bin-250`.
    Differ {
        versions: Versions::All,
        times: 1,
        lines: &[
            "C:    pmNameIndom: indom=29.2 inst=250: Unknown or illegal instance identifier",
            "C:        inst [250] value 250",
            "Rust:     inst [200 or \"bin-200\"] value 250",
            "C:    pmNameIndom: indom=29.2 inst=450: Unknown or illegal instance identifier",
            "C:        inst [450] value 450",
            "Rust:     inst [400 or \"bin-400\"] value 450",
            "C:    pmNameIndom: indom=29.2 inst=650: Unknown or illegal instance identifier",
            "C:        inst [650] value 650",
            "Rust:     inst [600 or \"bin-600\"] value 650",
            "C:    pmNameIndom: indom=29.2 inst=850: Unknown or illegal instance identifier",
            "C:        inst [850] value 850",
            "Rust:     inst [800 or \"bin-800\"] value 850",
        ],
    },
    // The text 0 is none of the agent's options for debugging.
    Differ {
        versions: Versions::Since7_1,
        times: 1,
        lines: &[
            "C:    sample.control: new value=\"0\" pmStore: Impossible value or scale conversion",
            "C:    [exit 1]",
            "Rust: sample.control old value=0 new value=0",
            "Rust: [exit 0]",
        ],
    },
    // `updown.obs`: after a store to `updown.control.repeat` the count begins again. With PCP 6.0's agent, and
    // in Rust, a count that has begun goes on, so each value comes one fetch later.
    Differ {
        versions: Versions::Since6_3,
        times: 1,
        lines: &[
            "C:        value 60",
            "Rust:     value 10",
            "C:        value 10",
            "Rust:     value 60",
            "C:        value -40",
            "Rust:     value 10",
            "C:        value -10",
            "Rust:     value -40",
            "C:        value 40",
            "Rust:     value -10",
            "C:        value 10",
            "Rust:     value 40",
            "C:        value -40",
            "Rust:     value 10",
            "C:        value -10",
            "Rust:     value -40",
            "C:        value 40",
            "Rust:     value -10",
            "C:        value 10",
            "Rust:     value 40",
            "C:        value -40",
            "Rust:     value 10",
            "C:        value -10",
            "Rust:     value -40",
        ],
    },
    // Two values of `needprofile` are others.
    Differ {
        versions: Versions::Since6_2,
        times: 1,
        lines: &[
            "C:           5.000        26.00   ",
            "C:           5.000        26.00   ",
            "Rust:       12.05          5.260  ",
            "Rust:       12.05          5.260  ",
        ],
    },
];

/// A metric that is not supported has no semantics in C, which is none of PCP's.
const NO_SEMANTICS: Differ = Differ {
    versions: Versions::All,
    times: 1,
    lines: &[
        "C:        Semantics: ??? (0)  Units: none",
        "Rust:     Semantics: instant  Units: none",
    ],
};

/// The number of fetches of all metrics.
const FETCHES: usize = 7;

/// The metrics of later versions of the agent in C, by their numbers: that of 6.2, those of 6.3, then those of
/// 7.2, whose units PCP 6 does not have. The agent in Rust has the metrics of PCP 6.0.
const LATER: [&str; 16] = [
    "sample.not_ready_msec",
    "sample.updown.control.mode",
    "sample.updown.control.reset",
    "sample.temperature.celsius",
    "sample.temperature.fahrenheit",
    "sample.temperature.kelvin",
    "sample.voltage.volt",
    "sample.voltage.millivolt",
    "sample.voltage.microvolt",
    "sample.current.amp",
    "sample.current.milliamp",
    "sample.current.microamp",
    "sample.power.kilowatt",
    "sample.power.watt",
    "sample.power.milliwatt",
    "sample.power.microwatt",
];

/// Metrics that are compared for themselves: one that differs, and those of events, whose values in C
/// share an array, so that all instances of a fetch have the records of the last one.
const APART: [&str; 4] = [
    "sample.bogus_bin",
    "sample.event.records",
    "sample.event.highres_records",
    "sample.event.no_indom_records",
];

/// The metrics whose names the agent has, not pmcd's name space. Agents in Rust tell them in
/// alphabetical order, the one in C in that of its table, so they are asked for by their names.
const SECRETS: [&str; 9] = [
    "sample.ghosts.visible",
    "sample.secret.bar",
    "sample.secret.foo.bar.four",
    "sample.secret.foo.bar.grunt.five",
    "sample.secret.foo.bar.grunt.snort.huff.puff.seven",
    "sample.secret.foo.bar.grunt.snort.six",
    "sample.secret.foo.bar.three",
    "sample.secret.foo.one",
    "sample.secret.foo.two",
];

/// The name space of the agent in C, which both have here: some of its names are those of no metric
/// that the agent knows, or of one that has another name as well.
fn name_space(environment: &Environment) -> std::path::PathBuf {
    let names = fs::read_to_string(pcp::agent("sample").join("pmns")).expect("part of the agent");
    let comment = Regex::new(r"(?s)/\*.*?\*/").expect("a pattern");
    let names = comment.replace_all(&names, "").replace("SAMPLE:", "29:");
    let file = environment.directory.join("names");
    fs::write(&file, format!("root {{ sample }}\n{names}")).expect("target is writable");
    file
}

/// The metrics of the name space, without those of `SECRETS`.
fn metrics(names: &str) -> Vec<String> {
    let mut below = Vec::new();
    let mut metrics = Vec::new();
    let node = Regex::new(r"(?m)^(sample[\w.]*) \{\n([^}]*)\}").expect("a pattern");
    for found in node.captures_iter(names) {
        below.push(found[1].to_owned());
        for line in found[2].lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (name, number) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            if number.trim().starts_with("29:0") {
                metrics.push(format!("{}.{name}", &found[1]));
            }
        }
    }
    assert!(metrics.len() > 150 && below.len() > 20, "{metrics:?}");
    metrics
}

/// The answers without what differs from moment to moment (times, processes, sizes, the state of the
/// machine), and without these differences: the agent in C counts PDUs and who sends them, while one
/// in Rust is called for requests that need values, instances or names. Agents in Rust tell instances
/// in the order of their numbers, and names in alphabetical order. (`ctx` is the number that pmcd gives
/// to a client: another one while pmcd has not noticed the end of the client before.)
fn steady(text: &str) -> String {
    let metrics = "daemon_pid|pid_daemon|seconds|milliseconds|step|step_counter|sysinfo|datasize|pdu|\
                   recv_pdu|xmit_pdu|start|end|ctx";
    let single = Regex::new(&format!(r"(?m)^(sample\.(?:\w+\.)*(?:{metrics}))\n    value .*$")).expect("a pattern");
    let text = single.replace_all(text, "$1\n    value N").into_owned();
    let many = Regex::new(r"(?m)^(sample\.(?:proc\.time|ulonglong\.bin|ulonglong\.bin_ctr))\n((?:    inst .*\n)*)");
    let value = Regex::new(r"value \d+").expect("a pattern");
    let masked = |found: &Captures<'_>| format!("{}\n{}", &found[1], value.replace_all(&found[2], "value N"));
    let text = many.expect("a pattern").replace_all(&text, masked).into_owned();
    // pminfo shows the labels of instances below the metric that comes next, or below their own.
    let scrambled = Regex::new(
        r"(?m)^(sample\.scramble\.bin\n(?:    labels .*\n)?(?:\nsample\..*\n    labels .*\n)?)((?:    inst .*\n)+)",
    );
    let sorted = |found: &Captures<'_>| {
        let mut lines: Vec<&str> = found[2].lines().collect();
        lines.sort_unstable();
        format!("{}{}\n", &found[1], lines.join("\n"))
    };
    let text = scrambled.expect("a pattern").replace_all(&text, sorted).into_owned();
    let old = Regex::new(r"(?m)^(sample\.(?:\w+_)?pdu) old value=\d+").expect("a pattern");
    let text = old.replace_all(&text, "$1 old value=N").into_owned();
    let names = Regex::new(r"(?m)^(?:sample\.ghosts\.\w+\n)+").expect("a pattern");
    let sorted = |found: &Captures<'_>| {
        let mut lines: Vec<&str> = found[0].lines().collect();
        lines.sort_unstable();
        lines.join("\n") + "\n"
    };
    let text = names.replace_all(&text, sorted).into_owned();
    let time = Regex::new(r"\d\d:\d\d:\d\d\.\d+").expect("a pattern");
    time.replace_all(&text, "TIME").into_owned()
}

/// The client script.
fn clients(pmcd: &Pmcd<'_>, metrics: &[String]) -> String {
    let mut all = String::new();
    let mut run = |tool: &str, args: &[&str]| {
        let answer = steady(&text(&pmcd.tool(tool, args)));
        all += &format!("$ {tool} {}\n{answer}", args[..args.len().min(3)].join(" "));
    };
    let metrics: Vec<&str> = metrics.iter().map(String::as_str).collect();
    let with_secrets = [&metrics[..], &SECRETS].concat();
    // From now on the instances of mirage stay.
    run("pmstore", &["sample.controller.mirage", "100000000"]);
    run("pminfo", &[&["-dm"], &with_secrets[..]].concat());
    run("pminfo", &[&["-l"], &with_secrets[..]].concat());
    run("pminfo", &[&["-tTI"], &metrics[..]].concat());
    for _ in 0..FETCHES {
        run("pminfo", &[&["-f"], &with_secrets[..]].concat());
    }
    for metric in APART {
        run("pminfo", &["-f", metric]);
        run("pminfo", &["-dmtT", metric]);
    }
    stores(&mut run);
    events(&mut run);
    ghosts(&mut run);
    run("pminfo", &["-dm", "sample.dynamic.meta.metric", "sample.nothing"]);
    all
}

/// A tool with its arguments.
type Run<'r> = dyn FnMut(&str, &[&str]) + 'r;

/// Everything that clients may change, what they may not, and values that do not fit.
fn stores(run: &mut Run<'_>) {
    for (metric, value) in [
        ("long.write_me", "-7"),
        ("long.write_me", "4000000000"),
        ("long.write_me", "text"),
        ("ulong.write_me", "7"),
        ("ulong.write_me", "-7"),
        ("longlong.write_me", "-7000000000"),
        ("ulonglong.write_me", "7000000000"),
        ("float.write_me", "7.5"),
        ("double.write_me", "-7.25"),
        ("string.write_me", "a longer text"),
        ("aggregate.write_me", "bytes"),
        ("write_me", "3"),
        ("bin", "5"),
        ("colour", "7"),
        ("mirage", "8"),
        ("mirage_longlong", "9"),
        ("drift", "1000"),
        ("negative.ctr.m_32", "-5"),
        ("negative.instant.m_64", "-6"),
        ("negative.discrete.m_float", "-7"),
        ("negative.ctr.m_double", "-8"),
        ("pdu", "0"),
        ("recv_pdu", "0"),
        ("xmit_pdu", "0"),
        ("many.count", "3"),
        ("many.count", "-3"),
        ("many.count", "8"),
        ("scramble.version", "0"),
        ("dodgey.control", "3"),
        ("updown.control.repeat", "1"),
        ("updown.control.step", "50"),
        ("updown.control.min", "-60"),
        ("updown.control.max", "60"),
        ("proc.reset", "1"),
        ("control", "0"),
        ("load", "1"),
        ("noinst", "1"),
        ("percontext.pdu", "1"),
        ("sysinfo", "1"),
        ("step_counter", "1"),
        ("event.type", "1"),
        ("bad.novalues", "1"),
        ("hordes.one", "1"),
    ] {
        run("pmstore", &[&format!("sample.{metric}"), value]);
    }
    run("pmstore", &["-i", "bin-300", "sample.bin", "42"]);
    run("pmstore", &["-i", "bin-350", "sample.bin", "42"]);
    run("pmstore", &["-i", "green", "sample.colour", "50"]);
    let changed = [
        "long.write_me",
        "ulong.write_me",
        "longlong.write_me",
        "ulonglong.write_me",
        "float.write_me",
        "double.write_me",
        "string.write_me",
        "aggregate.write_me",
        "write_me",
        "bin",
        "part_bin",
        "string.bin",
        "double.bin_ctr",
        "colour",
        "mirage",
        "mirage_longlong",
        "drift",
        "negative.ctr.m_32",
        "negative.ctr.m_64",
        "negative.ctr.m_float",
        "negative.ctr.m_double",
        "many.count",
        "many.int",
        "scramble.version",
        "scramble.bin",
        "dodgey.control",
        "dodgey.value",
        "updown.obs",
        "updown.control.repeat",
        "updown.control.step",
        "updown.control.min",
        "updown.control.max",
        "proc.ordinal",
        "proc.exec",
        "percontext.control.active",
        "percontext.control.start",
        "percontext.control.end",
        "percontext.control.ctx",
    ];
    let changed: Vec<String> = changed.iter().map(|name| format!("sample.{name}")).collect();
    let changed: Vec<&str> = changed.iter().map(String::as_str).collect();
    for _ in 0..12 {
        run("pminfo", &[&["-f"], &changed[..]].concat());
    }
    run("pminfo", &[&["-l"], &changed[..]].concat());
    // An error for the whole request, and chance.
    run("pmstore", &["sample.error_code", "-12345"]);
    run("pminfo", &["-f", "sample.error_code"]);
    run("pmprobe", &["-v", "sample.load"]);
    run("pmstore", &["sample.error_code", "0"]);
    run("pminfo", &["-f", "sample.error_check"]);
    for control in ["0", "-12349", "-12345", "1", "20", "5"] {
        run("pmstore", &["sample.dodgey.control", control]);
        for _ in 0..8 {
            run("pminfo", &["-f", "sample.dodgey.value"]);
        }
    }
    // A description that clients change.
    for (part, value) in [
        ("type", "3"),
        ("sem", "1"),
        ("units", "0"),
        ("type", "6"),
        ("type", "0"),
    ] {
        run("pmstore", &[&format!("sample.dynamic.meta.pmdesc.{part}"), value]);
        run("pminfo", &["-dfm", "sample.dynamic.meta.metric"]);
    }
    run(
        "pminfo",
        &[
            "-f",
            "sample.dynamic.meta.pmdesc.type",
            "sample.dynamic.meta.pmdesc.units",
        ],
    );
    // Clients that name instances.
    run("pmprobe", &["-v", "sample.needprofile"]);
    run(
        "pmval",
        &["-s", "2", "-t", "0.1", "-i", "terry", "-i", "fat", "sample.needprofile"],
    );
    run(
        "pmval",
        &["-s", "2", "-t", "0.1", "-i", "bin-100,bin-900", "sample.bucket"],
    );
    run(
        "pmprobe",
        &["-I", "sample.hordes", "sample.dynamic.counter", "sample.proc"],
    );
}

/// The cycle of records, with parameters and flags.
fn events(run: &mut Run<'_>) {
    for (reset, records) in [("reset", "records"), ("reset_highres", "highres_records")] {
        for place in ["0", "1", "2", "3", "7"] {
            run("pmstore", &[&format!("sample.event.{reset}"), place]);
            run("pminfo", &["-x", &format!("sample.event.{records}")]);
        }
    }
    for _ in 0..3 {
        run("pminfo", &["-x", "sample.event.no_indom_records"]);
    }
}

/// Names, instances and states of ghosts, who come and go.
fn ghosts(run: &mut Run<'_>) {
    let metrics = [
        "sample.ghosts.visible",
        "sample.ghosts.origin",
        "sample.ghosts.karma",
        "sample.ghosts.state",
    ];
    for visible in ["3", "0", "100", "-1"] {
        run("pmstore", &["sample.ghosts.visible", visible]);
        run("pminfo", &["sample.ghosts"]);
        for _ in 0..5 {
            run("pminfo", &[&["-dfm"], &metrics[..]].concat());
        }
        run("pmprobe", &["-I", "sample.ghosts.karma"]);
    }
}

#[test]
fn sample() -> Result<(), String> {
    if release() < [6, 0, 0] {
        skipped("5.3's agent: a fetch of all its metrics ends with an IPC protocol failure on the C library");
        return Ok(());
    }
    [Library::C, Library::Ours].into_iter().try_for_each(sample_on)
}

fn sample_on(library: Library) -> Result<(), String> {
    let (environment, _) = environment_on(library, "sample", &[]);
    let folder = environment.directory.join("pmdas/sample");
    let written = environment.run(
        daemon("sample"),
        &["-d", "29", "--write", &folder.display().to_string()],
    );
    assert_eq!(text(&written), "[exit 0]\n");
    assert_eq!(compile_help(&environment, &folder), "[exit 0]\n");
    let names = name_space(&environment);
    let own = fs::read_to_string(folder.join("pmns"))
        .expect("written")
        .replace("SAMPLE:", "29:");
    let own = metrics(&own);
    let mut metrics = metrics(&fs::read_to_string(&names).expect("just written"));
    // The agent in C says that it does not know the number of the first one.
    let (unknown, missing): (Vec<&str>, Vec<&str>) = metrics
        .iter()
        .map(String::as_str)
        .filter(|metric| !own.iter().any(|other| other == metric))
        .partition(|metric| *metric == "sample.bad.unknown");
    assert_eq!(unknown.len(), 1, "{metrics:?}");
    // Each version has those of the versions before it.
    assert!(LATER.starts_with(&missing), "{missing:?}");
    assert!(release() < [7, 2, 0] || missing.len() == LATER.len(), "{missing:?}");
    let differ = DIFFERENCES.iter().filter(|differ| differ.versions.have(&missing));
    let expected: Vec<&str> = differ.flat_map(|differ| differ.lines.repeat(differ.times)).collect();
    assert!(own.iter().all(|metric| metrics.contains(metric)), "{own:?}");
    metrics.retain(|metric| ![&APART[..], &LATER].concat().contains(&metric.as_str()));
    let answers = |program: &Path| -> Result<String, String> {
        let line = format!("sample 29 pipe binary {} -l sample.log -d 29\n", program.display());
        let pmcd = environment.pmcd(&line, &names)?;
        Ok(clients(&pmcd, &metrics))
    };
    let c = answers(&pcp::agent("sample").join("pmdasample"))?;
    let rust = answers(&daemon("sample"))?;
    fs::write(environment.directory.join("c.txt"), &c).expect("target is writable");
    fs::write(environment.directory.join("rust.txt"), &rust).expect("target is writable");
    assert_eq!(differences(&c, &rust), expected);
    Ok(())
}
