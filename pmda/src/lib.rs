//! Agents (PMDAs) for [Performance Co-Pilot](https://pcp.io) in safe Rust.

#![deny(unsafe_code)]

mod agent;
mod background;
mod check;
mod client;
mod daemon;
#[doc(hidden)]
pub mod dso;
mod env;
mod events;
mod guard;
mod indom;
mod labels;
mod logger;
mod metrics;
mod options;
pub mod prelude;
mod profile;
mod queue;
mod request;
mod run;
mod session;
pub mod testing;
mod unit;
mod value;
mod write;

pub use agent::Agent;
pub use background::Background;
pub use client::{Client, ClientId};
pub use env::{Env, Opt};
pub use events::{Events, Param, Record};
pub use indom::{Indom, Update};
pub use labels::{LabelValue, Labels};
pub use metrics::{Declared, DeclaredIndom, Def, IndomRef, Metrics};
pub use pmda_core::error::{Error, Result};
pub use pmda_derive::{Metrics, Row};
pub use queue::Queue;
pub use request::{Request, Why};
pub use run::run;
pub use unit::*;
pub use value::{Encoder, FromStore, Semantics, Stored, Type, Value};
