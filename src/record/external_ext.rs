//! The state of an agent whose `pmdaExt` was not made by this library (by hand, or by another one):
//! it is found by the address, and never freed.

use crate::library;
use crate::record::state::FetchState;
use crate::record::state::Session;
use crate::sys::lock::StaticPtr;
use crate::view::ext::Ext;
use pmda_core::error::Result;
use pmda_core::index::Map;
use pmda_core::leak::try_leak;

/// The state of such agents, by address.
pub(crate) type ExternalExts = Map<&'static ExternalExt>;

/// The state of such an agent; each part is made when it is first needed.
pub(crate) struct ExternalExt {
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
    place: impl FnOnce(&'static ExternalExt) -> &'static StaticPtr<T>,
    new: impl FnOnce() -> T,
) -> Result<&'static T> {
    let address = ext.as_ptr().addr() as u64;
    let known = &mut library::lock()?.external_exts;
    let part = match known.get(address) {
        Some(part) => part,
        None => {
            known.reserve(1)?;
            let part: &'static ExternalExt = try_leak(ExternalExt {
                fetch_state: StaticPtr::new(),
                session: StaticPtr::new(),
            })?;
            *known.get_or_insert_with(address, || part)?
        }
    };
    place(part).get_or_make(new)
}
