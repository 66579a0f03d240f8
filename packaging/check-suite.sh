#!/usr/bin/env bash
# check-suite.sh SUITE [COMMAND…]: builds the library in a Debian system of its own, against the PCP of that suite (trixie: 6.3,
# sid: 7.2), and runs all tests there, or the command in a clone of the sources. The Rust toolchain is the host's, or, with
# RUST=debian, that of the suite. Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/system.sh
trap close_system EXIT

suite=$1
shift
[ $# -gt 0 ] || set -- make check
make_system "$suite"
inside apt-get update -q >/dev/null
install_inside libpcp-pmda3-dev libpcp3-dev libclang-dev gcc g++ make pkg-config procps git ca-certificates binutils
path=/usr/sbin:/usr/bin:/sbin:/bin
built=/src/target
bind "${CARGO_HOME:-$HOME/.cargo}" /rust/cargo
if [ "${RUST:-host}" = debian ]; then
    install_inside rustc cargo
    built=/src/target-debian
else
    bind "${RUSTUP_HOME:-$HOME/.rustup}" /rust/rustup
    path=/rust/cargo/bin:$path
fi
rm -rf "$system/src/pcp-pmda"
git clone -q . "$system/src/pcp-pmda"

there() {
    inside env -C /src/pcp-pmda HOME=/root CARGO_HOME=/rust/cargo RUSTUP_HOME=/rust/rustup CARGO_TARGET_DIR="$built" PATH="$path" "$@"
}
echo "== PCP $(inside pkg-config --modversion libpcp_pmda), $(there rustc --version) in Debian $suite: $*"
there "$@"
