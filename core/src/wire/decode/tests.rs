//! Requests that are well formed, and others.

use proptest::prelude::*;

use super::*;
use crate::wire::encode::tests::hex;

/// If PCP 7 is stricter or more lenient than PCP 6, PCP 7 counts (WIRE-60).
#[test]
fn generations() {
    let short = hex("00000018 00007002 00000000 00000000 00000001 00000000");
    assert_eq!(
        profile(&short).map(|profile| (profile.state, profile.len())),
        Ok((1, 0))
    );
    let long = hex(
        "00000034 00007002 00000000 00000000 00000000 00000001 00000000 3f400000 00000001 00000001 00000000 00000002 \
         00000003",
    );
    assert_eq!(profile(&long).err(), Some(Error::IPC));
    let unpadded = hex("00000026 00007006 00000000 3f400000 00000000 00000000 ffffffff 00000006 67726565 6e31");
    assert_eq!(instance_request(&unpadded).err(), Some(Error::IPC));
    let long = hex("00000018 00007008 00000000 3f400000 00000005 00000000");
    assert_eq!(text_request(&long).err(), Some(Error::IPC));
    assert_eq!(label_request(&long).err(), Some(Error::IPC));
    let long = hex("0000001c 0000700d 00000000 00000000 00000001 3f401401 00000000");
    assert_eq!(ids_request(&long).err(), Some(Error::IPC));
    let negative = hex("00000018 0000700e 00000000 00000000 00000000 ffffcfba");
    assert_eq!(names_request(&negative).err(), Some(Error::PMID));
}

/// The instances of all domains follow the domains: each domain has its own.
#[test]
fn profiles() {
    let pdu = hex(
        "00000064 00007002 00000000 00000000 00000001 00000003 00000000 3f400000 00000001 00000002 00000000 3f400001 \
         00000000 00000001 00000000 3f400002 00000001 00000001 00000000 00000002 00000003 fffffff8 00000009",
    );
    let domains: Vec<_> = profile(&pdu)
        .expect("well formed")
        .iter()
        .map(|domain| {
            (
                domain.indom.serial(),
                domain.state,
                domain.instances().collect::<Vec<_>>(),
            )
        })
        .collect();
    assert_eq!(domains, [(0, 1, vec![2, 3]), (1, 0, vec![-8]), (2, 1, vec![9])]);
}

/// A profile says how many domains it lists, and whether it lists any.
#[test]
fn lengths_of_profiles() {
    let pdu = |domains: u32| {
        let mut pdu = hex("00000000 00007002 00000000 00000000 00000001");
        pdu.extend([domains.to_be_bytes(), [0; 4]].concat());
        (0..domains).for_each(|serial| pdu.extend([serial.to_be_bytes(), [0; 4], [0; 4], [0; 4]].concat()));
        pdu
    };
    for domains in 0..5 {
        let pdu = pdu(domains);
        let profile = profile(&pdu).expect("well formed");
        assert_eq!((profile.len(), profile.is_empty()), (domains as usize, domains == 0));
        assert_eq!(profile.iter().count(), domains as usize);
    }
}

/// A request for a description has one metric, and nothing after it (WIRE-60).
#[test]
fn descriptions() {
    let pdu = hex("00000010 00007004 00000000 3f400005 00000000");
    assert_eq!(desc_request(&pdu[..16]), Ok(MetricId(0x3f40_0005)));
    for length in [0, 12, 15, 17, 20] {
        assert_eq!(desc_request(&pdu[..length]).err(), Some(Error::IPC), "{length}");
    }
}

/// The number of credentials is that which follows, and at most 1,024.
#[test]
fn numbers_of_credentials() {
    let pdu = |announced: u32, bytes: usize| {
        let body = [1, 2, 3, 4].iter().cycle().take(bytes);
        [
            &hex("00000000 0000700c 00000000")[..],
            &announced.to_be_bytes(),
            &body.copied().collect::<Vec<_>>(),
        ]
        .concat()
    };
    for number in [0, 1, 2, 3, 4, 1024] {
        let pdu = pdu(number, 4 * number as usize);
        let list = credentials(&pdu).expect("well formed");
        assert_eq!(
            (list.len(), list.filter(|entry| *entry == (1, 2)).count()),
            (number as usize, number as usize)
        );
    }
    for (announced, bytes) in [
        (1, 0),
        (1, 3),
        (1, 5),
        (1, 8),
        (2, 4),
        (2, 6),
        (0, 4),
        (1025, 4100),
        (u32::MAX, 4),
    ] {
        assert_eq!(
            credentials(&pdu(announced, bytes)).err(),
            Some(Error::IPC),
            "{announced} {bytes}"
        );
    }
}

/// A list of names: with their states or without, each as long as it says, and as many as are
/// announced (WIRE-60).
#[test]
fn lists_of_names() {
    let pdu = |total: u32, states: i32, names: u32, body: &str| {
        let head = [total, states as u32, names].map(u32::to_be_bytes).concat();
        [hex("00000000 0000700e 00000000"), head, hex(body)].concat()
    };
    let listed = |pdu: &[u8]| -> Result<Vec<_>> {
        let names = name_list(pdu)?.map(|(name, status)| (String::from_utf8_lossy(name).into_owned(), status));
        Ok(names.collect())
    };
    let two = "00000003 61626300 00000001 64000000";
    let states = "00000001 00000003 61626300 00000000 00000001 64000000";
    let names = |states: [Option<i32>; 2]| Ok(["abc", "d"].map(str::to_owned).into_iter().zip(states).collect());
    assert_eq!(listed(&pdu(6, 0, 2, two)), names([None, None]));
    assert_eq!(listed(&pdu(6, 2, 2, states)), names([Some(1), Some(0)]));
    // All names, each with a NUL, fit in the total, and the total in the PDU.
    for (total, is_good) in [(5, false), (6, true), (40, true), (41, false)] {
        assert_eq!(listed(&pdu(total, 0, 2, two)).is_ok(), is_good, "{total}");
    }
    for (states_count, names, body, is_good) in [
        (0, 1, two, true),
        (0, 3, two, false),
        (1, 2, states, false),
        (3, 2, states, false),
        (-2, 2, states, false),
        (2, 3, states, false),
        // An empty name needs one word more than it has.
        (0, 1, "00000000", false),
        (0, 1, "00000000 00000000", true),
        (1, 1, "00000001 00000000", false),
        (1, 1, "00000001 00000000 00000000", true),
        (0, 1, "00000009 61626300", false),
    ] {
        assert_eq!(
            listed(&pdu(6, states_count, names, body)).is_ok(),
            is_good,
            "{names} of {states_count}: {body}"
        );
    }
    assert_eq!(names_request(&pdu(4, 0, 1, "00000003 61626300")), Ok(&b"abc"[..]));
    for (count, body) in [(0, ""), (2, two)] {
        assert_eq!(
            names_request(&pdu(6, 0, count, body)).err(),
            Some(Error::IPC),
            "{count}"
        );
    }
}

/// The subtype says whether states are wanted (PMNS_CHILD).
#[test]
fn names_below_a_name() {
    for (subtype, with_states) in [(0, false), (1, true), (7, true)] {
        let pdu = [
            hex("00000000 00007010 00000000"),
            vec![0, 0, 0, subtype],
            hex("00000003 61620063"),
        ]
        .concat();
        assert_eq!(
            names_below(&pdu),
            Ok(NamesBelow {
                with_states,
                name: b"ab"
            })
        );
    }
}

/// A value of 4095 bytes is passed on, one of 4096 is refused.
#[test]
fn attributes() {
    let pdu = |size| [&hex("00000000 00007011 00000000 00000005")[..], &vec![b'x'; size]].concat();
    assert_eq!(
        attribute(&pdu(4095)).map(|found| (found.key, found.value.len())),
        Ok((5, 4095))
    );
    assert_eq!(attribute(&pdu(4096)).err(), Some(Error::IPC));
}

proptest! {
    /// No bytes make a decoder panic, and lists end where their PDU ends (WIRE-15, WIRE-70).
    #[test]
    fn any_bytes(bytes in proptest::collection::vec(prop_oneof![Just(0_u8), any::<u8>()], 0..80)) {
        if let Ok(profile) = profile(&bytes) {
            let ids: usize = profile.iter().map(|entry| entry.instances().len()).sum();
            prop_assert!(16 * profile.len() + 4 * ids <= bytes.len());
        }
        let _ = fetch(&bytes).map(Iterator::count);
        let _ = desc_request(&bytes);
        let _ = instance_request(&bytes);
        let _ = text_request(&bytes);
        let _ = label_request(&bytes);
        let _ = names_request(&bytes);
        let _ = ids_request(&bytes);
        let _ = names_below(&bytes);
        let _ = attribute(&bytes);
        let _ = error(&bytes);
        let _ = credentials(&bytes).map(Iterator::count);
    }
}
