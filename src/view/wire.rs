//! Between PDUs and the structures that the agent's methods get and fill.
//!
//! Requests become profiles, and results of a store: each is one block from malloc, which belongs
//! to the library (the table of ownership is below MAIN-12). Replies are encoded from what the
//! methods have filled: what a method has handed over is owned by a value here, which encodes it,
//! and frees it as the method's manual says. Values of a fetch are those of [`super::value`].

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use crate::sys::slice;
use crate::view::arg::CText;
use crate::view::label_set::{LabelSet, OwnedSets};
use crate::view::memory::{AnyBytes, Block};
use crate::view::types::{
    pmDesc, pmInDomProfile, pmLabelSet, pmProfile, pmValue, pmValueBlock, pmValueSet, pmdaResult,
};
use pmda_core::constants::{
    PM_LABEL_CLUSTER, PM_LABEL_CONTEXT, PM_LABEL_DOMAIN, PM_LABEL_INDOM, PM_LABEL_INSTANCES, PM_LABEL_ITEM,
};
use pmda_core::error::{Error, Result};
use pmda_core::labels::Span;
use pmda_core::wire::decode;
use pmda_core::wire::encode::{LabelSetData, Reply};
use pmda_core::wire::result::{SentValue, StoreRequest};

/// The layout of a block in which several pieces follow each other. Each starts at a multiple of 8
/// bytes.
struct Plan {
    /// Bytes of all pieces so far.
    size: usize,
}

impl Plan {
    const EMPTY: Plan = Plan { size: 0 };

    /// Adds a piece of `size` bytes. Returns its offset.
    ///
    /// # Errors
    /// `-ENOMEM` when the sum does not fit.
    fn add(&mut self, size: usize) -> Result<usize> {
        let start = self.size;
        let end = start.checked_add(size).and_then(|end| end.checked_next_multiple_of(8));
        self.size = end.ok_or(Error::ENOMEM)?;
        Ok(start)
    }

    /// The block, all bytes zero.
    ///
    /// # Errors
    /// `-ENOMEM`.
    fn make(&self) -> Result<Pieces> {
        let block = Block::zeroed(self.size / 8)?;
        Ok(Pieces { block, size: self.size })
    }
}

/// A block with structures of C, each at an offset that a plan has given.
struct Pieces {
    block: Block<u64>,
    size: usize,
}

impl Pieces {
    /// The address of the piece at an offset.
    fn address<T>(&self, start: usize) -> *mut T {
        self.block.as_ptr().cast::<u8>().wrapping_add(start).cast()
    }

    /// The element `index` of the array that starts at an offset.
    ///
    /// # Panics
    /// As [`Pieces::items`].
    fn item<T: AnyBytes>(&mut self, start: usize, index: usize) -> &mut T {
        &mut self.items(start, index + 1)[index]
    }

    /// The array of `count` elements that starts at an offset.
    ///
    /// # Panics
    /// When it is not within the block, or the offset is not aligned for the type.
    fn items<T: AnyBytes>(&mut self, start: usize, count: usize) -> &mut [T] {
        const { assert!(align_of::<T>() <= align_of::<u64>()) };
        let size = count.checked_mul(size_of::<T>());
        let end = size.and_then(|size| size.checked_add(start));
        assert!(end.is_some_and(|end| end <= self.size) && start % align_of::<T>() == 0);
        // SAFETY: the array is within the block and aligned, as was asserted (the block itself is
        // aligned for `u64`). The block is ours alone, and is borrowed for as long as the array is.
        // All of its bytes are initialized, with zero at first, and any bytes are a value of `T`,
        // as `AnyBytes` promises.
        unsafe { std::slice::from_raw_parts_mut(self.address(start), count) }
    }
}

/// A profile in one block from malloc. Its address does not change: the default method
/// `pmdaProfile` keeps it in the extension.
pub(crate) struct OwnedProfile {
    block: Block<u64>,
}

// SAFETY: the block is memory from malloc, which any thread may free, and this value alone owns it.
// The pointers in it lead into the block. The agent reads it only on the thread that calls the
// library.
unsafe impl Send for OwnedProfile {}

impl OwnedProfile {
    /// The profile that has arrived.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn new(profile: decode::Profile<'_>) -> Result<OwnedProfile> {
        let mut plan = Plan::EMPTY;
        let head = plan.add(size_of::<pmProfile>())?;
        let size = profile.len().checked_mul(size_of::<pmInDomProfile>());
        let entries = plan.add(size.ok_or(Error::ENOMEM)?)?;
        let total = profile.iter().map(|entry| entry.instances().len()).sum::<usize>();
        let mut ids = plan.add(total.checked_mul(size_of::<c_int>()).ok_or(Error::ENOMEM)?)?;
        let mut pieces = plan.make()?;
        let address = if profile.is_empty() {
            ptr::null_mut()
        } else {
            pieces.address(entries)
        };
        // All counts fit an int: they arrived as such.
        *pieces.item(head, 0) = pmProfile {
            state: profile.state,
            profile_len: profile.len() as i32,
            profile: address,
        };
        for (index, selection) in profile.iter().enumerate() {
            let instances = selection.instances();
            let len = instances.len();
            let address = if len == 0 { ptr::null_mut() } else { pieces.address(ids) };
            *pieces.item(entries, index) = pmInDomProfile {
                indom: selection.indom.0,
                state: selection.state,
                instances_len: len as i32,
                instances: address,
            };
            for (id, inst) in pieces.items::<c_int>(ids, len).iter_mut().zip(instances) {
                *id = inst;
            }
            ids += len * size_of::<c_int>();
        }
        Ok(OwnedProfile { block: pieces.block })
    }

    /// The structure, for the method.
    pub(crate) fn as_ptr(&self) -> *mut pmProfile {
        self.block.as_ptr().cast()
    }
}

/// The size of a value set in bytes. Like C's structure it has room for one value at least.
///
/// # Errors
/// `-ENOMEM` when the size does not fit.
fn set_size(numval: i32) -> Result<usize> {
    let values = usize::try_from(numval).unwrap_or(0).max(1);
    let size = values.checked_mul(size_of::<pmValue>());
    size.and_then(|size| size.checked_add(SET_HEAD)).ok_or(Error::ENOMEM)
}

/// Bytes of a value set in front of its values.
const SET_HEAD: usize = size_of::<pmValueSet>() - size_of::<pmValue>();

/// Bytes of a result in front of its value sets.
const RESULT_HEAD: usize = size_of::<pmdaResult>() - size_of::<*mut pmValueSet>();

/// The result that a `store` method gets, in one block that lives during its call (WIRE-53).
pub(crate) struct OwnedResult(Block<u64>);

impl OwnedResult {
    /// The result that has arrived.
    ///
    /// # Errors
    /// `PM_ERR_IPC` when a value block is shorter than its type (WIRE-51); `-ENOMEM`.
    pub(crate) fn new(store: StoreRequest<'_>) -> Result<OwnedResult> {
        result(store).map(OwnedResult)
    }

    /// The structure, for the method.
    pub(crate) fn as_ptr(&self) -> *mut pmdaResult {
        self.0.as_ptr().cast()
    }
}

/// The block of an [`OwnedResult`]: the result, its value sets, and their value blocks.
///
/// # Errors
/// As [`OwnedResult::new`].
fn result(store: StoreRequest<'_>) -> Result<Block<u64>> {
    let mut plan = Plan::EMPTY;
    let sets = store.metrics.max(1).checked_mul(size_of::<*mut pmValueSet>());
    let size = sets
        .and_then(|size| size.checked_add(RESULT_HEAD))
        .ok_or(Error::ENOMEM)?;
    plan.add(size)?;
    for set in store.sets() {
        plan.add(set_size(set.numval)?)?;
        for (_, value) in set.values() {
            plan.add(value.block_len())?;
        }
    }
    let mut pieces = plan.make()?;
    // The same plan again, in the same order: now each piece is filled in.
    let mut plan = Plan::EMPTY;
    let start = plan.add(size)?;
    let result: &mut pmdaResult = pieces.item(start, 0);
    result.timestamp.tv_sec = store.sec.into();
    result.timestamp.tv_usec = store.usec.into();
    // The number fits, since it arrived as an int.
    result.numpmid = store.metrics as i32;
    for (index, set) in store.sets().enumerate() {
        let head = plan.add(set_size(set.numval)?)?;
        *pieces.item(start + RESULT_HEAD, index) = pieces.address::<pmValueSet>(head);
        let values = set.values().enumerate();
        let set_head: &mut pmValueSet = pieces.item(head, 0);
        set_head.pmid = set.metric.0;
        set_head.numval = set.numval;
        set_head.valfmt = set.format;
        for (index, (inst, value)) in values {
            let mut stored = pmValue::zeroed();
            stored.inst = inst;
            match value {
                SentValue::Word(word) => stored.value.lval = word as i32,
                SentValue::Block(..) => {
                    let block = plan.add(value.block_len())?;
                    value.write(pieces.items(block, value.block_len()))?;
                    stored.value.pval = pieces.address::<pmValueBlock>(block);
                }
            }
            *pieces.item(head + SET_HEAD, index) = stored;
        }
    }
    Ok(pieces.block)
}

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
    sets: Option<OwnedSets>,
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
        let sets = unsafe { OwnedSets::own(first, owned) };
        OwnedLabels { sets, sent, kind }
    }

    /// Encodes a LABEL.
    ///
    /// # Errors
    /// `PM_ERR_GENERIC` when the method has returned a count and stored NULL; `PM_ERR_TOOBIG`.
    pub(crate) fn encode(&self, reply: &mut Reply, ident: u32) -> Result<()> {
        let sets = self.sets.as_ref().map_or(&[][..], OwnedSets::all);
        let sent = usize::try_from(self.sent).unwrap_or(0);
        let sets = sets.get(..sent).ok_or(Error::GENERIC)?;
        reply.labels(ident, self.kind, sets.iter().map(label_set))
    }
}

/// A label set in the form that the encoder takes. A set without an array has no labels, whatever
/// its number says.
fn label_set(set: &LabelSet) -> LabelSetData<'_, impl ExactSizeIterator<Item = Span>> {
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
