//! What pmcd sends without waiting for an answer: profiles, attributes of clients, the ends of contexts.

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::AtomicBool;

use super::dispatch::{Agent, WITH_ATTRIBUTES, WITH_CONTEXT, method};
use super::mark::outside;
use super::memory;
use super::received::OwnedProfile;
use crate::abi::ext::Ext;
use crate::agent::{selection, state};
use crate::error::Error;
use crate::libpcp::log::{self, Debug};
use crate::libpcp::version::SINCE_6_0_5;
use crate::log::Level;
use crate::wire::decode;

impl Agent {
    pub(super) fn profile(self, pdu: &[u8]) {
        let Ok(profile) = decode::profile(pdu).and_then(OwnedProfile::new) else {
            return;
        };
        let Ok(method) = method!(self, profile) else { return };
        // SAFETY: the profile is a valid structure of C; both pointers are valid during the call.
        let status = outside(|| unsafe { method(profile.as_ptr(), self.ext) });
        // SAFETY: the extension is valid while its PDU is served.
        if let Some(ext) = unsafe { Ext::new(self.ext) } {
            selection::forget(state::of(ext));
        }
        if status >= 0 {
            self.session.keep_profile(profile);
        }
    }

    pub(super) fn attribute(self, pdu: &[u8], context: c_int) {
        if self.interface() < WITH_ATTRIBUTES {
            static TOLD: AtomicBool = AtomicBool::new(false);
            self.tell_missing(WITH_ATTRIBUTES, "attribute", &TOLD);
            return;
        }
        let Ok(attribute) = decode::attribute(pdu) else { return };
        let length = attribute.value.len();
        let Ok(value) = memory::string(attribute.value) else {
            return;
        };
        let text = if length == 0 {
            ptr::null()
        } else {
            value.as_ptr().cast_const()
        };
        let Ok(method) = method!(self, attribute) else { return };
        // SAFETY: NULL or a block of ours with a NUL behind the value; all pointers are valid during the call.
        let status = outside(|| unsafe { method(context, attribute.key, text, length as c_int, self.ext) });
        if let Err(error) = Error::check(status) {
            let reason = log::errstr(error);
            if SINCE_6_0_5 {
                log::warning!("Failed to set attribute: {reason}");
            } else {
                log::notify!(Level::Err, "{}: Failed to set attribute: {reason}", self.name_text());
            }
        }
    }

    /// ERROR from pmcd: the end of a context, or something unexpected (MAIN-12, MAIN-23).
    pub(super) fn notice(self, pdu: &[u8], context: c_int) {
        let Ok(code) = decode::error(pdu) else { return };
        if code == Error::NOTCONN.code() {
            if self.interface() < WITH_CONTEXT {
                return;
            }
            if log::debug(Debug::Context) {
                log::debug_line!("Received PDU_ERROR (end context {context})");
            }
            // SAFETY: the extension is valid; the callback takes any number.
            unsafe {
                if let Some(callback) = (*self.ext).e_endCallBack {
                    outside(|| callback(context));
                }
            }
            return;
        }
        let reason = Error::check(code).map_or_else(log::errstr, |_| log::errstr_of(code));
        log::notify!(
            Level::Err,
            "{}: unexpected error pdu from pmcd: {reason}?",
            self.name_text()
        );
    }
}
