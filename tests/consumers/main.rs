//! Real users, unmodified: PCP's daemons, tools, agents and bindings run once on the C library and
//! once on ours, in the same private PCP, and what they show is compared.
//!
//! `make setup` puts PCP below `target/pcp`; nothing of the system is touched. With
//! `LIST_AGENTS=1` the run ends with the list of the agents and their results (`make -C tests
//! agents`).

mod agents;
mod archive;
mod bindings;
mod json;
mod scenes;
mod sockets;
mod sources;
mod surroundings;
mod survey;
mod systems;
mod table;

use libtest_mimic::{Arguments, Trial};

fn main() {
    let mut arguments = Arguments::from_args();
    // The trials wait for daemons most of their time.
    arguments.test_threads.get_or_insert(8);
    // The longest one is among the scenes: so they are the first.
    let mut trials: Vec<Trial> = scenes::trials();
    trials.extend(archive::trials());
    trials.extend(agents::trials());
    trials.extend(bindings::trials());
    trials.extend(json::trials());
    trials.extend(sockets::trials());
    trials.extend(sources::trials());
    let conclusion = libtest_mimic::run(&arguments, trials);
    if std::env::var_os("LIST_AGENTS").is_some() {
        print!("{}", table::list());
    }
    conclusion.exit();
}
