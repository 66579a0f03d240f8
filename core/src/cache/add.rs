//! Adds instances for agents in Rust, which choose ids, or want to know what is there already.

use super::Cache;
use super::entry::Entry;
use crate::error::{Error, Result};

/// The outcome of [`Cache::add_missing`].
#[derive(Debug)]
pub enum Added<'c, T> {
    /// No instance had the short name: this is the id of the new one.
    New(i32),
    /// This instance has the short name. Nothing has changed.
    Known(&'c Entry<T>),
}

impl<T: Copy> Cache<T> {
    /// Adds an active instance, unless an active or inactive one has its short name.
    ///
    /// # Errors
    /// As [`Cache::store`] for a new instance.
    #[inline]
    pub fn add_missing(&mut self, name: &[u8], private: T) -> Result<Added<'_, T>> {
        let short = self.short(name);
        match self.find_short(name, short) {
            Some(slot) => Ok(Added::Known(self.slab.get(slot))),
            None => self.add(None, Some(name), short, &[], Some(private)).map(Added::New),
        }
    }

    /// Makes the instance with an id that the caller has chosen active, or adds a new one.
    ///
    /// # Errors
    /// `PM_ERR_SIGN` for a negative id, `PM_ERR_TOOBIG` for one above the limit; `-EEXIST` when the
    /// id or the short name is another instance's; `-EINVAL` when only the short name fits;
    /// `PM_ERR_GENERIC` for an empty name; `-ENOMEM`, and nothing has changed.
    pub fn store_id(&mut self, id: i32, name: &[u8], private: Option<T>) -> Result<()> {
        let id = u32::try_from(id).map_err(|_| Error::SIGN)?;
        if id > self.maximum {
            return Err(Error::TOOBIG);
        }
        let short = self.short(name);
        match (self.find_id(id), self.find_short(name, short)) {
            (Some(slot), Some(same)) if slot == same => {
                if !self.is_name_of(slot, name, short) {
                    return Err(Error::EINVAL);
                }
                self.keys.take(slot);
                self.activate(slot, private);
                Ok(())
            }
            (None, None) => self.add(Some(id), Some(name), short, &[], private).map(|_| ()),
            _ => Err(Error::EEXIST),
        }
    }
}
