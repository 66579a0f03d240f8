//! `pmdaMain`, `__pmdaMainPDU`, and the client context.
//!
//! The loop receives a PDU, calls the agent's method with its content, and sends the reply. Between
//! the calls are steps under the panic guard.

#![allow(unsafe_code)]

use std::ffi::c_int;
use std::{io, ptr};

use crate::agent;
use crate::boundary::{Guarded, NoDropCell, guard, guarded, inner, returned};
use crate::fetch::exports::{self, pmdaFetch};
use crate::mainloop::connection::{Incoming, IoResult, Outgoing, SendPurpose, WriteStep};
use crate::mainloop::{Agent, MainLoop, is_supported, requests};
use crate::sys::blocking;
use crate::sys::libpcp::version::free_result_values;
use crate::view::arg::{CText, Out};
use crate::view::interface::{CleanUp, Dispatch, FetchMethod};
use crate::view::label_set::LabelSets;
use crate::view::memory::{AnyBytes, Array};
use crate::view::reply::{self, Instances, OwnedInstances, OwnedLabels, OwnedNames};

use crate::view::types::pmDesc;
use crate::view::value::MethodResult;
use pmda_core::error::Error;
use pmda_core::ident::{self, MetricId};
use pmda_core::wire::Kind;
use pmda_core::wire::decode::About;

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
        // The loop owns the stream, so it may read ahead.
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

/// Returns whether a function of ours is replaced by a preloaded one, in dispatch tables and here.
/// That one wants to be called.
fn is_interposed(function: *const ()) -> bool {
    unsafe extern "C" {
        /// The beginning and the end of this library, or of the program that it is linked into, in
        /// memory.
        static __ehdr_start: u8;
        static _end: u8;
    }
    let own = (&raw const __ehdr_start).addr()..(&raw const _end).addr();
    !own.contains(&function.addr())
}

/// Serves one PDU, or all.
fn serve(dispatch: Option<Dispatch<'_>>, once: bool) -> c_int {
    // A callback may leave with longjmp.
    const { assert!(!std::mem::needs_drop::<MainLoop>()) };
    let mut main = match guarded(|token| MainLoop::new(token, dispatch, once)) {
        Ok(Ok(main)) => main,
        Ok(Err(end)) | Err(end) => return end,
    };
    loop {
        if let Err(end) = serve_next(&mut main) {
            let _ = guarded(|token| main.let_go(token));
            return end;
        }
    }
}

/// Receives the next PDU and serves it.
///
/// Methods and callbacks are read from the agent's own structures, whose views demand that they do
/// what their types say: that is what each call relies on, here and in the functions that follow.
/// What a method has stored is looked at only when it has succeeded; names are freed in any case.
fn serve_next(main: &mut MainLoop<'_>) -> Guarded<()> {
    guarded(|token| main.receive(token))?;
    receive(&mut main.incoming)?;
    if let Some(callback) = guarded(|token| main.arrived(token))?? {
        // SAFETY: the agent's own callback.
        let verdict = unsafe { callback() };
        if verdict < 0 {
            guarded(|token| main.refuse(token, verdict))?;
            send(&mut main.outgoing)?;
            return guarded(|token| main.served(token))?;
        }
    }
    guarded(|_| main.show())?;
    let mut values = None;
    match main.kind {
        Kind::PDU_PROFILE => profile(main)?,
        Kind::PDU_ATTR => attribute(main)?,
        Kind::PDU_ERROR => end_context(main)?,
        Kind::PDU_CONTROL_REQ => {}
        Kind::PDU_RESULT => store(main)?,
        Kind::PDU_FETCH => values = fetch(main)?,
        Kind::PDU_DESC_REQ => desc(main)?,
        Kind::PDU_INSTANCE_REQ => instance(main)?,
        Kind::PDU_TEXT_REQ => text(main)?,
        Kind::PDU_PMNS_NAMES => pmid(main)?,
        Kind::PDU_PMNS_IDS => name(main)?,
        Kind::PDU_PMNS_CHILD => children(main, false)?,
        Kind::PDU_PMNS_TRAVERSE => children(main, true)?,
        Kind::PDU_LABEL_REQ => label(main)?,
        _ => guarded(|_| main.log_unknown())?,
    }
    send(&mut main.outgoing)?;
    // MAIN-20: whatever has become of the reply.
    if let Some((callback, values)) = main.agent.ext.result_callback().zip(values) {
        // SAFETY: the agent's own callback, and the values that its method has given.
        unsafe { callback(values.as_ptr()) };
    }
    if let Some(callback) = main.agent.ext.done_callback() {
        // SAFETY: the agent's own callback.
        unsafe { callback() };
    }
    guarded(|token| main.served(token))?
}

/// Reads until there is a PDU or a failure.
pub(crate) fn receive(incoming: &mut Incoming) -> Guarded<()> {
    let mut wanted = guarded(|token| incoming.next(token, None))?;
    while let Some((fd, place, size)) = wanted {
        // SAFETY: the place stays until the next step, for so many bytes.
        let read = transferred(unsafe { blocking::read(fd, place.cast(), size) });
        wanted = guarded(|token| incoming.next(token, Some(read)))?;
    }
    Ok(())
}

pub(crate) fn send(outgoing: &mut Outgoing) -> Guarded<()> {
    let mut wanted = guarded(|token| outgoing.next(token, None))?;
    while let Some(what) = wanted {
        let written = match what {
            // SAFETY: the bytes stay until the next step.
            WriteStep::Write(fd, first, size) => Some(transferred(unsafe { blocking::write(fd, first.cast(), size) })),
            WriteStep::Wait(fd) => {
                blocking::ready(fd, libc::POLLOUT);
                None
            }
        };
        wanted = guarded(|token| outgoing.next(token, written))?;
    }
    Ok(())
}

/// The result of a read or a write.
fn transferred(count: isize) -> IoResult {
    // At the end of a stream it is an earlier error, which is shown.
    let error = if count <= 0 {
        io::Error::last_os_error().raw_os_error().unwrap_or(0)
    } else {
        0
    };
    IoResult(count, error)
}

/// PROFILE. It is kept until the next one, as the default method has its address.
fn profile(main: &mut MainLoop<'_>) -> Guarded<()> {
    let mut profile = NoDropCell::none();
    let Ok((method, place)) = guarded(|_| main.find(|agent, pdu| requests::profile(agent, pdu, &mut profile)))? else {
        return Ok(());
    };
    // SAFETY: the profile stays as long as the agent may use it.
    let status = unsafe { method(place, Some(main.agent.ext)) };
    guarded(|token| main.keep_profile(token, profile.take(), status))
}

/// ATTR.
fn attribute(main: &mut MainLoop<'_>) -> Guarded<()> {
    let mut value = NoDropCell::none();
    let Ok((method, key, place, length)) =
        guarded(|_| main.find(|agent, pdu| requests::attribute(agent, pdu, &mut value)))?
    else {
        return Ok(());
    };
    let context = main.context();
    // SAFETY: NULL or a string that stays until the method has returned.
    let status = unsafe { method(context, key, CText::new(place), length, Some(main.agent.ext)) };
    guarded(|_| {
        drop(value.take());
        if let Err(error) = Error::check(status) {
            main.log_attribute(error);
        }
    })
}

/// ERROR: calls the agent when a context ends.
fn end_context(main: &mut MainLoop<'_>) -> Guarded<()> {
    if let Some((callback, context)) = guarded(|_| main.notice())? {
        // SAFETY: the agent's own callback.
        unsafe { callback(context) };
    }
    Ok(())
}

/// RESULT: values to be stored, answered with the method's result.
fn store(main: &mut MainLoop<'_>) -> Guarded<()> {
    let mut values = NoDropCell::none();
    let status = match guarded(|_| main.find(|agent, pdu| requests::store(agent, pdu, &mut values)))? {
        // SAFETY: the result stays until the method has returned.
        Ok((method, place)) => unsafe { method(place, Some(main.agent.ext)) },
        Err(error) => error.code(),
    };
    guarded(|token| {
        drop(values.take());
        main.send_status(token, status);
    })
}

/// Returns whether the fetch method and the function that frees its result are the library's own,
/// so that no code of the agent sees the result. The agent may replace them at any time.
fn has_own_fetch(agent: Agent<'_>) -> bool {
    let (own, free): (FetchMethod, CleanUp) = (pmdaFetch, free_result_values);
    let method = agent.dispatch.fetch().map(|method| method as *const ());
    let callback = agent.ext.result_callback().map(|callback| callback as *const ());
    method == Some(own as *const ()) && !is_interposed(own as *const ()) && callback == Some(free as *const ())
}

/// FETCH. Returns the values, for the result callback.
///
/// Those of the library's own method nobody else sees: they are in an arena, which saves 20,000
/// calls of malloc and free for 10,000 values of 64 bits, and are gone when they are encoded.
fn fetch<'call>(main: &mut MainLoop<'call>) -> Guarded<Option<MethodResult<'call>>> {
    let (mut metrics, mut arena) = (NoDropCell::none(), NoDropCell::none());
    let found = guarded(|token| {
        let found = main.ask(token, |agent, pdu| requests::fetch(agent, pdu, &mut metrics))?;
        if has_own_fetch(main.agent) {
            arena.set(main.agent.loop_state.take_arena(token));
        }
        Some(found)
    })?;
    let Some((method, count, list)) = found else {
        return Ok(None);
    };
    let (mut values, ext) = (ptr::null_mut(), Some(main.agent.ext));
    let place = Out::to(&mut values);
    let status = if let Some(arena) = arena.get() {
        // SAFETY: the metrics stay until the fetch is done.
        let list = unsafe { Array::new(list, count) };
        returned(exports::fetch(list, place, ext, Some(arena)))
    } else {
        // SAFETY: the metrics stay until the method has returned.
        unsafe { method(count, list, place, ext) }
    };
    let status = Error::check(status);
    // SAFETY: a method that has succeeded has stored NULL or a result. One in the arena is not used
    // any more when that is cleared.
    let values = status.map_or(None, |_| unsafe { MethodResult::new(values) });
    guarded(|token| {
        drop(metrics.take());
        main.reply_values(token, |reply| {
            status?;
            values.ok_or(Error::GENERIC)?.encode(reply)
        });
        let Some(arena) = arena.take() else {
            return values;
        };
        main.agent.loop_state.give_arena(token, arena);
        None
    })
}

/// DESC_REQ.
fn desc(main: &mut MainLoop<'_>) -> Guarded<()> {
    let Some((method, metric)) = guarded(|token| main.ask(token, requests::desc))? else {
        return Ok(());
    };
    let mut desc = pmDesc::zeroed();
    // SAFETY: the agent's own method.
    let status = unsafe { method(metric.0, Out::to(&mut desc), Some(main.agent.ext)) };
    guarded(|token| {
        main.reply(token, |reply| {
            Error::check(status)?;
            reply::desc(reply, &desc)
        });
    })
}

/// INSTANCE_REQ.
fn instance(main: &mut MainLoop<'_>) -> Guarded<()> {
    let mut name = NoDropCell::none();
    let Some((method, indom, inst, place)) =
        guarded(|token| main.ask(token, |agent, pdu| requests::instance(agent, pdu, &mut name)))?
    else {
        return Ok(());
    };
    let mut list = ptr::null_mut();
    // SAFETY: NULL or a string that stays until the method has returned.
    let status = unsafe {
        method(
            indom.0,
            inst,
            CText::new(place),
            Out::to(&mut list),
            Some(main.agent.ext),
        )
    };
    guarded(|token| {
        drop(name.take());
        main.reply(token, |reply| {
            Error::check(status)?;
            // SAFETY: a method that has succeeded has stored NULL or a list, which it hands over.
            unsafe { OwnedInstances::new(Instances::new(list)) }.encode(reply)
        });
    })
}

/// TEXT_REQ.
fn text(main: &mut MainLoop<'_>) -> Guarded<()> {
    let Some((method, About { ident, kind })) = guarded(|token| main.ask(token, requests::text))? else {
        return Ok(());
    };
    let mut text = ptr::null_mut();
    // SAFETY: the agent's own method.
    let status = unsafe { method(ident as i32, kind, Out::to(&mut text), Some(main.agent.ext)) };
    guarded(|token| {
        main.reply(token, |reply| {
            Error::check(status)?;
            // SAFETY: a method that has succeeded has stored NULL or a text, which stays its own.
            reply::text(reply, ident, unsafe { CText::new(text) })
        });
    })
}

/// PMNS_NAMES: the identifier of a name.
fn pmid(main: &mut MainLoop<'_>) -> Guarded<()> {
    let mut name = NoDropCell::none();
    let Some((method, place)) = guarded(|token| main.ask(token, |agent, pdu| requests::pmid(agent, pdu, &mut name)))?
    else {
        return Ok(());
    };
    let mut metric = 0;
    // SAFETY: the name stays until the method has returned.
    let status = unsafe { method(CText::new(place), Out::to(&mut metric), Some(main.agent.ext)) };
    guarded(|token| {
        drop(name.take());
        main.reply(token, |reply| reply.ids(Error::check(status)?, MetricId(metric)));
    })
}

/// PMNS_IDS: the names of a metric.
fn name(main: &mut MainLoop<'_>) -> Guarded<()> {
    let Some((method, metric)) = guarded(|token| main.ask(token, requests::name))? else {
        return Ok(());
    };
    let mut names = ptr::null_mut();
    // SAFETY: the agent's own method.
    let status = unsafe { method(metric.0, Out::to(&mut names), Some(main.agent.ext)) };
    guarded(|token| {
        // SAFETY: what the method has stored it has handed over.
        let names = unsafe { OwnedNames::new(names, ptr::null_mut(), status) };
        main.reply(token, |reply| names.encode(reply, false));
    })
}

/// PMNS_CHILD: the names one level below a name; PMNS_TRAVERSE: those of all metrics below it.
fn children(main: &mut MainLoop<'_>, all: bool) -> Guarded<()> {
    let mut below = NoDropCell::none();
    let Some((method, place, with_states)) =
        guarded(|token| main.ask(token, |agent, pdu| requests::children(agent, pdu, all, &mut below)))?
    else {
        return Ok(());
    };
    let (mut names, mut states) = (ptr::null_mut(), ptr::null_mut());
    let (list, kinds) = (Out::to(&mut names), Out::to(&mut states));
    // SAFETY: the name stays until the method has returned.
    let status = unsafe { method(CText::new(place), c_int::from(all), list, kinds, Some(main.agent.ext)) };
    guarded(|token| {
        drop(below.take());
        // SAFETY: what the method has stored it has handed over.
        let names = unsafe { OwnedNames::new(names, states, status) };
        main.reply(token, |reply| names.encode(reply, with_states));
    })
}

/// LABEL_REQ.
fn label(main: &mut MainLoop<'_>) -> Guarded<()> {
    let Some((method, About { ident, kind })) = guarded(|token| main.ask(token, requests::label))? else {
        return Ok(());
    };
    let mut first = ptr::null_mut();
    let status = match method {
        // SAFETY: the place is in this frame, and holds NULL.
        Some(method) => unsafe { method(ident as i32, kind, LabelSets::new(&raw mut first), Some(main.agent.ext)) },
        None => 0,
    };
    guarded(|token| {
        main.reply(token, |reply| {
            let count = Error::check(status)?;
            // SAFETY: a method that has succeeded has stored that many sets, which it hands over.
            unsafe { OwnedLabels::new(first, count, kind) }.encode(reply, ident)
        });
    })
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
    guard(|token| {
        let supported = dispatch.filter(|dispatch| is_supported(*dispatch));
        supported.and_then(Dispatch::ext).map_or(-1, |ext| {
            if let Ok(loop_state) = agent::loop_state(token, ext) {
                loop_state.watch();
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
    let begun = guard(|token| {
        let ext = dispatch.and_then(Dispatch::ext)?;
        let mut outgoing = Outgoing::nothing(agent::loop_state(token, ext).ok()?);
        outgoing.begin_status(token, ext.outfd(), SendPurpose::Status, error);
        Some(outgoing)
    });
    if let Some(mut outgoing) = begun {
        let _ = send(&mut outgoing);
    }
}

/// Returns the client context of the request that is being served (MAIN-25).
///
/// # Returns
/// The context; -1 before the first request.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaGetContext() -> c_int {
    inner(ident::current_context)
}

/// Sets what `pmdaGetContext` returns.
#[unsafe(no_mangle)]
pub extern "C" fn __pmdaSetContext(context: c_int) {
    inner(|| ident::set_current_context(context));
}
