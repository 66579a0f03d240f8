#!/usr/bin/env bash
# host-test.sh: on the distribution that it runs on, with PCP from there: builds the packages, installs them, restarts pmcd, looks which
# library the processes have loaded, goes back, and removes them. It installs packages and starts services: for containers that are thrown
# away (CI's lanes for Ubuntu and Fedora), hence THIS_MACHINE=disposable. Needs root and Rust.
set -Eeuo pipefail
cd "$(dirname "$0")/.."
fail() { echo "host-test: $*" >&2; exit 1; }
trap 'echo "host-test: line $LINENO: $BASH_COMMAND failed" >&2' ERR
[ "${THIS_MACHINE:-}" = disposable ] || fail "this changes the machine; if it may be thrown away, set THIS_MACHINE=disposable"
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")

if command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q >/dev/null
    apt-get install -y -q --no-install-recommends build-essential debhelper libclang-dev libpcp3-dev libssl-dev pcp pkg-config procps >/dev/null
    build() { packaging/deb.sh; }
    add() { apt-get install -y -q "$target"/deb/libpcp-pmda-rust_*.deb; }
    remove() { apt-get purge -y -q libpcp-pmda-rust; }
else
    dnf install -y -q cargo clang-devel make pcp pcp-libs-devel perl pkgconf-pkg-config procps-ng rpm-build rust >/dev/null
    build() { packaging/rpm.sh; }
    add() { dnf install -y -q "$(find "$target/rpm/RPMS" -name 'libpcp-pmda-rust-[0-9]*.rpm' | grep -v debug)"; }
    remove() { dnf remove -y -q libpcp-pmda-rust; }
fi
pmcd() { "$(sed -n 's/^PCP_RC_DIR=//p' /etc/pcp.conf)/pmcd" "$1" >/dev/null; }
# loaded WHAT PATTERN: pmcd answers, and it and its agents have loaded the library.
loaded() {
    local try
    for try in $(seq 60); do
        ! pminfo -f pmcd.agent.status kernel.all.load >/dev/null 2>&1 || break
        [ "$try" -lt 60 ] || fail "$1: pmcd does not answer"
        sleep 1
    done
    pcp-pmda-rust which "$(pgrep -o -x pmcd)" >"$target/which" || true
    grep -q "): $2 (" "$target/which" || fail "$1: $(cat "$target/which")"
    echo "ok: $1: $(cat "$target/which")"
}

. /etc/os-release
command -v getenforce >/dev/null && enforce=$(getenforce) || enforce=absent
echo "== $PRETTY_NAME, SELinux $enforce, PCP $(pkg-config --modversion libpcp), $(rustc --version)"
build
pmcd start
add
loaded "installed, not restarted" "the C library"
pmcd restart
loaded "restarted" "this library"
pcp-pmda-rust status
pcp-pmda-rust disable
pmcd restart
loaded "disabled" "the C library"
remove
pmcd restart
pminfo -f pmcd.version
pmcd stop
echo "host-test: passed on $PRETTY_NAME"
