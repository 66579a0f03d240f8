//! `pmdaMain`, `__pmdaMainPDU`, and the client context.

#![allow(unsafe_code)]

use std::ffi::c_int;
use std::{io, ptr};

use crate::drive::NoDropCell;
use crate::drive::{drive, drive_reading, run};
use crate::drive::{guard, inner};
use crate::fetch::exports;
use crate::fetch::exports::pmdaFetch;
use crate::instances::exports::pmdaInstance;
use crate::instances::iterate::{InstanceCursor, Ordinal};
use crate::mainloop::{Call, MainLoop, OwnMethods, SendingStatus, SessionAnswer, is_supported};
use crate::record;
use crate::sys::waits;
use crate::view::agent::{Dispatch, FetchMethod, InstanceMethod};
use crate::view::answers::{Instances, OwnedInstances, OwnedLabels, OwnedNames};
use crate::view::arg::{CText, Out};
use crate::view::label_set::LabelSets;
use crate::view::memory::AnyBytes;
use crate::view::table::Metric;
use crate::view::types::{pmDesc, pmdaMetric};
use crate::view::value::Values;
use pmda_core::context;
use pmda_core::error::Error;
use pmda_core::ident::MetricId;

/// Serves PDUs until the stream ends or cannot be read any more (MAIN-1).
///
/// # Safety
/// As [`__pmdaMainPDU`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaMain(dispatch: Option<Dispatch<'_>>) {
    if is_interposed(__pmdaMainPDU as *const ()) {
        // SAFETY: the dispatch table is valid, as this function's caller promises, and each call
        // leaves it so.
        while unsafe { __pmdaMainPDU(dispatch) } >= 0 {}
    } else {
        // The loop owns the stream until it ends, so it may read ahead.
        serve(dispatch, false);
    }
}

/// Reads one PDU and serves it, and touches no byte beyond it.
///
/// # Returns
/// 0 for a PDU that was served, whatever came of it; `PM_ERR_EOF` at the end of the stream; another
/// negative number when the stream cannot be read, or the agent was not set up (MAIN-2, MAIN-3).
///
/// # Safety
/// `dispatch` is NULL or a dispatch table with a valid extension, whose methods follow their
/// contracts.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __pmdaMainPDU(dispatch: Option<Dispatch<'_>>) -> c_int {
    serve(dispatch, true)
}

/// Serves one PDU, or all.
#[inline(always)]
fn serve(dispatch: Option<Dispatch<'_>>, once: bool) -> c_int {
    let mut steps = InstanceCursor::new(Ordinal::Any);
    let mut spare = pmdaMetric::zeroed();
    let spare = Metric::in_frame(&mut spare);
    drive_reading(
        || MainLoop::new(dispatch, own_methods(), once, &mut steps, spare),
        |main, call| make(main, call, spare),
    )
}

/// The methods of this library that a loop need not call.
fn own_methods() -> OwnMethods {
    let (fetch, instance): (FetchMethod, InstanceMethod) = (pmdaFetch, pmdaInstance);
    OwnMethods {
        fetch: (!is_interposed(fetch as *const ())).then_some(fetch),
        instance: (!is_interposed(instance as *const ())).then_some(instance),
    }
}

/// Whether a function with the name of one of ours is somebody else's: what the dynamic linker
/// resolves the name to, in a dispatch table and here, is a preloaded function if there is one.
/// That one wants to be called.
fn is_interposed(function: *const ()) -> bool {
    unsafe extern "C" {
        /// Where this library, or the program that it was linked into, begins and ends in memory;
        /// the linker knows.
        static __ehdr_start: u8;
        static _end: u8;
    }
    let own = (&raw const __ehdr_start).addr()..(&raw const _end).addr();
    !own.contains(&function.addr())
}

/// Makes the calls of a main loop.
///
/// Methods and callbacks were read from the agent's own structures, whose views demand that they do
/// what their types say: that is what each call relies on. What a method has stored is looked at
/// only when it has succeeded; names are freed in any case.
#[inline(always)]
fn make<'call>(main: &mut MainLoop<'call>, call: Call<'call>, spare: Metric<'call>) -> SessionAnswer<'call> {
    let ext = Some(main.ext());
    match call {
        Call::Values => match main.fetching() {
            Some(fetch) => SessionAnswer::Status(run(fetch, |fetch, ()| exports::make(fetch.asked(), spare, ext))),
            None => SessionAnswer::Nothing,
        },
        // SAFETY: the loop keeps the buffer until the answer.
        Call::Read(fd, place, count) => bytes(unsafe { libc::read(fd, place.cast(), count) }),
        Call::Write(fd, first, count) => write(fd, first, count),
        Call::WaitToRead(fd) => {
            waits::to_read(fd);
            SessionAnswer::Nothing
        }
        Call::WaitToWrite(fd) => wait_to_write(fd),
        // SAFETY: the agent's own callback.
        Call::Check(callback) => SessionAnswer::Status(unsafe { callback() }),
        Call::Done(callback) => {
            // SAFETY: the agent's own callback.
            unsafe { callback() };
            SessionAnswer::Nothing
        }
        Call::EndContext(callback, context) => {
            // SAFETY: the agent's own callback.
            unsafe { callback(context) };
            SessionAnswer::Nothing
        }
        Call::CleanUp(callback, values) => {
            // SAFETY: the agent's own callback, and the values that its method has given.
            unsafe { callback(values.as_ptr()) };
            SessionAnswer::Nothing
        }
        // SAFETY: the loop keeps the profile as long as the agent may use it.
        Call::Profile(method, profile) => SessionAnswer::Status(unsafe { method(profile, ext) }),
        // SAFETY: the loop keeps the result until the answer.
        Call::Store(method, values) => SessionAnswer::Status(unsafe { method(values, ext) }),
        Call::Attribute(method, context, key, value, length) => {
            // SAFETY: the loop keeps the text until the answer.
            SessionAnswer::Status(unsafe { method(context, key, CText::new(value), length, ext) })
        }
        Call::Fetch(method, count, metrics) => {
            let mut values = ptr::null_mut();
            // SAFETY: the loop keeps the metrics until the answer.
            let status = Error::check(unsafe { method(count, metrics, Out::to(&mut values), ext) });
            // SAFETY: a method that has succeeded has stored NULL or a result.
            let values = status.map_or(None, |_| unsafe { Values::new(values) });
            SessionAnswer::Values(status, values)
        }
        Call::Desc(method, metric) => {
            let mut desc = pmDesc::zeroed();
            // SAFETY: the agent's own method.
            let status = Error::check(unsafe { method(metric.0, Out::to(&mut desc), ext) });
            SessionAnswer::Desc(status, desc)
        }
        Call::Instance(method, indom, inst, name) => {
            let mut list = ptr::null_mut();
            // SAFETY: the loop keeps the name until the answer.
            let status = unsafe { method(indom.0, inst, CText::new(name), Out::to(&mut list), ext) };
            let status = Error::check(status);
            // SAFETY: a method that has succeeded has stored NULL or a list, which it hands over.
            let owned = || NoDropCell::new(unsafe { OwnedInstances::new(Instances::new(list)) });
            SessionAnswer::Instances(status, status.map_or_else(|_| NoDropCell::none(), |_| owned()))
        }
        Call::Text(method, ident, kind) => {
            let mut text = ptr::null_mut();
            // SAFETY: the agent's own method.
            let status = Error::check(unsafe { method(ident as i32, kind, Out::to(&mut text), ext) });
            // SAFETY: a method that has succeeded has stored NULL or a text.
            SessionAnswer::Text(status, status.map_or(None, |_| unsafe { CText::new(text) }))
        }
        Call::Pmid(method, name) => {
            let mut metric = 0;
            // SAFETY: the loop keeps the name until the answer.
            let status = Error::check(unsafe { method(CText::new(name), Out::to(&mut metric), ext) });
            SessionAnswer::Pmid(status, MetricId(metric))
        }
        Call::Name(method, metric) => {
            let mut names = ptr::null_mut();
            // SAFETY: the agent's own method.
            let status = Error::check(unsafe { method(metric.0, Out::to(&mut names), ext) });
            // SAFETY: what the method has stored it has handed over.
            SessionAnswer::Names(
                status,
                NoDropCell::new(unsafe { OwnedNames::new(names, ptr::null_mut()) }),
            )
        }
        Call::Children(method, name, all) => {
            let (mut names, mut states) = (ptr::null_mut(), ptr::null_mut());
            let (list, kinds) = (Out::to(&mut names), Out::to(&mut states));
            // SAFETY: the loop keeps the name until the answer.
            let status = unsafe { method(CText::new(name), c_int::from(all), list, kinds, ext) };
            // SAFETY: what the method has stored it has handed over.
            let owned = unsafe { OwnedNames::new(names, states) };
            SessionAnswer::Names(Error::check(status), NoDropCell::new(owned))
        }
        Call::Label(method, ident, kind) => {
            let mut first = ptr::null_mut();
            // SAFETY: the place is in this frame, and holds NULL.
            let status = unsafe { method(ident as i32, kind, LabelSets::new(&raw mut first), ext) };
            let status = Error::check(status);
            // SAFETY: a method that has succeeded has stored that many sets, which it hands over.
            let owned = |count| NoDropCell::new(unsafe { OwnedLabels::new(first, count, kind) });
            SessionAnswer::Labels(status, status.map_or_else(|_| NoDropCell::none(), owned))
        }
    }
}

/// What a system call has given, and why nothing.
#[inline(always)]
fn bytes(count: isize) -> SessionAnswer<'static> {
    let error = if count < 0 {
        io::Error::last_os_error().raw_os_error().unwrap_or(0)
    } else {
        0
    };
    SessionAnswer::Bytes(count, error)
}

/// The descriptor that PDUs arrive on, for agents that wait on several.
///
/// # Returns
/// The descriptor; -1 for an interface version that does not exist.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table with a valid extension.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaInFd(dispatch: Option<Dispatch<'_>>) -> c_int {
    guard(|| {
        let supported = dispatch.filter(|dispatch| is_supported(*dispatch));
        supported.and_then(Dispatch::ext).map_or(-1, |ext| {
            if let Ok(session) = record::session(ext) {
                session.watch();
            }
            ext.infd()
        })
    })
}

/// Sends a status to pmcd that is no reply, or instead of one (CONN-10). The outcome is ignored.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table with a valid extension.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaSendError(dispatch: Option<Dispatch<'_>>, error: c_int) {
    drive(
        || SendingStatus::new(dispatch, error).ok_or(()),
        |call| match call {
            Call::Write(fd, first, count) => write(fd, first, count),
            Call::WaitToWrite(fd) => wait_to_write(fd),
            _ => SessionAnswer::Nothing,
        },
    );
}

/// Writes what a loop or a status keeps until the answer.
#[inline(always)]
fn write(fd: c_int, first: *const u8, count: usize) -> SessionAnswer<'static> {
    // SAFETY: the machine that asks for the write keeps `count` bytes there until it is answered.
    bytes(unsafe { libc::write(fd, first.cast(), count) })
}

#[inline(always)]
fn wait_to_write(fd: c_int) -> SessionAnswer<'static> {
    waits::ready(fd, libc::POLLOUT);
    SessionAnswer::Nothing
}

/// Returns the client context that the current request belongs to, -1 before the first one
/// (MAIN-25).
#[unsafe(no_mangle)]
pub extern "C" fn pmdaGetContext() -> c_int {
    inner(context::current)
}

/// Sets what `pmdaGetContext` returns.
#[unsafe(no_mangle)]
pub extern "C" fn __pmdaSetContext(context: c_int) {
    inner(|| context::set_current(context));
}
