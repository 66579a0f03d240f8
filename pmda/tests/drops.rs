//! No code of an agent runs under a lock of the crate: what is dropped, or shown, may come back.

#![forbid(unsafe_code)]

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

use pmda::prelude::*;
use pmda::testing::Harness;

/// An event that pushes another one into its queue when it is dropped.
struct Pushing {
    sender: Option<QueueSender<Pushing>>,
    drops: Arc<AtomicUsize>,
}

impl Drop for Pushing {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Relaxed);
        if let Some(sender) = self.sender.take() {
            sender.push(Pushing {
                sender: None,
                drops: Arc::clone(&self.drops),
            });
        }
    }
}

struct Dropping {
    queue: Queue<Pushing>,
    drops: Arc<AtomicUsize>,
}

impl Dropping {
    fn event(&self) -> Pushing {
        Pushing {
            sender: Some(self.queue.sender()),
            drops: Arc::clone(&self.drops),
        }
    }
}

impl Agent for Dropping {
    const NAME: &'static str = "dropping";
    const DOMAIN: u32 = 400;

    fn start(_: &Env) -> Result<Dropping> {
        Ok(Dropping {
            queue: Queue::new(4),
            drops: Arc::default(),
        })
    }

    fn metrics(m: &mut Metrics<Dropping>) {
        let one = m.parameter::<u32>("one", |def| def.help("Always 1"));
        let show = move |_: &Pushing, record: &mut Record<'_>| {
            record.add(one, &1);
        };
        m.events("event", |s| &mut s.queue, show);
        m.value("push", |_| 1_u32).store(|s: &mut Dropping, count: u32, _| {
            for _ in 0..count {
                let event = s.event();
                assert!(s.queue.push(event));
            }
            Ok(())
        });
    }
}

/// Runs a test on a thread of its own, since a lock that is taken twice hangs.
fn within_seconds(test: impl FnOnce() + Send + 'static) {
    let (done, is_done) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        test();
        done.send(()).expect("the test waits");
    });
    if is_done.recv_timeout(Duration::from_secs(20)) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
        panic!("hangs");
    }
    thread.join().expect("no panic");
}

fn started() -> Harness<Dropping> {
    Harness::<Dropping>::new().expect("an agent without problems")
}

/// Without a client an event is dropped at once.
#[test]
fn without_a_client() {
    within_seconds(|| {
        let mut pmcd = started();
        pmcd.store("dropping.push", 1).expect("its type");
        assert_eq!(pmcd.agent().drops.load(Relaxed), 2);
    });
}

/// The oldest events go when more come than the queue holds.
#[test]
fn evicted() {
    within_seconds(|| {
        let mut pmcd = started();
        pmcd.fetch("dropping.event").expect("no events");
        pmcd.store("dropping.push", 9).expect("its type");
        // Each of the nine pushes one more when it goes; four are in the queue.
        let (drops, count) = (pmcd.agent().drops.load(Relaxed), pmcd.agent().queue.count());
        assert_eq!(count - drops, 4);
    });
}

/// An event that all clients have seen is dropped with the fetch, not when its place is used again.
#[test]
fn seen() {
    within_seconds(|| {
        let mut pmcd = started();
        pmcd.fetch("dropping.event").expect("no events");
        pmcd.store("dropping.push", 1).expect("its type");
        // The second one is what the first one has pushed.
        for drops in [1, 2] {
            assert_eq!(pmcd.fetch("dropping.event").expect("events").events().len(), 1);
            assert_eq!(pmcd.agent().drops.load(Relaxed), drops);
        }
    });
}

/// With the agent its events go, also those that hold a sender of their queue.
#[test]
fn with_its_queue() {
    within_seconds(|| {
        let mut pmcd = started();
        pmcd.fetch("dropping.event").expect("no events");
        pmcd.store("dropping.push", 2).expect("its type");
        pmcd.end_client();
        let (drops, sender) = (Arc::clone(&pmcd.agent().drops), pmcd.agent().queue.sender());
        assert_eq!(drops.load(Relaxed), 0);
        drop(pmcd);
        // The two, and those that they have pushed in vain.
        assert_eq!(drops.load(Relaxed), 4);
        let event = Pushing { sender: None, drops };
        assert!(!sender.push(event));
    });
}

/// An event that is heavier than the queue's limit is not taken, and the sender is told.
#[test]
fn too_heavy() {
    within_seconds(|| {
        let mut pmcd = started();
        let event = pmcd.agent().event();
        let queue = &mut pmcd.agent().queue;
        assert!(!queue.push_weighing(5, SystemTime::now(), event));
        let (drops, log) = (pmcd.agent().drops.load(Relaxed), pmcd.log());
        assert!(drops == 2 && log.contains("an event is lost"), "{drops} {log}");
    });
}

/// Filters that push when they are dropped: one that is replaced, and one that is cleared.
#[test]
fn filters() {
    within_seconds(|| {
        struct Last(QueueSender<u32>);
        impl Drop for Last {
            fn drop(&mut self) {
                self.0.push(1);
            }
        }
        let mut queue = Queue::<u32>::new(4);
        let filter = |queue: &Queue<u32>| {
            let last = Last(queue.sender());
            move |_: &u32| {
                let _ = &last;
                true
            }
        };
        for _ in 0..2 {
            let filter = filter(&queue);
            queue.set_filter(ClientId::from(1), filter).expect("memory");
        }
        queue.clear_filter(ClientId::from(1));
        assert_eq!(queue.count(), 2);
    });
}

/// A type that logs when it is shown.
struct Loud;

impl fmt::Display for Loud {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        log::info!("shown");
        out.write_str("loud")
    }
}

/// The harness keeps lines of the log.
#[test]
fn logged() {
    within_seconds(|| {
        let mut pmcd = started();
        log::info!("{Loud}");
        let log = pmcd.log();
        assert!(log.contains("Info: shown\n") && log.contains("Info: loud\n"), "{log}");
        pmcd.store("dropping.push", 1).expect("its type");
    });
}
