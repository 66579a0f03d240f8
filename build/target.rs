//! The machines that the library can be built for. `tests/target.rs` tests this file.

/// The supported machines, in cargo's words: architecture, width of a pointer in bits, byte order.
/// `docs/OPERATING.md` says what was tested on each.
const SUPPORTED: [(&str, &str, &str); 7] = [
    ("x86_64", "64", "little"),
    ("aarch64", "64", "little"),
    ("powerpc64", "64", "little"),
    ("s390x", "64", "big"),
    ("riscv64", "64", "little"),
    ("x86", "32", "little"),
    ("arm", "32", "little"),
];

/// The oldest supported glibc: the first one with `__libc_single_threaded`.
const GLIBC: [u32; 2] = [2, 32];

/// Returns why a target is not supported, as one sentence; `None` if it is. `of` returns the value
/// of cargo's variable `CARGO_CFG_TARGET_*`.
pub fn refusal(of: impl Fn(&str) -> String) -> Option<String> {
    let (system, library) = (of("OS"), of("ENV"));
    if system != "linux" {
        return Some(format!("pcp_pmda needs Linux; {system} is not supported"));
    }
    if library != "gnu" {
        return Some(format!(
            "pcp_pmda needs the GNU C library; {} is not supported",
            if library.is_empty() { "another one" } else { &library }
        ));
    }
    let (machine, width, order, abi) = (of("ARCH"), of("POINTER_WIDTH"), of("ENDIAN"), of("ABI"));
    // ARM is supported with floating-point registers; the other architectures have one variant of
    // this width.
    if SUPPORTED.contains(&(&machine, &width, &order)) && (machine != "arm" || abi == "eabihf") {
        return None;
    }
    Some(format!(
        "pcp_pmda does not support {machine} with {width}-bit pointers, {order}-endian{}: nobody has tested it, see \
         docs/OPERATING.md",
        if abi.is_empty() {
            String::new()
        } else {
            format!(" ({abi})")
        }
    ))
}

/// Returns why a version of the GNU C library is too old, as one sentence; `None` if it is not.
pub fn too_old(major: u32, minor: u32) -> Option<String> {
    ([major, minor] < GLIBC).then(|| {
        let [least, since] = GLIBC;
        format!("pcp_pmda needs glibc {least}.{since} or later; the target has {major}.{minor}")
    })
}
