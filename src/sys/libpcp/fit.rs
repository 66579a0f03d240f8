//! The check that the libpcp of this process is the one that the library was built for.
//!
//! A host may get another libpcp while this library stays: the next generation of PCP has other
//! structures and another libpcp, and on 32-bit machines one generation has builds with 32 and with
//! 64 bits of `time_t` (Debian's i386: PCP 6.0.3 and 6.3.8). Structures of another libpcp would be
//! misread. So the first call makes the check. If libpcp does not fit, no call is served: no step
//! begins (`src/boundary.rs`), and agents get a negative status.
//!
//! PCP 7 still has the libpcp of PCP 6, for programs that were built for PCP 6. An agent of that
//! kind has both libpcp in its process, and so has a pmcd that loads such a shared object. The
//! older libpcp is the agent's own affair, as with the C library: the check asks only whether the
//! newest one is that of the build.

use std::ffi::{CStr, c_int, c_void};

use crate::sys::libpcp::{bindings as pcp, log};
use crate::sys::lock;

/// The PCP that the library was built for. `pcp-pmda-rust fits` looks for this text in the file.
static BUILT: &str = concat!(
    "libpcp_pmda in Rust, built for PCP ",
    env!("LIBPCP_VERSION"),
    " with a time_t of ",
    env!("LIBPCP_TIME_BITS"),
    " bits"
);

/// The number of the libpcp that the library was built for, N in `libpcp.so.N`.
const OURS: u32 = if cfg!(pcp7) { 4 } else { 3 };

/// Returns whether the library was built for this libpcp. The first call looks, and opens the lock
/// of the library, or leaves it closed and says why.
#[cold]
pub(crate) fn fits() -> bool {
    if lock::is_unasked() {
        let newest = newest();
        let fits = is_ours(newest) && time_is_ours();
        // Of several threads that look at once, one says it.
        if lock::settle(fits) && !fits {
            complain(newest);
        }
    }
    lock::is_open()
}

/// Returns whether the newest libpcp of the process is that of the build. `None`: it is linked into
/// the program.
fn is_ours(newest: Option<u32>) -> bool {
    newest.is_none_or(|number| number == OURS)
}

fn complain(newest: Option<u32>) {
    const ADVICE: &str = "it serves no call: install one that was built for this PCP, or go back to PCP's own \
                          (pcp-pmda-rust disable, where that command is installed), and restart PCP";
    match newest {
        Some(number) if number != OURS => log::refusal(format_args!(
            "{BUILT}, and this process has libpcp.so.{number} of another PCP; {ADVICE}"
        )),
        _ => log::refusal(format_args!(
            "{BUILT}, and the libpcp of this process has another; {ADVICE}"
        )),
    }
}

/// Returns whether libpcp's `struct timeval` is that of the build: a number of seconds that is not
/// whole comes back.
fn time_is_ours() -> bool {
    /// A time, padded to the length of the longer kind.
    #[repr(C)]
    struct Time {
        time: pcp::timeval,
        behind: [u64; 2],
    }
    let time = Time {
        time: pcp::timeval {
            tv_sec: 1,
            tv_usec: 500_000,
        },
        behind: [0; 2],
    };
    // SAFETY: pmtimevalToReal reads a `struct timeval`; of either kind, as the longer one is no
    // longer than this block.
    let seconds = unsafe { pcp::pmtimevalToReal((&raw const time).cast()) };
    seconds == 1.5
}

/// Returns the number of the newest libpcp that the process has loaded; `None` if it has none.
fn newest() -> Option<u32> {
    let mut newest = None;
    // SAFETY: `look_at` has the type that the loader calls, and gets the address of `newest`, which
    // nobody else uses during the call.
    unsafe { libc::dl_iterate_phdr(Some(look_at), (&raw mut newest).cast()) };
    newest
}

/// Returns the number N of a file `libpcp.so.N`; `None` for another file.
fn number(path: &[u8]) -> Option<u32> {
    let name = path.rsplit(|byte| *byte == b'/').next()?;
    let version = std::str::from_utf8(name.strip_prefix(b"libpcp.so.")?).ok()?;
    version.split('.').next()?.parse().ok()
}

/// Notes one object that the process has loaded. Returns 0, so that the loader goes on with the
/// next.
///
/// # Safety
/// `object` is valid, as the loader describes one, and `newest` is an `Option<u32>` that nobody
/// else uses.
unsafe extern "C" fn look_at(object: *mut libc::dl_phdr_info, _: usize, newest: *mut c_void) -> c_int {
    // SAFETY: a valid description, whose name is NULL or a C string, and an `Option<u32>` that
    // nobody else uses, as the caller promises.
    let (name, newest) = unsafe {
        let name = (*object).dlpi_name;
        (
            (!name.is_null()).then(|| CStr::from_ptr(name)),
            &mut *newest.cast::<Option<u32>>(),
        )
    };
    *newest = (*newest).max(number(name.unwrap_or_default().to_bytes()));
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_have_the_libpcp_of_the_build() {
        assert!(fits());
        assert_eq!(newest(), Some(OURS));
    }

    #[test]
    fn the_newest_libpcp_is_that_of_the_build() {
        assert!(is_ours(None) && is_ours(Some(OURS)));
        assert!(!is_ours(Some(OURS + 1)) && !is_ours(Some(OURS - 1)));
    }

    #[test]
    fn libraries_by_their_names() {
        for (path, expected) in [
            ("/usr/lib/libpcp.so.3", Some(3)),
            ("libpcp.so.12", Some(12)),
            ("/usr/lib/libpcp.so.4.1", Some(4)),
            ("/usr/lib/libpcp_pmda.so.3", None),
            ("/usr/lib/libpcp_import.so.1", None),
            ("libpcp.so", None),
            ("libpcp.so.", None),
            ("libpcp.so.x", None),
            ("/usr/bin/pmcd", None),
            ("", None),
        ] {
            assert_eq!(number(path.as_bytes()), expected, "{path}");
        }
    }
}
