//! What requests have, and what becomes of replies.

use std::sync::Mutex as Shared;

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
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Arc::new(Target::Http {
        url: url.to_owned(),
        headers: headers.iter().map(own).collect(),
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

/// OM-91: which status is a failure, and its words, which are the server's own if it has some.
#[test]
fn statuses() {
    let (server, _) = remembering(|path, out| {
        let status = path.trim_start_matches('/').replace('_', " ");
        // Text of a header may be ISO 8859-1.
        let mut head = b"HTTP/1.1 ".to_vec();
        head.extend(status.chars().map(|letter| letter as u8));
        head.extend(b"\r\nContent-Length: 4\r\n\r\nx 1\n");
        out.write_all(&head).is_ok()
    });
    let mut fetcher = fetcher(&[]);
    let base = server.url().replace("/metrics", "");
    for (status, code, failure) in [
        ("200_OK", 200, None),
        ("299_Odd", 299, None),
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

/// OM-91: 30 redirections are followed.
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

/// A way that is permanent is gone at once the next time, as long as it leads to a document.
#[test]
fn where_an_address_has_moved() {
    let code = Arc::new(AtomicUsize::new(200));
    let answered = Arc::clone(&code);
    let (server, seen) = remembering(move |path, out| {
        let location = |status: &str, to: &str| format!("{status} Moved\r\nLocation: {to}");
        match path {
            "/metrics" => respond(out, &location("301", "/second"), b""),
            "/second" => respond(out, &location("308", "/new"), b""),
            "/mixed" => respond(out, &location("301", "/found"), b""),
            "/found" => respond(out, &location("302", "/third"), b""),
            "/third" => respond(out, &location("301", "/last"), b""),
            "/last" => respond(out, "200 OK", b"y 1\n"),
            _ => respond(out, &format!("{} x", answered.load(Ordering::SeqCst)), b"x 1\n"),
        }
    });
    let good = Ok((200, "x 1\n".to_owned()));
    let mut fetcher = fetcher(&[]);
    assert_eq!(ask(&mut fetcher, &server.url()), good);
    assert_eq!(paths(&seen), ["/metrics", "/second", "/new"]);
    for _ in 0..2 {
        assert_eq!(ask(&mut fetcher, &server.url()), good);
        assert_eq!(paths(&seen), ["/new"]);
    }
    // The way begins anew.
    code.store(400, Ordering::SeqCst);
    assert_eq!(ask(&mut fetcher, &server.url()).expect_err("400").status, 400);
    assert_eq!(paths(&seen), ["/new", "/metrics", "/second", "/new"]);
    assert_eq!(ask(&mut fetcher, &server.url()).expect_err("400").status, 400);
    assert_eq!(paths(&seen), ["/metrics", "/second", "/new"]);
    code.store(399, Ordering::SeqCst);
    for _ in 0..2 {
        assert_eq!(ask(&mut fetcher, &server.url()).expect("no failure").0, 399);
    }
    assert_eq!(paths(&seen), ["/metrics", "/second", "/new", "/new"]);
    // Only up to a step that is not for good.
    let mixed = server.url().replace("metrics", "mixed");
    for expected in [
        &["/mixed", "/found", "/third", "/last"][..],
        &["/found", "/third", "/last"],
    ] {
        assert_eq!(ask(&mut fetcher, &mixed), Ok((200, "y 1\n".to_owned())));
        assert_eq!(paths(&seen), expected);
    }
}

/// Of a reply that leads elsewhere a short body is read, so that the connection serves again; of a
/// long one the connection is given up.
#[test]
fn bodies_of_redirections() {
    // The next request may be sent before the connection of the last one is free.
    for (length, connections) in [(50_000, 1..=5), (1_000_000, 10..=11)] {
        let (server, _) = remembering(move |path, out| match path.len() {
            0..11 => respond(out, &format!("302 Found\r\nLocation: {path}x"), &vec![b'x'; length]),
            _ => respond(out, "200 OK", b"x 1\n"),
        });
        let url = server.url().replace("metrics", "");
        assert_eq!(ask(&mut fetcher(&[]), &url), Ok((200, "x 1\n".to_owned())));
        let found = server.connections.load(Ordering::SeqCst);
        assert!(connections.contains(&found), "{length}: {found}");
    }
}

/// OM-16, OM-96, OM-99: who is told what.
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
        &[("Accept", "text/html"), ("authorization", "no"), ("X-A", "1")],
    );
    assert_eq!(near.len(), 2);
    for lines in near {
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

/// OM-96: cookies go back to where they came from, those of longer paths first, in number and
/// length bounded.
#[test]
fn cookies() {
    let turn = AtomicUsize::new(0);
    let (server, seen) = remembering(move |path, out| {
        let mut set = String::new();
        let mut add = |cookie: &str| set.push_str(&format!("\r\nSet-Cookie: {cookie}"));
        match path {
            "/metrics/first" => {
                add("a=1; Path=/");
                add("b=2; Path=/metrics");
                add("c=3; Path=/other");
                add(&format!("full={}; Path=/", "x".repeat(limits::COOKIE - 4)));
                add(&format!("over={}; Path=/", "x".repeat(limits::COOKIE - 3)));
            }
            "/many" => {
                let turn = turn.fetch_add(1, Ordering::SeqCst);
                (0..80).for_each(|number| add(&format!("c{turn}n{number}=1; Path=/many")));
            }
            _ => {}
        }
        respond(out, &format!("200 OK{set}"), b"x 1\n")
    });
    let mut fetcher = fetcher(&[]);
    let base = server.url().replace("/metrics", "");
    let mut cookies = |path: &str, headers: &[(&str, &str)]| {
        let target = with_headers(&format!("{base}{path}"), headers);
        assert!(all(&mut fetcher, &[target]).remove(0).is_ok());
        let requests = std::mem::take(&mut *seen.lock().expect("no panic"));
        header(&requests[0], "Cookie")
    };
    assert_eq!(cookies("/metrics/first", &[]), None);
    let full = format!("full={}", "x".repeat(limits::COOKIE - 4));
    assert_eq!(cookies("/metrics/second", &[]), Some(format!("b=2; a=1; {full}")));
    assert_eq!(cookies("/", &[]), Some(format!("a=1; {full}")));
    assert_eq!(cookies("/metrics/x", &[("Cookie", "own=1")]).as_deref(), Some("own=1"));
    for _ in 0..14 {
        cookies("/many", &[]);
    }
    let all = cookies("/many", &[]).expect("many");
    // All but two of other paths.
    assert_eq!(all.split("; ").count(), limits::COOKIES - 2);
}

/// A source that shows a certificate of its own keeps its connection beside those of others.
#[test]
fn connections_of_sources_with_lines_of_their_own() {
    let server = Server::new(|_, out| respond(out, "200 OK", b"x 1\n"));
    let trusting = |path: &str| {
        Arc::new(Target::Http {
            url: server.url(),
            headers: Vec::new(),
            secure: Some(Arc::new(Secure {
                authorities: Some(path.into()),
                ..Secure::default()
            })),
        })
    };
    let mut fetcher = fetcher(&[]);
    for _ in 0..3 {
        for target in [trusting("/a"), trusting("/b"), target(&server.url())] {
            assert_eq!(all(&mut fetcher, &[target]), [Ok((200, "x 1\n".to_owned()))]);
        }
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 3);
}

/// OM-95: a proxy is asked for whole addresses of `http:`, and to connect for `https:`; it is told
/// who asks, and named where it fails.
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
        assert_eq!(connect::bytes(text), expected, "{text}");
    }
}
