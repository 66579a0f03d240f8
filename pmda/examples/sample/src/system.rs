//! The process, the machine, and what clients tell the agent to do.

use std::fs;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pmda::prelude::*;
use rustix::system::sysinfo;

use crate::{CHECKED, Sample, anybody};

/// Declares the metrics.
pub fn declare(m: &mut Metrics<Sample>) {
    m.value("control", |s| s.control)
        .item(0)
        .help("What the agent does\n0 is nothing special, above 0 it logs details, -1 ends it if it is a daemon.")
        .writable_by(anybody)
        .store(|s, value: i32, _| {
            s.control = value;
            match value {
                // The request is answered, and the agent dropped.
                -1 if !s.is_dso => kill(Pid::this(), Signal::SIGTERM).map_err(|errno| Error::os(errno as i32)),
                -1 => Ok(()),
                _ => {
                    let is_verbose = value > 0 && !s.is_dso;
                    log::set_max_level(if is_verbose {
                        log::LevelFilter::Debug
                    } else {
                        log::LevelFilter::Info
                    });
                    Ok(())
                }
            }
        });
    m.value("daemon_pid", |_| std::process::id())
        .alias("dupnames.daemon_pid")
        .alias("dupnames.pid_daemon")
        .item(1)
        .help("The process of the agent");
    m.value("datasize", |_| data_size())
        .item(91)
        .unit(KBYTE)
        .help("The size of the agent's data");
    m.value("sysinfo", |_| machine())
        .item(39)
        .help("What sysinfo(2) says\nA struct sysinfo, as this machine has it.");
    m.value("not_ready", |s| {
        let left = s
            .not_ready_until
            .map(|until| until.saturating_duration_since(Instant::now()));
        left.map_or(0, |left| left.as_secs() as i32)
    })
    .item(56)
    .help("For how many seconds clients are to try again")
    .writable_by(anybody)
    .store(|s, seconds: i32, _| {
        let time = u64::try_from(seconds)
            .ok()
            .filter(|seconds| *seconds > 0)
            .map(Duration::from_secs);
        s.not_ready_until = time.and_then(|time| Instant::now().checked_add(time));
        Ok(())
    });
    m.value("error_code", |s| s.error_code)
        .item(74)
        .help("The error of a fetch of error_check, which clients may change")
        .writable_by(anybody)
        .store(|s, value: i32, _| {
            s.error_code = value;
            Ok(())
        });
    m.value("error_check", |_| 0)
        .item(CHECKED)
        .help("0, or the error in error_code");
}

/// The size of the data segment in Kbyte.
fn data_size() -> Result<u32> {
    let status = fs::read_to_string("/proc/self/status")?;
    let size = status
        .lines()
        .find_map(|line| line.strip_prefix("VmData:")?.split_whitespace().next());
    Ok(size.ok_or(Error::VALUE)?.parse()?)
}

/// The fields of `struct sysinfo`, with the gaps that C leaves.
fn machine() -> Vec<u8> {
    let of = sysinfo();
    let mut bytes = of.uptime.to_ne_bytes().to_vec();
    let memory = [
        of.totalram,
        of.freeram,
        of.sharedram,
        of.bufferram,
        of.totalswap,
        of.freeswap,
    ];
    for word in of.loads.into_iter().chain(memory) {
        bytes.extend_from_slice(&word.to_ne_bytes());
    }
    bytes.extend_from_slice(&of.procs.to_ne_bytes());
    bytes.resize(bytes.len().next_multiple_of(size_of_val(&of.totalhigh)), 0);
    for word in [of.totalhigh, of.freehigh] {
        bytes.extend_from_slice(&word.to_ne_bytes());
    }
    bytes.extend_from_slice(&of.mem_unit.to_ne_bytes());
    bytes.resize(size_of_val(&of), 0);
    bytes
}
