//! The surroundings of agents: files, programs, variables and services of the things that they
//! measure. Each stands in for the real thing with fixed answers, in the private directories of one
//! run.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::thread;

use pcp_pmda_test::pcp::{self, Environment};

/// Lays out what the agent `name` looks for.
pub fn lay_out(name: &str, environment: &mut Environment) {
    match name {
        "bpftrace" => bpftrace(environment),
        "dbping" => dbping(environment),
        "gpsd" => gpsd(environment),
        "lustre" => lustre(environment),
        "memcache" => memcache(environment),
        "mssql" => data_base(environment, "pyodbc"),
        "named" => named(environment),
        "netcheck" => netcheck(environment),
        "openvswitch" => openvswitch(environment),
        "postgresql" => {
            variable(environment, "PCP_PMDAS_DIR", pcp::installed("var/lib/pcp/pmdas"));
            data_base(environment, "psycopg2");
        }
        "rsyslog" => rsyslog(environment),
        "samba" => samba(environment),
        "zimbra" => zimbra(environment),
        _ => {}
    }
}

/// The answers to the questions of the agent's Install script: arguments, and the files that they
/// name.
pub fn arguments(agent: &str, environment: &Environment) -> String {
    let made = |name: &str, text: &str| file(environment, name, text).display().to_string();
    let port = || {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        listener.local_addr().expect("an address").port()
    };
    match agent {
        "shping" => made("shping.conf", "hello\techo hello\nno\tfalse\n"),
        "roomtemp" => "/dev/null".to_owned(),
        "weblog" => {
            let log = made(
                "access",
                "host - - [01/Jan/2020:00:00:00 +0000] \"GET / HTTP/1.0\" 200 10\n",
            );
            let errors = made("errors", "");
            let config = format!(
                "regex_posix CERN method,size ][ \\\\]+\"([A-Za-z][-A-Za-z]+) [^\"]*\" [-0-9]+ ([-0-9]+)\n\
                 regex_posix CERN_err - .\n\nserver here on CERN {log} CERN_err {errors}\n"
            );
            format!("-p -U root {}", made("weblog.conf", &config))
        }
        "logger" => {
            let log = made("messages", "one\ntwo\n");
            made("logger.conf", &format!("messages\tn\t{log}\n"))
        }
        "pipe" => {
            format!("-c {}", made("pipe.conf", "echo\troot\techo one\n"))
        }
        "summary" => format!(
            "{} -h unix:{} -x -t 1 {}",
            pcp::installed("usr/bin/pmie").display(),
            environment.socket("pmcd").display(),
            made("expr.pmie", "summary.cpu.util = pmcd.numagents;\n")
        ),
        "mailq" => environment.directory.join("run").display().to_string(),
        "trace" => format!("-I {}", port()),
        "cisco" => "-r 120 127.0.0.1:s0".to_owned(),
        "openmetrics" => {
            let page = made(
                "page.txt",
                "# TYPE requests counter\nrequests{code=\"200\"} 7\nload 0.5\n",
            );
            made("openmetrics.d/page.url", &format!("file://{page}\n"));
            format!("-c {} -u pcp", environment.directory.join("openmetrics.d").display())
        }
        "denki" | "systemd" => "-U root".to_owned(),
        "overhead" => format!(
            "-R 60 -c {}",
            made(
                "overhead.conf",
                "version 1\ngroup none {\n\tid: 1\n\tpattern: ^no-such-program$\n}\n"
            )
        ),
        _ => String::new(),
    }
}

/// A file in the private directory.
pub fn file(environment: &Environment, name: &str, text: &str) -> PathBuf {
    let path = environment.directory.join(name);
    fs::create_dir_all(path.parent().expect("below the directory")).expect("target is writable");
    fs::write(&path, text).expect("target is writable");
    path
}

/// A program that the agent finds by its name.
fn program(environment: &Environment, name: &str, text: &str) {
    let path = file(environment, &format!("bin/{name}"), text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("our own file");
}

fn variable(environment: &mut Environment, name: &'static str, value: impl Into<PathBuf>) {
    environment.variables.push((name, value.into().display().to_string()));
}

/// A service on a port of the loopback address that answers each line with `answer`; it ends with
/// the test.
fn service(answer: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut answers = connection.try_clone().expect("a descriptor is free");
                for _ in BufReader::new(connection).lines().map_while(Result::ok) {
                    if answers.write_all(answer.as_bytes()).is_err() {
                        break;
                    }
                }
            });
        }
    });
    port
}

/// The script that measures how fast a data base answers.
fn dbping(environment: &mut Environment) {
    let probe = file(
        environment,
        "pmdas/dbping/dbprobe.pl",
        "$| = 1; print \"1700000000\\t0.5\\n\"; sleep 600;\n",
    );
    let agents = probe.ancestors().nth(2).expect("the directory of all agents");
    variable(environment, "PCP_PMDAS_DIR", agents);
}

/// A receiver that has found its place.
fn gpsd(environment: &Environment) {
    let lines = [
        r#"{"class":"VERSION","release":"3.22","rev":"3.22","proto_major":3,"proto_minor":14}"#,
        r#"{"class":"DEVICES","devices":[{"class":"DEVICE","path":"/dev/gps0"}]}"#,
        r#"{"class":"TPV","device":"/dev/gps0","mode":3,"time":7,"ept":1,"lat":52.5,"lon":13.4,"alt":34,"track":0,"speed":0,"climb":0}"#,
    ];
    program(
        environment,
        "gpspipe",
        &format!("#!/bin/sh\ncat <<END\n{}\nEND\nexec sleep 600\n", lines.join("\n")),
    );
}

/// The program that the agent starts for each script: it has one tracepoint.
fn bpftrace(environment: &mut Environment) {
    program(
        environment,
        "bpftrace",
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 'bpftrace v0.17.0' || echo 'tracepoint:sched:switch'\n",
    );
}

/// A data base without rows, behind the Python module through which agents speak to it.
fn data_base(environment: &mut Environment, module: &str) {
    let text = "class DatabaseError(Exception):\n    pass\n\n\n\
                class InterfaceError(Exception):\n    pass\n\n\n\
                class Cursor:\n    description = []\n    execute = close = lambda self, *query: None\n\n    \
                def fetchone(self):\n        return ('Version 14.0',)\n\n    \
                def fetchall(self):\n        return []\n\n\n\
                class Connection:\n    timeout = 0\n    cursor = lambda self: Cursor()\n    close = lambda self: None\n\n\n\
                def connect(*how, **more):\n    return Connection()\n";
    let module = file(environment, &format!("python/{module}.py"), text);
    variable(environment, "PYTHONPATH", module.parent().expect("a directory"));
}

/// A mounted file system, and the counters of the network below it.
fn lustre(environment: &mut Environment) {
    let stats = "read_bytes 7 samples [bytes] 1 4096 8192\nosc_read 3 samples [bytes] 1 2 3\nopen 5 samples [regs]\n";
    file(environment, "lustre/llite/scratch-ffff880378305c00/stats", stats);
    file(environment, "lustre/lnet/stats", "1 2 3 4 5 6 7 8 9 10 11\n");
    // The agent puts names behind these as they are.
    let below = |name: &str| format!("{}/", environment.directory.join(name).display());
    let (llite, lnet) = (below("lustre/llite"), below("lustre/lnet"));
    variable(environment, "LUSTRE_LLITE_PATH", llite);
    variable(environment, "LUSTRE_LNET_PATH", lnet);
}

fn memcache(environment: &Environment) {
    let port = service("STAT curr_items 3\r\nSTAT bytes 17\r\nSTAT get_hits 5\r\nEND\r\n");
    let text = format!("@memcache_instances = ( 0 => '127.0.0.1:{port}' );\n");
    // The agent looks into the directory where it is started, which is pmcd's.
    file(environment, "memcache.conf", &text);
}

fn named(environment: &mut Environment) {
    let text = "+++ Statistics Dump +++ (1)\n++ Incoming Requests ++\n 5 responses sent\n 4 IPv4 requests received\n";
    let stats = file(environment, "named_stats.txt", text);
    variable(environment, "NAMED_STATS_FILE", stats);
    variable(environment, "NAMED_STATS_PROG", "true");
    variable(environment, "NAMED_STATS_USER", "pcp");
}

/// The modules under the names that the agent's Install script gives them, and hosts that answer.
fn netcheck(environment: &mut Environment) {
    let modules = environment.directory.join("python");
    for folder in ["", "modules"] {
        fs::create_dir_all(modules.join(folder)).expect("target is writable");
        for entry in fs::read_dir(pcp::agent("netcheck").join(folder))
            .expect("make setup")
            .flatten()
        {
            let path = entry.path();
            if path.extension().is_some_and(|kind| kind == "python") {
                let name = modules
                    .join(folder)
                    .join(path.file_stem().expect("a name"))
                    .with_extension("py");
                std::os::unix::fs::symlink(&path, name).expect("target is writable");
            }
        }
    }
    variable(environment, "PYTHONPATH", modules);
    program(environment, "ping", "#!/bin/sh\nexit 0\n");
}

/// A switch without ports, flows or counters.
fn openvswitch(environment: &Environment) {
    program(environment, "ovs-vsctl", "#!/bin/sh\necho '{\"data\": []}'\n");
    program(environment, "ovs-ofctl", "#!/bin/sh\necho nothing\n");
    program(environment, "ovs-appctl", "#!/bin/sh\necho 'Event coverage:'\n");
}

/// The pipe into which the logger writes its counters.
fn rsyslog(environment: &Environment) {
    let pipe = environment.directory.join("log/rsyslog/stats");
    fs::create_dir_all(pipe.parent().expect("a directory")).expect("target is writable");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("coreutils").success(), "{} cannot be made", pipe.display());
}

fn samba(environment: &Environment) {
    let text = "smbd_idle_count: 4\n**** System Calls ********\nsyscall_open_count: 7\nsyscall_open_time: 9\n";
    program(environment, "smbstatus", &format!("#!/bin/sh\ncat <<END\n{text}END\n"));
}

/// Its own probe is a program of root's, and the agent dies when it ends.
fn zimbra(environment: &mut Environment) {
    let probe = file(
        environment,
        "pmdas/zimbra/zimbraprobe",
        "#!/bin/sh\necho 01/01/2020 00:00:00\necho mta Running\necho spell Stopped\n\
         while kill -0 $PPID; do sleep 1; done\n",
    );
    fs::set_permissions(probe, fs::Permissions::from_mode(0o755)).expect("our own file");
    variable(environment, "PCP_PMDAS_DIR", environment.directory.join("pmdas"));
}
