//! The client's half of the protocol: what pmcd sends to an agent, or a client to pmcd, and the
//! replies.
//!
//! Requests are encoded here and decoded by [`super::decode`]; replies are encoded by
//! [`super::encode`] and decoded here, without trust. Values are those of [`super::result`], in
//! both directions.

mod events;
mod reply;
mod request;

pub use events::{EventRecord, EventRecords, Parameter, Parameters};
pub use reply::{Desc, InstanceList, LabelSet, LabelSets, desc, expect, ids, instances, labels, names, pmid, text};
pub use request::{ClientRequest, InDomProfile};

#[cfg(test)]
mod tests;
