//! The queues against a simple model, and what a model of counts cannot tell: which memory is in
//! use.

mod sessions;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use proptest::prelude::*;

use super::backlog::OVERHEAD;
use super::{End, Ending, FetchSession, FetchState, Payload, Queues};
use crate::error::Error;

const LIMIT: usize = 40;

/// The number of bytes of used payloads that the queues of these tests keep.
const KEPT: usize = 1 << 18;

impl Payload for u64 {
    type EventData = u64;
    const KEPT: usize = KEPT;

    fn view(&self) -> u64 {
        *self
    }
}

#[derive(Clone, Debug)]
enum Step {
    Append(usize),
    /// A fetch by a client that stops after this number of events.
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

/// An event of the model: the clients that have still to see it, and the number of clients to come
/// that are to see it.
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
    announced: usize,
    active: BTreeSet<i32>,
    missed: BTreeMap<i32, u64>,
    /// The number of events that were evicted since the queue was made, for an announced client
    /// that has not fetched yet: it has missed them.
    missed_by_announced: u64,
    /// The number of events that came, and their bytes.
    came: (u32, u64),
}

impl Model {
    fn memory(&self) -> u64 {
        self.events.values().map(|event| event.size as u64).sum()
    }

    fn append(&mut self, size: usize) {
        self.came = (self.came.0 + 1, self.came.1 + size as u64);
        while self.memory() + size as u64 > LIMIT as u64 {
            let Some((_, event)) = self.events.pop_first() else {
                break;
            };
            for client in event.owed {
                *self.missed.entry(client).or_default() += 1;
            }
            self.missed_by_announced += 1;
        }
        if self.active.len() + self.announced > 0 {
            let owed = self.active.clone();
            let spare = self.announced;
            self.events.insert(self.next, Event { size, owed, spare });
            self.next += 1;
        }
    }

    /// The events that the client sees, and the number of missed ones at the end, if it got there.
    fn fetch(&mut self, client: i32, stop: usize) -> (Vec<u64>, Option<u64>) {
        if self.active.insert(client) {
            let is_announced = self.announced > 0;
            self.announced -= usize::from(is_announced);
            self.missed
                .insert(client, if is_announced { self.missed_by_announced } else { 0 });
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

fn fetch<P: Payload>(
    queues: &mut Queues<P, ()>,
    queue: i32,
    client: i32,
    stop: usize,
) -> (Vec<P::EventData>, Option<u64>) {
    let mut session = FetchSession::new(queue, client);
    queues.begin(&mut session, |_| Ok(())).expect("both exist");
    let mut shown = Vec::new();
    loop {
        match session.state {
            FetchState::Ended(End::Missed(count)) => return (shown, Some(count)),
            FetchState::Ended(End::Gone) => panic!("nobody shut the queue down"),
            FetchState::Showing(..) if shown.len() == stop => {
                queues.break_off(&mut session);
                assert_eq!(ended(&session), Some(End::Missed(0)));
                return (shown, None);
            }
            FetchState::Showing(event, _) => shown.push(event.payload),
        }
        queues.advance(&mut session);
    }
}

fn ended<V, F>(session: &FetchSession<V, F>) -> Option<End> {
    match session.state {
        FetchState::Ended(end) => Some(end),
        _ => None,
    }
}

fn end<P: Payload>(queues: &mut Queues<P, ()>, client: i32) {
    assert_eq!(queues.end(client, &mut Ending::default()), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Each client sees each event once or has it counted as missed, and memory and the number of
    /// clients are those of the model (E-7, E-8, QUEUE-5, QUEUE-10, QUEUE-26, QUEUE-27, QUEUE-34,
    /// QUEUE-35).
    #[test]
    fn as_the_model(announced in 0_u32..3, steps in steps()) {
        let mut queues = Queues::new();
        let queue = queues.create(b"q", LIMIT, announced, || Ok(0)).expect("a new name");
        let mut model = Model { announced: announced as usize, ..Model::default() };
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
                    end(&mut queues, client);
                    model.end(client);
                }
            }
            let counters = queues.counters(queue).expect("a queue");
            prop_assert_eq!((counters.memory, counters.count, counters.bytes), (model.memory(), model.came.0, model.came.1));
            prop_assert_eq!(counters.clients as usize, model.active.len() + model.announced);
        }
    }
}

/// Without memory for an event, the older ones stay (QUEUE-10).
#[test]
fn nothing_is_evicted_for_nothing() {
    let mut queues = Queues::<u64, ()>::new();
    let queue = queues.create(b"q", 4, 1, || Ok(0)).expect("a new name");
    queues.append(queue, 4, |_| Ok(7)).expect("memory");
    let before = queues.counters(queue);
    assert_eq!(queues.append(queue, 4, |_| Err(Error::ENOMEM)), Err(Error::ENOMEM));
    assert_eq!(queues.counters(queue), before);
    queues.register(1).expect("memory");
    queues.set_access(1, queue, true).expect("both exist");
    assert_eq!(fetch(&mut queues, queue, 1, 9), (vec![7], Some(0)));
}

/// An event that is larger than the limit is refused, but counted, and has a message (QUEUE-5,
/// QUEUE-10).
#[test]
fn too_large() {
    let mut queues = Queues::<u64, ()>::new();
    let queue = queues.create(b"q", 4, 1, || Ok(0)).expect("a new name");
    assert_eq!(queues.append(queue, 5, |_| Ok(7)), Err(Error::TOOBIG));
    let counters = queues.counters(queue).expect("a queue");
    assert_eq!((counters.count, counters.bytes, counters.memory), (1, 5, 0));
    let text = b"Event too large for queue q (5 > 4)".to_vec();
    assert_eq!(
        (queues.too_large(queue, 5), queues.too_large(9, 5)),
        (Ok(text), Err(Error::EINVAL))
    );
}

/// A name, a handle and a client of nothing, each with its errno in every function (QUEUE-3, QUEUE-4,
/// QUEUE-24, QUEUE-25, QUEUE-30).
#[test]
fn nothing_there() {
    let mut queues = Queues::<u64, ()>::new();
    let queue = queues.create(b"q", 40, 0, || Ok(0)).expect("a new name");
    queues.register(1).expect("memory");
    assert_eq!((queues.find(b"q"), queues.find(b"Q")), (Ok(queue), Err(Error::ESRCH)));
    assert_eq!(queues.create(b"q", 40, 0, || Ok(0)), Err(Error::EEXIST));
    assert_eq!(queues.create(b"r", 0, 0, || Ok(0)), Err(Error::EINVAL));
    assert_eq!(queues.create(b"r", 40, 0, || Err(Error::EPERM)), Err(Error::EPERM));
    let shut_down = queues.create(b"gone", 40, 0, || Ok(0)).expect("a new name");
    assert!(queues.shutdown(shut_down).expect("a queue").is_some());
    for handle in [shut_down, queue + 1, -1, i32::MIN, i32::MAX] {
        let errors = [
            queues.counters(handle).map(drop),
            queues.append(handle, 1, |_| Ok(7)),
            queues.too_large(handle, 50).map(drop),
            queues.set_access(1, handle, true),
            queues.set_filter(1, handle, (), true).map(drop),
            queues.begin(&mut FetchSession::new(handle, 1), |_| Ok(())),
            queues.shutdown(handle).map(drop),
        ];
        assert_eq!(errors, [Err(Error::EINVAL); 7], "{handle}");
    }
    let errors = [
        queues.set_access(2, queue, true),
        queues.set_filter(2, queue, (), true).map(drop),
        queues.begin(&mut FetchSession::new(queue, 2), |_| Ok(())),
    ];
    assert_eq!(errors, [Err(Error::EINVAL); 3]);
    // The failed calls have not made the client one of the queue's.
    assert_eq!(queues.counters(queue).expect("a queue").clients, 0);
}

/// A payload that counts its owners, to show when an event is dropped.
impl Payload for Rc<()> {
    type EventData = ();
    const KEPT: usize = KEPT;

    fn view(&self) {}
}

/// Drops what has left the queues, as their owner does. Returns the number of payloads.
fn drop_gone<P: Payload, F: Copy>(queues: &mut Queues<P, F>) -> usize {
    std::iter::from_fn(|| queues.take_gone()).count()
}

/// An event that an agent has made: nothing of it is kept, and the queues drop none.
struct Handed {
    _event: Rc<()>,
}

impl Payload for Handed {
    type EventData = ();
    const KEPT: usize = 0;

    fn view(&self) {}
}

/// Whichever way events leave, the owner of the queues drops them, and their slots are used again.
#[test]
fn left_events_are_handed_back() {
    let mut queues = Queues::<Handed, ()>::new();
    let queue = with_clients(&mut queues, b"q", 2, 1);
    let event = Rc::new(());
    let add = |queues: &mut Queues<Handed, ()>| {
        let store = |old: Option<Handed>| {
            assert!(old.is_none());
            Ok(Handed {
                _event: Rc::clone(&event),
            })
        };
        queues.append(queue, 1, store).expect("memory");
        Rc::strong_count(&event) - 1
    };
    assert_eq!((add(&mut queues), add(&mut queues), queues.has_gone()), (1, 2, false));
    // Evicted.
    assert_eq!((add(&mut queues), queues.has_gone()), (3, true));
    assert_eq!(drop_gone(&mut queues), 1);
    // Seen by all clients.
    fetch(&mut queues, queue, 1, 1);
    assert_eq!(drop_gone(&mut queues), 1);
    // With the queue.
    queues.shutdown(queue).expect("a queue");
    end(&mut queues, 1);
    assert!(queues.reap().is_some());
    assert_eq!((drop_gone(&mut queues), queues.has_gone()), (1, false));
    assert_eq!((Rc::strong_count(&event), queues.events.slots()), (1, 3));
}

/// A queue with clients 1 to `clients`, which have fetched.
fn with_clients<P: Payload>(queues: &mut Queues<P, ()>, name: &[u8], limit: usize, clients: i32) -> i32 {
    let queue = queues.create(name, limit, 0, || Ok(0)).expect("a new name");
    for client in 1..=clients {
        queues.register(client).expect("memory");
        queues.set_access(client, queue, true).expect("both exist");
        fetch(queues, queue, client, 0);
    }
    queue
}

/// An event that is evicted while fetches show it stays until the last of them is done with it,
/// also when the queue was removed, and no other event is removed with it (E-14).
#[test]
fn kept_until_the_last_fetch_is_done() {
    // The memory of so large an event is not kept for others.
    const LARGE: usize = 2 * KEPT;
    let mut queues = Queues::<Rc<()>, ()>::new();
    let names: [&[u8]; 2] = [b"one", b"two"];
    let handles = names.map(|name| with_clients(&mut queues, name, LARGE, 2));
    let events = [(); 2].map(Rc::new);
    let mut sessions = Vec::new();
    for (queue, event) in handles.into_iter().zip(&events) {
        queues.append(queue, LARGE, |_| Ok(Rc::clone(event))).expect("memory");
        for client in [1, 2] {
            let mut session = FetchSession::new(queue, client);
            queues.begin(&mut session, |_| Ok(())).expect("both exist");
            assert!(session.event().is_some());
            sessions.push(session);
        }
        queues.append(queue, LARGE, |_| Ok(Rc::new(()))).expect("memory");
    }
    queues.shutdown(handles[1]).expect("a queue");
    end(&mut queues, 1);
    end(&mut queues, 2);
    assert!(queues.reap().is_some());
    let counts = |events: &[Rc<()>; 2]| events.each_ref().map(Rc::strong_count);
    drop_gone(&mut queues);
    assert_eq!(counts(&events), [2, 2]);
    let ends: Vec<_> = sessions[..3]
        .iter_mut()
        .map(|session| {
            queues.advance(session);
            ended(session)
        })
        .collect();
    assert_eq!(ends, [Some(End::Missed(0)), Some(End::Missed(0)), Some(End::Gone)]);
    drop_gone(&mut queues);
    assert_eq!(counts(&events), [1, 2]);
    queues.break_off(&mut sessions[3]);
    drop_gone(&mut queues);
    assert_eq!(counts(&events), [1, 1]);
}

/// The memory of events that all clients have seen is used again, and only so much of it is kept.
#[test]
fn memory_of_seen_events() {
    const SIZE: usize = 1000;
    let mut queues = Queues::<Rc<()>, ()>::new();
    let queue = with_clients(&mut queues, b"one", usize::MAX, 1);
    let event = Rc::new(());
    for turn in 0..3 {
        let mut used = 0;
        for _ in 0..1000 {
            let store = |old: Option<Rc<()>>| {
                used += usize::from(old.is_some());
                Ok(Rc::clone(&event))
            };
            queues.append(queue, SIZE, store).expect("memory");
        }
        fetch(&mut queues, queue, 1, usize::MAX);
        drop_gone(&mut queues);
        let kept = KEPT / (SIZE + OVERHEAD);
        assert_eq!(used, if turn == 0 { 0 } else { kept });
        assert_eq!(Rc::strong_count(&event), 1 + kept);
    }
    // So it is if only some of it was used again.
    for _ in 0..800 {
        queues.append(queue, SIZE, |_| Ok(Rc::clone(&event))).expect("memory");
    }
    fetch(&mut queues, queue, 1, usize::MAX);
    drop_gone(&mut queues);
    assert_eq!(Rc::strong_count(&event), 1 + KEPT / (SIZE + OVERHEAD));
}

/// While an old event waits for a client, later events that others have seen do not make the queue
/// grow. The next client gets the old event, and the new ones (QUEUE-27).
#[test]
fn waiting_in_front_of_the_others() {
    let mut queues = Queues::<u64, ()>::new();
    let queue = with_clients(&mut queues, b"q", 1000, 2);
    queues.append(queue, 1, |_| Ok(0)).expect("memory");
    assert_eq!(fetch(&mut queues, queue, 1, 9), (vec![0], Some(0)));
    end(&mut queues, 2);
    for number in 1..10_000 {
        queues.append(queue, 1, |_| Ok(number)).expect("memory");
        assert_eq!(fetch(&mut queues, queue, 1, 9), (vec![number], Some(0)));
        assert!(queues.list_len(queue) <= 16);
    }
    assert_eq!(queues.counters(queue).expect("a queue").memory, 1);
    queues.append(queue, 1, |_| Ok(10_000)).expect("memory");
    queues.register(3).expect("memory");
    queues.set_access(3, queue, true).expect("both exist");
    assert_eq!(fetch(&mut queues, queue, 3, 9), (vec![0, 10_000], Some(0)));
    assert_eq!(fetch(&mut queues, queue, 1, 9), (vec![10_000], Some(0)));
    assert_eq!(queues.counters(queue).expect("a queue").memory, 0);
    assert_eq!(queues.events.slots(), 2);
}

/// Any number is a context, the lowest free slot is used, and a known client keeps its slot
/// (QUEUE-20).
#[test]
fn slots_of_clients() {
    let mut queues = Queues::<u64, ()>::new();
    let slots = [7, -1, i32::MIN, 7].map(|context| queues.register(context).expect("memory"));
    assert_eq!(slots, [0, 1, 2, 0]);
    for context in [7, -1, 7] {
        end(&mut queues, context);
    }
    let slots = [5, 6, 8].map(|context| queues.register(context).expect("memory"));
    assert_eq!(slots, [0, 1, 3]);
    assert_eq!(queues.clients(), 4);
}
