//! Debian's exporters: the document of each is recorded once, and both agents get the recorded
//! bytes. `make -C tests exporters` unpacks the exporters and runs this.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use pcp_pmda_test::pcp::text;
use pcp_pmda_test::target_dir;

use crate::between;
use crate::differences;
use crate::host::{Host, Which};
use crate::questions::{self, Answers};
use crate::server::Server;

/// The time in which an exporter has to be ready, on a busy machine.
const READY: Duration = Duration::from_secs(60);

/// A program that has documents. In its arguments, variables and files stand `{ROOT}` for the
/// folder that the packages were unpacked into, `{OWN}` for the program's own folder, and `{NAME}`
/// for the port of the program with that name. Nobody listens at port 1.
struct Program {
    name: &'static str,
    /// Below `usr`.
    file: &'static str,
    /// Separated by blanks.
    arguments: &'static str,
    /// A variable of its environment.
    variable: Option<(&'static str, &'static str)>,
    /// A file of its folder: name and text.
    configuration: Option<(&'static str, &'static str)>,
    /// Its documents: the name of the source, and the path. Without any it is a server that an
    /// exporter asks.
    pages: &'static [(&'static str, &'static str)],
}

impl Program {
    const fn new(name: &'static str, file: &'static str, arguments: &'static str) -> Program {
        Program {
            name,
            file,
            arguments,
            variable: None,
            configuration: None,
            pages: &[],
        }
    }

    const fn pages(self, pages: &'static [(&'static str, &'static str)]) -> Program {
        Program { pages, ..self }
    }

    const fn variable(self, name: &'static str, value: &'static str) -> Program {
        let variable = Some((name, value));
        Program { variable, ..self }
    }

    const fn configuration(self, name: &'static str, text: &'static str) -> Program {
        let configuration = Some((name, text));
        Program { configuration, ..self }
    }
}

const HAPROXY: &str = "global
  log stdout format raw local0
defaults
  mode http
  timeout client 5s
  timeout server 5s
  timeout connect 5s
frontend front
  bind 127.0.0.1:{haproxy}
  http-request use-service prometheus-exporter if { path /metrics }
  stats enable
  stats uri /stats
  default_backend back
backend back
  server nobody 127.0.0.1:1
";

const NGINX: &str = "daemon off;
master_process off;
pid nginx.pid;
error_log stderr;
events {}
http {
  access_log off;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  server {
    listen 127.0.0.1:{nginx};
    location /status { stub_status; }
  }
}
";

/// Servers come before the exporters that ask them.
const PROGRAMS: [Program; 20] = [
    Program::new("redis", "bin/redis-server", "{OWN}/redis.conf").configuration("redis.conf", "bind 127.0.0.1\nport {redis}\nsave \"\"\n"),
    Program::new("nginx", "sbin/nginx", "-p {OWN}/ -c {OWN}/nginx.conf").configuration("nginx.conf", NGINX),
    Program::new("haproxy", "sbin/haproxy", "-db -f {OWN}/haproxy.cfg")
        .configuration("haproxy.cfg", HAPROXY)
        .pages(&[("haproxy", "/metrics")]),
    Program::new(
        "etcd",
        "bin/etcd",
        "--data-dir {OWN} --listen-client-urls http://127.0.0.1:{etcd} --advertise-client-urls http://127.0.0.1:{etcd} --listen-peer-urls http://127.0.0.1:0",
    )
    .pages(&[("etcd", "/metrics")]),
    Program::new(
        "prometheus",
        "bin/prometheus",
        "--config.file=/dev/null --storage.tsdb.path={OWN} --web.listen-address=127.0.0.1:{prometheus}",
    )
    .pages(&[("prometheus", "/metrics")]),
    Program::new("pushgateway", "bin/prometheus-pushgateway", "--web.listen-address=127.0.0.1:{pushgateway}")
        .pages(&[("pushgateway", "/metrics")]),
    Program::new("node", "bin/prometheus-node-exporter", "--web.listen-address=127.0.0.1:{node}").pages(&[("node", "/metrics")]),
    Program::new(
        "process",
        "bin/prometheus-process-exporter",
        "-procnames redis-server,haproxy,etcd -web.listen-address 127.0.0.1:{process}",
    )
    .pages(&[("process", "/metrics")]),
    Program::new(
        "blackbox",
        "bin/prometheus-blackbox-exporter",
        "--config.file={ROOT}/etc/prometheus/blackbox.yml --web.listen-address=127.0.0.1:{blackbox}",
    )
    .pages(&[
        ("blackbox", "/metrics"),
        ("blackbox_good", "/probe?module=http_2xx&target=http://127.0.0.1:{pushgateway}/metrics"),
        ("blackbox_refused", "/probe?module=tcp_connect&target=127.0.0.1:1"),
    ]),
    Program::new(
        "snmp",
        "bin/prometheus-snmp-exporter",
        "--config.file={ROOT}/etc/prometheus/snmp.yml --web.listen-address=127.0.0.1:{snmp}",
    )
    .pages(&[("snmp", "/metrics")]),
    Program::new(
        "redis_exporter",
        "bin/prometheus-redis-exporter",
        "-redis.addr redis://127.0.0.1:{redis} -web.listen-address 127.0.0.1:{redis_exporter}",
    )
    .pages(&[("redis", "/metrics")]),
    Program::new(
        "nginx_exporter",
        "bin/prometheus-nginx-exporter",
        "-nginx.retries 20 -nginx.scrape-uri http://127.0.0.1:{nginx}/status -web.listen-address 127.0.0.1:{nginx_exporter}",
    )
    .pages(&[("nginx", "/metrics")]),
    Program::new(
        "haproxy_exporter",
        "bin/prometheus-haproxy-exporter",
        "--haproxy.scrape-uri=http://127.0.0.1:{haproxy}/stats;csv --web.listen-address=127.0.0.1:{haproxy_exporter}",
    )
    .pages(&[("haproxy_exporter", "/metrics")]),
    // Those that follow ask a server that is not there, and have their own metrics.
    Program::new("mysqld", "bin/prometheus-mysqld-exporter", "--web.listen-address=127.0.0.1:{mysqld}")
        .variable("DATA_SOURCE_NAME", "nobody@(127.0.0.1:1)/")
        .pages(&[("mysqld", "/metrics")]),
    Program::new("postgres", "bin/prometheus-postgres-exporter", "--web.listen-address=127.0.0.1:{postgres}")
        .variable("DATA_SOURCE_NAME", "postgresql://nobody@127.0.0.1:1/postgres?sslmode=disable")
        .pages(&[("postgres", "/metrics")]),
    Program::new(
        "apache",
        "bin/prometheus-apache-exporter",
        "--scrape_uri=http://127.0.0.1:1/ --telemetry.address=127.0.0.1:{apache}",
    )
    .pages(&[("apache", "/metrics")]),
    Program::new(
        "bind",
        "bin/prometheus-bind-exporter",
        "--bind.stats-url=http://127.0.0.1:1/ --web.listen-address=127.0.0.1:{bind}",
    )
    .pages(&[("bind", "/metrics")]),
    Program::new(
        "frr",
        "bin/prometheus-frr-exporter",
        "--frr.socket.dir-path={OWN} --web.listen-address=127.0.0.1:{frr}",
    )
    .pages(&[("frr", "/metrics")]),
    Program::new(
        "squid",
        "bin/prometheus-squid-exporter",
        "-squid-hostname 127.0.0.1 -squid-port 1 -listen 127.0.0.1:{squid}",
    )
    .pages(&[("squid", "/metrics")]),
    Program::new("ipmi", "bin/prometheus-ipmi-exporter", "--web.listen-address=127.0.0.1:{ipmi}").pages(&[("ipmi", "/metrics")]),
];

/// The programs that run, until it is dropped.
struct Exporters {
    own: PathBuf,
    ports: BTreeMap<&'static str, u16>,
    running: Vec<Child>,
}

impl Exporters {
    /// Starts all, each in a folder of its own below `own`.
    fn start(own: PathBuf) -> Exporters {
        // All ports are taken before one is given back, so that no two are the same.
        let listeners = PROGRAMS.map(|program| (program.name, TcpListener::bind("127.0.0.1:0").expect("loopback")));
        let port = |listener: &TcpListener| listener.local_addr().expect("an address").port();
        let ports = listeners
            .iter()
            .map(|(name, listener)| (*name, port(listener)))
            .collect();
        drop(listeners);
        let mut exporters = Exporters {
            own,
            ports,
            running: Vec::new(),
        };
        for program in &PROGRAMS {
            let process = exporters.run(program);
            exporters.running.push(process);
        }
        exporters
    }

    fn run(&self, program: &Program) -> Child {
        let own = self.own(program);
        fs::create_dir_all(&own).expect("target is writable");
        if let Some((file, text)) = program.configuration {
            fs::write(own.join(file), self.filled(program, text)).expect("target is writable");
        }
        let log = File::create(own.join("log")).expect("target is writable");
        let libraries = fs::read_dir(root().join("usr/lib")).expect("unpacked").flatten();
        let libraries = libraries
            .map(|entry| entry.path())
            .find(|path| path.to_string_lossy().ends_with("-gnu"));
        // The kernel ends it if the test is killed.
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL"])
            .arg(root().join("usr").join(program.file));
        let arguments = self.filled(program, program.arguments);
        command
            .args(arguments.split(' '))
            .current_dir(&own)
            .env("HOME", &own)
            .env("LD_LIBRARY_PATH", libraries.unwrap_or_default())
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a descriptor is free"))
            .stderr(log);
        if let Some((name, value)) = program.variable {
            command.env(name, value);
        }
        command.spawn().expect("setpriv is there")
    }

    fn own(&self, program: &Program) -> PathBuf {
        self.own.join(program.name)
    }

    fn filled(&self, program: &Program, text: &str) -> String {
        let folder = |path: &Path| path.display().to_string();
        let text = text
            .replace("{ROOT}", &folder(&root()))
            .replace("{OWN}", &folder(&self.own(program)));
        let ports = self.ports.iter();
        ports.fold(text, |text, (name, port)| {
            text.replace(&format!("{{{name}}}"), &port.to_string())
        })
    }

    /// The document of each source.
    fn documents(&self) -> BTreeMap<&'static str, Vec<u8>> {
        let pages = PROGRAMS
            .iter()
            .flat_map(|program| program.pages.iter().map(move |page| (program, page)));
        pages
            .map(|(program, (source, path))| {
                let url = format!(
                    "http://127.0.0.1:{}{}",
                    self.ports[program.name],
                    self.filled(program, path)
                );
                let begun = Instant::now();
                let document = loop {
                    match document(&url) {
                        Ok(document) => break document,
                        Err(error) if begun.elapsed() > READY => {
                            let log = fs::read_to_string(self.own(program).join("log")).unwrap_or_default();
                            panic!("{source} has no document: {error}\n{log}");
                        }
                        Err(_) => thread::sleep(Duration::from_millis(100)),
                    }
                };
                (*source, document)
            })
            .collect()
    }
}

impl Drop for Exporters {
    fn drop(&mut self) {
        for process in &mut self.running {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// The folder that the packages were unpacked into.
fn root() -> PathBuf {
    target_dir().join("exporters/root")
}

/// Prints the document of an address, as the library gets it by which PCP's agent asks.
const ASK: &str = "import requests, sys
reply = requests.get(sys.argv[1], timeout=20)
reply.raise_for_status()
sys.stdout.buffer.write(reply.content)
";

/// The document of an address.
///
/// # Errors
/// The reason why there is none yet.
fn document(url: &str) -> Result<Vec<u8>, String> {
    let mut command = Command::new("/usr/bin/python3");
    command.args(["-c", ASK, url]).env("no_proxy", "127.0.0.1");
    let output = command.output().expect("Python is there");
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// How many lines of a document are samples.
fn samples(document: &[u8]) -> usize {
    let lines = document.split(|byte| *byte == b'\n');
    lines.filter(|line| !line.is_empty() && !line.starts_with(b"#")).count()
}

/// The questions about each source, and what both agents say of it by themselves.
fn answers(which: Which, port: u16, sources: &[&str]) -> Answers {
    let host = Host::new("exporters", which);
    for source in sources {
        host.add_url(source, &format!("http://127.0.0.1:{port}/{source}\n"));
    }
    let pmcd = host.pmcd();
    let mut answers = Answers::new();
    for source in sources {
        questions::shown(&pmcd, &host, source, "recorded", &mut answers);
    }
    for metric in ["status", "status_code"] {
        let answer = text(&pmcd.tool("pminfo", &["-f", &format!("openmetrics.control.{metric}")]));
        for line in answer.lines().filter(|line| line.contains(" value ")) {
            let source = line.split('"').nth(1).unwrap_or_default().to_owned();
            answers.insert((source, metric.to_owned()), line.to_owned());
        }
    }
    answers
}

#[test]
#[ignore = "exporters of Debian: make -C tests exporters"]
fn exporters_of_debian_are_shown_alike() {
    let own = target_dir().join("exporters/run");
    let _ = fs::remove_dir_all(&own);
    let documents = Exporters::start(own).documents();
    let (endpoints, all) = (
        documents.len(),
        documents.values().map(|document| samples(document)).sum::<usize>(),
    );
    assert!(endpoints >= 20 && all > 1000, "{endpoints} documents, {all} samples");
    for (source, document) in &documents {
        println!("{source}: {} samples", samples(document));
    }
    let sources: Vec<&str> = documents.keys().copied().collect();
    let server = Server::new(move |request| match documents.get(&request.target()[1..]) {
        Some(document) => (
            "200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8".to_owned(),
            document.clone(),
        ),
        None => ("404 Not Found".to_owned(), Vec::new()),
    });
    let [theirs, ours] = [Which::Python, Which::Ours].map(|which| answers(which, server.port, &sources));
    println!("{endpoints} exporters, {all} samples, {} questions", theirs.len());
    differences::judge_equal(&between(&theirs, &ours));
}
