//! The client's half of the protocol: the requests that pmcd sends to an agent, or a client to
//! pmcd, and the replies to them.
//!
//! Requests are encoded here and decoded by [`super::decode`]; replies are encoded by
//! [`super::encode`] and decoded here. Values are those of [`super::result`], in both directions.
//! Replies are no more trusted than requests: every length is checked against the bytes that are
//! there.

mod events;
mod reply;
mod request;

pub use events::{EventRecord, EventRecords, Parameter, Parameters};
pub use reply::{
    Desc, WireInstances, WireLabelSet, WireLabelSets, desc, expect, ids, instances, labels, names, pmid, text,
};
pub use request::{ClientRequest, InDomProfile};

#[cfg(test)]
mod tests;
