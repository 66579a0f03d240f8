#!/usr/bin/env bash
# check-arch.sh ARCH [COMMAND…]: builds the library for another architecture of Debian, in a Debian trixie (PCP 6.3) of its own below
# target/systems, and runs the tests there, on ours and on the C library of that architecture: i386 directly, the others under
# qemu-user. ARCH is Debian's word: arm64, armhf, i386, ppc64el, riscv64, s390x. With a command, runs that in a clone of
# the sources instead. The last line sums up the tests. Needs root. docs/OPERATING.md has the results.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/system.sh
trap close_system EXIT

arch=${1:-}
shift || true
runner=
case $arch in
    arm64)   triple=aarch64-unknown-linux-gnu     gnu=aarch64-linux-gnu     runner=qemu-aarch64 ;;
    armhf)   triple=armv7-unknown-linux-gnueabihf gnu=arm-linux-gnueabihf   runner=qemu-arm ;;
    i386)    triple=i686-unknown-linux-gnu        gnu=i686-linux-gnu ;;
    ppc64el) triple=powerpc64le-unknown-linux-gnu gnu=powerpc64le-linux-gnu runner=qemu-ppc64le ;;
    riscv64) triple=riscv64gc-unknown-linux-gnu   gnu=riscv64-linux-gnu     runner=qemu-riscv64 ;;
    s390x)   triple=s390x-unknown-linux-gnu       gnu=s390x-linux-gnu       runner=qemu-s390x ;;
    *) echo "$0: '$arch' is none of arm64, armhf, i386, ppc64el, riscv64, s390x" >&2; exit 2 ;;
esac

make_system trixie "trixie-$arch"
inside dpkg --add-architecture "$arch"
inside apt-get update -q >/dev/null
# The cross build: the target's libpcp, a cross compiler for shim.c and the linker, and a Rust that knows the target.
install_inside "libpcp3-dev:$arch" "gcc-${gnu//_/-}" rustc cargo "libstd-rust-dev:$arch" gcc libc6-dev libclang-dev pkgconf
# The tests: the C library of the target to compare with, and the emulator.
install_inside "libpcp-pmda3-dev:$arch" git ca-certificates ${runner:+qemu-user}
# Shared by all architectures: what runs during the build is compiled once.
bind "$PWD/target/cross" /src/target
bind "${CARGO_HOME:-$HOME/.cargo}" /rust/cargo
rm -rf "$system/src/pcp-pmda"
git clone -q . "$system/src/pcp-pmda"
COMMIT=$(git -C "$system/src/pcp-pmda" rev-parse --short=8 HEAD)
export COMMIT

variable=$(tr 'a-z-' 'A-Z_' <<<"$triple")
there() {
    inside env -C /src/pcp-pmda HOME=/root CARGO_HOME=/rust/cargo CARGO_TARGET_DIR=/src/target PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        CARGO_BUILD_TARGET="$triple" "CARGO_TARGET_${variable}_LINKER=$gnu-gcc" ${runner:+"CARGO_TARGET_${variable}_RUNNER=$runner"} \
        PKG_CONFIG_ALLOW_CROSS=1 PKG_CONFIG_LIBDIR="/usr/lib/${gnu/i686/i386}/pkgconfig" \
        CC="$gnu-gcc" TEST_CC="$gnu-gcc" TEST_RUNNER="$runner" ${runner:+PROPTEST_CASES=32} RUST_BACKTRACE=0 "$@"
}
echo "== PCP $(there pkg-config --modversion libpcp_pmda), $(there rustc --version), $triple in Debian trixie"
if [ $# -gt 0 ]; then
    there "$@"
    exit
fi

log=$system.tests.log
status=0
# The optimizer is for those who run what is built here, not for what runs during the build.
there cargo --config 'profile.dev.package."*".opt-level=0' test --locked --no-fail-fast \
    --package pmda-core --package pcp-pmda --package pcp-pmda-tests --lib --test layout --test abi --test differential 2>&1 | tee "$log" || status=$?
awk -v arch="$arch" '
    /^ *Running / { name = $2; if (name == "unittests") name = "unit"; sub(".*/", "", name); sub("[.]rs$", "", name) }
    /^test result:/ { text = text sprintf("%s %s %d passed, %d failed, %d ignored", text == "" ? "" : ";", name, $4, $6, $8); passed += $4; failed += $6 }
    END { printf "check-%s: %d passed, %d failed:%s\n", arch, passed, failed, text }' "$log" | tee "$log.sum"
[ "$status" != 0 ] ||
    packaging/tested.sh "make -C packaging check-$arch" "Debian 13, $arch${runner:+ in qemu-user}" "$(inside dpkg-query -W -f '${Version}' "libpcp-pmda3:$arch" | sed 's/-.*//')" \
        "$(sed 's/^[^:]*: //; s/:.*//' "$log.sum")"
exit "$status"
