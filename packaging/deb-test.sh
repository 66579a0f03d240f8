#!/usr/bin/env bash
# deb-test.sh SUITE: what happens to a host with PCP on which our packages are installed. In a fresh Debian or Ubuntu, with PCP's own start
# script and all its default agents: installation, restart, an update of PCP (its own packages with a higher version), an update of ours,
# the switch, removal, the agent openmetrics, and the playbook for fleets. After each step pmcd has to answer, and each process to have loaded the library that
# is expected.
#
# Takes the packages from target/deb if they are of this commit, and makes them else; those for another PCP or libc than this machine's
# (SUITE is neither bookworm nor trixie) are made in a system of that suite. Everything after the downloads runs in name spaces of its own (processes, network, mounts): nothing is
# left when it ends, however it ends. Needs root.
set -Eeuo pipefail
cd "$(dirname "$0")/.."
. packaging/system.sh
not_below /tmp

suite=${1:?usage: deb-test.sh SUITE}
ours=/usr/lib/pcp-pmda-rust/libpcp_pmda.so.3
# What is there before our packages.
host=(pcp libpcp-pmda3 libpcp-pmda3-dev libpcp3-dev libc6-dev gcc pkg-config procps man-db ansible-core python3-apt)

# repack DEB SED-SCRIPT DIRECTORY: a package with another control file, everything else as it is.
repack() {
    local tree
    tree=$(mktemp -d)
    dpkg-deb -R "$1" "$tree/p"
    sed -i "$2" "$tree/p/DEBIAN/control"
    dpkg-deb -Zgzip -z1 --root-owner-group -b "$tree/p" "$3" >/dev/null
    rm -rf "$tree"
}

# Downloads, and the packages of higher versions, as a repository in the system.
prepare() {
    local version package packages built=$target/deb
    case $suite in
        bookworm | trixie)
            [ "$(cat "$built/commit" 2>/dev/null)" = "$COMMIT" ] && git diff --quiet HEAD || packaging/deb.sh >/dev/null ;;
        *)
            packaging/check-suite.sh "$suite" sh -c 'apt-get install -y -q debhelper >/dev/null && make deb' >/dev/null
            built=$target/systems/$suite/src/target/deb ;;
    esac
    trap close_system EXIT
    make_system "$suite" "$suite-host"
    inside apt-get update -q >/dev/null
    install_alone "${host[@]}" || fail "PCP is not installed"
    if ! ls "$system"/repository/first/pcp_*.deb >/dev/null 2>&1; then
        mkdir -p "$system/repository/first" "$system/repository/second"
        chmod 777 "$system/repository/first"
        packages=$(inside dpkg-query -W -f '${source:Package} ${Package}\n' | sed -n 's/^pcp //p')
        inside sh -c 'cd /repository/first && apt-get download -q "$@"' sh $packages >/dev/null
        version=$(inside dpkg-query -W -f '${Version}' pcp)
        for package in "$system"/repository/first/*.deb; do
            repack "$package" "/^\(Version\|Depends\|Pre-Depends\|Recommends\|Breaks\|Provides\):/s/${version//./\\.}/$version+update1/g" "$system/repository/second"
        done
    fi
    rm -f "$system"/repository/*/*pcp-pmda*-rust*
    cp "$built"/libpcp-pmda-rust_*.deb "$built"/libpcp-pmda-rust-dev_*.deb "$system/repository/first/"
    # It is installed last, from what is there then.
    cp "$built"/pcp-pmda-openmetrics-rust_*.deb "$system/repository/second/"
    for package in "$built"/libpcp-pmda-rust_*.deb "$built"/libpcp-pmda-rust-dev_*.deb; do
        version=$(dpkg-deb -f "$package" Version)
        repack "$package" "s/\b${version//./\\.}\b/$version+update1/" "$system/repository/second"
    done
    close_system
    trap - EXIT
}

# offer REPOSITORY: this is all that apt knows of, from now on.
offer() {
    (cd "$system" && dpkg-scanpackages -m "repository/$1" 2>/dev/null >"repository/Packages")
    echo "deb [trusted=yes] file:/repository ./" >"$system/etc/apt/sources.list"
    rm -f "$system"/etc/apt/sources.list.d/*
    sed -i "s:^Filename\: repository/:Filename\: ./:" "$system/repository/Packages"
    inside apt-get update -q >/tmp/log 2>&1 || { cat /tmp/log; fail "apt-get update"; }
}

apt() { inside apt-get -y -q -o Dpkg::Options::=--force-confold "$@" >/tmp/log 2>&1 || { cat /tmp/log >&2; fail "apt-get $*"; }; }
installed() { [ "$(inside dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
version_of() { inside dpkg-query -W -f '${Version}' "$1"; }
# The package of the C library, and its file, under whatever names (libpcp-pmda3t64 in Ubuntu 24.04).
c_package() { inside dpkg-query -W -f '${db:Status-Status} ${Package}\n' 'libpcp-pmda3*' | sed -n 's/^installed //p' | grep -v -e -dev; }
c_library() { inside dpkg -L "$(c_package)" | grep '/libpcp_pmda\.so\.3$'; }

# answers WHAT PATTERN: pmcd and all its agents serve values, and all have loaded a library whose path matches. Loggers are services of
# their own, which go on with what they have.
answers() {
    local what=$1 pattern=$2 try pid maps processes=0 path loaded
    for try in $(seq 60); do
        # Five agents and more are there, and each is without an error.
        if inside pminfo -f pmcd.version pmcd.agent.status kernel.all.load >/tmp/values 2>&1 &&
            [ "$(grep -c '^    inst \[.* value 0$' /tmp/values)" -ge 8 ] && ! grep -q '" *\] value -\?[1-9][0-9]*$' <(sed '/^kernel/,$d' /tmp/values); then
            break
        fi
        [ "$try" -lt 60 ] || { cat /tmp/values "$system"/var/log/pcp/pmcd/pmcd.log >&2; fail "$what: pmcd does not answer"; }
        sleep 0.5
    done
    for maps in /proc/[0-9]*/maps; do
        pid=${maps//[^0-9]/}
        path=$(sed -n 's:^[^/]*\(/.*libpcp_pmda\.so.*\)$:\1:p' "$maps" 2>/dev/null | sort -u) || true
        [ -n "$path" ] || continue
        path=${path#"$system"}
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != pmlogger ] || continue
        [[ $path =~ ^$pattern$ ]] || fail "$what: $(tr '\0' ' ' <"/proc/$pid/cmdline") has loaded $path"
        processes=$((processes + 1))
        loaded=$path
    done
    [ "$processes" -ge 4 ] || fail "$what: only $processes processes have a libpcp_pmda"
    echo "ok: $what: pmcd $(sed -n 's/^    value "\(.*\)"/\1/p' /tmp/values) answers, $processes processes have loaded $loaded"
}
# running: every process of PCP with its number.
running() { inside ps -e -o pid=,comm= | grep -E ' (pm|python|perl)' | sort; }
# compared: the host's agents on both libraries, beside the pmcd that runs: equal, and nothing that ran has ended or is new.
compared() {
    local before=
    # Until all have started what they start.
    until [ -n "$before" ] && [ "$(running)" = "$before" ]; do
        before=$(running)
        sleep 1
    done
    inside pcp-pmda-rust compare >/tmp/log 2>&1 || fail "pcp-pmda-rust compare: $(cat /tmp/log)"
    [ "$(running)" = "$before" ] || fail "compare has changed what runs: $before, and now $(running)"
    [ -z "$(find "$system/tmp" -name 'pcp-pmda-rust-compare.*')" ] || fail "compare has left files in /tmp"
    echo "ok: compared beside the running pmcd: $(tail -n 1 /tmp/log)"
}
# more_agents: ten more of PCP's agents, in C and Python, by their own scripts; eleven where systemd's is in the package pcp. Not lustrecomm:
# without Lustre its values are memory that it has never written.
more_agents() {
    local agent
    for agent in bash cifs gfs2 mailq mounts nfsclient overhead shping summary systemd zswap; do
        [ "$agent" != systemd ] || [ -d "$system/var/lib/pcp/pmdas/systemd" ] || continue
        inside sh -c 'cd "/var/lib/pcp/pmdas/$1" && ./Install' sh "$agent" </dev/null >/tmp/log 2>&1 || { cat /tmp/log >&2; fail "Install of $agent"; }
    done
    answers "more agents installed" "$ours"
}
# status_is CODE: `pcp-pmda-rust status` ends with it; what it says is in $status.
status_is() {
    local code=0
    status=$(inside pcp-pmda-rust status) || code=$?
    [ "$code" = "$1" ] || fail "pcp-pmda-rust status ends with $code, not with $1: $status"
}
restart() { inside /etc/init.d/pmcd restart >/tmp/log 2>&1 || { cat /tmp/log; fail "pmcd's start script"; }; }

# The agent openmetrics, as docs/OPENMETRICS.md says: Install puts it in the place of PCP's own, and when its package goes pmcd goes on without.
openmetrics() {
    local sources=/var/lib/pcp/pmdas/openmetrics/config.d folder=/var/lib/pcp/rust/pmdas/openmetrics try
    echo 'load 0.5' >"$system/root/page"
    chmod 755 "$system/root"
    echo 'file:///root/page' >"$system$sources/page.url"
    apt install pcp-pmda-openmetrics-rust
    inside sh -c "cd $folder && ./Install </dev/null" >/tmp/log 2>&1 || { cat /tmp/log; fail "Install of openmetrics"; }
    for try in $(seq 60); do
        ! inside pminfo -f openmetrics.page.load >/tmp/values 2>&1 || ! grep -q 'value 0.5' /tmp/values || break
        [ "$try" -lt 60 ] || { cat /tmp/log /tmp/values "$system"/var/log/pcp/pmcd/openmetrics.log; fail "openmetrics has no values"; }
        sleep 0.5
    done
    grep -q "^openmetrics.*$folder/pmdaopenmetrics" "$system/etc/pcp/pmcd/pmcd.conf" || fail "pmcd has another openmetrics"
    apt purge pcp-pmda-openmetrics-rust
    ! grep -q '^openmetrics' "$system/etc/pcp/pmcd/pmcd.conf" || fail "pmcd.conf still has openmetrics"
    [ ! -e "$system$folder" ] || fail "openmetrics is left behind: $(ls "$system$folder")"
    [ -e "$system$sources/page.url" ] || fail "the sources of openmetrics are gone"
    rm "$system$sources/page.url"
    echo "ok: the agent openmetrics installed, serving, purged"
}

steps() {
    local c status
    # Of all services pmcd's is started and restarted by the packages, as on a host.
    printf '#!/bin/sh\n[ "$1" = pmcd ] && exit 0\nexit 101\n' >"$system/usr/sbin/policy-rc.d"

    # An agent that is slow to start on a busy machine is not what is tested: pmcd's own limit is three seconds.
    grep -q '^-q' "$system/etc/pcp/pmcd/pmcd.options" || echo '-q 60' >>"$system/etc/pcp/pmcd/pmcd.options"

    offer first
    c=$(c_library)
    restart
    answers "before" "$c"

    apt install libpcp-pmda-rust
    grep -q 'pcp-pmda-rust status' /tmp/log || fail "the installation says nothing about a restart"
    answers "installed, not restarted" "$c"
    status_is 5
    grep -q "the C library ($c)" <<<"$status" || fail "pcp-pmda-rust status: $status"
    restart
    answers "restarted" "$ours"
    status_is 0
    ! grep -q "the C library" <<<"$status" || fail "pcp-pmda-rust status: $status"

    inside pcp-pmda-rust disable >/dev/null
    status_is 6
    restart
    answers "disabled and restarted" "$c"
    status_is 3
    inside pcp-pmda-rust run env LD_TRACE_LOADED_OBJECTS=1 /var/lib/pcp/pmdas/linux/pmdalinux >/tmp/log
    grep -q " $ours " /tmp/log || fail "pcp-pmda-rust run: $(cat /tmp/log)"
    inside pcp-pmda-rust enable >/dev/null
    restart
    answers "enabled and restarted" "$ours"

    compared
    more_agents
    compared

    offer second
    # Ours is held back, so that only PCP is updated.
    inside apt-mark hold libpcp-pmda-rust >/dev/null
    apt upgrade
    [[ $(version_of pcp) == *+update1 && $(version_of "$(c_package)") == *+update1 ]] || fail "PCP was not updated: $(cat /tmp/log)"
    inside apt-mark unhold libpcp-pmda-rust >/dev/null
    answers "PCP updated by apt upgrade, which restarts pmcd" "$ours"
    installed libpcp-pmda-rust || fail "our package is gone"

    apt upgrade
    [[ $(version_of libpcp-pmda-rust) == *+update1 ]] || fail "our package was not updated: $(cat /tmp/log)"
    answers "ours updated, not restarted" "$ours( \(deleted\)|\.dpkg-tmp \(deleted\))?"
    status_is 5
    grep -q 'a file that was replaced since' <<<"$status" || fail "pcp-pmda-rust status: $status"
    restart
    answers "restarted" "$ours"
    inside pcp-pmda-rust disable >/dev/null
    apt install --reinstall libpcp-pmda-rust
    status_is 6
    inside pcp-pmda-rust enable >/dev/null

    apt install libpcp-pmda-rust-dev
    installed libpcp-pmda3-dev || fail "the development package of PCP was removed"
    cat >"$system/root/agent.c" <<'C'
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
int main(void) { pmInDom d = 1; return pmdaCacheStore(d, PMDA_CACHE_ADD, "a", NULL); }
C
    local flags
    for flags in "" "env PKG_CONFIG_PATH=/usr/lib/pcp-pmda-rust/pkgconfig"; do
        inside $flags sh -c 'cd /root && cc -Wall -Werror -o agent agent.c $(pkg-config --cflags --libs libpcp_pmda) && ./agent' ||
            fail "a program does not build: $flags"
    done
    inside man -w pmdaTreeCreate >/tmp/log 2>/dev/null && inside man -w pmdaInit >>/tmp/log || [ ! -e "$system/usr/share/man/man3/pmdaInit.3.gz" ] ||
        fail "manual pages: $(cat /tmp/log)"
    echo "ok: programs build with either development package"

    apt purge libpcp-pmda-rust libpcp-pmda-rust-dev
    installed pcp || fail "pcp was removed"
    [ -z "$(cd "$system" && ls -d etc/ld.so.conf.d/*pcp* usr/lib/pcp-pmda-rust usr/include/pcp-pmda-rust 2>/dev/null)" ] || fail "files are left behind"
    inside apt-get check -q >/tmp/log || fail "dependencies are broken: $(cat /tmp/log)"
    answers "purged, not restarted" "$ours \(deleted\)"
    restart
    answers "restarted" "$c"

    openmetrics
    answers "after openmetrics" "$c"

    # What `make install` has installed, and the package: each has its own line for the dynamic linker, and leaves the other's alone.
    local made=/usr/local/lib/pcp-pmda-rust/libpcp_pmda.so.3 package
    for package in "$system"/repository/first/libpcp-pmda-rust*.deb; do dpkg-deb -x "$package" /tmp/unpacked; done
    mkdir /tmp/built
    cp /tmp/unpacked/usr/lib/pcp-pmda-rust/{libpcp_pmda.a,pkgconfig/libpcp_pmda.pc} /tmp/built/
    cp /tmp/unpacked/usr/lib/pcp-pmda-rust/libpcp_pmda.so.3 /tmp/built/libpcp_pmda.so
    cp /tmp/unpacked/usr/lib/pcp-pmda-rust/compare /tmp/built/pcp-pmda-rust-compare
    by_make() { make -s "$1" BUILT=/tmp/built DESTDIR="$system" STRIP=: >/tmp/log 2>&1 || { cat /tmp/log; fail "make $1"; }; }
    # As in an unattended installation: a question about a file of /etc would fail.
    unattended() { inside apt-get -y -q "$@" >/tmp/log 2>&1 </dev/null || { cat /tmp/log; fail "apt-get $*"; }; }

    # Installed and not enabled: a file with a comment is there before.
    local conf=/etc/ld.so.conf.d/00-pcp-pmda-rust.conf
    echo '# not yet' >"$system$conf"
    unattended install libpcp-pmda-rust
    status_is 3
    [ "$(cat "$system$conf")" = '# not yet' ] || fail "the installation has changed $conf"
    restart
    answers "installed and not enabled" "$c"
    unattended purge libpcp-pmda-rust
    [ ! -e "$system$conf" ] || fail "$conf is left behind"

    by_make install
    inside /usr/local/bin/pcp-pmda-rust enable >/dev/null
    restart
    answers "installed by make and enabled" "$made"
    unattended install libpcp-pmda-rust
    by_make uninstall
    inside ldconfig
    restart
    answers "the package installed, then uninstalled by make" "$ours"
    by_make install
    inside /usr/local/bin/pcp-pmda-rust enable >/dev/null
    unattended purge libpcp-pmda-rust
    restart
    answers "installed by make again, then the package purged" "$made"
    by_make uninstall
    inside ldconfig
    restart
    answers "uninstalled" "$c"

    # The playbook of docs/OPERATING.md, for this host alone.
    sed -n '/^```yaml$/,/^```$/p' docs/OPERATING.md | sed '1d;$d' >"$system/root/fleet.yml"
    printf '[pcp_pmda_rust]\nlocalhost ansible_connection=local\n' | tee "$system/root/in" >"$system/root/out"
    printf '[pcp_pmda_rust_off]\nlocalhost\n' >>"$system/root/out"
    play() {
        inside env LC_ALL=C.UTF-8 ansible-playbook -i "/root/$1" "${@:3}" /root/fleet.yml >/tmp/log 2>&1 || { cat /tmp/log; fail "ansible-playbook -i $1"; }
        grep -q " changed=$2 " /tmp/log || fail "the playbook changes something else: $(cat /tmp/log)"
    }
    # pmcd_runs: its process.
    pmcd_runs() { inside pgrep -o -x pmcd; }
    ! inside pgrep -x pmproxy >/dev/null || fail "pmproxy runs before the playbook"
    local runs
    runs=$(pmcd_runs)
    # The package, enable, and a restart of pmcd.
    play in 3 --check
    ! grep -q ' skipped=[1-9]' /tmp/log || fail "--check skips tasks: $(cat /tmp/log)"
    [ "$(pmcd_runs)" = "$runs" ] && ! installed libpcp-pmda-rust || fail "--check changes something"
    # The package is enabled as it comes.
    play in 2
    answers "the playbook brings it" "$ours"
    ! inside pgrep -x pmproxy >/dev/null || fail "the playbook has started pmproxy"
    runs=$(pmcd_runs)
    play in 0
    play in 0 --check
    [ "$(pmcd_runs)" = "$runs" ] || fail "the playbook restarts what has not changed"
    play out 2
    answers "the playbook goes back" "$c"
    runs=$(pmcd_runs)
    play out 0
    [ "$(pmcd_runs)" = "$runs" ] || fail "the playbook restarts what has not changed"

    # An agent that does not start on this library: the playbook names it, and the host has the C library again.
    printf '#!/bin/sh\n! /sbin/ldconfig -p | grep -m 1 "libpcp_pmda.so.3 " | grep -q rust || exit 1\nexec /var/lib/pcp/pmdas/xfs/pmdaxfs -d 253\n' >"$system/root/pmdaworse"
    chmod 755 "$system/root" "$system/root/pmdaworse"
    sed -i '/^xfs/i worse 253 pipe binary /root/pmdaworse' "$system/etc/pcp/pmcd/pmcd.conf"
    restart
    answers "with an agent that runs on the C library alone" "$c"
    ! inside env LC_ALL=C.UTF-8 ansible-playbook -i /root/in /root/fleet.yml >/tmp/log 2>&1 || fail "the playbook passes a host whose agent has failed: $(cat /tmp/log)"
    grep -q 'worse than before: worse"' /tmp/log || fail "the playbook does not name the agent: $(cat /tmp/log)"
    status_is 3
    answers "the playbook has failed and gone back" "$c"
    sed -i '/^worse/d' "$system/etc/pcp/pmcd/pmcd.conf"

    # A host whose pmcd was stopped on purpose.
    inside /etc/init.d/pmcd stop >/dev/null
    play in 1
    status_is 0
    ! inside pgrep -x pmcd >/dev/null || fail "the playbook has started pmcd"
    restart
    answers "the playbook on a host whose pmcd was stopped, then started" "$ours"
    inside /etc/init.d/pmcd stop >/dev/null
    echo "deb-test $suite: passed"
}

if [ -n "$isolated" ]; then
    steps
    exit
fi
COMMIT=$(git rev-parse --short=8 HEAD)
export COMMIT
prepare
copy_system "$suite-host" "$suite-packages"
isolated 1800 "$suite"
tested "deb-test-$suite" "packages installed, updated, removed"
