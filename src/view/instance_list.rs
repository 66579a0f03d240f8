//! Lists of instances as `pmdaInstance` gives them out.

use std::ffi::{c_char, c_int};
use std::mem::ManuallyDrop;
use std::ptr;

use crate::view::arg::Out;
use crate::view::block::CVec;
use crate::view::block::{self, Block};
use crate::view::types::pmInResult;
use pmda_core::error::Result;
use pmda_core::ident::InDom;

/// Where C wants a list of instances: a structure, lists of ids and names, and each name in a block
/// of its own (INST-5).
pub(crate) struct InstanceList<'call> {
    indom: InDom,
    place: Out<'call, *mut pmInResult>,
}

impl<'call> InstanceList<'call> {
    /// A list of instances of this domain, for this place.
    pub(crate) const fn new(indom: InDom, place: Out<'call, *mut pmInResult>) -> Self {
        InstanceList { indom, place }
    }

    /// Gives out one name.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn name(self, name: &[u8]) -> Result<()> {
        let (shell, mut names) = (Block::room(1)?, Block::room(1)?);
        names.put(block::string(name)?.into_raw());
        self.give(shell, 1, ptr::null_mut(), names.into_raw());
        Ok(())
    }

    /// Gives out one id.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn id(self, inst: c_int) -> Result<()> {
        let (shell, ids) = (Block::room(1)?, Block::holding(inst)?);
        self.give(shell, 1, ids.into_raw(), ptr::null_mut());
        Ok(())
    }

    /// Gives out ids and names, at most `room` of them.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn all<'n>(self, room: usize, all: impl Iterator<Item = (c_int, &'n [u8])>) -> Result<()> {
        let shell = Block::room(1)?;
        let mut ids = CVec::with_room(room)?;
        let mut names = Names(CVec::with_room(room)?);
        for (inst, name) in all {
            names.0.push(block::string(name)?.into_raw())?;
            ids.push(inst)?;
        }
        let count = ids.len();
        let names = ManuallyDrop::new(names);
        self.give(shell, count, ids.into_raw(), names.0.as_ptr());
        Ok(())
    }

    /// Fills in the structure, and hands it over.
    fn give(self, mut shell: Block<pmInResult>, count: usize, ids: *mut c_int, names: *mut *mut c_char) {
        shell.put(pmInResult {
            indom: self.indom.0,
            numinst: c_int::try_from(count).unwrap_or(c_int::MAX),
            instlist: ids,
            namelist: names,
        });
        self.place.hand_over(shell);
    }
}

/// Names under construction, freed with their list unless that is handed over.
struct Names(CVec<*mut c_char>);

impl Drop for Names {
    fn drop(&mut self) {
        for name in self.0.entries() {
            // SAFETY: nothing was handed over, so each name is a block of ours, which is freed
            // once.
            unsafe { libc::free(name.cast()) };
        }
    }
}
