use super::*;

fn stored(backlog: &mut Backlog<u32>) -> Vec<u32> {
    let mut found = Vec::new();
    let mut from = 0;
    let mut last = usize::MAX;
    while let Some((place, event)) = backlog.seek(from, last) {
        last = place;
        found.extend(event.payload);
        from = event.sequence + 1;
    }
    found
}

fn push(backlog: &mut Backlog<u32>, size: usize, owed: u32, spare: u32, payload: u32) {
    let event = New {
        size,
        room: usize::MAX,
        owed,
        spare,
    };
    backlog
        .push(event, &mut Retained::new(), |_| Ok(payload))
        .expect("memory");
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
        (stored(&mut backlog), backlog.memory(), backlog.evicted()),
        (vec![1, 2, 3], 30, 1)
    );
    push(&mut backlog, 0, 1, 0, 9);
    backlog.make_room(0, &mut retained);
    assert_eq!(
        (stored(&mut backlog), backlog.memory(), backlog.evicted()),
        (vec![9], 0, 4)
    );
}

/// An old event that nobody fetches does not make the backlog grow with what others have consumed.
#[test]
fn gaps_are_closed() {
    let (mut backlog, mut retained) = (Backlog::new(0), Retained::new());
    push(&mut backlog, 1, 0, 1, 0);
    for number in 1..10_000 {
        push(&mut backlog, 1, 1, 0, number);
        backlog.consume(u64::from(number), &mut retained);
    }
    assert_eq!((stored(&mut backlog), backlog.memory()), (vec![0], 1));
    assert!(backlog.events.len() < 100);
    push(&mut backlog, 1, 1, 0, 77);
    assert_eq!(
        backlog.seek(1, usize::MAX).and_then(|(_, event)| event.payload),
        Some(77)
    );
    assert_eq!(backlog.absent(), Ok(vec![Range { start: 1, end: 10_000 }]));
    backlog.claim();
    backlog.consume(0, &mut retained);
    assert_eq!(stored(&mut backlog), [77]);
}

/// QUEUE-27: what an ended client has not seen stays.
#[test]
fn abandoned_events_wait_for_the_next_client() {
    let (mut backlog, mut retained) = (Backlog::new(0), Retained::new());
    push(&mut backlog, 1, 1, 0, 5);
    backlog.abandon(0);
    assert_eq!((stored(&mut backlog), backlog.memory()), (vec![5], 1));
    assert_eq!(backlog.absent(), Ok(vec![]));
    backlog.claim();
    backlog.consume(0, &mut retained);
    assert_eq!((stored(&mut backlog), backlog.memory()), (vec![], 0));
}

/// E-14: an event that is evicted, or goes with its queue, while a fetch shows it is no payload for
/// a new one.
#[test]
fn shown_events_are_not_reused() {
    let (mut backlog, mut retained) = (Backlog::new(3), Retained::new());
    let event = New {
        size: 4,
        room: 0,
        owed: 1,
        spare: 0,
    };
    let reused = |old: Option<u32>| Ok(old.unwrap_or(0) + 1);
    backlog.push(event, &mut retained, reused).expect("memory");
    assert_eq!(
        backlog.seek(0, 3).and_then(|(_, event)| Some(event.show()?.payload)),
        Some(1)
    );
    backlog.push(event, &mut retained, reused).expect("memory");
    backlog.release(0, 0, true, &mut retained);
    assert_eq!(stored(&mut backlog), [1]);
    backlog.push(event, &mut retained, reused).expect("memory");
    backlog.push(event, &mut retained, reused).expect("memory");
    assert_eq!(
        (stored(&mut backlog), backlog.memory(), backlog.evicted()),
        (vec![2], 4, 3)
    );
}

/// QUEUE-10: without memory for an event, the older ones stay.
#[test]
fn nothing_is_evicted_for_nothing() {
    let (mut backlog, mut retained) = (Backlog::new(0), Retained::new());
    push(&mut backlog, 4, 1, 0, 7);
    let event = New {
        size: 4,
        room: 0,
        owed: 1,
        spare: 0,
    };
    assert_eq!(
        backlog.push(event, &mut retained, |_| Err(Error::NOMEM)),
        Err(Error::NOMEM)
    );
    assert_eq!(
        (stored(&mut backlog), backlog.memory(), backlog.evicted()),
        (vec![7], 4, 0)
    );
}
