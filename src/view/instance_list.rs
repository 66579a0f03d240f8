//! Lists of instances: those that `pmdaInstance` makes and hands over to C, and those that the main
//! loop takes over from an agent's method.

use std::ffi::{c_char, c_int, c_void};
use std::mem::ManuallyDrop;
use std::ptr;

use crate::view::arg::{CText, Out, view};
use crate::view::memory::{Array, Block, string};
use crate::view::types::pmInResult;
use pmda_core::error::{Error, Result};
use pmda_core::ident::InDom;
use pmda_core::wire::encode::Reply;

view! {
    /// The structure of an instance list, and its two lists.
    Instances of pmInResult, contract
    "`pointer` is NULL, or points to a list with `numinst` elements in each of its own lists that is not NULL. Names are NULL or \
     C strings."
    fields {
        /// The instance domain.
        indom: indom as u32;
        /// The number of instances.
        count[set_count]: numinst as c_int;
    }
    arrays {
        /// The identifiers.
        ids: instlist[numinst] as IntArray;
        /// The names.
        names: namelist[numinst] as TextArray;
    }
}

/// Identifiers of instances.
type IntArray<'call> = Array<'call, c_int>;

/// C strings, or NULL.
type TextArray<'call> = Array<'call, Option<CText<'call>>>;

/// A list of instances. The structure, the list of ids, the list of names and each name are blocks
/// of their own from malloc (INST-5). They are freed with it, unless it is handed over to C.
///
/// The answer to a request for one instance has one of the two lists alone: the one that was asked
/// for.
pub(crate) struct InstanceList {
    list: Instances<'static>,
    /// The number of instances for which its lists have room (a list may be missing).
    capacity: usize,
}

impl InstanceList {
    /// Takes over a list that a method has stored.
    ///
    /// # Safety
    /// `list` is NULL or a list as the contract of `Instances` says. All of it is in blocks from
    /// malloc that nobody else uses or frees.
    pub(crate) unsafe fn take_over(list: *mut pmInResult) -> Option<InstanceList> {
        // SAFETY: NULL or a list as the contract demands, as the caller promises.
        let list = unsafe { Instances::new(list) }?;
        let capacity = list.ids().len().max(list.names().len());
        Some(InstanceList { list, capacity })
    }

    /// A list of the name that belongs to a requested id.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn of_name(indom: InDom, name: &[u8]) -> Result<InstanceList> {
        let mut list = InstanceList::with_capacity(indom, 1, None, Some(Block::uninit(1)?))?;
        list.push(0, name)?;
        Ok(list)
    }

    /// A list of the id that belongs to a requested name.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn of_id(indom: InDom, inst: c_int) -> Result<InstanceList> {
        let mut list = InstanceList::with_capacity(indom, 1, Some(Block::uninit(1)?), None)?;
        list.push(inst, b"")?;
        Ok(list)
    }

    /// A list of all ids and names of a domain, `capacity` of them at most. No code of C runs
    /// meanwhile: the names are borrowed from the agent's memory.
    ///
    /// # Errors
    /// `-ENOMEM`, also for more than `capacity` instances.
    pub(crate) fn of_all<'n>(
        indom: InDom,
        capacity: usize,
        all: impl Iterator<Item = (c_int, &'n [u8])>,
    ) -> Result<InstanceList> {
        let (ids, names) = (Block::uninit(capacity)?, Block::uninit(capacity)?);
        let mut list = InstanceList::with_capacity(indom, capacity, Some(ids), Some(names))?;
        for (inst, name) in all {
            list.push(inst, name)?;
        }
        Ok(list)
    }

    /// A list without instances, from lists with room for `capacity` elements; `None` for a list
    /// that is missing.
    ///
    /// # Errors
    /// `-ENOMEM`.
    fn with_capacity(
        indom: InDom,
        capacity: usize,
        ids: Option<Block<c_int>>,
        names: Option<Block<*mut c_char>>,
    ) -> Result<InstanceList> {
        let mut list = Block::uninit(1)?;
        list.put(pmInResult {
            indom: indom.0,
            numinst: 0,
            instlist: ids.map_or(ptr::null_mut(), Block::into_raw),
            namelist: names.map_or(ptr::null_mut(), Block::into_raw),
        });
        // SAFETY: a new structure that says that its lists have no elements. All is in blocks from
        // malloc that this value alone has.
        let list = unsafe { Instances::new(list.into_raw()) };
        Ok(InstanceList {
            list: list.ok_or(Error::ENOMEM)?,
            capacity,
        })
    }

    /// Adds an instance to the lists that are not missing.
    ///
    /// # Errors
    /// `-ENOMEM`, also without room for the instance; the list is as before.
    fn push(&mut self, inst: c_int, name: &[u8]) -> Result<()> {
        let (list, position) = (self.list, self.list.count() as usize);
        let count = c_int::try_from(position + 1).map_err(|_| Error::ENOMEM)?;
        if position >= self.capacity {
            return Err(Error::ENOMEM);
        }
        let (ids, names) = (list.ids().first(), list.names().first().cast::<*mut c_char>());
        if !names.is_null() {
            let name = string(name)?.into_raw();
            // SAFETY: the list of names has `capacity` elements, which is more than `position`.
            unsafe { names.add(position).write(name) };
        }
        if !ids.is_null() {
            // SAFETY: the list of ids has `capacity` elements, which is more than `position`.
            unsafe { ids.add(position).write(inst) };
        }
        list.set_count(count);
        Ok(())
    }

    /// Hands the list over to C, which frees all its blocks with `free()`. If C does not want it,
    /// it is freed here.
    pub(crate) fn hand_over(self, out: Out<'_, *mut pmInResult>) {
        if !out.is_null() {
            let list = ManuallyDrop::new(self).list;
            // SAFETY: blocks from malloc, which nobody else has: C frees them, as the exported
            // function says.
            unsafe { out.set_pointer(list.as_ptr()) };
        }
    }

    /// Encodes an INSTANCE. Either list may be missing.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG`; `-ENOMEM`.
    pub(crate) fn encode(&self, reply: &mut Reply) -> Result<()> {
        let list = self.list;
        let (ids, names) = (list.ids(), list.names());
        // SAFETY: this value owns the list, which is in blocks from malloc and so aligned, and nobody
        // writes to it while it is encoded.
        let (ids, names) = unsafe { (ids.elements(), names.elements()) };
        let entries = (0..usize::try_from(list.count()).unwrap_or(0)).map(|index| {
            let name = names.get(index).and_then(Option::as_ref);
            (ids.get(index).copied(), name.map(CText::bytes))
        });
        reply.instances(InDom(list.indom()), entries)
    }
}

impl Drop for InstanceList {
    fn drop(&mut self) {
        let list = self.list;
        let (ids, names) = (list.ids(), list.names());
        // SAFETY: each name, both lists and the structure are NULL or blocks from malloc, and so
        // aligned, that this value owns. Each is freed once, and not read afterwards.
        unsafe {
            for name in names.elements() {
                libc::free(name.map_or(ptr::null_mut(), CText::as_ptr).cast::<c_void>());
            }
            libc::free(names.first().cast::<c_void>());
            libc::free(ids.first().cast::<c_void>());
            libc::free(list.as_ptr().cast::<c_void>());
        }
    }
}
