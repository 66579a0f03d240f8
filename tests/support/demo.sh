#!/usr/bin/env bash
# PCP's own simple agent, compiled unmodified against this library, as a DSO and as a daemon: under dbpmda, then under a
# private pmcd over each kind of connection. Shows its metrics, stores into one, samples one, changes an instance
# domain, and proves from /proc that this library and not the C one was loaded.
#
# Each outcome is checked; the first that is not as expected ends the demo with exit status 1. All that it starts is
# stopped, by process id; it writes below target/demo and to two sockets in a temporary directory.
set -euo pipefail
cd "$(dirname "$0")/../.."
readonly top=$PWD

readonly target=${CARGO_TARGET_DIR:-$PWD/target}
readonly library=${DEMO_LIBRARY:-$target/release/libpcp_pmda.so}
readonly pcp=$target/pcp/root work=$target/demo
readonly sources=$pcp/var/lib/pcp/pmdas/simple
readonly names=$sources/root
sockets=$(mktemp -d)
readonly sockets
pmcd= pmcd_log= daemon=
port=$((20000 + RANDOM % 20000))

step() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
shown() { sed 's/^/   /'; }
fail() {
    printf '\ndemo: FAILED: %s\n' "$*" >&2
    [ ! -s "$pmcd_log" ] || sed 's/^/   pmcd: /' "$pmcd_log" >&2
    exit 1
}

# stop PID: ends a process that this script has started, and waits until it is gone.
stop() {
    local tries
    [ -n "$1" ] && kill "$1" 2>/dev/null || return 0
    for tries in {1..200}; do
        kill -0 "$1" 2>/dev/null || return 0
        sleep 0.05
    done
    kill -KILL "$1" 2>/dev/null || true
}
finish() {
    stop "$pmcd"
    stop "$daemon"
    rm -rf "$sockets"
}
trap finish EXIT

# expect WHAT PATTERN TEXT: the text has a line that matches the pattern.
expect() {
    grep -qE -- "$2" <<<"$3" || { printf '%s\n' "$3" | shown; fail "$1: no line matches \"$2\""; }
    printf '   ok: %s\n' "$1"
}

# until_answer WHAT PATTERN COMMAND...: asks until the answer matches, for ten seconds.
until_answer() {
    local what=$1 pattern=$2 answer= tries
    shift 2
    for tries in {1..100}; do
        answer=$("$@" 2>&1) || true
        ! grep -qE -- "$pattern" <<<"$answer" || { printf '   ok: %s\n' "$what"; return 0; }
        sleep 0.1
    done
    printf '%s\n' "$answer" | shown
    fail "$what: no line matches \"$pattern\""
}

# loaded WHO PID: the process has our library mapped, and no other of that name.
loaded() {
    local found
    found=$(grep -oE '/[^ ]*libpcp_pmda[^ ]*' "/proc/$2/maps" | sort -u)
    [ "$found" = "$(realpath "$library")" ] || fail "$1 (process $2) has loaded: ${found:-no libpcp_pmda}"
    printf '   ok: %s (process %d) has loaded %s\n' "$1" "$2" "${found#"$top"/}"
}

# start_pmcd LINE: a private pmcd with that agent; sets pmcd, pmcd_log and the clients' address.
start_pmcd() {
    local tries
    pmcd_log=$work/log/pmcd/pmcd.log
    printf '%s\n' "$1" >"$work/pmcd.conf"
    port=$((port + 1))
    rm -f "$pmcd_log"
    (cd "$work"; unset PMCD_PORT PMCD_HOST; exec "$pcp/usr/lib/pcp/bin/pmcd" -f -n "$names" -c "$work/pmcd.conf" -l "$pmcd_log" \
        -p "$port" -i 127.0.0.1 -s "$sockets/pmcd" -U "$PCP_USER" >"$work/pmcd.out" 2>&1) &
    pmcd=$!
    for tries in {1..300}; do
        ! grep -qE "ok .* $port +inet" "$pmcd_log" 2>/dev/null || break
        kill -0 "$pmcd" 2>/dev/null || fail "pmcd ended: $(cat "$work/pmcd.out")"
        sleep 0.1
    done
    grep -qE "ok .* $port +inet" "$pmcd_log" || fail "pmcd does not listen on port $port"
    export PMCD_PORT=$port PMCD_HOST=127.0.0.1
    grep -E '^simple ' "$pmcd_log" | shown
}

# now: the values of simple.now in one line.
now() { pminfo -f simple.now | grep inst | tr -d '\n'; }

# tour WHAT [PROCESS]: what a user does with the agent that is running, as a process of that name if it is a daemon.
tour() {
    local answer pid
    step "$1: pminfo -dfmtTl simple"
    answer=$(pminfo -dfmtTl simple 2>&1) || fail "pminfo: $answer"
    printf '%s\n' "$answer" | shown
    expect "five metrics" '^simple.now ' "$answer"
    expect "a type and an instance domain" 'Data Type: 32-bit int  InDom: 253\.0' "$answer"
    expect "the three colours" 'inst \[2 or "blue"\] value 2[0-9][0-9]' "$answer"
    expect "help texts" 'Metrics which increment with each fetch' "$answer"
    expect "labels" 'labels \{.*"role":"testing"' "$answer"
    expect "time units of simple.conf" 'inst \[[0-9]+ or "hour"\] value' "$answer"
    ! grep -q 'Error' <<<"$answer" || fail "an error among the answers"

    step "$1: pmstore simple.numfetch 42"
    answer=$(pmstore simple.numfetch 42 2>&1) || fail "pmstore: $answer"
    printf '%s\n' "$answer" | shown
    expect "stored" 'new value=42' "$answer"
    answer=$(pminfo -f simple.numfetch)
    expect "counted on from there" 'value 4[3-9]' "$answer"
    answer=$(pmstore simple.time.user 1 2>&1) && fail "a store into a read-only metric was accepted"
    expect "a read-only metric refuses" 'Permission|permission|No permission' "$answer"

    step "$1: pmval -s 3 -t 0.2 simple.color"
    answer=$(pmval -s 3 -t 0.2 simple.color 2>&1) || fail "pmval: $answer"
    printf '%s\n' "$answer" | shown
    [ "$(grep -cE '^ +[0-9]+ +[0-9]+ +[0-9]+ *$' <<<"$answer")" = 3 ] || fail "pmval did not show three samples"
    printf '   ok: three samples\n'

    step "$1: simple.conf changes, and with it the instance domain of simple.now"
    printf 'hour\n' >"$work/var/pmdas/simple/simple.conf"
    until_answer "one instance is left, with its old number" '^ +inst \[2 or "hour"\] value [0-9]+$' now
    pminfo -f simple.now | shown

    step "$1: which library is loaded"
    loaded pmcd "$pmcd"
    if [ -n "${2:-}" ]; then
        pid=${daemon:-$(pgrep -P "$pmcd" -x "$2")} || fail "no process $2"
        loaded "$2" "$pid"
    fi
}

# fresh: simple.conf as the package has it.
fresh() {
    cp "$pcp/etc/pcp/simple/simple.conf" "$work/var/pmdas/simple/simple.conf"
    touch -d '1 hour ago' "$work/var/pmdas/simple/simple.conf"
}

step "The private PCP: directories in ${work#"$top"/}, this library first in the search path"
[ -e "$library" ] || fail "$library is missing: cargo build --release"
rm -rf "$work"
mkdir -p "$work"/{build,lib,run,log/pmcd,tmp,var/config/pmda,var/pmdas,etc}
for name in libpcp_pmda.so.3 libpcp_pmda.so; do ln -s "$(realpath "$library")" "$work/lib/$name"; done
ln -s "$pcp/var/lib/pcp/pmns" "$work/var/pmns"
cp -rL "$sources" "$work/var/pmdas/simple"
export PCP_CONF=$target/pcp/pcp.conf PCP_RUN_DIR=$work/run PCP_LOG_DIR=$work/log PCP_TMP_DIR=$work/tmp
export PCP_TMPFILE_DIR=$work/tmp PCP_VAR_DIR=$work/var PCP_SYSCONF_DIR=$work/etc PCP_PMDAS_DIR=$work/var/pmdas
export PCP_PMCDCONF_PATH=$work/pmcd.conf
export LD_LIBRARY_PATH=$work/lib PATH=$pcp/usr/bin:$pcp/usr/lib/pcp/bin:$PATH
unset PCP_DIR PMCD_SOCKET
PCP_USER=$(sed -n 's/^PCP_USER=//p' "$PCP_CONF")
readlink "$work/lib/libpcp_pmda.so.3" | shown

step "simple.c as PCP ships it, compiled against include/pcp/pmda.h and linked with this library"
readonly headers=$PWD/include
cd "$work/build"
flags=(-O2 -Wall -Werror -I "$headers" -I "$sources")
cc "${flags[@]}" -fPIC -shared -o pmda_simple.so "$sources/simple.c" -L "$work/lib" -lpcp_pmda -lpcp
cc "${flags[@]}" -o pmdasimple "$sources/simple.c" -L "$work/lib" -lpcp_pmda -lpcp
expect "pmda.h is ours" "^${headers}/pcp/pmda\.h:$" "$(cc "${flags[@]}" -M -MP "$sources/simple.c")"
# An agent writes its log where it is started.
cd "$work"
for file in pmda_simple.so pmdasimple; do
    expect "$file needs libpcp_pmda.so.3" 'NEEDED.*libpcp_pmda\.so\.3' "$(readelf -d "$work/build/$file")"
done
readonly dso="$work/build/pmda_simple.so" program="$work/build/pmdasimple"

for form in "dso $dso simple_init 253" "pipe $program -d 253"; do
    step "dbpmda: open ${form%% *}"
    fresh
    printf '%s\n' "open $form" 'getdesc on' 'status' 'desc simple.color' 'fetch simple.color simple.numfetch' \
        'instance 253.0' 'store simple.numfetch "7"' 'fetch simple.numfetch' 'text simple.color' 'close' 'quit' \
        >"$work/dbpmda.in"
    answer=$(timeout 60 dbpmda -ie -n "$names" <"$work/dbpmda.in" 2>&1) || fail "dbpmda: $answer"
    printf '%s\n' "$answer" | shown
    expect "a fetch" 'inst \[1 or .*value 101' "$answer"
    expect "the instances" 'red' "$answer"
    expect "the value stored, counted on" 'value 8' "$answer"
    ! grep -qE 'Error|Segmentation' <<<"$answer" || fail "dbpmda reports an error"
done

fresh
step "pmcd with the DSO"
start_pmcd "simple 253 dso simple_init $dso"
tour "DSO"
stop "$pmcd"

fresh
step "pmcd with the daemon over a pipe"
start_pmcd "simple 253 pipe binary $program -d 253"
tour "daemon over a pipe" pmdasimple
stop "$pmcd"

fresh
step "pmcd with the daemon over a unix socket"
"$program" -d 253 -u "$sockets/simple" -l "$work/log/simple.log" &
daemon=$!
for tries in {1..100}; do [ ! -S "$sockets/simple" ] || break; sleep 0.05; done
start_pmcd "simple 253 socket unix $sockets/simple"
tour "daemon over a unix socket" pmdasimple
stop "$pmcd"
stop "$daemon"

step "Done"
printf 'demo: everything is as expected\n'
