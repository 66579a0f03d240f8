//! Agents (PMDAs) for [Performance Co-Pilot](https://pcp.io) in safe Rust.
//!
//! An agent is a type that implements [`Agent`]: it declares its metrics once, with
//! [`struct@Metrics`] or by `#[derive(Metrics)]`, and reads their values on request. [`run()`]
//! makes a daemon of it, [`export_dso!`] a shared object, and [`testing::Harness`] asks it in tests
//! as pmcd does. Building, running or testing an agent needs no PCP, no headers, no C compiler and
//! no `unsafe`. The guide, `docs/RUST-AGENTS.md` of the repository, leads from an empty folder to
//! `pminfo`, and names the counterpart of each function of C, Perl and Python.
//!
//! ```no_run
//! #![forbid(unsafe_code)]
//! use pmda::prelude::*;
//!
//! #[derive(Default)]
//! struct Uptime {
//!     seconds: f64,
//! }
//!
//! impl Agent for Uptime {
//!     const NAME: &'static str = "uptime";
//!     const DOMAIN: u32 = 450;
//!     fn start(_: &Env) -> Result<Uptime> {
//!         Ok(Uptime::default())
//!     }
//!     fn metrics(m: &mut Metrics<Uptime>) {
//!         m.cluster(0).refresh(|s, _| {
//!             let text = fs::read_to_string("/proc/uptime")?;
//!             let first = text.split(' ').next().ok_or(Error::VALUE)?;
//!             s.seconds = first.parse()?;
//!             Ok(())
//!         });
//!         m.value("seconds", |s| s.seconds)
//!             .unit(SEC)
//!             .help("Time since the machine has started");
//!     }
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     pmda::run::<Uptime>()
//! }
//! ```
//!
//! # What a request does
//!
//! For a request for values the crate calls [`Agent::begin`] once, then [`Agent::dynamic`], which
//! declares and removes metrics at run time, then the functions of [`Metrics::refresh`] of the
//! clusters that the request needs, and last the functions of the metrics. A function that fails,
//! or panics, costs only its own part of the reply: a cluster, a metric, a store, a set of labels.
//! A panic is one line in the log.
//!
//! # What may take long
//!
//! pmcd ends an agent that does not answer within some seconds. Data that may take longer, or hang,
//! belong in a [`Background`] thread; or the agent has a [`DEADLINE`](Agent::DEADLINE), after which
//! its clients are told to try again.
//!
//! # Decisions
//!
//! - Texts that are kept are `impl AsRef<str>`, values of labels `impl Into<LabelValue>`, as they
//!   are often made by `format!`. A name that is only looked up, or is part of a line, is `&str`.
//! - Counts and weights are `usize`. Numbers of clusters, items, domains and instances are integers:
//!   authors write them down, and archives keep them.
//! - [`Metrics::each`] gives the row alone to the metric's function, so its loop is quick;
//!   [`Metrics::each_inst`] gives the agent and a number. Data that may be missing are an `Option`,
//!   what may fail is a `Result`.
//! - An [`IndomRef`] is `Copy`, so that many metrics can have one instance domain. It cannot borrow
//!   the declarations, so labels of domains and instances are given by [`Metrics::indom_label`] and
//!   [`Metrics::instance_labels`].
//! - An [`Error`] is not `Copy`, as it may have a text; results without a value have two words.
//! - Parameters of events are metrics with types ([`Metrics::parameter`]); [`Record::add`] takes no
//!   other value.
//! - Only the superuser may store a value, unless [`Def::writable_by`] says who else may.

#![deny(unsafe_code)]

mod agent;
mod background;
mod check;
mod client;
mod code;
mod context;
mod daemon;
pub mod dso;
mod env;
mod error;
mod events;
pub mod fs;
mod guard;
mod indom;
mod labels;
mod logger;
mod memory;
mod metrics;
mod options;
mod pmns;
pub mod prelude;
mod problems;
mod profile;
mod queue;
mod reactor;
mod reports;
mod request;
mod result_sink;
mod run;
mod session;
#[cfg(test)]
mod skipped;
pub mod testing;
mod unit;
mod value;
mod write;

pub use agent::Agent;
pub use background::{Background, Reading};
pub use client::{Client, ClientId};
pub use code::Code;
pub use context::Context;
pub use env::{Env, Opt, Schedule};
pub use error::{Error, Result};
pub use events::{Describe, EventFlags, EventValue, Events, HighresEvents, Param, Record};
pub use indom::{Indom, Update};
pub use labels::{LabelValue, Labels};
pub use metrics::{Declared, DeclaredIndom, Def, Fields, IndomRef, MetricRef, Metrics, Problem, Row};
/// Metrics from the fields of a struct. A field that cannot be a metric does not compile:
///
/// ```compile_fail
/// use pmda::prelude::*;
/// #[derive(pmda::Metrics)]
/// struct Unknown {
///     #[metric(count)]
///     field: u64,
/// }
/// ```
///
/// ```compile_fail
/// use pmda::prelude::*;
/// #[derive(pmda::Metrics)]
/// struct Item {
///     #[metric(item = 1024)]
///     field: u64,
/// }
/// ```
///
/// ```compile_fail,E0277
/// use pmda::prelude::*;
/// #[derive(pmda::Metrics)]
/// struct NoValue {
///     #[metric(instant)]
///     field: std::net::IpAddr,
/// }
/// ```
///
/// ```compile_fail,E0080
/// use pmda::prelude::*;
/// #[derive(pmda::Metrics)]
/// struct NoMeaning {
///     #[metric(instant, unit = BYTE.per(KBYTE))]
///     field: u64,
/// }
/// ```
///
/// ```compile_fail,E0133
/// use pmda::prelude::*;
/// const unsafe fn dangerous() -> Unit { BYTE }
/// #[derive(pmda::Metrics)]
/// struct Dangerous {
///     #[metric(instant, unit = dangerous())]
///     field: u64,
/// }
/// ```
pub use pmda_derive::{Metrics, Row};
pub use queue::{Queue, QueueSender};
pub use reactor::{LineOutcome, Tail, Timer, Waker, Watch};
pub use request::{Request, Why};
pub use run::run;
pub use unit::*;
pub use value::{Atom, Encoder, FromStore, Semantics, Stored, Type, Value};
