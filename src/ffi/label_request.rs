//! What is behind `pmdaLabel`: the default answers, and the walk over the instances of a domain.

use std::ffi::{CStr, c_int};
use std::mem;
use std::ptr;

use super::mark::outside;
use super::memory::Block;
use super::private;
use super::types::{pmInDom, pmLabelSet, pmdaExt, pmdaLabelCallBack};
use crate::abi::ext::Ext;
use crate::abi::label_set::LabelSet;
use crate::agent::{iterate, state};
use crate::context;
use crate::error::{Error, Result};
use crate::ident::{InDom, MetricId};
use crate::libpcp::labels as libpcp;
use crate::libpcp::log::{self, Debug};
use crate::libpcp::version::SINCE_6_0_5;
use crate::log::Part::{Raw, Show};
use crate::log::{Growing, Level, Part};

/// `PM_LABEL_COMPOUND` and `PM_LABEL_OPTIONAL`: not part of what is asked for.
const MODIFIERS: c_int = 0xc0;
/// `PM_IN_NULL`, the instance of the domain `PM_INDOM_NULL`.
const NO_INSTANCE: c_int = -1;
/// The first interface version with instance labels (LABEL-13).
const WITH_LABELS: u32 = 7;
/// The first interface version whose context is noted.
const WITH_CONTEXT: u32 = 5;

/// Whose labels are asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Context,
    Domain,
    InDom,
    Cluster,
    Item,
    Instances,
}

impl Kind {
    /// A type without its modifiers is exactly one bit (LABEL-10).
    fn new(kind: c_int) -> Result<Kind> {
        match kind & !MODIFIERS {
            1 => Ok(Kind::Context),
            2 => Ok(Kind::Domain),
            4 => Ok(Kind::InDom),
            8 => Ok(Kind::Cluster),
            16 => Ok(Kind::Item),
            32 => Ok(Kind::Instances),
            _ => Err(Error::TYPE),
        }
    }

    /// The flag that its labels get.
    fn flag(self) -> u8 {
        1 << self as u8
    }
}

/// Gives the labels of `ident`, which is of type `kind` (section 2 of the specification).
///
/// Returns the number of sets, or 1 for those that the agent has put into `*sets` itself.
///
/// # Errors
/// `PM_ERR_TYPE` for what is no type, `-EINVAL` for a NULL argument or a domain without a name, `-ENOMEM`, and what
/// libpcp's defaults give.
///
/// # Safety
/// `sets` is NULL or valid for reads and writes, and `*sets` is NULL or a valid set, except for instances, where it
/// is not read. `ext` is NULL or a valid extension.
pub(super) unsafe fn request(ident: u32, kind: c_int, sets: *mut *mut pmLabelSet, ext: *mut pmdaExt) -> Result<c_int> {
    if sets.is_null() || ext.is_null() {
        return Err(Error::INVAL);
    }
    // SAFETY: a valid extension, as the contract above says.
    let version = unsafe { private::interface(ext) };
    if version >= WITH_CONTEXT {
        // SAFETY: as above.
        context::set_current(unsafe { (*ext).e_context });
    }
    let kind = Kind::new(kind)?;
    if kind == Kind::Instances {
        if version < WITH_LABELS {
            return Ok(0);
        }
        // SAFETY: as the contract above says.
        return unsafe { instances(InDom(ident), sets, ext) };
    }
    // SAFETY: as the contract above says.
    unsafe {
        trace(kind, ident, ext);
        if let Some(set) = LabelSet::new(*sets) {
            set.add_flags(kind.flag());
            return Ok(1);
        }
        match kind {
            Kind::Context => Error::check(libpcp::context(sets)),
            Kind::Domain if (*ext).e_name.is_null() => Err(Error::INVAL),
            Kind::Domain => Error::check(libpcp::domain((*ext).e_domain, CStr::from_ptr((*ext).e_name), sets)),
            _ => Ok(0),
        }
    }
}

/// Debug output about a request (LABEL-21).
///
/// # Safety
/// `ext` is valid, and its name is NULL or a C string.
unsafe fn trace(kind: Kind, ident: u32, ext: *const pmdaExt) {
    if !log::debug(Debug::Labels) {
        return;
    }
    // SAFETY: as the contract above says.
    let (context, domain, name) = unsafe { ((*ext).e_context, (*ext).e_domain, (*ext).e_name) };
    let (metric, indom) = (MetricId(ident), InDom(ident));
    let say = |what: &[Part<'_>]| {
        let mut text = Growing::default();
        text.push(b"pmdaLabel: ");
        text.add(what);
        text.push(b" labels request\n");
        if let Some(text) = text.whole() {
            log::trace(&text);
        }
    };
    match kind {
        Kind::Context => say(&[Raw(b"context "), Show(&context)]),
        Kind::Domain => {
            // SAFETY: NULL or a C string, as the contract above says.
            let name = unsafe { super::arg::bytes(name) }.unwrap_or(b"(null)");
            say(&[Raw(b"domain "), Show(&domain), Raw(b" ("), Raw(name), Raw(b")")]);
        }
        Kind::InDom => say(&[Raw(b"InDom "), Show(&indom)]),
        // The text of PM_ID_NULL has no dot (L-1).
        Kind::Cluster if metric == MetricId::NULL => say(&[Raw(b"cluster "), Show(&metric)]),
        Kind::Cluster => say(&[
            Raw(b"cluster "),
            Show(&metric.domain()),
            Raw(b"."),
            Show(&metric.cluster()),
        ]),
        Kind::Item => say(&[Raw(b"item "), Show(&metric)]),
        Kind::Instances => {}
    }
}

/// The labels of the instances that the profile selects, one set each (LABEL-14 to LABEL-19).
///
/// When there are none after all, there is no array either (L-2).
///
/// # Safety
/// `sets` is valid for one write, `ext` is a valid extension.
unsafe fn instances(indom: InDom, sets: *mut *mut pmLabelSet, ext: *mut pmdaExt) -> Result<c_int> {
    // SAFETY: a valid extension, as the contract above says.
    let count = outside(|| unsafe { super::iterate::__pmdaCntInst(indom.0, ext) });
    if log::debug(Debug::Labels) {
        log::trace_parts(&[Show(&format_args!(
            "pmdaLabel: InDom {indom} {count} instance labels request\n"
        ))]);
    }
    let room = match usize::try_from(count) {
        Ok(room) if room > 0 => room,
        _ => return Error::check(count),
    };
    // SAFETY: valid for one write, as the contract above says. The old value was never ours.
    unsafe { *sets = ptr::null_mut() };
    let mut slots = Slots::new(room)?;
    // SAFETY: a valid extension, as the contract above says; it is not borrowed while the agent's function runs.
    unsafe {
        if indom.is_null() {
            slots.ask((*ext).e_labelCallBack, indom, NO_INSTANCE)?;
        } else if let Some(ext) = Ext::new(ext) {
            let state = state::of(ext);
            iterate::start(state, indom, ext);
            let mut steps = iterate::Steps::new(iterate::Ordinal::Any);
            while let Some(inst) = iterate::next(state, ext, &mut steps) {
                slots.ask(ext.label_callback(), indom, inst)?;
            }
        }
    }
    if slots.filled == 0 {
        return Ok(0);
    }
    let filled = c_int::try_from(slots.filled).map_err(|_| Error::NOMEM)?;
    // SAFETY: as above.
    unsafe { *sets = slots.into_raw() };
    Ok(filled)
}

/// An array of label sets that grows; freed with all that is in it unless it is handed over.
struct Slots {
    first: *mut pmLabelSet,
    filled: usize,
    room: usize,
}

impl Slots {
    fn new(room: usize) -> Result<Slots> {
        let first = Block::<pmLabelSet>::zeroed(room)?.into_raw();
        Ok(Slots { first, filled: 0, room })
    }

    /// Hands the array over.
    fn into_raw(self) -> *mut pmLabelSet {
        mem::ManuallyDrop::new(self).first
    }

    /// A slot that nobody uses, all zero.
    fn vacant(&mut self) -> Result<*mut pmLabelSet> {
        if self.filled == self.room {
            let room = self.room.checked_mul(2).ok_or(Error::NOMEM)?;
            let larger = Block::<pmLabelSet>::zeroed(room)?.into_raw();
            // SAFETY: both blocks are ours and the new one is larger; sets may be moved like any other value. The
            // old block is freed without what its sets point to, since that is now in the new one.
            unsafe {
                ptr::copy_nonoverlapping(self.first, larger, self.filled);
                libc::free(self.first.cast());
            }
            self.first = larger;
            self.room = room;
        }
        // SAFETY: the block has `room` slots, which is more than are filled.
        Ok(unsafe { self.first.add(self.filled) })
    }

    /// Has the agent fill the next slot for an instance.
    ///
    /// # Safety
    /// `callback` is the agent's label callback, if it has one.
    unsafe fn ask(&mut self, callback: pmdaLabelCallBack, indom: InDom, inst: c_int) -> Result<()> {
        let slot = self.vacant()?;
        self.filled += 1;
        let status = match callback {
            // SAFETY: the slot is an empty set; the callback is given what its contract promises.
            Some(callback) => unsafe { fill(slot, callback, indom.0, inst as u32) },
            None => 0,
        };
        if status < 0 {
            let level = if SINCE_6_0_5 { Level::Warning } else { Level::Debug };
            let reason = log::errstr(Error::os(status));
            log::notify_parts(
                level,
                &[Show(&format_args!("pmdaLabel: InDom {indom}[{inst}]: {reason}"))],
            );
        }
        // SAFETY: the slot is ours.
        if let Some(slot) = unsafe { LabelSet::new(slot) } {
            settle(slot, status);
            slot.add_flags(Kind::Instances.flag());
            slot.set_inst(inst as u32);
        }
        Ok(())
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        // SAFETY: the array is ours with what its first sets point to, and libpcp frees such arrays.
        unsafe { drop(libpcp::Sets::own(self.first, self.filled as c_int)) };
    }
}

/// Calls the agent's function. A set that it stores instead of filling the slot stays its own, as nothing says that it
/// comes from the heap or is used once; its labels are copied when it announces some (L-4).
///
/// # Safety
/// `slot` is an empty set, `callback` the agent's label callback.
unsafe fn fill(
    slot: *mut pmLabelSet,
    callback: unsafe extern "C" fn(pmInDom, u32, *mut *mut pmLabelSet) -> c_int,
    indom: pmInDom,
    inst: u32,
) -> c_int {
    let mut place = slot;
    // SAFETY: as the contract above says; what the callback stores is NULL or a valid set.
    unsafe {
        let status = outside(|| callback(indom, inst, &raw mut place));
        if status <= 0 || place.is_null() || place == slot {
            return status;
        }
        let Some((slot, given)) = LabelSet::new(slot).zip(LabelSet::new(place)) else {
            return status;
        };
        slot.clear();
        let copied = slot.merge(given.list());
        copied.map_or_else(Error::code, |copied| status.min(copied))
    }
}

/// Makes the number of labels in a slot what the callback returned, but never more than there are (L-3), and keeps
/// no array of a callback that has failed, which nobody would free (L-4). What goes with a 0 may be the callback's own.
fn settle(slot: LabelSet, status: c_int) {
    let missing = slot.labels_ptr().is_null();
    let there = if missing { 0 } else { slot.count() };
    slot.set_count(match status {
        1.. if missing => 0,
        1.. if there > 0 => status.min(there),
        _ => status,
    });
    if status < 0 {
        slot.drop_array();
    }
}
