//! What an agent does, step by step, without ever calling C.
//!
//! Whatever hands control to the agent's own functions is a [`Machine`](crate::machine::Machine).

pub(crate) mod cache;
pub(crate) mod cached_indom;
pub(crate) mod dynamic;
pub(crate) mod events;
pub(crate) mod fetch;
pub(crate) mod help;
pub(crate) mod instances;
pub(crate) mod iterate;
pub(crate) mod label_request;
pub(crate) mod labels;
pub(crate) mod lookup;
pub(crate) mod options;
pub(crate) mod queues;
pub(crate) mod record;
pub(crate) mod selection;
pub(crate) mod session;
pub(crate) mod setup;
