//! Dynamic metrics: trees of names that the agent updates, and the metric tables made of them.
//!
//! The trees belong to the agent, which stores and exchanges the pointer of its update callback
//! (DYN-4). The lookups by name, by identifier, and for help update all trees first.

pub(crate) mod exports;
mod rebuild;

use crate::state;
use crate::state::callbacks::{Callbacks, Registrations};
use crate::sys::lock::Token;
use crate::view::arg::CText;
use pmda_core::ident::MetricId;

/// A walk over the registrations of an agent: its own, else those of the process (DYN-3). It ends
/// with the last one of its start: callbacks may register more (N-9).
#[derive(Clone, Copy)]
pub(crate) struct CallbacksIter {
    own: Option<&'static Registrations>,
    next: usize,
    end: usize,
}

impl CallbacksIter {
    pub(crate) fn new(token: &mut Token, own: Option<&'static Registrations>) -> CallbacksIter {
        let own = own
            .map(|own| (own, own.lock(token).len()))
            .filter(|(_, count)| *count > 0);
        let of_process = || state::peek(token).map_or(0, |globals| globals.dynamic.len());
        CallbacksIter {
            own: own.map(|(own, _)| own),
            next: 0,
            end: own.map_or_else(of_process, |(_, count)| count),
        }
    }

    pub(crate) fn next(&mut self, token: &mut Token) -> Option<&'static Callbacks> {
        let place = self.next;
        if place == self.end {
            return None;
        }
        self.next += 1;
        let registration = match self.own {
            Some(own) => own.lock(token).get(place),
            None => state::peek(token)?.dynamic.get(place),
        };
        registration.map(|registration| &registration.calls)
    }
}

#[derive(Clone, Copy)]
pub(crate) enum LookupKey<'call> {
    /// The tree with a name; `None` for no name at all.
    Name(Option<CText<'call>>),
    /// The tree with a name of a metric.
    Metric(MetricId),
}

/// The first registration whose tree has the key.
fn search(token: &mut Token, mut registrations: CallbacksIter, key: LookupKey<'_>) -> Option<&'static Callbacks> {
    let has = |callbacks: &Callbacks| {
        callbacks.tree.tree().is_some_and(|tree| match &key {
            LookupKey::Name(name) => name.is_some_and(|name| tree.find(name.bytes()).is_some()),
            LookupKey::Metric(pmid) => tree.knows(*pmid),
        })
    };
    loop {
        let callbacks = registrations.next(token)?;
        if has(callbacks) {
            return Some(callbacks);
        }
    }
}
