//! The state of the library, which the C library has in global variables: one block, made at first
//! use and never freed, behind the one lock.
//!
//! dbpmda and pmcd unload the shared objects of agents. With the last one this library is unloaded
//! as well, and its variables go. What agents have attached to instances is reached from the caches
//! here. Afterwards the block is reached from the `pmdaExt` of the host, if it still has one, by
//! the agent's record: so a leak checker finds all of it, and nothing has to be done at unload or
//! exit.

pub(crate) mod agents;
pub(crate) mod caches;
pub(crate) mod callbacks;
pub(crate) mod databases;
pub(crate) mod filter;

use std::ffi::c_void;
use std::ptr;

use once_cell::race::OnceBox;

use crate::boundary;
use crate::state::agents::Records;
use crate::state::caches::Caches;
use crate::state::callbacks::Callbacks;
use crate::state::databases::Databases;
use crate::state::filter::Filter;
use crate::sys::lock::{Mutex, Token};
use crate::view::event_block::EventBlock;
use crate::view::table::MadeTables;
use pmda_core::dynamic::RegistrationList;
use pmda_core::error::Result;
use pmda_core::events::EventArrays;
use pmda_core::leak::{LazyBox, try_box};
use pmda_core::queue::Queues;

/// The state of the library that leads to memory. (State that does not may be in static variables,
/// behind the same lock.)
pub(crate) struct Globals {
    /// The agents.
    pub(crate) records: Records,
    /// The instance caches.
    pub(crate) caches: Caches,
    /// The registrations of dynamic metrics that serve agents without their own (DYN-3).
    pub(crate) dynamic: RegistrationList<Callbacks>,
    /// The metric tables made for agents with dynamic metrics.
    pub(crate) made_tables: MadeTables,
    /// All event queues and their clients, in a block of their own that is made at first use: an
    /// agent without queues leaves less memory behind when it is unloaded.
    pub(crate) queues: LazyBox<Queues<EventBlock, Filter>>,
    /// All event arrays.
    pub(crate) arrays: EventArrays,
    /// The help databases, in a block of their own for the same reason.
    pub(crate) help: LazyBox<Databases>,
}

static GLOBALS: OnceBox<[Mutex<Globals>; 1]> = OnceBox::new();

/// The state. It is made if there is none.
///
/// # Errors
/// `-ENOMEM`.
pub(crate) fn lock(token: &mut Token) -> Result<&mut Globals> {
    match GLOBALS.get() {
        Some([globals]) => Ok(globals.lock(token)),
        None => make(token),
    }
}

/// The state, if there is one.
pub(crate) fn peek(token: &mut Token) -> Option<&mut Globals> {
    GLOBALS.get().map(|[globals]| globals.lock(token))
}

/// Does a short call on the state ([`boundary::short`]). It returns `None` also if there is no
/// state.
#[inline(always)]
pub(crate) fn short<R>(work: impl FnOnce(&mut Globals) -> Option<R>) -> Option<R> {
    let [globals] = GLOBALS.get()?;
    boundary::short(globals, work)
}

/// The address of the state, which each record of an agent keeps for leak checkers.
pub(crate) fn address() -> *mut c_void {
    GLOBALS
        .get()
        .map_or(ptr::null_mut(), |[globals]| ptr::from_ref(globals).cast_mut().cast())
}

/// Makes the state, unless another thread has made it meanwhile.
///
/// # Errors
/// `-ENOMEM`.
#[cold]
fn make(token: &mut Token) -> Result<&mut Globals> {
    let [globals] = GLOBALS.get_or_try_init(|| {
        try_box(Mutex::new(Globals {
            records: Records::new(),
            caches: Caches::new(),
            dynamic: RegistrationList::new(),
            made_tables: MadeTables::new(),
            queues: LazyBox::new(),
            arrays: EventArrays::new(),
            help: LazyBox::new(),
        }))
    })?;
    Ok(globals.lock(token))
}
