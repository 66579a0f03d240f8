//! Tests against servers of this process.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::document::{Document, Failure};
use super::network::proxy::Proxies;
use super::network::tls::Trust;
use super::network::{header_text, http};
use super::*;
use crate::secret::Secret;

mod requests;
mod tls;
mod waiting;

const LIMIT: Duration = Duration::from_millis(600);

/// A server on the loopback address: for each request it calls a function, which gets the lines of
/// the request and answers, and tells whether the connection goes on.
pub(crate) struct Server {
    port: u16,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// A server with this function.
    pub(crate) fn new(answer: impl Fn(&[String], &mut dyn Write) -> bool + Send + Sync + 'static) -> Server {
        Server::wrapping(answer, Some)
    }

    fn wrapping<C: Read + Write>(
        answer: impl Fn(&[String], &mut dyn Write) -> bool + Send + Sync + 'static,
        wrap: impl Fn(TcpStream) -> Option<C> + Send + Sync + 'static,
    ) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let connections = Arc::new(AtomicUsize::new(0));
        let (count, serve) = (Arc::clone(&connections), Arc::new((answer, wrap)));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                // A reply's head and body are two packets: the second is not to wait for the first.
                stream.set_nodelay(true).expect("a connection");
                let serve = Arc::clone(&serve);
                thread::spawn(move || {
                    let Some(stream) = (serve.1)(stream) else { return };
                    let mut stream = BufReader::new(stream);
                    while let Some(lines) = request(&mut stream) {
                        if !(serve.0)(&lines, stream.get_mut()) {
                            break;
                        }
                    }
                });
            }
        });
        Server { port, connections }
    }

    /// The address of its document.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/metrics", self.port)
    }
}

fn request(stream: &mut impl BufRead) -> Option<Vec<String>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => return Some(lines),
            line => lines.push(line.to_owned()),
        }
    }
}

/// Answers with the rest of the first line and more headers, and a body.
pub(crate) fn respond(out: &mut dyn Write, head: &str, body: &[u8]) -> bool {
    let head = format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n", body.len());
    out.write_all(head.as_bytes())
        .and_then(|()| out.write_all(body))
        .is_ok()
}

fn target(url: &str) -> Arc<Target> {
    Arc::new(Target::Http {
        url: Url::new(url),
        headers: Vec::new(),
        proof: None,
        secure: None,
    })
}

fn all(fetcher: &mut Fetcher, targets: &[Arc<Target>]) -> Vec<Result<(u16, String), Failure>> {
    let mut results: Vec<_> = targets.iter().map(|_| None).collect();
    for (number, target) in (0..).zip(targets) {
        fetcher.begin(number, Arc::clone(target), None);
    }
    fetcher.wait_for((0..targets.len() as u32).map(|source| (source, LIMIT * 10)));
    while let Some(outcome) = fetcher.next(None) {
        let text =
            |(status, document): (u16, Document)| (status, String::from_utf8_lossy(document.bytes()).into_owned());
        let place = &mut results[outcome.source as usize];
        assert!(place.replace(outcome.result.map(text)).is_none(), "twice");
    }
    results
        .into_iter()
        .map(|result| result.expect("each source has an outcome"))
        .collect()
}

fn one(target: &Arc<Target>) -> Result<(u16, String), Failure> {
    all(&mut Fetcher::new(Memory::new()), std::slice::from_ref(target)).remove(0)
}

fn reason(result: Result<(u16, String), Failure>) -> String {
    result.expect_err("no document").reason
}

#[test]
fn http_with_headers_on_one_connection() {
    let server = Server::new(|lines, out| {
        assert!(
            lines
                .iter()
                .any(|line| line == "Authorization: token x" || line == "authorization: token x")
        );
        respond(out, "200 OK", lines.first().expect("a request").as_bytes())
    });
    let headers = vec![("Authorization".to_owned(), Secret::new("token x"))];
    let target = [Arc::new(Target::Http {
        url: Url::new(&server.url()),
        headers,
        proof: None,
        secure: None,
    })];
    let mut fetcher = Fetcher::new(Memory::new());
    for _ in 0..3 {
        assert_eq!(
            all(&mut fetcher, &target),
            [Ok((200, "GET /metrics HTTP/1.1".to_owned()))]
        );
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
}

/// Whoever has no place waits for one, and is answered; those that have one keep it.
#[test]
fn more_sources_than_connections() {
    let open = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let (counted, largest) = (Arc::clone(&open), Arc::clone(&most));
    let server = Server::wrapping(
        |_, out| respond(out, "200 OK", b"x 1\n"),
        move |stream| {
            let now = counted.fetch_add(1, Ordering::SeqCst) + 1;
            largest.fetch_max(now, Ordering::SeqCst);
            Some(Counted(stream, Arc::clone(&counted)))
        },
    );
    let targets: Vec<_> = (0..60)
        .map(|number| target(&format!("{}/{number}", server.url())))
        .collect();
    let mut fetcher = Fetcher::new(Memory::new());
    let client = http::Client::limited(Proxies::default(), Trust::of_the_environment(), 12);
    assert!(fetcher.shared.client.set(client).is_ok());
    for request in 1..=2 {
        for got in all(&mut fetcher, &targets) {
            assert_eq!(got, Ok((200, "x 1\n".to_owned())), "request {request}");
        }
    }
    // The server sees the end of one later than the client, which has made another by then.
    let most = most.load(Ordering::SeqCst);
    assert!((6..=24).contains(&most), "{most}");
    let connections = server.connections.load(Ordering::SeqCst);
    // The first six serve again and again, the others once.
    assert!((12..=114).contains(&connections), "{connections}");
}

/// A connection of a server, which is counted as long as it is open.
struct Counted(TcpStream, Arc<AtomicUsize>);

impl Read for Counted {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(bytes)
    }
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn a_kept_connection_that_the_server_has_closed() {
    let server = Server::new(|_, out| {
        respond(out, "200 OK", b"x 1\n");
        false
    });
    let mut fetcher = Fetcher::new(Memory::new());
    for _ in 0..3 {
        assert_eq!(
            all(&mut fetcher, &[target(&server.url())]),
            [Ok((200, "x 1\n".to_owned()))]
        );
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn compressed_redirected_and_chunked() {
    // gzip of "x 1\n".
    const PACKED: [u8; 24] = [
        0x1f, 0x8b, 0x8, 0x0, 0x0, 0x0, 0x0, 0x0, 0x2, 0xff, 0xab, 0x50, 0x30, 0xe4, 0x2, 0x0, 0x23, 0xff, 0xa, 0x91,
        0x4, 0x0, 0x0, 0x0,
    ];
    let server = Server::new(|lines, out| match lines.first().map(String::as_str) {
        Some("GET /metrics HTTP/1.1") => respond(out, "302 Found\r\nLocation: /packed", b""),
        Some("GET /packed HTTP/1.1") => respond(out, "200 OK\r\nContent-Encoding: gzip", &PACKED),
        Some("GET /twice HTTP/1.1") => respond(
            out,
            "200 OK\r\nContent-Encoding: identity\r\nContent-Encoding: GZIP",
            &PACKED,
        ),
        _ => out
            .write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nx \r\n2\r\n2\n\r\n0\r\n\r\n")
            .is_ok(),
    });
    assert_eq!(one(&target(&server.url())), Ok((200, "x 1\n".to_owned())));
    assert_eq!(
        one(&target(&server.url().replace("metrics", "twice"))),
        Ok((200, "x 1\n".to_owned()))
    );
    assert_eq!(
        one(&target(&server.url().replace("metrics", "chunked"))),
        Ok((200, "x 2\n".to_owned()))
    );
}

#[test]
fn an_address_that_leads_to_itself_is_given_up() {
    let server = Server::new(|_, out| respond(out, "302 Found\r\nLocation: /metrics", b"moved"));
    let reason = reason(one(&target(&server.url())));
    assert_eq!(reason, "Exceeded 30 redirects.");
}

#[test]
fn refusals() {
    let server = Server::new(|_, out| respond(out, "404 Not Found", b"nothing"));
    let failure = one(&target(&server.url())).expect_err("404");
    assert_eq!(
        (failure.status, failure.reason),
        (404, format!("404 Client Error: Not Found for url: {}", server.url()))
    );
    // Nobody listens there.
    let port = TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a port")
        .port();
    assert!(reason(one(&target(&format!("http://127.0.0.1:{port}/")))).contains("refused"));
    for wrong in [
        "",
        "localhost:80",
        "ftp://x/",
        "http://",
        "http://[",
        "gopher://localhost/",
    ] {
        reason(one(&target(wrong)));
    }
}

#[test]
fn whoever_trickles_or_hangs_delays_nobody() {
    let slow = Server::new(|_, out| {
        let mut send = |bytes: &[u8]| out.write_all(bytes).and_then(|()| out.flush()).is_ok();
        let mut goes_on = send(b"HTTP/1.1 200 OK\r\n\r\n");
        while goes_on {
            thread::sleep(Duration::from_millis(20));
            goes_on = send(b"#");
        }
        false
    });
    let mute = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mute = format!("http://{}/", mute.local_addr().expect("bound"));
    let good = Server::new(|_, out| respond(out, "200 OK", b"x 1\n"));
    let hanging = [target(&mute), target(&slow.url())];
    let mut targets: Vec<_> = (0..60).map(|number| Arc::clone(&hanging[number % 2])).collect();
    targets.push(target(&good.url()));
    let mut fetcher = Fetcher::bounded(Memory::new(), LIMIT);
    let begun = Instant::now();
    let mut results = all(&mut fetcher, &targets);
    assert_eq!(results.pop(), Some(Ok((200, "x 1\n".to_owned()))));
    for result in results {
        let reason = reason(result);
        assert!(reason.contains("no answer within 0.6 s for url: "), "{reason}");
    }
    assert!(begun.elapsed() < LIMIT * 5, "{:?}", begun.elapsed());
}

#[test]
fn too_much_is_refused() {
    let server = Server::new(|_, out| {
        let mut goes_on = out.write_all(b"HTTP/1.1 200 OK\r\n\r\n").is_ok();
        while goes_on {
            goes_on = out.write_all(&[b'x'; 65536]).is_ok();
        }
        false
    });
    let mut fetcher = Fetcher::new(Memory::limited(8 << 20, 1 << 20));
    let result = all(&mut fetcher, &[target(&server.url())]).remove(0);
    assert_eq!(
        reason(result),
        format!("the document has more than 1048576 bytes for url: {}", server.url())
    );
}

/// Whoever may write to a folder leads root to no file that he may not read.
#[test]
fn a_link_that_others_may_have_put_there() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    fs::write(at("page"), "x 1\n").expect("written");
    fs::create_dir(at("folder")).expect("made");
    symlink(at("page"), at("folder/link")).expect("made");
    let read = || one(&Arc::new(Target::File(at("folder/link"))));
    let good = Ok((0, "x 1\n".to_owned()));
    assert_eq!(read(), good);
    fs::set_permissions(at("folder"), fs::Permissions::from_mode(0o777)).expect("its own");
    if nix::unistd::geteuid().is_root() {
        let expected = format!("[Errno 13] Permission denied: '{}'", at("folder/link").display());
        assert_eq!(reason(read()), expected);
    } else {
        assert_eq!(read(), good);
    }
}

/// A program. Another one writes it: while this process has it open, a child of another test has it
/// open, too, and it cannot be run.
fn script(directory: &Path, text: &str) -> Arc<Target> {
    let (from, path) = (directory.join("text"), directory.join("script"));
    fs::write(&from, text).expect("written");
    fs::set_permissions(&from, fs::Permissions::from_mode(0o755)).expect("its own");
    let copied = std::process::Command::new("cp").arg(&from).arg(&path).status();
    assert!(copied.is_ok_and(|status| status.success()));
    Arc::new(Target::Script(path))
}

#[test]
fn files_and_scripts() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("page");
    fs::write(&file, "x 1\n").expect("written");
    assert_eq!(one(&Arc::new(Target::File(file.clone()))), Ok((0, "x 1\n".to_owned())));
    let missing = one(&Arc::new(Target::File(directory.path().join("missing"))));
    let expected = format!(
        "[Errno 2] No such file or directory: '{}/missing'",
        directory.path().display()
    );
    assert_eq!(reason(missing), expected);
    let pipe = directory.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).expect("made");
    assert!(reason(one(&Arc::new(Target::File(pipe)))).ends_with("is no regular file"));
    let device = directory.path().join("device");
    symlink("/dev/zero", &device).expect("made");
    assert!(reason(one(&Arc::new(Target::File(device)))).ends_with("is no regular file"));
    let folder = Target::File(directory.path().to_owned());
    let expected = format!("[Errno 21] Is a directory: '{}'", directory.path().display());
    assert_eq!(reason(one(&Arc::new(folder))), expected);
    assert_eq!(
        one(&script(directory.path(), "#! /bin/sh\necho x 2\n")),
        Ok((0, "x 2\n".to_owned()))
    );
    let failed = one(&script(directory.path(), "#! /bin/sh\necho x 2\nexit 3\n"));
    let expected = format!(
        "Command '{}/script' returned non-zero exit status 3.",
        directory.path().display()
    );
    assert_eq!(reason(failed), expected);
    reason(one(&Arc::new(Target::Script(file))));
}

#[test]
fn a_script_that_hangs_ends_with_its_children() {
    let directory = tempfile::tempdir().expect("a directory");
    let mark = directory.path().join("mark");
    let given_up = |text: &str| {
        let mut fetcher = Fetcher::bounded(Memory::new(), LIMIT);
        let result = all(&mut fetcher, &[script(directory.path(), text)]).remove(0);
        assert!(reason(result).ends_with("has not ended in time and was killed"));
    };
    let text = format!("#! /bin/sh\n(sleep 2; touch {}) &\necho x 1\nwait\n", mark.display());
    given_up(&text);
    // Its stdout is closed, and it goes on.
    let text = format!("#! /bin/sh\nexec >&-\nsleep 2\ntouch {}\n", mark.display());
    given_up(&text);
    thread::sleep(Duration::from_secs(2));
    assert!(!mark.exists());
}
