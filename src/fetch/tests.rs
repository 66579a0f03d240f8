use std::ffi::c_uint;

use super::*;
use crate::state::testing::{agent, step};
use crate::view::testing::{indom, list, metric, number, result_out, spare, table, text, value_sets};
use crate::view::types::{pmAtomValue, pmDesc, pmdaMetric};
use pmda_core::constants::{
    PM_TYPE_STRING, PM_TYPE_U32, PMDA_EXT_NAMES_CHANGE, PMDA_FETCH_DYNAMIC, PMDA_FETCH_NOVALUES,
};

const ONE: u32 = 250 << 22 | 1;
const TWO: u32 = 250 << 22 | 2;
const TEXT: u32 = 250 << 22 | 3;
const NO_INSTANCES: u32 = 250 << 22 | 4;
const UNKNOWN: u32 = 250 << 22 | 5;
const NO_INDOM: u32 = u32::MAX;
const DISKS: u32 = 250 << 22 | 1;
const EMPTY: u32 = 250 << 22 | 2;

/// The instances of a metric, with their numbers.
type Values<'values> = &'values [(c_int, u32)];

/// The tests make the answers themselves, so the agent only needs some callback.
extern "C-unwind" fn callback(_: *mut pmdaMetric, _: c_uint, _: *mut pmAtomValue) -> c_int {
    unreachable!("a step calls nothing")
}

extern "C-unwind" fn desc(_: pmID, _: Out<'_, pmDesc>, _: Option<Ext<'_>>) -> c_int {
    unreachable!("a step calls nothing")
}

/// A fetch, and the argument that gets its result. The agent has a number, a number for each of the
/// disks 3 and 5, a text, and a metric whose domain is empty.
struct Scene {
    ext: Ext<'static>,
    fetch: Fetch<'static>,
    out: Out<'static, *mut pmdaResult>,
}

impl Scene {
    /// A fetch of these metrics that has not begun; `desc` says whether the agent has a method
    /// for descriptions.
    fn with(token: &mut Token, pmids: &[u32], has_desc: bool) -> Scene {
        let (dispatch, ext, record) = agent(token, 7);
        ext.set_metrics(table(vec![
            metric(ONE, PM_TYPE_U32, NO_INDOM),
            metric(TWO, PM_TYPE_U32, DISKS),
            metric(TEXT, PM_TYPE_STRING, NO_INDOM),
            metric(NO_INSTANCES, PM_TYPE_U32, EMPTY),
        ]));
        ext.set_indoms(table(vec![indom(DISKS, &[3, 5]), indom(EMPTY, &[])]));
        ext.set_fetch_callback(Some(callback));
        if has_desc {
            dispatch.set_desc(Some(desc));
        }
        let (out, memory) = (result_out(), ResultMemory::Malloc(&record.results));
        let fetch = Fetch::new(token, ext, record, list(pmids), out, memory, spare()).expect("memory");
        Scene { ext, fetch, out }
    }

    fn new(token: &mut Token, pmids: &[u32]) -> Scene {
        Scene::with(token, pmids, false)
    }

    /// Begins the fetch, which then asks for the value of an instance of a metric.
    fn starts_with(&mut self, token: &mut Token, pmid: u32, inst: c_int) {
        assert!(self.fetch.start(token));
        self.asks_for(pmid, inst);
    }

    fn asks_for(&self, pmid: u32, inst: c_int) {
        let pending = self.fetch.pending();
        assert!(pending.callback.is_some());
        assert_eq!((pending.metric.pmid(), pending.inst), (MetricId(pmid), inst));
    }

    /// Answers with a number. Returns whether another call is due.
    fn value(&mut self, token: &mut Token, value: u32) -> bool {
        self.fetch
            .resume(token, FetchAnswer::Value(number(value, PMDA_FETCH_STATIC)))
    }

    /// Answers that the instance has no value. Returns whether another call is due.
    fn nothing(&mut self, token: &mut Token, returned: c_int) -> bool {
        self.fetch.resume(token, FetchAnswer::Value(number(0, returned)))
    }

    /// The fetch has ended with these value sets.
    fn has(&self, expected: &[(u32, Result<Values<'_>>)]) {
        assert_eq!(self.fetch.outcome, Ok(()));
        let expected = expected.iter();
        let expected = expected.map(|(pmid, values)| (*pmid, values.map(<[_]>::to_vec).map_err(Error::code)));
        assert_eq!(value_sets(self.out), Some(expected.collect()));
    }
}

#[test]
fn start_of_an_empty_list_finishes() {
    step(|token| {
        let mut scene = Scene::new(token, &[]);
        scene.ext.set_flags(scene.ext.flags() | PMDA_EXT_NAMES_CHANGE);
        assert!(!scene.fetch.start(token));
        scene.has(&[]);
        assert_eq!(
            scene.ext.flags() & CHANGE_FLAGS,
            0,
            "pmcd was told of the change (FETCH-60)"
        );
    });
}

#[test]
fn start_of_a_metric_without_instances_asks_for_its_value() {
    step(|token| Scene::new(token, &[ONE]).starts_with(token, ONE, -1));
}

#[test]
fn start_of_a_metric_with_instances_asks_for_the_first() {
    step(|token| Scene::new(token, &[TWO]).starts_with(token, TWO, 3));
}

#[test]
fn start_of_a_metric_whose_domain_is_empty_goes_on_to_the_next() {
    step(|token| {
        let mut scene = Scene::new(token, &[NO_INSTANCES, ONE]);
        scene.starts_with(token, ONE, -1);
        assert!(!scene.value(token, 7));
        scene.has(&[(NO_INSTANCES, Ok(&[])), (ONE, Ok(&[(-1, 7)]))]);
    });
}

#[test]
fn start_of_an_unknown_metric_goes_on_to_the_next() {
    step(|token| {
        let mut scene = Scene::new(token, &[UNKNOWN, ONE]);
        scene.starts_with(token, ONE, -1);
        assert!(!scene.value(token, 7));
        scene.has(&[(UNKNOWN, Err(Error::PMID)), (ONE, Ok(&[(-1, 7)]))]);
    });
}

#[test]
fn start_of_an_unknown_metric_asks_the_desc_method() {
    step(|token| {
        let mut scene = Scene::with(token, &[UNKNOWN], true);
        assert!(scene.fetch.start(token));
        let pending = scene.fetch.pending();
        assert!(pending.callback.is_none());
        assert_eq!(pending.method.map(|(_, pmid)| pmid), Some(MetricId(UNKNOWN)));
    });
}

#[test]
fn start_without_a_callback_fails() {
    step(|token| {
        let mut scene = Scene::new(token, &[ONE]);
        scene.ext.set_fetch_callback(None);
        assert!(!scene.fetch.start(token));
        assert_eq!(scene.fetch.outcome, Err(Error::GENERIC));
        assert_eq!(value_sets(scene.out), None, "no result is stored");
    });
}

#[test]
fn value_of_the_last_metric_finishes() {
    step(|token| {
        let mut scene = Scene::new(token, &[ONE]);
        scene.starts_with(token, ONE, -1);
        assert!(!scene.value(token, 42));
        scene.has(&[(ONE, Ok(&[(-1, 42)]))]);
    });
}

#[test]
fn value_of_an_instance_asks_for_the_next() {
    step(|token| {
        let mut scene = Scene::new(token, &[TWO]);
        scene.starts_with(token, TWO, 3);
        assert!(scene.value(token, 30));
        scene.asks_for(TWO, 5);
        assert!(!scene.value(token, 50));
        scene.has(&[(TWO, Ok(&[(3, 30), (5, 50)]))]);
    });
}

#[test]
fn value_of_the_last_instance_asks_for_the_next_metric() {
    step(|token| {
        let mut scene = Scene::new(token, &[TWO, ONE]);
        scene.starts_with(token, TWO, 3);
        assert!(scene.value(token, 30) && scene.value(token, 50));
        scene.asks_for(ONE, -1);
    });
}

/// An answer without a value is the instance's alone (FETCH-36).
#[test]
fn no_value_asks_for_the_next_instance() {
    step(|token| {
        let mut scene = Scene::new(token, &[TWO]);
        scene.starts_with(token, TWO, 3);
        assert!(scene.nothing(token, PMDA_FETCH_NOVALUES));
        scene.asks_for(TWO, 5);
        assert!(!scene.value(token, 50));
        scene.has(&[(TWO, Ok(&[(5, 50)]))]);
    });
}

/// The error of one instance costs only that one; without any value it is the metric's
/// (FETCH-36).
#[test]
fn error_asks_for_the_next_instance() {
    step(|token| {
        let mut scene = Scene::new(token, &[TWO, TWO]);
        scene.starts_with(token, TWO, 3);
        assert!(scene.nothing(token, Error::AGAIN.code()));
        scene.asks_for(TWO, 5);
        assert!(scene.value(token, 50));
        scene.asks_for(TWO, 3);
        assert!(scene.nothing(token, Error::INST.code()) && !scene.nothing(token, Error::AGAIN.code()));
        scene.has(&[(TWO, Ok(&[(5, 50)])), (TWO, Err(Error::AGAIN))]);
    });
}

/// A text that is NULL cannot be stored (FETCH-53).
#[test]
fn value_that_cannot_be_stored_goes_on_to_the_next_metric() {
    step(|token| {
        let mut scene = Scene::new(token, &[TEXT, ONE]);
        scene.starts_with(token, TEXT, -1);
        assert!(
            scene
                .fetch
                .resume(token, FetchAnswer::Value(text(None, PMDA_FETCH_STATIC)))
        );
        scene.asks_for(ONE, -1);
        assert!(!scene.value(token, 7));
        scene.has(&[(TEXT, Err(Error::VALUE)), (ONE, Ok(&[(-1, 7)]))]);
    });
}

/// The result has a copy of a text that the agent hands over. (`make -C tests memcheck` shows
/// that the text is freed, FETCH-42.)
#[test]
fn value_to_free_finishes() {
    step(|token| {
        let mut scene = Scene::new(token, &[TEXT]);
        scene.starts_with(token, TEXT, -1);
        let value = FetchAnswer::Value(text(Some(c"a text"), PMDA_FETCH_DYNAMIC));
        assert!(!scene.fetch.resume(token, value));
        let sets = value_sets(scene.out).expect("a result");
        assert!(matches!(&sets[..], [(TEXT, Ok(values))] if values.len() == 1));
    });
}

#[test]
fn description_asks_for_the_value() {
    step(|token| {
        let mut scene = Scene::with(token, &[UNKNOWN], true);
        assert!(scene.fetch.start(token));
        scene
            .fetch
            .spare
            .desc_out()
            .set(metric(UNKNOWN, PM_TYPE_U32, NO_INDOM).m_desc);
        assert!(scene.fetch.resume(token, FetchAnswer::Described));
        scene.asks_for(UNKNOWN, -1);
        assert!(!scene.value(token, 7));
        scene.has(&[(UNKNOWN, Ok(&[(-1, 7)]))]);
    });
}

#[test]
fn description_asks_for_the_first_instance() {
    step(|token| {
        let mut scene = Scene::with(token, &[UNKNOWN], true);
        assert!(scene.fetch.start(token));
        scene
            .fetch
            .spare
            .desc_out()
            .set(metric(UNKNOWN, PM_TYPE_U32, DISKS).m_desc);
        assert!(scene.fetch.resume(token, FetchAnswer::Described));
        scene.asks_for(UNKNOWN, 3);
    });
}

/// A desc method that has stored nothing knows nothing, whatever it returns (F-13).
#[test]
fn no_description_goes_on_to_the_next_metric() {
    step(|token| {
        let mut scene = Scene::with(token, &[UNKNOWN, ONE], true);
        assert!(scene.fetch.start(token));
        assert!(scene.fetch.resume(token, FetchAnswer::Described));
        scene.asks_for(ONE, -1);
        assert!(!scene.value(token, 7));
        scene.has(&[(UNKNOWN, Err(Error::PMID)), (ONE, Ok(&[(-1, 7)]))]);
    });
}

/// A callback that is removed while the fetch runs ends it.
#[test]
fn value_then_no_callback_fails() {
    step(|token| {
        let mut scene = Scene::new(token, &[TWO]);
        scene.starts_with(token, TWO, 3);
        scene.ext.set_fetch_callback(None);
        assert!(!scene.value(token, 30));
        assert_eq!(scene.fetch.outcome, Err(Error::GENERIC));
    });
}
