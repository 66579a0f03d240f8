//! The client's half of the protocol: the requests that pmcd sends to an agent, or a client to
//! pmcd, and the replies to them.
//!
//! Requests are encoded here and decoded by [`super::decode`]; replies are encoded by
//! [`super::encode`] and decoded here. Values are those of [`super::result`], in both directions.
//! Replies are no more trusted than requests: every length is checked against the bytes of the PDU.
//! A function for a reply takes a whole PDU, header included, of the kind that [`expect`] has
//! checked, and returns values that borrow from it.

mod events;

use super::decode::{self, NameList};
use super::{HEADER, Kind, PduBuilder, count, number, padded, word};
use crate::constants::PM_IN_NULL;
use crate::error::{Error, Result};
use crate::ident::{InDom, MetricId};
use crate::labels::{Label, Span};

pub use events::{EventRecord, EventRecords, Parameter, Parameters};

/// One instance domain of a profile.
#[derive(Clone, Copy, Debug)]
pub struct InDomProfile<'a> {
    /// The instance domain.
    pub indom: InDom,
    /// State of the instances that are not listed: `PM_PROFILE_INCLUDE` or `PM_PROFILE_EXCLUDE`.
    pub state: i32,
    /// The instances that are listed.
    pub instances: &'a [i32],
}

/// A request under construction.
///
/// Each function but [`ClientRequest::of`] makes a whole request, in place of the one before.
///
/// # Errors
/// Those of all functions: `PM_ERR_TOOBIG` when the request gets longer than a PDU can be;
/// `-ENOMEM`.
#[derive(Default, Debug)]
pub struct ClientRequest {
    pdu: PduBuilder,
    client: i32,
}

impl ClientRequest {
    /// An empty buffer, for requests of client 0.
    #[must_use]
    pub const fn new() -> ClientRequest {
        ClientRequest {
            pdu: PduBuilder::new(),
            client: 0,
        }
    }

    /// Sets the client context of the requests that follow.
    pub fn of(&mut self, client: i32) -> &mut ClientRequest {
        self.client = client;
        self
    }

    /// The finished request.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.pdu.bytes
    }

    fn begin(&mut self, kind: Kind) -> &mut PduBuilder {
        self.pdu.begin(kind, self.client);
        &mut self.pdu
    }

    /// CREDS: protocol version 2, and flags.
    ///
    /// # Errors
    /// See [`ClientRequest`].
    pub fn credentials(&mut self, process: i32, flags: u16) -> Result<()> {
        self.pdu.credentials(process, flags)
    }

    /// ERROR: the client's context has ended.
    ///
    /// # Errors
    /// See [`ClientRequest`].
    pub fn end_context(&mut self) -> Result<()> {
        self.pdu.error(self.client, Error::NOTCONN.code())
    }

    /// ATTR: a known attribute of the client.
    ///
    /// # Errors
    /// See [`ClientRequest`].
    pub fn attribute(&mut self, key: i32, value: &[u8]) -> Result<()> {
        let pdu = self.begin(Kind::PDU_ATTR);
        pdu.number(key);
        pdu.put(value);
        pdu.finish()
    }

    /// PROFILE: the instances that later fetches are to select. `state` is that of the domains that
    /// are not listed.
    ///
    /// # Errors
    /// See [`ClientRequest`].
    pub fn profile<'a>(
        &mut self,
        state: i32,
        domains: impl ExactSizeIterator<Item = InDomProfile<'a>> + Clone,
    ) -> Result<()> {
        let client = self.client;
        let pdu = self.begin(Kind::PDU_PROFILE);
        pdu.number(client.max(0));
        pdu.number(state);
        pdu.length(domains.len())?;
        pdu.word(0);
        for domain in domains.clone() {
            pdu.word(domain.indom.0);
            pdu.number(domain.state);
            pdu.length(domain.instances.len())?;
            pdu.word(0);
        }
        for inst in domains.flat_map(|domain| domain.instances) {
            pdu.number(*inst);
        }
        pdu.finish()
    }

    /// FETCH: asks for the values of metrics.
    ///
    /// # Errors
    /// See [`ClientRequest`].
    pub fn fetch(&mut self, metrics: &[MetricId]) -> Result<()> {
        let client = self.client;
        let pdu = self.begin(Kind::PDU_FETCH);
        pdu.number(client);
        pdu.word(0);
        pdu.word(0);
        pdu.length(metrics.len())?;
        for metric in metrics {
            pdu.word(metric.0);
        }
        pdu.finish()
    }

    /// DESC_REQ: asks for the description of a metric.
    ///
    /// # Errors
    /// See [`ClientRequest`].
    pub fn desc(&mut self, metric: MetricId) -> Result<()> {
        let pdu = self.begin(Kind::PDU_DESC_REQ);
        pdu.word(metric.0);
        pdu.finish()
    }

    /// INSTANCE_REQ: asks for the name of `inst` or, if that is `PM_IN_NULL`, for the instance with
    /// this name; without either, for all instances.
    ///
    /// # Errors
    /// See [`ClientRequest`].
    pub fn instance(&mut self, indom: InDom, inst: i32, name: Option<&[u8]>) -> Result<()> {
        let pdu = self.begin(Kind::PDU_INSTANCE_REQ);
        pdu.word(indom.0);
        pdu.word(0);
        pdu.word(0);
        pdu.number(inst);
        pdu.text(name.unwrap_or_default())?;
        pdu.finish()
    }

    /// INSTANCE_REQ: asks for all instances.
    ///
    /// # Errors
    /// See [`ClientRequest`].
    pub fn instances(&mut self, indom: InDom) -> Result<()> {
        self.instance(indom, PM_IN_NULL, None)
    }

    /// TEXT_REQ: asks for a help text. `kind` has a bit for the text (`PM_TEXT_ONELINE`,
    /// `PM_TEXT_HELP`) and one for the subject (`PM_TEXT_PMID`, `PM_TEXT_INDOM`).
    ///
    /// # Errors
    /// See [`ClientRequest`].
    pub fn text(&mut self, ident: u32, kind: i32) -> Result<()> {
        self.about(Kind::PDU_TEXT_REQ, ident, kind)
    }

    /// LABEL_REQ: asks for labels; `kind` is one of `PM_LABEL_*`.
    ///
    /// # Errors
    /// See [`ClientRequest`].
    pub fn label(&mut self, ident: u32, kind: i32) -> Result<()> {
        self.about(Kind::PDU_LABEL_REQ, ident, kind)
    }

    /// A request about an identifier.
    fn about(&mut self, request: Kind, ident: u32, kind: i32) -> Result<()> {
        let pdu = self.begin(request);
        pdu.word(ident);
        pdu.number(kind);
        pdu.finish()
    }

    /// PMNS_NAMES: asks for the metric of each name. An agent accepts one name only.
    ///
    /// # Errors
    /// See [`ClientRequest`].
    pub fn names<'a>(&mut self, names: impl ExactSizeIterator<Item = &'a [u8]> + Clone) -> Result<()> {
        self.begin(Kind::PDU_PMNS_NAMES);
        self.pdu.names(names, None)
    }

    /// PMNS_IDS: asks for the names of a metric.
    ///
    /// # Errors
    /// See [`ClientRequest`].
    pub fn names_of(&mut self, metric: MetricId) -> Result<()> {
        let pdu = self.begin(Kind::PDU_PMNS_IDS);
        pdu.number(0);
        pdu.number(1);
        pdu.word(metric.0);
        pdu.finish()
    }

    /// PMNS_CHILD: asks for the names directly below a name, with the status of each.
    ///
    /// # Errors
    /// See [`ClientRequest`].
    pub fn children(&mut self, name: &[u8]) -> Result<()> {
        self.below(Kind::PDU_PMNS_CHILD, 1, name)
    }

    /// PMNS_TRAVERSE: asks for the names of all metrics below a name.
    ///
    /// # Errors
    /// See [`ClientRequest`].
    pub fn traverse(&mut self, name: &[u8]) -> Result<()> {
        self.below(Kind::PDU_PMNS_TRAVERSE, 0, name)
    }

    /// A request about the names below a name.
    fn below(&mut self, kind: Kind, subtype: i32, name: &[u8]) -> Result<()> {
        let pdu = self.begin(kind);
        pdu.number(subtype);
        pdu.text(name)?;
        pdu.finish()
    }
}

/// Checks that a reply is of the kind that is expected.
///
/// # Errors
/// The status of an ERROR, as the failure that it reports; `PM_ERR_IPC` for any other reply.
pub fn expect(pdu: &[u8], kind: Kind) -> Result<()> {
    match number(pdu, 4).map(Kind) {
        Some(received) if received == kind => Ok(()),
        // An ERROR without an error, status 0, answers only a store.
        Some(Kind::PDU_ERROR) => Err(Error::check(decode::error(pdu)?).err().unwrap_or(Error::IPC)),
        _ => Err(Error::IPC),
    }
}

/// A description as it is sent (WIRE-41, WIRE-42).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Desc {
    /// The metric.
    pub metric: MetricId,
    /// The type of its values, `PM_TYPE_*`.
    pub kind: i32,
    /// Its instance domain.
    pub indom: InDom,
    /// The meaning of its values, `PM_SEM_*`.
    pub semantics: u32,
    /// The unit of its values, a `pmUnits` in one word.
    pub units: u32,
}

/// DESC.
///
/// # Errors
/// `PM_ERR_IPC`.
pub fn desc(pdu: &[u8]) -> Result<Desc> {
    let mut words = [0; 5];
    for (index, value) in words.iter_mut().enumerate() {
        *value = word(pdu, HEADER + 4 * index).ok_or(Error::IPC)?;
    }
    let [metric, kind, indom, semantics, units] = words;
    Ok(Desc {
        metric: MetricId(metric),
        kind: kind as i32,
        indom: InDom(indom),
        semantics,
        units,
    })
}

/// TEXT: the help text.
///
/// # Errors
/// `PM_ERR_IPC`.
pub fn text(pdu: &[u8]) -> Result<&[u8]> {
    let length = count(pdu, 16).ok_or(Error::IPC)?;
    let text = pdu.get(20..).and_then(|rest| rest.get(..length));
    text.ok_or(Error::IPC)
}

/// The entries of an INSTANCE.
#[derive(Clone, Debug)]
pub struct WireInstances<'a> {
    left: usize,
    rest: &'a [u8],
}

impl<'a> WireInstances<'a> {
    fn entry(&mut self) -> Option<(i32, &'a [u8])> {
        let inst = number(self.rest, 0)?;
        let length = count(self.rest, 4)?;
        let name = self.rest.get(8..)?.get(..length)?;
        let next = padded(length)?.checked_add(8)?;
        self.rest = self.rest.get(next..).unwrap_or_default();
        Some((inst, name))
    }
}

/// An instance, which is -1 where the request had it, and its name, which is empty where the
/// request had that.
impl<'a> Iterator for WireInstances<'a> {
    type Item = (i32, &'a [u8]);

    fn next(&mut self) -> Option<(i32, &'a [u8])> {
        self.left = self.left.checked_sub(1)?;
        self.entry()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for WireInstances<'_> {}

/// INSTANCE: the instances.
///
/// # Errors
/// `PM_ERR_IPC`.
pub fn instances(pdu: &[u8]) -> Result<WireInstances<'_>> {
    let instances = WireInstances {
        left: count(pdu, 16).ok_or(Error::IPC)?,
        rest: pdu.get(20..).ok_or(Error::IPC)?,
    };
    all_there(instances.clone(), instances.left)?;
    Ok(instances)
}

/// Checks that an iterator over a reply has as many items as the reply announces.
///
/// # Errors
/// `PM_ERR_IPC`.
fn all_there(mut items: impl Iterator, expected: usize) -> Result<()> {
    for _ in 0..expected {
        items.next().ok_or(Error::IPC)?;
    }
    Ok(())
}

/// PMNS_IDS: the metrics of the names in the request, `PM_ID_NULL` for each unknown one; and, as
/// the first result, the number of known ones or an error.
///
/// # Errors
/// `PM_ERR_IPC`.
pub fn ids(pdu: &[u8]) -> Result<(i32, impl ExactSizeIterator<Item = MetricId> + use<'_>)> {
    let status = number(pdu, 12).ok_or(Error::IPC)?;
    let ids = count(pdu, 16).ok_or(Error::IPC)?;
    let list = pdu.get(20..).ok_or(Error::IPC)?;
    if ids.checked_mul(4) != Some(list.len()) {
        return Err(Error::IPC);
    }
    let id = |id: &[u8]| MetricId(word(id, 0).unwrap_or(0));
    Ok((status, list.chunks_exact(4).map(id)))
}

/// PMNS_IDS with the metric of the only name in the request, and the status of the method that has
/// found it.
///
/// # Errors
/// `PM_ERR_IPC`.
pub fn pmid(pdu: &[u8]) -> Result<(i32, MetricId)> {
    let (status, mut ids) = ids(pdu)?;
    match (ids.next(), ids.next()) {
        (Some(id), None) => Ok((status, id)),
        _ => Err(Error::IPC),
    }
}

/// PMNS_NAMES: names, each with its status.
///
/// # Errors
/// `PM_ERR_IPC`; the number of names where it is negative (WIRE-60).
pub fn names(pdu: &[u8]) -> Result<NameList<'_>> {
    decode::name_list(pdu)
}

/// One label set of a LABEL.
#[derive(Clone, Copy, Debug)]
pub struct WireLabelSet<'a> {
    /// The instance, -1 where the labels are not of instances.
    pub inst: i32,
    /// The number of labels; negative is the error code in their place.
    pub count: i32,
    /// The JSON text.
    pub json: &'a [u8],
    records: &'a [u8],
}

impl<'a> WireLabelSet<'a> {
    /// The places of names and values in the JSON text.
    pub fn spans(self) -> impl ExactSizeIterator<Item = Span> + use<'a> {
        self.records.chunks_exact(8).map(|record| {
            let half = |offset: usize| u16::from_be_bytes([record[offset], record[offset + 1]]);
            Span {
                name: half(0),
                name_len: record[2],
                flags: record[3],
                value: half(4),
                value_len: half(6),
            }
        })
    }

    /// The labels. Each is inside of the text, which was checked.
    pub fn labels(self) -> impl Iterator<Item = Label<'a>> {
        self.spans().filter_map(move |span| span.label(self.json))
    }
}

/// The label sets of a LABEL.
#[derive(Clone, Debug)]
pub struct WireLabelSets<'a> {
    pdu: &'a [u8],
    left: usize,
    offset: usize,
}

impl<'a> WireLabelSets<'a> {
    fn set(&mut self) -> Option<WireLabelSet<'a>> {
        let (pdu, offset) = (self.pdu, self.offset);
        let labels = number(pdu, offset.checked_add(4)?)?;
        let start = count(pdu, offset.checked_add(8)?)?;
        let length = count(pdu, offset.checked_add(12)?)?;
        let first = offset.checked_add(16)?;
        let end = usize::try_from(labels)
            .unwrap_or(0)
            .checked_mul(8)?
            .checked_add(first)?;
        self.offset = end;
        let set = WireLabelSet {
            inst: number(pdu, offset)?,
            count: labels,
            json: pdu.get(start..)?.get(..length)?,
            records: pdu.get(first..end)?,
        };
        (set.labels().count() == set.spans().len()).then_some(set)
    }
}

impl<'a> Iterator for WireLabelSets<'a> {
    type Item = WireLabelSet<'a>;

    fn next(&mut self) -> Option<WireLabelSet<'a>> {
        self.left = self.left.checked_sub(1)?;
        self.set()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for WireLabelSets<'_> {}

/// LABEL: the label sets.
///
/// # Errors
/// `PM_ERR_IPC`.
pub fn labels(pdu: &[u8]) -> Result<WireLabelSets<'_>> {
    let sets = WireLabelSets {
        pdu,
        left: count(pdu, 24).ok_or(Error::IPC)?,
        offset: 28,
    };
    all_there(sets.clone(), sets.left)?;
    Ok(sets)
}

#[cfg(test)]
mod tests;
