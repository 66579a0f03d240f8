//! The list of agents with the results of a run, printed on request (`make -C tests agents`).

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::agents::{self, Agent, Form};
use pcp_pmda_test::root;

/// An agent in one of its forms: the form as it is written, and the name.
type Key = (String, String);

static RESULTS: Mutex<BTreeMap<Key, String>> = Mutex::new(BTreeMap::new());

fn key(agent: &Agent) -> Key {
    (agent.form.to_string(), agent.name.clone())
}

/// Notes the result of one agent.
pub fn note(agent: &Agent, result: &str) {
    let mut results = RESULTS.lock().expect("no test panics while it notes");
    // Without the paths of this machine.
    let here = root().display().to_string();
    let path =
        regex::Regex::new(&format!(r"{}\S*/(log|run|tmp|var|etc)/", regex::escape(&here))).expect("a valid pattern");
    results.insert(key(agent), path.replace_all(result, "$1/").replace(&here, ""));
}

/// The agents of the package, a line for each form and result: `- FORM, RESULT: NAME, NAME`. Results
/// other than "the same" come first in each form.
pub fn list() -> String {
    let results = RESULTS.lock().expect("no test panics while it notes");
    let mut lists: BTreeMap<(Form, bool, &str), Vec<String>> = BTreeMap::new();
    for agent in agents::all() {
        let result = results
            .get(&key(&agent))
            .map_or("differs or was not run", String::as_str);
        let list = (agent.form, result == "the same", result);
        lists.entry(list).or_default().push(agent.name);
    }
    let lines = lists
        .iter()
        .map(|((form, _, result), names)| format!("- {form}, {result}: {}\n", names.join(", ")));
    lines.collect()
}
