#!/usr/bin/env bash
# pairs-host.sh: what packaging/pairs.sh runs on a host with PCP where `make install` has put the library of some build. The last line says
# "works", or "refused: " and by whom. Anything else is a failure. The host's files are a copy, its processes and its network its own.
set -euo pipefail
fail() { echo "$*" >&2; tail -n 30 /var/log/pcp/pmcd/pmcd.log /tmp/output >&2 || true; exit 1; }
command=/usr/local/bin/pcp-pmda-rust
ours=/usr/local/lib/pcp-pmda-rust/libpcp_pmda.so.3

# A system that was unpacked and not configured has no users, no awk, and no name space of metrics.
[ -s /etc/passwd ] || printf 'root:x:0:0::/root:/bin/sh\n' >/etc/passwd
[ -s /etc/group ] || printf 'root:x:0:\n' >/etc/group
grep -q ^pcp: /etc/passwd || { echo 'pcp:x:900:900::/var/lib/pcp:/bin/false' >>/etc/passwd; echo 'pcp:x:900:' >>/etc/group; }
command -v awk >/dev/null || ln -s mawk /usr/bin/awk
ldconfig
binaries=$(sed -n 's/^PCP_BINADM_DIR=//p' /etc/pcp.conf)
mkdir -p /run/pcp /var/log/pcp/pmcd /var/lib/pcp/tmp /var/lib/pcp/config/pmda
chown -R pcp:pcp /run/pcp /var/log/pcp /var/lib/pcp/tmp /var/lib/pcp/config/pmda
[ -e /var/lib/pcp/pmns/root ] || (cd /var/lib/pcp/pmns && ./Rebuild -u) >/tmp/rebuild 2>&1 || { cat /tmp/rebuild; exit 1; }

# asked NAME: starts pmcd, asks for everything, and writes to /tmp/NAME.errors which metrics have an error, to /tmp/NAME.loaded what
# pmcd and its agents have loaded, to /tmp/NAME.end the status of a pmcd that has failed by itself. pmcd ends afterwards.
asked() {
    local pid try=0
    # A pmcd that has failed leaves its socket.
    rm -f /var/log/pcp/pmcd/* /run/pcp/pmcd.socket
    : >"/tmp/$1.end"
    "$binaries/pmcd" -f -q 60 -l /var/log/pcp/pmcd/pmcd.log >/tmp/output 2>&1 &
    pid=$!
    # Five values: all agents that start slowly are there.
    until pminfo -f pmcd.version kernel.all.load proc.nprocs >/tmp/values 2>&1 && [ "$(grep -c ' value ' /tmp/values)" -ge 5 ]; do
        try=$((try + 1))
        [ -e "/proc/$pid" ] && [ "$try" -lt "${2:-120}" ] || break
        sleep 0.5
    done
    timeout 300 pminfo -f >"/tmp/$1.all" 2>&1 || true
    awk '/^[a-z][^ ]*$/ { name = $0 } /^[a-z][^ ]*: / { print } /^Error/ { print name ": " $0 }' "/tmp/$1.all" | sort >"/tmp/$1.errors"
    cat /proc/[0-9]*/maps 2>/dev/null | sed -n 's:^[^/]*\(/.*libpcp_pmda\.so.*\)$:\1:p' | sort -u >"/tmp/$1.loaded" || true
    # Whose process has two generations of libpcp.
    grep -l 'libpcp\.so\.3' /proc/[0-9]*/maps 2>/dev/null | xargs -r grep -l 'libpcp\.so\.4' | sed 's:maps$:comm:' | xargs -r cat | sort >"/tmp/$1.both" || true
    echo "$1: $(wc -l <"/tmp/$1.all") lines, $(wc -l <"/tmp/$1.errors") metrics with an error, loaded: $(tr '\n' ' ' <"/tmp/$1.loaded")"
    [ -e "/proc/$pid" ] || wait "$pid" || echo "$?" >"/tmp/$1.end"
    kill "$pid" 2>/dev/null && wait "$pid" || true
}

# The first start finds no files of an earlier one: of PCP 7 its agent proc refuses much then.
asked first
asked c
! grep -q rust /tmp/c.loaded || fail "the library is loaded before it is enabled"
[ "$(wc -l </tmp/c.all)" -gt 1000 ] || fail "the C library serves nothing"

# as_with C OURS: whether pmcd has served on this library what it has served on the C library.
as_with() {
    # Others are never loaded beside it.
    [ "$(cat "/tmp/$2.loaded")" = "$ours" ] || fail "loaded: $(cat "/tmp/$2.loaded")"
    comm -3 "/tmp/$1.errors" "/tmp/$2.errors" | tee /tmp/different
    [ ! -s /tmp/different ] || fail "not the same metrics have an error as with the C library"
    # Processes come and go.
    [ "$(wc -l <"/tmp/$2.all")" -gt $(($(wc -l <"/tmp/$1.all") * 9 / 10)) ] || fail "fewer values than with the C library"
    ! grep -rh 'serves no call' /var/log/pcp/pmcd /tmp/output || fail "it fits, and refuses"
}

if reason=$($command fits 2>&1); then
    $command enable
    asked ours
    as_with c ours
    if grep -q 'libpcp\.so\.4' "$ours"; then
        # Agents of Debian 12, one of them in pmcd, before any call of another.
        configuration=$(sed -n 's/^PCP_PMCDCONF_PATH=//p' /etc/pcp.conf)
        sed -i '/^\(linux\|proc\)[[:blank:]]/d' "$configuration"
        sed -i '1i linux 60 dso linux_init /older/linux/pmda_linux.so\nproc 3 pipe binary /older/proc/pmdaproc -d 3' "$configuration"
        $command disable
        asked older-c
        $command enable
        asked older
        [ "$(cat /tmp/older.both)" = $'pmcd\npmdaproc' ] || fail "the older libpcp is in the processes $(tr '\n' ' ' </tmp/older.both)"
        as_with older-c older
        echo "works, with agents of PCP 6 as well"
        exit
    fi
    echo works
    exit
fi
echo "$reason"
[ "$(wc -l <<<"$reason")" = 1 ] || fail "fits has more than one line"
! $command enable || fail "enable takes what does not fit"
# The library was there when PCP was updated.
echo "${ours%/*}" >/etc/ld.so.conf.d/00-pcp-pmda-rust-local.conf
ldconfig
said() { { cat /var/log/pcp/pmcd/* /tmp/output 2>/dev/null || true; } | grep "$1"; }
# refused: whether the library itself refuses. No agent has a value then, and pmcd answers.
refused() {
    said 'serves no call' || return
    ! grep -q '^    \(value\|inst\)' /tmp/ours.all || fail "an agent serves on a library that does not fit"
    grep -q 'PMCD agent' /tmp/ours.all || fail "pmcd does not answer"
}
asked ours 10
if refused; then
    echo "refused by fits and the library"
    exit
fi
said 'error while loading shared libraries\|version .* not found' || fail "it does not fit, and nobody says so"
# The libpcp of the build may have stayed: then there are two in a process.
cp /built/libpcp.so.* /usr/local/lib/
ldconfig
asked ours
if refused; then
    echo "refused by fits and the dynamic linker; with both libpcp by the library"
elif said 'version .* not found'; then
    # The newer libpcp needs a newer glibc.
    echo "refused by fits and the dynamic linker"
else
    # An older libpcp beside its own is the agents' affair: it serves what the C library of its PCP serves there.
    install -m 644 /built/c/libpcp_pmda.so.3 "$ours"
    asked older
    if [ -s /tmp/older.end ]; then
        [ "$(cat /tmp/ours.end)" = "$(cat /tmp/older.end)" ] || fail "pmcd ends otherwise than with the C library"
        echo "refused by fits and the dynamic linker; with both libpcp pmcd ends as with the C library of its PCP (status $(cat /tmp/older.end))"
        exit
    fi
    as_with older ours
    echo "refused by fits and the dynamic linker; with both libpcp it serves as the C library of its PCP"
fi
