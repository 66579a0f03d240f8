//! Lists of instances as `pmdaInstance` gives them out.

use std::ffi::c_int;
use std::mem::ManuallyDrop;

use super::memory::{self, Block};
use super::types::pmInResult;
use crate::error::{Error, Result};
use crate::ident::InDom;

/// An answer under construction: the structure that C gets, freed with all that is in it unless it is handed over.
pub(crate) struct InstanceList {
    start: *mut pmInResult,
}

impl InstanceList {
    /// An answer without instances, and with room for some in the lists that are wanted.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn new(indom: InDom, room: usize, ids: bool, names: bool) -> Result<InstanceList> {
        let answer = InstanceList {
            start: Block::<pmInResult>::zeroed(1)?.into_raw(),
        };
        // SAFETY: the structure is new and ours.
        unsafe {
            (*answer.start).indom = indom.0;
            if ids {
                (*answer.start).instlist = Block::room(room)?.into_raw();
            }
            if names {
                (*answer.start).namelist = Block::room(room)?.into_raw();
            }
        }
        Ok(answer)
    }

    /// Hands the structure over.
    pub(crate) fn into_raw(self) -> *mut pmInResult {
        ManuallyDrop::new(self).start
    }
}

impl InstanceList {
    /// Adds an instance; what was not asked for is left out. Callers add no more than they have announced.
    ///
    /// # Errors
    /// `-ENOMEM`.
    #[inline]
    pub(crate) fn push(&mut self, inst: c_int, name: Option<&[u8]>) -> Result<()> {
        // SAFETY: the structure and its lists are ours, and the lists have room for one more.
        unsafe {
            let index = usize::try_from((*self.start).numinst).map_err(|_| Error::NOMEM)?;
            if let (Some(name), false) = (name, (*self.start).namelist.is_null()) {
                (*self.start)
                    .namelist
                    .add(index)
                    .write(memory::string(name)?.into_raw());
            }
            if !(*self.start).instlist.is_null() {
                (*self.start).instlist.add(index).write(inst);
            }
            (*self.start).numinst += 1;
        }
        Ok(())
    }
}

impl Drop for InstanceList {
    fn drop(&mut self) {
        // SAFETY: nothing was handed over, and `numinst` names are in the list, if there is one.
        unsafe {
            let names = (*self.start).namelist;
            for index in 0..usize::try_from((*self.start).numinst).unwrap_or(0) {
                if !names.is_null() {
                    libc::free((*names.add(index)).cast());
                }
            }
            libc::free(names.cast());
            libc::free((*self.start).instlist.cast());
            libc::free(self.start.cast());
        }
    }
}
