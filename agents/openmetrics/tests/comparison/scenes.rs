//! Sources that come, change and go while the agent runs, and sources over HTTP.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::thread;
use std::time::Duration;

use pcp_pmda_test::pcp::{Pmcd, text};

use crate::between;
use crate::differences;
use crate::host::{Host, Which};
use crate::questions::{self, Answers};

/// A server on a port of the loopback address, until the test ends.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            thread::spawn(move || serve(connection));
        }
    });
    port
}

fn serve(connection: TcpStream) {
    let mut answers = connection.try_clone().expect("a descriptor is free");
    let mut lines = BufReader::new(connection).lines().map_while(Result::ok);
    while let Some(request) = lines.next() {
        let mut page = String::from("# TYPE a counter\na{x=\"ü\"} 1\n");
        for line in lines.by_ref().take_while(|line| !line.is_empty()) {
            let (name, value) = line.split_once(": ").unwrap_or_default();
            if ["x-test", "accept"].contains(&name.to_lowercase().as_str()) {
                page += &format!("header{{name=\"{}\",value=\"{value}\"}} 1\n", name.to_lowercase());
            }
        }
        let path = request.split(' ').nth(1).unwrap_or_default();
        let (status, more) = match path {
            "/missing" => ("404 Not Found", ""),
            "/broken" => ("500 Internal Server Error", ""),
            "/moved" => ("302 Found", "Location: /good\r\n"),
            "/empty" => ("204 No Content", ""),
            _ => ("200 OK", ""),
        };
        let body = if path == "/empty" { "" } else { &page };
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n{more}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        if answers.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// Both agents in one scene.
fn compare(scene: impl Fn(Which) -> Answers) {
    compare_but(&[], scene);
}

/// The same, where these rows differ.
fn compare_but(rows: &[differences::Row], scene: impl Fn(Which) -> Answers) {
    let [theirs, ours] = [Which::Python, Which::Ours].map(scene);
    assert!(theirs.len() > 10, "{theirs:#?}");
    differences::judge_by(&between(&theirs, &ours), rows);
}

/// Status and number of calls of each source.
fn control(pmcd: &Pmcd<'_>, host: &Host, round: &str, answers: &mut Answers) {
    for metric in ["status", "status_code", "calls"] {
        let answer = text(&pmcd.tool("pminfo", &["-f", &format!("openmetrics.control.{metric}")]));
        // Our status for a failure without one of HTTP is -1 (OM-83).
        let answer = host.steady(&answer).replace(" value -1", " value 0");
        answers.insert(("control".to_owned(), format!("{round}: {metric}")), answer);
    }
}

/// A new source has values at once, and a changed file of an address is read again. The metrics of
/// a removed source stay without values, or are forgotten (OM-13, OM-14, OM-15, OM-63, OM-82,
/// OM-83, OM-84, OM-93).
#[test]
fn sources_come_change_and_go() {
    let rows = [("control", "end: status", "OM-84")];
    // PCP 7's agent takes away what a document does not have any more, as ours does.
    let rows = if differences::is_since((7, 0)) { &[] } else { &rows[..] };
    compare_but(rows, |which| {
        let host = Host::new("sources", which);
        host.add_document("one", "a{x=\"1\"} 1\nb 2\n");
        host.add_document("two", "a 1\n");
        let mut answers = Answers::new();
        let pmcd = host.pmcd();
        control(&pmcd, &host, "start", &mut answers);
        questions::about(&pmcd, &host, "one", "start", &mut answers);
        host.add_document("three", "c{y=\"1\"} 3\n");
        for source in ["one", "two", "three", "none"] {
            questions::about(&pmcd, &host, source, "one more", &mut answers);
        }
        host.remove_source("one.url");
        host.add_script("four.sh", "echo 'd 4'");
        // PCP's agent does not see each change that comes within a second of its last reading.
        thread::sleep(Duration::from_millis(1100));
        host.point_to("two", "three");
        for source in ["one", "two", "three", "four"] {
            questions::about(&pmcd, &host, source, "one less", &mut answers);
        }
        host.remove_document("three");
        for source in ["two", "three"] {
            questions::about(&pmcd, &host, source, "no document", &mut answers);
        }
        control(&pmcd, &host, "end", &mut answers);
        answers
    });
}

/// Labels follow each document, and labels beyond the limit cost no value. If two sources give a
/// metric the same name, the older source has it. Changed filters include again what they had
/// excluded (OM-18, OM-52, OM-66).
#[test]
fn labels_names_and_filters() {
    compare_but(&[("labels", "", "OM-18")], |which| {
        let host = Host::new("labels", which);
        let labelled = |value: &str| format!("m{{x=\"{value}\"}} 1\nother 1\n");
        host.add_document("turns", &labelled("y"));
        let pods: String = (0..300)
            .map(|pod| format!("kube_pod_labels{{pod=\"p{pod}\",label_{pod}=\"x\"}} {pod}\n"))
            .collect();
        host.add_document("pods", &pods);
        host.add_document("a", "b:good 1\nown 1\n");
        host.add_document("filtered", "in 1\nout 2\n");
        let filtered = |filter: &str| {
            let page = host.page("filtered");
            host.add_url("filtered", &format!("file://{}\n{filter}", page.display()));
        };
        filtered("FILTER: EXCLUDE METRIC out\n");
        let mut answers = Answers::new();
        let pmcd = host.pmcd();
        let mut ask = |question: &str, arguments: &[&str]| {
            let answer = host.steady(&text(&pmcd.tool("pminfo", arguments)));
            answers.insert(("labels".to_owned(), question.to_owned()), answer);
        };
        for (turn, value) in ["y", "x", "x", "y"].into_iter().enumerate() {
            host.add_document("turns", &labelled(value));
            ask(&format!("values in turn {turn}"), &["-f", "openmetrics.turns.m"]);
            ask(&format!("labels in turn {turn}"), &["-l", "openmetrics.turns.m"]);
        }
        ask("pods", &["-f", "openmetrics.pods"]);
        // Not from the start: of two new sources the order in the folder says which is the older.
        ask("older", &["-f", "openmetrics.a.own"]);
        thread::sleep(Duration::from_millis(1100));
        host.add_document("a.b", "good 2\nbetter 3\n");
        for name in ["a.b.good", "a.own", "a.b.better"] {
            ask(name, &["-f", &format!("openmetrics.{name}")]);
        }
        for (round, filter) in ["", "FILTER: EXCLUDE METRIC in\n"].into_iter().enumerate() {
            ask(&format!("included {round}"), &["-f", "openmetrics.filtered.in"]);
            ask(&format!("excluded {round}"), &["-f", "openmetrics.filtered.out"]);
            // PCP's agent does not see each change that comes within a second of its last reading.
            thread::sleep(Duration::from_millis(1100));
            filtered(filter);
            ask(&format!("changed {round}"), &["-f", "openmetrics.filtered.in"]);
        }
        ask("in, after all", &["-f", "openmetrics.filtered.in"]);
        ask("out, after all", &["-f", "openmetrics.filtered.out"]);
        let answer = |question: &str| &answers[&("labels".to_owned(), question.to_owned())];
        assert_eq!(answer("pods").matches(" value ").count(), 300, "{which:?}");
        assert!(answer("out, after all").contains("value 2"), "{which:?}");
        answers
    });
}

/// A source that only its owner may read or run has values or none, the same for both agents: that
/// depends on the user as whom the agents run (OM-1, OM-92).
#[test]
fn sources_of_their_owner_alone() {
    compare(|which| {
        let host = Host::new("owner", which);
        host.add_document("one", "a 1\n");
        host.add_script("two.sh", "echo 'b 2'");
        for (name, mode) in [("one.url", 0o600), ("two.sh", 0o700)] {
            let file = host.source_file(name);
            fs::set_permissions(file, fs::Permissions::from_mode(mode)).expect("its own");
        }
        let mut answers = Answers::new();
        let pmcd = host.pmcd();
        for source in ["one", "two"] {
            questions::about(&pmcd, &host, source, "owner", &mut answers);
        }
        answers
    });
}

/// Headers, redirections, failures and their status (OM-16, OM-31, OM-64, OM-83, OM-91).
#[test]
fn sources_over_http() {
    let port = server();
    compare(|which| {
        let host = Host::new("http", which);
        for path in ["good", "missing", "broken", "moved", "empty"] {
            host.add_url(
                path,
                &format!("http://127.0.0.1:{port}/{path}\nHEADER: X-Test: a  b: c\n"),
            );
        }
        host.add_url(
            "accept",
            &format!("http://127.0.0.1:{port}/good\nHEADER: accept: text/html\n"),
        );
        let mut answers = Answers::new();
        let pmcd = host.pmcd();
        for source in ["good", "missing", "broken", "moved", "empty", "accept"] {
            questions::about(&pmcd, &host, source, "http", &mut answers);
        }
        control(&pmcd, &host, "http", &mut answers);
        answers
    });
}

/// Our agent adds names to a large table, and Python's reads the table, even if ours was killed
/// before the new names counted (OM-72).
#[test]
fn a_table_that_grows() {
    let host = Host::new("grows", Which::Ours);
    let table = host.table(&format!("144.{}.py", 4096 + 1024));
    let inode = || fs::metadata(&table).expect("a table").ino();
    let series = |count: usize| -> String {
        let name = "n".repeat(40);
        (0..count)
            .map(|number| format!("m{{x=\"{name}{number}\"}} {number}\n"))
            .collect()
    };
    let ask = |pmcd: &Pmcd<'_>| {
        let answer = text(&pmcd.tool("pmprobe", &["-I", "openmetrics.one.m"]));
        let mut names: Vec<_> = answer.split('"').map(str::to_owned).collect();
        names.sort_unstable();
        names
    };
    host.add_document("one", &series(600));
    let ours = {
        let pmcd = host.pmcd();
        ask(&pmcd);
        let before = inode();
        host.add_document("one", &series(610));
        text(&pmcd.tool("pminfo", &["-f", "openmetrics.one.m"]));
        assert_eq!(inode(), before, "the table was written as a whole");
        ask(&pmcd)
    };
    assert!(ours.contains(&"openmetrics.one.m 610 ".to_owned()), "{ours:?}");
    let whole = fs::read(&table).expect("a table");
    let mut file = fs::OpenOptions::new().append(true).open(&table).expect("ours");
    file.write_all(b"half of it\np611\na").expect("written");
    drop(file);
    let host = host.with(Which::Python);
    // In this order new numbers would be others.
    let reversed: Vec<String> = series(610).lines().rev().map(|line| format!("{line}\n")).collect();
    host.add_document("one", &reversed.concat());
    assert_eq!(ask(&host.pmcd()), ours);
    let host = host.with(Which::Ours);
    host.add_document("one", &series(611));
    drop(host.pmcd());
    let after = text_of(&table);
    let begin = whole.len() - "I00\n.".len() - 1;
    assert!(after.as_bytes().starts_with(&whole[..begin]), "{after}");
    assert!(after.ends_with("610\np611\na.I01\n."), "{after}");
}

fn text_of(file: &Path) -> String {
    fs::read_to_string(file).expect("a table")
}

/// The option for the root renames the metrics of sources, too (OM-4).
#[test]
fn another_root() {
    let host = Host::new("root", Which::Ours).named("other");
    host.add_document("one", "a 1\n");
    let pmcd = host.pmcd();
    let names = text(&pmcd.tool("pminfo", &["-f", "other"]));
    assert!(
        names.contains("other.one.a\n    value 1") && names.contains("other.control.calls"),
        "{names}"
    );
}
