#!/usr/bin/env bash
# Installs the packages of deb.sh into a fresh Debian 12 system that has pcp, sees pmcd and agents run on this library, removes the
# packages again, and sees them run on the C library. Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/system.sh
pmcd_pid=
finish() {
    if [ -n "$pmcd_pid" ]; then kill "$pmcd_pid" 2>/dev/null || true; fi
    close_system
}
trap finish EXIT

fail() { echo "deb-test: $*" >&2; exit 1; }
installed() { [ "$(inside dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

make_system bookworm
inside apt-get update -q >/dev/null
# pcp's own scripts call systemctl, which has nothing to talk to in here.
[ -e "$system/usr/bin/systemctl" ] || { printf '#!/bin/sh\nexit 0\n' >"$system/usr/bin/systemctl"; chmod 755 "$system/usr/bin/systemctl"; }
install_inside pcp libpcp-pmda3 libpcp-pmda3-dev libc6-dev gcc pkg-config

# serves WHAT: a pmcd with the DSO agents pmcd and sample and the daemon pmdasample serves values, on the library named.
serves() {
    local what=$1 port=44399 library process processes=0 i
    rm -rf "$system/private"
    mkdir -p "$system/private"
    cp "$system/etc/pcp.conf" "$system/private/pcp.conf"
    inside sed -i 's:^\(PCP_RUN_DIR\|PCP_LOG_DIR\|PCP_TMP_DIR\|PCP_TMPFILE_DIR\)=.*:\1=/private:' /private/pcp.conf
    cat >"$system/private/pmcd.conf" <<'CONF'
pmcd 2 dso pmcd_init /var/lib/pcp/pmdas/pmcd/pmda_pmcd.so
sample 29 dso sample_init /var/lib/pcp/pmdas/sample/pmda_sample.so
sampled 30 pipe binary /var/lib/pcp/pmdas/sample/pmdasample -d 30
CONF
    cat >"$system/private/pmns" <<'PMNS'
root { pmcd sample sampled }
pmcd { version 2:0:7 }
sample { long }
sample.long { one 29:0:10 }
sampled { ten 30:0:11 }
PMNS
    (cd "$system/private" && exec chroot "$system" env PCP_CONF=/private/pcp.conf /usr/lib/pcp/bin/pmcd -f -n /private/pmns \
        -c /private/pmcd.conf -l /private/pmcd.log -p $port -i 127.0.0.1 -s /private/pmcd.socket -U root) &
    pmcd_pid=$!
    for i in $(seq 50); do
        if inside env PCP_CONF=/private/pcp.conf pminfo -h 127.0.0.1:$port -f pmcd.version >/dev/null 2>&1; then break; fi
        kill -0 "$pmcd_pid" 2>/dev/null || fail "$what: pmcd has ended: $(cat "$system/private/pmcd.log")"
        sleep 0.2
    done
    inside env PCP_CONF=/private/pcp.conf pminfo -h 127.0.0.1:$port -f pmcd.version sample.long.one sampled.ten \
        >"$system/private/values" 2>&1 || fail "$what: pminfo: $(cat "$system/private/values" "$system/private/pmcd.log")"
    grep -q 'value 1$' "$system/private/values" || fail "$what: sample.long.one: $(cat "$system/private/values")"
    grep -q 'value 10$' "$system/private/values" || fail "$what: sampled.ten: $(cat "$system/private/values")"
    for process in "$pmcd_pid" $(pgrep -P "$pmcd_pid" -x pmdasample); do
        library=$(grep -o '/usr/lib/libpcp_pmda[^ ]*' "/proc/$process/maps" | sort -u || true)
        [ "$(realpath "$system$library")" = "$(realpath "$system/usr/lib/libpcp_pmda.so.3")" ] ||
            fail "$what: process $process has loaded ${library:-no libpcp_pmda}"
        processes=$((processes + 1))
    done
    [ "$processes" = 2 ] || fail "$what: pmdasample does not run"
    kill "$pmcd_pid"
    wait "$pmcd_pid" 2>/dev/null || true
    pmcd_pid=
    echo "== $what: pmcd, its DSO agents and a daemon serve values from $library ($(inside dpkg -S "$library" | cut -d: -f1))"
}

owner() { inside dpkg -S /usr/lib/libpcp_pmda.so.3 | cut -d: -f1; }

[ "$(owner)" = libpcp-pmda3 ] || fail "the C library is not there at the start"
serves "the C library"

rm -rf "${system:?}/packages"
mkdir -p "$system/packages"
cp "${CARGO_TARGET_DIR:-target}"/deb/*.deb "$system/packages/"
inside sh -c 'apt-get install -y -q --no-install-recommends /packages/*.deb' >"$system.apt.log" 2>&1 || { cat "$system.apt.log" >&2; exit 1; }
[ "$(owner)" = libpcp-pmda-rust ] || fail "our package does not own the library"
installed pcp || fail "pcp was removed"
inside apt-get check -q || fail "dependencies are broken"
serves "this library"
cat >"$system/private/agent.c" <<'C'
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
int main(void) { pmInDom d = 1; return pmdaCacheStore(d, PMDA_CACHE_ADD, "a", NULL); }
C
inside sh -c 'cd /private && cc -Wall -Werror -o agent agent.c $(pkg-config --cflags --libs libpcp_pmda) && ./agent' ||
    fail "a program does not build with the development package"

install_inside libpcp-pmda3 libpcp-pmda3-dev
[ "$(owner)" = libpcp-pmda3 ] || fail "the C library did not come back"
if installed libpcp-pmda-rust; then fail "our package is still there"; fi
serves "the C library again"
echo "deb-test: passed"
