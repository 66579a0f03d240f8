//! Where the hash tables of this process get their seed from.

use std::ffi::c_void;

use pmda_core::index::Seed;

/// Runs when the library is loaded: later there may be no memory, no descriptor, or a signal
/// handler below.
// SAFETY: the loader calls what stands in this section once, with arguments that a function without
// any may ignore.
#[used]
#[unsafe(link_section = ".init_array")]
static SEED: extern "C" fn() = seed;

extern "C" fn seed() {
    let mut words = [0u64; 2];
    let bytes = size_of_val(&words);
    // SAFETY: the kernel writes at most `bytes` bytes, the size of the words, for which any
    // bytes are valid.
    let got = unsafe { libc::getrandom((&raw mut words).cast::<c_void>(), bytes, libc::GRND_NONBLOCK) };
    if got != bytes as isize {
        words = at_start();
    }
    Seed::new(words[0], words[1]).install();
}

/// The random numbers that the kernel gives each program at its start; zeros on a kernel without.
#[cold]
fn at_start() -> [u64; 2] {
    // SAFETY: asking changes nothing. Where there is an address, the kernel has put 16 bytes there,
    // of any alignment, for as long as the process lives; any bytes are two numbers.
    unsafe {
        match libc::getauxval(libc::AT_RANDOM) as *const [u64; 2] {
            address if address.is_null() => [0; 2],
            address => address.read_unaligned(),
        }
    }
}
