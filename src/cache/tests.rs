//! The whole cache against a simple model.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{Action, Cache, Report, State};
use crate::ident::InDom;
use crate::index::Seed;

#[derive(Clone, Copy, Debug)]
enum Step {
    Add(u8),
    Hide(u8),
    Cull(u8),
    Reorganize,
    Inactive,
    Reuse,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => any::<u8>().prop_map(Step::Add),
        3 => any::<u8>().prop_map(Step::Hide),
        4 => any::<u8>().prop_map(Step::Cull),
        1 => Just(Step::Reorganize),
        1 => Just(Step::Inactive),
        1 => Just(Step::Reuse),
    ]
}

proptest! {
    /// CACHE-3, CACHE-21, CACHE-33, CACHE-40, CACHE-42, DEF-2, DEF-3, DEF-5, DEF-14: unique ids, the lowest free one on
    /// reuse, states, counts and order after any sequence of operations.
    #[test]
    fn as_the_model(steps in prop::collection::vec(step(), 0..600)) {
        let mut cache = Cache::<u8>::new(InDom::new(1, 1), Seed::process());
        let mut report = Report::default();
        // Id and state by name.
        let mut model = BTreeMap::<String, (i32, State)>::new();
        for step in steps {
            let name = |number: u8| format!("n{number}");
            let mut store = |action, number: u8| cache.store(action, Some(name(number).as_bytes()), Some(number), &mut report);
            match step {
                Step::Add(number) => {
                    let id = store(Action::Add, number).expect("there are ids");
                    let known = model.insert(name(number), (id, State::Active));
                    prop_assert!(known.is_none_or(|known| known.0 == id));
                }
                Step::Hide(number) => {
                    let known = model.get_mut(&name(number));
                    prop_assert_eq!(store(Action::Hide, number).ok(), known.as_ref().map(|known| known.0));
                    if let Some(known) = known {
                        known.1 = State::Inactive;
                    }
                }
                Step::Cull(number) => {
                    let known = model.remove(&name(number));
                    prop_assert_eq!(store(Action::Cull, number).ok(), known.map(|known| known.0));
                }
                Step::Reorganize => cache.reorganize().expect("memory"),
                Step::Inactive => {
                    let active = model.values_mut().filter(|known| known.1 == State::Active);
                    let changed = active.map(|known| known.1 = State::Inactive).count();
                    prop_assert_eq!(cache.deactivate_all(), changed);
                }
                Step::Reuse => cache.reuse(),
            }
        }
        let mut active = Vec::new();
        for (name, (id, state)) in &model {
            let hit = cache.lookup(*id).expect("known");
            prop_assert_eq!((hit.state(), hit.name()), (*state, name.as_bytes()));
            prop_assert_eq!(cache.lookup_name(name.as_bytes()).expect("known").id(), *id);
            if *state == State::Active {
                active.push(*id);
            }
        }
        active.sort_unstable();
        cache.rewind();
        let walked: Vec<i32> = std::iter::from_fn(|| cache.walk()).collect();
        prop_assert_eq!(&walked, &active);
        prop_assert_eq!((cache.active(), cache.active() + cache.inactive()), (active.len(), model.len()));
        // After everything culled is gone, the lowest free id is the next one.
        cache.reorganize().expect("memory");
        cache.reuse();
        let lowest = (0..).find(|id| model.values().all(|known| known.0 != *id)).expect("there are ids");
        prop_assert_eq!(cache.store(Action::Add, Some(b"next"), None, &mut report), Ok(lowest));
    }
}
