//! The structures of `pcp/pmda.h` and `pcp/pmapi.h` that a DSO agent and its host exchange.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;

use crate::memory::{ResultHead, Value, ValueSet};

/// `pmdaInterface`. The host fills in the domain, the agent all the rest.
#[repr(C)]
#[derive(Debug)]
pub struct Interface {
    pub(super) domain: c_int,
    /// Bits 0 to 7 of `comm`: compilers place them first on little- and big-endian machines alike.
    pub(super) interface: u8,
    pub(super) pmapi_version: u8,
    pub(super) flags: u16,
    pub(super) status: c_int,
    /// The host's methods are never read: they need not be initialized before the agent writes its
    /// own.
    pub(super) methods: MaybeUninit<Methods>,
}

/// `pmdaInterface.version.seven`.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Methods {
    pub(super) ext: *mut Ext,
    pub(super) profile: extern "C" fn(Option<&Profile>, GivenExt) -> c_int,
    pub(super) fetch: extern "C" fn(c_int, *const c_uint, Out<'_, *mut c_void>, GivenExt) -> c_int,
    pub(super) desc: extern "C" fn(c_uint, Out<'_, Desc>, GivenExt) -> c_int,
    pub(super) instance: extern "C" fn(c_uint, c_int, GivenText<'_>, Out<'_, *mut InResult>, GivenExt) -> c_int,
    pub(super) text: extern "C" fn(c_int, c_int, Out<'_, *const c_char>, GivenExt) -> c_int,
    pub(super) store: extern "C" fn(Option<&ResultHead>, GivenExt) -> c_int,
    pub(super) pmid: extern "C" fn(GivenText<'_>, Out<'_, c_uint>, GivenExt) -> c_int,
    pub(super) name: extern "C" fn(c_uint, Out<'_, *mut *mut c_char>, GivenExt) -> c_int,
    pub(super) children:
        extern "C" fn(GivenText<'_>, c_int, Out<'_, *mut *mut c_char>, Out<'_, *mut c_int>, GivenExt) -> c_int,
    pub(super) attribute: extern "C" fn(c_int, c_int, *const c_char, c_int, GivenExt) -> c_int,
    pub(super) label: extern "C" fn(c_int, c_int, Out<'_, *mut LabelSet>, GivenExt) -> c_int,
}

/// The extension as a host passes it: NULL, or the pointer that the host has got together with the
/// method that it calls. Only a host makes one, so the pointer may be trusted.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(super) struct GivenExt(*const Ext);

impl GivenExt {
    pub(super) fn pointer(self) -> *const Ext {
        self.0
    }

    /// An extension as a host would give it.
    #[cfg(test)]
    pub(super) fn of(pointer: *const Ext) -> GivenExt {
        GivenExt(pointer)
    }
}

/// A C string as a host gives it, or NULL: it is the host's, and stays until the method returns.
/// Only a host makes one, so the pointer may be trusted.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(super) struct GivenText<'a>(*const c_char, PhantomData<&'a CStr>);

impl<'a> GivenText<'a> {
    pub(super) fn text(self) -> Option<&'a CStr> {
        // SAFETY: NULL, or a C string for as long as `'a`: a host has made it.
        (!self.0.is_null()).then(|| unsafe { CStr::from_ptr(self.0) })
    }
}

/// The place where a method writes a result, which need not be initialized; `None` for NULL.
pub(super) type Out<'a, T> = Option<&'a mut MaybeUninit<T>>;

/// `pmdaExt`: the host reads and writes some of its members.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Ext {
    pub(super) e_flags: c_uint,
    /// Always NULL. A host may call libpcp_pmda for agents of its own, and that would take another
    /// pointer for its private structure and follow it.
    pub(super) e_ext: *mut c_void,
    pub(super) e_sockname: *mut c_char,
    pub(super) e_name: *const c_char,
    pub(super) e_logfile: *const c_char,
    pub(super) e_helptext: *const c_char,
    pub(super) e_status: c_int,
    pub(super) e_infd: c_int,
    pub(super) e_outfd: c_int,
    pub(super) e_port: c_int,
    pub(super) e_singular: c_int,
    pub(super) e_ordinal: c_int,
    pub(super) e_direct: c_int,
    pub(super) e_domain: c_int,
    pub(super) e_nmetrics: c_int,
    pub(super) e_nindoms: c_int,
    pub(super) e_help: c_int,
    pub(super) e_prof: *mut c_void,
    pub(super) e_io: c_int,
    pub(super) e_indoms: *mut c_void,
    pub(super) e_idp: *mut c_void,
    pub(super) e_metrics: *mut c_void,
    pub(super) e_result_call_back: *mut c_void,
    pub(super) e_fetch_call_back: *mut c_void,
    pub(super) e_check_call_back: *mut c_void,
    pub(super) e_done_call_back: *mut c_void,
    pub(super) e_context: c_int,
    pub(super) e_end_call_back: extern "C" fn(c_int),
    pub(super) e_label_call_back: *mut c_void,
}

/// `PMDA_EXT_SETUPDONE`.
const PMDA_EXT_SETUPDONE: c_uint = 1 << 2;
/// `pmdaUnknown` of `pmdaIoType`.
const PMDA_UNKNOWN: c_int = 3;

impl Ext {
    /// The extension as `pmdaDSO` initializes it (INIT-10). `name` stays for as long as the
    /// extension.
    pub(super) fn new(name: *const c_char, domain: c_int, ended: extern "C" fn(c_int)) -> Ext {
        Ext {
            e_flags: PMDA_EXT_SETUPDONE,
            e_ext: ptr::null_mut(),
            e_sockname: ptr::null_mut(),
            e_name: name,
            e_logfile: ptr::null(),
            e_helptext: ptr::null(),
            e_status: 0,
            e_infd: -1,
            e_outfd: -1,
            e_port: -1,
            e_singular: -1,
            e_ordinal: -1,
            e_direct: 0,
            e_domain: domain,
            e_nmetrics: 0,
            e_nindoms: 0,
            e_help: -1,
            e_prof: ptr::null_mut(),
            e_io: PMDA_UNKNOWN,
            e_indoms: ptr::null_mut(),
            e_idp: ptr::null_mut(),
            e_metrics: ptr::null_mut(),
            e_result_call_back: ptr::null_mut(),
            e_fetch_call_back: ptr::null_mut(),
            e_check_call_back: ptr::null_mut(),
            e_done_call_back: ptr::null_mut(),
            e_context: 0,
            e_end_call_back: ended,
            e_label_call_back: ptr::null_mut(),
        }
    }

    /// The client of the call, which the host has written before it (MAIN-42).
    pub(super) fn context(&self) -> c_int {
        self.e_context
    }
}

/// `pmProfile`.
#[repr(C)]
pub(super) struct Profile {
    pub(super) state: c_int,
    pub(super) count: c_int,
    pub(super) domains: *const DomainProfile,
}

/// `pmInDomProfile`.
#[repr(C)]
pub(super) struct DomainProfile {
    pub(super) indom: c_uint,
    pub(super) state: c_int,
    pub(super) count: c_int,
    pub(super) instances: *const c_int,
}

/// `pmDesc`: five words, the last of which is `pmUnits`.
pub(super) type Desc = [u32; 5];

/// `pmInResult`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct InResult {
    pub(super) indom: c_uint,
    pub(super) count: c_int,
    pub(super) instances: *mut c_int,
    pub(super) names: *mut *mut c_char,
}

/// `pmLabelSet`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct LabelSet {
    pub(super) inst: c_uint,
    pub(super) count: c_int,
    pub(super) json: *mut c_char,
    pub(super) json_len: u16,
    /// `padding` and `compound`.
    pub(super) flags: u16,
    pub(super) labels: *mut Label,
    pub(super) hash: *mut c_void,
}

/// `pmLabel`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Label {
    pub(super) name: u16,
    pub(super) name_len: u8,
    pub(super) flags: u8,
    pub(super) value: u16,
    pub(super) value_len: u16,
}

/// Sizes and offsets on machines with 64 bits (INIT-1, INIT-2, INIT-4, LABEL-2).
#[cfg(target_pointer_width = "64")]
const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<Interface>() == 112 && offset_of!(Interface, methods) == 16);
    assert!(size_of::<Ext>() == 192 && offset_of!(Ext, e_context) == 168);
    assert!(offset_of!(Ext, e_prof) == 96 && offset_of!(Ext, e_end_call_back) == 176);
    assert!(size_of::<Profile>() == 16 && size_of::<DomainProfile>() == 24);
    assert!(size_of::<InResult>() == 24 && offset_of!(ResultHead, sets) == 24);
    assert!(offset_of!(ValueSet, values) == 16 && size_of::<Value>() == 16);
    assert!(size_of::<ValueSet>() == offset_of!(ValueSet, values));
    assert!(size_of::<LabelSet>() == 40 && size_of::<Label>() == 8);
};
