//! Builds what Rust alone cannot express: the bindings to libpcp, the C shims, the version nodes of the
//! shared library, and the pkg-config file.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, io, panic};

/// The functions of libpcp that we call. Public ones first, then the private ones, each of which has its
/// reason beside its prototype in `capi/wrapper.h`.
const LIBPCP_FUNCTIONS: &str = "pmNotifyErr|pmErrStr_r|pmGetProgname|pmGetConfig|pmGetOptionalConfig|pmSetDebug|\
     pmOpenLog|pmprintf|pmgetopt_r|pmUsageMessage|pmFreeLabelSets|pmNoMem|\
     __pmSetInternalState|__pmSetVersionIPC|__pmSetSocketIPC|__pmSocketIPC|__pmIgnoreSignalPIPE|\
     __pmGetContextLabels|__pmGetDomainLabels|__pmAddLabels|__pmHashSearch|__pmAttrStr_r|__pmFreeResultValues|__pmFreeResultValues_v2|\
     __pmNewPMNS|__pmAddPMNSNode|__pmFreePMNS";

/// The types and constants of the PMAPI that cross the edge.
const LIBPCP_TYPES: &str = "pmID|pmInDom|pmDesc|pmUnits|pmAtomValue|pmValue|pmValueSet|pmValueBlock|pmResult|pmResult_v2|pmProfile|\
     pmInDomProfile|pmInResult|pmLabel|pmLabelSet|pmOptions|pmLongOptions|pmEventArray|pmHighResEventArray|\
     __pmnsTree|__pmnsNode";

/// What has to be installed for the build, for those to whom something is missing.
const PACKAGES: &str = "gcc libc6-dev binutils libclang-dev libpcp3-dev pkg-config (Debian), or gcc glibc-devel \
     binutils clang-devel pcp-libs-devel pkgconf-pkg-config (RPM)";

fn main() {
    println!("cargo::rerun-if-changed=capi");
    println!("cargo::rustc-check-cfg=cfg(since_6_0_5, pcp7, since_7_2)");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let libpcp = libpcp();
    bindings(&libpcp, &out);
    shims(&libpcp);
    versioned_link(&out);
    pkgconfig(&libpcp, &out);
}

/// Finds libpcp, links it, and tells the sources which generation it is.
fn libpcp() -> pkg_config::Library {
    let found = pkg_config::Config::new().atleast_version("6.0").probe("libpcp");
    let library = found.unwrap_or_else(|error| panic!("libpcp is missing: install {PACKAGES}\n{error}"));
    // The releases in which something changed that users of this library see; `src/libpcp/version.rs` says what.
    let version = numbers(&library.version);
    for (since, flag) in [
        ([6, 0, 5], "since_6_0_5"),
        ([7, 0, 0], "pcp7"),
        ([7, 2, 0], "since_7_2"),
    ] {
        if version >= since {
            println!("cargo::rustc-cfg={flag}");
        }
    }
    library
}

/// The three numbers of a version such as 6.0.3.
fn numbers(version: &str) -> [u32; 3] {
    let mut parts = version.split('.').map(|part| part.parse().ok());
    let parts = [(); 3].map(|()| parts.next().flatten());
    parts.map(|part| part.unwrap_or_else(|| panic!("the version of libpcp.pc is three numbers, not {version}")))
}

/// Generates the Rust view of libpcp's headers.
fn bindings(libpcp: &pkg_config::Library, out: &Path) {
    let includes = libpcp.include_paths.iter().map(|path| format!("-I{}", path.display()));
    // bindgen panics when it finds no libclang, and returns an error when a header is missing.
    let generated = panic::catch_unwind(|| {
        bindgen::Builder::default()
            .header("capi/wrapper.h")
            .clang_args(includes)
            .allowlist_function(LIBPCP_FUNCTIONS)
            .allowlist_type(LIBPCP_TYPES)
            .allowlist_var("pmDebugOptions|PM_.*|PMAPI_.*|PMNS_.*")
            .blocklist_type("timeval|timespec|time_t|_IO_FILE|FILE|__time_t|__suseconds_t|__syscall_slong_t")
            .raw_line("use libc::{FILE, timeval, timespec, time_t};")
            .derive_debug(false)
            .layout_tests(true)
            .generate()
    });
    let bindings = match generated {
        Ok(Ok(bindings)) => bindings,
        Ok(Err(error)) => panic!("a C header is missing: install {PACKAGES}\n{error}"),
        Err(_) => panic!("libclang is missing: install {PACKAGES}"),
    };
    bindings
        .write_to_file(out.join("libpcp.rs"))
        .expect("OUT_DIR is writable");
}

/// Compiles the two functions that are variadic in C, and links them in whole: nothing in Rust calls them.
fn shims(libpcp: &pkg_config::Library) {
    if !Path::new("capi/shim.c").exists() {
        return;
    }
    cc::Build::new()
        .file("capi/shim.c")
        .includes(&libpcp.include_paths)
        .warnings_into_errors(true)
        .link_lib_modifier("+whole-archive")
        .compile("pcp_pmda_shim");
}

/// Gives the shared library its SONAME and the version nodes of `capi/exports.map`.
///
/// rustc adds an anonymous version script of its own; GNU ld refuses a second one and lld ignores it. So a
/// small wrapper around GNU ld exchanges the script, and `-B` makes the compiler driver find the wrapper.
fn versioned_link(out: &Path) {
    let directory = out.join("ld");
    let wrapper = directory.join("ld.bfd");
    let root = env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let text = fs::read_to_string("capi/ld-wrapper.in")
        .expect("capi/ld-wrapper.in is part of the sources")
        .replace("@MAP@", &format!("{root}/capi/exports.map"))
        .replace("@WRAPPER@", &wrapper.display().to_string())
        .replace("@LD@", &real_linker());
    install_executable(&directory, &wrapper, &text).expect("OUT_DIR is writable");
    println!("cargo::rustc-cdylib-link-arg=-B{}", directory.display());
    println!("cargo::rustc-cdylib-link-arg=-fuse-ld=bfd");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libpcp_pmda.so.3");
}

/// The path of GNU ld as the C compiler finds it.
fn real_linker() -> String {
    let answer = Command::new("cc")
        .arg("-print-prog-name=ld.bfd")
        .output()
        .expect("a C compiler named cc is installed");
    String::from_utf8(answer.stdout)
        .expect("the compiler prints a path")
        .trim()
        .to_owned()
}

fn install_executable(directory: &Path, file: &Path, text: &str) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    fs::write(file, text)?;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755))
}

/// Fills in `pcp_pmda.pc.in` and puts the file beside the library. `make install` changes the directories in it.
fn pkgconfig(libpcp: &pkg_config::Library, out: &Path) {
    println!("cargo::rerun-if-changed=pcp_pmda.pc.in");
    let pcp_include = libpcp
        .include_paths
        .first()
        .map_or_else(|| "/usr/include/pcp".to_owned(), |path| path.display().to_string());
    let text = fs::read_to_string("pcp_pmda.pc.in")
        .expect("pcp_pmda.pc.in is part of the sources")
        .replace("@PREFIX@", "/usr/local")
        .replace("@LIBDIR@", "${exec_prefix}/lib")
        .replace("@INCLUDEDIR@", "${prefix}/include")
        .replace("@PCP_INCLUDEDIR@", &pcp_include)
        .replace("@LIBS_PRIVATE@", "-lgcc_eh -lutil -lrt -lpthread -lm -ldl")
        .replace("@VERSION@", &libpcp.version);
    // target/PROFILE/build/PACKAGE/out
    let beside = out
        .ancestors()
        .nth(3)
        .expect("OUT_DIR lies in the directory of the profile");
    fs::write(beside.join("libpcp_pmda.pc"), text).expect("the directory of the profile is writable");
}
