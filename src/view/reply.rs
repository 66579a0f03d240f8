//! Replies from the structures that the agent's methods have filled. What a method has handed over
//! is owned by a value here, which encodes it, and frees it as the method's manual says.

use std::ffi::{c_char, c_int, c_void};

use crate::sys::libpcp::labels::{LabelSetRef, PcpLabelSets};
use crate::sys::slice;
use crate::view::arg::CText;
use crate::view::types::{pmDesc, pmLabelSet};
use pmda_core::constants::{
    PM_LABEL_CLUSTER, PM_LABEL_CONTEXT, PM_LABEL_DOMAIN, PM_LABEL_INDOM, PM_LABEL_INSTANCES, PM_LABEL_ITEM,
};
use pmda_core::error::{Error, Result};
use pmda_core::labels::Span;
use pmda_core::wire::encode::{LabelSetData, Reply};

/// Encodes a DESC. What the method has written is sent unchecked.
///
/// # Errors
/// `PM_ERR_TOOBIG`.
pub(crate) fn desc(reply: &mut Reply, desc: &pmDesc) -> Result<()> {
    // The units are 32 bits, sent as one number (WIRE-42).
    let units = desc.units._bitfield_1.get(0, 32) as u32;
    reply.desc([desc.pmid, desc.type_ as u32, desc.indom, desc.sem as u32, units])
}

/// Names that a method has stored: one block with pointers and strings, and one with states.
pub(crate) struct OwnedNames {
    names: *mut *mut c_char,
    states: *mut c_int,
    status: c_int,
}

impl OwnedNames {
    /// Takes over what a method that has returned `status` has stored, also one that has failed.
    ///
    /// # Safety
    /// Both are NULL or blocks from malloc that nobody else frees. With a status above 0 the names
    /// are as many pointers, to C strings or NULL, and the states as many numbers.
    pub(crate) unsafe fn new(names: *mut *mut c_char, states: *mut c_int, status: c_int) -> OwnedNames {
        OwnedNames { names, states, status }
    }

    /// Encodes a PMNS_NAMES.
    ///
    /// # Errors
    /// The method's own; `PM_ERR_GENERIC` when it has returned a count and stored NULL (WIRE-74);
    /// `PM_ERR_TOOBIG`.
    pub(crate) fn encode(&self, reply: &mut Reply, with_states: bool) -> Result<()> {
        let count = Error::check(self.status)?;
        if self.names.is_null() && count > 0 {
            return Err(Error::GENERIC);
        }
        // SAFETY: NULL, or `count` names and states, by the contract of `new`. This value owns
        // them, and nobody writes to them while they are encoded. An `Option<CText>` is a pointer
        // with NULL as `None`.
        let (names, states): (&[Option<CText<'_>>], _) =
            unsafe { (slice(self.names.cast(), count), slice(self.states, count)) };
        let texts = names.iter();
        let texts = texts.map(|name| name.as_ref().map_or(&b""[..], CText::bytes));
        let states = (with_states && !self.states.is_null()).then_some(states);
        reply.names(texts, states)
    }
}

impl Drop for OwnedNames {
    fn drop(&mut self) {
        // SAFETY: NULL, or blocks from malloc that nobody else frees, by the contract of `new`.
        unsafe {
            libc::free(self.names.cast::<c_void>());
            libc::free(self.states.cast::<c_void>());
        }
    }
}

/// Encodes a TEXT.
///
/// # Errors
/// `PM_ERR_TEXT` without a text (WIRE-74); `PM_ERR_TOOBIG`.
pub(crate) fn text(reply: &mut Reply, ident: u32, text: Option<CText<'_>>) -> Result<()> {
    reply.text(ident, text.as_ref().ok_or(Error::TEXT)?.bytes())
}

/// The bits of a request's type that say whose labels are asked for; the others are modifiers.
const LABEL_KINDS: c_int =
    PM_LABEL_CONTEXT | PM_LABEL_DOMAIN | PM_LABEL_INDOM | PM_LABEL_CLUSTER | PM_LABEL_ITEM | PM_LABEL_INSTANCES;

/// Label sets that a method has made. All of them are freed, not only those that are sent.
pub(crate) struct OwnedLabels {
    sets: PcpLabelSets,
    /// The number of sets that are sent.
    sent: c_int,
    /// The type of the request.
    kind: c_int,
}

impl OwnedLabels {
    /// Takes over the sets of a method that has returned `count`, for a request of type `kind`.
    ///
    /// # Safety
    /// `first` is NULL or a block with `count` valid sets, and with one for the labels of a context
    /// in any case. `pmFreeLabelSets` may free them, and nobody else does.
    pub(crate) unsafe fn new(first: *mut pmLabelSet, count: c_int, kind: c_int) -> OwnedLabels {
        // libpcp's labels of a context are one set, also with a result of 0 (L-11): it has to be
        // freed all the same.
        let owned = if kind & LABEL_KINDS == PM_LABEL_CONTEXT && !first.is_null() {
            count.max(1)
        } else {
            count
        };
        // Only the labels of instances have more than one set (MAIN-22).
        let sent = if kind & PM_LABEL_INSTANCES == 0 {
            count.min(1)
        } else {
            count
        };
        // SAFETY: `owned` sets that libpcp may free, as the caller promises.
        let sets = unsafe { PcpLabelSets::own(first, owned) };
        OwnedLabels { sets, sent, kind }
    }

    /// Encodes a LABEL.
    ///
    /// # Errors
    /// `PM_ERR_GENERIC` when the method has returned a count and stored NULL; `PM_ERR_TOOBIG`.
    pub(crate) fn encode(&self, reply: &mut Reply, ident: u32) -> Result<()> {
        let (sets, sent, kind) = (&self.sets, self.sent, self.kind);
        if sets.is_none() && sent > 0 {
            return Err(Error::GENERIC);
        }
        reply.labels(ident, kind, sets.first(sent).map(label_set))
    }
}

/// A label set in the form that the encoder takes. A set without an array has no labels, whatever
/// its number says.
fn label_set(set: LabelSetRef<'_>) -> LabelSetData<'_, impl ExactSizeIterator<Item = Span>> {
    let (json, labels) = set.parts();
    LabelSetData {
        inst: set.inst(),
        count: if labels.len() == 0 {
            set.count().min(0)
        } else {
            set.count()
        },
        json,
        labels,
    }
}
