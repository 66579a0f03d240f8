//! Threads of an agent: one finds something out at its own pace. Each result becomes an event, and
//! a message that wakes the agent.

#![forbid(unsafe_code)]
use pmda::prelude::*;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

struct Threads {
    work: Sender<u64>,
    results: Receiver<u64>,
    divisors: Queue<u64>,
    largest: Option<u64>,
}

/// Looks for the divisors of numbers until the agent has ended.
fn divide(work: &Receiver<u64>, results: &Sender<u64>, divisors: &QueueSender<u64>, waker: &Waker) {
    for number in work {
        for divisor in (2..number).filter(|divisor| number % divisor == 0) {
            divisors.push(divisor);
            if results.send(divisor).is_err() {
                return;
            }
        }
        waker.wake();
    }
}

impl Agent for Threads {
    const NAME: &'static str = "threads";
    const DOMAIN: u32 = 407;
    fn start(env: &Env) -> Result<Threads> {
        let (work, numbers) = channel();
        let (sender, results) = channel();
        let divisors = Queue::new(1000);
        let (queue, waker) = (divisors.sender(), env.waker());
        thread::spawn(move || divide(&numbers, &sender, &queue, &waker));
        Ok(Threads {
            work,
            results,
            divisors,
            largest: None,
        })
    }
    fn metrics(m: &mut Metrics<Threads>) {
        let divisor = m.parameter::<u64>("divisor", |def| {
            def.help("A divisor of the number");
        });
        m.events(
            "found",
            |s| &mut s.divisors,
            move |number, record| {
                record.add(divisor, number);
            },
        )
        .help("Divisors that were found since the last fetch of the same client");
        m.value("largest", |s| s.largest).help("The largest divisor so far");
        m.value("number", |_| None::<u64>)
            .help("Stores a number\nThe thread looks for its divisors.")
            .store(|s, number: u64, _| s.work.send(number).map_err(|_| Error::GENERIC));
    }
    fn woken(&mut self) -> Result<()> {
        self.largest = self.results.try_iter().chain(self.largest).max();
        Ok(())
    }
}

fn main() -> ExitCode {
    pmda::run::<Threads>()
}

#[test]
fn a_thread_wakes_its_agent() -> Result<()> {
    use std::time::Duration;
    let mut pmcd = pmda::testing::Harness::<Threads>::new()?;
    assert!(pmcd.fetch("threads.found")?.events().is_empty());
    pmcd.store("threads.number", 30)?;
    assert!(pmcd.wait(Duration::from_secs(60)));
    assert_eq!(pmcd.fetch("threads.largest")?.value(), Some(15_u64));
    let fetched = pmcd.fetch("threads.found")?;
    let divisors: Vec<u64> = fetched
        .events()
        .iter()
        .filter_map(|record| record.parameter("threads.divisor"))
        .collect();
    assert_eq!(divisors, [2, 3, 5, 6, 10, 15]);
    Ok(())
}
