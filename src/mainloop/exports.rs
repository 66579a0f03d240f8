//! `pmdaMain`, `__pmdaMainPDU`, and the client context.
//!
//! The loop is [`serve_next`]: it receives a PDU, calls the agent's method for it with its content,
//! and sends the reply. The steps between the calls run under the panic guard.

#![allow(unsafe_code)]

use std::ffi::c_int;
use std::{io, ptr};

use crate::boundary::{Guarded, NoDropCell, guard, guarded, returned};
use crate::fetch::exports::{self, pmdaFetch};
use crate::mainloop::connection::{Incoming, IoResult, Outgoing, SendPurpose, WriteStep};
use crate::mainloop::{self, Agent, MainLoop, is_supported};
use crate::state;
use crate::sys::blocking;
use crate::sys::libpcp::free_result_values;
use crate::view::arg::{CText, Out};
use crate::view::instance_list::InstanceList;
use crate::view::interface::{CleanUp, Dispatch, FetchMethod};
use crate::view::label_set::LabelSets;
use crate::view::memory::{AnyBytes, Array};
use crate::view::wire::{self, OwnedLabels, OwnedNames};

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
    let serve_one = resolved(&SERVE_ONE);
    if is_interposed(serve_one as *const ()) {
        // SAFETY: NULL, or a dispatch table that stays valid, as the caller promises.
        while unsafe { serve_one(dispatch) } >= 0 {}
    } else {
        // The loop owns the stream until it ends, so it may read ahead.
        serve(dispatch, false);
    }
}

/// Reads one PDU and serves it. No byte after the PDU is read, since the agent may wait on the
/// descriptor.
///
/// # Returns
/// 0 for a PDU that was served, also with an error; `PM_ERR_EOF` at the end of the stream; another
/// negative number when the stream cannot be read, or the agent was not set up (MAIN-2, MAIN-3).
///
/// # Safety
/// `dispatch` is NULL or a dispatch table with a valid extension, whose methods follow their
/// contracts.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __pmdaMainPDU(dispatch: Option<Dispatch<'_>>) -> c_int {
    serve(dispatch, true)
}

/// The type of `__pmdaMainPDU`.
type ServeOne = unsafe extern "C-unwind" fn(Option<Dispatch<'_>>) -> c_int;

/// The function that the dynamic linker finds under this name: [`resolved`].
static SERVE_ONE: ServeOne = __pmdaMainPDU;
/// Likewise for `pmdaFetch`.
static FETCH: FetchMethod = pmdaFetch;

/// Returns the function that the dynamic linker has put into a static: ours, or one of the same
/// name that was preloaded.
///
/// A call of an exported function by its name is no such look: the compiler may inline ours there,
/// and does, since to it the body is that of this crate, whoever the linker prefers. A volatile
/// read makes a value that it knows nothing of.
fn resolved<F: Copy>(function: &'static F) -> F {
    // SAFETY: a reference is valid for reads, and its value has been initialised.
    unsafe { ptr::from_ref(function).read_volatile() }
}

/// Returns whether an exported function of ours, as [`resolved`], is replaced by one of the same
/// name that was preloaded (`LD_PRELOAD`): the dynamic linker resolves the name to that one, in
/// dispatch tables and here. Then it has to be called.
fn is_interposed(function: *const ()) -> bool {
    unsafe extern "C" {
        /// The start and the end of this library in memory, or of the program that it is linked
        /// into. The linker defines both.
        static __ehdr_start: u8;
        static _end: u8;
    }
    let own = (&raw const __ehdr_start).addr()..(&raw const _end).addr();
    !own.contains(&function.addr())
}

/// Serves one PDU, or all until the end of the stream. Returns the result of `__pmdaMainPDU`.
fn serve(dispatch: Option<Dispatch<'_>>, once: bool) -> c_int {
    // A callback may leave by longjmp.
    const { assert!(!std::mem::needs_drop::<MainLoop>()) };
    let mut main = match guarded(|token| MainLoop::new(token, dispatch, once)) {
        Ok(Ok(main)) => main,
        Ok(Err(end)) | Err(end) => return end,
    };
    loop {
        if let Err(end) = serve_next(&mut main) {
            // A panic in this step was logged.
            let _ = guarded(|token| main.let_go(token));
            return end;
        }
    }
}

/// Receives the next PDU and serves it.
///
/// Each call of a method or callback, here and in the functions that follow, relies on this: it was
/// read from the agent's dispatch table or extension, whose contract says that it does what its
/// type says. The extension that it gets is the agent's own, and is valid. What it has stored is
/// read only if it has succeeded; names are freed in any case. Our frames have nothing to drop.
///
/// # Errors
/// The result of the loop.
fn serve_next(main: &mut MainLoop<'_>) -> Guarded<()> {
    guarded(|token| main.receive(token))?;
    receive(&mut main.incoming)?;
    if let Some(callback) = guarded(|token| main.arrived(token))?? {
        // SAFETY: the check callback of the agent, see above.
        let verdict = unsafe { callback() };
        if verdict < 0 {
            guarded(|token| main.refuse(token, verdict))?;
            send(&mut main.outgoing)?;
            return guarded(|token| main.served(token))?;
        }
    }
    guarded(|token| main.show(token))?;
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
        _ => guarded(|token| main.log_unknown(token))?,
    }
    send(&mut main.outgoing)?;
    // The result callback is called also if the reply could not be encoded or sent (MAIN-20).
    if let Some((callback, values)) = main.agent.ext.result_callback().zip(values) {
        // SAFETY: the result callback of the agent, see above, and a result that its fetch method
        // has stored. The library does not use the result afterwards.
        unsafe { callback(values.as_ptr()) };
    }
    if let Some(callback) = main.agent.ext.done_callback() {
        // SAFETY: the done callback of the agent, see above.
        unsafe { callback() };
    }
    guarded(|token| main.served(token))?
}

/// Reads until a PDU is complete, or cannot be.
///
/// # Errors
/// Those of [`guarded`].
pub(crate) fn receive(incoming: &mut Incoming) -> Guarded<()> {
    let mut wanted = guarded(|token| incoming.next(token, None))?;
    while let Some((fd, buffer, size)) = wanted {
        // SAFETY: `buffer` is writable for `size` bytes until the next step.
        let read = transferred(unsafe { blocking::read(fd, buffer.cast(), size) });
        wanted = guarded(|token| incoming.next(token, Some(read)))?;
    }
    Ok(())
}

/// Writes the PDU that is to be sent, if any.
///
/// # Errors
/// Those of [`guarded`].
pub(crate) fn send(outgoing: &mut Outgoing) -> Guarded<()> {
    let mut wanted = guarded(|token| outgoing.next(token, None))?;
    while let Some(what) = wanted {
        let written = match what {
            // SAFETY: `size` bytes from `first` on stay until the next step.
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
    // At the end of a stream errno is that of some earlier call. Messages show it all the same.
    let error = if count <= 0 {
        io::Error::last_os_error().raw_os_error().unwrap_or(0)
    } else {
        0
    };
    IoResult(count, error)
}

/// PROFILE: passes on the profile of a client. It is kept until the next one, as the default method
/// stores its address.
///
/// # Errors
/// Those of [`guarded`], as of all functions for requests.
fn profile(main: &mut MainLoop<'_>) -> Guarded<()> {
    let mut profile = NoDropCell::none();
    let Ok((method, address)) = guarded(|token| {
        main.find(token, |_, agent, pdu| {
            mainloop::profile_request(agent, pdu, &mut profile)
        })
    })?
    else {
        return Ok(());
    };
    // SAFETY: the profile method of the agent, see `serve_next`. The profile stays until it is
    // replaced by the next one, which the agent gets as well.
    let status = unsafe { method(address, Some(main.agent.ext)) };
    guarded(|token| main.keep_profile(token, profile.take(), status))
}

/// ATTR: passes on an attribute of a client.
///
/// # Errors
/// As [`profile`].
fn attribute(main: &mut MainLoop<'_>) -> Guarded<()> {
    let mut value = NoDropCell::none();
    let Ok((method, key, text, length)) = guarded(|token| {
        main.find(token, |token, agent, pdu| {
            mainloop::attribute_request(token, agent, pdu, &mut value)
        })
    })?
    else {
        return Ok(());
    };
    let context = main.context();
    // SAFETY: the attribute method of the agent, see `serve_next`. `text` is NULL or a string that
    // stays until the next step.
    let status = unsafe { method(context, key, CText::new(text), length, Some(main.agent.ext)) };
    guarded(|token| {
        drop(value.take());
        if let Err(error) = Error::check(status) {
            main.log_attribute(token, error);
        }
    })
}

/// ERROR: tells the agent that a context has ended.
///
/// # Errors
/// As [`profile`].
fn end_context(main: &mut MainLoop<'_>) -> Guarded<()> {
    if let Some((callback, context)) = guarded(|token| main.notice(token))? {
        // SAFETY: the end-context callback of the agent, see `serve_next`.
        unsafe { callback(context) };
    }
    Ok(())
}

/// RESULT: stores values. The answer is the result of the method.
///
/// # Errors
/// As [`profile`].
fn store(main: &mut MainLoop<'_>) -> Guarded<()> {
    let mut values = NoDropCell::none();
    let status =
        match guarded(|token| main.find(token, |_, agent, pdu| mainloop::store_request(agent, pdu, &mut values)))? {
            // SAFETY: the store method of the agent, see `serve_next`. The result stays until the
            // next step.
            Ok((method, address)) => unsafe { method(address, Some(main.agent.ext)) },
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
    let (own, free): (FetchMethod, CleanUp) = (resolved(&FETCH), free_result_values);
    let method = agent.dispatch.fetch().map(|method| method as *const ());
    let callback = agent.ext.result_callback().map(|callback| callback as *const ());
    method == Some(own as *const ()) && !is_interposed(own as *const ()) && callback == Some(free as *const ())
}

/// FETCH: fetches values. Returns them, for the result callback.
///
/// If no code of the agent sees the result, it is in an arena, which saves 20,000 calls of malloc
/// and free for 10,000 values of 64 bits. Such a result is freed when it has been encoded, and
/// nothing is returned.
///
/// # Errors
/// As [`profile`].
fn fetch<'call>(main: &mut MainLoop<'call>) -> Guarded<Option<MethodResult<'call>>> {
    let (mut metrics, mut arena) = (NoDropCell::none(), NoDropCell::none());
    let request = guarded(|token| {
        let request = main.ask(token, |_, agent, pdu| mainloop::fetch_request(agent, pdu, &mut metrics))?;
        if has_own_fetch(main.agent) {
            arena.set(main.agent.loop_state.take_arena(token));
        }
        Some(request)
    })?;
    let Some((method, count, list)) = request else {
        return Ok(None);
    };
    let (mut values, ext) = (ptr::null_mut(), main.agent.ext);
    let out = Out::to(&mut values);
    let status = if let Some(arena) = arena.get() {
        // SAFETY: `metrics` keeps the list until the next step.
        let list = unsafe { Array::new(list, count) };
        returned(exports::fetch(list, out, ext, Some(arena)))
    } else {
        // SAFETY: the fetch method of the agent, see `serve_next`. `metrics` keeps the list until
        // the next step.
        unsafe { method(count, list, out, Some(ext)) }
    };
    let status = Error::check(status);
    // SAFETY: a method that has succeeded has stored NULL or a result, which is valid until the
    // result callback was called. One in the arena is valid until that is given back, and is not
    // used afterwards.
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

/// DESC_REQ: describes a metric.
///
/// # Errors
/// As [`profile`].
fn desc(main: &mut MainLoop<'_>) -> Guarded<()> {
    let Some((method, metric)) = guarded(|token| main.ask(token, |_, agent, pdu| mainloop::desc_request(agent, pdu)))?
    else {
        return Ok(());
    };
    let mut desc = pmDesc::zeroed();
    // SAFETY: the desc method of the agent, see `serve_next`.
    let status = unsafe { method(metric.0, Out::to(&mut desc), Some(main.agent.ext)) };
    guarded(|token| {
        main.reply(token, |reply| {
            Error::check(status)?;
            wire::desc(reply, &desc)
        });
    })
}

/// INSTANCE_REQ: returns the instances of a domain, or one of them.
///
/// # Errors
/// As [`profile`].
fn instance(main: &mut MainLoop<'_>) -> Guarded<()> {
    let mut name = NoDropCell::none();
    let Some((method, indom, inst, text)) =
        guarded(|token| main.ask(token, |_, agent, pdu| mainloop::instance_request(agent, pdu, &mut name)))?
    else {
        return Ok(());
    };
    let mut list = ptr::null_mut();
    // SAFETY: the instance method of the agent, see `serve_next`. `text` is NULL or a string that
    // stays until the next step.
    let status = unsafe {
        method(
            indom.0,
            inst,
            CText::new(text),
            Out::to(&mut list),
            Some(main.agent.ext),
        )
    };
    guarded(|token| {
        drop(name.take());
        main.reply(token, |reply| {
            Error::check(status)?;
            // SAFETY: a method that has succeeded has stored NULL or a list, which it hands over.
            let list = unsafe { InstanceList::take_over(list) };
            // A method that succeeds with NULL is a fault of the agent (WIRE-74).
            list.ok_or(Error::GENERIC)?.encode(reply)
        });
    })
}

/// TEXT_REQ: returns a help text.
///
/// # Errors
/// As [`profile`].
fn text(main: &mut MainLoop<'_>) -> Guarded<()> {
    let Some((method, About { ident, kind })) =
        guarded(|token| main.ask(token, |_, agent, pdu| mainloop::text_request(agent, pdu)))?
    else {
        return Ok(());
    };
    let mut text = ptr::null_mut();
    // SAFETY: the text method of the agent, see `serve_next`.
    let status = unsafe { method(ident as i32, kind, Out::to(&mut text), Some(main.agent.ext)) };
    guarded(|token| {
        main.reply(token, |reply| {
            Error::check(status)?;
            // SAFETY: a method that has succeeded has stored NULL or a text, which stays its own.
            wire::text(reply, ident, unsafe { CText::new(text) })
        });
    })
}

/// PMNS_NAMES: returns the identifier of a name.
///
/// # Errors
/// As [`profile`].
fn pmid(main: &mut MainLoop<'_>) -> Guarded<()> {
    let mut name = NoDropCell::none();
    let Some((method, text)) =
        guarded(|token| main.ask(token, |_, agent, pdu| mainloop::pmid_request(agent, pdu, &mut name)))?
    else {
        return Ok(());
    };
    let mut metric = 0;
    // SAFETY: the pmid method of the agent, see `serve_next`. The name stays until the next step.
    let status = unsafe { method(CText::new(text), Out::to(&mut metric), Some(main.agent.ext)) };
    guarded(|token| {
        drop(name.take());
        main.reply(token, |reply| reply.ids(Error::check(status)?, MetricId(metric)));
    })
}

/// PMNS_IDS: returns the names of a metric.
///
/// # Errors
/// As [`profile`].
fn name(main: &mut MainLoop<'_>) -> Guarded<()> {
    let Some((method, metric)) = guarded(|token| main.ask(token, mainloop::name_request))? else {
        return Ok(());
    };
    let mut names = ptr::null_mut();
    // SAFETY: the name method of the agent, see `serve_next`.
    let status = unsafe { method(metric.0, Out::to(&mut names), Some(main.agent.ext)) };
    guarded(|token| {
        // SAFETY: NULL as before, or the method has stored names in a block from malloc, which it
        // hands over, also when it fails.
        let names = unsafe { OwnedNames::new(names, ptr::null_mut(), status) };
        main.reply(token, |reply| names.encode(reply, false));
    })
}

/// PMNS_CHILD: returns the names one level below a name. PMNS_TRAVERSE, for `all`: returns those of
/// all metrics below it.
///
/// # Errors
/// As [`profile`].
fn children(main: &mut MainLoop<'_>, all: bool) -> Guarded<()> {
    let mut name = NoDropCell::none();
    let Some((method, text, with_states)) = guarded(|token| {
        main.ask(token, |token, agent, pdu| {
            mainloop::children_request(token, agent, pdu, all, &mut name)
        })
    })?
    else {
        return Ok(());
    };
    let (mut names, mut states) = (ptr::null_mut(), ptr::null_mut());
    let (list, kinds) = (Out::to(&mut names), Out::to(&mut states));
    // SAFETY: the children method of the agent, see `serve_next`. The name stays until the next
    // step.
    let status = unsafe { method(CText::new(text), c_int::from(all), list, kinds, Some(main.agent.ext)) };
    guarded(|token| {
        drop(name.take());
        // SAFETY: as in `name`, for names and states.
        let names = unsafe { OwnedNames::new(names, states, status) };
        main.reply(token, |reply| names.encode(reply, with_states));
    })
}

/// LABEL_REQ: returns labels.
///
/// # Errors
/// As [`profile`].
fn label(main: &mut MainLoop<'_>) -> Guarded<()> {
    let Some((method, About { ident, kind })) = guarded(|token| main.ask(token, mainloop::label_request))? else {
        return Ok(());
    };
    let mut first = ptr::null_mut();
    let status = match method {
        // SAFETY: the label method of the agent, see `serve_next`. The place is in this frame, and
        // has NULL.
        Some(method) => unsafe { method(ident as i32, kind, LabelSets::new(&raw mut first), Some(main.agent.ext)) },
        None => 0,
    };
    guarded(|token| {
        let labels = Error::check(status).map(|count| {
            // SAFETY: a method that has succeeded has stored NULL or as many sets in one block,
            // which it hands over; one for a context in any case.
            unsafe { OwnedLabels::new(first, count, kind) }
        });
        main.reply(token, |reply| labels?.encode(reply, ident));
    })
}

/// Returns the descriptor that PDUs arrive on, for agents that wait on several descriptors.
///
/// # Returns
/// The descriptor; -1 for an interface version that does not exist.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table with a valid extension.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaInFd(dispatch: Option<Dispatch<'_>>) -> c_int {
    guard(|token| {
        let supported = dispatch.filter(|dispatch| is_supported(token, *dispatch));
        supported.and_then(Dispatch::ext).map_or(-1, |ext| {
            if let Ok(loop_state) = state::loop_state(token, ext) {
                loop_state.watch();
            }
            ext.infd()
        })
    })
}

/// Sends a status to pmcd, in place of a reply or without a request (CONN-10). A failure is
/// ignored.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table with a valid extension.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaSendError(dispatch: Option<Dispatch<'_>>, error: c_int) {
    let begun = guard(|token| {
        let ext = dispatch.and_then(Dispatch::ext)?;
        let mut outgoing = Outgoing::nothing(state::loop_state(token, ext).ok()?);
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
    ident::current_context()
}

/// Sets what `pmdaGetContext` returns.
#[unsafe(no_mangle)]
pub extern "C" fn __pmdaSetContext(context: c_int) {
    ident::set_current_context(context);
}
