//! The command line of an agent: `pmdaGetOptions`, `pmdaGetOpt`, `pmdaUsageMessage`.

use std::ffi::{c_char, c_int};
use std::{fmt, ptr};

use super::lock::{Mutex, const_mutex, room};

use super::arg;
use super::guard::guard;
use super::mark::outside;
use super::memory;
use super::ret::Plain;
use super::types::{pmdaExt, pmdaInterface, pmdaOptions};
use crate::error::Error;
use crate::libpcp::{getopt, log};
use crate::log::{Bytes, Level};
use crate::setup;

/// What getopt returns at the end of the options.
const END: c_int = -1;
/// `PM_OPTFLAG_POSIX`: options end at the first argument that is none.
const POSIX: c_int = 1 << 6;

/// `pmdaPipe`, `pmdaInet`, `pmdaUnix`, `pmdaUnknown`, `pmdaIPv6`.
const PIPE: u32 = 0;
const INET: u32 = 1;
const UNIX: u32 = 2;
const UNKNOWN: u32 = 3;
const IPV6: u32 = 4;

/// Handles the next options of the command line that every agent has, and returns the first other one.
///
/// # Returns
/// The option's character, or -1 at the end. Errors are counted in `opts->errors`.
///
/// # Safety
/// `argv` holds `argc` C strings; `opts` and `dispatch` are valid, `dispatch` after `pmdaDaemon`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaGetOptions(
    argc: c_int,
    argv: *const *mut c_char,
    opts: *mut pmdaOptions,
    dispatch: *mut pmdaInterface,
) -> c_int {
    guard(|| {
        if opts.is_null() || dispatch.is_null() || argv.is_null() {
            return Plain::<END>(END);
        }
        // SAFETY: not NULL; the rest is the contract above.
        Plain(unsafe { next(argc, argv, opts, dispatch, true) })
    })
}

/// As `pmdaGetOptions` for short options alone, with getopt's global variables as its results (INIT-24).
///
/// # Returns
/// The option's character, or -1 at the end. Errors are added to `*err`.
///
/// # Safety
/// `argv` holds `argc` C strings; `optstring` is a C string; `dispatch` is valid after `pmdaDaemon`; `err` is NULL or
/// valid for a read and a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaGetOpt(
    argc: c_int,
    argv: *const *mut c_char,
    optstring: *const c_char,
    dispatch: *mut pmdaInterface,
    err: *mut c_int,
) -> c_int {
    guard(|| {
        if dispatch.is_null() || argv.is_null() {
            return Plain::<END>(END);
        }
        // A copy, since the lock is not held while libpcp works; the last of several threads wins.
        let mut state = CLASSIC.lock().0;
        state.flags |= POSIX;
        state.short_options = optstring;
        state.errors = 0;
        // SAFETY: not NULL; the rest is the contract above. The global variables are those of the C library's getopt,
        // which is used from one thread.
        let found = unsafe {
            let found = next(argc, argv, &raw mut state, dispatch, false);
            libc_getopt::optind = state.optind;
            libc_getopt::opterr = state.opterr;
            libc_getopt::optopt = state.optopt;
            libc_getopt::optarg = state.optarg;
            if !err.is_null() {
                *err += state.errors;
            }
            found
        };
        CLASSIC.lock().0 = state;
        Plain(found)
    })
}

/// Prints the messages that were collected, and how the agent is used, to stderr.
///
/// # Safety
/// `opts` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaUsageMessage(opts: *mut pmdaOptions) {
    guard(|| {
        if !opts.is_null() {
            // SAFETY: not NULL, hence valid by the contract above.
            unsafe { getopt::usage(opts) };
        }
    });
}

/// The global variables of the C library's getopt.
mod libc_getopt {
    use std::ffi::{c_char, c_int};

    unsafe extern "C" {
        pub(super) static mut optind: c_int;
        pub(super) static mut opterr: c_int;
        pub(super) static mut optopt: c_int;
        pub(super) static mut optarg: *mut c_char;
    }
}

/// The state of [`pmdaGetOpt`]: one for the process, as getopt's own (INIT-24).
static CLASSIC: Mutex<Classic, { room::OPTIONS }> = const_mutex(Classic(NO_OPTIONS));

struct Classic(pmdaOptions);

// SAFETY: its pointers lead into a command line, which any thread may read.
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

/// The loop of both functions (INIT-20).
///
/// # Safety
/// `argv` holds `argc` C strings; `opts` and `dispatch` are valid.
unsafe fn next(
    argc: c_int,
    argv: *const *mut c_char,
    opts: *mut pmdaOptions,
    dispatch: *mut pmdaInterface,
    user: bool,
) -> c_int {
    // SAFETY: the contract above; the fields are read afresh after the callback, which may change them.
    unsafe {
        if (*dispatch).status != 0 {
            (*opts).errors += 1;
            return END;
        }
        let (interface, domain) = ((*dispatch).comm.interface(), (*dispatch).domain);
        if !setup::supported(interface) || (*dispatch).ext.is_null() {
            log::notify!(
                Level::Crit,
                "pmdaGetOptions: PMDA interface version {interface} not supported (domain={domain})"
            );
            (*opts).errors += 1;
            return END;
        }
        (*opts).version = 0;
        loop {
            let found = getopt::next(argc, argv, opts);
            if found == END {
                return END;
            }
            if let Some(override_) = (*opts).r#override {
                if outside(|| override_(found, opts)) != 0 {
                    return found;
                }
            }
            let argument = Argument {
                opts,
                dispatch,
                ext: (*dispatch).ext,
            };
            match u8::try_from(found) {
                Ok(b'?') => (*opts).errors += 1,
                Ok(b'U') if user => (*opts).username = (*opts).optarg,
                Ok(letter) if argument.built_in(letter) => {}
                _ => return found,
            }
        }
    }
}

/// An option that was found, and what it acts on.
struct Argument {
    opts: *mut pmdaOptions,
    dispatch: *mut pmdaInterface,
    ext: *mut pmdaExt,
}

impl Argument {
    /// Does what the option asks for; whether it is one that every agent has.
    ///
    /// # Safety
    /// The three pointers are valid, and `optarg` is a C string where the option takes an argument.
    unsafe fn built_in(&self, letter: u8) -> bool {
        // SAFETY: the contract above. Copies come from malloc; what they replace may be in use elsewhere (INIT-20).
        unsafe {
            let (ext, given) = (self.ext, (*self.opts).optarg);
            // A table may say that an option takes no argument where it needs one.
            let text = if given.is_null() {
                c"".as_ptr().cast_mut()
            } else {
                given
            };
            match letter {
                b'd' => {
                    let (number, clean) = number(text);
                    (*self.dispatch).domain = number;
                    (*ext).e_domain = number;
                    if !clean {
                        self.complain(format_args!("-d requires numeric domain number"));
                    }
                }
                b'D' => {
                    if !getopt::set_debug(text) {
                        let text = Bytes(arg::bytes(text).unwrap_or_default());
                        self.complain(format_args!("unrecognized debug options specification ({text})"));
                    }
                }
                b'h' => (*ext).e_helptext = copy(text),
                b'l' => (*ext).e_logfile = copy(text),
                b'p' => _ = self.io(PIPE),
                b'i' | b'6' => {
                    if self.io(if letter == b'i' { INET } else { IPV6 }) {
                        let (number, clean) = number(text);
                        (*ext).e_port = number;
                        if !clean {
                            (*ext).e_sockname = text;
                        }
                    }
                }
                b'u' => {
                    if self.io(UNIX) {
                        (*ext).e_sockname = text;
                    }
                }
                _ => return false,
            }
            true
        }
    }

    /// Chooses how to talk to pmcd; the first choice stays (INIT-21).
    ///
    /// # Safety
    /// As [`Argument::built_in`].
    unsafe fn io(&self, wanted: u32) -> bool {
        // SAFETY: the contract is the same.
        let current = unsafe { (*self.ext).e_io };
        if current != UNKNOWN && current != wanted {
            let letter = |io| ["p", "i", "u", "?", "6"].get(io as usize).copied().unwrap_or("?");
            let (wanted, current) = (letter(wanted), letter(current));
            // SAFETY: the contract is the same.
            unsafe { self.complain(format_args!("-{wanted} option clashes with -{current} option")) };
            return false;
        }
        // SAFETY: the contract is the same.
        unsafe { (*self.ext).e_io = wanted };
        true
    }

    /// Adds a message and counts an error (INIT-22).
    ///
    /// # Safety
    /// As [`Argument::built_in`].
    unsafe fn complain(&self, text: fmt::Arguments<'_>) {
        // SAFETY: the contract is the same; the name is NULL or a C string.
        unsafe {
            let name = arg::bytes((*self.ext).e_name).unwrap_or_default();
            getopt::message(format_args!("{}: {text}\n", Bytes(name)));
            (*self.opts).errors += 1;
        }
    }
}

/// A decimal number as C reads it, and whether nothing stands behind it.
///
/// # Safety
/// `text` is a C string.
unsafe fn number(text: *const c_char) -> (c_int, bool) {
    let mut end = ptr::null_mut();
    // SAFETY: a C string by the contract above; strtol leaves `end` inside it.
    unsafe {
        let number = libc::strtol(text, &raw mut end, 10);
        (number as c_int, *end == 0)
    }
}

/// A copy that stays for the life of the process; NULL when there is no memory.
///
/// # Safety
/// `text` is a C string.
unsafe fn copy(text: *const c_char) -> *const c_char {
    // SAFETY: a C string by the contract above.
    let text = unsafe { arg::bytes(text) }.unwrap_or_default();
    memory::string(text).map_or_else(
        |error: Error| {
            log::notify!(Level::Err, "pmdaGetOptions: {}", log::errstr(error));
            ptr::null()
        },
        |block| block.into_raw().cast_const(),
    )
}
