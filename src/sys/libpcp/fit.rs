//! Whether the libpcp of this process is the one that the library was built for.
//!
//! A host may get another libpcp under a library that stays: the next generation of PCP has other
//! structures and another libpcp, and of one generation there are builds with 32 and with 64 bits
//! of `time_t` on 32-bit machines (Debian's i386: PCP 6.0.3 and 6.3.8). A structure of the other
//! kind would be misread. So the first call asks, and where the answer is no, none is served: no
//! step begins (`src/boundary.rs`), and agents get a negative status.

use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicU8, Ordering};

use crate::sys::libpcp::{bindings as pcp, log};
use crate::sys::lock::Step;
use pmda_core::log::{Bytes, Level};

/// What the library was built for. `pcp-pmda-rust fits` looks for this text in the file.
static BUILT: &str = concat!(
    "libpcp_pmda in Rust, built for PCP ",
    env!("LIBPCP_VERSION"),
    " with a time_t of ",
    env!("LIBPCP_TIME_BITS"),
    " bits"
);

/// Nobody has asked yet; the library fits; it does not.
const UNKNOWN: u8 = 0;
const FITS: u8 = 1;
const MISFIT: u8 = 2;

static ANSWER: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Returns whether the library was built for this libpcp. If not, the first call says why.
#[inline(always)]
pub(crate) fn fits() -> bool {
    ANSWER.load(Ordering::Relaxed) == FITS || look()
}

#[cold]
fn look() -> bool {
    if ANSWER.load(Ordering::Relaxed) == MISFIT {
        return false;
    }
    let libraries = Libraries::loaded();
    let answer = if libraries.are_one() && time_is_ours() {
        FITS
    } else {
        MISFIT
    };
    // Of several threads that ask at once, one says it.
    if ANSWER.swap(answer, Ordering::Relaxed) == UNKNOWN && answer == MISFIT {
        complain(&libraries);
    }
    answer == FITS
}

fn complain(libraries: &Libraries) {
    const ADVICE: &str =
        "it serves no call: run pcp-pmda-rust disable, restart PCP, and install what was built for this PCP";
    // On top of a step of this thread, in a signal handler, nothing is logged.
    let Some(mut step) = Step::enter() else { return };
    let [one, other] = libraries.names();
    if libraries.are_one() {
        log::notify!(
            &mut step.token,
            Level::Crit,
            "{BUILT}, and {one} has another time_t; {ADVICE}"
        );
    } else {
        log::notify!(
            &mut step.token,
            Level::Crit,
            "{BUILT}, and this process has both {one} and {other}; {ADVICE}"
        );
    }
    step.leave();
}

/// Returns whether libpcp's `struct timeval` is that of the build: a number of seconds that is not
/// whole comes back.
fn time_is_ours() -> bool {
    /// A time, with as much behind it as the longer kind has.
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

/// The first bytes of a file's name, and NULs.
type Name = [u8; 24];

/// The libpcp that the process has loaded: two names at most, of which one may be missing.
struct Libraries {
    names: [Name; 2],
}

impl Libraries {
    /// The libraries that the process has loaded.
    fn loaded() -> Libraries {
        let mut libraries = Libraries { names: [[0; 24]; 2] };
        // SAFETY: `look_at` has the type that the loader calls, and gets the address of
        // `libraries`, which nobody else uses during the call.
        unsafe { libc::dl_iterate_phdr(Some(look_at), (&raw mut libraries).cast()) };
        libraries
    }

    /// Notes the file of a loaded library, if it is a libpcp, by its name.
    fn add(&mut self, path: &[u8]) {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        if !name.starts_with(b"libpcp.so.") {
            return;
        }
        let mut first = Name::default();
        for (place, byte) in first.iter_mut().zip(name) {
            *place = *byte;
        }
        let free = self.names.iter_mut().find(|known| known[0] == 0 || **known == first);
        if let Some(place) = free {
            *place = first;
        }
    }

    /// Returns whether there are no two of them. (There may be none: in a program that has libpcp
    /// linked in.)
    fn are_one(&self) -> bool {
        self.names[1][0] == 0
    }

    /// The two names, for a message.
    fn names(&self) -> [Bytes<'_>; 2] {
        self.names.each_ref().map(|name| {
            let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
            Bytes(if end == 0 { b"libpcp" } else { &name[..end] })
        })
    }
}

/// Notes one object that the process has loaded. Returns 0, so that the loader goes on with the
/// next.
///
/// # Safety
/// `object` is valid, as the loader describes one, and `libraries` is a [`Libraries`] that nobody
/// else uses.
unsafe extern "C" fn look_at(object: *mut libc::dl_phdr_info, _: usize, libraries: *mut c_void) -> c_int {
    // SAFETY: a valid description, whose name is NULL or a C string, and a `Libraries` that nobody
    // else uses, as the caller promises.
    let (name, libraries) = unsafe {
        let name = (*object).dlpi_name;
        (
            (!name.is_null()).then(|| CStr::from_ptr(name)),
            &mut *libraries.cast::<Libraries>(),
        )
    };
    libraries.add(name.unwrap_or_default().to_bytes());
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_have_one_libpcp_that_fits() {
        assert!(fits());
        assert!(Libraries::loaded().are_one());
    }

    #[test]
    fn libraries_by_their_names() {
        let of = |paths: &[&str]| {
            let mut libraries = Libraries { names: [[0; 24]; 2] };
            for path in paths {
                libraries.add(path.as_bytes());
            }
            let names = libraries.names().map(|name| name.to_string());
            (libraries.are_one(), names)
        };
        let (one, names) = of(&["", "/usr/bin/pmcd", "/usr/lib/libpcp_pmda.so.3", "/usr/lib/libpcp.so.3"]);
        assert_eq!((one, names[0].as_str()), (true, "libpcp.so.3"));
        assert!(of(&["/usr/lib/libpcp.so.3", "/lib/libpcp.so.3"]).0);
        assert!(of(&["/usr/lib/libpcp_import.so.1", "libpcp.so"]).0);
        let (one, names) = of(&[
            "/usr/lib/libpcp.so.4",
            "libpcp_pmda.so.3",
            "/usr/lib/libpcp.so.3",
            "libpcp.so.5",
        ]);
        assert!(!one);
        assert_eq!(names, ["libpcp.so.4", "libpcp.so.3"]);
        assert_eq!(of(&[]).1[0], "libpcp");
    }
}
