//! Compares the answers of a host's agents on two libraries: asks a private pmcd, beside the
//! running one, everything that a client can ask.
//!
//! ```text
//! main ─┬─ inquiry         which library each process has loaded (status, which) ─── loaded
//!       ├─ supervisor      three processes: each ends what the others leave behind
//!       └─ compare ─┬── host         pmcd.conf, pcp.conf, the agents
//!                   ├── pmcd ──┬──── folder       private directories
//!                   │          └──── processes    what runs below, its time and memory, its end
//!                   ├── survey ───── client       questions and answers
//!                   ├── difference   two runs of the C library, and ours between them
//!                   └── report       lines and JSON
//! ```
//!
//! The tests of consumers (`tests/consumers`) use [`client`], [`survey`] and [`difference`] as
//! well.

pub mod client;
pub mod compare;
pub mod difference;
pub mod folder;
pub mod host;
pub mod inquiry;
pub mod loaded;
pub mod pmcd;
pub mod processes;
pub mod report;
pub mod supervisor;
pub mod survey;
mod value;
