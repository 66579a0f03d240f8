//! Mutated PDUs to agents in Rust: users copy the examples.

use pcp_pmda_test::Library;
use pcp_pmda_test::pcp::Environment;
use pcp_pmda_test::program::{self, Course, Program};

use super::agents;

/// No mutated PDU ends an agent, and each good request after them is served.
#[test]
fn mutated_pdus_end_no_agent() {
    let environment = Environment::new("agents_in_rust/mutated", Library::Ours);
    let pdus = environment.directory.join("pdus");
    Program::new("hostile/pdus").expect("a source file").compile(&pdus);
    let amount = program::amount("examples", Course::of_environment()).expect("an amount");
    let built = ["load", "mounts", "simple"].map(|name| (name, agents::daemon(name)));
    let examples = ["churn", "events", "processes", "roots", "slow", "statsd"];
    let examples = examples.map(|name| (name, agents::example(name)));
    for (name, agent) in built.into_iter().chain(examples) {
        let agent = agent.display().to_string();
        let mut args = vec![amount, "1", "0", "", "250", &agent, "-d", "250"];
        if name == "statsd" {
            args.extend(["--port", "0"]);
        }
        let outcome = environment.run(&pdus, &args);
        let text = String::from_utf8_lossy(&outcome.stderr).into_owned();
        assert_eq!(outcome.end, "exit 0", "{name}\n{text}");
    }
}
