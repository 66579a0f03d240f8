use std::rc::Rc;

use super::*;

fn stored(backlog: &Backlog<u32>) -> Vec<u32> {
    backlog.stored(0).map(|(_, payload)| *payload).collect()
}

fn push(backlog: &mut Backlog<u32>, size: usize, owed: u32, spare: u32, payload: u32) {
    backlog.reserve().expect("memory");
    backlog.push(size, owed, spare, payload);
}

/// QUEUE-10: oldest first, and only as many as necessary. QUEUE-11: an empty event takes no memory.
#[test]
fn eviction() {
    let (mut backlog, mut retained) = (Backlog::new(0), Retained::new());
    for number in 0..4 {
        push(&mut backlog, 10, 1, 0, number);
    }
    backlog.make_room(35, &mut retained);
    assert_eq!(
        (stored(&backlog), backlog.memory, backlog.evicted),
        (vec![1, 2, 3], 30, 1)
    );
    push(&mut backlog, 0, 1, 0, 9);
    backlog.make_room(0, &mut retained);
    assert_eq!((stored(&backlog), backlog.memory, backlog.evicted), (vec![9], 0, 4));
}

/// An old event that nobody fetches does not make the backlog grow with what others have consumed.
#[test]
fn gaps_are_closed() {
    let (mut backlog, mut retained) = (Backlog::new(0), Retained::new());
    push(&mut backlog, 1, 0, 1, 0);
    for number in 1..10_000 {
        push(&mut backlog, 1, 1, 0, number);
        backlog.cull(u64::from(number), &mut retained);
    }
    assert_eq!((stored(&backlog), backlog.memory), (vec![0], 1));
    assert!(backlog.events.len() < 100);
    push(&mut backlog, 1, 1, 0, 77);
    assert_eq!(backlog.next(1).and_then(|event| event.payload), Some(77));
    assert_eq!(backlog.absent(), Ok(vec![Range { start: 1, end: 10_000 }]));
    backlog.claim();
    backlog.cull(0, &mut retained);
    assert_eq!(stored(&backlog), [77]);
}

/// QUEUE-27: what an ended client has not seen stays.
#[test]
fn abandoned_events_wait_for_the_next_client() {
    let (mut backlog, mut retained) = (Backlog::new(0), Retained::new());
    push(&mut backlog, 1, 1, 0, 5);
    backlog.abandon(0);
    assert_eq!((stored(&backlog), backlog.memory), (vec![5], 1));
    assert_eq!(backlog.absent(), Ok(vec![]));
    backlog.claim();
    backlog.cull(0, &mut retained);
    assert_eq!((stored(&backlog), backlog.memory), (vec![], 0));
}

/// E-14: an event that is evicted while fetches show it stays until the last of them is done with
/// it, and no other event goes with it.
#[test]
fn kept_until_the_last_fetch_is_done() {
    let mut retained = Retained::new();
    let events = [Rc::new(()), Rc::new(())];
    let mut backlogs = [1, 2].map(Backlog::new);
    for ((backlog, event), holders) in backlogs.iter_mut().zip(&events).zip([2, 1]) {
        backlog.reserve().expect("memory");
        backlog.push(4, 1, 0, Rc::clone(event));
        for _ in 0..holders {
            backlog.next(0).expect("stored").show();
        }
        backlog.make_room(0, &mut retained);
    }
    let counts = |events: &[Rc<()>; 2]| events.each_ref().map(Rc::strong_count);
    let [mut first, second] = backlogs;
    second.close(&mut retained);
    first.seen(8, &mut retained);
    first.seen(0, &mut retained);
    assert_eq!(counts(&events), [2, 2]);
    first.release(0, &mut retained);
    assert_eq!(counts(&events), [1, 2]);
    first.release(0, &mut retained);
    retained.release(2, 0);
    assert_eq!(counts(&events), [1, 1]);
}

impl Payload for Rc<()> {
    type View = ();

    fn view(&self) {}
}
