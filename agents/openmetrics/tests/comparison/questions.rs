//! What is asked, and the answers by document and question.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use pcp_pmda_test::pcp::{Pmcd, text};
use regex::Regex;

use crate::host::{Document, Host, OTHERS};

/// Answers by the name of the document and the question.
pub type Answers = BTreeMap<(String, String), String>;

/// All that is said about the metrics of a source.
pub fn about_source(pmcd: &Pmcd<'_>, host: &Host, source: &Document, round: &str, answers: &mut Answers) {
    about(pmcd, host, &source.name, round, answers);
}

/// All that is shown of a source: names, descriptions, texts, labels, instances and values.
pub fn shown(pmcd: &Pmcd<'_>, host: &Host, source: &str, round: &str, answers: &mut Answers) {
    let root = format!("openmetrics.{source}");
    let mut add = |question: String, answer: String| {
        answers.insert(
            (source.to_owned(), format!("{round}: {question}")),
            host.steady(&answer),
        );
    };
    for (metric, answer) in described(pmcd, &["-dfmtTlI", &root]) {
        add(format!("pminfo {metric}"), answer);
    }
    for (metric, answer) in lines(&text(&pmcd.tool("pmprobe", &["-v", &root]))) {
        add(format!("pmprobe -v {metric}"), answer);
    }
    for (metric, answer) in lines(&text(&pmcd.tool("pmprobe", &["-I", &root]))) {
        add(format!("pmprobe -I {metric}"), answer);
    }
}

/// All that is said about a source.
pub fn about(pmcd: &Pmcd<'_>, host: &Host, source: &str, round: &str, answers: &mut Answers) {
    shown(pmcd, host, source, round, answers);
    let root = format!("openmetrics.{source}");
    let mut add = |question: String, answer: String| {
        answers.insert(
            (source.to_owned(), format!("{round}: {question}")),
            host.steady(&answer),
        );
    };
    // One of them is enough: they are the same tool on the same answers.
    for metric in names(pmcd, &root).iter().filter(|metric| ONE_OF_MANY.is_match(metric)) {
        let args = ["-s", "2", "-t", "0.01", "-w", "30", metric];
        add(format!("pmval {metric}"), text(&pmcd.tool("pmval", &args)));
        add(format!("pmstore {metric}"), text(&pmcd.tool("pmstore", &[metric, "1"])));
    }
    if source != "instance_names" {
        return;
    }
    for metric in names(pmcd, &root) {
        for instance in INSTANCES {
            let args = ["-s", "1", "-t", "0.01", "-w", "30", "-i", instance, &metric];
            add(format!("pmval {metric}[{instance}]"), text(&pmcd.tool("pmval", &args)));
        }
    }
}

/// Names of instances that a user may write, whole and by their first word (OM-61).
const INSTANCES: [&str; 8] = ["0", "1 a:y", "disk", "disk write", "fan", "fan 1", "last", "nope"];

/// Some metrics, whichever others there are.
static ONE_OF_MANY: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(total|bytes|a|ok|m7|eth1|t32)$").expect("valid"));

/// The same about the control metrics, without what time does to them, and about sources that are
/// no documents.
pub fn about_control(pmcd: &Pmcd<'_>, host: &Host, answers: &mut Answers) {
    for source in OTHERS {
        about(pmcd, host, source, "first", answers);
    }
    static STATUS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(\]) value .*").expect("valid"));
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(\]) value \d+").expect("valid"));
    let many = names(pmcd, "openmetrics.many").join("\n");
    answers.insert(("many".to_owned(), "names".to_owned()), many);
    let status = text(&pmcd.tool("pminfo", &["-f", "openmetrics.control.status"]));
    for line in status.lines() {
        // Of the source's own document: it tells why there are no values.
        let source = line.split('"').nth(1).unwrap_or("control").to_owned();
        answers.insert((source, "status".to_owned()), host.steady(line));
    }
    let mut add = |question: String, answer: String| {
        answers.insert(("control".to_owned(), question), host.steady(&answer));
    };
    for (metric, answer) in described(pmcd, &["-dfmtTlI", "openmetrics.control"]) {
        let answer = if metric.ends_with(".status") {
            STATUS.replace_all(&answer, "$1 value TEXT").into_owned()
        } else if metric.contains("_time") || metric.contains("calls") {
            NUMBER.replace_all(&answer, "$1 value N").into_owned()
        } else {
            answer
        };
        add(format!("pminfo {metric}"), answer);
    }
    let mut logged = log(host);
    let mut stores: Vec<_> = ["1", "7", "0", "x"]
        .map(|value| ("openmetrics.control.debug", value))
        .into();
    stores.push(("openmetrics.control.calls", "1"));
    stores.push(("openmetrics.control.status", "text"));
    for (metric, value) in stores {
        add(
            format!("pmstore {metric} {value}"),
            text(&pmcd.tool("pmstore", &[metric, value])),
        );
        let debug = pmcd.tool("pminfo", &["-f", "openmetrics.control.debug"]);
        add(format!("debug after pmstore {metric} {value}"), text(&debug));
    }
    // In between the agents log, each in its own words, what they do for sources that are due.
    logged.extend(log(host).into_iter().filter(|line| line.contains(".control.debug: ")));
    for line in logged {
        // What is wrong is said in other words; what is done is said in the same.
        let is_same = line.starts_with("Info: ") || line.contains(" ignored config file ");
        let document = if is_same { "control" } else { "log" };
        answers.insert((document.to_owned(), format!("log: {line}")), String::new());
    }
}

/// Each line of the log without time and process, of any document, by its text: how often it comes
/// does not count.
fn log(host: &Host) -> BTreeSet<String> {
    static HEAD: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\[[^\]]*\] pmdaopenmetrics\(\d+\) (\w+: .*)$").expect("valid"));
    static TIMES: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"in \d+\.\d{4}s").expect("valid"));
    let log = host.log();
    let found = log.lines().filter_map(|line| HEAD.captures(line));
    let texts = found.map(|found| TIMES.replace(&found[1], "in TIME").into_owned());
    texts.map(|line| host.steady(&line)).collect()
}

/// What `pminfo` says, by metric.
fn described(pmcd: &Pmcd<'_>, args: &[&str]) -> BTreeMap<String, String> {
    let answer = text(&pmcd.tool("pminfo", args));
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut metric = String::new();
    for line in answer.lines().filter(|line| !line.is_empty() && *line != "[exit 0]") {
        if let Some(name) = line
            .split_whitespace()
            .next()
            .filter(|name| name.starts_with("openmetrics.") && line.contains(" PMID: "))
        {
            metric = name.to_owned();
        }
        let text = found.entry(metric.clone()).or_default();
        text.push_str(line);
        text.push('\n');
    }
    found
}

/// Lines by their first word.
fn lines(answer: &str) -> BTreeMap<String, String> {
    let first = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    answer.lines().map(|line| (first(line), line.to_owned())).collect()
}

fn names(pmcd: &Pmcd<'_>, root: &str) -> Vec<String> {
    let answer = text(&pmcd.tool("pminfo", &[root]));
    let mut names: Vec<_> = answer
        .lines()
        .filter(|line| line.starts_with("openmetrics."))
        .map(str::to_owned)
        .collect();
    names.sort();
    names
}

/// PMID and domain of each metric, and the number of each instance.
pub fn numbers(pmcd: &Pmcd<'_>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (metric, answer) in described(pmcd, &["-dm", "openmetrics"]) {
        let pmid = answer
            .split(" PMID: ")
            .nth(1)
            .and_then(|rest| rest.split_whitespace().next());
        let domain = answer
            .split("InDom: ")
            .nth(1)
            .and_then(|rest| rest.split_whitespace().next());
        found.insert(metric, format!("{pmid:?} {domain:?}"));
    }
    for line in text(&pmcd.tool("pmprobe", &["-I", "openmetrics"])).lines() {
        let mut parts = line.split('"');
        let metric = parts
            .next()
            .unwrap_or_default()
            .split(' ')
            .next()
            .unwrap_or_default()
            .to_owned();
        for name in parts.step_by(2).filter(|name| !name.is_empty()) {
            found.insert(
                format!("{metric}[{name}]"),
                name.split(' ').next().unwrap_or_default().to_owned(),
            );
        }
    }
    found
}

/// What a person would type at dbpmda. The first answer there is that the agent is ready, so each
/// request is answered one later.
pub fn by_dbpmda(host: &Host, answers: &mut Answers) {
    let script = format!(
        "open pipe {}\nwait 5\nlabel cluster 144.1\nlabel cluster 144.0\nlabel cluster 144.4000\nlabel indom 144.0\nlabel indom 144.5120\n\
         label item 144.0.1\nlabel item 144.1.0\nlabel instances 144.5120\nlabel instances 144.0\ninstance 144.0\ninstance 144.5120\n\
         instance 144.4194303\ninstance 144.1\ntext 144.0.1\ntext 144.1.0\ntext 144.1.1000\ntext 511.0.144\ntext indom 144.0\n\
         text indom 144.5120\nchildren openmetrics\nname 144.0.2\nname 144.1.0\npmid openmetrics.control.calls\npmid openmetrics.nope\n\
         pmid openmetrics.control\ndesc 144.0.1\ndesc 144.0.9\ndesc 144.1.0\ndesc 144.1.1000\ndesc 144.4000.5\nfetch 144.1.0\n\
         fetch 144.1.1000\nfetch 144.0.9\nfetch 144.0.6\nfetch 144.4000.1\nfetch 144.0.6\nclose\nquit\n",
        host.command()
    );
    let answer = host.steady(&host.dbpmda(&script));
    static VOLATILE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"0x[0-9a-f]{9,}|\(pid: \d+\)|timestamp: \S+ \S+|daemon|Start \S+ PMDA").expect("valid")
    });
    let answer = VOLATILE.replace_all(&answer, "*").into_owned();
    for (number, part) in answer.split("dbpmda> ").enumerate() {
        let mut lines: Vec<_> = part.lines().collect();
        // Names come in the order of the agent's tree.
        if part.starts_with("children") || part.starts_with("name") || part.starts_with("pmid") {
            lines.sort_unstable();
        }
        let command = part.lines().next().unwrap_or_default();
        answers.insert(("dbpmda".to_owned(), format!("{number} {command}")), lines.join("\n"));
    }
}
