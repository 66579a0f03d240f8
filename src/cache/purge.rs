//! Culls instances that were not stored for some time, and has what was attached to them freed.

use std::ffi::c_int;
use std::vec;

use crate::cache::count;
use crate::cache::with;
use crate::drive::{Machine, NoDropCell, Step};
use crate::sys::process::now;
use crate::view::arg::Private;
use crate::view::methods::Free;
use pmda_core::error::Result;
use pmda_core::ident::InDom;

/// Culls the instances that were saved more than `recent` seconds ago and not stored since. Gives
/// their number, and what was attached to them, in ascending order of ids.
///
/// # Errors
/// `PM_ERR_INDOM`, `-ENOMEM`.
pub(crate) fn purge(indom: InDom, recent: i64) -> Result<(c_int, Vec<Private>)> {
    let limit = now().saturating_sub(recent);
    let (number, attached) = with(indom, |cache, _| cache.purge(limit))?;
    Ok((count(number), attached))
}

/// Tells the agent about each culled instance, after all were culled.
pub(crate) struct Purge {
    callback: Option<Free>,
    number: c_int,
    attached: NoDropCell<vec::IntoIter<Private>>,
}

impl Purge {
    /// Culls the instances of [`purge`].
    ///
    /// # Errors
    /// As [`purge`].
    pub(crate) fn new(indom: InDom, recent: i64, callback: Option<Free>) -> Result<Purge> {
        let (number, attached) = purge(indom, recent)?;
        Ok(Purge {
            callback,
            number,
            attached: NoDropCell::new(attached.into_iter()),
        })
    }

    fn step(&mut self) -> Step<(Free, Private), Result<c_int>> {
        let next = self.attached.get().and_then(Iterator::next);
        if let Some(call) = self.callback.zip(next) {
            return Step::Call(call);
        }
        drop(self.attached.take());
        Step::Done(Ok(self.number))
    }
}

impl Machine for Purge {
    type Call = (Free, Private);
    type Answer = ();
    type Done = Result<c_int>;

    fn start(&mut self) -> Step<(Free, Private), Result<c_int>> {
        self.step()
    }

    fn resume(&mut self, (): ()) -> Step<(Free, Private), Result<c_int>> {
        self.step()
    }
}
