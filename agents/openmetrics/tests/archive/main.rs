//! The lane `make -C tests archive`: is every value in pmlogger's archives the one that its name says?
//!
//! Thirty sources send values that say which source, metric and instance they are of, and when they were
//! made. pmlogger writes while files of sources are edited, addresses and types change, labels come and go,
//! the agent is killed, the disk is full, and PCP's agent takes its place and gives it back, on both
//! libraries. Then each value of each archive is compared with what it says of itself, and for each that is
//! missing the control metrics of the same record have to say why.

#[path = "../comparison/host.rs"]
#[allow(dead_code)] // Of the comparison alone.
mod host;
mod judge;
mod sources;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use host::{Host, Which};
use judge::Verdict;
use pcp_pmda_test::pcp::{Pmcd, installed, kill};
use pcp_pmda_test::{Library, is_root};
use sources::{Sources, WEB};

/// The lines with which the files of sources are edited, one after the other.
const LINES: [&str; 15] = [
    "# A comment.",
    "HEADER: X-Scope-OrgID: one",
    "METADATA: edit u64 - counter count",
    "METADATA: edit string - discrete none",
    "METADATA: edit float PM_INDOM_NULL instant byte",
    "TYPES: document",
    "FILTER: EXCLUDE METRIC fresh_",
    "FILTER: OPTIONAL LABEL o",
    "FILTER: EXCLUDE LABEL o",
    "INTERVAL: 1",
    "FORGET: 5",
    "TIMEOUT: 3",
    "USER: pcp\nPASSWORD_FILE: /etc/hostname",
    "TOKEN_FILE: /etc/hostname",
    "VERIFY: no\nCA: /nonexistent",
];

/// The interval of pmlogger.
const INTERVAL: &str = "500 msec";

/// pmlogger, and the archives that it has written.
struct Logger {
    folder: PathBuf,
    child: Option<Child>,
    archives: Vec<PathBuf>,
}

impl Logger {
    /// Starts a pmlogger with a new archive, unless one is running.
    fn keep_on(&mut self, pmcd: &Pmcd<'_>) {
        if let Some(child) = &mut self.child {
            if matches!(child.try_wait(), Ok(None)) {
                return;
            }
        }
        let archive = self.folder.join(format!("archive{}", self.archives.len()));
        let configuration = self.folder.join("pmlogger.conf");
        fs::write(
            &configuration,
            format!("log mandatory on {INTERVAL} {{ openmetrics }}\n"),
        )
        .expect("ours");
        let mut command = pmcd.client(installed("usr/lib/pcp/bin/pmlogger"));
        command
            .env("PMLOGGER_PORT", "0")
            .args(["-h", &pmcd.host(), "-y", "-m", "archive lane", "-c"])
            .arg(&configuration)
            .arg("-l")
            .arg(archive.with_extension("log"))
            .arg(&archive)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        self.child = Some(command.spawn().expect("pmlogger"));
        self.archives.push(archive);
    }

    fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            kill(child.id(), 15);
            let _ = child.wait();
        }
    }
}

impl Drop for Logger {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Lets pmlogger write for so long, a new one where one has ended: it may when an agent is not ready at once.
fn pass(logger: &mut Logger, pmcd: &Pmcd<'_>, seconds: f32) {
    let end = Instant::now() + Duration::from_secs_f32(seconds);
    while Instant::now() < end {
        logger.keep_on(pmcd);
        thread::sleep(Duration::from_millis(200));
    }
}

/// Kills the agent, and has pmcd start it again.
fn kill_agent(pmcd: &Pmcd<'_>) {
    // Its number may be another process's by now.
    let is_agent =
        |pid: &u32| fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains("openmetrics"));
    if let Some(agent) = pmcd.agent_pid("openmetrics").filter(is_agent) {
        kill(agent, 9);
    }
    thread::sleep(Duration::from_millis(700));
    pmcd.signal(1);
}

/// The sum of the numbers that are not saved.
fn unsaved(pmcd: &Pmcd<'_>) -> Option<u64> {
    let answer = pmcd.tool("pminfo", &["-f", "openmetrics.control.numbers_unsaved"]);
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    let line = text.lines().find(|line| line.contains("\"control\""))?;
    line.rsplit(' ').next()?.parse().ok()
}

/// A file system that can be full, below the folder of the files of numbers.
struct Disk(PathBuf);

impl Disk {
    /// Mounts one, if this process is root in a name space of its own.
    fn mount(folder: &Path) -> Option<Disk> {
        let space = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
        if !is_root() || space("self") == space("1") {
            return None;
        }
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=3m", "small"])
            .arg(folder)
            .status();
        assert!(
            mounted.is_ok_and(|status| status.success()),
            "mount {}",
            folder.display()
        );
        Some(Disk(folder.to_owned()))
    }

    fn fill(&self) {
        let mut file = File::create(self.0.join("fill")).expect("ours");
        while file.write_all(&[0; 1024]).is_ok() {}
    }

    fn free(&self) {
        fs::remove_file(self.0.join("fill")).expect("ours");
    }
}

/// No archived value is wrong, and each that is missing is named by a control metric.
#[test]
#[ignore = "takes MINUTES: make -C tests archive"]
fn archive() {
    let minutes: f32 = std::env::var("MINUTES").map_or(10.0, |text| text.parse().expect("MINUTES"));
    let end = Instant::now() + Duration::from_secs_f32(60.0 * minutes);
    let ours = Host::new("archive", Which::Ours);
    let disk = Disk::mount(&ours.table(""));
    let sources = Sources::start(&ours);
    let python = ours.with(Which::Python);
    let on_ours = Library::Ours.directory().display().to_string();
    let python_on_ours = ours.with(Which::Python).with_variable("LD_LIBRARY_PATH", &on_ours);
    let mut logger = Logger {
        folder: ours.page("x").parent().expect("pages").to_owned(),
        child: None,
        archives: Vec::new(),
    };
    let mut events = 0;
    let mut round = 0;
    let (mut saw_unsaved, mut all_saved) = (false, true);
    while Instant::now() < end {
        let other = if round % 2 == 0 { &python } else { &python_on_ours };
        {
            let pmcd = ours.pmcd();
            for step in 0..6_usize {
                let number = round * 6 + step;
                for (source, line) in [(number, number), (number + 7, number + 3), (number + 13, number + 8)] {
                    sources.edit(source as u32 % WEB, LINES[line % LINES.len()]);
                    events += 1;
                }
                pass(&mut logger, &pmcd, 4.0);
                if step % 3 == 1 {
                    kill_agent(&pmcd);
                    events += 1;
                    pass(&mut logger, &pmcd, 4.0);
                }
                sources.move_to_another_port(number as u32 % WEB);
            }
            if let Some(disk) = &disk {
                disk.fill();
                pass(&mut logger, &pmcd, 8.0);
                // As the rule of the guide says: nobody ends the agent while numbers are not saved.
                saw_unsaved |= unsaved(&pmcd).is_some_and(|count| count > 0);
                disk.free();
                all_saved &= (0..20).any(|_| {
                    pass(&mut logger, &pmcd, 0.5);
                    unsaved(&pmcd) == Some(0)
                });
                kill_agent(&pmcd);
                events += 2;
                pass(&mut logger, &pmcd, 4.0);
            }
        }
        sources.for_python(true);
        {
            let pmcd = other.pmcd();
            pass(&mut logger, &pmcd, 6.0);
            events += 1;
        }
        sources.for_python(false);
        round += 1;
    }
    logger.stop();
    let mut verdict = Verdict::default();
    for archive in &logger.archives {
        verdict.judge(archive, &sources);
    }
    println!(
        "{round} rounds, {events} events, {} archives: {verdict}; full disk: {}",
        logger.archives.len(),
        match (&disk, saw_unsaved) {
            (None, _) => "not tried (only as root: unshare -m)",
            (Some(_), true) => "numbers were not saved for a time, and said so",
            (Some(_), false) => "all numbers had room in their files",
        }
    );
    assert!(verdict.is_good(), "{verdict}");
    assert!(
        all_saved,
        "with room on the disk, not all numbers were saved after ten seconds"
    );
}
