//! Setting an agent up: `pmdaDaemon`, `pmdaDSO`, `pmdaOpenLog`, `pmdaInit`, `pmdaRehash`,
//! `pmdaConnect`, callbacks, flags, the pointer that an agent may attach, and its options.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::atomic::Ordering;

use crate::boundary::{Guarded, guard, guarded};
use crate::dynamic;
use crate::fetch::exports::pmdaFetch;
use crate::help::exports::pmdaText;
use crate::instances::exports::pmdaInstance;
use crate::labels::exports::pmdaLabel;
use crate::mainloop::exports::{receive, send};
use crate::methods::exports::{pmdaAttribute, pmdaChildren, pmdaDesc, pmdaName, pmdaPMID, pmdaProfile, pmdaStore};
use crate::open;
use crate::open::connect::{Connect, Connection};
use crate::open::{END, OptionSearch};
use crate::open::{init, is_refused, log_file, set_callback, set_up, stand_in};
use crate::state;
use crate::sys::libpcp::{self, log};
use crate::sys::lock::Mutex;
use crate::sys::{self, socket};
use crate::view::arg::{CText, MutableText, Out};
use crate::view::interface::{Arguments, Options};
use crate::view::interface::{Dispatch, Ext, ExtTexts, pmdaInterface};
use crate::view::memory::Lasting;
use crate::view::types::{
    Comm, pmdaCheckCallBack, pmdaDoneCallBack, pmdaEndContextCallBack, pmdaFetchCallBack, pmdaIndom, pmdaLabelCallBack,
    pmdaMetric, pmdaOptions, pmdaResultCallBack,
};
use pmda_core::ident::Interface;

/// The methods that an agent gets, as a dispatch table of the last interface version.
pub(crate) const DEFAULT_METHODS: pmdaInterface = pmdaInterface {
    domain: 0,
    comm: Comm {
        interface: 0,
        pmapi: 0,
        flags: 0,
    },
    status: 0,
    ext: ptr::null_mut(),
    profile: Some(pmdaProfile),
    fetch: Some(pmdaFetch),
    desc: Some(pmdaDesc),
    instance: Some(pmdaInstance),
    text: Some(pmdaText),
    store: Some(pmdaStore),
    pmid: Some(pmdaPMID),
    name: Some(pmdaName),
    children: Some(pmdaChildren),
    attribute: Some(pmdaAttribute),
    label: Some(pmdaLabel),
};

/// Sets up a daemon agent: its dispatch table gets the stock methods, and an extension.
///
/// `dispatch->status` is 0 afterwards, or negative. All strings are copied: bindings pass temporary
/// ones.
///
/// # Safety
/// `dispatch` is NULL or valid for writes of what `interface` defines. `name`, `logfile` and
/// `helptext` are each NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaDaemon(
    dispatch: Option<Dispatch<'_>>,
    interface: c_int,
    name: Option<CText<'_>>,
    domain: c_int,
    logfile: Option<CText<'_>>,
    helptext: Option<CText<'_>>,
) {
    let texts = ExtTexts {
        name,
        logfile,
        helptext,
    };
    if is_refused(dispatch) {
        return stand_in(dispatch, interface, &texts, &DEFAULT_METHODS);
    }
    guard(|token| {
        let Some(dispatch) = dispatch else { return };
        dispatch.set_domain(domain);
        if set_up(token, dispatch, interface, &texts, true, &DEFAULT_METHODS) {
            libpcp::below_pmapi();
        }
    });
}

/// Sets up an agent that was loaded as a shared object; the loader has set the domain.
///
/// `dispatch->status` is 0 afterwards, or negative. Both strings are copied: bindings pass
/// temporary ones.
///
/// # Safety
/// As for `pmdaDaemon`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaDSO(
    dispatch: Option<Dispatch<'_>>,
    interface: c_int,
    name: Option<MutableText<'_>>,
    helptext: Option<MutableText<'_>>,
) {
    let texts = ExtTexts {
        name,
        logfile: None,
        helptext,
    };
    if is_refused(dispatch) {
        return stand_in(dispatch, interface, &texts, &DEFAULT_METHODS);
    }
    guard(|token| {
        if let Some(dispatch) = dispatch {
            set_up(token, dispatch, interface, &texts, false, &DEFAULT_METHODS);
        }
    });
}

/// Tells the library that the dispatch table of an agent is somewhere else now (INIT-51).
///
/// # Safety
/// `dispatch` is NULL or valid; its `ext` is NULL or valid, and was set up by some copy of this
/// library, or has NULL in `e_ext`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaInterfaceMoved(dispatch: Option<Dispatch<'_>>) {
    guard(|token| {
        let Some(dispatch) = dispatch else { return };
        if let Some(foreign) = state::agent_moved(token, dispatch) {
            // SAFETY: the record is none of ours, so another copy of the library has made it, or it
            // is NULL, as the caller promises.
            unsafe { foreign.tell_other_library(dispatch) };
        }
    });
}

/// Sends stderr into the agent's log file; an older file of that name becomes `NAME.prev`
/// (INIT-30).
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaOpenLog(dispatch: Option<Dispatch<'_>>) {
    guard(|token| {
        if let Some((name, file)) = dispatch.and_then(log_file) {
            log::open(token, name.c_str(), file.c_str());
        }
    });
}

/// Sets the instance domains and metrics of an agent. The tables stay the agent's, and are used
/// from now on.
///
/// The agent's domain is put into every identifier of both tables. `dispatch->status` is 0
/// afterwards (or what the agent has put into `e_status`), or `PM_ERR_GENERIC` with a line in the
/// log.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` or `pmdaDSO` has set up; `indoms` and
/// `metrics` are each NULL or valid for reads and writes of as many elements as the counts say, for
/// as long as the agent uses them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaInit(
    dispatch: Option<Dispatch<'_>>,
    indoms: *mut pmdaIndom,
    nindoms: c_int,
    metrics: *mut pmdaMetric,
    nmetrics: c_int,
) {
    if is_refused(dispatch) {
        return;
    }
    // SAFETY: NULL, or tables of these lengths that stay while the agent uses them, as the caller
    // promises.
    let (indoms, metrics) = unsafe { (Lasting::new(indoms, nindoms), Lasting::new(metrics, nmetrics)) };
    guard(|token| {
        if let Some(dispatch) = dispatch {
            init::init(token, dispatch, indoms, metrics, &DEFAULT_METHODS);
        }
    });
}

/// Sets the metric table of an agent, and builds the hash over it (INIT-46).
///
/// # Safety
/// `pmda` is NULL or valid; `metrics` is NULL or valid with `nmetrics` entries, for as long as it
/// is in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaRehash(pmda: Option<Ext<'_>>, metrics: *mut pmdaMetric, nmetrics: c_int) {
    // SAFETY: NULL, or a table of this length that stays while the agent uses it, as the caller
    // promises.
    let table = unsafe { Lasting::new(metrics, nmetrics) };
    guard(|token| {
        if let Some(ext) = pmda {
            dynamic::rehash(token, ext, table);
        }
    });
}

/// Opens the connection to pmcd that `e_io` names, and exchanges versions.
///
/// `status` in the dispatch table is negative after a failure. A socket that cannot be opened ends
/// the process.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaConnect(dispatch: Option<Dispatch<'_>>) {
    if is_refused(dispatch) {
        return;
    }
    // The function returns nothing. A panic was logged, other failures are in the status.
    let _ = connect(dispatch);
}

/// The steps of `pmdaConnect`, and the calls that wait between them.
///
/// # Errors
/// Those of [`guarded`].
fn connect(dispatch: Option<Dispatch<'_>>) -> Guarded<()> {
    const { assert!(!std::mem::needs_drop::<Connect>()) };
    let Some(mut connect) = guarded(|token| Connect::new(token, dispatch?))? else {
        return Ok(());
    };
    let mut connection = guarded(|token| connect.open(token))?;
    let (input, output) = loop {
        connection = match connection {
            Connection::Open(input, output) => break (input, output),
            Connection::Awaited(listener) => {
                let accepted = socket::accept(listener);
                guarded(|token| connect.accepted(token, accepted))?
            }
            Connection::Impossible => sys::exit(1),
        };
    };
    guarded(|token| connect.opened(token, input, output))?;
    send(&mut connect.outgoing)?;
    if guarded(|token| connect.sent(token))? {
        receive(&mut connect.incoming)?;
        guarded(|token| connect.received(token))?;
    }
    Ok(())
}

/// Sets the callback that cleans up a result after it was sent; NULL for none.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` or `pmdaDSO` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaSetResultCallBack(dispatch: Option<Dispatch<'_>>, callback: pmdaResultCallBack) {
    let set = |ext: Ext| ext.set_result_callback(callback);
    guard(|token| set_callback(token, dispatch, "result", Interface::is_supported, set));
}

/// Sets the callback that gives `pmdaFetch` one value.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` or `pmdaDSO` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaSetFetchCallBack(dispatch: Option<Dispatch<'_>>, callback: pmdaFetchCallBack) {
    let set = |ext: Ext| ext.set_fetch_callback(callback);
    guard(|token| set_callback(token, dispatch, "fetch", Interface::is_supported, set));
}

/// Sets the callback that runs when a PDU has arrived; a negative result refuses it. NULL for none.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` or `pmdaDSO` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaSetCheckCallBack(dispatch: Option<Dispatch<'_>>, callback: pmdaCheckCallBack) {
    let set = |ext: Ext| ext.set_check_callback(callback);
    guard(|token| set_callback(token, dispatch, "check", Interface::is_supported, set));
}

/// Sets the callback that runs when a PDU has been served; NULL for none.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` or `pmdaDSO` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaSetDoneCallBack(dispatch: Option<Dispatch<'_>>, callback: pmdaDoneCallBack) {
    let set = |ext: Ext| ext.set_done_callback(callback);
    guard(|token| set_callback(token, dispatch, "done", Interface::is_supported, set));
}

/// Sets the callback that runs when a client context ends. It needs interface version 5 or more,
/// also one that does not exist yet; NULL is always accepted.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` or `pmdaDSO` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaSetEndContextCallBack(dispatch: Option<Dispatch<'_>>, callback: pmdaEndContextCallBack) {
    let has = |interface: Interface| callback.is_none() || interface.has_contexts();
    let set = |ext: Ext| ext.set_end_callback(callback);
    guard(|token| set_callback(token, dispatch, "end context", has, set));
}

/// Sets the callback that gives the labels of one instance; NULL for none. It needs interface
/// version 7 or more.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` or `pmdaDSO` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaSetLabelCallBack(dispatch: Option<Dispatch<'_>>, callback: pmdaLabelCallBack) {
    let set = |ext: Ext| ext.set_label_callback(callback);
    guard(|token| set_callback(token, dispatch, "label", Interface::has_labels, set));
}

/// Adds `PMDA_EXT_*` flags to an agent; no function takes a flag away (INIT-47).
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` or `pmdaDSO` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaSetFlags(dispatch: Option<Dispatch<'_>>, flags: c_int) {
    guard(|token| {
        let ext = open::supported(token, dispatch, "pmdaSetFlags");
        open::add_flags(token, ext, flags as c_uint);
    });
}

/// As `pmdaSetFlags`, for callers that have only the extension.
///
/// # Safety
/// `pmda` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaExtSetFlags(pmda: Option<Ext<'_>>, flags: c_int) {
    guard(|token| open::add_flags(token, pmda, flags as c_uint));
}

/// Adds `PMDA_FLAG_*` flags to what the agent tells pmcd when it connects; call it before
/// `pmdaConnect` (INIT-48).
///
/// # Safety
/// `dispatch` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaSetCommFlags(dispatch: Option<Dispatch<'_>>, flags: c_int) {
    guard(|token| open::add_comm_flags(token, dispatch, flags as c_uint));
}

/// Attaches a pointer of the agent's own, which replaces the one before. The library never follows
/// it (INIT-49).
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` or `pmdaDSO` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaSetData(dispatch: Option<Dispatch<'_>>, data: *mut c_void) {
    guard(|token| {
        let ext = open::supported(token, dispatch, "pmdaSetData");
        open::attach(token, ext, data);
    });
}

/// As `pmdaSetData`, for callers that have only the extension.
///
/// # Safety
/// `pmda` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaExtSetData(pmda: Option<Ext<'_>>, data: *mut c_void) {
    guard(|token| open::attach(token, pmda, data));
}

/// Returns the pointer that the agent has attached.
///
/// # Returns
/// The pointer; NULL at first, and for an agent that was not set up by this library.
///
/// # Safety
/// `pmda` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaExtGetData(pmda: Option<Ext<'_>>) -> *mut c_void {
    guard(|token| open::attached(token, pmda))
}

/// `PM_OPTFLAG_POSIX`: options end at the first argument that is none.
const PM_OPTFLAG_POSIX: c_int = 1 << 6;

/// The letter of the next option that is the agent's own, or [`END`]. The `override` function of
/// the options sees each one first.
///
/// # Errors
/// Those of [`guarded`].
fn search(
    arguments: Option<Arguments<'_>>,
    options: Option<Options<'_>>,
    dispatch: Option<Dispatch<'_>>,
    with_user: bool,
) -> Guarded<c_int> {
    let (Some(arguments), Some(options), Some(dispatch)) = (arguments, options, dispatch) else {
        return Ok(END);
    };
    let Some(search) = guarded(|token| OptionSearch::new(token, arguments, options, dispatch, with_user))? else {
        return Ok(END);
    };
    loop {
        let letter = guarded(|token| search.next(token))?;
        if letter == END {
            return Ok(END);
        }
        if let Some(function) = options.override_callback() {
            // SAFETY: the function was read from the options, which are valid by the contract of
            // their view: it does what its type says, and gets these options. This frame has
            // nothing to drop.
            if unsafe { function(letter, options.as_ptr()) } != 0 {
                return Ok(letter);
            }
        }
        if !guarded(|token| search.is_handled(token, letter))? {
            return Ok(letter);
        }
    }
}

/// Handles the next options of the command line that every agent has, and returns the first other
/// one.
///
/// # Returns
/// The option's character, or -1 at the end. Errors are counted in `opts->errors`.
///
/// # Safety
/// `argv` holds `argc` C strings; `opts` and `dispatch` are valid, `dispatch` after `pmdaDaemon`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaGetOptions(
    argc: c_int,
    argv: *const *mut c_char,
    opts: Option<Options<'_>>,
    dispatch: Option<Dispatch<'_>>,
) -> c_int {
    // SAFETY: NULL or `argc` strings for the time of the call, as the caller promises.
    let arguments = unsafe { Arguments::new(argc, argv) };
    search(arguments, opts, dispatch, true).unwrap_or(END)
}

/// As `pmdaGetOptions` for short options alone, with getopt's global variables as its results
/// (INIT-24).
///
/// # Returns
/// The option's character, or -1 at the end. Errors are added to `*err`.
///
/// # Safety
/// `argv` holds `argc` C strings; `optstring` is a C string; `dispatch` is valid after
/// `pmdaDaemon`; `err` is NULL or valid for a read and a write.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaGetOpt(
    argc: c_int,
    argv: *const *mut c_char,
    optstring: *const c_char,
    dispatch: Option<Dispatch<'_>>,
    err: Out<'_, c_int>,
) -> c_int {
    if dispatch.is_none() || argv.is_null() {
        return END;
    }
    // A copy, since callbacks run meanwhile; the last of several threads wins.
    let Some(mut state) = guard(|token| Some(CLASSIC.lock(token).0)) else {
        return END;
    };
    state.flags |= PM_OPTFLAG_POSIX;
    state.short_options = optstring;
    state.errors = 0;
    // SAFETY: `argc` strings, as the caller promises. The state is in this frame; it was zeroed
    // before its first use, and `optstring` is a C string, as the caller promises.
    let (arguments, options) = unsafe { (Arguments::new(argc, argv), Options::new(&raw mut state)) };
    let option = search(arguments, options, dispatch, false).unwrap_or(END);
    for (variable, value) in [
        (&libc_getopt::optind, state.optind),
        (&libc_getopt::opterr, state.opterr),
        (&libc_getopt::optopt, state.optopt),
    ] {
        variable.store(value, Ordering::Relaxed);
    }
    libc_getopt::optarg.store(state.optarg, Ordering::Relaxed);
    guard(|token| {
        err.add(state.errors);
        CLASSIC.lock(token).0 = state;
    });
    option
}

/// Prints the messages that were collected, and how the agent is used, to stderr.
///
/// # Safety
/// `opts` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaUsageMessage(opts: Option<Options<'_>>) {
    guard(|token| opts.map_or((), |opts| opts.show_usage(token)));
}

/// The global variables of the C library's getopt.
mod libc_getopt {
    use std::ffi::c_char;
    use std::sync::atomic::{AtomicI32, AtomicPtr};

    unsafe extern "C" {
        pub(crate) safe static optind: AtomicI32;
        pub(crate) safe static opterr: AtomicI32;
        pub(crate) safe static optopt: AtomicI32;
        pub(crate) safe static optarg: AtomicPtr<c_char>;
    }
}

/// The state of [`pmdaGetOpt`]: one for the process, as getopt's own (INIT-24).
// SAFETY: zero is a value of each field: numbers, and pointers and a callback that are NULL.
static CLASSIC: Mutex<Classic> = Mutex::new(Classic(unsafe { std::mem::zeroed() }));

/// [`pmdaOptions`] that may be kept in a static variable.
struct Classic(pmdaOptions);

// SAFETY: the pointers lead into the command line and to option strings. Both stay as long as the
// process, and any thread may read them.
unsafe impl Send for Classic {}
