#!/usr/bin/env bash
# Installs, updates and erases the RPM packages with rpm's own database in a system of its own. There is no RPM distribution's PCP to be
# had from Debian's archives: the system is a Debian one without dpkg's PCP being known to rpm, and a package pcp-libs that is made up
# stands for what the distribution would have. So this shows the package's files, scripts and dependencies, not a distribution's PCP.
# Needs root.
set -Eeuo pipefail
cd "$(dirname "$0")/.."
. packaging/system.sh
not_below /tmp

steps() {
    local conf=$system/etc/ld.so.conf.d/00-pcp-pmda-rust.conf
    # Where rpm puts libraries of 64 bits.
    libdir=$(rpm -qpl "$target"/rpm/RPMS/*/libpcp-pmda-rust-0*.rpm | sed -n 's:/libpcp_pmda\.so\.3$::p')
    mkdir -p "$system/rpms"
    cp "$target"/rpm/RPMS/*/*.rpm "$system/rpms/"
    taken() { inside ldconfig -p | sed -n 's/.*libpcp_pmda\.so\.3 .*=> //p' | sed -n 1p; }

    # What stands for the distribution: pcp-libs, and all that rpm would find in packages of its own.
    mkdir -p /tmp/top
    inside rpm --initdb
    rpm -qpR "$target"/rpm/RPMS/*/*.rpm | grep -v '^rpmlib\|^libpcp-pmda-rust\|^pcp-libs' | sort -u >/tmp/needed
    {
        printf 'Name: pcp-libs\nVersion: 6.0.3\nRelease: 1\nSummary: stands for the distribution\nLicense: LGPL-2.1-or-later\nProvides: pcp-libs-devel(x86-64) = 6.0.3\n'
        sed 's/^/Provides: /' /tmp/needed
        printf '%%description\nx\n%%files\n'
    } >/tmp/host.spec
    rpmbuild -bb --quiet --define '_topdir /tmp/top' /tmp/host.spec >/tmp/log 2>&1 || fail "$(cat /tmp/log)"
    cp /tmp/top/RPMS/*/*.rpm "$system/rpms/host.rpm"
    inside rpm -i /rpms/host.rpm

    inside /etc/init.d/pmcd restart >/dev/null
    inside sh -c 'rpm -i /rpms/libpcp-pmda-rust-[0-9]*.rpm' >/tmp/log || fail "$(cat /tmp/log)"
    grep -q 'pcp-pmda-rust status' /tmp/log || fail "the installation says nothing about a restart"
    [ "$(taken)" = "$libdir/libpcp_pmda.so.3" ] || fail "installed, but the dynamic linker takes $(taken)"
    inside rpm -V libpcp-pmda-rust || fail "the files are not as packaged"
    [ "$(stat -c %a "$system$libdir/libpcp_pmda.so.3")" = 755 ] || fail "the library's mode"
    inside /etc/init.d/pmcd restart >/dev/null
    inside pminfo -f pmcd.version pmcd.agent.status kernel.all.load >/tmp/log || fail "pmcd does not answer: $(cat /tmp/log)"
    inside pcp-pmda-rust status >/tmp/log || fail "$(cat /tmp/log)"
    ! grep -q 'the C library' /tmp/log || fail "$(cat /tmp/log)"
    echo "ok: installed: pmcd answers, and $(grep -c '^  .*this library (' /tmp/log) processes have loaded $(taken)"

    inside pcp-pmda-rust disable >/dev/null
    inside sh -c 'rpm -U --replacepkgs /rpms/libpcp-pmda-rust-[0-9]*.rpm' >/dev/null
    grep -q '^#' "$conf" || fail "an installation over it has enabled it again"
    inside pcp-pmda-rust enable >/dev/null
    inside sh -c 'rpm -i /rpms/libpcp-pmda-rust-devel-[0-9]*.rpm'
    echo "ok: installed again while disabled: it stays disabled; the development files are installed"

    inside rpm -e libpcp-pmda-rust-devel libpcp-pmda-rust
    [ ! -e "$system$libdir/libpcp_pmda.so.3" ] && [ ! -e "$conf" ] || fail "files are left behind"
    inside /etc/init.d/pmcd restart >/dev/null
    inside pminfo -f pmcd.version kernel.all.load >/tmp/log || fail "pmcd does not answer: $(cat /tmp/log)"
    echo "ok: erased: pmcd answers, and the dynamic linker takes $(taken)"
    inside /etc/init.d/pmcd stop >/dev/null
    echo "rpm-test: passed"
}

if [ -n "$isolated" ]; then
    steps
    exit
fi
ls "$target"/rpm/RPMS/*/*.rpm >/dev/null 2>&1 || packaging/rpm.sh >/dev/null
make_system bookworm
inside apt-get update -q >/dev/null
install_inside pcp libpcp-pmda3 procps rpm
close_system
copy_system bookworm rpm-packages
isolated 600
