//! The content of requests, and the handling of replies.

use std::sync::Mutex as Shared;
use std::sync::atomic::AtomicBool;

use super::*;

/// A server that remembers the requests, each as its lines, and answers by the path.
fn remembering(
    answer: impl Fn(&str, &mut dyn Write) -> bool + Send + Sync + 'static,
) -> (Server, Arc<Shared<Vec<Vec<String>>>>) {
    let seen = Arc::new(Shared::new(Vec::new()));
    let remembered = Arc::clone(&seen);
    let server = Server::new(move |lines, out| {
        remembered.lock().expect("no panic").push(lines.to_vec());
        let path = lines[0].split(' ').nth(1).unwrap_or_default();
        answer(path, out)
    });
    (server, seen)
}

/// Takes the requests that a server has seen since the last call: the paths.
fn paths(seen: &Shared<Vec<Vec<String>>>) -> Vec<String> {
    let requests = std::mem::take(&mut *seen.lock().expect("no panic"));
    let path = |lines: &Vec<String>| lines[0].split(' ').nth(1).unwrap_or_default().to_owned();
    requests.iter().map(path).collect()
}

/// The value of a header of a request.
fn header(lines: &[String], name: &str) -> Option<String> {
    let mut found = lines.iter().filter_map(|line| {
        let (known, value) = line.split_once(": ")?;
        known.eq_ignore_ascii_case(name).then(|| value.to_owned())
    });
    let value = found.next();
    assert!(found.next().is_none(), "{name} is there twice: {lines:?}");
    value
}

fn with_headers(url: &str, headers: &[(&str, &str)]) -> Arc<Target> {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), Secret::new(value));
    Arc::new(Target::Http {
        url: Url::new(url),
        headers: headers.iter().map(own).collect(),
        proof: None,
        secure: None,
    })
}

/// A fetcher whose client asks by these proxies.
fn fetcher(proxies: &[(&str, String)]) -> Fetcher {
    let variables = proxies.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
    let client = http::Client::with(Proxies::of(variables), Trust::of_the_environment());
    let fetcher = Fetcher::bounded(Memory::new(), Duration::from_secs(20));
    assert!(fetcher.shared.client.set(client).is_ok());
    fetcher
}

fn ask(fetcher: &mut Fetcher, url: &str) -> Result<(u16, String), Failure> {
    all(fetcher, &[target(url)]).remove(0)
}

/// A status from 400 to 599 is a failure, reported with the server's own words if it sends some
/// (OM-91).
#[test]
fn statuses() {
    let (server, _) = remembering(|path, out| {
        let status = path.trim_start_matches('/').replace('_', " ");
        // Text of a header may be ISO 8859-1.
        let mut head = b"HTTP/1.1 ".to_vec();
        head.extend(status.chars().map(|letter| letter as u8));
        // An empty Location leads nowhere.
        head.extend(b"\r\nLocation:\r\nContent-Length: 4\r\n\r\nx 1\n");
        out.write_all(&head).is_ok()
    });
    let mut fetcher = fetcher(&[]);
    let base = server.url().replace("/metrics", "");
    for (status, code, failure) in [
        ("200_OK", 200, None),
        ("299_Odd", 299, None),
        ("302_Odd", 302, None),
        // Without a Location it leads nowhere.
        ("301_Moved", 301, None),
        ("399_Odd", 399, None),
        ("400_Own_words", 400, Some("400 Client Error: Own words")),
        ("404_", 404, Some("404 Client Error: ")),
        ("404", 404, Some("404 Client Error: ")),
        ("499_x", 499, Some("499 Client Error: x")),
        ("500_x", 500, Some("500 Server Error: x")),
        ("599_x", 599, Some("599 Server Error: x")),
        ("600_x", 600, None),
    ] {
        let url = format!("{base}/{status}");
        let expected = match failure {
            None => Ok((code, "x 1\n".to_owned())),
            Some(words) => Err(Failure {
                status: code,
                reason: format!("{words} for url: {url}"),
            }),
        };
        assert_eq!(ask(&mut fetcher, &url), expected, "{status}");
    }
}

/// Up to 30 redirections are followed (OM-91).
#[test]
fn redirections_are_counted() {
    let (server, seen) = remembering(|path, out| {
        let left: u32 = path.trim_start_matches('/').parse().expect("a number");
        match left.checked_sub(1) {
            None => respond(out, "200 OK", b"x 1\n"),
            Some(left) => respond(out, &format!("302 Found\r\nLocation: /{left}"), b"elsewhere"),
        }
    });
    let base = server.url().replace("/metrics", "");
    let mut fetcher = fetcher(&[]);
    assert_eq!(ask(&mut fetcher, &format!("{base}/30")), Ok((200, "x 1\n".to_owned())));
    assert_eq!(paths(&seen).len(), 31);
    let reason = reason(ask(&mut fetcher, &format!("{base}/31")));
    assert_eq!((reason.as_str(), paths(&seen).len()), ("Exceeded 30 redirects.", 31));
}

/// Each request asks the original address, even after a permanent redirection (301, 308): such a
/// reply may have been a passing fault of the server (OM-91).
#[test]
fn where_an_address_has_moved() {
    let (server, seen) = remembering(|path, out| match path {
        "/metrics" => respond(out, "301 Moved\r\nLocation: /second", b""),
        "/second" => respond(out, "308 Moved\r\nLocation: /new", b""),
        _ => respond(out, "200 OK", b"x 1\n"),
    });
    let mut fetcher = fetcher(&[]);
    for _ in 0..3 {
        assert_eq!(ask(&mut fetcher, &server.url()), Ok((200, "x 1\n".to_owned())));
        assert_eq!(paths(&seen), ["/metrics", "/second", "/new"]);
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
}

/// A source keeps one connection with its own server, and one with where that leads to; what lies
/// between is asked on connections of its own.
#[test]
fn connections_of_a_way_that_leads_elsewhere() {
    let last = Server::new(|_, out| respond(out, "200 OK", b"x 1\n"));
    let leading = |to: String| {
        let head = format!("302 Found\r\nLocation: {to}");
        Server::new(move |_, out| respond(out, &head, b""))
    };
    let between = leading(last.url());
    let first = leading(between.url());
    let mut fetcher = fetcher(&[]);
    for _ in 0..3 {
        assert_eq!(ask(&mut fetcher, &first.url()), Ok((200, "x 1\n".to_owned())));
    }
    let count = |server: &Server| server.connections.load(Ordering::SeqCst);
    assert_eq!([count(&first), count(&between), count(&last)], [1, 3, 1]);
}

/// Interim replies before a reply are bounded: an endless number of them costs neither time nor
/// memory.
#[test]
fn interim_replies() {
    let (server, _) = remembering(|path, out| {
        let mut interim = || out.write_all(&b"HTTP/1.1 100 Continue\r\n\r\n".repeat(40)).is_ok();
        match path {
            "/few" => interim() && respond(out, "200 OK", b"x 1\n"),
            _ => {
                while interim() {}
                false
            }
        }
    });
    let mut fetcher = fetcher(&[]);
    let few = server.url().replace("metrics", "few");
    for _ in 0..2 {
        assert_eq!(ask(&mut fetcher, &few), Ok((200, "x 1\n".to_owned())));
    }
    assert_eq!(
        reason(ask(&mut fetcher, &server.url())),
        format!(
            "more than {} bytes have arrived before the head of a reply was complete for url: {}",
            limits::HEAD,
            server.url()
        )
    );
}

/// The bytes of a body that are no data are bounded, too: zeros in front of the length of a chunk
/// cost neither time nor memory. Some of them are read, and a document may arrive byte by byte.
#[test]
fn bodies_without_data() {
    const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    const SAMPLE: &[u8] = b"4\r\nx 1\n\r\n0\r\n\r\n";
    let (server, _) = remembering(move |path, out| match path {
        "/bytes" => {
            let chunks = b"1\r\n#\r\n".repeat(10_000);
            out.write_all(&[CHUNKED, &chunks, SAMPLE].concat()).is_ok()
        }
        "/zeros" => out.write_all(&[CHUNKED, &vec![b'0'; 600_000], SAMPLE].concat()).is_ok(),
        _ => {
            let zeros = [b'0'; 1 << 16];
            let mut goes_on = out.write_all(CHUNKED).is_ok();
            while goes_on {
                goes_on = out.write_all(&zeros).is_ok();
            }
            false
        }
    });
    let mut fetcher = fetcher(&[]);
    let url = |path: &str| server.url().replace("metrics", path);
    for (path, length) in [("bytes", 10_004), ("zeros", 4), ("bytes", 10_004)] {
        let (status, document) = ask(&mut fetcher, &url(path)).expect("a document");
        assert_eq!((status, document.len()), (200, length), "{path}");
    }
    let words = "the server sends bytes without end that are no data of a document";
    assert_eq!(
        reason(ask(&mut fetcher, &server.url())),
        format!("{words} for url: {}", server.url())
    );
}

/// Trailers, extensions of chunks, lines and interim replies without end cost their source alone, and
/// a few of them no document.
#[test]
fn replies_without_end() {
    const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let (server, _) = remembering(move |path, out| {
        let (begin, piece): (&[u8], &[u8]) = match path {
            "/few" => {
                let reply = b"4;a=b\r\nx 1\n\r\n0;c\r\nX-Sum: 1\r\n\r\n";
                return out.write_all(&[CHUNKED, reply].concat()).is_ok();
            }
            "/trailers" => (b"4\r\nx 1\n\r\n0\r\n", b"X-Sum: 1\r\n"),
            "/trailer" => (b"4\r\nx 1\n\r\n0\r\nX-Sum: ", b"1111111111"),
            "/extension" => (b"4;", b"eeeeeeeeee"),
            "/status" => return endless(out, b"HTTP/1.1 200 ", b"OKOKOKOKOK"),
            "/heads" => return endless(out, b"HTTP/1.1 200 OK\r\n", b"X-Some: 1\r\n"),
            "/head" => return endless(out, b"HTTP/1.1 200 OK\r\nX-Some: ", b"1111111111"),
            _ => return endless(out, b"", b"HTTP/1.1 103 Early Hints\r\nContent-Length: 2\r\n\r\nxx"),
        };
        endless(out, &[CHUNKED, begin].concat(), piece)
    });
    let mut fetcher = fetcher(&[]);
    let url = |path: &str| server.url().replace("metrics", path);
    for path in ["trailers", "trailer", "extension", "status", "heads", "head", "interim"] {
        let why = reason(ask(&mut fetcher, &url(path)));
        assert!(!why.contains("no answer within") && why.len() < 1000, "{path}: {why}");
        assert_eq!(ask(&mut fetcher, &url("few")), Ok((200, "x 1\n".to_owned())), "{path}");
    }
}

/// Writes something, and then something else until nobody reads any more.
fn endless(out: &mut dyn Write, begin: &[u8], piece: &[u8]) -> bool {
    let pieces = piece.repeat(6000);
    let mut goes_on = out.write_all(begin).is_ok();
    while goes_on {
        goes_on = out.write_all(&pieces).is_ok();
    }
    false
}

/// A kept connection that the server closes in the middle of a reply has had the request: nobody is
/// asked twice.
#[test]
fn a_kept_connection_that_breaks_in_a_reply() {
    let count = AtomicUsize::new(0);
    let server = Server::new(move |_, out| match count.fetch_add(1, Ordering::SeqCst) {
        0 => respond(out, "200 OK", b"x 1\n"),
        _ => {
            out.write_all(b"HTTP/1.1 200 OK\r\nContent-").expect("written");
            false
        }
    });
    let mut fetcher = fetcher(&[]);
    assert!(ask(&mut fetcher, &server.url()).is_ok());
    ask(&mut fetcher, &server.url()).expect_err("half a head");
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
}

/// A document may be larger than the bytes that may arrive before a reply, on a connection that has
/// read ahead.
#[test]
fn large_documents_on_one_connection() {
    let (server, _) = remembering(|_, out| respond(out, "200 OK", &vec![b'#'; 8 * limits::HEAD]));
    let mut fetcher = fetcher(&[]);
    for _ in 0..4 {
        let (status, document) = ask(&mut fetcher, &server.url()).expect("a document");
        assert_eq!((status, document.len()), (200, 8 * limits::HEAD));
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
}

/// Of a reply that leads elsewhere a short body is read, so that the connection serves again; of a
/// long one the connection is given up.
#[test]
fn bodies_of_redirections() {
    for (length, connections) in [(50_000, 1), (1_000_000, 11)] {
        let (server, _) = remembering(move |path, out| match path.len() {
            0..11 => respond(out, &format!("302 Found\r\nLocation: {path}x"), &vec![b'x'; length]),
            _ => respond(out, "200 OK", b"x 1\n"),
        });
        let url = server.url().replace("metrics", "");
        assert_eq!(ask(&mut fetcher(&[]), &url), Ok((200, "x 1\n".to_owned())));
        assert_eq!(server.connections.load(Ordering::SeqCst), connections, "{length}");
    }
}

/// A redirection within the server keeps headers and secrets; one to another server drops them
/// (OM-16, OM-96, OM-99).
#[test]
fn headers_and_secrets() {
    let (other, seen_by_other) = remembering(|path, out| match path {
        path if path.starts_with("/to/") => {
            let port = &path["/to/".len()..];
            respond(out, &format!("302 Found\r\nLocation: http://127.0.0.1:{port}/end"), b"")
        }
        _ => respond(out, "200 OK", b"x 1\n"),
    });
    let port = other.port;
    let (server, seen) = remembering(move |path, out| match path {
        "/near" => respond(out, "302 Found\r\nLocation: /end", b""),
        path if path.starts_with("/far/") => {
            let own = &path["/far/".len()..];
            respond(
                out,
                &format!("302 Found\r\nLocation: http://127.0.0.1:{port}/to/{own}"),
                b"",
            )
        }
        _ => respond(out, "200 OK", b"x 1\n"),
    });
    let mut fetcher = fetcher(&[]);
    let own = server.port;
    let mut requests = |path: &str, headers: &[(&str, &str)]| {
        let url = format!("http://us%40er:p%3aw@127.0.0.1:{own}{path}");
        let got = all(&mut fetcher, &[with_headers(&url, headers)]).remove(0);
        assert_eq!(got, Ok((200, "x 1\n".to_owned())), "{path}");
        let take = |seen: &Shared<Vec<Vec<String>>>| std::mem::take(&mut *seen.lock().expect("no panic"));
        (take(&seen), take(&seen_by_other))
    };
    // "us@er:p:w" in base 64.
    let proof = Some("Basic dXNAZXI6cDp3".to_owned());
    let (near, _) = requests(
        "/near",
        &[
            ("Accept", "text/html"),
            ("authorization", "no"),
            ("X-A", "1"),
            ("x-aBC", "2"),
        ],
    );
    assert_eq!(near.len(), 2);
    for lines in near {
        assert!(
            lines.contains(&"x-aBC: 2".to_owned()),
            "names are sent as they are written"
        );
        assert_eq!(header(&lines, "Authorization"), proof);
        assert_eq!(header(&lines, "Accept").as_deref(), Some("text/html"));
        assert_eq!(header(&lines, "X-A").as_deref(), Some("1"));
        assert_eq!(header(&lines, "Accept-Encoding").as_deref(), Some("gzip, deflate"));
        assert!(header(&lines, "User-Agent").is_some_and(|name| name.starts_with("pmdaopenmetrics/")));
    }
    let (home, elsewhere) = requests(&format!("/far/{own}"), &[("X-A", "1")]);
    assert_eq!((home.len(), elsewhere.len()), (2, 1));
    assert_eq!(header(&home[0], "Authorization"), proof);
    // Back home, after another host has said where that is, nothing is shown either.
    for lines in [&elsewhere[0], &home[1]] {
        assert_eq!(header(lines, "Authorization"), None);
        assert_eq!(
            (header(lines, "X-A"), header(lines, "Accept").as_deref()),
            (None, Some("*/*"))
        );
    }
}

/// Each source has cookies of its own. A HEADER line with `Cookie` replaces them, and a refused
/// request drops them (OM-96).
#[test]
fn cookies() {
    let is_refusing = Arc::new(AtomicBool::new(false));
    let refuses = Arc::clone(&is_refusing);
    let (server, seen) = remembering(move |path, out| match path {
        _ if refuses.load(Ordering::SeqCst) => respond(out, "431 Request Header Fields Too Large", b""),
        "/metrics" => respond(out, "302 Found\r\nSet-Cookie: session=1\r\nLocation: /next", b""),
        _ => respond(out, "200 OK", b"x 1\n"),
    });
    let mut fetcher = fetcher(&[]);
    let mut cookies = |source: u32, headers: &[(&str, &str)]| {
        fetcher.begin(source, with_headers(&server.url(), headers), None);
        fetcher.wait_for([(source, LIMIT * 10)]);
        let _ = fetcher.next(None).expect("an answer");
        let requests = std::mem::take(&mut *seen.lock().expect("no panic"));
        let cookies = requests.iter().map(|lines| header(lines, "Cookie").unwrap_or_default());
        cookies.collect::<Vec<_>>()
    };
    for source in [1, 2] {
        assert_eq!(cookies(source, &[]), ["", "session=1"]);
        assert_eq!(cookies(source, &[]), ["session=1", "session=1"]);
    }
    assert_eq!(cookies(1, &[("Cookie", "own=1")]), ["own=1", "own=1"]);
    is_refusing.store(true, Ordering::SeqCst);
    assert_eq!(cookies(1, &[]), ["session=1"]);
    is_refusing.store(false, Ordering::SeqCst);
    assert_eq!(cookies(1, &[]), ["", "session=1"]);
    assert_eq!(cookies(2, &[]), ["session=1", "session=1"]);
}

/// Files with secrets are read again for each request. The secret goes to the source's own server
/// alone, and wins over HEADER and the address. If the file cannot be read, no request is sent
/// (OM-22).
#[test]
fn secrets_in_files() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("secret");
    let (server, seen) = remembering(|_, out| respond(out, "200 OK", b"x 1\n"));
    let url = server.url().replace("http://", "http://no:no@");
    let with = |proof: &Proof| {
        Arc::new(Target::Http {
            url: Url::new(&url),
            headers: vec![("Authorization".to_owned(), Secret::new("no"))],
            proof: Some(Arc::new(proof.clone())),
            secure: None,
        })
    };
    let token = Proof {
        token: Some(path.clone()),
        ..Proof::default()
    };
    let password = Proof {
        user: Some("us".to_owned()),
        password: Some(path.clone()),
        ..Proof::default()
    };
    let mut fetcher = fetcher(&[]);
    // "us:pw" in base 64.
    for (proof, text, expected) in [
        (&token, "first\n", "Bearer first"),
        (&token, "second", "Bearer second"),
        (&password, "pw\r\n", "Basic dXM6cHc="),
        // Text is UTF-8, of which a byte order mark is no part (RFC 7617).
        (&password, "\u{feff}abc\u{e9}\n", "Basic dXM6YWJjw6k="),
        (&token, "\u{feff}t\u{e9}", "Bearer t\u{e9}"),
    ] {
        fs::write(&path, text).expect("written");
        assert!(all(&mut fetcher, &[with(proof)]).remove(0).is_ok());
        let requests = std::mem::take(&mut *seen.lock().expect("no panic"));
        assert_eq!(header(&requests[0], "Authorization").as_deref(), Some(expected));
    }
    let of = |words: &str| words.replace("PATH", &path.display().to_string());
    for (proof, text, expected) in [
        (&token, " \n", "TOKEN_FILE: PATH: it is empty"),
        (&token, "a\nb", "TOKEN_FILE: PATH: no header can have its content"),
        (
            &Proof {
                user: None,
                ..password.clone()
            },
            "pw",
            "PASSWORD_FILE: there is no line USER: for it",
        ),
        (
            &Proof {
                password: None,
                ..password.clone()
            },
            "pw",
            "USER: there is no line PASSWORD_FILE: for it",
        ),
        (
            &Proof {
                fault: Some("config entry USER: has x".to_owned()),
                ..password.clone()
            },
            "pw",
            "config entry USER: has x",
        ),
    ] {
        fs::write(&path, text).expect("written");
        let got = all(&mut fetcher, &[with(proof)]).remove(0);
        assert_eq!(reason(got), of(expected));
    }
    fs::remove_file(&path).expect("ours");
    let got = reason(all(&mut fetcher, &[with(&token)]).remove(0));
    assert!(got.starts_with(&of("TOKEN_FILE: PATH: ")), "{got}");
    assert!(seen.lock().expect("no panic").is_empty(), "nobody is asked without");
}

/// As PCP's agent does, ours uses the part of a body that ends early, but for a line that is not
/// whole. A packed body that ends early is lost.
#[test]
fn bodies_that_end_early() {
    let (server, _) = remembering(|path, out| {
        let coding = if path == "/packed" {
            "Content-Encoding: gzip\r\n"
        } else {
            ""
        };
        let reply = format!("HTTP/1.1 200 OK\r\n{coding}Content-Length: 100\r\n\r\nx 1\ny 23");
        out.write_all(reply.as_bytes()).expect("written");
        false
    });
    let mut fetcher = fetcher(&[]);
    for _ in 0..2 {
        assert_eq!(ask(&mut fetcher, &server.url()), Ok((200, "x 1\n".to_owned())));
    }
    let packed = server.url().replace("metrics", "packed");
    assert!(reason(ask(&mut fetcher, &packed)).starts_with("end of file before message length reached"));
}

/// A name server that is mute delays neither files nor other hosts, however many names there are.
#[test]
fn a_mute_name_server() {
    const NAMES: u32 = 600;
    let server = Server::new(|_, out| respond(out, "200 OK", b"x 1\n"));
    let client = http::Client::looking_up(|name| {
        if name.starts_with("mute") {
            thread::sleep(Duration::from_secs(60));
        }
        Ok(vec![([127, 0, 0, 1], 0).into()])
    });
    let mut fetcher = Fetcher::bounded(Memory::new(), Duration::from_secs(60));
    assert!(fetcher.shared.client.set(client).is_ok());
    for number in 0..NAMES {
        fetcher.begin(number, target(&format!("http://mute{number}/")), None);
    }
    let directory = tempfile::tempdir().expect("a directory");
    let page = directory.path().join("page");
    fs::write(&page, "x 1\n").expect("written");
    fetcher.begin(NAMES, Arc::new(Target::File(page)), None);
    fetcher.begin(NAMES + 1, target(&server.url().replace("127.0.0.1", "good.test")), None);
    // The sources of the mute server would be waited for much longer.
    fetcher.wait_for([NAMES, NAMES + 1].map(|source| (source, Duration::from_secs(20))));
    for _ in 0..2 {
        let outcome = fetcher.next(None).expect("it does not wait for the others");
        assert!(
            outcome.source >= NAMES && outcome.result.is_ok(),
            "{:?}",
            outcome.result
        );
    }
}

/// Another address of the loopback network.
const OTHER: [u8; 4] = [127, 0, 0, 3];

/// A client for which `two` is [`OTHER`] and the usual address, and `dead` is [`OTHER`].
fn fetcher_of_two() -> Fetcher {
    let client = http::Client::looking_up(|name| {
        let (other, usual) = ((OTHER, 0).into(), ([127, 0, 0, 1], 0).into());
        Ok(if name == "two" { vec![other, usual] } else { vec![other] })
    });
    let fetcher = Fetcher::bounded(Memory::new(), Duration::from_secs(20));
    assert!(fetcher.shared.client.set(client).is_ok());
    fetcher
}

/// A server that closes each connection after its answer.
fn closing() -> Server {
    Server::new(|_, out| {
        respond(out, "200 OK", b"x 1\n");
        false
    })
}

/// An address of a host that takes no connection costs the first request a quarter of a second, and
/// no value; a later request begins with another address. Without another one, what is waited for is
/// known (OM-90).
#[test]
fn a_host_with_an_address_that_takes_no_connection() {
    let server = closing();
    let mute = TcpListener::bind((std::net::Ipv4Addr::from(OTHER), server.port)).expect("the port");
    rustix::net::listen(&mute, 0).expect("ours");
    let address = mute.local_addr().expect("bound");
    let connect = |_| TcpStream::connect_timeout(&address, Duration::from_millis(100)).ok();
    let full: Vec<_> = (0..4).map(connect).collect();
    assert!(full.iter().any(Option::is_none), "its queue is not full");
    let mut fetcher = fetcher_of_two();
    let url = |host: &str| server.url().replace("127.0.0.1", host);
    let mut times = Vec::new();
    for _ in 0..3 {
        let begun = Instant::now();
        assert_eq!(ask(&mut fetcher, &url("two")), Ok((200, "x 1\n".to_owned())));
        times.push(begun.elapsed());
    }
    let quarter = Duration::from_millis(250);
    assert!(times[0] >= quarter && times[1] < quarter, "{times:?}");
    fetcher.begin(9, target(&url("dead")), None);
    fetcher.wait_for([(9, quarter)]);
    assert!(fetcher.next(None).is_none());
    assert_eq!(fetcher.awaits(9), Awaits::Connection(vec![address]));
}

/// The second request of a source that is silent begins with another address of its host, and so do
/// those after it (OM-90).
#[test]
fn a_host_with_an_address_that_is_silent() {
    let server = closing();
    let _silent = TcpListener::bind((std::net::Ipv4Addr::from(OTHER), server.port)).expect("the port");
    let mut fetcher = fetcher_of_two();
    let url = server.url().replace("127.0.0.1", "two");
    fetcher.begin(0, target(&url), None);
    fetcher.wait_for([(0, Duration::from_millis(300))]);
    assert!(fetcher.next(None).is_none() && fetcher.may_begin(0));
    assert_eq!(fetcher.awaits(0), Awaits::Answer);
    for _ in 0..3 {
        fetcher.begin(0, target(&url), None);
        fetcher.wait_for([(0, Duration::from_secs(10))]);
        let outcome = fetcher.next(None).expect("the other address answers");
        assert!(
            outcome.result.is_ok() && outcome.took < Duration::from_secs(5),
            "{outcome:?}"
        );
    }
}

/// An address of IPv6 may name the network interface, which the server does not get to know.
#[test]
fn an_address_with_its_interface() {
    let listener = TcpListener::bind("[::1]:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = BufReader::new(stream);
            let lines = request(&mut stream).expect("a request");
            let host = header(&lines, "Host").expect("a host");
            respond(stream.get_mut(), "200 OK", host.as_bytes());
        }
    });
    // The loopback interface by its number, since it has no link-local address.
    for zone in ["%1", "%251"] {
        let got = ask(&mut fetcher(&[]), &format!("http://[::1{zone}]:{port}/"));
        assert_eq!(got, Ok((200, format!("[::1]:{port}"))), "{zone}");
    }
    let why = reason(ask(&mut fetcher(&[]), &format!("http://[fe80::1%25nowhere]:{port}/")));
    assert!(why.contains("nowhere"), "{why}");
}

/// Sources of a server that serves one connection at a time all have values: none keeps its connection
/// while others wait.
#[test]
fn a_server_of_one_connection_at_a_time() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = BufReader::new(stream);
            while request(&mut stream).is_some() && respond(stream.get_mut(), "200 OK", b"x 1\n") {}
        }
    });
    let targets: Vec<_> = (0..5)
        .map(|number| target(&format!("http://127.0.0.1:{port}/{number}")))
        .collect();
    let mut fetcher = fetcher(&[]);
    for round in 0..3 {
        let begun = Instant::now();
        for got in all(&mut fetcher, &targets) {
            assert_eq!(got, Ok((200, "x 1\n".to_owned())), "{round}");
        }
        assert!(
            begun.elapsed() < Duration::from_secs(2),
            "{round}: {:?}",
            begun.elapsed()
        );
    }
}

/// A reply whose length or version has two meanings is none, and the reason says so (OM-97).
#[test]
fn replies_with_two_meanings() {
    for (head, body) in [
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked",
            "0x4\r\nx 1\n\r\n0\r\n\r\n",
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: +4", "x 1\n"),
        ("HTTP/1.1 200 OK\r\nContent-Length: -1", "x 1\n"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551620", "x 1\n"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 3", "x 1\n"),
        ("HTTP/1.2 200 OK\r\nContent-Length: 4", "x 1\n"),
    ] {
        let server = Server::new(move |_, out| {
            let _ = out.write_all(format!("{head}\r\n\r\n{body}").as_bytes());
            false
        });
        let failure = ask(&mut fetcher(&[]), &server.url()).expect_err(head);
        assert!(
            failure.reason.ends_with(&format!(" for url: {}", server.url())),
            "{failure:?}"
        );
    }
}

/// A server that has answered beside a kept connection serves several at a time: a request to which it is
/// long in answering closes no connection of others.
#[test]
fn a_server_of_several_connections_at_a_time() {
    let server = Server::new(|lines, out| {
        if lines[0].starts_with("GET /slow ") {
            thread::sleep(Duration::from_millis(600));
        }
        respond(out, "200 OK", b"x 1\n")
    });
    let mut fetcher = fetcher(&[]);
    let paths = ["first", "second", "slow", "first", "second"];
    for (source, path) in [0, 1, 2, 0, 1].into_iter().zip(paths) {
        fetcher.begin(source, target(&server.url().replace("metrics", path)), None);
        fetcher.wait_for([(source, LIMIT * 10)]);
        let outcome = fetcher.next(None).expect("it answers");
        assert!(outcome.result.is_ok(), "{path}: {outcome:?}");
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 3);
}

/// A source that shows a certificate of its own keeps its connection beside those of others.
#[test]
fn connections_of_sources_with_lines_of_their_own() {
    let server = Server::new(|_, out| respond(out, "200 OK", b"x 1\n"));
    let trusting = |path: &str| {
        Arc::new(Target::Http {
            url: Url::new(&server.url()),
            headers: Vec::new(),
            proof: None,
            secure: Some(Arc::new(Secure {
                authorities: Some(path.into()),
                ..Secure::default()
            })),
        })
    };
    let mut fetcher = fetcher(&[]);
    for _ in 0..3 {
        let targets = [trusting("/a"), trusting("/b"), target(&server.url())];
        for got in all(&mut fetcher, &targets) {
            assert_eq!(got, Ok((200, "x 1\n".to_owned())));
        }
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 3);
    // A source whose lines have changed begins anew: the old connection was made with the old ones.
    assert!(all(&mut fetcher, &[trusting("/c")]).remove(0).is_ok());
    assert_eq!(server.connections.load(Ordering::SeqCst), 4);
}

/// A proxy gets whole addresses for `http:` and CONNECT for `https:`, each with the login of the
/// proxy; a failure names the proxy (OM-95).
#[test]
fn by_a_proxy() {
    let (proxy, seen) = remembering(|path, out| {
        if path == "refused.test:443" {
            return respond(out, "403 Forbidden", b"");
        }
        respond(out, "200 OK", b"x 1\n")
    });
    let named = format!("http://us:pw@127.0.0.1:{}", proxy.port);
    let mut fetcher = fetcher(&[("http_proxy", named.clone()), ("https_proxy", named)]);
    for _ in 0..2 {
        assert_eq!(
            ask(&mut fetcher, "http://some.test/m?x=1"),
            Ok((200, "x 1\n".to_owned()))
        );
    }
    let requests = std::mem::take(&mut *seen.lock().expect("no panic"));
    assert_eq!(requests.len(), 2);
    // "us:pw" in base 64.
    let proof = Some("Basic dXM6cHc=".to_owned());
    for lines in requests {
        assert_eq!(lines[0], "GET http://some.test/m?x=1 HTTP/1.1");
        assert_eq!(header(&lines, "Proxy-Authorization"), proof);
        assert_eq!(header(&lines, "Host").as_deref(), Some("some.test"));
    }
    assert_eq!(proxy.connections.load(Ordering::SeqCst), 1);
    let reason = reason(ask(&mut fetcher, "https://refused.test/"));
    let requests = std::mem::take(&mut *seen.lock().expect("no panic"));
    assert_eq!(requests[0][0], "CONNECT refused.test:443 HTTP/1.1");
    assert_eq!(header(&requests[0], "Proxy-Authorization"), proof);
    let by = format!(
        "(by the proxy http://127.0.0.1:{}) for url: https://refused.test/",
        proxy.port
    );
    assert!(reason.ends_with(&by), "{reason}");
}

/// Text goes out in ISO 8859-1 if that has all of it.
#[test]
fn bytes_of_texts() {
    for (text, expected) in [
        ("a\u{fc}", &b"a\xfc"[..]),
        ("\u{ff}\u{100}", "\u{ff}\u{100}".as_bytes()),
        ("", b""),
    ] {
        assert_eq!(header_text::bytes(text), expected, "{text}");
    }
}
