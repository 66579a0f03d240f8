//! What the C library has in globals: one block, made at first use and never freed, behind the one
//! lock.
//!
//! dbpmda and pmcd close the shared object of an agent, and with the last agent this library goes,
//! and its variables with it. What agents have attached hangs on what the caches hold. All that
//! leads there afterwards is the `pmdaExt`, if the host still has it: its record leads to this
//! block. So nothing has to be done at unload, or at exit.

pub(crate) mod agents;
pub(crate) mod caches;
pub(crate) mod callbacks;
pub(crate) mod databases;
pub(crate) mod filter;
pub(crate) mod iteration;

use std::ffi::c_void;
use std::ptr;

use crate::library::agents::Records;
use crate::library::caches::Domains;
use crate::library::callbacks::Callbacks;
use crate::library::databases::Databases;
use crate::library::filter::Filter;
use crate::sys::libpcp::pmns::Kept;
use crate::sys::lock::StaticPtr;
use crate::sys::lock::{Guard, Mutex};
use crate::view::event_block::Block;
use crate::view::table::MadeTables;
use pmda_core::dynamic::List;
use pmda_core::error::Result;
use pmda_core::events::Arrays;
use pmda_core::namespace::Indexes;
use pmda_core::queue::Queues;

/// The state of the library that leads to memory. (What does not, may stay in variables, behind the
/// same lock.)
pub(crate) struct Library {
    /// The agents.
    pub(crate) records: Records,
    /// The instance caches.
    pub(crate) domains: Domains,
    /// The registrations that serve every agent without its own (DYN-3).
    pub(crate) dynamic: List<Callbacks>,
    /// The metric tables that were made for agents with dynamic metrics.
    pub(crate) made_tables: MadeTables,
    /// The indexes of wide nodes, of all trees of names.
    pub(crate) name_indexes: Indexes<Kept>,
    /// All event queues and their clients, in a block of their own that the first use makes: what
    /// is here stays behind each time an agent is unloaded.
    pub(crate) queues: Vec<Queues<Block, Filter>>,
    /// All event arrays.
    pub(crate) arrays: Arrays,
    /// The help databases, in a block of their own that the first open makes, likewise.
    pub(crate) help: Vec<Databases>,
}

static LIBRARY: StaticPtr<Mutex<Library>> = StaticPtr::new();

/// The state, locked; made if there is none.
///
/// # Errors
/// `-ENOMEM`.
///
/// # Panics
/// When this thread has the lock already.
#[inline(always)]
pub(crate) fn lock() -> Result<Guard<'static, Library>> {
    match LIBRARY.get() {
        Some(library) => Ok(library.lock()),
        None => make(),
    }
}

/// The state, locked, if it was made.
///
/// # Panics
/// When this thread has the lock already.
#[inline(always)]
pub(crate) fn peek() -> Option<Guard<'static, Library>> {
    LIBRARY.get().map(Mutex::lock)
}

/// Where the state is, for those who look for it when the library has been unloaded.
pub(crate) fn address() -> *mut c_void {
    LIBRARY
        .get()
        .map_or(ptr::null_mut(), |library| ptr::from_ref(library).cast_mut().cast())
}

/// Makes the state, unless another thread just has.
#[cold]
fn make() -> Result<Guard<'static, Library>> {
    static MAKING: Mutex<()> = Mutex::new(());
    let making = MAKING.lock();
    let library = LIBRARY.get_or_make(|| {
        Mutex::new(Library {
            records: Records::new(),
            domains: Domains::new(),
            dynamic: List::new(),
            made_tables: MadeTables::new(),
            name_indexes: Indexes::new(),
            queues: Vec::new(),
            arrays: Arrays::new(),
            help: Vec::new(),
        })
    })?;
    drop(making);
    Ok(library.lock())
}
