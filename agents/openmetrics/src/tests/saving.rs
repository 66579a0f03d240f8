//! Numbers where the disk is full, or is not to be written to.

use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;

use pmda::testing::Harness;

use super::Host;
use crate::OpenMetrics;

/// The variable with the folder on which a small disk is mounted.
const DISK: &str = "OPENMETRICS_SMALL_DISK";

/// Runs a test of this file in name spaces of its own, on a small disk.
fn run_on_a_small_disk(test: &str) {
    let directory = tempfile::tempdir().expect("a directory");
    let script = "mount -t tmpfs -o size=256k small \"$1\" && exec \"$2\" --exact --ignored --nocapture \"$3\"";
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .arg(directory.path())
        .arg(env::current_exe().expect("this program"))
        .arg(format!("tests::saving::{test}"))
        .env(DISK, directory.path())
        .output()
        .expect("unshare");
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(
        output.status.success() && text[0].contains("1 passed"),
        "{}{}",
        text[0],
        text[1]
    );
}

fn fill(disk: &Path) {
    let mut file = File::create(disk.join("fill")).expect("ours");
    while file.write_all(&[0; 512]).is_ok() {}
}

fn shown(pmcd: &mut Harness<OpenMetrics>, source: &str) -> (u64, String) {
    let unsaved = pmcd.fetch("openmetrics.control.numbers_unsaved").expect("values");
    let status = pmcd.fetch("openmetrics.control.status").expect("values");
    let count = unsaved.value_of::<u64>(source).expect("a number");
    (count, status.value_of::<String>(source).expect("a status"))
}

/// On a full disk known files of numbers get the new ones; those of files that would be new are not saved,
/// which is said until they are. After a restart no number stands for another name (OM-72).
#[test]
fn a_full_disk() {
    run_on_a_small_disk("on_a_full_disk");
}

#[test]
#[ignore = "a_full_disk runs it on a small disk"]
fn on_a_full_disk() {
    let disk = env::var_os(DISK).expect("the test that runs this one sets it");
    let disk = Path::new(&disk);
    let host = Host::new();
    host.page("a", "m{x=\"old\"} 1\n");
    // The files of numbers alone are on the small disk.
    fs::create_dir(host.at("config")).expect("made");
    std::os::unix::fs::symlink(disk.join("numbers"), host.at("config/pmda")).expect("made");
    fs::create_dir(disk.join("numbers")).expect("made");
    let mut pmcd = host.agent();
    fill(disk);
    host.page(
        "a",
        "m{x=\"old\"} 1\nm{x=\"alpha\"} 2\nm{x=\"beta\"} 3\nnew1 4\nnew2 5\n",
    );
    let values = pmcd.fetch("openmetrics.a.m").expect("values");
    assert_eq!(values.value_of::<f64>("2 x:beta"), Some(3.0));
    assert_eq!(shown(&mut pmcd, "a"), (0, "success".to_owned()));
    let numbers = pmcd.numbers();
    host.page(
        "a",
        "m{x=\"old\"} 1\nother{y=\"1\"} 6\nother{y=\"2\"} 7\nmore{z=\"1\"} 8\n",
    );
    pmcd.fetch("openmetrics.a.m").expect("values");
    let values = pmcd.fetch("openmetrics.a.other").expect("values");
    assert_eq!(values.value_of::<f64>("1 y:2"), Some(7.0));
    let (count, status) = shown(&mut pmcd, "a");
    assert!(
        count == 3 && status.starts_with("success, but 3 numbers are not saved") && status.contains("No space left"),
        "{count}: {status}"
    );
    // One line, though two files have no room.
    let log = pmcd.log();
    assert_eq!(log.matches("cannot save ").count(), 1, "{log}");
    let of = |numbers: &str| -> Vec<String> {
        let lines = numbers.lines().filter(|line| line.contains(".a."));
        lines.map(str::to_owned).collect()
    };
    let mut pmcd = pmcd.restart().expect("it starts");
    host.page(
        "a",
        "new2 5\nnew1 4\nm{x=\"beta\"} 3\nm{x=\"alpha\"} 2\nm{x=\"old\"} 1\n",
    );
    let values = pmcd.fetch("openmetrics.a.m").expect("values");
    assert_eq!(values.value_of::<f64>("2 x:beta"), Some(3.0));
    let again = pmcd.numbers();
    assert_eq!(of(&again).len(), 3, "{again}");
    for line in of(&again) {
        assert!(of(&numbers).contains(&line), "{line} is not as before: {numbers}");
    }
    fs::remove_file(disk.join("fill")).expect("ours");
    host.page("a", "m{x=\"old\"} 1\nother{y=\"1\"} 6\n");
    pmcd.fetch("openmetrics.a.m").expect("values");
    assert_eq!(
        [shown(&mut pmcd, "a"), shown(&mut pmcd, "control")].map(|(count, _)| count),
        [0, 0]
    );
}

/// Below a file system that is not to be written to, values are shown, and the numbers count as not saved.
#[test]
fn a_disk_that_is_read_only() {
    run_on_a_small_disk("on_a_disk_that_is_read_only");
}

#[test]
#[ignore = "a_disk_that_is_read_only runs it on a small disk"]
fn on_a_disk_that_is_read_only() {
    let disk = env::var_os(DISK).expect("the test that runs this one sets it");
    let host = Host::new();
    host.page("a", "m{x=\"1\"} 1\n");
    fs::create_dir(host.at("config")).expect("made");
    std::os::unix::fs::symlink(&disk, host.at("config/pmda")).expect("made");
    let mount = |how: &str| {
        let mounted = Command::new("mount").args(["-o", how]).arg(&disk).status();
        assert!(mounted.is_ok_and(|status| status.success()), "{how}");
    };
    mount("remount,ro");
    let mut pmcd = host.agent();
    let values = pmcd.fetch("openmetrics.a.m").expect("values");
    assert_eq!(values.value_of::<f64>("0 x:1"), Some(1.0));
    // The source, its metric and its instance; of all together `control`, too.
    for (source, count) in [("a", 3), ("control", 4)] {
        let (unsaved, status) = shown(&mut pmcd, source);
        assert!(
            unsaved == count && status.contains("Read-only file system"),
            "{unsaved}: {status}"
        );
    }
    mount("remount,rw");
    assert_eq!(shown(&mut pmcd, "a").1, "success");
    assert_eq!(shown(&mut pmcd, "control").1, "none");
}
