//! The dispatch table of an agent: `pmdaInterface`.

use std::ffi::c_int;

use super::ext::Ext;
use super::interface::Interface;
use super::types::{Comm, pmdaExt, pmdaInterface};
use super::view::view;

view! {
    /// An agent's dispatch table. An agent of an older interface version may own a shorter one, so a
    /// method is touched only when its version has it (INIT-1).
    Dispatch of pmdaInterface, contract
    "`pointer` is NULL, or points to a dispatch table as its interface version has it, with a valid extension."
    get {
        /// The agent's domain.
        domain: domain as c_int;
        /// Interface version, PMAPI version and flags.
        comm: comm as Comm;
        /// 0 unless the agent setup has failed.
        status: status as c_int;
        /// The extension, or NULL.
        ext_ptr: ext as *mut pmdaExt;
    }
    set {
        /// Stores the agent's domain.
        set_domain: domain as c_int;
        /// Stores interface version, PMAPI version and flags.
        set_comm: comm as Comm;
        /// Stores the status of the agent setup.
        set_status: status as c_int;
        /// Stores the extension.
        set_ext_ptr: ext as *mut pmdaExt;
    }
}

impl Dispatch {
    /// The interface version at this moment.
    pub(crate) fn interface(self) -> Interface {
        Interface(self.comm().interface())
    }

    /// The extension, if there is one.
    pub(crate) fn ext(self) -> Option<Ext> {
        // SAFETY: NULL or valid by the contract of `new`.
        unsafe { Ext::new(self.ext_ptr()) }
    }
}
