//! Receiving from slow, broken and random streams.

use std::io;

use proptest::prelude::*;

use super::*;

/// Delivers `bytes` in pieces of at most `step`, each after an interruption, and counts the reads.
struct Slow<'a> {
    bytes: &'a [u8],
    step: usize,
    interrupted: bool,
    reads: usize,
}

impl<'a> Slow<'a> {
    fn new(bytes: &'a [u8], step: usize) -> Slow<'a> {
        Slow {
            bytes,
            step,
            interrupted: false,
            reads: 0,
        }
    }
}

impl Read for Slow<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.interrupted = !self.interrupted;
        if self.interrupted {
            return Err(ErrorKind::Interrupted.into());
        }
        self.reads += 1;
        let step = self.step.min(out.len());
        self.bytes.read(&mut out[..step])
    }
}

fn pdu(len: i32, kind: i32, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [len, kind, 5] {
        bytes.extend_from_slice(&word.to_be_bytes());
    }
    bytes.extend_from_slice(body);
    bytes
}

fn whole(kind: i32, body: &[u8]) -> Vec<u8> {
    pdu(i32::try_from(HEADER + body.len()).expect("small"), kind, body)
}

/// Any way in which bytes arrive gives the same PDUs, of any length (WIRE-10, WIRE-4); a read that
/// is interrupted goes on (WIRE-11).
#[test]
fn pieces() {
    let stream = [whole(0x7003, b"abcde"), whole(0x7011, b""), whole(0x7fff, b"x")].concat();
    for mode in [ReadMode::Exact, ReadMode::Ahead] {
        for step in [1, 2, 5, 13, 1000] {
            let mut source = Slow::new(&stream, step);
            let mut receiver = Receiver::default();
            for (kind, body) in [
                (Kind::PDU_FETCH, &b"abcde"[..]),
                (Kind::PDU_ATTR, b""),
                (Kind(0x7fff), b"x"),
            ] {
                let pdu = receiver.next(&mut source, mode).expect("a PDU");
                assert_eq!(
                    (pdu.header.kind, pdu.header.from, &pdu.bytes()[HEADER..]),
                    (kind, 5, body)
                );
                receiver.recycle(pdu);
            }
            assert_eq!(receiver.next(&mut source, mode).unwrap_err(), Failure::End);
        }
    }
}

/// Without reading ahead no byte beyond the PDU is touched; with it, one read is enough (WIRE-10).
#[test]
fn read_modes() {
    let stream = [whole(0x7003, b"abcd"), whole(0x7004, b"efgh")].concat();
    let mut source = Slow::new(&stream, 1000);
    let mut receiver = Receiver::default();
    receiver.next(&mut source, ReadMode::Exact).expect("a PDU");
    assert_eq!((source.bytes.len(), receiver.is_ahead()), (16, false));
    let mut source = Slow::new(&stream, 1000);
    let first = receiver.next(&mut source, ReadMode::Ahead).expect("a PDU");
    assert_eq!((source.reads, receiver.is_ahead()), (1, true));
    receiver.recycle(first);
    let second = receiver.next(&mut source, ReadMode::Exact).expect("a PDU");
    assert_eq!((source.reads, second.bytes()), (1, &stream[16..]));
}

/// The ends and the headers of a stream have their codes (WIRE-12, WIRE-14) and their lines in the
/// log (MAIN-32).
#[test]
fn failures() {
    let check = |bytes: &[u8], code: Error, lines: &[&str]| {
        let failure = Receiver::default()
            .next(&mut Slow::new(bytes, 7), ReadMode::Exact)
            .expect_err("no PDU");
        assert_eq!(failure.code(), code);
        let mut said = Vec::new();
        failure.lines(0, |error| error.to_string(), |line| said.push(line.to_string()));
        assert_eq!(said, lines);
    };
    let fetch = whole(0x7003, &[0; 24]);
    check(b"", Error::EOF, &[]);
    check(&fetch[..3], Error::IPC, &["__pmGetPDU: fd=0 hdr read: bad len=3"]);
    let short = "__pmGetPDU: fd=0 data read: have 4, want 32, got 0";
    check(&fetch[..4], Error::IPC, &[short]);
    let known = "__pmGetPDU: PDU hdr: len=0x24 type=0x7003";
    let short = "__pmGetPDU: fd=0 data read: have 11, want 25, got 0";
    check(&fetch[..11], Error::IPC, &[short, known]);
    let known = "__pmGetPDU: PDU hdr: len=0x24 type=0x7003 from=0x5";
    let short = "__pmGetPDU: fd=0 data read: have 12, want 24, got 3";
    check(&fetch[..15], Error::IPC, &[short, known]);
    for len in [11, 0, -1, i32::MIN] {
        let line = format!("__pmGetPDU: fd=0 illegal PDU len={len} in hdr");
        check(&pdu(len, 0x7003, &[]), Error::IPC, &[&line]);
    }
    let line = format!("__pmGetPDU: fd=0 illegal PDU len={} in hdr", i32::MAX);
    check(&pdu(i32::MAX, 0x7003, &[]), Error::TOOBIG, &[&line]);
    check(
        &pdu(12, -1, &[]),
        Error::IPC,
        &["__pmGetPDU: fd=0 illegal PDU type=-1 in hdr"],
    );
    check(&pdu(12, 0, &[]), Error::EOF, &[]);
}

struct Broken;

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::from_raw_os_error(11))
    }
}

/// A read error in front of a PDU counts as the end, but is logged (WIRE-12).
#[test]
fn read_error() {
    let failure = Receiver::default()
        .next(&mut Broken, ReadMode::Ahead)
        .expect_err("no PDU");
    assert_eq!(failure.code(), Error::EOF);
    let mut lines = Vec::new();
    failure.lines(3, Error::code, |line| lines.push(line.to_string()));
    assert_eq!(lines, ["__pmGetPDU: fd=3 hdr read: len=-1: -11"]);
}

/// The ordinary end of a connection to pmcd has no line in the log (MAIN-32). Without memory the
/// code says so.
#[test]
fn ordinary_ends() {
    for (errno, is_logged) in [
        (32, false),
        (104, false),
        (110, false),
        (113, false),
        (5, true),
        (9, true),
        (22, true),
    ] {
        let mut lines = 0;
        Failure::Unreadable(Error::os(errno)).lines(3, Error::code, |_| lines += 1);
        assert_eq!(lines, usize::from(is_logged), "{errno}");
    }
    assert_eq!(
        (Failure::NoMemory.code(), Failure::Unreadable(Error::os(5)).code()),
        (Error::ENOMEM, Error::EOF)
    );
}

/// A caller that goes on after a failure finds the stream where the C library would leave it: after
/// the header of a wrong length, after a PDU of a wrong type, and nowhere after a break (WIRE-12).
#[test]
fn going_on() {
    let good = whole(0x7003, b"next");
    for (bad, is_next) in [
        (pdu(7, 0x7003, b""), true),
        (pdu(i32::MAX, 0x7003, b""), true),
        (whole(-1, b"body"), true),
        (whole(0x7003, b"body")[..14].to_vec(), false),
    ] {
        let stream = if is_next { [&bad[..], &good].concat() } else { bad };
        for mode in [ReadMode::Exact, ReadMode::Ahead] {
            let mut source = Slow::new(&stream, 1000);
            let mut receiver = Receiver::default();
            let failure = receiver.next(&mut source, mode).expect_err("no PDU");
            receiver.abandon(failure);
            let next = receiver.next(&mut source, mode);
            match is_next {
                true => assert_eq!(next.expect("the next one").bytes(), good, "{mode:?}"),
                false => assert_eq!(next.expect_err("the end"), Failure::End),
            }
        }
    }
}

/// The bytes that were read are forgotten, and a buffer of ordinary size is kept for the next PDU;
/// a large one is not (WIRE-3).
#[test]
fn clearing() {
    for (size, is_kept) in [(100, true), (400_000, false)] {
        let stream = [whole(0x7003, &vec![7; size]), whole(0x7004, b"more")].concat();
        let mut receiver = Receiver::default();
        let mut source = Slow::new(&stream[..stream.len() - 20], usize::MAX);
        receiver.next(&mut source, ReadMode::Ahead).expect_err("cut short");
        assert!(receiver.is_ahead());
        receiver.clear();
        assert_eq!((receiver.is_ahead(), receiver.buffer.is_empty()), (false, !is_kept));
        let next = receiver
            .next(&mut Slow::new(&stream, 5000), ReadMode::Exact)
            .expect("a PDU");
        assert_eq!(next.bytes(), &stream[..HEADER + size]);
        receiver.recycle(next);
        assert_eq!(receiver.buffer.is_empty(), !is_kept);
    }
}

/// An announced length costs nothing, a large PDU is served, and its buffer is given back (WIRE-13,
/// WIRE-3).
#[test]
fn large() {
    let mut receiver = Receiver::default();
    let announced = pdu(0x7000_0000, 0x7003, &[0; 100]);
    receiver
        .next(&mut Slow::new(&announced, 1000), ReadMode::Exact)
        .expect_err("cut short");
    assert!(receiver.buffer.len() <= 2 * ORDINARY);
    let mut receiver = Receiver::default();
    let large = whole(0x7003, &vec![7; 400_000]);
    let pdu = receiver
        .next(&mut Slow::new(&large, 5000), ReadMode::Exact)
        .expect("a PDU");
    assert_eq!(pdu.bytes(), large);
    receiver.recycle(pdu);
    assert_eq!(receiver.buffer.len(), 0);
}

proptest! {
    /// No stream makes the receiver panic or go on for ever (WIRE-12).
    #[test]
    fn any_stream(bytes in proptest::collection::vec(any::<u8>(), 0..200), step in 1_usize..50, ahead: bool) {
        let mode = if ahead { ReadMode::Ahead } else { ReadMode::Exact };
        let mut source = Slow::new(&bytes, step);
        let mut receiver = Receiver::default();
        for _ in 0..=bytes.len() / HEADER {
            match receiver.next(&mut source, mode) {
                Ok(pdu) => receiver.recycle(pdu),
                Err(_) => return Ok(()),
            }
        }
        prop_assert!(false, "more PDUs than fit");
    }
}
