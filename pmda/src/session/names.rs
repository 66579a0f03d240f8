//! PMNS_NAMES, PMNS_IDS, PMNS_CHILD, PMNS_TRAVERSE: the names of metrics.

use pmda_core::wire::decode;

use super::handler::Handler;
use crate::agent::Agent;
use crate::client::ClientId;
use crate::error::{Error, Result};

impl<A: Agent> Handler<A> {
    /// PMNS_NAMES: the number of the metric with a name.
    ///
    /// # Errors
    /// `PM_ERR_NAME` for an unknown name; that of [`Agent::begin`]; `PM_ERR_IPC`.
    pub(super) fn id_of_name(&mut self, pdu: &[u8], from: ClientId) -> Result<()> {
        let name = decode::names_request(pdu)?;
        let reply = self.reply.reply();
        self.state.with_names(self.clients.get(from), |state| {
            let name = std::str::from_utf8(name).map_err(|_| Error::NAME)?;
            let metric = state.metrics.named(name).ok_or(Error::NAME)?;
            Ok(reply.ids(0, state.metric_id(metric.cluster, metric.item))?)
        })
    }

    /// PMNS_IDS: the names of the metric with a number.
    ///
    /// # Errors
    /// `PM_ERR_PMID` for an unknown metric; that of [`Agent::begin`]; `PM_ERR_IPC`.
    pub(super) fn name_of_id(&mut self, pdu: &[u8], from: ClientId) -> Result<()> {
        let id = decode::ids_request(pdu)?;
        let reply = self.reply.reply();
        self.state.with_names(self.clients.get(from), |state| {
            if id.domain() != state.domain() {
                return Err(Error::PMID);
            }
            let metrics = &state.metrics;
            let metric = metrics.numbered(id.cluster(), id.item()).ok_or(Error::PMID)?;
            let names: Vec<String> = metric.names().map(|name| metrics.with_root(name)).collect();
            Ok(reply.names(names.iter().map(String::as_bytes), None)?)
        })
    }

    /// PMNS_CHILD, PMNS_TRAVERSE: the names directly below a name, or of all metrics below it.
    ///
    /// # Errors
    /// `PM_ERR_NAME` for an unknown name; that of [`Agent::begin`]; `PM_ERR_IPC`.
    pub(super) fn names_below(&mut self, pdu: &[u8], from: ClientId, all: bool) -> Result<()> {
        let asked = decode::names_below(pdu)?;
        let reply = self.reply.reply();
        self.state.with_names(self.clients.get(from), |state| {
            let name = std::str::from_utf8(asked.name).map_err(|_| Error::NAME)?;
            let metrics = &state.metrics;
            if all {
                let names = metrics.below(name);
                if names.is_empty() {
                    return Err(Error::NAME);
                }
                return Ok(reply.names(names.iter().map(String::as_bytes), None)?);
            }
            let children = metrics.children(name).ok_or(Error::NAME)?;
            let states: Vec<i32> = children.iter().map(|child| i32::from(!child.is_leaf)).collect();
            let names = children.iter().map(|child| child.name.as_bytes());
            Ok(reply.names(names, asked.with_states.then_some(&states[..]))?)
        })
    }
}
