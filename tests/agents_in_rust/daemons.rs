//! Agents as daemons: by pipe and by socket, their log, their start and their end.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use pcp_pmda_test::pcp::{Environment, kill};
use pcp_pmda_test::{compiler, is_root, skipped};
use pmda_core::ident::MetricId;
use pmda_core::wire::client::ClientRequest;
use pmda_core::wire::result::{self, SentValue};

use crate::agents::{daemon, environment, text};

/// The line of pmcd.conf for a daemon behind a pipe.
fn piped(name: &str, domain: u32, ready: &str, options: &str) -> String {
    let program = daemon(name);
    format!(
        "{name} {domain} pipe binary {ready} {} -l {name}.log {options}\n",
        program.display()
    )
}

#[test]
fn behind_a_pipe() -> Result<(), String> {
    let (environment, names) = environment("behind_a_pipe", &["load", "simple"]);
    let lines = piped("load", 400, "", "-d 400") + &piped("simple", 253, "", "");
    let pmcd = environment.pmcd(&lines, &names)?;
    let values = text(&pmcd.tool("pminfo", &["-f", "load", "simple"]));
    assert!(
        values.contains("load.interface.in.bytes\n    inst [0 or \"lo\"] value "),
        "{values}"
    );
    assert!(
        values.contains("simple.color\n    inst [0 or \"red\"] value 1\n"),
        "{values}"
    );
    let described = text(&pmcd.tool("pminfo", &["-dmt", "load.forks"]));
    assert!(
        described.contains("PMID: 400.0.1 [Tasks that were ever started]"),
        "{described}"
    );
    assert!(described.contains("Semantics: counter  Units: count"), "{described}");
    Ok(())
}

#[test]
fn behind_sockets() -> Result<(), String> {
    let (environment, names) = environment("behind_sockets", &["load", "simple"]);
    let socket = environment.socket("simple");
    let free = || TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let port = free().expect("loopback").port();
    let lines = format!(
        "load 400 socket inet {port} {} -l load.log -i {port}\n\
         simple 253 socket unix {} {} -l simple.log -u {1}\n",
        daemon("load").display(),
        socket.display(),
        daemon("simple").display(),
    );
    let pmcd = environment.pmcd(&lines, &names)?;
    let all = ["-f", "load.one", "simple.numfetch"];
    let values = text(&pmcd.tool("pminfo", &all));
    assert!(values.contains("load.one\n    value "), "{values}\n{}", pmcd.log());
    assert!(
        values.contains("simple.numfetch\n    value 1\n"),
        "{values}\n{}",
        pmcd.log()
    );
    Ok(())
}

/// The same by IPv6, asked without pmcd: its own connection needs a name for the address.
#[test]
fn behind_ipv6() {
    let (environment, _) = environment("behind_ipv6", &["load"]);
    let listener = TcpListener::bind("[::1]:0").and_then(|listener| listener.local_addr());
    let address = listener.expect("loopback");
    let mut command = environment.command(daemon("load"));
    let mut agent = command
        .args(["-l", "load.log", "-6", &address.port().to_string()])
        .spawn()
        .expect("built");
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut pmcd = loop {
        match TcpStream::connect(address) {
            Ok(stream) => break stream,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        thread::sleep(Duration::from_millis(5));
    };
    let mut credentials = [0; 20];
    pmcd.read_exact(&mut credentials).expect("credentials");
    assert_eq!(credentials[..8], [0, 0, 0, 20, 0, 0, 0x70, 0x0c]);
    assert_eq!(credentials[12..], [0, 0, 0, 1, 1, 2, 0, 0x44]);
    credentials[19] = 0;
    pmcd.write_all(&credentials).expect("the agent reads");
    let desc = [[0, 0, 0, 16], [0, 0, 0x70, 4], [0, 0, 0, 0], [100, 0, 0, 1]].concat();
    pmcd.write_all(&desc).expect("the agent reads");
    let mut reply = [0; 32];
    pmcd.read_exact(&mut reply).expect("a description");
    assert_eq!(reply[4..8], [0, 0, 0x70, 5]);
    assert_eq!(reply[12..20], [100, 0, 0, 1, 0, 0, 0, 3]);
    drop(pmcd);
    assert!(agent.wait().expect("our own child").success());
}

/// A timer calls the agent while nobody asks.
#[test]
fn a_timer() -> Result<(), String> {
    let (environment, names) = environment("a_timer", &["ticking"]);
    let pmcd = environment.pmcd(&piped("ticking", 401, "", ""), &names)?;
    let wakes = || {
        let answer = text(&pmcd.tool("pminfo", &["-f", "ticking.wakes"]));
        let number = answer.split_whitespace().skip_while(|word| *word != "value").nth(1);
        number.and_then(|number| number.parse::<u32>().ok()).ok_or(answer)
    };
    let before = wakes()?;
    thread::sleep(Duration::from_secs(2));
    let after = wakes()?;
    assert!(after > before + 10, "{before} {after}");
    Ok(())
}

/// No thread of an agent blocks a signal: programs that it runs would have it blocked as well.
fn assert_no_signal_is_blocked(process: u32) {
    for thread in fs::read_dir(format!("/proc/{process}/task"))
        .expect("it runs")
        .flatten()
    {
        let status = fs::read_to_string(thread.path().join("status")).expect("it runs");
        assert!(status.contains("\nSigBlk:\t0000000000000000\n"), "{status}");
    }
}

/// Texts that an agent prints do not get into the stream to pmcd; SIGTERM drops the agent, and ends
/// the log with a footer.
#[test]
fn the_log() -> Result<(), String> {
    let (environment, names) = environment("the_log", &["ticking"]);
    let pmcd = environment.pmcd(&piped("ticking", 401, "", ""), &names)?;
    let values = text(&pmcd.tool("pminfo", &["-f", "ticking.big"]));
    assert!(values.contains("value \"text\""), "{values}");
    let process = pmcd.agent_pid("ticking").ok_or("no process")?;
    assert_no_signal_is_blocked(process);
    kill(process, libc::SIGTERM);
    let file = environment.directory.join("ticking.log");
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut log = String::new();
    while !log.contains("Log finished") && Instant::now() < deadline {
        log = fs::read_to_string(&file).unwrap_or_default();
        thread::sleep(Duration::from_millis(10));
    }
    let shapes = [
        r"^Log for pmdaticking on \S+ started \w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}$",
        "^$",
        "^printed by start$",
        r"^\[\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d\] pmdaticking\(\d+\) Info: started as daemon$",
        r"^\[.*\] pmdaticking\(\d+\) Info: ended by SIGTERM$",
        r"^\[.*\] pmdaticking\(\d+\) Info: dropped$",
        "^$",
        r"^Log finished \w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}$",
    ];
    assert_eq!(log.lines().count(), shapes.len(), "{log}");
    for (line, shape) in log.lines().zip(shapes) {
        assert!(
            regex::Regex::new(shape).expect("a pattern").is_match(line),
            "{line}: {shape}"
        );
    }
    Ok(())
}

/// SIGTERM ends an agent with a footer in its log also while it waits for pmcd: to connect, or for
/// its credentials.
#[test]
fn ended_before_it_starts() {
    let (environment, _) = environment("ended_before_it_starts", &["ticking"]);
    let socket = environment.socket("ticking");
    for way in [vec!["-p"], vec!["-u", socket.to_str().expect("a name of ours")]] {
        let log = environment.directory.join(format!("early{}.log", way[0]));
        let mut command = environment.command(daemon("ticking"));
        command.arg("-l").arg(&log).args(&way);
        command
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped());
        let mut agent = command.spawn().expect("built");
        // `wait` would close it, and the end of the stream may come before the signal.
        let _stdin = agent.stdin.take();
        let deadline = Instant::now() + Duration::from_secs(10);
        let read = || fs::read_to_string(&log).unwrap_or_default();
        while !read().starts_with("Log for") && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        kill(agent.id(), libc::SIGTERM);
        assert!(agent.wait().expect("our own child").success(), "{way:?}");
        let text = read();
        assert!(text.contains("Info: ended by SIGTERM\n"), "{way:?} {text}");
        assert_eq!(text.matches("\nLog finished ").count(), 1, "{way:?} {text}");
    }
}

/// SIGTERM drops the agent, also one that nothing but pmcd can wake, that is just starting, or that
/// has a thread of its own. Whatever the agent does, its process ends.
#[test]
fn ended_by_sigterm() {
    let (environment, _) = environment("ended_by_sigterm", &["failing", "ticking"]);
    const DROPPED: &str = "Info: dropped\n";
    const PANICKED: &str = "Error: the end of the agent: the agent has panicked: told to panic at the end at ";
    const LATE: &str = "Warning: the agent has not ended within 5 seconds\n";
    for (name, arguments, end) in [
        ("ticking", &[][..], DROPPED),
        ("failing", &[], PANICKED),
        ("ticking", &["--sleep", "0.5"], DROPPED),
        ("ticking", &["--linger", "300"], LATE),
        ("ticking", &["--sleep", "300"], LATE),
    ] {
        let log = environment.directory.join(format!("{name}.log"));
        // That of the agent before.
        let _ = fs::remove_file(&log);
        let mut started = Started::new(&environment, name, arguments, &[]);
        if arguments.contains(&"--sleep") {
            let deadline = Instant::now() + Duration::from_secs(60);
            let is_starting = || fs::read_to_string(&log).is_ok_and(|log| log.contains("printed by start"));
            while !is_starting() && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(1));
            }
        } else {
            // An answer: the agent waits for the next request.
            let mut request = ClientRequest::new();
            request.of(0).fetch(&[MetricId::NULL]).expect("short");
            started.ask(request.bytes());
        }
        kill(started.agent.id(), libc::SIGTERM);
        assert!(
            started.agent.wait().expect("our own child").success(),
            "{name} {arguments:?}"
        );
        let text = fs::read_to_string(&log).expect("a log");
        let (before, rest) = text.split_once("Info: ended by SIGTERM\n").expect(&text);
        assert!(!before.contains("dropped"), "{text}");
        let (rest, footer) = rest.split_once("\nLog finished ").expect(&text);
        assert!(
            rest.contains(end) && footer.lines().count() == 1,
            "{name} {arguments:?} {text}"
        );
        assert_eq!(rest.contains(LATE), end == LATE, "{name} {arguments:?} {text}");
    }
}

/// An agent with a deadline is dropped at SIGTERM like any other: also after the work that it is at,
/// while a thread of its own reads, and at a second SIGTERM. The time for that is not its deadline.
/// The end of pmcd's connection ends it likewise.
#[test]
fn ended_with_a_deadline() {
    const LATE: &str = "the agent has not ended within 5 seconds\n";
    let (environment, _) = environment("ended_with_a_deadline", &["hanging"]);
    let log = environment.directory.join("hanging.log");
    let read = || fs::read_to_string(&log).unwrap_or_default();
    let wait_for = |line: &str| {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !read().contains(line) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
    };
    for (arguments, signals, is_dropped) in [
        ("", 1, true),
        ("--linger 1", 1, true),
        ("--linger 1", 2, true),
        ("--work 1", 1, true),
        ("--work 1", 2, true),
        ("--work 1", 0, true),
        ("--tick 300", 1, true),
        ("--work 300", 1, false),
        ("--work 300", 2, false),
        ("--work 300", 0, false),
        ("--linger 300", 1, false),
    ] {
        // That of the agent before.
        let _ = fs::remove_file(&log);
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        let Started { mut agent, mut pmcd } = Started::new(&environment, "hanging", &arguments, &[]);
        let is_working = arguments.contains(&"--work");
        let mut request = ClientRequest::new();
        let metric = MetricId::new(416, u32::from(is_working), 0);
        request.of(0).fetch(&[metric]).expect("short");
        pmcd.write_all(request.bytes()).expect("the agent reads");
        if is_working {
            wait_for("Info: working\n");
        }
        if !is_working || signals == 0 {
            // While the agent works, the reply that pmcd is told to try again.
            let mut reply = [0; 4];
            pmcd.read_exact(&mut reply).expect("a reply");
            let rest = u32::from_be_bytes(reply) as usize - 4;
            pmcd.read_exact(&mut vec![0; rest]).expect("a whole reply");
        }
        for _ in 0..signals {
            kill(agent.id(), libc::SIGTERM);
            wait_for("Info: ended by SIGTERM\n");
        }
        if signals == 0 {
            drop(pmcd);
        }
        assert!(agent.wait().expect("our own child").success(), "{arguments:?}");
        let text = read();
        let case = format!("{arguments:?} {signals} {text}");
        assert_eq!(text.matches("ended by SIGTERM").count(), signals.min(1), "{case}");
        assert_eq!(
            text.matches("Info: dropped\n").count(),
            usize::from(is_dropped),
            "{case}"
        );
        assert_eq!(text.matches(LATE).count(), usize::from(!is_dropped), "{case}");
        assert_eq!(text.matches("\nLog finished ").count(), 1, "{case}");
    }
}

/// The end of pmcd's connection drops an agent that is just starting, once it has started. If that
/// takes too long, the process of the agent ends.
#[test]
fn left_while_it_starts() {
    let (environment, _) = environment("left_while_it_starts", &["ticking"]);
    let log = environment.directory.join("ticking.log");
    for (seconds, end) in [
        ("2", "Info: dropped\n"),
        ("300", "Warning: the agent has not ended within 5 seconds\n"),
    ] {
        // That of the agent before.
        let _ = fs::remove_file(&log);
        let Started { mut agent, pmcd } = Started::new(&environment, "ticking", &["--sleep", seconds], &[]);
        drop(pmcd);
        let deadline = Instant::now() + Duration::from_secs(60);
        let status = loop {
            if let Some(status) = agent.try_wait().expect("our own child") {
                break Some(status);
            }
            if Instant::now() > deadline {
                break None;
            }
            thread::sleep(Duration::from_millis(10));
        };
        if status.is_none() {
            kill(agent.id(), libc::SIGKILL);
            agent.wait().expect("our own child");
        }
        let text = fs::read_to_string(&log).expect("a log");
        assert!(
            status.is_some_and(|status| status.success()),
            "{seconds} {status:?} {text}"
        );
        let (_, rest) = text
            .split_once("Info: pmcd has closed the connection while the agent starts\n")
            .expect(&text);
        let (rest, footer) = rest.split_once("\nLog finished ").expect(&text);
        assert!(rest.ends_with(end) && footer.lines().count() == 1, "{seconds} {text}");
    }
}

/// No error of memory, and nothing lost, in a daemon that pmcd's requests go through.
#[test]
fn under_valgrind() {
    let (environment, names) = environment("daemon_under_valgrind", &["simple"]);
    let valgrind = "/usr/bin/valgrind --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite";
    let log = environment.directory.join("valgrind.log");
    let script = format!(
        "open pipe {valgrind} --log-file={} {} -l simple.log\ndesc simple.color\nfetch simple.color simple.now\n\
         instance 253.0\ntext simple.color\nlabel instances 253.1\nchildren simple\nstore simple.numfetch \"1\"\n\
         close\nquit\n",
        log.display(),
        daemon("simple").display()
    );
    // dbpmda waits some seconds for the credentials. On a busy machine valgrind takes longer, and
    // they come in the place of the first answer; or the start takes longer than a second.
    let mut answers = (0..20).map(|_| environment.dbpmda(&names, &script));
    let answer = answers.find(|answer| !answer.contains("wrong PDU (700c)") && !answer.contains("not yet ready"));
    let answer = answer.expect("one of twenty starts in time");
    assert!(answer.contains("value 101"), "{answer}");
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut seen = String::new();
    while !seen.contains("ERROR SUMMARY") && Instant::now() < deadline {
        seen = fs::read_to_string(&log).unwrap_or_default();
        thread::sleep(Duration::from_millis(20));
    }
    assert!(seen.contains("ERROR SUMMARY: 0 errors"), "{seen}");
}

/// An agent that starts late: the client is told to try again, and pmcd does not end the agent.
/// The same if pmcd.conf says so in advance.
#[test]
fn a_late_start() -> Result<(), String> {
    for (ready, options) in [("", "--sleep 7"), ("notready", "--notready --sleep 2")] {
        let (environment, names) = environment(&format!("a_late_start{ready}"), &["ticking"]);
        let pmcd = environment.pmcd(&piped("ticking", 401, ready, options), &names)?;
        let first = text(&pmcd.tool("pminfo", &["-f", "ticking.big"]));
        assert!(
            first.contains("Try again. Information not currently available"),
            "{first}"
        );
        let then = pmcd.tool_until("pminfo", &["-f", "ticking.big"], |text| text.contains("value \"text\""))?;
        assert!(then.contains("ticking.big"), "{then}");
        assert!(!pmcd.log().contains("CleanupAgent"), "{}", pmcd.log());
    }
    Ok(())
}

/// An agent in C that says that it is ready although nobody has heard that it is not.
const READY: &str = r#"
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static pmdaMetric metrics[] = {{ NULL, { PMDA_PMID(0, 0), PM_TYPE_32, PM_INDOM_NULL, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } }};

static int value(pmdaMetric *metric, unsigned int instance, pmAtomValue *atom)
{
    atom->l = 42;
    return PMDA_FETCH_STATIC;
}

int main(void)
{
    pmdaInterface dispatch;
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, "ready", 402, "ready.log", NULL);
    pmdaOpenLog(&dispatch);
    pmdaSetFetchCallBack(&dispatch, value);
    pmdaInit(&dispatch, NULL, 0, metrics, 1);
    pmdaConnect(&dispatch);
    pmdaSendError(&dispatch, PM_ERR_PMDAREADY);
    pmdaMain(&dispatch);
    return 0;
}
"#;

/// An agent in C that reports only that it is ready, and not first that it is not ready, is dropped
/// at the next request: pmcd takes the report for the reply (WIRE-32). Therefore the daemon of the
/// crate reports both, in this order.
#[test]
fn ready_when_ready() -> Result<(), String> {
    let (environment, names) = environment("ready_when_ready", &[]);
    fs::write(&names, "root { ready }\nready { value 402:0:0 }\n").expect("target is writable");
    let source = environment.directory.join("ready.c");
    fs::write(&source, READY).expect("target is writable");
    let program = environment.directory.join("ready");
    let mut cc = compiler();
    cc.arg("-o").arg(&program).arg(&source).args(["-lpcp_pmda", "-lpcp"]);
    assert!(cc.status().expect("cc is installed").success());
    let pmcd = environment.pmcd(&format!("ready 402 pipe binary {}\n", program.display()), &names)?;
    thread::sleep(Duration::from_millis(500));
    // Not read yet.
    assert!(!pmcd.log().contains("CleanupAgent"), "{}", pmcd.log());
    let answer = text(&pmcd.tool("pminfo", &["-f", "ready.value"]));
    assert!(answer.contains("IPC protocol failure"), "{answer}");
    assert!(pmcd.log().contains("CleanupAgent"), "{}", pmcd.log());
    Ok(())
}

/// An agent ends if there is no user of the name that `-U` has.
#[test]
fn unknown_users() {
    let (environment, _) = environment("unknown_users", &["load"]);
    let refused = text(&environment.run(daemon("load"), &["-l", "-", "-U", "nobody-of-that-name"]));
    assert!(refused.contains("[exit 1]"), "{refused}");
}

/// An agent that root has started, and its pmcd.
struct Started {
    agent: Child,
    pmcd: UnixStream,
}

impl Started {
    fn new(environment: &Environment, name: &str, options: &[&str], arguments: &[&str]) -> Started {
        let socket = environment.socket(name);
        let mut command = environment.command(daemon(name));
        // The accounts of the system, not those of the private PCP.
        command.env_remove("LD_PRELOAD").env("PCP_USER", "nobody");
        command.args(["-l", &format!("{name}.log")]).args(options).arg("-u");
        let agent = command.arg(&socket).args(arguments).spawn().expect("built");
        let deadline = Instant::now() + Duration::from_secs(10);
        let mut pmcd = loop {
            match UnixStream::connect(&socket) {
                Ok(stream) => break stream,
                Err(error) => assert!(Instant::now() < deadline, "{error}"),
            }
            thread::sleep(Duration::from_millis(5));
        };
        let mut credentials = [0; 20];
        pmcd.read_exact(&mut credentials).expect("credentials");
        credentials[19] = 0;
        pmcd.write_all(&credentials).expect("the agent reads");
        Started { agent, pmcd }
    }

    /// The reply to a request.
    fn ask(&mut self, request: &[u8]) -> Vec<u8> {
        self.pmcd.write_all(request).expect("the agent reads");
        let mut reply = vec![0; 4];
        self.pmcd.read_exact(&mut reply).expect("a reply");
        let length = u32::from_be_bytes(reply[..4].try_into().expect("a word"));
        reply.resize(length as usize, 0);
        self.pmcd.read_exact(&mut reply[4..]).expect("a whole reply");
        reply
    }

    /// Checks that all threads are a user, with the groups of that user and no other.
    fn assert_user(&self, name: &str) {
        let id = |option: &str| {
            let output = Command::new("id").args([option, name]).output().expect("installed");
            String::from_utf8(output.stdout).expect("numbers").trim().to_owned()
        };
        let (user, group, groups) = (id("-u"), id("-g"), id("-G"));
        let threads = fs::read_dir(format!("/proc/{}/task", self.agent.id())).expect("it runs");
        for thread in threads.flatten() {
            let status = fs::read_to_string(thread.path().join("status")).expect("it runs");
            let line = |name: &str| {
                let line = status.lines().find_map(|line| line.strip_prefix(name));
                line.expect("a line").split_whitespace().collect::<Vec<_>>()
            };
            assert_eq!(line("Uid:"), [user.as_str(); 4]);
            assert_eq!(line("Gid:"), [group.as_str(); 4]);
            // Root keeps those that it was started with.
            if name != "root" {
                assert_eq!(line("Groups:").join(" "), groups);
            }
        }
    }

    fn end(mut self) {
        drop(self.pmcd);
        assert!(self.agent.wait().expect("our own child").success());
    }
}

/// The agent becomes the user that `-U` names, or PCP's, with the groups of that user and no other,
/// in all of its threads, before it serves anything.
#[test]
fn another_user() {
    if !is_root() {
        skipped("only root can become another user");
        return;
    }
    let (environment, _) = environment("another_user", &["load"]);
    let desc = [[0, 0, 0, 16], [0, 0, 0x70, 4], [0, 0, 0, 0], [100, 0, 0, 1]].concat();
    for (options, user) in [(&["-U", "daemon"][..], "daemon"), (&[], "nobody")] {
        let mut started = Started::new(&environment, "load", options, &[]);
        assert_eq!(started.ask(&desc).len(), 32, "a description");
        started.assert_user(user);
        started.end();
    }
}

/// An agent that is to stay root does, unless there is `-U`. It can read as each of its clients,
/// and is root again when the request has ended.
#[test]
fn an_agent_that_stays_root() {
    if !is_root() {
        skipped("only root can stay root");
        return;
    }
    let (environment, _) = environment("an_agent_that_stays_root", &["load"]);
    let secret = environment.directory.join("secret");
    fs::write(&secret, "for root\n").expect("target is writable");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).expect("ours");
    let secret = secret.to_str().expect("text");
    let metrics = [0, 1].map(|item| MetricId::new(411, 0, item));
    // Text and user, as a client gets them.
    let fetch = |started: &mut Started, client: i32| {
        let mut request = ClientRequest::new();
        request.of(client).fetch(&metrics).expect("short");
        let reply = started.ask(request.bytes());
        let result = result::decode(&reply).expect("a result");
        let values = result.sets().map(|set| {
            let value = set.values().next().map(|(_, value)| value);
            match value {
                Some(SentValue::Block(_, text)) => String::from_utf8_lossy(text).into_owned(),
                Some(SentValue::Word(word)) => word.to_string(),
                None => format!("{}", set.numval),
            }
        });
        values.collect::<Vec<String>>()
    };
    let become_client = |started: &mut Started, client: i32, user: &str| {
        // The numbers of user and group (PCP_ATTR_USERID, PCP_ATTR_GROUPID).
        for key in [11, 12] {
            let mut request = ClientRequest::new();
            request.of(client).attribute(key, user.as_bytes()).expect("short");
            started.pmcd.write_all(request.bytes()).expect("the agent reads");
        }
    };
    let mut started = Started::new(&environment, "staying", &[], &[secret]);
    become_client(&mut started, 1, "65534");
    become_client(&mut started, 2, "0");
    for _ in 0..2 {
        assert_eq!(fetch(&mut started, 1), ["0", "65534"]);
        started.assert_user("root");
        assert_eq!(fetch(&mut started, 2), ["for root\n\0", "0"]);
        started.assert_user("root");
    }
    // Without attributes it is nobody's client.
    assert_eq!(fetch(&mut started, 3), ["for root\n\0", "0"]);
    started.end();

    // It changes its user after the handshake, before its first reply.
    let mut started = Started::new(&environment, "staying", &["-U", "nobody"], &[secret]);
    assert_eq!(fetch(&mut started, 3), ["0", "65534"]);
    started.assert_user("nobody");
    started.end();
}

/// `-D` asks for finer messages; without it they are not in the log.
#[test]
fn debug_options() {
    let (environment, _) = environment("debug_options", &["ticking"]);
    for (option, seen) in [
        ("", [false, false]),
        ("appl0", [true, false]),
        ("pdu,desperate", [true, true]),
    ] {
        let script = format!(
            "open pipe {} -l ticking.log {}\nfetch ticking.big\nclose\nquit\n",
            daemon("ticking").display(),
            if option.is_empty() {
                String::new()
            } else {
                format!("-D {option}")
            },
        );
        let answer = environment.dbpmda(&environment.directory.join("names"), &script);
        assert!(answer.contains("value \"text\""), "{answer}");
        let log = fs::read_to_string(environment.directory.join("ticking.log")).expect("a log");
        assert_eq!(
            ["detail", "more detail"].map(|word| log.contains(&format!("Debug: {word}\n"))),
            seen,
            "{option}: {log}"
        );
    }
}

/// The options of all agents, in the words and the form of an agent in C.
#[test]
fn usage() {
    let (environment, _) = environment("usage", &["simple"]);
    let program = crate::beside::c_simple(&environment);
    let ours = environment.run(daemon("simple"), &["--help"]);
    let theirs = environment.run(&program, &["--help"]);
    assert_eq!(ours.end, theirs.end);
    // Agents in C have this option, and name it since PCP 7.
    const DEBUG: &str = "  -D DBG, --debug=DBG   set debug options, see pmdbg(1)\n";
    let ours = String::from_utf8_lossy(&ours.stderr).into_owned();
    assert!(ours.contains(DEBUG), "{ours}");
    let [ours, theirs] =
        [ours, String::from_utf8_lossy(&theirs.stderr).into_owned()].map(|text| text.replace(DEBUG, ""));
    assert!(ours.starts_with(&theirs), "{ours}\n{theirs}");
    assert!(ours[theirs.len()..].starts_with("\nOther options:\n"), "{ours}");
    for wrong in [
        &["-q"][..],
        &["-d", "x"],
        &["-p", "-i", "9"],
        &["-D", "foo"],
        &["--domain"],
        &["-d"],
        &["--verb"],
    ] {
        let [ours, theirs] = [daemon("simple"), program.clone()].map(|program| {
            let text = String::from_utf8_lossy(&environment.run(program, wrong).stderr).into_owned();
            text.lines().next().unwrap_or_default().to_owned()
        });
        assert_eq!(ours, theirs, "{wrong:?}");
    }
}
