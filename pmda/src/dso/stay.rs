//! Keeps the shared object in memory when its host closes it.

use std::ffi::c_void;
use std::mem::MaybeUninit;

/// Keeps the object that holds this function mapped until the process ends. After `dlclose` a
/// thread of the agent, or a destructor of one of its threads, may still run in it.
pub(super) fn in_memory(function: *const c_void) {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr takes any address, and writes to a structure that is ours; all zeros are a
    // value of it, so it may be read also if nothing was written.
    let (status, info) = unsafe { (libc::dladdr(function, info.as_mut_ptr()), info.assume_init()) };
    if status == 0 || info.dli_fname.is_null() {
        return;
    }
    // SAFETY: the name is a C string of the dynamic linker, which lives as long as the object. The
    // object is loaded already, so none of its code is run: the flag is set, and one more user is
    // counted.
    let handle = unsafe {
        libc::dlopen(
            info.dli_fname,
            libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE,
        )
    };
    if handle.is_null() {
        log::warn!("the shared object cannot be kept in memory");
    }
}
