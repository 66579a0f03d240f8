//! What the library gives back when it is unloaded.
//!
//! pmcd and programs with local contexts close DSO agents, and the library with the last of them. The instances that these
//! have cached cannot be reached any more then.

use super::guard::guard;
use super::{cache, lock};
use crate::cache::Caches;

/// Runs when the library is unloaded, and at the end of the process, behind the destructors of all that uses the library.
// SAFETY: the loader calls what stands in this section once, with arguments that a function without any may ignore.
#[used]
#[unsafe(link_section = ".fini_array")]
static UNLOAD: extern "C" fn() = unload;

/// Frees the caches, unless the process has other threads: those may still look at names while it ends.
extern "C" fn unload() {
    guard(|| {
        if !lock::single_threaded() {
            return;
        }
        if let Some(mut caches) = cache::CACHES.try_lock() {
            *caches = Caches::new();
        }
    });
}
