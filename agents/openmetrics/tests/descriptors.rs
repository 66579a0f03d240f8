//! More sources than the soft limit of descriptors allows connections: a process of its own, as the
//! limit is one of the process.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

use pmda::testing::Harness;
use pmda_openmetrics::OpenMetrics;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpStream};

/// Names of all sources.
const SOURCES: usize = 1100;

/// The soft limit that systems usually set.
const USUAL: u64 = 1024;

/// Answers each request on a connection, until its client closes it.
async fn serve(stream: TcpStream) {
    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nx 1\n";
    let mut bytes = [0; 4096];
    let mut asked = Vec::new();
    while stream.readable().await.is_ok() {
        match stream.try_read(&mut bytes) {
            Ok(0) => return,
            Ok(read) => asked.extend_from_slice(&bytes[..read]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
            Err(_) => return,
        }
        if asked.ends_with(b"\r\n\r\n") {
            asked.clear();
            if stream.writable().await.is_err() || stream.try_write(ANSWER).is_err() {
                return;
            }
        }
    }
}

/// A server that never closes a connection. Returns its port.
fn server() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    listener.set_nonblocking(true).expect("ours");
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a loop").block_on(async {
            let listener = TcpListener::from_std(listener).expect("ours");
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => drop(tokio::spawn(serve(stream))),
                    // No descriptor is left for now.
                    Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            }
        });
    });
    port
}

/// Other processes have no part in the limit: this one has both ends of each connection.
#[test]
fn as_many_sources_as_the_hard_limit_allows() {
    let before = getrlimit(Resource::Nofile);
    let needed = 2 * SOURCES as u64 + 500;
    assert!(
        before.maximum.is_none_or(|most| most >= needed),
        "ulimit -Hn is below {needed}"
    );
    let current = Some(USUAL);
    setrlimit(Resource::Nofile, Rlimit { current, ..before }).expect("it is lower");
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("config.d")).expect("made");
    let port = server();
    for number in 0..SOURCES {
        let url = format!("http://127.0.0.1:{port}/{number}\n");
        fs::write(at(&format!("config.d/s{number}.url")), url).expect("written");
    }
    // Another program writes it: this process must not have it open when it is run.
    fs::write(at("text"), "#! /bin/sh\nsleep 0.3\necho limit $(ulimit -Sn)\n").expect("written");
    fs::set_permissions(at("text"), fs::Permissions::from_mode(0o755)).expect("ours");
    let copied = Command::new("cp")
        .arg(at("text"))
        .arg(at("config.d/script.sh"))
        .status();
    assert!(copied.is_ok_and(|status| status.success()));

    let mut pmcd = Harness::<OpenMetrics>::builder()
        .folder(directory.path())
        .option("timeout", "4")
        .start()
        .expect("it starts");
    let names: Vec<String> = (0..SOURCES).map(|number| format!("openmetrics.s{number}.x")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    // The start is the first time that all are asked: they are known then, on a busy machine a little later.
    let deadline = Instant::now() + Duration::from_secs(60);
    let values = loop {
        match pmcd.fetch_all(&names) {
            Ok(values) => break values,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
    };
    let missing = values.iter().zip(&names).filter(|(value, _)| {
        let value = value.as_ref().ok().and_then(|fetched| fetched.value::<f64>());
        value != Some(1.0)
    });
    assert_eq!(missing.count(), 0);
    assert_eq!(getrlimit(Resource::Nofile).current, before.maximum);

    let limit = pmcd.fetch("openmetrics.script.limit").expect("a value").value::<f64>();
    assert_eq!(limit, Some(USUAL as f64));
}
