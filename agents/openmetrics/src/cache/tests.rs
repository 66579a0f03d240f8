//! Files as they are found, and as they grow.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::disk::PAGE;
use super::*;

fn files() -> (tempfile::TempDir, Files) {
    let directory = tempfile::tempdir().expect("a directory");
    let files = Files::new(directory.path(), 144);
    fs::create_dir_all(&files.directory).expect("made");
    (directory, files)
}

/// The expected content of a table's file.
fn whole(table: &Table) -> Vec<u8> {
    let mut file = Vec::new();
    pickle::write(&mut file, table.from(0), table.has_prefix).expect("memory takes all");
    file
}

fn list(table: &Table) -> Vec<&str> {
    table.names().map(|(_, name)| name).collect()
}

#[test]
fn numbers_stay() {
    let (_directory, files) = files();
    let mut table = Table::load(&files, 5, 3);
    assert_eq!(
        [table.number("a"), table.number("b"), table.number("a")],
        [Ok(0), Ok(1), Ok(0)]
    );
    assert_eq!(table.shown(1).as_deref(), Some("b"));
    table.set_prefix();
    table.save();
    let mut again = Table::load(&files, 5, 3);
    assert_eq!((again.number("b"), again.shown(1).as_deref()), (Ok(1), Some("1 b")));
    assert_eq!(
        (again.number("c"), again.number("d"), again.count()),
        (Ok(2), Err(Full::Numbers), 3)
    );
    assert_eq!(list(&again), ["a", "b", "c"]);
}

/// PCP's agent has written files with one name twice; what an agent that was killed has left is
/// in nobody's way.
#[test]
fn names_that_are_there_twice() {
    let (_directory, files) = files();
    let path = files.path(6);
    fs::write(&path, "(lp0\nVa\np1\naVb\np2\naVa\np3\na.I00\n.").expect("written");
    fs::write(path.with_extension("new"), "half").expect("written");
    let mut table = Table::load(&files, 6, 10);
    assert_eq!(
        (table.number("a"), table.number("b"), table.number("c")),
        (Ok(0), Ok(1), Ok(3))
    );
    assert_eq!(table.shown(2).as_deref(), Some("a"));
    table.save();
    assert_eq!(list(&Table::load(&files, 6, 10)), ["a", "b", "a", "c"]);
    assert!(!path.with_extension("new").exists());
}

/// A file that cannot be read is kept under another name, and so is the next one (OM-72).
#[test]
fn a_file_that_cannot_be_read_is_kept() {
    let (_directory, files) = files();
    let path = files.path(7);
    let aside = |suffix: &str| files.directory.join(format!("144.7.py.{suffix}"));
    for (content, suffix) in [("what", "unreadable"), ("again", "unreadable2")] {
        fs::write(&path, content).expect("written");
        let mut table = Table::load(&files, 7, 10);
        assert_eq!(table.number("a"), Ok(0));
        table.save();
        assert_eq!(fs::read_to_string(aside(suffix)).expect("kept"), content);
        assert_eq!(fs::read(&path).expect("written"), b"(lp0\nVa\np1\na.I00\n.");
    }
    for number in 3..=9 {
        fs::write(aside(&format!("unreadable{number}")), "").expect("written");
    }
    fs::write(&path, "no name is left").expect("written");
    let mut table = Table::load(&files, 7, 10);
    assert_eq!(table.number("a"), Ok(0));
    table.save();
    assert_eq!(fs::read_to_string(&path).expect("there"), "no name is left");
}

/// The number of bytes that this thread has written.
fn written() -> u64 {
    let io = fs::read_to_string("/proc/thread-self/io").expect("Linux counts");
    let count = io.lines().find_map(|line| line.strip_prefix("wchar: "));
    count.and_then(|count| count.parse().ok()).expect("a number")
}

fn series(number: u32) -> String {
    format!("0123456789 0123456789 0123456789 \u{e9}\u{20ac} {number}")
}

/// A save writes only the new names, and the file is complete after each save (OM-72).
#[test]
fn a_file_grows_by_what_is_new() {
    let (_directory, files) = files();
    let path = files.path(9);
    let mut table = Table::load(&files, 9, 50_000);
    let begin = written();
    for save in 1..=100 {
        for number in (save - 1) * 400..save * 400 {
            assert_eq!(table.number(&series(number)), Ok(number));
        }
        table.save();
        if save % 13 == 0 || save == 100 {
            assert!(fs::read(&path).expect("there") == whole(&table), "after {save} saves");
        }
    }
    let written = written() - begin;
    let length = fs::metadata(&path).expect("there").len();
    assert!(written < 4 * length, "{written} bytes for a file of {length}");
    table.set_prefix();
    table.save();
    let again = Table::load(&files, 9, 50_000);
    assert_eq!((again.count(), again.has_prefix()), (40_000, true));
    assert!(again.names().all(|(number, name)| name == series(number)));
}

/// A file of more than [`SMALL`] bytes, and how many names it has.
fn large(files: &Files, serial: u32) -> (Table, u32) {
    let mut table = Table::load(files, serial, 50_000);
    let count = u32::try_from(SMALL / 40).expect("few");
    for number in 0..count {
        table.number(&series(number)).expect("there is room");
    }
    table.save();
    assert!(table.written.is_some());
    (table, count)
}

/// A file that another process has written is not taken for our own.
#[test]
fn a_file_that_has_changed_meanwhile() {
    let (_directory, files) = files();
    let (mut table, count) = large(&files, 10);
    let path = files.path(10);
    for other in ["(lp0\nVa\np1\na.I00\n.".to_owned(), "x".repeat(SMALL as usize)] {
        fs::write(&path, other).expect("ours");
        let name = series(table.count());
        table.number(&name).expect("there is room");
        table.save();
        assert!(fs::read(&path).expect("there") == whole(&table));
    }
    fs::remove_file(&path).expect("ours");
    table.number("last").expect("there is room");
    table.save();
    assert_eq!(Table::load(&files, 10, 50_000).count(), count + 3);
}

/// The end of a file is only replaced within one page.
#[test]
fn ends_that_lie_in_two_pages() {
    let (_directory, files) = files();
    let path = files.path(13);
    for beyond in [PAGE - 1, 0, 1, 2, 5, 6, 7, 100] {
        let length = 5 * PAGE + beyond;
        fs::write(&path, vec![b'x'; length as usize]).expect("ours");
        let stamp = Stamp::of(&File::open(&path).expect("there")).expect("there");
        let entry = DirEntry::at(&path).expect("there");
        let extended = extend(&entry, &stamp, b"yyyyyyzz");
        let is_in_one = !(1..6).contains(&beyond);
        assert_eq!(extended.is_some(), is_in_one, "{beyond}");
        let content = fs::read(&path).expect("there");
        let end: &[u8] = if is_in_one { b"xyyyyyyzz" } else { b"xxxxxxxxx" };
        assert!(content.ends_with(end), "{beyond}");
        assert_eq!(extended.map_or(length, |stamp| stamp.length), content.len() as u64);
    }
}

/// A file is written as a whole when most of it is forgotten, not before.
#[test]
fn a_file_is_written_when_most_is_forgotten() {
    let (_directory, files) = files();
    let (mut table, count) = large(&files, 14);
    assert!(!table.names.forget(&mut |_| false));
    table.forget(|number| number < 10);
    assert!(!table.is_changed);
    table.forget(|number| number < count - 1);
    assert!(table.is_changed);
    table.save();
    assert_eq!((table.forgotten, list(&table)), (0, vec![&*series(count - 1)]));
    assert!(fs::metadata(files.path(14)).expect("there").len() < SMALL);
    assert_eq!(Table::load(&files, 14, 50_000).count(), count);
}

/// A process that is killed while names are added loses no other name, nor does a host whose
/// power is lost.
#[test]
fn a_file_that_was_being_extended() {
    let (_directory, files) = files();
    let (mut table, count) = large(&files, 11);
    let path = files.path(11);
    let before = fs::read(&path).expect("there");
    let new = pickle::more(count, ["new", "newer"], false);
    let killed = [&before, &new[pickle::END..]].concat();
    fs::write(&path, killed).expect("ours");
    let mut again = Table::load(&files, 11, 50_000);
    assert_eq!((again.count(), again.number("other")), (count, Ok(count)));
    again.save();
    assert!(fs::read(&path).expect("there") == whole(&again));

    table.number("new").expect("there is room");
    table.number("newer").expect("there is room");
    let after = whole(&table);
    for length in before.len() - pickle::END..after.len() - pickle::END {
        fs::write(&path, &after[..length]).expect("ours");
        let mut again = Table::load(&files, 11, 50_000);
        assert!((count..=count + 2).contains(&again.count()), "{length}");
        assert!(again.names().zip(table.names()).all(|(name, known)| name == known));
        again.save();
        assert_eq!(Table::load(&files, 11, 50_000).count(), again.count());
        let aside = path.with_extension("py.unreadable");
        fs::remove_file(aside).expect("kept");
    }
}

/// A FIFO in place of the file does not block the agent, and a device is not read to its end
/// (OM-72).
#[test]
fn what_is_no_file() {
    let (_directory, files) = files();
    let path = files.path(8);
    let saved = || {
        let mut table = Table::load(&files, 8, 10);
        assert_eq!(table.number("a"), Ok(0));
        table.save();
        assert_eq!(Table::load(&files, 8, 10).count(), 1);
        fs::remove_file(&path).expect("written");
    };
    mkfifo(&path, Mode::S_IRWXU).expect("ours");
    saved();
    symlink("/dev/zero", &path).expect("ours");
    saved();
    fs::create_dir(&path).expect("ours");
    saved();
    let kept = fs::read_dir(&files.directory).expect("ours").count();
    assert_eq!(kept, 3);
}

/// A file that is too large to be read stays as it is, and no new number is given beside it
/// (OM-72).
#[test]
fn a_file_that_is_too_large() {
    let (_directory, files) = files();
    let path = files.path(15);
    File::create(&path).expect("ours").set_len(1 << 40).expect("a hole");
    let mut table = Table::load(&files, 15, 10);
    assert_eq!(table.number("a"), Err(Full::File));
    table.save();
    assert_eq!(fs::metadata(&path).expect("there").len(), 1 << 40);
    assert_eq!(fs::read_dir(&files.directory).expect("ours").count(), 1);
}

/// A save keeps the file below the size that can be read: names are counted as they are written,
/// and forgotten names are dropped first (OM-72).
#[test]
fn a_file_does_not_become_too_large() {
    let (_directory, mut files) = files();
    files.largest = 60_000;
    for (serial, name) in [(16, "plain "), (17, "\\\0\n\r\u{1a}"), (18, "\u{e4}\u{20ac}\u{1f600}")] {
        let mut table = Table::load(&files, serial, u32::MAX);
        let mut count = 0;
        let mut give = |table: &mut Table| {
            let before = count;
            while count < 5000 && table.number(&format!("{}{count}", name.repeat(5))).is_ok() {
                count += 1;
                if count % 50 == 0 {
                    table.save();
                }
            }
            assert_eq!(table.number("x".repeat(200).as_str()), Err(Full::File));
            table.save();
            let length = fs::metadata(files.path(serial)).expect("there").len();
            assert!((40_000..=60_000).contains(&length), "{length} for {name:?}");
            assert_eq!(Table::load(&files, serial, u32::MAX).count(), count);
            count - before
        };
        let first = give(&mut table);
        table.forget(|number| number % 3 == 0);
        let second = give(&mut table);
        // A forgotten name keeps some bytes of its own.
        assert!(second > first / 5, "{second} in the place of {first}");
    }
}

/// A file that cannot be replaced is written over; one that cannot be made is not, and its numbers count as
/// not saved until it can (OM-72).
#[test]
fn a_file_is_written_over() {
    let (_directory, files) = files();
    let path = files.path(19);
    let mut table = Table::load(&files, 19, 10);
    table.number("a").expect("there is room");
    table.save();
    let inode = |path: &Path| fs::metadata(path).expect("there").ino();
    let before = inode(&path);
    // What has the name of the new file cannot be removed.
    fs::create_dir(path.with_extension("new")).expect("made");
    table.number("b").expect("there is room");
    table.save();
    assert_eq!((table.unsaved(), inode(&path)), (Unsaved::default(), before));
    assert!(fs::read(&path).expect("there") == whole(&table));
    table.forget(|number| number == 0);
    table.set_prefix();
    table.save();
    assert!(fs::read(&path).expect("there") == whole(&table));

    // Where there is no file, none is made.
    fs::remove_file(&path).expect("ours");
    for name in ["c", "d"] {
        table.number(name).expect("there is room");
        table.save();
    }
    let unsaved = table.unsaved();
    assert_eq!(unsaved.count, 2, "{unsaved:?}");
    let words = unsaved.words().expect("some");
    assert!(
        words.starts_with("2 numbers are not saved, ") && words.contains("144.19.py: Is a directory"),
        "{words}"
    );
    assert!(!path.exists() && table.has_saved(1) && !table.has_saved(2));
    fs::remove_dir(path.with_extension("new")).expect("ours");
    table.save();
    assert_eq!(table.unsaved(), Unsaved::default());
    assert_eq!(Table::load(&files, 19, 10).count(), 4);
}

/// Where others may write, root writes over no file that has a second name: it may be any file of the host.
#[test]
fn a_file_with_two_names_is_not_written_over() {
    let (_directory, files) = files();
    let path = files.path(19);
    let mut table = Table::load(&files, 19, 10);
    table.number("a").expect("there is room");
    table.save();
    // What has the name of the new file cannot be removed.
    fs::create_dir(path.with_extension("new")).expect("made");
    let folder = path.parent().expect("a folder");
    fs::hard_link(&path, folder.join("other")).expect("made");
    let is_root = nix::unistd::geteuid().is_root();
    for (name, mode, is_written) in [("b", 0o755, true), ("c", 0o775, !is_root)] {
        fs::set_permissions(folder, fs::Permissions::from_mode(mode)).expect("ours");
        table.number(name).expect("there is room");
        table.save();
        assert_eq!(
            table.unsaved().count == 0,
            is_written,
            "{mode:o}: {:?}",
            table.unsaved()
        );
        assert_eq!(fs::read(&path).expect("there") == whole(&table), is_written);
    }
}

/// Numbers beside a file that can be neither read nor moved are not saved (OM-72).
#[test]
fn numbers_beside_a_file_that_stays() {
    let (_directory, files) = files();
    let path = files.path(20);
    fs::write(&path, "what").expect("written");
    let suffixes = (2..=9).map(|number| format!("py.unreadable{number}"));
    for suffix in suffixes.chain(["py.unreadable".to_owned()]) {
        fs::write(path.with_extension(suffix), "").expect("written");
    }
    let mut table = Table::load(&files, 20, 10);
    table.number("a").expect("there is room");
    table.save();
    let unsaved = table.unsaved();
    assert_eq!(unsaved.count, 1);
    assert!(
        unsaved
            .first
            .is_some_and(|why| why.contains("it cannot be read or moved"))
    );
}

#[test]
fn nothing_is_written_where_nothing_is_new() {
    let (_directory, files) = files();
    let mut table = Table::load(&files, 1, 10);
    table.save();
    assert!(!files.path(1).exists());
    table.number("a").expect("there is room");
    table.save();
    fs::remove_file(files.path(1)).expect("its own");
    table.number("a").expect("there is room");
    table.save();
    assert!(!files.path(1).exists());
}

/// A name never gets the number that another name had, neither now nor after the next start
/// (OM-73).
#[test]
fn names_are_forgotten() {
    let (_directory, files) = files();
    let mut table = Table::load(&files, 12, 200_000);
    let mut last = 0;
    let mut lengths = Vec::new();
    for round in 0..20 {
        for name in 0..1000 {
            let number = table.number(&series(round * 1000 + name)).expect("there may be more");
            assert!(number >= last, "{number} was given before");
            last = number + 1;
        }
        assert_eq!(table.number("stays"), Ok(1000));
        table.save();
        last = table.count();
        table.forget(|number| number != 1000);
        assert_eq!(list(&table), ["stays"]);
        table.save();
        lengths.push(fs::metadata(files.path(12)).expect("there").len());
    }
    // Of a number whose name is forgotten the file keeps some bytes.
    let grown = lengths[19] - lengths[1];
    assert!(grown < 18 * 1000 * 8, "{lengths:?}");
    assert!(table.names.bytes() < 100);
    let mut again = Table::load(&files, 12, 200_000);
    assert_eq!(list(&again), ["stays"]);
    assert_eq!((again.count(), again.number("stays")), (20_001, Ok(1000)));
    assert_eq!(again.number("new"), Ok(20_001));
    assert_eq!(again.name(5), None);
    again.save();
    assert_eq!(list(&Table::load(&files, 12, 200_000)), ["stays", "new"]);
}
