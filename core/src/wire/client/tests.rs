//! Requests and replies as captured from pmcd and the C library.

use proptest::prelude::*;

use super::*;
use crate::constants::*;
use crate::error::{Error, Result};
use crate::events::{Form, Stamp};
use crate::ident::{InDom, MetricId};
use crate::labels::Label;
use crate::wire::encode::tests::hex;
use crate::wire::result::SentValue;
use crate::wire::{Kind, decode};

const INDOM: InDom = InDom(0x3f40_0000);

fn check(fill: impl FnOnce(&mut ClientRequest) -> Result<()>, expected: &str) {
    let mut request = ClientRequest::new();
    fill(request.of(1)).expect("encodes");
    assert_eq!(request.bytes(), hex(expected));
}

/// Requests are as pmcd sends them for its second client (WIRE-2, WIRE-40).
#[test]
fn requests() {
    check(
        |request| request.desc(MetricId(0x3f40_0000)),
        "00000010 00007004 00000001 3f400000",
    );
    check(
        |request| request.fetch(&[MetricId(0x3f40_0000), MetricId(0x3f40_0001)]),
        "00000024 00007003 00000001 00000001 00000000 00000000 00000002 3f400000 3f400001",
    );
    check(
        |request| request.instances(INDOM),
        "00000020 00007006 00000001 3f400000 00000000 00000000 ffffffff 00000000",
    );
    check(
        |request| request.instance(INDOM, PM_IN_NULL, Some(b"green1")),
        "00000028 00007006 00000001 3f400000 00000000 00000000 ffffffff 00000006 67726565 6e317e7e",
    );
    check(
        |request| request.text(0x3f40_0000, PM_TEXT_ONELINE | PM_TEXT_PMID),
        "00000014 00007008 00000001 3f400000 00000005",
    );
    check(
        |request| request.label(0x3f40_0000, PM_LABEL_INSTANCES),
        "00000014 00007012 00000001 3f400000 00000020",
    );
    check(
        |request| request.names([&b"a"[..]].into_iter()),
        "00000020 0000700e 00000001 00000002 00000000 00000001 00000001 617e7e7e",
    );
    check(
        |request| request.names_of(MetricId(0x3f40_1401)),
        "00000018 0000700d 00000001 00000000 00000001 3f401401",
    );
    check(
        |request| request.children(b"simple"),
        "0000001c 0000700f 00000001 00000001 00000006 73696d70 6c657e7e",
    );
    check(
        |request| request.traverse(b""),
        "00000014 00007010 00000001 00000000 00000000",
    );
    check(
        |request| request.attribute(11, b"1000\0"),
        "00000015 00007011 00000001 0000000b 31303030 00",
    );
    check(ClientRequest::end_context, "00000010 00007000 00000001 ffffcf99");
    check(
        |request| request.credentials(0x49ca, 4),
        "00000014 0000700c 000049ca 00000001 01020004",
    );
}

/// A PROFILE has its domains, and after all of them their instances.
#[test]
fn profiles() {
    check(
        |request| request.profile(PM_PROFILE_INCLUDE, [].into_iter()),
        "0000001c 00007002 00000001 00000001 00000000 00000000 00000000",
    );
    let one = InDomProfile {
        indom: INDOM,
        state: PM_PROFILE_EXCLUDE,
        instances: &[2, 3],
    };
    let other = InDomProfile {
        indom: InDom(0x3f40_0001),
        state: PM_PROFILE_INCLUDE,
        instances: &[4],
    };
    let mut request = ClientRequest::new();
    request
        .profile(PM_PROFILE_INCLUDE, [one, other].into_iter())
        .expect("short");
    let read = decode::profile(request.bytes()).expect("well formed");
    let read: Vec<_> = read
        .iter()
        .map(|domain| (domain.indom, domain.state, domain.instances().collect::<Vec<_>>()))
        .collect();
    assert_eq!(read, [(INDOM, 1, vec![2, 3]), (InDom(0x3f40_0001), 0, vec![4])]);
}

const DESC: &str = "00000020 00007005 00000000 3f400000 00000001 ffffffff 00000003 1f213300";
const TEXT: &str = "0000001c 00007009 00000000 0000403f 00000007 6f6e6568 656c707e";
const INSTANCES: &str = "0000003c 00007007 00000000 3f400000 00000003 00000000 00000003 7265647e 00000001 00000006 \
                         67726565 6e317e7e 00000002 00000004 626c7565";
const IDS: &str = "00000018 0000700d 00000000 00000003 00000001 3f401402";
const NAMES: &str = "00000030 0000700e 00000000 00000007 00000002 00000002 00000000 00000001 617e7e7e 00000001 00000004 \
                     62626363";
const LABELS: &str = "00000070 00007013 00000000 3f400000 00000020 00000000 00000003 00000000 00000001 0000005c \
                      0000000a 00020420 00080001 00000001 00000000 00000066 00000000 00000002 00000001 00000066 \
                      0000000a 00020420 00080001 7b22696e 7374223a 307d7b22 696e7374 223a327d";

type IsWhole = fn(&[u8]) -> bool;

/// Each reply is read as it was captured, and refused when it is cut at any length.
#[test]
fn replies() {
    let pdu = hex(DESC);
    let found = desc(&pdu).expect("well formed");
    assert_eq!((found.metric.0, found.kind, found.indom), (0x3f40_0000, 1, InDom::NULL));
    assert_eq!((found.semantics, found.units), (3, 0x1f21_3300));
    assert_eq!(text(&hex(TEXT)), Ok(&b"onehelp"[..]));
    let pdu = hex(INSTANCES);
    let found: Vec<_> = instances(&pdu).expect("well formed").collect();
    assert_eq!(found, [(0, &b"red"[..]), (1, b"green1"), (2, b"blue")]);
    assert_eq!(pmid(&hex(IDS)), Ok((3, MetricId(0x3f40_1402))));
    let pdu = hex(NAMES);
    let found: Vec<_> = names(&pdu).expect("well formed").collect();
    assert_eq!(
        found,
        [
            (&b"a"[..], Some(PMNS_LEAF_STATUS)),
            (b"bbcc", Some(PMNS_NONLEAF_STATUS))
        ]
    );
    let is_whole: [(&str, IsWhole); 6] = [
        (DESC, |pdu| desc(pdu).is_ok()),
        (TEXT, |pdu| text(pdu).is_ok()),
        (INSTANCES, |pdu| instances(pdu).is_ok()),
        (IDS, |pdu| ids(pdu).is_ok()),
        (NAMES, |pdu| names(pdu).is_ok()),
        (LABELS, |pdu| labels(pdu).is_ok()),
    ];
    for (pdu, is_whole) in is_whole {
        let whole = hex(pdu);
        // The padding of a text may be missing.
        let needed = whole.len() - usize::from(pdu == TEXT);
        for length in 0..=whole.len() {
            assert_eq!(is_whole(&whole[..length]), length >= needed, "{pdu} cut to {length}");
        }
    }
}

/// A LABEL may have sets of three instances, of which the second has no labels, and a set that
/// could not be made.
#[test]
fn label_sets() {
    let pdu = hex(LABELS);
    let sets: Vec<_> = labels(&pdu).expect("well formed").collect();
    let found: Vec<_> = sets.iter().map(|set| (set.inst, set.count, set.json)).collect();
    assert_eq!(
        found,
        [(0, 1, &b"{\"inst\":0}"[..]), (1, 0, b""), (2, 1, b"{\"inst\":2}")]
    );
    let label = Label {
        name: b"inst",
        value: b"2",
        flags: 0x20,
    };
    assert_eq!(sets[2].labels().collect::<Vec<_>>(), [label]);
    let error =
        hex("0000002c 00007013 00000000 3f400000 00000020 00000000 00000001 00000005 ffffcfb8 0000002c 00000000");
    let set = labels(&error).expect("well formed").next().expect("one");
    assert_eq!((set.inst, set.count, set.labels().count()), (5, -12360, 0));
    // Outside of the text.
    for (place, with) in [(45, 99), (46, 99), (49, 99), (51, 99)] {
        let mut bad = pdu.clone();
        bad[place] = with;
        assert_eq!(labels(&bad).err(), Some(Error::IPC), "{place}");
    }
}

#[test]
fn unexpected() {
    let reply = hex(DESC);
    assert_eq!(expect(&reply, Kind::PDU_DESC), Ok(()));
    assert_eq!(expect(&reply, Kind::PDU_TEXT), Err(Error::IPC));
    let error = hex("00000010 00007000 00000000 ffffcfba");
    assert_eq!(expect(&error, Kind::PDU_DESC), Err(Error::PMID));
    let no_error = hex("00000010 00007000 00000000 00000000");
    assert_eq!(expect(&no_error, Kind::PDU_DESC), Err(Error::IPC));
    assert_eq!(expect(&no_error[..7], Kind::PDU_DESC), Err(Error::IPC));
}

const EVENTS: &str = "00000002 11223344 00055667 00000001 00000003 3f400000 01000008 00000007 3f400005 06000006 \
                      78790000 3f400002 0300000c 01020304 05060708 11223344 00055667 80000000 00000009";

/// The example of an event array is read, and refused when it is cut at any length (WIRE-46,
/// WIRE-47).
#[test]
fn event_records() {
    let payload = hex(EVENTS);
    let mut records = EventRecords::new(Form::Low, &payload).expect("well formed");
    let record = records.next().expect("two");
    assert_eq!(
        (record.stamp, record.missed),
        (Stamp::Low(0x1122_3344, 0x0005_5667), None)
    );
    let parameters: Vec<_> = record
        .parameters
        .map(|found| (found.metric.0, found.kind, found.value))
        .collect();
    let long = SentValue::Block(0x0300_000c, &[1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(
        parameters,
        [
            (0x3f40_0000, 1, SentValue::Word(7)),
            (0x3f40_0005, 6, SentValue::Block(0x0600_0006, b"xy")),
            (0x3f40_0002, 3, long)
        ]
    );
    let missed = records.next().expect("two");
    assert_eq!((missed.missed, missed.parameters.count()), (Some(9), 0));
    assert!(records.next().is_none());
    for length in 0..payload.len() {
        assert!(EventRecords::new(Form::Low, &payload[..length]).is_err(), "{length}");
    }
    let high = hex("00000001 00000011 22334455 00000000 075bcd15 80000000 00000009");
    let mut records = EventRecords::new(Form::High, &high).expect("well formed");
    let stamp = records.next().map(|record| record.stamp);
    assert_eq!(stamp, Some(Stamp::High(0x11_2233_4455, 123_456_789)));
}

proptest! {
    #[test]
    fn any_bytes(
        sample in prop_oneof![Just(DESC), Just(TEXT), Just(INSTANCES), Just(IDS), Just(NAMES), Just(LABELS)],
        at in 12_usize..60,
        with: u8,
        tail in proptest::collection::vec(any::<u8>(), 0..30),
    ) {
        let mut changed = hex(sample);
        if let Some(byte) = changed.get_mut(at) {
            *byte = with;
        }
        for pdu in [&changed[..], &[&changed[..20], &tail].concat()] {
            let _ = desc(pdu);
            let _ = text(pdu);
            let _ = ids(pdu).map(|(_, ids)| ids.count());
            if let Ok(found) = instances(pdu) {
                prop_assert_eq!(found.len(), found.count());
            }
            if let Ok(found) = names(pdu) {
                prop_assert_eq!(found.len(), found.count());
            }
            if let Ok(found) = labels(pdu) {
                prop_assert_eq!(found.len(), found.clone().count());
                prop_assert!(found.clone().all(|set| set.labels().count() == set.spans().len()));
            }
        }
        let mut events = hex(EVENTS);
        events[at] = with;
        for form in [Form::Low, Form::High] {
            if let Ok(records) = EventRecords::new(form, &events) {
                prop_assert!(records.map(|record| record.parameters.count()).sum::<usize>() < events.len());
            }
        }
    }
}
