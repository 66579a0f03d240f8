//! Requests of any bytes.

use pmda_core::wire::encode::is_whole;
use proptest::prelude::*;

use super::Simple;
use crate::testing::Harness;

/// Words of the protocol, and others.
fn any_word() -> impl Strategy<Value = u32> {
    prop_oneof![
        0_u32..8,
        Just(u32::MAX),
        (0_u32..4, 0_u32..6).prop_map(|(cluster, item)| 253 << 22 | cluster << 10 | item),
        Just(253 << 22 | 1),
        any::<u32>(),
    ]
}

fn any_request() -> impl Strategy<Value = Vec<u8>> {
    let body = proptest::collection::vec(any_word(), 0..12);
    (0x6fff_u32..0x7019, -1_i32..3, body, 0_usize..4).prop_map(|(kind, from, body, cut)| {
        let body: Vec<u8> = body.iter().flat_map(|word| word.to_be_bytes()).collect();
        let body = &body[..body.len().saturating_sub(cut)];
        let head = [body.len() as u32 + 12, kind, from as u32].map(u32::to_be_bytes);
        [&head.concat(), body].concat()
    })
}

/// Returns true if a PDU of this kind gets a reply.
fn is_answered(kind: u32) -> bool {
    !matches!(kind, 0x7000 | 0x7002 | 0x700a | 0x7011)
        && matches!(kind, 0x7001..=0x7012)
        && !matches!(kind, 0x7005 | 0x7007 | 0x7009 | 0x700b | 0x700c)
}

/// 100 requests each; `PMDA_CASES=10000` makes it a million.
fn cases() -> ProptestConfig {
    let wanted = std::env::var("PMDA_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig::with_cases(wanted.unwrap_or(40))
}

proptest! {
    #![proptest_config(cases())]

    /// Requests get one whole PDU as a reply, and nothing panics.
    #[test]
    fn requests(requests in proptest::collection::vec(any_request(), 100)) {
        let mut pmcd = Harness::<Simple>::new().expect("it starts");
        for request in requests {
            let reply = pmcd.raw(&request);
            let kind = u32::from_be_bytes([request[4], request[5], request[6], request[7]]);
            prop_assert_eq!(!reply.is_empty(), is_answered(kind), "{:x?}", request);
            prop_assert!(reply.is_empty() || is_whole(&reply));
            // Not even a panic that the guard would catch.
            prop_assert_eq!(crate::guard::CAUGHT.get(), 0);
        }
    }

    /// Bytes that are no PDU get no answer.
    #[test]
    fn no_pdu(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let mut pmcd = Harness::<Simple>::new().expect("it starts");
        prop_assert!(pmcd.raw(&bytes).is_empty());
    }
}
