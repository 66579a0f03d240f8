//! Lines that ours alone knows: what they do behind a pmcd, and that PCP's agent takes no harm.

use std::thread;
use std::time::Duration;

use pcp_pmda_test::pcp::{Pmcd, text};

use crate::host::{Host, Which};
use crate::server::{SecureServer, certified};

fn answer(pmcd: &Pmcd<'_>, metric: &str) -> String {
    text(&pmcd.tool("pminfo", &["-f", &format!("openmetrics.{metric}")]))
}

/// The status of each source, without what is in front of it.
fn status(pmcd: &Pmcd<'_>, source: &str) -> String {
    let answer = answer(pmcd, "control.status");
    let line = answer.lines().find(|line| line.contains(&format!("\"{source}\"]")));
    let (_, value) = line.and_then(|line| line.split_once(" value ")).unwrap_or_default();
    value.to_owned()
}

/// Two servers of `openssl s_server`: one has a certificate that no authority has signed, the other
/// demands a client certificate (OM-22).
#[test]
fn certificates_of_sources() {
    let folder = certified();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (unknown, ca) = (at("unknown.pem"), at("own.pem"));
    let open = SecureServer::start(folder.path(), "unknown", &[]);
    let closed = SecureServer::start(
        folder.path(),
        "unknown",
        &["-Verify", "1", "-verify_return_error", "-CAfile", &ca],
    );
    let sources = [
        ("nothing", open.port, String::new(), false),
        ("ca", open.port, format!("CA: {unknown}\n"), true),
        ("other_ca", open.port, format!("CA: {ca}\n"), false),
        ("unverified", open.port, "VERIFY: no\n".to_owned(), true),
        ("anonymous", closed.port, format!("CA: {unknown}\n"), false),
        (
            "certified",
            closed.port,
            format!("CA: {unknown}\nCERT: {ca}\nKEY: {}\n", at("own.key")),
            true,
        ),
        (
            "wrong",
            closed.port,
            format!("CA: {unknown}\nCERT: {unknown}\nKEY: {}\n", at("unknown.key")),
            false,
        ),
        (
            "no_key",
            closed.port,
            format!("CA: {unknown}\nCERT: {ca}\nKEY: {}\n", at("none.key")),
            false,
        ),
    ];
    for which in [Which::Python, Which::Ours] {
        let host = Host::new("lines", which);
        for (name, port, lines, _) in &sources {
            host.add_url(name, &format!("https://localhost:{port}/page\n{lines}"));
        }
        let pmcd = host.pmcd();
        for (name, _, lines, is_good) in &sources {
            let is_good = *is_good && which == Which::Ours;
            let status = status(&pmcd, name);
            assert_eq!(status == "\"success\"", is_good, "{which:?} {name}: {status}");
            assert_eq!(
                answer(&pmcd, &format!("{name}.x")).contains("value 1\n"),
                is_good,
                "{which:?} {name}"
            );
            if which == Which::Python {
                for line in lines.lines() {
                    assert!(host.log().contains(line), "{line}");
                }
            }
        }
        if which == Which::Ours {
            let why = status(&pmcd, "no_key");
            let expected = format!("KEY: {}: No such file or directory", at("none.key"));
            assert!(why.contains(&expected), "{why}");
            assert_eq!(host.log().matches(&expected).count(), 1, "{}", host.log());
        }
    }
}

/// A script's own filters and interval: within the interval the script is not run again (OM-22).
#[test]
fn intervals_and_filters() {
    let host = Host::new("intervals", Which::Ours);
    let script = "#OPENMETRICS FILTER: EXCLUDE METRIC b\n#OPENMETRICS INTERVAL: 3600\necho a $(date +%s%N); echo b 1";
    host.add_script("script.sh", script);
    // A file that has just changed may change once more.
    thread::sleep(Duration::from_millis(200));
    let pmcd = host.pmcd();
    let first = answer(&pmcd, "script");
    assert!(
        first.contains("openmetrics.script.a\n    value ") && !first.contains("script.b"),
        "{first}"
    );
    assert_eq!(answer(&pmcd, "script"), first);
    assert!(answer(&pmcd, "control.calls").contains("\"script\"] value 1\n"));
}

/// A FIFO in place of a file of certificates does not block the agent, whichever setting names it
/// (OM-98).
#[test]
fn certificates_that_nobody_writes() {
    let folder = certified();
    let fifo = folder.path().join("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).expect("ours");
    let server = SecureServer::start(folder.path(), "own", &[]);
    for variable in ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"] {
        let host = Host::new("fifo", Which::Ours)
            .with_variable("REQUESTS_CA_BUNDLE", "")
            .with_variable("CURL_CA_BUNDLE", "")
            .with_variable(variable, &fifo.display().to_string());
        host.add_url("secure", &format!("https://localhost:{}/page\n", server.port));
        host.add_document("plain", "x 1\n");
        let pmcd = host.pmcd();
        assert!(answer(&pmcd, "plain.x").contains("value 1\n"));
        let status = status(&pmcd, "secure");
        assert!(
            status.contains(&format!("{variable} names {}", fifo.display())),
            "{status}"
        );
    }
}
