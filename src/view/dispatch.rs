//! The dispatch table of an agent, `pmdaInterface`, and how it talks to pmcd.

use std::ffi::{c_int, c_uint};

use crate::view::declare::view;
use crate::view::ext::Ext;
use crate::view::methods;
use crate::view::types::{Comm, pmdaExt, pmdaInterface};
use pmda_core::setup::Interface;

/// The `desc` method of a dispatch table.
pub(crate) use crate::view::methods::Desc as DescMethod;

view! {
    /// An agent's dispatch table. An agent of an older interface version may own a shorter one, so
    /// a method is touched only when its version has it (INIT-1).
    Dispatch of pmdaInterface, contract
    "`pointer` is NULL, or points to a dispatch table as its interface version has it, with a valid extension, and with \
     methods that do what their types say: what they store is valid when they succeed."
    fields {
        /// The agent's domain.
        domain [set_domain]: domain as c_int;
        /// Interface version, PMAPI version and flags.
        comm [set_comm]: comm as Comm;
        /// 0 unless the agent setup has failed.
        status [set_status]: status as c_int;
        /// The extension, or NULL.
        ext_ptr: ext as *mut pmdaExt;
        /// Takes the instance profile.
        profile [set_profile]: profile as Option<methods::Profile>;
        /// Fetches values.
        fetch [set_fetch]: fetch as Option<methods::Fetch>;
        /// Describes a metric.
        desc [set_desc]: desc as Option<methods::Desc>;
        /// Lists instances.
        instance [set_instance]: instance as Option<methods::Instance>;
        /// Gives help.
        text [set_text]: text as Option<methods::Text>;
        /// Stores values.
        store [set_store]: store as Option<methods::Store>;
        /// Version 4 and up: the identifier of a name.
        pmid [set_pmid]: pmid as Option<methods::Pmid>;
        /// Version 4 and up: the names of an identifier.
        name [set_name]: name as Option<methods::Name>;
        /// Version 4 and up: the names below a name.
        children [set_children]: children as Option<methods::Children>;
        /// Version 6 and up: takes an attribute of a client.
        attribute [set_attribute]: attribute as Option<methods::Attribute>;
        /// Version 7 and up: gives label sets.
        label [set_label]: label as Option<methods::Label>;
    }
    kept {
        /// Stores the extension.
        set_ext: ext as Ext<'static>;
    }
    views {
        /// The extension, if there is one.
        ext: ext as Ext;
    }
}

impl Dispatch<'_> {
    /// The interface version at this moment.
    pub(crate) fn interface(self) -> Interface {
        Interface(self.comm().interface())
    }

    /// Puts methods into the table, and touches nothing beyond the interface version (INIT-1).
    pub(crate) fn set_methods(self, methods: &pmdaInterface, interface: Interface) {
        self.set_profile(methods.profile);
        self.set_fetch(methods.fetch);
        self.set_desc(methods.desc);
        self.set_instance(methods.instance);
        self.set_text(methods.text);
        self.set_store(methods.store);
        if interface.has_names() {
            self.set_pmid(methods.pmid);
            self.set_name(methods.name);
            self.set_children(methods.children);
        }
        if interface.has_attributes() {
            self.set_attribute(methods.attribute);
        }
        if interface.has_labels() {
            self.set_label(methods.label);
        }
    }

    /// Whether the `fetch` method is that of other methods.
    pub(crate) fn has_fetch_of(self, methods: &pmdaInterface) -> bool {
        self.fetch().map(|method| method as usize) == methods.fetch.map(|method| method as usize)
    }

    /// Whether the `text` method is that of other methods.
    pub(crate) fn has_text_of(self, methods: &pmdaInterface) -> bool {
        self.text().map(|method| method as usize) == methods.text.map(|method| method as usize)
    }
}

impl Ext<'_> {
    /// Tells another library, or another copy of this one, that has made the extension, where its
    /// dispatch table is: that is the first word of such a record (INIT-51).
    pub(crate) fn tell_other_library(self, dispatch: Dispatch<'_>) {
        let record = self.record().cast::<*mut pmdaInterface>();
        if !record.is_null() {
            // SAFETY: an extension that was set up by a library has its record here; the caller has
            // found that it is none of ours, and an extension that nobody has set up has NULL.
            unsafe { record.write(dispatch.as_ptr()) };
        }
    }
}

/// How an agent talks to pmcd: `pmdaIoType`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Transport {
    /// stdin and stdout.
    Pipe,
    /// A port.
    Inet,
    /// A socket in the file system.
    Unix,
    /// Not chosen yet.
    Unknown,
    /// A port, over IPv6.
    Ipv6,
}

impl Transport {
    /// The number in C; `None` for a number that stands for nothing.
    pub(crate) const fn new(number: c_uint) -> Option<Transport> {
        match number {
            0 => Some(Transport::Pipe),
            1 => Some(Transport::Inet),
            2 => Some(Transport::Unix),
            3 => Some(Transport::Unknown),
            4 => Some(Transport::Ipv6),
            _ => None,
        }
    }

    /// The number in C.
    pub(crate) const fn number(self) -> c_uint {
        self as c_uint
    }

    /// The option that chooses it.
    pub(crate) const fn letter(self) -> char {
        match self {
            Transport::Pipe => 'p',
            Transport::Inet => 'i',
            Transport::Unix => 'u',
            Transport::Unknown => '?',
            Transport::Ipv6 => '6',
        }
    }
}
