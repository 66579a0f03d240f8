//! Holds our structures against the C headers: what the compiler of the target makes of
//! `include/pcp/pmda.h`, which `tests/layout.rs` in turn compares with the installed header.
//! libpcp's own structures need none of this: they are bindgen's, who asserts their layout.

/// The structures as bindgen has read them, for the target.
#[allow(
    unknown_lints,
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    dead_code,
    unsafe_op_in_unsafe_fn,
    unused_qualifications,
    unreachable_pub,
    clippy::all,
    clippy::pedantic,
    clippy::undocumented_unsafe_blocks,
    clippy::missing_safety_doc
)]
mod header {
    include!(concat!(env!("OUT_DIR"), "/layout.rs"));
}

use std::mem::offset_of;

use crate::view::types::{
    __pmdaRootPDUContainer, __pmdaRootPDUHdr, __pmdaRootPDUInfo, __pmdaRootPDUStart, __pmdaRootPDUStop,
};
use crate::view::types::{pmdaExt, pmdaIndom, pmdaInstid, pmdaInterface, pmdaMetric, pmdaOptions};

/// Size, alignment and the place of each field that is named, in ours and in the header.
macro_rules! same {
    ($($name:ident { $($field:ident $(= $other:ident)?),* })*) => {$(
        assert!(size_of::<$name>() == size_of::<header::$name>());
        assert!(align_of::<$name>() == align_of::<header::$name>());
        $(same!(@ $name $field $($other)?);)*
    )*};
    (@ $name:ident $field:ident) => {
        same!(@ $name $field $field);
    };
    (@ $name:ident $field:ident $other:ident) => {
        assert!(offset_of!($name, $field) == offset_of!(header::$name, $other));
    };
}

/// The methods, which are one structure of ours and a union of growing ones in C.
macro_rules! methods {
    ($($field:ident)*) => {$(
        assert!(offset_of!(pmdaInterface, $field) == offset_of!(header::pmdaInterface, version.seven.$field));
    )*};
}

const _: () = {
    same! {
        pmdaInstid { i_inst, i_name }
        pmdaIndom { it_indom, it_numinst, it_set }
        pmdaMetric { m_user, m_desc }
        pmdaExt {
            e_flags, e_ext, e_sockname, e_name, e_logfile, e_helptext, e_status, e_infd, e_outfd, e_port, e_singular,
            e_ordinal, e_direct, e_domain, e_nmetrics, e_nindoms, e_help, e_prof, e_io, e_indoms, e_idp, e_metrics,
            e_resultCallBack, e_fetchCallBack, e_checkCallBack, e_doneCallBack, e_context, e_endCallBack,
            e_labelCallBack
        }
        pmdaInterface { domain, comm, status }
        pmdaOptions {
            version, flags, short_options, long_options, short_usage, r#override = override_, index, optind, opterr,
            optopt, optarg, __initialized, __nextchar, __ordering, __posixly_correct, __first_nonopt, __last_nonopt,
            errors, username
        }
        __pmdaRootPDUHdr { r#type = type_, length, status, version }
        __pmdaRootPDUInfo { hdr, features, zeroed }
        __pmdaRootPDUContainer { hdr, pid, namelen, name }
        __pmdaRootPDUStart { hdr, pid, infd, outfd, ipctype, namelen, argslen, name, args }
        __pmdaRootPDUStop { hdr, pid, code, force, zeroed }
    }
    methods!(ext profile fetch desc instance text store pmid name children attribute label);
};

#[cfg(test)]
mod tests {
    use super::super::types::Comm;
    use super::header;

    /// INIT-1: where the compiler of the target puts the bit-fields of `comm`.
    #[test]
    fn bit_fields_of_comm() {
        // SAFETY: the structure has numbers, pointers and optional functions, for all of which 0 is
        // a value; the three bit-fields are the four bytes of a number.
        let comm: Comm = unsafe {
            let mut agent: header::pmdaInterface = std::mem::zeroed();
            agent.comm.set_pmda_interface(7);
            agent.comm.set_pmapi_version(2);
            agent.comm.set_flags(0x8041);
            std::mem::transmute(agent.comm)
        };
        assert_eq!((comm.interface(), comm.flags()), (7, 0x8041));
        let ours = Comm(0).with_interface(7).with_pmapi(2).with_flags(0x8041);
        assert_eq!(ours, comm);
        assert_eq!(
            comm.with_interface(3)
                .with_pmapi(5)
                .with_flags(0)
                .with_interface(0)
                .with_pmapi(0),
            Comm(0)
        );
    }
}
