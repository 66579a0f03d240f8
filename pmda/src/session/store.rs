//! RESULT as a request: values to be stored.

use pmda_core::wire::block;
use pmda_core::wire::result::{self, MetricValues, SentValue};

use super::agent_state::AgentState;
use super::handler::Handler;
use crate::agent::Agent;
use crate::client::{Client, ClientId};
use crate::error::{Error, Result};
use crate::guard;
use crate::value::{Stored, Type};

impl<A: Agent> Handler<A> {
    /// Stores values.
    ///
    /// # Errors
    /// `PM_ERR_PMID` for an unknown metric; `PM_ERR_PERMISSION` if the client may not store one of
    /// them; that of the first value that cannot be stored; `PM_ERR_IPC`.
    pub(super) fn store(&mut self, pdu: &[u8], from: ClientId) -> Result<()> {
        let request = result::decode(pdu)?;
        let client = self.clients.get(from);
        // A client that may not store one of the metrics stores none, and learns nothing about
        // them.
        for set in request.sets() {
            if !self.state.has(set.metric, client) {
                return Err(Error::PMID);
            }
            self.state.check_access(set, client)?;
        }
        request.sets().try_for_each(|set| self.state.store(set, client))?;
        self.reply.reply().error(0);
        Ok(())
    }
}

impl<A: Agent> AgentState<A> {
    /// Checks that a client may store a metric.
    fn check_access(&self, set: MetricValues<'_>, client: &Client) -> Result<()> {
        let metric = self.metrics.numbered(set.metric.cluster(), set.metric.item());
        let metric = metric.ok_or(Error::PMID)?;
        let may = guard::call(format_args!("access to {}", self.metrics.full_name(metric)), || {
            let may = match &metric.writable_by {
                Some(may) => may(client),
                None => client.uid() == Some(0),
            };
            Ok(metric.store.is_some() && may)
        });
        // If the check panics, the client may not.
        may.unwrap_or(false).then_some(()).ok_or(Error::PERMISSION)
    }

    /// Stores the values of a metric. The first error ends it: values before it are stored.
    fn store(&mut self, set: MetricValues<'_>, client: &Client) -> Result<()> {
        let outcome = self.store_values(set, client);
        if let Err(error) = &outcome {
            self.report_of("store of", set.metric, error);
        }
        outcome
    }

    fn store_values(&mut self, set: MetricValues<'_>, client: &Client) -> Result<()> {
        let metric = self.metrics.numbered(set.metric.cluster(), set.metric.item());
        let metric = metric.ok_or(Error::PMID)?;
        let store = metric.store.as_ref().ok_or(Error::PERMISSION)?;
        if set.numval <= 0 {
            return Err(Error::VALUE);
        }
        for (inst, value) in set.values() {
            let value = stored(metric.kind, value)?;
            guard::call(format_args!("store of {}", self.metrics.full_name(metric)), || {
                store(&mut self.agent, inst, value, metric.unit, client)
            })
            .map_err(|error| match metric.indom {
                Some(_) if error.is_for_the_log() => guard::agents(error.text(format_args!("instance {inst}"))),
                _ => guard::agents(error),
            })?;
        }
        Ok(())
    }
}

/// The value of a metric of a type.
///
/// # Errors
/// `PM_ERR_CONV` for a value of another type; `PM_ERR_IPC` for a block that is too short for its
/// type.
pub(crate) fn stored(kind: Type, value: SentValue<'_>) -> Result<Stored<'_>> {
    let (header, data) = match value {
        SentValue::Word(word) => {
            return match kind {
                Type::I32 => Ok(Stored::Integer(i128::from(word as i32))),
                Type::U32 => Ok(Stored::Integer(i128::from(word))),
                _ => Err(Error::CONV),
            };
        }
        SentValue::Block(header, data) => (header, data),
    };
    // A filter of events: `pmevent -x` stores a text to the metric that shows them.
    let kind = match kind {
        Type::Event | Type::HighresEvent => Type::String,
        other => other,
    };
    if block::kind(header) != kind.number() {
        return Err(Error::CONV);
    }
    let long = || {
        data.first_chunk::<8>()
            .map(|bytes| u64::from_be_bytes(*bytes))
            .ok_or(Error::IPC)
    };
    let word = || {
        data.first_chunk::<4>()
            .map(|bytes| u32::from_be_bytes(*bytes))
            .ok_or(Error::IPC)
    };
    Ok(match kind {
        Type::I64 => Stored::Integer(i128::from(long()? as i64)),
        Type::U64 => Stored::Integer(i128::from(long()?)),
        Type::F32 => Stored::Float(f64::from(f32::from_bits(word()?))),
        Type::F64 => Stored::Float(f64::from_bits(long()?)),
        Type::String => Stored::String(data.split(|byte| *byte == 0).next().unwrap_or_default()),
        Type::Aggregate => Stored::Aggregate(data),
        Type::I32 | Type::U32 | Type::Event | Type::HighresEvent | Type::NoSupport => return Err(Error::CONV),
    })
}
