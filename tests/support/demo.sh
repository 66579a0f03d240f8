#!/usr/bin/env bash
# The demo: PCP's own agent simple, compiled unmodified against this library, as a DSO and as a daemon, under dbpmda and under a private
# pmcd over each kind of connection. Shows its metrics, stores into one, samples one, changes an instance domain, and proves which library
# was loaded. Each outcome is checked; the first that is not as expected ends the demo. Of an answer the lines that show something are
# printed, once for each question; make demo V=1 prints all.
#
# Takes the library that `make` has built, and PCP's tools from `setup.sh demo`. Its files are below target/demo; nothing of an installed
# PCP is touched, and what is started is stopped by its process id, however the demo ends.
set -euo pipefail
cd "$(dirname "$0")/../.."

tools=$(realpath "${CARGO_TARGET_DIR:-target}")/pcp
root=$tools/root
place=$(realpath -m "${CARGO_TARGET_DIR:-target}")/demo
library=$(cat target/built)/libpcp_pmda.so
domain=253
# Unix sockets have short names.
sockets=$(mktemp -d)
user=$(id -un)

bold=
plain=
if [ -t 1 ] && [ "${TERM:-dumb}" != dumb ]; then
    bold=$'\e[1m'
    plain=$'\e[0m'
fi
# What is as expected is printed in one line at the end of a step.
passed=
ok() { passed+=${passed:+, }$1; }
end_step() {
    [ -z "$passed" ] || fold -s -w 110 <<<"ok: $passed" | sed 's/^/   /'
    passed=
}
step() {
    end_step
    printf '%s== %s%s\n' "$bold" "$*" "$plain"
}
# show TEXT PATTERN: four lines that match, and not the same question's a second time.
declare -A shown
show() {
    if [ -n "${V:-}" ]; then
        sed 's/^/   /' <<<"$1"
    elif [ -z "${shown[$2]:-}" ]; then
        shown[$2]=yes
        { grep -E "$2" <<<"$1" || true; } | sed -n '1,4s/^ */   /p'
    fi
}
fail() { printf 'demo: FAILED: %s\n' "$*" >&2; exit 1; }
# expect WHAT PATTERN TEXT: some line of the text matches.
expect() {
    grep -qE "$2" <<<"$3" || { echo "$3" >&2; fail "$1"; }
    ok "$1"
}
# refuse WHAT PATTERN TEXT: no line does.
refuse() {
    ! grep -qE "$2" <<<"$3" || { echo "$3" >&2; fail "$1"; }
    ok "$1"
}
# soon WHAT COMMAND…: the command succeeds within ten seconds.
soon() {
    local what=$1 try
    shift
    for try in $(seq 200); do
        if "$@"; then
            ok "$what"
            return
        fi
        sleep 0.05
    done
    fail "$what: not within ten seconds ($try times)"
}

processes=()
stop() {
    local process
    for process in "${processes[@]}"; do
        kill "$process" 2>/dev/null || continue
        for _ in $(seq 100); do
            kill -0 "$process" 2>/dev/null || break
            sleep 0.05
        done
        kill -9 "$process" 2>/dev/null || true
        wait "$process" 2>/dev/null || true
    done
    processes=()
}
trap 'stop; rm -rf "$sockets"' EXIT
trap 'exit 130' INT TERM HUP

# Private directories, and this library in front.
private=(
    env -u PCP_DIR -u PMCD_PORT -C "$place" PCP_CONF="$tools/pcp.conf" PCP_RUN_DIR="$place/run" PCP_LOG_DIR="$place/log"
    PCP_TMP_DIR="$place/tmp" PCP_TMPFILE_DIR="$place/tmp" PCP_VAR_DIR="$place/var" PCP_PMDAS_DIR="$place/agents"
    PCP_PMCDCONF_PATH="$place/pmcd.conf" PMCD_SOCKET="$sockets/pmcd" PMCD_HOST="unix:$sockets/pmcd" TZ=UTC LC_ALL=C
    LD_LIBRARY_PATH="$place/lib" PATH="$root/usr/bin:$root/usr/lib/pcp/bin:$PATH"
)
# pcp PROGRAM ARGUMENT…: a program of PCP, for a minute at most.
pcp() { timeout 60 "${private[@]}" "$@"; }

loaded() {
    local maps
    maps=$(sed -n 's:^[^/]*\(/.*libpcp_pmda\.so.*\)$:\1:p' "/proc/$2/maps" | sort -u)
    [ "$maps" = "$library" ] || fail "$1 (process $2) has loaded ${maps:-no libpcp_pmda}"
    ok "$1 (process $2) has loaded $maps"
}

# What changes the instances of simple.now.
configure() {
    echo "$1" >"$place/agents/simple/simple.conf"
}

under_dbpmda() {
    local answer
    step "dbpmda: open $*"
    configure sec,min,hour
    answer=$(pcp dbpmda -ie -n "$root/var/lib/pcp/pmdas/simple/root" 2>&1 <<END
open $*
getdesc on
desc simple.color
fetch simple.color simple.numfetch
instance $domain.0
store simple.numfetch "7"
fetch simple.numfetch
text simple.color
close
quit
END
    )
    show "$answer" 'value|^ *[0-9]+: |Metric'
    expect "a fetch" 'inst \[1 or .*value 101' "$answer"
    expect "the instances" 'red' "$answer"
    expect "the value stored, and counted on" 'value 8' "$answer"
    refuse "no error" 'Error|Segmentation' "$answer"
}

# ask PATTERN TOOL ARGUMENT…: into $answer; the pattern is what `show` prints.
ask() {
    local pattern=$1
    shift
    step "$*"
    answer=$(pcp "$@" 2>&1 || true)
    show "$answer" "$pattern"
}
one_hour() { [ "$(pcp pminfo -f simple.now | grep -c inst)" = 1 ] && pcp pminfo -f simple.now | grep -qE 'inst \[2 or "hour"\] value'; }
log_says() { grep -qE "$1" "$place/log/pmcd.log" 2>/dev/null; }

# under_pmcd WHAT LINE [DAEMON]: what a user does with the agent in pmcd; DAEMON prints its process, if it is one.
under_pmcd() {
    local what=$1 line=$2 daemon=${3:-} pmcd port try answer
    step "a private pmcd, the agent as $what"
    configure sec,min,hour
    # An old file: a change of it is seen by its time.
    touch -d '1 hour ago' "$place/agents/simple/simple.conf"
    echo "simple $domain $line" >"$place/pmcd.conf"
    for try in 1 2 3 4 5; do
        port=$((20000 + RANDOM % 12000))
        rm -f "$place/log/pmcd.log"
        "${private[@]}" pmcd -f -n "$root/var/lib/pcp/pmdas/simple/root" -c "$place/pmcd.conf" -l "$place/log/pmcd.log" -p "$port" -i 127.0.0.1 \
            -s "$sockets/pmcd" -U "$user" >"$place/log/output" 2>&1 &
        pmcd=$!
        processes+=("$pmcd")
        soon "pmcd has started" log_says " $port inet "
        # Somebody else may have taken the port meanwhile.
        ! log_says "ok .* $port inet " || break
        [ "$try" -lt 5 ] || { cat "$place/log/pmcd.log" >&2; fail "pmcd finds no port"; }
        stop
    done
    ask '^ +(inst .*)?value [0-9"]' pminfo -dfmtTl simple
    expect "five metrics" '^simple.now ' "$answer"
    expect "a type and an instance domain" "Data Type: 32-bit int  InDom: $domain\\.0" "$answer"
    expect "the three colours" 'inst \[2 or "blue"\] value 2[0-9][0-9]' "$answer"
    expect "help texts" 'Metrics which increment with each fetch' "$answer"
    expect "labels" 'labels \{.*"role":"testing"' "$answer"
    expect "time units of simple.conf" 'inst \[[0-9]+ or "hour"\] value' "$answer"
    refuse "no error" 'Error' "$answer"
    ask 'old value=' pmstore simple.numfetch 42
    expect "stored" 'new value=42' "$answer"
    ask '^ +value' pminfo -f simple.numfetch
    expect "counted on from there" 'value 4[3-9]' "$answer"
    ask 'simple.time.user: ' pmstore simple.time.user 1
    expect "a read-only metric refuses" '[Pp]ermission' "$answer"
    ask '^ +[0-9]+ +[0-9]+ +[0-9]+ *$|red' pmval -s 3 -t 0.2 simple.color
    [ "$(grep -cE '^ +[0-9]+ +[0-9]+ +[0-9]+ *$' <<<"$answer")" = 3 ] || fail "three samples"
    ok "three samples"
    step "simple.conf changes, and with it the instances of simple.now"
    configure hour
    soon "one instance is left, with its old number" one_hour
    step "which library is loaded"
    loaded pmcd "$pmcd"
    [ -z "$daemon" ] || loaded pmdasimple "$($daemon)"
}
# The agent's process, from pmcd's log.
from_log() { awk '$1 == "simple" && NF > 6 { process = $3 } END { print process }' "$place/log/pmcd.log"; }
listening() { echo "$alone"; }

[ -e "$library" ] && [ -e "$tools/pcp.conf" ] || fail "nothing is built: make demo"
rm -rf "$place"
mkdir -p "$place"/{agents,lib,log,run,tmp,var/config/pmda}
ln -s "$root/var/lib/pcp/pmns" "$root/var/lib/pcp/pmdas" "$place/var/"
ln -s "$library" "$place/lib/libpcp_pmda.so.3"
ln -s libpcp_pmda.so.3 "$place/lib/libpcp_pmda.so"
# The library's file as maps show it.
library=$(realpath "$library")
cp -rL "$root/var/lib/pcp/pmdas/simple" "$place/agents/"

step "simple.c as PCP ships it, compiled against include/pcp/pmda.h and linked with this library"
for flags in '-fPIC -shared -o pmda_simple.so' '-o pmdasimple'; do
    # shellcheck disable=SC2086 # Words.
    said=$(cd "$place" && cc -O2 -Wall -Werror -H -I "$OLDPWD/include" $flags agents/simple/simple.c -L lib -lpcp_pmda -lpcp 2>&1) ||
        { echo "$said" >&2; fail "simple.c does not compile"; }
    expect "${flags##* }: pmda.h is this project's" "include/pcp/pmda\.h\$" "$(grep -F "$PWD/include/pcp/pmda.h" <<<"$said")"
done

dso=$place/pmda_simple.so
program="$place/pmdasimple -d $domain -U $user"
under_dbpmda "dso $dso simple_init $domain"
under_dbpmda "pipe $program"
under_pmcd "a DSO" "dso simple_init $dso"
stop
under_pmcd "a daemon over a pipe" "pipe binary $program" from_log
stop
# shellcheck disable=SC2086 # Words.
"${private[@]}" $program -u "$sockets/simple" -l simple.log &
alone=$!
processes+=("$alone")
step "the daemon by itself"
soon "the daemon listens" test -S "$sockets/simple"
under_pmcd "a daemon over a unix socket" "socket unix $sockets/simple" listening
stop
rm -rf "$place"
end_step
echo "demo: everything is as expected"
