//! Sources over the network: addresses, secrets, odd answers, proxies and certificates.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pcp_pmda_test::pcp::{Pmcd, text};

use crate::between;
use crate::differences::{self, Row};
use crate::host::{Host, Which};
use crate::questions::{self, Answers};
use crate::server::{Request, SecureServer, Server, certified};

/// Both agents in one scene, which differs as these rows say.
fn compare(rows: &[Row], scene: impl Fn(Which) -> Answers) {
    let [theirs, ours] = [Which::Python, Which::Ours].map(scene);
    assert!(theirs.len() > 3, "{theirs:#?}");
    differences::judge_by(&between(&theirs, &ours), rows);
}

/// What a program of Python prints, with the libraries that PCP's agent has.
fn python(program: &str) -> String {
    let output = Command::new("/usr/bin/python3").args(["-c", program]).output();
    let printed = String::from_utf8(output.expect("python3 is there").stdout).expect("a text");
    printed.trim().to_owned()
}

/// The version of a library in Python. Each system pairs requests and the urllib3 below it in its
/// own way: 2.28.1 with 1.26.12 in Debian 12, 2.31.0 with 2.0.7 in Ubuntu 24.04, 2.32.3 with 2.3.0
/// in Debian 13. What changed in them (OM-94, OM-96 to OM-98) did not change in ours, which is one
/// on all systems.
fn version(library: &str) -> [u32; 3] {
    let text = python(&format!("import {library}; print({library}.__version__)"));
    let parts: Vec<u32> = text.split('.').map(|part| part.parse().expect("a number")).collect();
    parts.try_into().expect("three numbers")
}

/// Whether requests looks in `~/.netrc` for a host whose address has a user, as it does since
/// CVE-2024-47081 was mended. Distributions mended it in older versions, whose number stayed.
fn prefers_netrc() -> bool {
    let program = r#"
import os, tempfile, requests
with tempfile.NamedTemporaryFile("w") as netrc:
    print("machine localhost login me password secret", file=netrc, flush=True)
    os.environ["NETRC"] = netrc.name
    print(requests.utils.get_netrc_auth("http://u:p@localhost/"))
"#;
    match python(program).as_str() {
        "('me', 'secret')" => true,
        "None" => false,
        other => panic!("neither a login nor none: {other:?}"),
    }
}

/// What has become of each source. Words about what has failed are those of libraries in Python.
fn outcomes(pmcd: &Pmcd<'_>, ports: &[u16], answers: &mut Answers) {
    let same = [
        "Client Error",
        "Server Error",
        "Failed to parse",
        "No connection adapters",
        "Invalid URL",
        "redirects.",
    ];
    for metric in ["status", "status_code"] {
        let answer = text(&pmcd.tool("pminfo", &["-f", &format!("openmetrics.control.{metric}")]));
        for line in answer.lines() {
            let (source, value) = line.split_once(" value ").unwrap_or((line, ""));
            let is_same =
                metric == "status_code" || value == "\"success\"" || same.iter().any(|part| value.contains(part));
            let value = if is_same {
                value.rsplit(".url: ").next().unwrap_or_default()
            } else {
                "failed"
            };
            // Our status for a failure without one of HTTP is -1 (OM-83).
            let value = if value == "-1" { "0" } else { value };
            answers.insert((metric.to_owned(), without(ports, source)), without(ports, value));
        }
    }
}

/// What a server was asked for, each line once.
fn requests(server: &Server, ports: &[u16], round: &str, answers: &mut Answers) {
    for line in server.seen() {
        // The version of HTTP that a proxy is asked for a tunnel in.
        let line = line.strip_prefix("CONNECT ").map_or(line.clone(), |rest| {
            format!("CONNECT {}", rest.split(' ').next().unwrap_or(rest))
        });
        answers.insert(
            ("requests".to_owned(), format!("{round}: {}", without(ports, &line))),
            String::new(),
        );
    }
}

fn without(ports: &[u16], text: &str) -> String {
    ports
        .iter()
        .fold(text.to_owned(), |text, port| text.replace(&port.to_string(), "PORT"))
}

/// `x 1` and a line end, packed by gzip, by deflate, and without a head.
const GZIP: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\xabP0\xe4\x02\x00#\xff\n\x91\x04\x00\x00\x00";
const ZLIB: &[u8] = b"\x78\x9c\xabP0\xe4\x02\x00\x02\xb0\x00\xd4";
const RAW: &[u8] = b"\xabP0\xe4\x02\x00";

/// Odd answers by path: the status and headers, and the body.
fn odd(path: &str, other: u16) -> (String, Vec<u8>) {
    let plain = b"x 1\n".to_vec();
    let packed = |coding: &str, body: &[u8]| (format!("200 OK\r\nContent-Encoding: {coding}"), body.to_vec());
    let to = |status: &str, location: &str| (format!("{status}\r\nLocation: {location}"), Vec::new());
    match path {
        "/nolocation" => ("302 Found".to_owned(), plain),
        "/s300" => to("300 Many", "/end"),
        "/s305" => to("305 Use Proxy", "/end"),
        "/s399" => ("399 What".to_owned(), plain),
        "/s600" => ("600 What".to_owned(), plain),
        "/s999" => ("999 What".to_owned(), plain),
        "/s404" => ("404 Gone fishing".to_owned(), plain),
        "/s404none" => ("404 ".to_owned(), plain),
        "/s503" => ("503 Service Unavailable".to_owned(), plain),
        "/gzip" => packed("GZIP", GZIP),
        "/xgzip" => packed("x-gzip", GZIP),
        "/padded" => packed("gzip", &[GZIP, &[0; 100]].concat()),
        "/junk" => packed("gzip", &[GZIP, b"junk"].concat()),
        "/twice" => packed("gzip", &[GZIP, GZIP].concat()),
        "/short" => packed("gzip", &GZIP[..18]),
        "/broken" => packed("gzip", &plain),
        "/gzempty" => packed("gzip", b""),
        "/zlib" => packed("deflate", ZLIB),
        "/raw" => packed("deflate", RAW),
        "/identity" => packed("identity, gzip", GZIP),
        "/br" => packed("br", &plain),
        "/head64" => (format!("200 OK\r\nX-L: {}", "x".repeat(64_000)), plain),
        "/heads" => (format!("200 OK{}", "\r\nX-L: 1".repeat(98)), plain),
        "/folded" => ("200 OK\r\nX-L: one\r\n two".to_owned(), plain),
        "/parens" => ("200 OK\r\nX(N): 1".to_owned(), plain),
        "/loc1" => to("302 Found", "/q?a=b c|d\u{fc}"),
        "/loc2" => to("307 Temporary", "../x/../y"),
        "/ftp" => to("302 Found", "ftp://localhost/z"),
        "/badport" => to("302 Found", "http://localhost:99999/z"),
        "/loop" => to("302 Found", "/loop"),
        "/other" => to("302 Found", &format!("http://127.0.0.1:{other}/x")),
        "/otherhost" => to("302 Found", &format!("http://localhost:{other}/y")),
        "/permanent" => to("301 Moved", "/end"),
        _ => ("200 OK".to_owned(), plain),
    }
}

const ODD: [&str; 33] = [
    "nolocation",
    "s300",
    "s305",
    "s399",
    "s600",
    "s999",
    "s404",
    "s404none",
    "s503",
    "gzip",
    "xgzip",
    "padded",
    "junk",
    "twice",
    "short",
    "broken",
    "gzempty",
    "zlib",
    "raw",
    "identity",
    "br",
    "head64",
    "heads",
    "folded",
    "parens",
    "loc1",
    "loc2",
    "ftp",
    "badport",
    "loop",
    "other",
    "otherhost",
    "permanent",
];

/// Behind `http://127.0.0.1:PORT`, and whole ones.
const TARGETS: [&str; 12] = [
    "/federate?match[]={job=\"node\"}",
    "/q?query=rate(x[5m])%20>%200",
    "/a%20b",
    "/x/../y",
    "/a|b^c",
    "/ü?x=ü#frag",
    "/%7e%2f%zz%41?%7e%20+'",
    "/a\\b;c,d:e@f!$&'()*+=~`<>\"{}[]?\\`<>{}[]'\"",
    "",
    "?x=1",
    "//double//x/./y/",
    "/%2e%2e/%2E./z",
];
const WHOLE: [&str; 15] = [
    "http://127.0.0.1:99999/m",
    "http://127.0.0.1:x/m",
    "http://127.0.0.1:-1/m",
    "http://user:p%40ss@127.0.0.1:PORT/user",
    "http://user@127.0.0.1:PORT/useronly",
    "HTTP://127.0.0.1:PORT/upper",
    "  http://127.0.0.1:PORT/blanks  ",
    "http://LOCALHOST:PORT/upperhost",
    "http://127.1:PORT/shorthost",
    "http:///m",
    "ftp://127.0.0.1/m",
    "127.0.0.1:80/m",
    "http://[::1/m",
    "http://127.0.0.1:0PORT/m15",
    "http:127.0.0.1:PORT/m16",
];

/// Addresses as they are sent, addresses that are refused, the meaning of answers, and the servers
/// that get secrets (OM-91, OM-94, OM-97, OM-99).
#[test]
fn addresses_and_odd_answers() {
    let other = Server::new(|_| ("200 OK".to_owned(), b"x 1\n".to_vec()));
    let other_port = other.port;
    let answer = move |request: &Request| odd(request.target(), other_port);
    let server = Server::new(answer);
    let ports = [server.port, other.port];
    let mut rows: Vec<Row> = vec![
        ("status", "\"twice\"", "OM-83"),
        ("requests", "other: GET /x", "OM-99"),
        ("requests", "other: GET /y", "OM-99"),
        ("requests", "other again: GET /x", "OM-99"),
        ("requests", "other again: GET /y", "OM-99"),
        ("status", "\"short\"", "OM-97"),
        ("status", "\"br\"", "OM-97"),
        ("values", "short", "OM-97"),
        ("values", "br", "OM-97"),
        ("values", "identity", "OM-97"),
        // A source without metrics is not asked again.
        ("requests", "again: GET /short", "OM-97"),
        ("requests", "again: GET /br", "OM-97"),
        ("requests", "again: GET /identity", "OM-97"),
        ("status_code", "\"short\"", "OM-97"),
        ("status_code", "\"br\"", "OM-97"),
        // A blank at the end of the address.
        ("requests", "start: GET /blanks", "OM-94"),
        // What to write in place of them.
        ("status", "\"whole10\"", "OM-94"),
        ("status", "\"whole11\"", "OM-94"),
    ];
    let (requests_version, urllib3_version) = (version("requests"), version("urllib3"));
    if urllib3_version < [2, 1, 0] {
        rows.extend([("values", "xgzip", "OM-97"), ("requests", "again: GET /xgzip", "OM-97")]);
    }
    if urllib3_version >= [1, 26, 13] {
        // A port with leading zeros.
        rows.extend([
            ("requests", "start: GET /m15 ", "OM-94"),
            ("status", "\"whole13\"", "OM-94"),
            ("status_code", "\"whole13\"", "OM-94"),
        ]);
    }
    if requests_version >= [2, 32, 0] {
        rows.push(("status", "\"badport\"", "OM-94"));
    }
    if ([2, 32, 0]..[2, 34, 0]).contains(&requests_version) {
        rows.extend([
            ("requests", "start: GET //double//x/y/ ", "OM-94"),
            ("requests", "start: GET /double//x/y/ ", "OM-94"),
        ]);
    }
    if requests_version >= [2, 34, 0] {
        // Other words for an address that is none.
        rows.extend(["\"whole1\"", "\"whole2\"", "\"whole12\""].map(|source| ("status", source, "OM-94")));
    }
    compare(&rows, |which| {
        let host = Host::new("addresses", which);
        let secrets = "HEADER: Authorization: token\nHEADER: X-Secret: s\n";
        for name in ODD {
            host.add_url(name, &format!("http://127.0.0.1:{}/{name}\n{secrets}", server.port));
        }
        for (number, target) in TARGETS.iter().enumerate() {
            host.add_url(
                &format!("target{number}"),
                &format!("http://127.0.0.1:{}{target}\n{secrets}", server.port),
            );
        }
        for (number, address) in WHOLE.iter().enumerate() {
            let address = address.replace("PORT", &server.port.to_string());
            host.add_url(&format!("whole{number}"), &format!("{address}\n{secrets}"));
        }
        let mut answers = Answers::new();
        let pmcd = host.pmcd();
        outcomes(&pmcd, &ports, &mut answers);
        requests(&server, &ports, "start", &mut answers);
        requests(&other, &ports, "other", &mut answers);
        for name in ODD {
            let values = text(&pmcd.tool("pminfo", &["-f", &format!("openmetrics.{name}")]));
            answers.insert(("values".to_owned(), name.to_owned()), values);
        }
        requests(&server, &ports, "again", &mut answers);
        requests(&other, &ports, "other again", &mut answers);
        answers
    });
}

/// Cookies, and logins from `~/.netrc` (OM-96).
#[test]
fn cookies_and_netrc() {
    let server = Server::new(|request: &Request| match request.target() {
        "/sets" => (
            "200 OK\r\nSet-Cookie: c=1\r\nSet-Cookie: d=2; Path=/below".to_owned(),
            b"x 1\n".to_vec(),
        ),
        _ => ("200 OK".to_owned(), b"x 1\n".to_vec()),
    });
    let ports = [server.port];
    // Ours has cookies for each source.
    let mut rows = vec![
        ("requests", "gets: GET /gets ", "OM-96"),
        ("requests", "below: GET /below/x ", "OM-96"),
        ("user", "pminfo openmetrics.user.x", "OM-64"),
    ];
    if prefers_netrc() {
        rows.push(("requests", "user: GET /user ", "OM-96"));
    }
    compare(&rows, |which| {
        let host = Host::new("cookies", which);
        let at = |host: &str, path: &str| format!("http://{host}:{}/{path}\n", server.port);
        host.add_url("sets", &at("127.0.0.1", "sets"));
        host.add_url("gets", &at("127.0.0.1", "gets"));
        host.add_url("below", &at("127.0.0.1", "below/x"));
        host.add_url("own", &format!("{}HEADER: Cookie: mine=1\n", at("127.0.0.1", "own")));
        host.add_url("elsewhere", &at("localhost", "elsewhere"));
        host.add_url("user", &at("u:p@localhost", "user"));
        host.add_url(
            "header",
            &format!("{}HEADER: Authorization: token\n", at("localhost", "header")),
        );
        let netrc = host.write("netrc", "machine localhost login me password secret\n");
        let host = host.with_variable("NETRC", &netrc.display().to_string());
        let mut answers = Answers::new();
        let pmcd = host.pmcd();
        server.seen();
        for source in ["sets", "gets", "below", "own", "elsewhere", "user", "header"] {
            pmcd.tool("pminfo", &["-f", &format!("openmetrics.{source}")]);
            requests(&server, &ports, source, &mut answers);
        }
        outcomes(&pmcd, &ports, &mut answers);
        // Its address has a password, which ours does not show.
        questions::about(&pmcd, &host, "user", "secrets", &mut answers);
        assert_eq!(format!("{answers:?}").contains("u:p@"), which == Which::Python);
        answers
    });
}

/// The requests that go to a proxy, and those that do not (OM-95).
#[test]
fn proxies() {
    let direct = Server::new(|_| ("200 OK".to_owned(), b"x 1\n".to_vec()));
    let proxy = Server::new(|request: &Request| {
        if request.line.starts_with("CONNECT") {
            ("403 Forbidden".to_owned(), Vec::new())
        } else {
            ("200 OK".to_owned(), b"x 2\n".to_vec())
        }
    });
    let ports = [direct.port, proxy.port];
    compare(&[], |which| {
        let host = Host::new("proxies", which)
            .with_variable("http_proxy", &format!("http://me:pass@127.0.0.1:{}", proxy.port))
            .with_variable("https_proxy", &format!("http://127.0.0.1:{}/", proxy.port))
            .with_variable("no_proxy", &format!("127.0.0.0/8,localhost:{},.sub.test", direct.port));
        for (name, address) in [
            ("plain", "http://some.test/plain?x=1".to_owned()),
            ("port", "http://some.test:8080/port".to_owned()),
            ("tunnel", "https://some.test/tunnel".to_owned()),
            ("network", format!("http://127.0.0.1:{}/network", direct.port)),
            ("host_port", format!("http://localhost:{}/host_port", direct.port)),
            ("suffix", "http://a.sub.test/suffix".to_owned()),
            ("otherport", "http://localhost:81/otherport".to_owned()),
        ] {
            host.add_url(name, &format!("{address}\nHEADER: X-Secret: s\n"));
        }
        let mut answers = Answers::new();
        let pmcd = host.pmcd();
        outcomes(&pmcd, &ports, &mut answers);
        requests(&direct, &ports, "direct", &mut answers);
        requests(&proxy, &ports, "proxy", &mut answers);
        for source in ["plain", "network"] {
            questions::about(&pmcd, &host, source, "proxies", &mut answers);
        }
        answers
    });
}

/// If a server needs longer than the timeout, the source has no values in PCP's agent after the
/// start; in ours it has those of the request before (OM-90).
#[test]
fn slow_servers() {
    let slow = Server::new(|request: &Request| {
        if request.target() == "/slow" {
            std::thread::sleep(std::time::Duration::from_secs(3));
        }
        ("200 OK".to_owned(), b"x 1\n".to_vec())
    });
    let rows: &[Row] = &[
        ("values", "slow", "OM-90"),
        ("status", "\"slow\"", "OM-90"),
        ("status_code", "\"slow\"", "OM-90"),
    ];
    compare(rows, |which| {
        let host = Host::new("slow", which);
        for name in ["slow", "quick"] {
            host.add_url(name, &format!("http://127.0.0.1:{}/{name}\n", slow.port));
        }
        let mut answers = Answers::new();
        let pmcd = host.pmcd();
        // Ours is ready before the slow source has answered (OM-2).
        let is_known = |answer: &str| answer.contains("openmetrics.slow.x");
        let known = pmcd.tool_until("pminfo", &["openmetrics.slow"], is_known);
        assert!(known.is_ok(), "{known:?}");
        for round in ["first", "again"] {
            for name in ["slow", "quick"] {
                let values = text(&pmcd.tool("pminfo", &["-f", &format!("openmetrics.{name}.x")]));
                if which == Which::Ours && round == "again" {
                    assert!(values.contains("value 1\n"), "{values}");
                }
                answers.insert(("values".to_owned(), format!("{name} {round}")), values);
            }
        }
        outcomes(&pmcd, &[slow.port], &mut answers);
        answers
    });
}

/// A request without an answer costs one sample; the next request has values (OM-90).
#[test]
fn a_request_without_an_answer() {
    let is_mute = Arc::new(AtomicBool::new(false));
    let mute = Arc::clone(&is_mute);
    let server = Server::new(move |_| {
        if mute.load(Ordering::SeqCst) {
            std::thread::sleep(std::time::Duration::from_secs(120));
        }
        ("200 OK".to_owned(), b"x 1\n".to_vec())
    });
    compare(&[], |which| {
        let host = Host::new("mute", which);
        host.add_url("a", &format!("http://127.0.0.1:{}/metrics\n", server.port));
        let mut answers = Answers::new();
        let pmcd = host.pmcd();
        for (round, has_answer) in [("first", true), ("mute", false), ("again", true), ("last", true)] {
            is_mute.store(!has_answer, Ordering::SeqCst);
            let values = text(&pmcd.tool("pminfo", &["-f", "openmetrics.a.x"]));
            assert_eq!(values.contains("value 1\n"), has_answer, "{which:?} {round}: {values}");
            answers.insert(("values".to_owned(), round.to_owned()), values);
        }
        answers
    });
}

/// Certificates that an authority of the host's store has signed are trusted, whatever their kind;
/// others are not (OM-98).
#[test]
fn certificates() {
    let folder = certified();
    let servers: Vec<_> = [
        ("own", "own", "localhost", &[][..]),
        ("address", "address", "127.0.0.1", &[]),
        ("name_only", "name_only", "localhost", &[]),
        ("p521", "p521", "localhost", &[]),
        ("leaf", "leaf", "localhost", &[]),
        ("rsa", "own", "localhost", &["-tls1_2", "-cipher", "AES256-GCM-SHA384"]),
        (
            "cbc",
            "own",
            "localhost",
            &["-tls1_2", "-cipher", "ECDHE-RSA-AES256-SHA384"],
        ),
        ("unknown", "unknown", "localhost", &[]),
        ("wrong_name", "own", "127.0.0.1", &[]),
    ]
    .into_iter()
    .map(|(source, name, host, options)| (source, host, SecureServer::start(folder.path(), name, options)))
    .collect();
    let store = folder.path().join("store.pem").display().to_string();
    let needs_alternative_names = version("urllib3") >= [2, 0, 0];
    let rows: &[Row] = if needs_alternative_names {
        &[
            ("status", "\"name_only\"", "OM-98"),
            ("status_code", "\"name_only\"", "OM-98"),
            ("status", "\"leaf\"", "OM-98"),
            ("status_code", "\"leaf\"", "OM-98"),
        ]
    } else {
        &[]
    };
    // An empty one counts for nothing.
    for variables in [
        [("REQUESTS_CA_BUNDLE", store.as_str()), ("CURL_CA_BUNDLE", "/none")],
        [("REQUESTS_CA_BUNDLE", ""), ("CURL_CA_BUNDLE", &store)],
    ] {
        compare(rows, |which| {
            let host = variables
                .iter()
                .fold(Host::new("certificates", which), |host, (name, value)| {
                    host.with_variable(name, value)
                });
            for (source, name, server) in &servers {
                host.add_url(source, &format!("https://{name}:{}/page\n", server.port));
            }
            let mut answers = Answers::new();
            let pmcd = host.pmcd();
            outcomes(&pmcd, &[], &mut answers);
            let good = answers
                .iter()
                .filter(|((metric, _), value)| metric == "status" && *value == "\"success\"");
            let trusted = if needs_alternative_names && which == Which::Python {
                5
            } else {
                7
            };
            assert_eq!(good.count(), trusted, "{which:?}: {answers:#?}");
            questions::about(&pmcd, &host, "own", "https", &mut answers);
            answers.retain(|_, answer| !answer.contains("https://"));
            answers
        });
    }
}
