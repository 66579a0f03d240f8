//! DESC_REQ, TEXT_REQ, INSTANCE_REQ, LABEL_REQ: descriptions of metrics and instances.

use pmda_core::constants::*;
use pmda_core::ident::{InDom, MetricId};
use pmda_core::labels::JsonLabels;
use pmda_core::profile::{Compiled, Element};
use pmda_core::wire::decode;
use pmda_core::wire::encode::LabelSetData;

use super::agent_state::AgentState;
use super::handler::Handler;
use crate::agent::Agent;
use crate::client::ClientId;
use crate::error::{Error, Result};
use crate::guard;
use crate::metrics::help_parts;
use crate::profile::Selection;
use crate::request::Why;

/// Bits that are no levels of labels.
const MODIFIERS: i32 = PM_LABEL_COMPOUND | PM_LABEL_OPTIONAL;

impl<A: Agent> Handler<A> {
    /// DESC_REQ: the description of a metric.
    ///
    /// # Errors
    /// `PM_ERR_PMID` for an unknown metric; `PM_ERR_IPC`.
    pub(super) fn desc(&mut self, pdu: &[u8], from: ClientId) -> Result<()> {
        let id = decode::desc_request(pdu)?;
        if !self.state.has(id, self.clients.get(from)) {
            return Err(Error::PMID);
        }
        let metric = self
            .state
            .metrics
            .numbered(id.cluster(), id.item())
            .ok_or(Error::PMID)?;
        let indom = metric.indom.map_or(InDom::NULL, |serial| self.state.indom(serial));
        let words = [
            id.0,
            metric.kind.number(),
            indom.0,
            metric.semantics as u32,
            metric.unit.word(),
        ];
        Ok(self.reply.reply().desc(words)?)
    }

    /// TEXT_REQ: a help text.
    ///
    /// # Errors
    /// `PM_ERR_PMID` and `PM_ERR_INDOM` for something unknown; `PM_ERR_TEXT` without a text;
    /// `PM_ERR_IPC`.
    pub(super) fn text(&mut self, pdu: &[u8], from: ClientId) -> Result<()> {
        let about = decode::text_request(pdu)?;
        let help = if about.kind & PM_TEXT_PMID != 0 {
            let id = MetricId(about.ident);
            if !self.state.has(id, self.clients.get(from)) {
                return Err(Error::PMID);
            }
            self.state
                .metrics
                .numbered(id.cluster(), id.item())
                .map(|metric| &metric.help)
        } else {
            let serial = self.state.serial(InDom(about.ident), self.clients.get(from))?;
            self.state.metrics.indoms.get(&serial).map(|domain| &domain.help)
        };
        let help = help.filter(|help| !help.is_empty()).ok_or(Error::TEXT)?;
        let (line, text) = help_parts(help);
        let text = match about.kind & PM_TEXT_ONELINE {
            0 => text,
            // A line break alone says that both texts exist, and are empty.
            _ if line.is_empty() && !text.is_empty() => return Err(Error::TEXT),
            _ => line,
        };
        Ok(self.reply.reply().text(about.ident, text.as_bytes())?)
    }

    /// INSTANCE_REQ: the instances of a domain, or one of them.
    ///
    /// # Errors
    /// `PM_ERR_INDOM` for an unknown domain; `PM_ERR_INST` for an unknown instance; as
    /// `AgentState::with_instances`; `PM_ERR_IPC`.
    pub(super) fn instances(&mut self, pdu: &[u8], from: ClientId) -> Result<()> {
        let asked = decode::instance_request(pdu)?;
        let client = self.clients.get(from);
        let serial = self.state.serial(asked.indom, client)?;
        let what = format_args!("instance domain {}", asked.indom).to_string();
        let domain = self.state.metrics.indoms.get(&serial).ok_or(Error::INDOM)?;
        let agent = &mut self.state.agent;
        let meant = match asked.name {
            Some(name) => guard::call(&what, || Ok(domain.meant(agent, name)))?,
            None => (asked.inst != PM_IN_NULL).then_some(asked.inst),
        };
        // A name may be that of any instance, a number is that of one.
        let one = Compiled::new(Element {
            include: false,
            exceptions: meant.as_slice(),
        })?;
        let wanted = meant.map_or(Selection::All, |_| Selection::Some(&one));
        let reply = self.reply.reply();
        let take = |state: &mut AgentState<A>| {
            let domain = state.metrics.indoms.get(&serial).ok_or(Error::INDOM)?;
            let agent = &mut state.agent;
            guard::call(&what, || match (asked.inst, asked.name) {
                (PM_IN_NULL, None) => {
                    reply.begin_instances(asked.indom);
                    let (mut count, mut outcome) = (0, Ok(()));
                    domain.instances.each(agent, &mut |inst, name| {
                        let added = reply.instance(Some(inst), Some(name));
                        if outcome.is_ok() {
                            outcome = added;
                        }
                        count += 1;
                    });
                    outcome?;
                    Ok(reply.end_instances(count)?)
                }
                (inst, None) => {
                    let name = domain.instances.name(agent, inst).ok_or(Error::INST)?;
                    Ok(reply.instances(asked.indom, [(None, Some(&name[..]))].into_iter())?)
                }
                (PM_IN_NULL, Some(name)) if !name.is_empty() => {
                    let inst = match meant {
                        Some(inst) => domain.instances.name(agent, inst).map(|_| inst),
                        None => domain.instances.find(agent, name),
                    };
                    let inst = inst.ok_or(Error::INST)?;
                    Ok(reply.instances(asked.indom, [(Some(inst), None)].into_iter())?)
                }
                _ => Err(Error::INST),
            })
        };
        self.state.with_instances(Why::Instances, serial, wanted, client, take)
    }

    /// LABEL_REQ: the labels of one level.
    ///
    /// # Errors
    /// `PM_ERR_TYPE` for an unknown level; for instances as `AgentState::with_instances`;
    /// `PM_ERR_IPC`.
    pub(super) fn labels(&mut self, pdu: &[u8], from: ClientId) -> Result<()> {
        let about = decode::label_request(pdu)?;
        let level = about.kind & !MODIFIERS;
        let of_metric = MetricId(about.ident);
        let labels = match level {
            // Labels of the context are those of the host, which pmcd has.
            PM_LABEL_CONTEXT => None,
            PM_LABEL_DOMAIN => Some(self.state.metrics.labels.clone()),
            PM_LABEL_INDOM => {
                let serial = self.state.serial(InDom(about.ident), self.clients.get(from)).ok();
                let domain = serial.and_then(|serial| self.state.metrics.indoms.get(&serial));
                domain.map(|domain| domain.labels.clone())
            }
            PM_LABEL_CLUSTER => {
                let cluster = self.state.cluster(of_metric.cluster(), self.clients.get(from));
                cluster.map(|cluster| cluster.labels.clone())
            }
            PM_LABEL_ITEM if self.state.has(of_metric, self.clients.get(from)) => {
                let metric = self.state.metrics.numbered(of_metric.cluster(), of_metric.item());
                metric.map(|metric| metric.labels.clone())
            }
            PM_LABEL_ITEM => None,
            PM_LABEL_INSTANCES => return self.instance_labels(about, from),
            _ => return Err(Error::TYPE),
        };
        let sets = match labels.filter(|labels| !labels.is_empty()) {
            Some(labels) => vec![(PM_IN_NULL, labels.set(level as u8).map_err(Error::from))],
            None => Vec::new(),
        };
        self.send_labels(about, &sets)
    }

    /// A set for each selected instance, also an empty one.
    fn instance_labels(&mut self, about: decode::About, from: ClientId) -> Result<()> {
        let client = self.clients.get(from);
        let Ok(serial) = self.state.serial(InDom(about.ident), client) else {
            return self.send_labels(about, &[]);
        };
        let selection = self.profile.selection(serial);
        let take = |state: &mut AgentState<A>| {
            let domain = state.metrics.indoms.get(&serial).ok_or(Error::INDOM)?;
            let agent = &mut state.agent;
            guard::call(format_args!("labels of instance domain {}", InDom(about.ident)), || {
                domain.instances.labels(agent, selection, PM_LABEL_INSTANCES as u8)
            })
        };
        let sets = self
            .state
            .with_instances(Why::Labels, serial, selection, client, take)?;
        self.send_labels(about, &sets)
    }

    fn send_labels(&mut self, about: decode::About, sets: &[(i32, Result<JsonLabels>)]) -> Result<()> {
        let sets = sets.iter().map(|(inst, set)| match set {
            Ok(set) => LabelSetData {
                inst: *inst as u32,
                count: set.labels.len() as i32,
                json: &set.json,
                labels: set.labels.iter().copied(),
            },
            Err(error) => LabelSetData {
                inst: *inst as u32,
                count: error.code().number(),
                json: &[],
                labels: [].iter().copied(),
            },
        });
        Ok(self.reply.reply().labels(about.ident, about.kind, sets)?)
    }
}
