//! Sizes and offsets of the public structures: the installed headers, ours, and the Rust types
//! (INIT-2, INIT-3, INIT-4).

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

/// What Rust has no types for: compared between the two sets of headers only.
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
