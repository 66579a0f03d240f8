//! The files behind an agent's descriptors. They are never closed here (CONN-9).

use std::mem::MaybeUninit;
use std::os::fd::RawFd;

/// The identity of the file behind a descriptor. It tells a pipe or socket from another one that
/// got the same descriptor after a close; a duplicate of a descriptor has the same identity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StreamId {
    device: libc::dev_t,
    inode: libc::ino64_t,
}

impl StreamId {
    /// The file behind a descriptor; `None` if the descriptor is not open.
    pub(crate) fn of(fd: RawFd) -> Option<StreamId> {
        let mut status = MaybeUninit::<libc::stat64>::uninit();
        // SAFETY: there is room for the structure, which is filled in when the call succeeds.
        let status = unsafe { (libc::fstat64(fd, status.as_mut_ptr()) == 0).then(|| status.assume_init()) }?;
        Some(StreamId {
            device: status.st_dev,
            inode: status.st_ino,
        })
    }
}

/// Returns whether a descriptor is a socket or a pipe without a name: data that wait in one are
/// gone when it is closed, and another one has another [`StreamId`]. A FIFO or a file may be opened
/// again.
pub(crate) fn is_nameless(fd: RawFd) -> bool {
    // From linux/magic.h.
    const PIPEFS_MAGIC: i128 = 0x5049_5045;
    const SOCKFS_MAGIC: i128 = 0x534F_434B;
    let mut system = MaybeUninit::<libc::statfs64>::uninit();
    // SAFETY: there is room for the structure, which is filled in when the call succeeds.
    let system = unsafe { (libc::fstatfs64(fd, system.as_mut_ptr()) == 0).then(|| system.assume_init()) };
    system.is_some_and(|system| matches!(system.f_type.into(), PIPEFS_MAGIC | SOCKFS_MAGIC))
}
