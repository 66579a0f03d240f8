//! The command line of an agent: `pmdaGetOptions`, `pmdaGetOpt`, `pmdaUsageMessage`.

use std::ffi::{c_char, c_int};
use std::ptr;
use std::sync::atomic::Ordering;

use super::drive::drive;
use super::guard::guard;
use super::lock::{Mutex, const_mutex, room};
use crate::abi::arg::Out;
use crate::abi::dispatch::Dispatch;
use crate::abi::options::{Arguments, Options};
use crate::abi::ret::{Inside, Outcome, Plain};
use crate::abi::types::pmdaOptions;
use crate::agent::options::{END, Letter, Override, Search};

/// `PM_OPTFLAG_POSIX`: options end at the first argument that is none.
const POSIX: c_int = 1 << 6;

/// Shows an option to the agent.
#[inline(always)]
fn show(call: Override) -> c_int {
    // SAFETY: the function stands in the options, which are valid by the contract of their view,
    // and gets them: it has the type that it has there.
    unsafe { (call.function)(call.letter, call.options.as_ptr()) }
}

/// A search, if there is all that it needs.
fn search(
    arguments: Option<Arguments>,
    options: Option<Options>,
    dispatch: Option<Dispatch>,
    with_user: bool,
) -> Result<Search, Letter> {
    let (Some(arguments), Some(options), Some(dispatch)) = (arguments, options, dispatch) else {
        return Err(Plain(END));
    };
    Search::new(arguments, options, dispatch, with_user)
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
    opts: Option<Options>,
    dispatch: Option<Dispatch>,
) -> c_int {
    // SAFETY: the caller gives NULL or `argc` strings, for the time of the call.
    let arguments = unsafe { Arguments::new(argc, argv) };
    drive(|| search(arguments, opts, dispatch, true), show)
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
    dispatch: Option<Dispatch>,
    err: Out<c_int>,
) -> c_int {
    if dispatch.is_none() || argv.is_null() {
        return END;
    }
    // A copy, since the lock is not held while libpcp works; the last of several threads wins.
    let Outcome::Value(mut state) = guard(|| Inside(CLASSIC.lock().0)) else {
        return END;
    };
    state.flags |= POSIX;
    state.short_options = optstring;
    state.errors = 0;
    // SAFETY: the caller gives `argc` strings, and the state lives in this frame.
    let (arguments, options) = unsafe { (Arguments::new(argc, argv), Options::new(&raw mut state)) };
    let found = drive(|| search(arguments, options, dispatch, false), show);
    for (variable, value) in [
        (&libc_getopt::optind, state.optind),
        (&libc_getopt::opterr, state.opterr),
        (&libc_getopt::optopt, state.optopt),
    ] {
        variable.store(value, Ordering::Relaxed);
    }
    libc_getopt::optarg.store(state.optarg, Ordering::Relaxed);
    guard(|| {
        err.add(state.errors);
        CLASSIC.lock().0 = state;
    });
    found
}

/// Prints the messages that were collected, and how the agent is used, to stderr.
///
/// # Safety
/// `opts` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaUsageMessage(opts: Option<Options>) {
    guard(|| opts.map_or((), Options::show_usage));
}

/// The global variables of the C library's getopt.
mod libc_getopt {
    use std::ffi::c_char;
    use std::sync::atomic::{AtomicI32, AtomicPtr};

    unsafe extern "C" {
        pub(super) safe static optind: AtomicI32;
        pub(super) safe static opterr: AtomicI32;
        pub(super) safe static optopt: AtomicI32;
        pub(super) safe static optarg: AtomicPtr<c_char>;
    }
}

/// The state of [`pmdaGetOpt`]: one for the process, as getopt's own (INIT-24).
static CLASSIC: Mutex<Classic, { room::OPTIONS }> = const_mutex(Classic(NO_OPTIONS));

struct Classic(pmdaOptions);

// SAFETY: its pointers lead into the command line and to constant texts; both stay as long as the
// process, and any thread may read them. It is behind a lock.
unsafe impl Send for Classic {}

const NO_OPTIONS: pmdaOptions = pmdaOptions {
    version: 0,
    flags: 0,
    short_options: ptr::null(),
    long_options: ptr::null_mut(),
    short_usage: ptr::null(),
    r#override: None,
    index: 0,
    optind: 0,
    opterr: 0,
    optopt: 0,
    optarg: ptr::null_mut(),
    __initialized: 0,
    __nextchar: ptr::null_mut(),
    __ordering: 0,
    __posixly_correct: 0,
    __first_nonopt: 0,
    __last_nonopt: 0,
    errors: 0,
    username: ptr::null_mut(),
};
