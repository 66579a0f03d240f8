//! Agents that something wakes beside requests.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::prelude::*;
use crate::testing::Harness;

const NOW: Duration = Duration::ZERO;
const SOON: Duration = Duration::from_secs(60);

/// An agent with one of each source that can wake it.
struct Wakeful {
    waker: Waker,
    timer: Timer,
    socket: Watch<UnixStream>,
    far: UnixStream,
    received: Vec<u8>,
    wakes: u32,
    passed: u64,
    fails: bool,
}

impl Agent for Wakeful {
    const NAME: &'static str = "wakeful";
    const DOMAIN: u32 = 248;
    const DEADLINE: Option<Duration> = Some(Duration::from_secs(60));
    fn start(env: &Env) -> Result<Wakeful> {
        let (near, far) = UnixStream::pair()?;
        Ok(Wakeful {
            waker: env.waker(),
            timer: env.timer(Duration::from_secs(60)),
            socket: env.watch(near)?,
            far,
            received: Vec::new(),
            wakes: 0,
            passed: 0,
            fails: false,
        })
    }
    fn metrics(m: &mut Metrics<Wakeful>) {
        m.value("wakes", |s| s.wakes);
        m.value("passed", |s| s.passed);
        m.value("received", |s| String::from_utf8_lossy(&s.received).into_owned());
        m.value("wake", |_| None::<u32>).store(|s, _: u32, _| {
            let waker = s.waker.clone();
            thread::spawn(move || waker.wake()).join().map_err(|_| Error::GENERIC)
        });
        m.value("send", |_| None::<String>)
            .store(|s, text: String, _| Ok(s.far.write_all(text.as_bytes())?));
    }
    fn woken(&mut self) -> Result<()> {
        self.wakes += 1;
        self.passed += self.timer.passed();
        if std::mem::take(&mut self.fails) {
            return Err(Error::AGAIN.text("told to fail"));
        }
        assert!(self.received != b"bad", "told to panic");
        let mut buffer = [0; 64];
        while let Ok(count @ 1..) = self.socket.read(&mut buffer) {
            self.received.extend_from_slice(&buffer[..count]);
        }
        Ok(())
    }
}

/// The agent is called at once while its loop waits, else before the next request.
#[test]
fn each_wakes() -> Result<()> {
    let mut pmcd = Harness::<Wakeful>::new()?;
    let wakes = |pmcd: &mut Harness<Wakeful>| pmcd.agent().wakes;
    assert_eq!((pmcd.wait(NOW), wakes(&mut pmcd)), (false, 0));
    pmcd.store("wakeful.wake", 1)?;
    assert_eq!((pmcd.wait(SOON), pmcd.wait(NOW), wakes(&mut pmcd)), (true, false, 1));
    pmcd.store("wakeful.send", "text")?;
    assert!(pmcd.wait(SOON) && !pmcd.wait(NOW));
    assert_eq!(pmcd.agent().received, b"text");
    pmcd.advance(Duration::from_secs(120));
    assert!(pmcd.wait(NOW) && !pmcd.wait(NOW));
    assert_eq!(pmcd.agent().passed, 2);
    pmcd.store("wakeful.send", " and more")?;
    assert_eq!(
        pmcd.fetch("wakeful.received")?.value::<String>().as_deref(),
        Some("text and more")
    );
    pmcd.as_client(7).advance(Duration::from_secs(60));
    assert_eq!(pmcd.fetch("wakeful.passed")?.value(), Some(3_u64));
    Ok(())
}

/// Errors and panics are logged. A descriptor that was not read rests.
#[test]
fn failures() -> Result<()> {
    let mut pmcd = Harness::<Wakeful>::new()?;
    for panics in [false, true] {
        pmcd.agent().fails = !panics;
        pmcd.agent().received = if panics { b"bad".to_vec() } else { Vec::new() };
        pmcd.agent().far.write_all(b"x")?;
        assert!(pmcd.wait(SOON) && !pmcd.wait(NOW));
        pmcd.agent().received.clear();
        let before = Instant::now();
        while pmcd.agent().received.is_empty() {
            pmcd.wait(SOON);
        }
        assert!(before.elapsed() > Duration::from_millis(500));
    }
    let log = pmcd.log();
    assert!(log.contains("woken: told to fail"), "{log}");
    assert!(log.contains("woken: the agent has panicked: told to panic"), "{log}");
    Ok(())
}

/// An agent on its own thread is called on that thread.
#[test]
fn with_a_deadline() -> Result<()> {
    let mut pmcd = Harness::<Wakeful>::builder().deadline().start()?;
    pmcd.store("wakeful.send", "text")?;
    pmcd.advance(Duration::from_secs(61));
    while pmcd.fetch("wakeful.passed")?.value() != Some(1_u64) {}
    assert_eq!(
        pmcd.fetch("wakeful.received")?.value::<String>().as_deref(),
        Some("text")
    );
    Ok(())
}

/// A waker, timer or watch of an earlier start of the agent does not wake the next one.
#[test]
fn started_again() -> Result<()> {
    let mut pmcd = Harness::<Wakeful>::new()?;
    let old = pmcd.agent().waker.clone();
    let mut pmcd = pmcd.restart()?;
    old.wake();
    assert!(!pmcd.wait(NOW));
    Ok(())
}

/// Types that threads share are `Send` and `Sync`.
#[test]
fn shared_between_threads() {
    use std::cell::Cell;
    fn is_shared<T: Send + Sync + 'static>() {}
    is_shared::<Waker>();
    is_shared::<QueueSender<Arc<Mutex<u32>>>>();
    // Events need to be sent only.
    is_shared::<QueueSender<Cell<u32>>>();
    is_shared::<Background<String>>();
    is_shared::<Env>();
}

/// Events of threads are in order; none is lost or seen twice.
#[test]
fn events_of_threads() {
    let queue = Queue::<u32>::new(10_000);
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let sender = queue.sender();
            thread::spawn(move || (0..1000).for_each(|event| assert!(sender.push(event))))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    assert_eq!(queue.count(), 4000);
}
