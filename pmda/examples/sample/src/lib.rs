//! PCP's agent `sample`, whose metrics are there to test clients: of each type, constant and
//! changing, with instances that come and go, that fail, that clients store.
//!
//! It has the names, numbers, descriptions, instances, values, labels and events of the one in C,
//! under another domain; `tests/agents_in_rust/sample.rs` lists what differs, with the reason.

#![forbid(unsafe_code)]

mod constants;
mod contexts;
mod counters;
mod dodgey;
mod domains;
mod events;
mod file;
mod ghosts;
mod meta;
mod mirage;
mod procs;
mod random;
mod system;

use std::cell::Cell;
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use pmda::prelude::*;

use random::Random;

/// If this file exists, the agent asks its clients to try again.
const UNAVAILABLE: &str = "/tmp/sample.unavail";

/// The item of `error_check`.
const CHECKED: u32 = 75;

/// The agent.
pub struct Sample {
    shared: Rc<Shared>,
    is_dso: bool,
    control: i32,
    /// Clients are to try again until then.
    not_ready_until: Option<Instant>,
    error_code: i32,
    constants: constants::Constants,
    contexts: contexts::Contexts,
    counters: counters::Counters,
    dodgey: dodgey::Dodgey,
    domains: domains::Domains,
    events: events::EventsMade,
    from_file: file::FromFile,
    ghosts: ghosts::Ghosts,
    meta: meta::Meta,
    mirage: mirage::Mirage,
    procs: procs::Procs,
}

/// The data that the instances of several domains share with the agent.
struct Shared {
    /// When the agent has started.
    start: SystemTime,
    random: Random,
    /// The counter of `colour` and `mirage`.
    saw: Cell<i32>,
    /// A client has asked for a value of `mirage`.
    is_mirage_wanted: Cell<bool>,
}

impl Shared {
    fn next_saw(&self) -> i32 {
        self.saw.set(self.saw.get().wrapping_add(1) % 100);
        self.saw.get()
    }

    /// Seconds of the clock since the agent has started.
    fn seconds(&self) -> u32 {
        let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        seconds(SystemTime::now()).saturating_sub(seconds(self.start)) as u32
    }
}

/// Lets any client store a metric.
fn anybody(_: &Client) -> bool {
    true
}

impl Agent for Sample {
    const NAME: &'static str = "sample";
    const DOMAIN: u32 = 412;

    fn start(env: &Env) -> Result<Sample> {
        let shared = Rc::new(Shared {
            start: SystemTime::now(),
            random: Random::default(),
            saw: Cell::new(0),
            is_mirage_wanted: Cell::new(false),
        });
        Ok(Sample {
            is_dso: env.is_dso(),
            control: 0,
            not_ready_until: None,
            error_code: 0,
            constants: constants::Constants::default(),
            contexts: contexts::Contexts::default(),
            counters: counters::Counters::new(),
            dodgey: dodgey::Dodgey::new(&shared)?,
            domains: domains::Domains::new(&shared)?,
            events: events::EventsMade::new(),
            from_file: file::FromFile::new(env),
            ghosts: ghosts::Ghosts::new(),
            meta: meta::Meta::default(),
            mirage: mirage::Mirage::new(&shared)?,
            procs: procs::Procs::new(),
            shared,
        })
    }

    fn metrics(m: &mut Metrics<Sample>) {
        m.label("role", "testing");
        m.cluster(0).cluster_label("cluster", "zero");
        constants::declare(m);
        contexts::declare(m);
        counters::declare(m);
        dodgey::declare(m);
        domains::declare(m);
        events::declare(m);
        file::declare(m);
        ghosts::declare(m);
        meta::declare(m);
        mirage::declare(m);
        procs::declare(m);
        system::declare(m);
    }

    fn begin(&mut self, request: &Request<'_>) -> Result<()> {
        self.contexts.begin(request.client().id());
        if self.not_ready_until.is_some_and(|until| request.now() < until) || Path::new(UNAVAILABLE).exists() {
            return Err(Error::AGAIN);
        }
        self.not_ready_until = None;
        if request.wants_item(0, CHECKED) {
            Error::check(self.error_code)?;
        }
        self.mirage.begin(request)?;
        self.dodgey.begin(request)?;
        self.from_file.begin(request)?;
        self.domains.begin(request)?;
        self.procs.begin(request)?;
        self.ghosts.begin(request);
        Ok(())
    }

    fn dynamic(&mut self, m: &mut Metrics<Sample>, _: &Request<'_>) -> Result<()> {
        m.cluster(0);
        ghosts::declare_secrets(m);
        self.ghosts.declare_visible(m);
        self.meta.declare_again(m);
        self.constants.note_changes(m);
        Ok(())
    }

    fn client_ended(&mut self, client: ClientId) {
        self.contexts.end(client);
    }
}

pmda::export_dso!(pmda_sample_init, Sample);

/// Runs the agent as a daemon.
#[must_use]
pub fn main() -> ExitCode {
    pmda::run::<Sample>()
}
