//! Servers: one that writes down what it is asked, and one with certificates.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

/// A request: its first line, and its headers by their names in lower case.
pub struct Request {
    /// `GET TARGET HTTP/1.1`.
    pub line: String,
    headers: BTreeMap<String, String>,
}

impl Request {
    /// What is asked for.
    pub fn target(&self) -> &str {
        self.line.split(' ').nth(1).unwrap_or_default()
    }

    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// The headers that are written down.
const NOTED: [&str; 5] = ["authorization", "cookie", "host", "proxy-authorization", "x-secret"];

/// A server on a port of the loopback address, until the test ends.
pub struct Server {
    /// Its port.
    pub port: u16,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// One that answers by a function: the status line behind `HTTP/1.1`, headers, and the body.
    pub fn new(answer: impl Fn(&Request) -> (String, Vec<u8>) + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let port = listener.local_addr().expect("an address").port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (note, answer) = (Arc::clone(&seen), Arc::new(answer));
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (note, answer) = (Arc::clone(&note), Arc::clone(&answer));
                thread::spawn(move || serve(connection, &note, &*answer));
            }
        });
        Server { port, seen }
    }

    /// What was asked since the last call, in lines.
    pub fn seen(&self) -> Vec<String> {
        std::mem::take(&mut self.seen.lock().expect("nobody has panicked"))
    }
}

fn serve(connection: TcpStream, note: &Mutex<Vec<String>>, answer: &dyn Fn(&Request) -> (String, Vec<u8>)) {
    let mut out = connection.try_clone().expect("a descriptor is free");
    let mut lines = BufReader::new(connection).split(b'\n').map_while(Result::ok);
    let text = |line: Vec<u8>| String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned();
    while let Some(line) = lines.next().map(text) {
        let mut headers = BTreeMap::new();
        for line in lines.by_ref().map(text).take_while(|line| !line.is_empty()) {
            let (name, value) = line.split_once(": ").unwrap_or((&line, ""));
            headers.insert(name.to_lowercase(), value.to_owned());
        }
        let request = Request { line, headers };
        let mut noted = request.line.clone();
        for name in NOTED {
            if let Some(value) = request.header(name) {
                noted += &format!(" {name}={value}");
            }
        }
        note.lock().expect("nobody has panicked").push(noted);
        let (head, body) = answer(&request);
        let head = format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n", body.len());
        if out
            .write_all(head.as_bytes())
            .and_then(|()| out.write_all(&body))
            .is_err()
        {
            return;
        }
    }
}

/// `openssl s_server`, which serves the files of its folder.
pub struct SecureServer {
    process: Child,
    /// Its port.
    pub port: u16,
}

impl SecureServer {
    /// One with the key and the certificate of this name in the folder.
    pub fn start(folder: &Path, name: &str, options: &[&str]) -> SecureServer {
        let mut process = Command::new("openssl")
            .args([
                "s_server",
                "-accept",
                "127.0.0.1:0",
                "-WWW",
                "-key",
                &format!("{name}.key"),
                "-cert",
                &format!("{name}.pem"),
            ])
            .args(options)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("openssl is there");
        let lines = BufReader::new(process.stdout.take().expect("piped")).lines();
        let mut ports = lines
            .map_while(Result::ok)
            .filter_map(|line| line.strip_prefix("ACCEPT ")?.rsplit(':').next()?.parse().ok());
        let port = ports.next().expect("a port");
        // It writes on.
        thread::spawn(move || ports.count());
        SecureServer { process, port }
    }
}

impl Drop for SecureServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A folder with keys and certificates, and a page that a [`SecureServer`] of it serves.
pub fn certified() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a directory");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/comparison/certificates.sh");
    let made = Command::new("sh").arg(script).arg(folder.path()).status();
    assert!(made.is_ok_and(|status| status.success()));
    fs::write(folder.path().join("page"), "x 1\n").expect("written");
    folder
}
