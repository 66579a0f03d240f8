//! A new `pmdaExt`, with copies of the agent's texts.

use std::ptr;

use crate::view::arg::CText;
use crate::view::ext::Ext;
use crate::view::memory::Block;
use crate::view::types::pmdaExt;
use pmda_core::error::{Error, Result};

/// The texts of an agent that its extension keeps.
#[derive(Clone, Copy)]
pub(crate) struct ExtTexts<'call> {
    /// The agent's name.
    pub(crate) name: Option<CText<'call>>,
    /// The path of the log file.
    pub(crate) logfile: Option<CText<'call>>,
    /// The path of the help database.
    pub(crate) helptext: Option<CText<'call>>,
}

/// Makes an extension that is zero but for its texts. It is never freed. The texts lie behind it in
/// the same block: an agent that puts others in their place leaves nothing behind.
///
/// # Errors
/// `-ENOMEM`.
pub(crate) fn create(texts: &ExtTexts<'_>) -> Result<Ext<'static>> {
    let texts = [texts.logfile, texts.helptext, texts.name];
    let size = texts.iter().flatten().try_fold(size_of::<pmdaExt>(), |size, text| {
        size.checked_add(text.bytes().len())?.checked_add(1)
    });
    let block = Block::<u8>::zeroed(size.ok_or(Error::NOMEM)?)?;
    let mut end = size_of::<pmdaExt>();
    let [logfile, helptext, name] = texts.map(|text| {
        let text = text?;
        let text = text.bytes();
        // SAFETY: the block has room for the extension and for each text with a NUL behind it, is
        // zero so far, and new, so that it does not overlap with the text. It stays for good.
        unsafe {
            let copy = block.as_ptr().add(end);
            ptr::copy_nonoverlapping(text.as_ptr(), copy, text.len());
            end += text.len() + 1;
            CText::new(copy.cast_const().cast())
        }
    });
    // SAFETY: the block has room for a `pmdaExt` at its start, is aligned as all that comes from
    // malloc, and is handed over to C; zero is a valid value of each field.
    let ext = unsafe { Ext::new(block.into_raw().cast()) }.ok_or(Error::NOMEM)?;
    ext.set_logfile(logfile);
    ext.set_helptext(helptext);
    ext.set_name(name);
    Ok(ext)
}
