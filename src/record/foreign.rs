//! What is kept for an agent whose `pmdaExt` was made by hand, and has no record of ours: it is
//! found by the address, and stays.

use crate::library;
use crate::record::session::Session;
use crate::record::state::FetchState;
use crate::sys::static_ptr::StaticPtr;
use crate::view::ext::Ext;
use pmda_core::error::Result;
use pmda_core::forever::forever;
use pmda_core::index::Map;

/// The parts of such agents, by address.
pub(crate) type ForeignParts = Map<&'static ForeignPart>;

/// What is kept for such an agent; each part is made when it is asked for first.
pub(crate) struct ForeignPart {
    fetch_state: StaticPtr<FetchState>,
    session: StaticPtr<Session>,
}

/// The fetch family's part of an agent.
///
/// # Errors
/// `-ENOMEM`.
#[cold]
pub(super) fn fetch_state(ext: Ext<'_>) -> Result<&'static FetchState> {
    made(ext, |part| &part.fetch_state, FetchState::default)
}

/// The main loop's part of an agent.
///
/// # Errors
/// `-ENOMEM`.
#[cold]
pub(super) fn session(ext: Ext<'_>) -> Result<&'static Session> {
    made(ext, |part| &part.session, Session::new)
}

fn made<T>(
    ext: Ext<'_>,
    place: impl FnOnce(&'static ForeignPart) -> &'static StaticPtr<T>,
    new: impl FnOnce() -> T,
) -> Result<&'static T> {
    let address = ext.as_ptr().addr() as u64;
    let known = &mut library::lock()?.foreign;
    let part = match known.get(address) {
        Some(part) => part,
        None => {
            known.reserve(1)?;
            let part: &'static ForeignPart = forever(ForeignPart {
                fetch_state: StaticPtr::new(),
                session: StaticPtr::new(),
            })?;
            *known.get_or_insert_with(address, || part)?
        }
    };
    place(part).get_or_make(new)
}
