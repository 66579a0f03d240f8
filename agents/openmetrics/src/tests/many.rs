//! A thousand sources at once, some of which fail.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use super::Host;
use crate::limits;

const SOURCES: u32 = 1000;

/// The time that the slow source takes, and the time that a request waits.
const SLOW: Duration = Duration::from_secs(4);
const WAIT: Duration = Duration::from_secs(2);

/// Answers `/NUMBER` by that number, `/slow` late, `/late` when a request reads no more documents, and
/// `/silent` never.
fn serve() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let port = listener.local_addr().expect("bound").port();
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let small = thread::Builder::new().stack_size(256 << 10);
            small.spawn(move || answer(connection)).expect("a thread");
        }
    });
    port
}

fn answer(connection: TcpStream) {
    let mut out = connection.try_clone().expect("a descriptor");
    let mut lines = BufReader::new(connection).lines().map_while(Result::ok);
    while let Some(request) = lines.next() {
        lines.by_ref().take_while(|line| !line.is_empty()).for_each(drop);
        let path = request.split(' ').nth(1).unwrap_or_default();
        let text = match path {
            "/silent" => continue,
            "/slow" | "/late" => {
                let late = limits::TAKES + Duration::from_millis(200);
                thread::sleep(if path == "/slow" { SLOW } else { late });
                "x 1\n".to_owned()
            }
            number => format!("x {}\n", &number[1..]),
        };
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", text.len());
        if out.write_all((head + &text).as_bytes()).is_err() {
            return;
        }
    }
}

/// A tenth of the sources is dead: some refuse a connection, others never answer. One more source
/// is slow. All others have values by the second request, which does not wait for the dead and the
/// slow ones (OM-90).
#[test]
fn a_thousand_sources_of_which_a_tenth_is_dead() {
    let port = serve();
    // A port that nobody listens at any more.
    let closed = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let closed = closed.expect("loopback").port();
    let host = Host::new();
    let mut pmcd = host.agent();
    pmcd.agent().timeout = WAIT;
    let is_dead = |number: u32| number % 10 == 0;
    for number in 0..SOURCES {
        let url = match number {
            1 => format!("http://127.0.0.1:{port}/slow"),
            _ if !is_dead(number) => format!("http://127.0.0.1:{port}/{number}"),
            _ if number % 20 == 0 => format!("http://127.0.0.1:{port}/silent"),
            _ => format!("http://127.0.0.1:{closed}/dead"),
        };
        fs::write(host.at(&format!("config.d/s{number}.url")), url + "\n").expect("written");
    }
    let names: Vec<String> = (0..SOURCES).map(|number| format!("openmetrics.s{number}.x")).collect();
    let well: Vec<&str> = (2..SOURCES)
        .filter(|number| !is_dead(*number))
        .map(|number| &*names[number as usize])
        .collect();
    let begun = Instant::now();
    drop(pmcd.fetch("openmetrics.control.calls"));
    let first = begun.elapsed();
    let values = pmcd.fetch_all(&well).expect("their names are known");
    let second = begun.elapsed() - first;
    for (name, values) in well.iter().zip(values) {
        let number = name
            .trim_matches(|letter: char| !letter.is_ascii_digit())
            .parse::<f64>()
            .ok();
        assert_eq!(values.expect(name).value::<f64>(), number, "{name}");
    }
    // Fifty silent ones, each waited for by itself, take a hundred seconds.
    assert!(first.max(second) < WAIT * 25, "{first:?}, {second:?}");
    // The slow one has values later, too, and delays nobody.
    let deadline = Instant::now() + SLOW * 2;
    while !pmcd
        .fetch("openmetrics.s1.x")
        .is_ok_and(|values| values.value::<f64>() == Some(1.0))
    {
        assert!(Instant::now() < deadline, "the slow source has no values");
        thread::sleep(Duration::from_millis(100));
    }
}

/// A large document is read when those of the other sources have been, whichever comes first.
#[test]
fn large_documents_are_read_last() {
    let host = Host::new();
    let large = |more: usize| "# nothing at all\n".repeat(limits::LARGE / 17 + more) + "x 1\n";
    host.page("a", large(1));
    host.page("b", large(0).replacen("# nothing at all\n", "", 1));
    for number in 0..20 {
        host.page(&format!("small{number}"), "x 1\n");
    }
    let mut pmcd = host.agent();
    pmcd.store("openmetrics.control.debug", 1_u32).expect("allowed");
    let names: Vec<String> = pmcd.names().expect("names");
    let asked: Vec<&str> = names
        .iter()
        .filter(|name| name.ends_with(".x"))
        .map(String::as_str)
        .collect();
    assert_eq!(asked.len(), 22);
    for _ in 0..3 {
        let before = pmcd.log().len();
        for values in pmcd.fetch_all(&asked).expect("values") {
            assert_eq!(values.expect("a value").value::<f64>(), Some(1.0));
        }
        let log = pmcd.log().split_off(before);
        let read: Vec<&str> = log.lines().filter(|line| line.contains("fetched ")).collect();
        let position = read.iter().position(|line| line.ends_with("/a.url"));
        assert_eq!((read.len(), position), (22, Some(21)), "{log}");
    }
}

/// A large document is read in each request, however long another source keeps the request waiting.
#[test]
fn a_large_document_beside_a_late_one() {
    let port = serve();
    let host = Host::new();
    let page = |number: usize| "# nothing at all\n".repeat(limits::LARGE / 17 + 1) + &format!("x {number}\n");
    host.page("large", page(0));
    fs::write(host.at("config.d/late.url"), format!("http://127.0.0.1:{port}/late\n")).expect("written");
    let mut pmcd = host.agent();
    pmcd.agent().timeout = SLOW;
    let deadline = Instant::now() + SLOW * 4;
    while pmcd.fetch("openmetrics.late.x").is_err() {
        assert!(Instant::now() < deadline, "the late source has no values");
        thread::sleep(Duration::from_millis(100));
    }
    for number in 1..=2 {
        host.page("large", page(number));
        let values = pmcd.fetch_all(&["openmetrics.large.x", "openmetrics.late.x"]);
        let values = values.expect("their names are known");
        let values = values
            .into_iter()
            .map(|values| values.ok().and_then(|values| values.value::<f64>()));
        assert_eq!(values.collect::<Vec<_>>(), [Some(number as f64), Some(1.0)]);
    }
}
