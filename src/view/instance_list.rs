//! Lists of instances as `pmdaInstance` gives them out.

use std::ffi::{c_char, c_int};
use std::ptr;

use crate::view::block::CVec;
use crate::view::memory::{self, Block};
use crate::view::types::pmInResult;
use pmda_core::error::Result;
use pmda_core::ident::InDom;

/// An answer under construction: the structure that C gets, freed with all that is in it unless it
/// is handed over.
pub(crate) struct InstanceList {
    /// Room for the structure.
    shell: Option<Block<pmInResult>>,
    indom: InDom,
    ids: Option<CVec<c_int>>,
    names: Option<CVec<*mut c_char>>,
}

impl InstanceList {
    /// An answer without instances, and with room for some in the lists that are wanted.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn new(indom: InDom, room: usize, ids: bool, names: bool) -> Result<InstanceList> {
        Ok(InstanceList {
            shell: Some(Block::room(1)?),
            indom,
            ids: if ids { Some(CVec::with_room(room)?) } else { None },
            names: if names { Some(CVec::with_room(room)?) } else { None },
        })
    }

    /// Adds an instance; what was not asked for is left out.
    ///
    /// # Errors
    /// `-ENOMEM`.
    #[inline(always)]
    pub(crate) fn push(&mut self, inst: c_int, name: Option<&[u8]>) -> Result<()> {
        if let (Some(name), Some(names)) = (name, &mut self.names) {
            names.push(memory::string(name)?.into_raw())?;
        }
        if let Some(ids) = &mut self.ids {
            ids.push(inst)?;
        }
        Ok(())
    }

    /// The structure with all that is in it, for C to free.
    pub(crate) fn into_block(mut self) -> Option<Block<pmInResult>> {
        let mut shell = self.shell.take()?;
        let ids = self.ids.as_ref().map_or(0, CVec::len);
        let names = self.names.as_ref().map_or(0, CVec::len);
        shell.put(pmInResult {
            indom: self.indom.0,
            numinst: c_int::try_from(ids.max(names)).unwrap_or(c_int::MAX),
            instlist: self.ids.take().map_or(ptr::null_mut(), CVec::into_raw),
            namelist: self.names.take().map_or(ptr::null_mut(), CVec::into_raw),
        });
        Some(shell)
    }
}

impl Drop for InstanceList {
    fn drop(&mut self) {
        let names = self.names.iter().flat_map(CVec::entries);
        for name in names {
            // SAFETY: nothing was handed over, so each name is a block of ours, which is freed
            // once.
            unsafe { libc::free(name.cast()) };
        }
    }
}
