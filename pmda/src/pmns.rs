//! The names of an agent as a tree, for the files of PCP's name space (pmns(5)).

use std::collections::BTreeMap;

use crate::logger::excerpt;
use crate::metrics::Metrics;

/// The name of an agent's domain in the files.
pub(crate) fn domain_name(name: &str) -> String {
    name.to_ascii_uppercase()
}

/// A name, and those below it.
#[derive(Default)]
pub(crate) struct Node {
    /// The number of a metric, or stars for what the agent answers for.
    pub number: Option<String>,
    below: BTreeMap<String, Node>,
    /// In the order of their declaration.
    pub order: Vec<String>,
}

impl Node {
    fn add(&mut self, name: &str, number: String) {
        let mut node = self;
        for part in name.split('.') {
            if !node.below.contains_key(part) {
                node.order.push(part.to_owned());
            }
            node = node.below.entry(part.to_owned()).or_default();
        }
        node.number = Some(number);
    }

    /// The names directly below.
    pub fn children(&self) -> impl Iterator<Item = (&str, &Node)> {
        let child = |part: &String| Some((self.below.get_key_value(part)?.0.as_str(), self.below.get(part)?));
        self.order.iter().filter_map(child)
    }
}

/// The name space: below it the roots. An agent whose metrics come and go answers for their names
/// itself.
pub(crate) fn tree<S>(metrics: &Metrics<S>, agent: &str) -> Node {
    let domain = domain_name(agent);
    let stars = || format!("{domain}:*:*");
    let mut tree = Node::default();
    if metrics.are_dynamic() {
        if !metrics.root().is_empty() {
            tree.add(metrics.root(), stars());
            return tree;
        }
        let names = metrics.declared().flat_map(|metric| metric.names());
        for name in names.chain(metrics.dynamic_names_declared()) {
            tree.add(name.split('.').next().unwrap_or(name), stars());
        }
        return tree;
    }
    for metric in metrics.declared() {
        let number = format!("{domain}:{}:{}", metric.cluster, metric.item);
        for name in metric.names().filter(|name| !metrics.is_dynamic_below(name)) {
            tree.add(&metrics.with_root(name), number.clone());
        }
    }
    for name in metrics.dynamic_names_declared() {
        tree.add(&metrics.with_root(name), stars());
    }
    tree
}

/// Maximum length of a line in a file of PCP's name space, in bytes.
const PMNS_LINE_MAX: usize = 254;

/// A name whose lines PCP would not read: that of the metric, or that of the names beside it.
fn too_long<S>(metrics: &Metrics<S>) -> Option<String> {
    let is_too_long = |name: &String| {
        let (above, part) = name.rsplit_once('.').unwrap_or(("", name));
        // The name of the agent, which is that of the domain, is part of the number.
        let number = metrics.env().name().len() + ":4095:1023".len();
        above.len() + " {".len() > PMNS_LINE_MAX || "    \t".len() + part.len() + number > PMNS_LINE_MAX
    };
    if metrics.are_dynamic() {
        return Some(metrics.root().to_owned()).filter(is_too_long);
    }
    let names = metrics.declared().flat_map(|metric| metric.names());
    let names = names.filter(|name| !metrics.is_dynamic_below(name));
    let mut names = names
        .chain(metrics.dynamic_names_declared())
        .map(|name| metrics.with_root(name));
    names.find(is_too_long)
}

/// The reason why these names get no files: PCP has them in a name space of its own. `--check`
/// warns of it.
pub(crate) fn cannot_write<S>(metrics: &Metrics<S>) -> Option<String> {
    let root = metrics.root();
    if root.contains('.') {
        return Some(format!("\"{root}\" is more than one name, and the root is to be one"));
    }
    if let Some(name) = too_long(metrics) {
        return Some(format!(
            "the name {} is too long: a line of PCP's name space has {PMNS_LINE_MAX} bytes at most",
            excerpt(&name)
        ));
    }
    let roots = tree(metrics, "agent").order;
    if roots.is_empty() {
        return Some("the agent has several roots, but names none; see Metrics::dynamic_names_below".to_owned());
    }
    let is_pcps = |name: &str| name.starts_with("root_") || ["root", "stdpmid", "Makefile", "Rebuild"].contains(&name);
    let taken = roots.iter().find(|name| is_pcps(name))?;
    Some(format!(
        "\"{taken}\" cannot be a root: PCP has a file of that name in its name space"
    ))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::env::Env;

    /// No root at all, or one whose file would take the place of a file of PCP.
    #[test]
    fn roots_that_cannot_be_written() {
        let of = |declare: fn(&mut Metrics<()>)| {
            let env = Env::in_folder("agent", 79, Path::new("")).with_root(String::new());
            cannot_write(&Metrics::of(&env, declare))
        };
        assert_eq!(of(|m| drop(m.value("a.b", |_| 1))), None);
        let none = of(|_| ()).expect("no root");
        assert!(none.contains("names none"), "{none}");
        let pcps = of(|m| {
            m.value("a.b", |_| 1).help("B");
            m.dynamic_names_below("root_linux");
        });
        assert!(pcps.expect("PCP's").starts_with("\"root_linux\" cannot be a root"));
        assert!(of(|m| drop(m.value("root.b", |_| 1))).is_some());
        // As long as PCP reads, and longer: a part, and all in front of it.
        let (part, above) = ("x".repeat(254 - 5 - 15), "x".repeat(252));
        for (name, is_too_long) in [
            (format!("a.{part}"), false),
            (format!("a.{part}x"), true),
            (format!("{above}.a"), false),
            (format!("{above}x.a"), true),
            (["a"; 200_000].join("."), true),
        ] {
            let env = Env::in_folder("agent", 79, Path::new("")).with_root(String::new());
            let why = cannot_write(&Metrics::of(&env, |m: &mut Metrics<()>| drop(m.value(&name, |_| 1))));
            assert_eq!(
                why.is_some_and(|why| why.contains("is too long")),
                is_too_long,
                "{}",
                name.len()
            );
        }
        // All names come and go: each root is asked for.
        let env = Env::in_folder("agent", 79, Path::new("")).with_root(String::new());
        let metrics = Metrics::of(&env, |m: &mut Metrics<()>| {
            m.dynamic_names();
            m.value("b.y", |_| 1);
            m.value("a.x", |_| 1);
            m.value("b.z", |_| 1);
        });
        let tree = tree(&metrics, "agent");
        let stars = Some("AGENT:*:*".to_owned());
        let roots: Vec<_> = tree
            .children()
            .map(|(name, node)| (name, node.number == stars))
            .collect();
        assert_eq!(roots, [("b", true), ("a", true)]);
    }
}
