//! The queues against a model that is simple enough to be seen to be right.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{End, Payload, Queues};
use crate::error::Error;

const LIMIT: usize = 40;

impl Payload for u64 {
    type View = u64;

    fn view(&self) -> u64 {
        *self
    }
}

impl Payload for u32 {
    type View = u32;

    fn view(&self) -> u32 {
        *self
    }
}

#[derive(Clone, Debug)]
enum Step {
    Append(usize),
    /// A fetch by a client that stops after so many events.
    Fetch(i32, usize),
    End(i32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..=LIMIT).prop_map(Step::Append),
        4 => (0..4, prop_oneof![Just(usize::MAX), 0..4_usize]).prop_map(|(client, stop)| Step::Fetch(client, stop)),
        1 => (0..4).prop_map(Step::End),
    ];
    proptest::collection::vec(step, 0..120)
}

/// An event knows by name who is owed it, and how many unnamed consumptions are open.
#[derive(Debug)]
struct Event {
    size: usize,
    owed: BTreeSet<i32>,
    spare: usize,
}

#[derive(Default, Debug)]
struct Model {
    events: BTreeMap<u64, Event>,
    next: u64,
    places: usize,
    active: BTreeSet<i32>,
    missed: BTreeMap<i32, u64>,
    /// What an unfilled place has missed.
    missed_by_places: u64,
}

impl Model {
    fn memory(&self) -> u64 {
        self.events.values().map(|event| event.size as u64).sum()
    }

    fn append(&mut self, size: usize) {
        while self.memory() + size as u64 > LIMIT as u64 {
            let Some((_, event)) = self.events.pop_first() else {
                break;
            };
            for client in event.owed {
                *self.missed.entry(client).or_default() += 1;
            }
            self.missed_by_places += 1;
        }
        if self.active.len() + self.places > 0 {
            let owed = self.active.clone();
            let spare = self.places;
            self.events.insert(self.next, Event { size, owed, spare });
            self.next += 1;
        }
    }

    /// What the client sees, and whether it got to the end; then how many it has missed.
    fn fetch(&mut self, client: i32, stop: usize) -> (Vec<u64>, Option<u64>) {
        if self.active.insert(client) {
            let place = self.places > 0;
            self.places -= usize::from(place);
            self.missed
                .insert(client, if place { self.missed_by_places } else { 0 });
            for event in self.events.values_mut() {
                event.spare = event.spare.saturating_sub(1);
                event.owed.insert(client);
            }
        }
        let due = self.events.iter().filter(|(_, event)| event.owed.contains(&client));
        let due: Vec<u64> = due.map(|(sequence, _)| *sequence).collect();
        let seen: Vec<u64> = due.iter().copied().take(stop).collect();
        for sequence in &seen {
            self.events.get_mut(sequence).expect("due").owed.remove(&client);
        }
        self.events.retain(|_, event| event.spare > 0 || !event.owed.is_empty());
        let missed = (due.len() == seen.len()).then(|| self.missed.insert(client, 0).unwrap_or(0));
        (seen, missed)
    }

    fn end(&mut self, client: i32) {
        self.active.remove(&client);
        self.missed.remove(&client);
        for event in self.events.values_mut() {
            event.spare += usize::from(event.owed.remove(&client));
        }
    }
}

fn fetch(queues: &mut Queues<u64, ()>, queue: i32, client: i32, stop: usize) -> (Vec<u64>, Option<u64>) {
    let mut session = queues.begin(queue, client).expect("both exist");
    let mut shown = Vec::new();
    loop {
        queues.advance(&mut session);
        let Some(event) = session.event else { break };
        if shown.len() == stop {
            assert_eq!(queues.finish(&mut session, true), End::Missed(0));
            return (shown, None);
        }
        shown.push(event.payload);
    }
    match queues.finish(&mut session, false) {
        End::Missed(count) => (shown, Some(count)),
        End::Gone => panic!("nobody shut the queue down"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    /// E-7, E-8, QUEUE-5, QUEUE-10, QUEUE-26, QUEUE-27, QUEUE-34, QUEUE-35: each client sees each
    /// event once or has it counted as missed, and memory and the number of clients are what the
    /// model says.
    #[test]
    fn as_the_model(places in 0_u32..3, steps in steps()) {
        let mut queues = Queues::new();
        let queue = queues.create(b"q", LIMIT, places, || Ok(0)).expect("a new name");
        let mut model = Model { places: places as usize, ..Model::default() };
        for step in steps {
            match step {
                Step::Append(size) => {
                    let sequence = model.next;
                    queues.append(queue, size, |_| Ok(sequence)).expect("a queue");
                    model.append(size);
                }
                Step::Fetch(client, stop) => {
                    queues.register(client).expect("few clients");
                    queues.set_access(client, queue, true).expect("both exist");
                    prop_assert_eq!(fetch(&mut queues, queue, client, stop), model.fetch(client, stop));
                }
                Step::End(client) => {
                    queues.end(client);
                    model.end(client);
                }
            }
            let counters = queues.counters(queue).expect("a queue");
            prop_assert_eq!(counters.memory, model.memory());
            prop_assert_eq!(counters.clients as usize, model.active.len() + model.places);
        }
    }
}

/// QUEUE-10: without memory for an event, the older ones stay.
#[test]
fn nothing_is_evicted_for_nothing() {
    let mut queues = Queues::<u64, ()>::new();
    let queue = queues.create(b"q", 4, 1, || Ok(0)).expect("a new name");
    queues.append(queue, 4, |_| Ok(7)).expect("memory");
    let before = queues.counters(queue);
    assert_eq!(queues.append(queue, 4, |_| Err(Error::NOMEM)), Err(Error::NOMEM));
    assert_eq!(queues.counters(queue), before);
    queues.register(1).expect("memory");
    queues.set_access(1, queue, true).expect("both exist");
    assert_eq!(fetch(&mut queues, queue, 1, 9), (vec![7], Some(0)));
}
