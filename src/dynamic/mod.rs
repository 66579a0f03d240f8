//! Dynamic metrics: trees of names that the agent updates, and the metric tables that are made of
//! them.
//!
//! The trees belong to the agent: its update callback gets the place of the pointer to one, and
//! stores or exchanges it there (DYN-4). Lookups by name, by identifier and of help texts have all
//! trees updated first.

pub(crate) mod exports;
mod rebuild;

use crate::state;
use crate::state::callbacks::{Callbacks, Registrations};
use crate::sys::lock::Token;
use crate::view::arg::CText;
use pmda_core::ident::MetricId;

/// A walk over the registrations that serve an agent: its own, or those of the process if it has
/// none (DYN-3). It ends with the registration that was the last one at its start: callbacks may
/// register more meanwhile (N-9).
#[derive(Clone, Copy)]
pub(crate) struct CallbacksIter {
    /// The agent's own registrations, if it has any.
    own: Option<&'static Registrations>,
    /// The place of the next registration.
    next: usize,
    /// The number of registrations at the start.
    end: usize,
}

impl CallbacksIter {
    /// A walk over the registrations of an agent whose own ones are these.
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

    /// The callbacks of the next registration. A registration is never removed, so they stay.
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

/// What a lookup searches the trees for.
#[derive(Clone, Copy)]
pub(crate) enum LookupKey<'call> {
    /// A name; `None`, for a NULL name, is found in no tree.
    Name(Option<CText<'call>>),
    /// A metric that has a name.
    Metric(MetricId),
}

/// The callbacks of the first registration whose tree has the key.
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
