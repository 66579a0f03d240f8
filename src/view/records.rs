//! What `pmdaExt.e_ext` points to: records that stay for ever, found by their addresses.
//!
//! `e_ext` may point anywhere: agents make a `pmdaExt` by hand and leave it unset, and an agent
//! that was linked with a copy of the C library has a record of that one, also inside of a pmcd
//! that runs on this library. So a record is known by its address alone, and nothing is read
//! through a pointer that is not known.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::view::agent::{DescMethod, Dispatch, Ext};
use crate::view::memory::Block;
use crate::view::types::{pmdaExt, pmdaInterface};
use pmda_core::error::{Error, Result};

/// A record, with what leads to it and from it.
#[repr(C)]
pub(crate) struct Record<T: 'static> {
    /// The dispatch table as it was last seen. It may have moved since (MAIN-41), so it is
    /// compared, and read only for daemons. It is the first word, as in the record of the C
    /// library: a pmcd on that one moves the table of an agent that has this library inside
    /// (INIT-51).
    back: AtomicPtr<pmdaInterface>,
    /// The extension that was made with this record: never looked at, but a leak
    /// checker finds it here when the agent has forgotten it.
    _ext: AtomicPtr<pmdaExt>,
    /// The state of the library, to be found here when the library has been unloaded.
    _library: AtomicPtr<c_void>,
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

/// All records.
pub(crate) struct Records<T: 'static> {
    /// By address: a process has up to a hundred agents, unless it opens and closes the same ones
    /// again and again.
    all: Vec<&'static Record<T>>,
    /// The record that was asked for last: most processes have one.
    last: Option<&'static Record<T>>,
}

/// Room for a record.
pub(crate) type Room<T> = Block<Record<T>>;

impl<T: Sync> Records<T> {
    /// None yet.
    pub(crate) const fn new() -> Records<T> {
        Records {
            all: Vec::new(),
            last: None,
        }
    }

    /// Makes room for the record of an agent, so that nothing goes wrong when it is added.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn room(&mut self) -> Result<Room<T>> {
        if self.all.is_empty() {
            // Most processes have one agent, and the list stays when the library is unloaded.
            self.all.try_reserve_exact(1)
        } else {
            self.all.try_reserve(1)
        }
        .map_err(|_| Error::NOMEM)?;
        Block::zeroed(1)
    }

    /// Makes the record of an agent; it is never freed. It leads to `library`, and the `e_ext` of
    /// `ext` to it.
    ///
    /// # Errors
    /// `-ENOMEM`, if another thread has added a record since there was room for this one.
    pub(crate) fn add(&mut self, room: Room<T>, known: &Known<'_>, content: T) -> Result<()> {
        self.all.try_reserve(1).map_err(|_| Error::NOMEM)?;
        let address = room.as_ptr();
        let record = room.leak(Record {
            back: AtomicPtr::new(known.dispatch.as_ptr()),
            _ext: AtomicPtr::new(known.ext.as_ptr()),
            _library: AtomicPtr::new(known.library),
            desc: AtomicPtr::new(ptr::null_mut()),
            daemon: known.daemon,
            content,
        });
        let place = self
            .all
            .partition_point(|other| ptr::from_ref(*other).addr() < address.addr());
        self.all.push(record);
        self.all[place..].rotate_right(1);
        // SAFETY: a record begins with the address that others read through this pointer (INIT-51).
        unsafe { known.ext.set_record(address.cast()) };
        Ok(())
    }

    /// The record at an address, if it is one of these; nothing is read through the address before
    /// that is known.
    #[inline]
    pub(crate) fn find(&mut self, address: *mut c_void) -> Option<&'static Record<T>> {
        match self.last {
            Some(last) if ptr::eq(last, address.cast()) => Some(last),
            _ => self.search(address.cast()),
        }
    }

    #[cold]
    fn search(&mut self, address: *mut Record<T>) -> Option<&'static Record<T>> {
        let place = self
            .all
            .binary_search_by_key(&address.addr(), |record| ptr::from_ref(*record).addr());
        self.last = Some(self.all[place.ok()?]);
        self.last
    }
}

/// What is known of an agent when its record is made.
pub(crate) struct Known<'a> {
    /// Its extension.
    pub(crate) ext: Ext<'a>,
    /// Its dispatch table.
    pub(crate) dispatch: Dispatch<'a>,
    /// Whether it is a daemon.
    pub(crate) daemon: bool,
    /// The state of the library.
    pub(crate) library: *mut c_void,
}
