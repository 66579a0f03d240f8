//! The build's message on a machine that is not supported.

#[path = "../build/target.rs"]
mod target;

/// The reason for a target, given as cargo describes it: system, C library, architecture, width,
/// byte order, ABI.
fn refusal(of: [&str; 6]) -> Option<String> {
    let names = ["OS", "ENV", "ARCH", "POINTER_WIDTH", "ENDIAN", "ABI"];
    target::refusal(|name| {
        let place = names.iter().position(|known| *known == name);
        place.map_or_else(String::new, |place| of[place].to_owned())
    })
}

#[test]
fn the_supported_ones() {
    for machine in [
        ["x86_64", "64", "little", ""],
        ["aarch64", "64", "little", ""],
        ["powerpc64", "64", "little", "elfv2"],
        ["s390x", "64", "big", ""],
        ["riscv64", "64", "little", ""],
        ["x86", "32", "little", ""],
        ["arm", "32", "little", "eabihf"],
    ] {
        let [arch, width, order, abi] = machine;
        assert_eq!(refusal(["linux", "gnu", arch, width, order, abi]), None, "{machine:?}");
    }
}

/// One sentence that names what is not supported.
#[test]
fn all_others() {
    for (of, names) in [
        (["macos", "", "aarch64", "64", "little", ""], "macos"),
        (["linux", "musl", "x86_64", "64", "little", ""], "musl"),
        (["linux", "gnu", "x86_64", "32", "little", "x32"], "x32"),
        (["linux", "gnu", "powerpc64", "64", "big", ""], "big-endian"),
        (["linux", "gnu", "mips64", "64", "little", "abi64"], "mips64"),
        (["linux", "gnu", "arm", "32", "little", "eabi"], "eabi"),
        (["linux", "", "x86_64", "64", "little", ""], "another one"),
    ] {
        let reason = refusal(of).unwrap_or_else(|| panic!("{of:?} is refused"));
        assert!(reason.contains(names) && reason.starts_with("pcp_pmda "), "{reason}");
        assert!(
            !reason.contains('\n') && !reason.contains(". "),
            "one sentence: {reason}"
        );
    }
}

#[test]
fn an_old_c_library() {
    assert_eq!(target::too_old(2, 32), None);
    assert_eq!(target::too_old(2, 41), None);
    assert_eq!(target::too_old(3, 0), None);
    let reason = target::too_old(2, 31).expect("too old");
    assert_eq!(reason, "pcp_pmda needs glibc 2.32 or later; the target has 2.31");
}
