#!/usr/bin/env bash
# check-arch.sh ARCH [COMMAND…]: cross-builds the library for another architecture of Debian in a Debian trixie (PCP 6.3) of its own and
# runs the unit tests and the differential tests there: ours and the C library of that architecture, under qemu-user, i386
# without it. ARCH is Debian's word: i386, arm64, ppc64el, s390x, riscv64, armhf. With a command, runs that instead. Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/system.sh
trap close_system EXIT

arch=$1
shift
runner=
case $arch in
    arm64)   target=aarch64-unknown-linux-gnu     gnu=aarch64-linux-gnu       runner=qemu-aarch64 ;;
    ppc64el) target=powerpc64le-unknown-linux-gnu gnu=powerpc64le-linux-gnu   runner=qemu-ppc64le ;;
    s390x)   target=s390x-unknown-linux-gnu       gnu=s390x-linux-gnu         runner=qemu-s390x ;;
    riscv64) target=riscv64gc-unknown-linux-gnu   gnu=riscv64-linux-gnu       runner=qemu-riscv64 ;;
    armhf)   target=armv7-unknown-linux-gnueabihf gnu=arm-linux-gnueabihf     runner=qemu-arm ;;
    i386)    target=i686-unknown-linux-gnu        gnu=i686-linux-gnu ;;
    *) echo "$0: $arch is none of arm64, armhf, i386, ppc64el, riscv64, s390x" >&2; exit 2 ;;
esac

make_system trixie "trixie-$arch"
inside dpkg --add-architecture "$arch"
inside apt-get update -q >/dev/null
# The cross build: the target's libpcp, a cross compiler for shim.c and the linker, and a Rust that knows the target.
install_inside "libpcp3-dev:$arch" "gcc-$gnu" rustc cargo "libstd-rust-dev:$arch" gcc libc6-dev libclang-dev pkgconf
# The tests: the C library of the target to compare with, and the emulator.
install_inside "libpcp-pmda3-dev:$arch" make git ca-certificates ${runner:+qemu-user}
bind "${CARGO_HOME:-$HOME/.cargo}" /rust/cargo
rm -rf "$system/src/pcp-pmda"
git clone -q . "$system/src/pcp-pmda"

variable=$(tr 'a-z-' 'A-Z_' <<<"$target")
there() {
    inside env -C /src/pcp-pmda HOME=/root CARGO_HOME=/rust/cargo CARGO_TARGET_DIR=/src/target PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        CARGO_BUILD_TARGET="$target" "CARGO_TARGET_${variable}_LINKER=$gnu-gcc" ${runner:+"CARGO_TARGET_${variable}_RUNNER=$runner"} \
        PKG_CONFIG_ALLOW_CROSS=1 TEST_CC="$gnu-gcc" TEST_RUNNER="$runner" "$@"
}
echo "== PCP $(inside pkg-config --modversion libpcp_pmda), $(there rustc --version), $target in Debian trixie"
if [ $# -gt 0 ]; then
    there "$@"
    exit 0
fi
