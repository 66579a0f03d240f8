//! Our headers against the installed ones: what compiles against those must compile against ours
//! and mean the same.
//!
//! `make headers` refreshes the checked-in files after a change of an exported function or `capi`.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use pcp_pmda_sources::generated;
use pcp_pmda_sources::headers::{HEADERS, Headers, INCLUDES, PMAPI, compile, macros, prototypes, run, succeeds};
use pcp_pmda_test::{release, renamed_since, root, skipped};
use regex::Regex;

#[test]
fn the_checked_in_headers_are_current() {
    for (header, fresh) in generated::headers(&root().join("src"), &root().join("capi")) {
        let kept = root().join("include/pcp").join(header);
        let current = fs::read_to_string(&kept).unwrap_or_default() == fresh;
        assert!(current, "include/pcp/{header} is stale: run make headers");
    }
}

#[test]
fn the_same_functions_are_declared() {
    let names = |headers| prototypes(headers).into_keys().collect::<BTreeSet<_>>();
    let (installed, ours) = (names(Headers::Installed), names(Headers::Ours));
    assert!(installed.len() > 120, "gcc lists {} functions", installed.len());
    let missing: Vec<_> = installed.difference(&ours).collect();
    // The functions that `pmdaFreeResultValues` stands for.
    let extra: Vec<_> = ours
        .difference(&installed)
        .filter(|name| !name.starts_with("__pmFreeResultValues"))
        .filter(|name| !renamed_since().iter().any(|(renamed, _)| renamed == name))
        .collect();
    assert!(
        missing.is_empty() && extra.is_empty(),
        "missing: {missing:?}\nnot expected: {extra:?}"
    );
}

/// C accepts a second declaration only if its types are compatible with the first one.
#[test]
fn prototypes_are_compatible() {
    let declare = |headers| prototypes(headers).into_values().collect::<Vec<_>>().join("\n");
    let theirs = format!("{INCLUDES}{}\n", declare(Headers::Ours));
    succeeds(&compile(
        "gcc",
        Headers::Installed,
        "ours-again.c",
        &theirs,
        &["-fsyntax-only"],
    ));
    let ours = format!("{INCLUDES}{}\n", declare(Headers::Installed));
    succeeds(&compile(
        "gcc",
        Headers::Ours,
        "theirs-again.c",
        &ours,
        &["-fsyntax-only"],
    ));
}

/// The last test can fail: a prototype with another constness is refused.
#[test]
fn an_incompatible_prototype_is_refused() {
    for (name, wrong) in [
        (
            "const.c",
            "extern int pmdaGetOpt(int, char **, const char *, pmdaInterface *, int *);",
        ),
        ("type.c", "extern int pmdaTreeSize(const pmdaNameSpace *);"),
        ("result.c", "extern void pmdaTreeRelease(pmdaNameSpace *, int);"),
    ] {
        let text = format!("{INCLUDES}{wrong}\n");
        assert!(
            !compile("gcc", Headers::Ours, name, &text, &["-fsyntax-only"])
                .status
                .success(),
            "{wrong}"
        );
    }
}

#[test]
fn formats_are_checked() {
    for function in ["pmdaAddLabels", "pmdaAddNotes"] {
        let call = |arguments: &str| {
            let text = format!("{INCLUDES}int f(pmLabelSet **s) {{ return {function}(s, {arguments}); }}\n");
            compile(
                "gcc",
                Headers::Ours,
                &format!("{function}.c"),
                &text,
                &["-Wformat", "-Werror", "-fsyntax-only"],
            )
        };
        succeeds(&call("\"{\\\"a\\\":%d}\", 1"));
        assert!(!call("\"{\\\"a\\\":%d}\", \"text\"").status.success(), "{function}");
    }
}

/// Definitions that our headers have for PCP 6 as well: PCP's own headers have them from PCP 7 on.
const ADDED: [&str; 6] = [
    "PMDA_CACHE_WRITE",
    "PMDA_UNITS",
    "pmdaResult",
    "pmdaFreeResult",
    "pmdaFreeResultValues",
    "pmdaSortInstances",
];

#[test]
fn macros_stand_for_the_same() {
    let (installed, ours) = (macros(Headers::Installed), macros(Headers::Ours));
    assert!(installed.len() > 75, "gcc lists {} macros", installed.len());
    for (name, body) in &installed {
        assert_eq!(ours.get(name), Some(body), "{name}");
    }
    let extra: Vec<_> = ours.keys().filter(|name| !installed.contains_key(*name)).collect();
    let added = |name: &str| ADDED.iter().any(|added| name.split('(').next() == Some(added));
    assert!(extra.iter().all(|name| added(name)), "not expected: {extra:?}");
}

/// Numbers and texts, as the compiler sees them; then what takes arguments.
#[test]
fn macros_have_the_same_values() {
    let values: Vec<_> = macros(Headers::Installed)
        .into_iter()
        .filter(|(_, body)| {
            body.starts_with(|c: char| c.is_ascii_digit() || c.is_ascii_uppercase() || "(\"".contains(c))
        })
        .map(|(name, _)| name)
        .filter(|name| !name.contains('('))
        .collect();
    assert!(values.len() > 55, "only {} macros have a value", values.len());
    let shown: String = values.iter().map(|name| format!("    SHOW({name});\n")).collect();
    let text = format!(
        "{INCLUDES}#include <stdio.h>
#define SHOW(m) printf(_Generic((m), char *: \"%s = %s\\n\", int: \"%s = %d\\n\", unsigned int: \"%s = %u\\n\"), #m, m)
#define OPTION(m) show(#m, (pmLongOptions)m)
static void show(const char *name, pmLongOptions option)
{{
    printf(\"%s = %s %d %c %s %s\\n\", name, option.long_opt, option.has_arg, option.short_opt,
\toption.argname ? option.argname : \"-\", option.message ? option.message : \"-\");
}}
int main(void)
{{
    pmUnits units = PMDA_PMUNITS(1, -2, 3, 4, 5, 6);
{shown}    printf(\"%d %d %d\\n\", PMDA_PMID(3, 4), PMDA_PMID(4097, 1025), PMDA_PMID(1 + 1, 2 | 1));
    printf(\"%d %d %d\", units.dimSpace, units.dimTime, units.dimCount);
    printf(\" %d %d %d\\n\", units.scaleSpace, units.scaleTime, units.scaleCount);
    printf(\"%d %d %d %d %d\\n\", pmdaPipe, pmdaInet, pmdaUnix, pmdaUnknown, pmdaIPv6);
    printf(\"%d %d %d\\n\", PDUROOT_FLAG_HOSTNAME, PDUROOT_FLAG_PROCESSID, PDUROOT_FLAG_CGROUPNAME);
    OPTION(PMDAOPT_DEBUG); OPTION(PMDAOPT_DOMAIN); OPTION(PMDAOPT_HELPTEXT); OPTION(PMDAOPT_INET);
    OPTION(PMDAOPT_IPV6); OPTION(PMDAOPT_LOGFILE); OPTION(PMDAOPT_PIPE); OPTION(PMDAOPT_UNIX);
    OPTION(PMDAOPT_USERNAME); OPTION(PMDA_OPTIONS_HEADER(\"head\")); OPTION(PMDA_OPTIONS_TEXT(\"text\"));
    return 0;
}}
"
    );
    let installed = run(Headers::Installed, "values.c", &text);
    assert_eq!(installed, run(Headers::Ours, "values.c", &text));
    assert!(installed.contains("PMDA_CACHE_DUMP_ALL = 20\n"), "{installed}");
}

/// Agents for both generations free the values of a result, and the result.
#[test]
fn results_can_be_freed() {
    let text = format!(
        "{INCLUDES}void release(pmdaResult *values, pmdaResult *all)
{{
    pmdaFreeResultValues(values);
    pmdaFreeResult(all);
}}
"
    );
    let strict = ["-Wall", "-Werror", "-fsyntax-only"];
    succeeds(&compile("gcc", Headers::Ours, "release.c", &text, &strict));
    succeeds(&compile("g++", Headers::Ours, "release.cc", &text, &strict));
}

/// A macro of the agent's that is named like a parameter (`#define interface struct` is a real
/// idiom) does our prototypes as little harm as the installed ones: their parameters have no names,
/// or reserved ones.
#[test]
fn macros_of_agents_do_no_harm() {
    let lower_case = Regex::new(r"(?-u:\b)_*([a-z][a-z0-9_]*)(?-u:\b)").expect("valid");
    let mut words = BTreeSet::new();
    for header in HEADERS {
        let place = root().join("include/pcp").join(header).display().to_string();
        let code = compile(
            "gcc",
            Headers::Ours,
            "no-comments.c",
            "",
            &["-fpreprocessed", "-E", "-P", &place],
        );
        words.extend(
            lower_case
                .captures_iter(&succeeds(&code))
                .map(|word| word[1].to_owned()),
        );
    }
    let before_headers = |macros: &str| INCLUDES.replacen(PMAPI, &format!("{PMAPI}#include <stdarg.h>\n{macros}"), 1);
    let harmless = |word: &String| {
        let text = before_headers(&format!("#define {word} 42\n"));
        let output = compile("gcc", Headers::Installed, "word.c", &text, &["-w", "-fsyntax-only"]);
        output.status.success()
    };
    words.retain(harmless);
    for expected in ["interface", "fd", "path", "metric", "result"] {
        assert!(words.contains(expected), "{expected} is not among {words:?}");
    }
    let macros: String = words.iter().map(|word| format!("#define {word} 42\n")).collect();
    let text = before_headers(&macros);
    succeeds(&compile(
        "gcc",
        Headers::Ours,
        "words.c",
        &text,
        &["-w", "-fsyntax-only"],
    ));
}

/// An agent's usual declarations, in the words that C and C++ share.
const AGENT: &str = r#"
#ifndef pmdaResult
# define pmdaResult pmResult
#endif
static pmdaInstid colours[] = { { 0, NULL }, { 1, NULL } };
static pmdaIndom indomtab[] = { { 0, 2, colours } };
static pmdaMetric metrictab[] = {
    { NULL, { PMDA_PMID(0,0), PM_TYPE_U32, 0, PM_SEM_INSTANT, PMDA_PMUNITS(0,0,0,0,0,0) } },
    { NULL, { PMDA_PMID(0,1), PM_TYPE_U32, 0, PM_SEM_COUNTER, PMDA_PMUNITS(0,-1,1,0,PM_TIME_SEC,PM_COUNT_ONE) } },
};
static pmLongOptions longopts[] = {
    PMDA_OPTIONS_HEADER("Options"), PMDAOPT_DEBUG, PMDAOPT_DOMAIN, PMDAOPT_HELPTEXT, PMDAOPT_INET, PMDAOPT_IPV6,
    PMDAOPT_LOGFILE, PMDAOPT_PIPE, PMDAOPT_UNIX, PMDAOPT_USERNAME, PMDA_OPTIONS_TEXT("Text"), PMDA_OPTIONS_END
};
static int value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    atom->ul = metric->m_desc.pmid + inst;
    return PMDA_FETCH_STATIC;
}
static int fetch(int count, pmID *list, pmdaResult **result, pmdaExt *ext)
{
    return pmdaFetch(count, list, result, ext);
}
__PMDA_INIT_CALL void agent_init(pmdaInterface *dispatch);
void agent_init(pmdaInterface *dispatch)
{
    struct pmdaOptions *options = NULL;
    __pmDSO dso;

    pmdaDSO(dispatch, PMDA_INTERFACE_LATEST, NULL, NULL);
    if (dispatch->status != 0)
	return;
    dispatch->version.any.fetch = fetch;
    dispatch->version.four.pmid = pmdaPMID;
    dispatch->version.six.attribute = pmdaAttribute;
    dispatch->version.seven.label = pmdaLabel;
    dispatch->comm.flags |= PMDA_FLAG_AUTHORIZE;
    dispatch->version.two.ext->e_io = pmdaUnix;
    dso.dispatch = *dispatch;
    (void)dso;
    (void)longopts;
    (void)options;
    pmdaSetFetchCallBack(dispatch, value);
    pmdaInit(dispatch, indomtab, 1, metrictab, 2);
}
"#;

#[test]
fn compiles_in_every_dialect() {
    // Without the macro, pmapi.h itself has no struct timespec where the standard is strict.
    let strict = [
        "-D_DEFAULT_SOURCE",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-pedantic",
        "-fsyntax-only",
    ];
    let mut compiled = 0;
    for (compiler, standards, ending) in [
        ("gcc", &["-std=c99", "-std=c11", "-std=gnu17"][..], "c"),
        ("clang", &["-std=c99", "-std=c11", "-std=gnu17"], "c"),
        ("g++", &["-std=c++17", "-std=c++20"], "cc"),
        ("clang++", &["-std=c++17", "-std=c++20"], "cc"),
    ] {
        if Command::new(compiler).arg("--version").output().is_err() {
            // Only gcc is part of what building needs; the others are tried where they are.
            assert_ne!(compiler, "gcc", "gcc is not installed");
            continue;
        }
        for standard in standards {
            for (part, text) in [("only", INCLUDES.to_owned()), ("agent", format!("{INCLUDES}{AGENT}"))] {
                // An empty translation unit is an error of its own in strict C.
                let text = format!("{text}extern int end;\n");
                let arguments = [&strict[..], &[standard]].concat();
                let name = format!("{compiler}{standard}-{part}.{ending}");
                succeeds(&compile(compiler, Headers::Ours, &name, &text, &arguments));
                compiled += 1;
            }
        }
    }
    assert!(compiled >= 6);
}

/// The programs of the differential tests, the benchmarks and the examples, which others compile
/// with the installed headers.
#[test]
fn programs_compile() {
    let strict = "-fsyntax-only -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-deprecated-declarations";
    let mut open: Vec<_> = ["tests/c", "benches/c", "c-examples"]
        .map(|folder| root().join(folder))
        .to_vec();
    let mut compiled = 0;
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(
                fs::read_dir(&path)
                    .expect("a folder of programs")
                    .flatten()
                    .map(|entry| entry.path()),
            );
        } else if path.extension().is_some_and(|kind| kind == "c") {
            let output = Command::new("gcc")
                .args(Headers::Ours.arguments())
                .args(strict.split(' '))
                .arg("-I")
                .arg(root().join("tests/c"))
                .arg(&path)
                .output();
            succeeds(&output.expect("gcc is installed"));
            compiled += 1;
        }
    }
    assert!(compiled > 20, "only {compiled} programs");
}

/// Both programming interfaces of libpcp: with PMAPI_VERSION_3, pmResult is another structure.
#[test]
fn compiles_with_both_pmapi_versions() {
    for version in ["PMAPI_VERSION_2", "PMAPI_VERSION_3"] {
        let text = format!("#define PMAPI_VERSION {version}\n{INCLUDES}{AGENT}");
        for headers in [Headers::Installed, Headers::Ours] {
            succeeds(&compile(
                "gcc",
                headers,
                &format!("{version}.c"),
                &text,
                &["-Wall", "-Werror", "-fsyntax-only"],
            ));
        }
    }
}

/// The preprocessor's choices for PCP 7, as far as they show without its pmapi.h: the type of a
/// result, and units with two more fields, in C and in C++.
#[test]
fn the_other_generation() {
    if release() >= [7, 0, 0] {
        skipped("PCP 7 is installed, and has no other generation");
        return;
    }
    let text = format!(
        "{}#undef PM_VERSION_CURRENT
#define PM_VERSION_CURRENT PM_VERSION(7,2,0)
typedef struct {{ struct timeval timestamp; }} pmResult_v2;
#include <pcp/pmda.h>
#include <stdio.h>
typedef struct {{
    int extraScale, extraUnit, scaleCount, scaleTime, scaleSpace, dimCount, dimTime, dimSpace;
}} units;
int main(void)
{{
    units plain = PMDA_PMUNITS(1, 2, 3, 4, 5, 6), extra = PMDA_EXTRAUNITS(1, 2, 3, 4, 5, 6, 7, 8);
    pmdaResultCallBack callback = (void (*)(pmResult_v2 *))NULL;
    printf(\"%d %d %d %d\\n\", plain.dimSpace, plain.scaleCount, plain.extraUnit, plain.extraScale);
    printf(\"%d %d %d %d\\n\", extra.dimSpace, extra.scaleCount, extra.extraUnit, extra.extraScale);
    return callback != NULL;
}}
",
        PMAPI
    );
    for (compiler, name) in [("gcc", "generation.c"), ("g++", "generation.cc")] {
        let program = pcp_pmda_sources::headers::file(&format!("{name}.run"));
        let place = program.display().to_string();
        let strict = ["-Wall", "-Werror", "-o", &place];
        succeeds(&compile(compiler, Headers::Ours, name, &text, &strict));
        let output = Command::new(program).output().expect("a program that was just made");
        assert_eq!(succeeds(&output), "1 6 0 0\n1 6 7 8\n", "{compiler}");
    }
}
