//! Makes requests, in one buffer that is used again and again.

use crate::constants::PM_IN_NULL;
use crate::error::{Error, Result};
use crate::ident::{InDom, MetricId};
use crate::wire::Kind;
use crate::wire::PduBuilder;

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

    /// Sets the client context that the requests to come belong to.
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

    /// PROFILE: the instances that the fetches to come are to select. `state` is that of the
    /// domains that are not listed.
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
