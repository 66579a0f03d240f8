//! Fetches in the middle of which something happens, filters, and debug output.

use super::*;
use crate::log::{Journal, Message};
use crate::queue::{Excerpt, Leftovers};

/// A payload with an address of its own, which is shown.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Text(&'static str);

impl Payload for Text {
    const KEPT: usize = 1 << 18;
    type EventData = &'static str;

    fn view(&self) -> &'static str {
        self.0
    }

    fn address(&self) -> usize {
        0xa0 + usize::from(self.0.as_bytes()[0] - b'a')
    }

    fn excerpt(text: &'static str, size: usize) -> Excerpt {
        Excerpt::new(size, |out| {
            let len = out.len().min(text.len());
            out[..len].copy_from_slice(&text.as_bytes()[..len]);
            len
        })
    }
}

fn append(queues: &mut Queues<Text, u32>, queue: i32, size: usize, text: &'static str) {
    queues.append(queue, size, |_| Ok(Text(text))).expect("a queue");
}

/// Queues with one queue `q`, and clients 1 to `clients`, which have fetched.
fn queues(clients: i32) -> (Queues<Text, u32>, i32) {
    let mut queues = Queues::new();
    let queue = queues.create(b"q", LIMIT, 0, || Ok(0)).expect("a new name");
    for client in 1..=clients {
        queues.register(client).expect("memory");
        queues.set_access(client, queue, true).expect("both exist");
        begin(&mut queues, queue, client);
    }
    (queues, queue)
}

fn begin(queues: &mut Queues<Text, u32>, queue: i32, client: i32) -> FetchSession<&'static str, u32> {
    let mut session = FetchSession::new(queue, client);
    queues.begin(&mut session, |_| Ok(())).expect("both exist");
    session
}

/// The event that a fetch shows, and the filter to which it is shown first.
fn shown(session: &FetchSession<&'static str, u32>) -> Option<(&'static str, Option<u32>)> {
    match session.state {
        FetchState::Showing(event, filter) => Some((event.payload, filter)),
        FetchState::Ended(_) => None,
    }
}

/// The event that the next step of a fetch shows after a fetch inside of it was faster, after
/// events were evicted, and after access was taken away (E-14, E-18).
#[test]
fn changes_between_two_steps() {
    let (mut queues, queue) = queues(2);
    append(&mut queues, queue, 5, "a");
    append(&mut queues, queue, 5, "b");
    let (mut outer, mut inner) = (begin(&mut queues, queue, 1), begin(&mut queues, queue, 1));
    queues.advance(&mut inner);
    queues.advance(&mut outer);
    assert_eq!((shown(&outer), shown(&inner)), (Some(("b", None)), Some(("b", None))));
    // Client 2 still gets everything.
    let mut other = begin(&mut queues, queue, 2);
    assert_eq!(shown(&other), Some(("a", None)));
    queues.advance(&mut other);
    assert_eq!(shown(&other), Some(("b", None)));
    queues.advance(&mut other);
    assert_eq!(ended(&other), Some(End::Missed(0)));
    // "b" is shown twice, and seen by client 2: its memory is not used again for "c".
    queues.advance(&mut inner);
    append(&mut queues, queue, 5, "c");
    let FetchState::Showing(event, _) = outer.state else {
        panic!("{outer:?}")
    };
    assert_eq!(queues.payload(&event), Some(&Text("b")));
    queues.advance(&mut outer);
    assert_eq!(shown(&outer), Some(("c", None)));
    // "c" is evicted while it is shown.
    append(&mut queues, queue, LIMIT, "d");
    queues.advance(&mut outer);
    assert_eq!(shown(&outer), Some(("d", None)));
    queues.set_access(1, queue, false).expect("both exist");
    append(&mut queues, queue, 0, "e");
    queues.advance(&mut outer);
    assert_eq!(shown(&outer), None);
}

/// Events that were seen take no memory, however many clients see them.
#[test]
fn seen_events_go() {
    for clients in 1..4 {
        let (mut queues, queue) = queues(clients);
        for _ in 0..50 {
            append(&mut queues, queue, 1, "a");
            append(&mut queues, queue, 1, "b");
            for client in 1..=clients {
                let mut session = begin(&mut queues, queue, client);
                queues.advance(&mut session);
                queues.advance(&mut session);
                assert_eq!(ended(&session), Some(End::Missed(0)));
            }
            assert_eq!(queues.counters(queue).expect("a queue").memory, 0);
        }
        assert_eq!(queues.events.slots(), 2);
    }
}

/// A filter sees each event first. A verdict of 0 has it decoded, another drops it; a filter that
/// is replaced while it filters is to be released, and so are those that a queue has at its end
/// (QUEUE-25, QUEUE-40, E-13).
#[test]
fn filters() {
    let (mut queues, queue) = queues(2);
    assert_eq!(queues.set_filter(1, queue, 5, true), Ok(None));
    assert_eq!(queues.set_filter(1, queue, 6, false), Ok(Some(5)));
    assert_eq!(queues.set_filter(1, queue, 7, true), Ok(None));
    append(&mut queues, queue, 5, "a");
    append(&mut queues, queue, 5, "b");
    append(&mut queues, queue, 5, "c");
    let mut session = begin(&mut queues, queue, 1);
    assert_eq!(shown(&session), Some(("a", Some(7))));
    queues.judged(&mut session, 0);
    assert_eq!(shown(&session), Some(("a", None)));
    queues.advance(&mut session);
    assert_eq!(shown(&session), Some(("b", Some(7))));
    queues.judged(&mut session, -1);
    assert_eq!(shown(&session), Some(("c", Some(7))));
    // The filter has ended the client: its event is not decoded.
    let mut ending = Ending::default();
    assert_eq!(
        (queues.end(1, &mut ending), queues.end(1, &mut ending)),
        (Some(7), None)
    );
    queues.judged(&mut session, 0);
    assert_eq!(ended(&session), Some(End::Missed(0)));
    assert_eq!(queues.set_filter(2, queue, 8, true), Ok(None));
    queues.register(3).expect("memory");
    assert_eq!(queues.set_filter(3, queue, 9, true), Ok(None));
    assert!(queues.shutdown(queue).is_ok_and(|left| left.is_none()));
    assert_eq!(queues.end(2, &mut Ending::default()), Some(8));
    assert_eq!(
        queues.end(
            2,
            &mut Ending {
                queue: 0,
                released: true
            }
        ),
        None
    );
    let left: Vec<u32> = queues.reap().map(Iterator::collect).expect("its last client has gone");
    assert_eq!(left, [9]);
}

/// A fetch notices that its client or its queue is another one by now, of the same number (E-10,
/// E-11).
#[test]
fn others_of_the_same_number() {
    let (mut queues, queue) = queues(1);
    append(&mut queues, queue, 5, "a");
    append(&mut queues, queue, 5, "b");
    let mut sessions = [(); 2].map(|()| begin(&mut queues, queue, 1));
    assert_eq!(queues.end(1, &mut Ending::default()), None);
    queues.register(1).expect("memory");
    queues.set_access(1, queue, true).expect("both exist");
    let again = begin(&mut queues, queue, 1);
    assert_eq!(shown(&again), Some(("a", None)));
    queues.advance(&mut sessions[0]);
    assert_eq!(ended(&sessions[0]), Some(End::Missed(0)));
    assert_eq!(queues.end(1, &mut Ending::default()), None);
    assert!(queues.shutdown(queue).is_ok_and(|left| left.is_some()));
    assert_eq!(queues.create(b"new", LIMIT, 1, || Ok(1)), Ok(queue));
    queues.break_off(&mut sessions[1]);
    assert_eq!(ended(&sessions[1]), Some(End::Gone));
}

fn lines(queues: &mut Queues<Text, u32>) -> Vec<String> {
    let text = |message| match message {
        Message::Debug(text) => String::from_utf8(text).expect("letters"),
        other => panic!("{other:?}"),
    };
    let journal = queues.journal.as_mut().expect("it is wanted");
    journal.messages.drain(..).map(text).collect()
}

/// Debug output says what becomes of events and clients, in the C library's words (QUEUE-60).
#[test]
fn traced() {
    for is_revised in [false, true] {
        let mut queues = Queues::<Text, u32>::new();
        queues.journal = Some(Journal::new());
        queues.revised = is_revised;
        let queue = queues.create(b"q", LIMIT, 0, || Ok(0)).expect("a new name");
        queues.register(3).expect("memory");
        assert_eq!(lines(&mut queues), ["pmdaEventNewClient: slot=0 (total=1) context=3"]);
        append(&mut queues, queue, 9, "nobody");
        assert_eq!(lines(&mut queues), ["Appending event: queue#0 \"q\" (9 bytes)"]);
        let session = begin(&mut queues, queue, 3);
        assert_eq!(shown(&session), None);
        assert_eq!(lines(&mut queues), ["queue_fetch start, last event=(nil)"]);
        append(&mut queues, queue, 15, "a text");
        append(&mut queues, queue, 20, "b");
        assert_eq!(
            lines(&mut queues),
            [
                "Appending event: queue#0 \"q\" (15 bytes)",
                "Inserted q event 0xa0 (15 bytes) clients = 1",
                "Appending event: queue#0 \"q\" (20 bytes)",
                "Inserted q event 0xa1 (20 bytes) clients = 1",
            ]
        );
        let session = begin(&mut queues, queue, 3);
        assert_eq!(shown(&session), None);
        let culled = [
            "Clientq access denied",
            "Culling event (sz=15): \"a text\"",
            "Removing q event 0xa0 in fetch",
        ];
        let rest = [
            "Clientq access denied",
            "Culling event (sz=20): \"b\"",
            "Removing q event 0xa1 in fetch",
        ];
        assert_eq!(
            lines(&mut queues),
            [&["queue_fetch start, last event=0xa0"][..], &culled, &rest].concat()
        );
        queues.set_access(3, queue, true).expect("both exist");
        append(&mut queues, queue, 5, "text");
        append(&mut queues, queue, 20, "beyond");
        lines(&mut queues);
        // Two fetches show the first event.
        let mut sessions = [(); 2].map(|()| begin(&mut queues, queue, 3));
        let start = ["queue_fetch start, last event=0xb3", "Adding event (sz=5): \"text\""];
        assert_eq!(lines(&mut queues), [start, start].concat());
        append(&mut queues, queue, 40, "c");
        let (dropping, removing) = match is_revised {
            false => ("Dropping", "Removing"),
            true => ("Client dropped queue", "Client removing queue:"),
        };
        let dropped = |event: &str, size: u32, memory: u32| {
            [
                format!("{dropping} q: e={event} sz={size} max=40 qsz={memory}"),
                format!("{removing} q event {event} ({size} bytes)"),
            ]
        };
        let appended = "Appending event: queue#0 \"q\" (40 bytes)".to_owned();
        let inserted = "Inserted q event 0xa2 (40 bytes) clients = 1".to_owned();
        let dropped = [dropped("0xb3", 5, 25), dropped("0xa1", 20, 20)].concat();
        assert_eq!(lines(&mut queues), [&[appended][..], &dropped, &[inserted]].concat());
        queues.advance(&mut sessions[0]);
        assert_eq!(lines(&mut queues), ["Adding event (sz=40): \"c\""]);
        queues.set_filter(3, queue, 7, true).expect("both exist");
        append(&mut queues, queue, 0, "dropped");
        lines(&mut queues);
        let mut filtered = begin(&mut queues, queue, 3);
        assert_eq!(lines(&mut queues), ["queue_fetch start, last event=0xa2"]);
        queues.judged(&mut filtered, 0);
        assert_eq!(
            lines(&mut queues),
            ["Clientq filter applied (0)", "Adding event (sz=40): \"c\""]
        );
        queues.advance(&mut filtered);
        lines(&mut queues);
        queues.judged(&mut filtered, 1);
        // An event of no bytes has no text.
        let culled = ["Clientq filter applied (1)", "Culling event (sz=0): \"\""];
        assert_eq!(lines(&mut queues)[..2], culled);
        queues.register(4).expect("memory");
        queues
            .begin(&mut FetchSession::new(queue, 4), |_| Ok(()))
            .expect("both exist");
        lines(&mut queues);
        assert!(
            queues
                .shutdown(queue)
                .is_ok_and(|left: Option<Leftovers<u32>>| left.is_none())
        );
        assert_eq!(lines(&mut queues), ["queue_shutdown: q numclients=2"]);
        let mut ending = Ending::default();
        assert_eq!(
            (queues.end(3, &mut ending), queues.end(3, &mut ending)),
            (Some(7), None)
        );
        let ended = ["pmdaEventEndClient ctx=3 slot=0", "queue_cleanup: q numclients=2"];
        assert_eq!(lines(&mut queues), ended);
        assert_eq!(queues.end(4, &mut Ending::default()), None);
        let ended = [
            "pmdaEventEndClient ctx=4 slot=1",
            "queue_cleanup: q numclients=1",
            "queue_cleanup: q final shutdown=1",
        ];
        assert_eq!(lines(&mut queues), ended);
    }
}

/// A payload without an address of its own has 0, and is shown as an empty text.
#[test]
fn traced_without_address() {
    let mut queues = Queues::<u64, ()>::new();
    queues.journal = Some(Journal::new());
    let queue = queues.create(b"q", 9, 1, || Ok(0)).expect("a new name");
    queues.append(queue, 4, |_| Ok(7)).expect("memory");
    let messages = queues.journal.map(|journal| journal.messages).expect("it is wanted");
    assert_eq!(
        messages[1..],
        [Message::Debug(b"Inserted q event 0x0 (4 bytes) clients = 1".to_vec())]
    );
}
