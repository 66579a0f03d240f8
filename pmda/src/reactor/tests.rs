use std::fs::{File, OpenOptions};
use std::io::Write;
use std::ops::ControlFlow;
use std::os::unix::fs::{chown, symlink};
use std::os::unix::net::UnixStream;
use std::thread;

use super::*;

const SOON: Option<Duration> = Some(Duration::from_secs(10));
const NOW: Option<Duration> = Some(Duration::ZERO);

fn wakes(reactor: &Reactor, limit: Option<Duration>) -> bool {
    reactor.wait(&[], limit).wakes
}

/// Without a waker, timer or watch the reactor has nothing to wait for.
#[test]
fn used() {
    let reactor = Reactor::new();
    assert!(!reactor.is_used_beside(0));
    let waker = reactor.waker();
    assert!(reactor.is_used_beside(0));
    drop(waker);
    assert!(!reactor.is_used_beside(0));
}

/// Each wake is followed by a call, which several may share.
#[test]
fn wakers() {
    let reactor = Reactor::new();
    assert!(!wakes(&reactor, NOW));
    let waker = reactor.waker();
    let threads = [(); 4].map(|()| {
        let waker = waker.clone();
        thread::spawn(move || (0..1000).for_each(|_| waker.wake()))
    });
    assert!(wakes(&reactor, SOON));
    let _ = threads.map(|thread| thread.join().expect("no panic"));
    waker.wake();
    waker.wake();
    assert!(wakes(&reactor, NOW) && !wakes(&reactor, NOW));
    // The end of waiting alone is not a wake.
    reactor.ring();
    assert_eq!(reactor.wait(&[], SOON), Ready::default());
}

#[test]
fn timers() {
    let reactor = Reactor::new();
    let mut timer = reactor.timer(Duration::from_secs(10));
    assert!(!wakes(&reactor, NOW));
    reactor.advance(Duration::from_secs(35));
    assert!(wakes(&reactor, SOON) && !wakes(&reactor, NOW));
    assert_eq!((timer.passed(), timer.passed()), (3, 0));
    reactor.advance(Duration::from_secs(5));
    assert!(wakes(&reactor, NOW));
    assert_eq!(timer.passed(), 1);
    timer.set_interval(Duration::ZERO);
    assert!(wakes(&reactor, SOON) || wakes(&reactor, SOON));
    reactor.advance(Duration::from_secs(u64::from(u32::MAX) * 1000));
    assert!(wakes(&reactor, NOW) && timer.passed() > 1);
    drop(timer);
    assert!(!wakes(&reactor, NOW));
}

/// A time that no clock can reach is one that does not come.
#[test]
fn never() {
    let reactor = Reactor::new();
    let mut timer = reactor.timer(Duration::MAX);
    timer.set_interval(Duration::MAX);
    assert!(!wakes(&reactor, NOW));
    (0..3).for_each(|_| reactor.advance(Duration::MAX));
    assert!(wakes(&reactor, NOW));
}

/// A descriptor wakes the agent while it can be read, unless the agent has failed to do so.
#[test]
fn descriptors() {
    let reactor = Reactor::new();
    let (near, mut far) = UnixStream::pair().expect("sockets");
    let mut watch = reactor.watch(near).expect("a descriptor");
    assert!(!wakes(&reactor, NOW));
    far.write_all(b"data").expect("open");
    assert!(wakes(&reactor, SOON) && wakes(&reactor, NOW));
    reactor.pause();
    assert!(!wakes(&reactor, NOW));
    let before = Instant::now();
    while !wakes(&reactor, SOON) {}
    assert!(before.elapsed() > Duration::from_millis(500));
    let mut buffer = [0; 9];
    assert_eq!(Read::read(&mut watch, &mut buffer).expect("data"), 4);
    let empty = Read::read(&mut watch, &mut buffer).expect_err("nothing is left");
    assert_eq!(empty.kind(), io::ErrorKind::WouldBlock);
    assert!(!wakes(&reactor, NOW));
    drop(far);
    assert!(wakes(&reactor, NOW));
    drop(Watch::into_inner(watch));
    assert!(!wakes(&reactor, NOW));
}

fn lines(tail: &mut Tail) -> Vec<String> {
    let mut lines = Vec::new();
    tail.read_lines(|line| lines.push(line.to_owned()))
        .expect("the function does not fail");
    lines
}

fn add(path: &std::path::Path, text: &str) {
    let mut file = OpenOptions::new().append(true).create(true).open(path).expect("ours");
    file.write_all(text.as_bytes()).expect("ours");
}

/// A file that comes, grows, is renamed, is made shorter, and goes.
#[test]
fn growing_files() {
    let reactor = Reactor::new();
    let folder = tempfile::tempdir().expect("a folder");
    let (path, old) = (folder.path().join("log"), folder.path().join("log.1"));
    add(&path, "before\n");
    let mut tail = Tail::new(&reactor, &path);
    assert_eq!(lines(&mut tail), [""; 0]);
    add(&path, "one\ntw");
    assert_eq!(lines(&mut tail), ["one"]);
    add(&path, "o\n");
    assert_eq!(lines(&mut tail), ["two"]);
    add(&path, "last\nwithout its end");
    std::fs::rename(&path, &old).expect("ours");
    assert_eq!(lines(&mut tail), ["last"]);
    add(&path, "new\n");
    assert_eq!(lines(&mut tail), ["without its end", "new"]);
    File::create(&path).expect("ours").write_all(b"1\n").expect("ours");
    assert_eq!(lines(&mut tail), ["1"]);
    let long = "x".repeat(LONG);
    add(&path, &format!("{long}\n"));
    assert_eq!(lines(&mut tail).concat(), long);
    let late = folder.path().join("late");
    let mut tail = Tail::new(&reactor, &late);
    assert_eq!(lines(&mut tail), [""; 0]);
    add(&late, "first\n\u{e9}\n");
    assert_eq!(lines(&mut tail), ["first", "\u{e9}"]);
    // Each second, which the rest of this test may take on a busy machine.
    let reactor = Reactor::new();
    let _tail = Tail::new(&reactor, &late);
    assert!(!wakes(&reactor, NOW));
    reactor.advance(Duration::from_secs(2));
    assert!(wakes(&reactor, NOW));
}

/// While there is more than one call reads, the agent is woken at once; a request may ask for all.
#[test]
fn more_than_one_call_reads() {
    let reactor = Reactor::new();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log");
    let mut tail = Tail::new(&reactor, &path);
    let many = format!("{}\n", "x".repeat(63)).repeat(1 << 16);
    add(&path, &many);
    let (mut count, mut calls, mut has_more) = (0, 0, true);
    while has_more {
        has_more = tail.read_lines(|_| count += 1).expect("the function does not fail");
        calls += 1;
        assert_eq!(wakes(&reactor, NOW), has_more);
    }
    assert!(count == 1 << 16 && calls > 2, "{count} {calls}");
    add(&path, &many);
    assert_eq!(tail.read_to_end(|_| count += 1), Ok(false));
    assert_eq!((count, tail.lost(), wakes(&reactor, NOW)), (1 << 17, 0, false));
}

/// Files that are renamed while the agent is behind are read, each to its end, in order. So are
/// lines that the writer adds to one that was renamed before.
#[test]
fn renamed_while_behind() {
    let reactor = Reactor::new();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log");
    let old = |number| folder.path().join(format!("log.{number}"));
    add(&path, "before\n");
    let mut tail = Tail::new(&reactor, &path);
    let x = "x".repeat(99);
    let many = format!("{x}\n").repeat(20_000);
    for number in 0..3 {
        add(&path, &many);
        add(&path, &format!("last of {number}\n"));
        // One line of each file, and the rest waits.
        assert_eq!(tail.read_lines(|_| ControlFlow::Break(())), Ok(true));
        std::fs::rename(&path, old(number)).expect("ours");
    }
    add(&path, "new\n");
    let mut others = Vec::new();
    let mut read = |tail: &mut Tail| {
        let all = tail.read_to_end(|line| {
            if line != x {
                others.push(line.to_owned());
            }
        });
        (all, std::mem::take(&mut others))
    };
    let expected = ["last of 0", "last of 1", "last of 2", "new"].map(str::to_owned);
    assert_eq!(read(&mut tail), (Ok(false), expected.to_vec()));
    add(&old(2), "late\n");
    add(&path, "newer\n");
    assert_eq!(read(&mut tail).1, ["late", "newer"]);
    assert_eq!(tail.lost(), 0);
}

/// Bytes that nobody can read any more are counted, and the log has a line.
#[test]
fn lost_lines() {
    let logged = crate::logger::capture::Lines::of_this_thread();
    crate::logger::start("a test", log::LevelFilter::Info);
    let reactor = Reactor::new();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log");
    let mut tail = Tail::new(&reactor, &path);
    // A line of eight bytes: however much the first call has time for, it ends between two lines.
    add(&path, &"1234567\n".repeat(1 << 18));
    let mut read = 0;
    assert_eq!(tail.read_lines(|line| read += line.len() as u64 + 1), Ok(true));
    File::create(&path).expect("ours").write_all(b"1\n").expect("ours");
    let mut last = String::new();
    let all = tail.read_to_end(|line| {
        read += line.len() as u64 + 1;
        last = line.to_owned();
    });
    assert_eq!((all, last.as_str()), (Ok(false), "1"));
    assert_eq!(read + tail.lost(), (8 << 18) + 2);
    let text = logged.text();
    assert!(
        tail.lost() > 0 && text.contains(&format!("log: {} bytes are lost: ", tail.lost())),
        "{text}"
    );
}

/// A function may stop, and fail: the line is read, those behind it are not, and the agent is not
/// woken at once.
#[test]
fn stops_and_errors() {
    let reactor = Reactor::new();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log");
    let mut tail = Tail::new(&reactor, &path);
    add(&path, "1\n2\nthree\n4\n5");
    let mut sum = 0;
    let two = tail.read_lines(|line| {
        sum += line.parse::<u32>()?;
        let is_enough = sum > 2;
        Ok(if is_enough {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    });
    assert_eq!((two, sum, wakes(&reactor, NOW)), (Ok(true), 3, false));
    let mut parse = |tail: &mut Tail| {
        let read = tail.read_lines(|line| {
            sum += line.parse::<u32>()?;
            Ok(())
        });
        (read.map_err(|error| error.code()), sum)
    };
    assert_eq!(parse(&mut tail), (Err(crate::code::Code::CONV), 3));
    assert_eq!(parse(&mut tail), (Ok(false), 7));
    assert_eq!(tail.read_lines(|_| ControlFlow::Break(())), Ok(false));
}

/// On a thread of the agent's own, which nobody guards, a panic goes on; the line is read.
#[test]
fn panics() {
    let reactor = Reactor::new();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log");
    let mut tail = Tail::new(&reactor, &path);
    add(&path, "good\nbad\nbetter\n");
    let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        tail.read_lines(|line| assert!(line != "bad", "told to panic"))
    }));
    assert!(read.is_err());
    assert_eq!(lines(&mut tail), ["better"]);
}

const LONG: usize = 100_000;

/// A folder has no lines.
#[test]
fn no_file() {
    let reactor = Reactor::new();
    let folder = tempfile::tempdir().expect("a folder");
    let mut directory = Tail::new(&reactor, folder.path());
    assert_eq!(lines(&mut directory), [""; 0]);
}

/// Root follows no link of another user, and waits for no FIFO.
#[test]
fn links_of_others() {
    if !crate::skipped::is_root() {
        return;
    }
    let reactor = Reactor::new();
    let folder = tempfile::tempdir().expect("a folder");
    let theirs = folder.path().join("theirs");
    let (link, victim) = (theirs.join("link"), folder.path().join("victim"));
    std::fs::create_dir(&theirs).expect("ours");
    chown(&theirs, Some(65534), Some(65534)).expect("root");
    symlink(&victim, &link).expect("ours");
    let mut tail = Tail::new(&reactor, &link);
    add(&victim, "secret\n");
    assert_eq!(lines(&mut tail), [""; 0]);
}
