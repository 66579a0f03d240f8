#!/usr/bin/env bash
# check-suite.sh SUITE [COMMAND…]: builds the library in a system of its own, against the PCP of that suite (Debian's bookworm: 6.0,
# trixie: 6.3, sid: 7.2; Ubuntu's jammy: 5.3, noble: 6.2, resolute: 7.1), and runs all tests there, or the command in a clone of the sources. Needs
# root. What a machine may be like, as variables:
#
#   RUST=debian    the suite's own Rust toolchain, not the host's
#   PCP=running    Debian's package pcp is installed, and its pmcd runs meanwhile
#   AS=user        an ordinary user runs it, and owns the sources
#   PLACE=PATH     where the clone lies in the system; a blank may be in it
#
# With PCP or AS the command runs in name spaces of its own (processes, network, mounts): nothing is left when it ends.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/system.sh

suite=$1
shift
record=
if [ $# = 0 ]; then
    record=yes
    set -- make check
fi
place=${PLACE:-/src/pcp-pmda}
path=/usr/sbin:/usr/bin:/sbin:/bin
built=/src/target
user=root

# there COMMAND…: in the clone, as the user who is to run it.
there() {
    inside env -u RECORD -C "$place" HOME="/tmp/home-$user" CARGO_HOME=/rust/cargo RUSTUP_HOME=/rust/rustup CARGO_TARGET_DIR="$built" PATH="$path" \
        setpriv --reuid="$user" --regid="$user" --init-groups "$@"
}

# alone COMMAND…: what `there` does, in name spaces. CI's containers have no other network either, so ::1 may be missing.
alone() {
    export -f there inside
    export system place built path user
    PCP_SERVICE=${PCP:-} timeout "${LIMIT:-7200}" unshare --mount --mount-proc --pid --net --fork --kill-child bash -euo pipefail -c '
        mount --make-rprivate /
        ip link set lo up
        mount -t proc proc "$system/proc"
        mount -t sysfs sysfs "$system/sys"
        [ "$PCP_SERVICE" != running ] || {
            inside /etc/init.d/pmcd start >/dev/null
            inside pminfo -f pmcd.version
        }
        there "$@"' bash "$@"
}

# The systems with an installed PCP and without one are two.
trap close_system EXIT
make_system "$suite" "$suite${PCP:+-pcp}"
inside apt-get update -q >/dev/null
install_inside libpcp-pmda3-dev libpcp3-dev libssl-dev openssl libclang-dev gcc g++ make pkg-config procps git ca-certificates binutils ${PCP:+pcp}
bind "${CARGO_HOME:-$HOME/.cargo}" /rust/cargo
if [ "${RUST:-host}" = debian ]; then
    install_inside rustc cargo
    built=/src/target-debian
else
    bind "${RUSTUP_HOME:-$HOME/.rustup}" /rust/rustup
    path=/rust/cargo/bin:$path
fi
rm -rf "${system:?}$place"
git clone -q . "$system$place"
COMMIT=$(git -C "$system$place" rev-parse --short=8 HEAD)
export COMMIT
mkdir -p "$system/tmp/home-root" "$system$built"
echo "== PCP $(inside pkg-config --modversion libpcp_pmda), $(there rustc --version) in $suite, PCP ${PCP:-not installed}, as ${AS:-root}: $*"
# finish COMMAND…: runs it; what all tests have shown is written down.
finish() {
    local name=$suite log=$system.check.log
    [ "$record" = yes ] || { "$@"; return; }
    "$@" 2>&1 | tee "$log"
    [ -z "${AS:-}" ] || name=as-user
    [ -z "${PCP:-}" ] || name=beside-pcp
    tested "check-$name" "$(grep -E '^[0-9]+ passed, ' "$log")" "${PCP:+, pmcd running}"
}
if [ -z "${PCP:-}${AS:-}" ]; then
    finish there "$@"
    exit
fi
# What needs a network, or root: packages and crates.
there make setup
there tests/support/oldest_rust.sh fetch
there cargo fetch --locked
if [ "${AS:-root}" = user ]; then
    user=tester
    inside id "$user" >/dev/null 2>&1 || inside useradd --home-dir "/tmp/home-$user" --create-home "$user"
    inside chown -R "$user:$user" "$place" "$built"
fi
finish alone "$@"
