#!/usr/bin/env bash
# check-suite.sh SUITE [COMMAND…]: builds the library in a Debian system of its own, against the PCP of that suite (trixie: 6.3,
# sid: 7.2), and runs all tests there, or the command in a clone of the sources. The Rust toolchain is the host's. Needs root.
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
bind "${CARGO_HOME:-$HOME/.cargo}" /rust/cargo
bind "${RUSTUP_HOME:-$HOME/.rustup}" /rust/rustup
rm -rf "$system/src/pcp-pmda"
git clone -q . "$system/src/pcp-pmda"

echo "== PCP $(inside pkg-config --modversion libpcp_pmda) in Debian $suite: $*"
inside env -C /src/pcp-pmda HOME=/root CARGO_HOME=/rust/cargo RUSTUP_HOME=/rust/rustup CARGO_TARGET_DIR=/src/target \
    PATH=/rust/cargo/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
