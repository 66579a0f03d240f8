//! Builds the parts that are not Rust: the bindings to libpcp, the variadic functions in C, the
//! version nodes of the shared library, and the pkg-config file.

#[path = "build/compiler.rs"]
mod compiler;
#[path = "build/headers.rs"]
mod headers;
#[path = "build/target.rs"]
mod target;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::{env, io, panic};

use compiler::Compiler;

/// The functions of libpcp that the library calls: the public ones, then the private ones, each of
/// which has a reason beside its prototype in `capi/wrapper.h`.
const LIBPCP_FUNCTIONS: &str = "pmNotifyErr|pmErrStr_r|pmGetProgname|pmGetConfig|pmGetOptionalConfig|pmSetDebug|\
     pmOpenLog|pmprintf|pmgetopt_r|pmtimevalToReal|pmUsageMessage|pmFreeLabelSets|pmNoMem|\
     __pmSetInternalState|__pmSetVersionIPC|__pmSetSocketIPC|__pmSocketIPC|__pmResetIPC|\
     __pmIgnoreSignalPIPE|\
     __pmGetContextLabels|__pmGetDomainLabels|__pmAddLabels|__pmHashSearch|__pmAttrStr_r|__pmFreeResultValues|__pmFreeResultValues_v2|\
     __pmNewPMNS|__pmAddPMNSNode|__pmFreePMNS";

/// The types of the PMAPI that the library shares with agents and libpcp.
const LIBPCP_TYPES: &str = "pmID|pmInDom|pmDesc|pmUnits|pmAtomValue|pmValue|pmValueSet|pmValueBlock|pmResult|pmResult_v2|pmProfile|\
     pmInDomProfile|pmInResult|pmLabel|pmLabelSet|pmOptions|pmLongOptions|pmEventArray|pmHighResEventArray|\
     __pmnsTree|__pmnsNode";

/// The packages that the build needs, for its error messages.
const PACKAGES: &str = "gcc libc6-dev binutils libclang-dev pkg-config, and libpcp3-dev for PCP 5 and 6 or libpcp4-dev for \
     PCP 7 (Debian), or gcc glibc-devel binutils clang-devel pcp-libs-devel pkgconf-pkg-config (RPM)";

fn main() {
    println!("cargo::rerun-if-changed=capi");
    println!(
        "cargo::rustc-check-cfg=cfg(since_6_0, since_6_0_2, since_6_0_5, since_6_3_1, pcp7, since_7_1_1, since_7_2)"
    );
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    println!("cargo::rerun-if-changed=build");
    let compiler = or_refuse(target(&out));
    let mut libpcp = or_refuse(libpcp());
    libpcp.include_paths = headers::directories(&libpcp.include_paths);
    let times = or_refuse(times(&libpcp, &compiler));
    built_for(&libpcp, times);
    or_refuse(bindings(&libpcp, &compiler, times, &out));
    shims(&libpcp);
    or_refuse(versioned_link(&compiler, &out));
    pkgconfig(&libpcp, times, &out);
}

/// Returns the value, or ends the build and prints the reason alone.
fn or_refuse<T>(result: Result<T, String>) -> T {
    result.unwrap_or_else(|reason| {
        for line in reason.lines() {
            println!("cargo::error={line}");
        }
        std::process::exit(1)
    })
}

/// Returns the compiler of the target.
///
/// # Errors
/// Why the target is not supported, or what is missing.
fn target(out: &Path) -> Result<Compiler, String> {
    let of = |what: &str| env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    if let Some(reason) = target::refusal(of) {
        return Err(reason);
    }
    let compiler = Compiler::find();
    let probe = out.join("features.c");
    fs::write(&probe, "#include <features.h>\n").expect("OUT_DIR is writable");
    let macros = compiler.macros(&probe);
    let macros =
        macros.map_err(|error| format!("a C compiler or its headers are missing: install {PACKAGES}\n{error}"))?;
    let number = |name: &str| {
        let found = macros.iter().find(|(known, _)| known == name);
        found.and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
    };
    target::too_old(number("__GLIBC__"), number("__GLIBC_MINOR__")).map_or(Ok(compiler), Err)
}

/// Finds libpcp, links it, and sets the flags of its version for the sources.
///
/// # Errors
/// There is no libpcp.
fn libpcp() -> Result<pkg_config::Library, String> {
    let found = pkg_config::Config::new().atleast_version("5.3.6").probe("libpcp");
    let library = found.map_err(|_| {
        format!("pkg-config finds no libpcp of version 5.3.6 or later (PKG_CONFIG_PATH): install {PACKAGES}")
    })?;
    // Releases that differ in something that users of this library see: `src/sys/libpcp/mod.rs`
    // says in what.
    let version = numbers(&library.version);
    for (since, flag) in [
        ([6, 0, 0], "since_6_0"),
        ([6, 0, 2], "since_6_0_2"),
        ([6, 0, 5], "since_6_0_5"),
        ([6, 3, 1], "since_6_3_1"),
        ([7, 0, 0], "pcp7"),
        ([7, 1, 1], "since_7_1_1"),
        ([7, 2, 0], "since_7_2"),
    ] {
        if version >= since {
            println!("cargo::rustc-cfg={flag}");
        }
    }
    Ok(library)
}

/// Returns the arguments for a C compiler that give `time_t` the size that libpcp was built with.
///
/// On 32-bit machines glibc offers 32 or 64 bits, and PCP was built with the one or the other
/// (Debian's i386: 6.0 with 32, 6.3 with 64). The headers of PCP do not say which, but a libpcp
/// with 64 bits calls other functions of glibc.
///
/// # Errors
/// The file of libpcp is not found, or cannot be read.
fn times(libpcp: &pkg_config::Library, compiler: &Compiler) -> Result<&'static str, String> {
    let narrow = env::var("CARGO_CFG_TARGET_POINTER_WIDTH").is_ok_and(|width| width == "32");
    let flags = if narrow {
        let file = compiler.library("libpcp.so", &libpcp.link_paths)?;
        println!("cargo::rerun-if-changed={}", file.display());
        let bytes = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let name = b"__gettimeofday64\0";
        if bytes.windows(name.len()).any(|some| some == name) {
            "-D_TIME_BITS=64 -D_FILE_OFFSET_BITS=64"
        } else {
            "-U_TIME_BITS"
        }
    } else {
        ""
    };
    Ok(flags)
}

/// Tells the sources what the library is built for; `src/sys/libpcp/fit.rs` compares.
fn built_for(libpcp: &pkg_config::Library, times: &str) {
    let narrow = times.starts_with("-U");
    println!("cargo::rustc-env=LIBPCP_VERSION={}", libpcp.version);
    println!("cargo::rustc-env=LIBPCP_TIME_BITS={}", if narrow { 32 } else { 64 });
}

/// The three numbers of a version such as 6.0.3.
fn numbers(version: &str) -> [u32; 3] {
    let mut parts = version.split('.').map(|part| part.parse().ok());
    let parts = [(); 3].map(|()| parts.next().flatten());
    parts.map(|part| part.unwrap_or_else(|| panic!("the version of libpcp.pc is three numbers, not {version}")))
}

/// Generates the Rust declarations of libpcp's headers, as the compiler of the target reads these.
///
/// # Errors
/// What is missing.
fn bindings(libpcp: &pkg_config::Library, compiler: &Compiler, times: &str, out: &Path) -> Result<(), String> {
    let paths = libpcp.include_paths.iter();
    let mut arguments: Vec<_> = paths.map(|path| format!("-I{}", path.display())).collect();
    arguments.extend(times.split_whitespace().map(str::to_owned));
    if env::var("TARGET") != env::var("HOST") {
        // In front of clang's guesses, which are about this machine.
        for path in compiler.includes()? {
            arguments.extend(["-isystem".to_owned(), path.display().to_string()]);
        }
    }
    let libpcp_h = bindgen::Builder::default()
        .header("capi/wrapper.h")
        .allowlist_function(LIBPCP_FUNCTIONS)
        .allowlist_type(LIBPCP_TYPES)
        .allowlist_type("time_t|timeval|timespec")
        .allowlist_var("pmDebugOptions|PM_.*|PMAPI_.*|PMNS_.*")
        .blocklist_type("_IO_FILE|FILE")
        .raw_line("use libc::FILE;");
    let file = out.join("libpcp.rs");
    generate(libpcp_h, &arguments, &file)?;
    let text = fs::read_to_string(file).expect("bindgen has written it");
    headers::difference(&text, numbers(&libpcp.version), &libpcp.include_paths).map_or(Ok(()), Err)
}

/// Runs bindgen with these arguments for clang, and writes its output to `file`.
///
/// # Errors
/// What is missing.
fn generate(builder: bindgen::Builder, arguments: &[String], file: &Path) -> Result<(), String> {
    // The callbacks tell cargo of each header, so that it builds again when a header changes. rustfmt
    // is not installed everywhere.
    let builder = builder
        .clang_args(arguments)
        .parse_callbacks(Box::new(bindgen::CargoCallbacks::new()))
        .formatter(bindgen::Formatter::None)
        .derive_debug(false)
        .layout_tests(true);
    // bindgen panics when it finds no libclang, and returns an error when a header is missing.
    match panic::catch_unwind(AssertUnwindSafe(|| builder.generate())) {
        Ok(Ok(bindings)) => bindings.write_to_file(file).expect("OUT_DIR is writable"),
        Ok(Err(error)) => return Err(format!("a C header is missing: install {PACKAGES}\n{error}")),
        Err(_) => return Err(format!("libclang is missing: install {PACKAGES}")),
    }
    Ok(())
}

/// Compiles the two functions that are variadic. They are linked in any case (`+whole-archive`), as
/// no Rust code calls them.
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

/// Gives the shared library its SONAME, the version nodes of `capi/exports.map` and the order of
/// `capi/order.ld`.
///
/// rustc adds an anonymous version script of its own; GNU ld refuses a second one and lld ignores
/// it. So a small wrapper around GNU ld exchanges the script, and `-B` makes the compiler driver
/// find the wrapper.
///
/// # Errors
/// GNU ld is missing.
fn versioned_link(compiler: &Compiler, out: &Path) -> Result<(), String> {
    // The linker that cargo is configured with, if it is.
    let linker = compiler.bfd(env::var("RUSTC_LINKER").ok())?;
    let directory = out.join("ld");
    let wrapper = directory.join("ld.bfd");
    let root = env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let text = fs::read_to_string("capi/ld-wrapper.in")
        .expect("capi/ld-wrapper.in is part of the sources")
        .replace("@MAP@", &format!("{root}/capi/exports.map"))
        .replace("@WRAPPER@", &wrapper.display().to_string())
        .replace("@LD@", &linker);
    install_executable(&directory, &wrapper, &text).expect("OUT_DIR is writable");
    println!("cargo::rustc-cdylib-link-arg=-B{}", directory.display());
    println!("cargo::rustc-cdylib-link-arg=-fuse-ld=bfd");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libpcp_pmda.so.3");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-T,{root}/capi/order.ld");
    Ok(())
}

fn install_executable(directory: &Path, file: &Path, text: &str) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    fs::write(file, text)?;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755))
}

/// Fills in `pcp_pmda.pc.in` and puts the file beside the library. `make install` changes the
/// directories in it.
fn pkgconfig(libpcp: &pkg_config::Library, times: &str, out: &Path) {
    println!("cargo::rerun-if-changed=pcp_pmda.pc.in");
    let paths: Vec<_> = libpcp
        .include_paths
        .iter()
        .map(|path| format!("-I\"{}\"", path.display()))
        .collect();
    let text = fs::read_to_string("pcp_pmda.pc.in")
        .expect("pcp_pmda.pc.in is part of the sources")
        .replace("@PREFIX@", "/usr/local")
        .replace("@LIBDIR@", "${exec_prefix}/lib")
        .replace("@INCLUDEDIR@", "${prefix}/include")
        .replace("@PCP_CFLAGS@", &paths.join(" "))
        .replace("@LIBS_PRIVATE@", "-lgcc_eh -lutil -lrt -lpthread -lm -ldl")
        .replace(
            "@TIMES@",
            &if times.starts_with("-D") {
                format!(" {times}")
            } else {
                String::new()
            },
        )
        .replace("@VERSION@", &libpcp.version);
    // target/PROFILE/build/PACKAGE/out
    let beside = out
        .ancestors()
        .nth(3)
        .expect("OUT_DIR lies in the directory of the profile");
    fs::write(beside.join("libpcp_pmda.pc"), text).expect("the directory of the profile is writable");
}
