//! Labels that an agent adds to a set: `pmdaAddLabels` and `pmdaAddNotes`.

pub(crate) mod exports;
pub(crate) mod label_request;

use std::ffi::{CStr, c_int};

use crate::sys::libpcp;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::libpcp::version::SINCE_7_2;
use crate::view::label_set::LabelSets;
use pmda_core::error::{Error, Result};
use pmda_core::labels::{self, Text};
use pmda_core::log::Part::Raw;
use pmda_core::log::{Bytes, Level};

/// Adds the labels of a JSON text, with `flags`, to the set that is there, or as a new one
/// (LABEL-36, LABEL-37), and says what went wrong (LABEL-39). Gives the number of labels in the set
/// afterwards.
///
/// # Errors
/// As listed in LABEL-31; nothing is changed then (L-10).
pub(crate) fn add(caller: &str, sets: LabelSets<'_>, text: &[u8], flags: u8) -> Result<c_int> {
    if log::debug(Debug::Labels) {
        log::trace!("{caller}: {}\n", Bytes(text));
    }
    add_quietly(sets, text, flags).inspect_err(|error| {
        let reason = log::errstr(*error);
        log::notify!(Level::Err, "{caller}: {} ({reason})", Bytes(text));
    })
}

/// Whether libpcp has something to say of a text that was read so. A plain one is not shown to it:
/// without memory it ends the process.
fn says_more(read: &Result<Text>) -> bool {
    match read {
        Ok(text) => matches!(text, Text::Other(_)),
        Err(error) => *error == Error::INVAL,
    }
}

/// Lets libpcp's parser read the text as it is: under debug options it says what it sees, and in
/// which place it finds what is wrong.
#[cold]
fn shown(text: &[u8], flags: u8) -> Result<()> {
    let depth = text.iter().filter(|byte| matches!(byte, b'{' | b'['));
    if depth.count() > labels::MAX_DEPTH {
        // It may be more than libpcp can bear (L-8).
        return Ok(());
    }
    let line = pmda_core::log::line(&[Raw(text), Raw(b"\0")]).ok_or(Error::NOMEM)?;
    let text = CStr::from_bytes_until_nul(&line).map_err(|_| Error::INVAL)?;
    libpcp::labels::parse(text, flags).map(drop)
}

fn add_quietly(mut sets: LabelSets<'_>, text: &[u8], flags: u8) -> Result<c_int> {
    let target = sets.first();
    let read = labels::parse(text, flags, !SINCE_7_2);
    if log::debug(Debug::Labels) && says_more(&read) {
        let shown = shown(text, flags);
        if matches!(read, Ok(Text::Other(_))) {
            shown?;
        }
    }
    match (read?, target) {
        (Text::Plain(set), None) => sets.store_new(&set),
        (Text::Plain(set), Some(mut target)) if set.is_merged() && target.is_empty() => target.replace(&set),
        (Text::Plain(set), Some(mut target)) => {
            let merged = target.merged(set.iter())?;
            target.replace(&merged)
        }
        (Text::Other(mut text), target) => {
            text.try_reserve_exact(1).map_err(|_| Error::NOMEM)?;
            text.push(0);
            let text = CStr::from_bytes_with_nul(&text).map_err(|_| Error::INVAL)?;
            // What libpcp says of it was said of the text as it is.
            let parsed = log::without(Debug::Labels, || libpcp::labels::parse(text, flags))?;
            match target {
                _ if parsed.is_none() => Ok(target.map_or(0, |target| target.count())),
                None => {
                    sets.store(parsed);
                    Ok(sets.first().map_or(0, |set| set.count()))
                }
                Some(mut target) => {
                    let merged = target.merged(parsed.labels())?;
                    target.replace(&merged)
                }
            }
        }
    }
}
