//! The value of an event's parameter, as C has put it into an atom.

use crate::view::arg::CText;
use crate::view::buffer::CBytes;
use crate::view::declare::view;
use crate::view::types::{pmAtomValue, pmValueBlock};
use pmda_core::error::{Error, Result};

view! {
    /// An atom whose type says which member C has filled in.
    Parameter of pmAtomValue, contract
    "`pointer` is NULL, or points to the member for its type: a string is NULL or terminated, a value block NULL or as \
     long as it says."
    fields {
        /// The bits of a four-byte type.
        word: ul as u32;
        /// The bits of an eight-byte type.
        long: ull as u64;
        /// A value block, or NULL.
        block: vbp as *mut pmValueBlock;
    }
    views {
        /// The string of an atom that holds one.
        text: cp as CText;
    }
}

impl<'call> Parameter<'call> {
    /// The payload of a value block: its length counts its own word (EVENT-4, E-5).
    ///
    /// # Errors
    /// `-EINVAL` without a block, and for one that is shorter than its word.
    pub(crate) fn payload(self) -> Result<CBytes<'call>> {
        let block = self.block();
        if block.is_null() {
            return Err(Error::INVAL);
        }
        // SAFETY: not NULL, so it has the leading word by the contract of `new`; the payload
        // follows it and is as long as the word says.
        unsafe {
            let length = ((*block).vlen() as usize).checked_sub(4).ok_or(Error::INVAL)?;
            Ok(CBytes::with_len((&raw const (*block).vbuf).cast::<u8>(), length))
        }
    }
}
