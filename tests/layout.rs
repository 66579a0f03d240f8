//! Sizes and offsets of the public structures: the installed headers, ours, and the Rust types
//! (INIT-2, INIT-3, INIT-4).

#[allow(dead_code, unsafe_code, unreachable_pub)]
#[path = "../pmda/src/dso/abi.rs"]
mod dso;
#[allow(dead_code)]
#[path = "../pmda/src/memory/abi.rs"]
mod memory;

use std::fs;
use std::mem::offset_of;

use pcp_pmda::view::interface::pmdaInterface;
use pcp_pmda::view::types::*;
use pcp_pmda_test::{compiler, profile_dir, root, run};

/// Defines a list of `(C expression, Rust value)`: the size of each structure, the size and place
/// of each field.
macro_rules! layout {
    ($($structure:ident { $($field:ident),* })*) => {
        fn rust_layout() -> Vec<(String, usize)> {
            let mut list = Vec::new();
            $(
                let name = stringify!($structure);
                list.push((format!("sizeof({name})"), size_of::<$structure>()));
                list.push((format!("__alignof__({name})"), align_of::<$structure>()));
                $({
                    let field = stringify!($field).trim_start_matches("r#");
                    list.push((format!("offsetof({name}, {field})"), offset_of!($structure, $field)));
                    list.push((format!("sizeof((({name} *)0)->{field})"), size_of_field(|it: &mut $structure, value| it.$field = value)));
                })*
            )*
            list
        }
    };
}

/// Of what can be assigned to it: safe for a union, too, also with Rust 1.85.
fn size_of_field<S, F>(_: impl FnOnce(&mut S, F)) -> usize {
    size_of::<F>()
}

layout! {
    pmdaInstid { i_inst, i_name }
    pmdaIndom { it_indom, it_numinst, it_set }
    pmdaMetric { m_user, m_desc }
    pmdaExt {
        e_flags, e_ext, e_sockname, e_name, e_logfile, e_helptext, e_status, e_infd, e_outfd, e_port, e_singular,
        e_ordinal, e_direct, e_domain, e_nmetrics, e_nindoms, e_help, e_prof, e_io, e_indoms, e_idp, e_metrics,
        e_resultCallBack, e_fetchCallBack, e_checkCallBack, e_doneCallBack, e_context, e_endCallBack, e_labelCallBack
    }
    pmdaInterface { domain, comm, status }
    pmdaOptions {
        version, flags, short_options, long_options, short_usage, r#override, index, optind, opterr, optopt, optarg,
        __initialized, __nextchar, __ordering, __posixly_correct, __first_nonopt, __last_nonopt, errors, username
    }
    pmDesc { pmid, indom, sem, units }
    pmAtomValue { l, ul, ll, ull, f, d, cp, vbp }
    pmValue { inst, value }
    pmValueSet { pmid, numval, valfmt, vlist }
    pmResult { timestamp, numpmid, vset }
    pmInResult { indom, numinst, instlist, namelist }
    pmInDomProfile { indom, state, instances_len, instances }
    pmProfile { state, profile_len, profile }
    pmLabelSet { inst, nlabels, json, labels, hash }
    __pmdaRootPDUHdr { r#type, length, status, version }
    __pmdaRootPDUInfo { hdr, features, zeroed }
    __pmdaRootPDUContainer { hdr, pid, namelen, name }
    __pmdaRootPDUStart { hdr, pid, infd, outfd, ipctype, namelen, argslen, name, args }
    __pmdaRootPDUStop { hdr, pid, code, force, zeroed }
}

/// The methods: one structure in Rust, a union of structures in C that all begin alike.
fn method_layout() -> Vec<(String, usize)> {
    let mut list = Vec::new();
    let mut add = |versions: &[&str], field: &str, offset: usize| {
        for version in versions {
            list.push((format!("offsetof(pmdaInterface, version.{version}.{field})"), offset));
        }
    };
    let all = ["any", "two", "three", "four", "five", "six", "seven"];
    macro_rules! method {
        ($versions:expr, $($field:ident)*) => {
            $(add($versions, stringify!($field), offset_of!(pmdaInterface, $field));)*
        };
    }
    method!(&all, ext profile fetch desc instance text store);
    method!(&all[3..], pmid name children);
    method!(&all[5..], attribute);
    method!(&all[6..], label);
    list.push((
        "offsetof(pmdaInterface, version)".to_owned(),
        offset_of!(pmdaInterface, ext),
    ));
    list
}

/// The structures that the crate for agents in Rust declares, by C's names: sizes, and the place of
/// each field.
fn agents_layout() -> Vec<(String, usize)> {
    let mut list = Vec::new();
    macro_rules! layout {
        ($($structure:ident is $c:ident { $($field:ident is $name:literal),* })*) => {$(
            $(list.push((format!("offsetof({}, {})", stringify!($c), $name), offset_of!($structure, $field)));)*
        )*};
    }
    macro_rules! sizes {
        ($($structure:ident is $c:ident),*) => {
            $(list.push((format!("sizeof({})", stringify!($c)), size_of::<$structure>()));)*
        };
    }
    use dso::{DomainProfile, Ext, InResult, Interface, Label, LabelSet, Methods, Profile};
    use memory::{ResultHead, Value, ValueSet};
    sizes! {
        Interface is pmdaInterface, Ext is pmdaExt, Profile is pmProfile, DomainProfile is pmInDomProfile,
        InResult is pmInResult, LabelSet is pmLabelSet, Label is pmLabel, Value is pmValue
    }
    list.push(("sizeof(pmDesc)".to_owned(), size_of::<dso::Desc>()));
    layout! {
        Interface is pmdaInterface { domain is "domain", interface is "comm", status is "status", methods is "version" }
        Ext is pmdaExt {
            e_flags is "e_flags", e_ext is "e_ext", e_sockname is "e_sockname", e_name is "e_name",
            e_logfile is "e_logfile", e_helptext is "e_helptext", e_status is "e_status", e_infd is "e_infd",
            e_outfd is "e_outfd", e_port is "e_port", e_singular is "e_singular", e_ordinal is "e_ordinal",
            e_direct is "e_direct", e_domain is "e_domain", e_nmetrics is "e_nmetrics", e_nindoms is "e_nindoms",
            e_help is "e_help", e_prof is "e_prof", e_io is "e_io", e_indoms is "e_indoms", e_idp is "e_idp",
            e_metrics is "e_metrics", e_result_call_back is "e_resultCallBack",
            e_fetch_call_back is "e_fetchCallBack", e_check_call_back is "e_checkCallBack",
            e_done_call_back is "e_doneCallBack", e_context is "e_context", e_end_call_back is "e_endCallBack",
            e_label_call_back is "e_labelCallBack"
        }
        Profile is pmProfile { state is "state", count is "profile_len", domains is "profile" }
        DomainProfile is pmInDomProfile {
            indom is "indom", state is "state", count is "instances_len", instances is "instances"
        }
        InResult is pmInResult { indom is "indom", count is "numinst", instances is "instlist", names is "namelist" }
        LabelSet is pmLabelSet {
            inst is "inst", count is "nlabels", json is "json", labels is "labels", hash is "hash"
        }
        ResultHead is pmdaResult { timestamp is "timestamp", count is "numpmid", sets is "vset" }
        ValueSet is pmValueSet { pmid is "pmid", numval is "numval", valfmt is "valfmt", values is "vlist" }
        Value is pmValue { inst is "inst", value is "value" }
    }
    let methods = offset_of!(Interface, methods);
    macro_rules! methods {
        ($($field:ident)*) => {$(list.push((
            format!("offsetof(pmdaInterface, version.seven.{})", stringify!($field)),
            methods + offset_of!(Methods, $field),
        ));)*};
    }
    methods!(ext profile fetch desc instance text store pmid name children attribute label);
    list
}

/// Structures that Rust has no types for: compared between the two sets of headers only.
const ONLY_C: &str = "
    sizeof(__pmDSO) offsetof(__pmDSO,domain) offsetof(__pmDSO,name) offsetof(__pmDSO,init) offsetof(__pmDSO,handle)
    offsetof(__pmDSO,ctx_last_prof) offsetof(__pmDSO,dispatch)
    sizeof(pmdaIoType) sizeof(__pmdaRootServerFeature)";

/// The values of C expressions with the installed headers, or with ours.
fn c_layout(test: &str, ours: bool, expressions: &[String]) -> Vec<usize> {
    let folder = profile_dir().join("test-layout");
    fs::create_dir_all(&folder).expect("target is writable");
    let source = folder.join(format!("{test}-{ours}.c"));
    let program = source.with_extension("run");
    let lines: String = expressions
        .iter()
        .map(|what| format!("    printf(\"%zu\\n\", (size_t){what});\n"))
        .collect();
    let text = format!(
        "#include <stddef.h>\n#include <stdio.h>\n#include <string.h>\n#include <pcp/pmapi.h>\n#include <pcp/pmda.h>\n\
         #include <pcp/pmdaroot.h>\n\
         static pmdaInterface p;\n\
         static size_t comm(void)\n{{\n    unsigned int word;\n    p.comm.pmda_interface = 7;\n\
         \x20   p.comm.pmapi_version = 2;\n    p.comm.flags = 0x44;\n    memcpy(&word, &p.comm, sizeof(word));\n\
         \x20   return word;\n}}\n\
         int main(void)\n{{\n{lines}    return 0;\n}}\n"
    );
    fs::write(&source, text).expect("target is writable");
    let mut compiler = compiler();
    if ours {
        compiler.arg("-I").arg(root().join("include"));
    }
    let output = compiler
        .arg("-o")
        .arg(&program)
        .arg(&source)
        .output()
        .expect("cc is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = run::command(&program).output().expect("a program that was just made");
    let text = String::from_utf8(output.stdout).expect("numbers");
    text.lines().map(|line| line.parse().expect("a number")).collect()
}

#[test]
fn the_same_everywhere() {
    let mut expected = rust_layout();
    expected.extend(method_layout());
    let mut expressions: Vec<_> = expected.iter().map(|(what, _)| what.clone()).collect();
    expressions.extend(ONLY_C.split_whitespace().map(str::to_owned));
    let (installed, ours) = (
        c_layout("all", false, &expressions),
        c_layout("all", true, &expressions),
    );
    assert_eq!(installed.len(), expressions.len());
    for (number, what) in expressions.iter().enumerate() {
        assert_eq!(ours[number], installed[number], "our header: {what}");
        if let Some((_, rust)) = expected.get(number) {
            assert_eq!(*rust, installed[number], "src/view/types.rs: {what}");
        }
    }
}

/// The structures that the crate for agents in Rust declares are those of our header, with which
/// the library's are compared as well: neither crate knows the other. On 32 bits no DSO in Rust
/// starts, as a result's time may have either of two lengths there.
#[test]
#[cfg_attr(target_pointer_width = "32", ignore = "no DSO in Rust starts on 32 bits")]
fn agents_in_rust_lay_structures_out_as_c_does() {
    let expected = agents_layout();
    let expressions: Vec<_> = expected.iter().map(|(what, _)| what.clone()).collect();
    let header = c_layout("agents", true, &expressions);
    assert_eq!(header.len(), expressions.len());
    for ((what, rust), c) in expected.iter().zip(header) {
        assert_eq!(*rust, c, "pmda/src/dso/abi.rs, pmda/src/memory/abi.rs: {what}");
    }
}

/// The three bit-fields of `comm` as Rust packs them.
#[test]
fn bit_fields_of_comm() {
    let comm = vec!["comm()".to_owned()];
    let word = c_layout("comm", false, &comm);
    assert_eq!(word, c_layout("comm", true, &comm));
    let [interface, pmapi, low, high] = u32::try_from(word[0]).expect("32 bits").to_ne_bytes();
    let flags = u16::from_ne_bytes([low, high]);
    assert_eq!((interface, pmapi, flags), (7, 2, 0x44));
    let places = [
        offset_of!(Comm, interface),
        offset_of!(Comm, pmapi),
        offset_of!(Comm, flags),
    ];
    assert_eq!(places, [0, 1, 2]);
}
