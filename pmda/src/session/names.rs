//! PMNS_NAMES, PMNS_IDS, PMNS_CHILD, PMNS_TRAVERSE: the names of metrics.

use pmda_core::error::Error;
use pmda_core::wire::decode;

use super::handler::Handler;
use crate::{Agent, ClientId, Result};

impl<A: Agent> Handler<A> {
    pub(super) fn id_of_name(&mut self, pdu: &[u8], from: ClientId) -> Result<()> {
        let name = decode::names_request(pdu)?;
        self.state.refresh_names(self.clients.get(from))?;
        let name = std::str::from_utf8(name).map_err(|_| Error::NAME)?;
        let below = name.strip_prefix(A::NAME).and_then(|rest| rest.strip_prefix('.'));
        let metric = below
            .and_then(|name| self.state.metrics.named(name))
            .ok_or(Error::NAME)?;
        let id = self.state.metric_id(metric.cluster, metric.item);
        self.reply.reply().ids(0, id)
    }

    pub(super) fn name_of_id(&mut self, pdu: &[u8], from: ClientId) -> Result<()> {
        let id = decode::ids_request(pdu)?;
        self.state.refresh_names(self.clients.get(from))?;
        if !self.state.has(id) {
            return Err(Error::PMID);
        }
        let metric = self
            .state
            .metrics
            .numbered(id.cluster(), id.item())
            .ok_or(Error::PMID)?;
        let name = format!("{}.{}", A::NAME, metric.name);
        self.reply.reply().names([name.as_bytes()].into_iter(), None)
    }

    /// The names directly below a name, or those of all metrics below it.
    pub(super) fn names_below(&mut self, pdu: &[u8], from: ClientId, all: bool) -> Result<()> {
        let asked = decode::names_below(pdu)?;
        self.state.refresh_names(self.clients.get(from))?;
        let name = std::str::from_utf8(asked.name).map_err(|_| Error::NAME)?;
        if name.is_empty() {
            return Err(Error::NAME);
        }
        let full = |name: &str| format!("{}.{name}", A::NAME);
        let names = self.state.metrics.by_name().map(|metric| full(&metric.name));
        // What follows the name in those that are below it; nothing for the metric itself.
        let mut rests: Vec<String> = Vec::new();
        for metric in names {
            let Some(rest) = metric.strip_prefix(name) else {
                continue;
            };
            if rest.is_empty() || rest.starts_with('.') {
                rests.push(rest.trim_start_matches('.').to_owned());
            }
        }
        if rests.is_empty() {
            return Err(Error::NAME);
        }
        if all {
            let names: Vec<String> = rests
                .iter()
                .map(|rest| {
                    if rest.is_empty() {
                        name.to_owned()
                    } else {
                        format!("{name}.{rest}")
                    }
                })
                .collect();
            return self.reply.reply().names(names.iter().map(String::as_bytes), None);
        }
        // Names are sorted, so those of one branch stand together.
        let mut children: Vec<(&str, i32)> = rests
            .iter()
            .filter(|rest| !rest.is_empty())
            .map(|rest| rest.split_once('.').map_or((&**rest, 0), |(child, _)| (child, 1)))
            .collect();
        children.dedup();
        let states: Vec<i32> = children.iter().map(|(_, state)| *state).collect();
        let names = children.iter().map(|(child, _)| child.as_bytes());
        self.reply
            .reply()
            .names(names, asked.with_states.then_some(&states[..]))
    }
}
