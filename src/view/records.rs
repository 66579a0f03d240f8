//! What `pmdaExt.e_ext` points to: records that stay for ever, found by their addresses.
//!
//! `e_ext` may point anywhere: agents make a `pmdaExt` by hand and leave it unset, and an agent
//! that was linked with a copy of the C library has a record of that one, also inside of a pmcd
//! that runs on this library. So a record is known by its address alone, and nothing is read
//! through a pointer that is not known.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::view::dispatch::{DescMethod, Dispatch};
use crate::view::ext::Ext;
use crate::view::memory::Block;
use crate::view::types::{pmdaExt, pmdaInterface};
use pmda_core::error::Result;

/// How many lists the records are spread over. Processes have up to a hundred agents, unless they
/// open and close the same ones again and again.
const LISTS: usize = 256;

/// A record, with what leads to it and from it.
#[repr(C)]
pub(crate) struct Record<T> {
    /// The dispatch table as it was last seen. It may have moved since (MAIN-41), so it is
    /// compared, and read only for daemons. It is the first word, as in the record of the C
    /// library: a pmcd on that one moves the table of an agent that has this library inside
    /// (INIT-51).
    back: AtomicPtr<pmdaInterface>,
    /// The next record in its list; set before the record is in it.
    next: AtomicPtr<Record<T>>,
    /// The extension that was made with this record: never looked at, but whoever lists what is
    /// still in use finds it here when the agent has forgotten it.
    _ext: AtomicPtr<pmdaExt>,
    /// What the library has left when it was unloaded.
    left: AtomicPtr<c_void>,
    /// The `desc` method as it was last seen.
    desc: AtomicPtr<c_void>,
    /// The agent is a daemon: its dispatch table stays where it is.
    daemon: bool,
    /// What the library keeps for the agent.
    pub(crate) content: T,
}

impl<T> Record<T> {
    /// Notes where the dispatch table is now, and its `desc` method: the table may move or go
    /// without notice (MAIN-56).
    pub(crate) fn note(&self, dispatch: Dispatch<'_>) {
        self.back.store(dispatch.as_ptr(), Ordering::Relaxed);
        let desc = dispatch.desc().map_or(ptr::null_mut(), |method| method as *mut c_void);
        self.desc.store(desc, Ordering::Relaxed);
    }

    /// The dispatch table of a daemon. That of a DSO may have been moved without notice, so it is
    /// not looked at (MAIN-56).
    pub(crate) fn table(&self) -> Option<Dispatch<'_>> {
        if !self.daemon {
            return None;
        }
        // SAFETY: the dispatch table of a daemon stays where it was when the record was told of it;
        // NULL is told apart.
        unsafe { Dispatch::new(self.back.load(Ordering::Relaxed)) }
    }

    /// The `desc` method as it was last seen.
    pub(crate) fn noted_desc(&self) -> Option<DescMethod> {
        let method = self.desc.load(Ordering::Relaxed);
        // SAFETY: `note` has stored it from a method of this type, or NULL, which is `None`.
        unsafe { std::mem::transmute::<*mut c_void, Option<DescMethod>>(method) }
    }
}

/// Room for a record.
pub(crate) struct Room<T>(Block<Record<T>>);

impl<T> Room<T> {
    /// Makes room for the record of an agent.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn new() -> Result<Room<T>> {
        const { assert!(align_of::<Record<T>>() <= 2 * align_of::<usize>()) };
        Block::zeroed(1).map(Room)
    }
}

/// All records, by address. Records are only ever added, at the front of a list, so nobody waits
/// for a lock.
pub(crate) struct Records<T: 'static> {
    lists: [AtomicPtr<Record<T>>; LISTS],
    /// The record that was asked for last: most processes have one.
    last: AtomicPtr<Record<T>>,
}

impl<T: Sync> Records<T> {
    /// None yet.
    pub(crate) const fn new() -> Records<T> {
        Records {
            lists: [const { AtomicPtr::new(ptr::null_mut()) }; LISTS],
            last: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Makes the record of an agent, and has `e_ext` of `ext` lead to it; it stays for ever.
    pub(crate) fn add(&self, room: Room<T>, ext: Ext<'_>, dispatch: Dispatch<'_>, daemon: bool, content: T) {
        let record: &'static Record<T> = room.0.leak(Record {
            back: AtomicPtr::new(dispatch.as_ptr()),
            next: AtomicPtr::new(ptr::null_mut()),
            _ext: AtomicPtr::new(ext.as_ptr()),
            left: AtomicPtr::new(ptr::null_mut()),
            desc: AtomicPtr::new(ptr::null_mut()),
            daemon,
            content,
        });
        let address = (&raw const *record).cast_mut();
        let first = &self.lists[list(address)];
        let mut head = first.load(Ordering::Acquire);
        loop {
            record.next.store(head, Ordering::Relaxed);
            match first.compare_exchange_weak(head, address, Ordering::Release, Ordering::Acquire) {
                Ok(_) => break,
                Err(other) => head = other,
            }
        }
        // SAFETY: a record begins as whoever follows the pointer expects (INIT-51).
        unsafe { ext.set_record(address.cast()) };
    }

    /// The record at an address, if it is one of these; nothing is read through the address before
    /// that is known.
    #[inline]
    pub(crate) fn find(&self, address: *mut c_void) -> Option<&'static Record<T>> {
        let record = address.cast::<Record<T>>();
        if record.is_null() {
            return None;
        }
        if record == self.last.load(Ordering::Acquire) {
            return followed(record);
        }
        self.search(record)
    }

    #[cold]
    fn search(&self, record: *mut Record<T>) -> Option<&'static Record<T>> {
        let found = list_from(&self.lists[list(record)]).find(|found| ptr::eq(*found, record))?;
        self.last.store(record, Ordering::Release);
        Some(found)
    }

    /// Whether there is a record.
    pub(crate) fn are_any(&self) -> bool {
        self.lists.iter().any(|first| !first.load(Ordering::Acquire).is_null())
    }

    /// Hangs a block on all records: it is reachable where any of them is.
    pub(crate) fn leave_behind(&self, block: *mut c_void) {
        for record in self.lists.iter().flat_map(list_from) {
            record.left.store(block, Ordering::Relaxed);
        }
    }
}

/// The records of a list.
fn list_from<T: Sync + 'static>(first: &AtomicPtr<Record<T>>) -> impl Iterator<Item = &'static Record<T>> {
    let first = followed(first.load(Ordering::Acquire));
    std::iter::successors(first, |record| followed(record.next.load(Ordering::Acquire)))
}

/// The record that a pointer of a list leads to.
fn followed<T: Sync + 'static>(record: *mut Record<T>) -> Option<&'static Record<T>> {
    // SAFETY: NULL, or one of the records that `add` has put into a list after it had written them;
    // they are never freed, and change through shared references alone.
    unsafe { record.as_ref() }
}

/// The list that a record with this address is in. Blocks of this size are never closer than a few
/// hundred bytes.
fn list<T>(record: *const Record<T>) -> usize {
    (record.addr() >> 8) % LISTS
}
