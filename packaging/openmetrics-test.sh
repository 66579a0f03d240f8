#!/usr/bin/env bash
# openmetrics-test.sh SUITE: PCP's own tests of its agent openmetrics (the group pmda.openmetrics of the package pcp-testsuite), with PCP's
# agent in Python and with ours in its place, in a Debian system of its own with pmcd. What a test prints has to be the same, but for what
# agents/openmetrics/DIFFERENCES.md says. Each test runs in name spaces of its own (processes, network, mounts): nothing is left when it
# ends, however it ends. Needs root.
set -Eeuo pipefail
cd "$(dirname "$0")/.."
. packaging/system.sh
not_below /tmp

suite=${1:?usage: openmetrics-test.sh SUITE}
system=$target/systems/$suite-openmetrics
place=/var/lib/pcp/pmdas/openmetrics
results=$target/openmetrics-test/$suite
# python3-six is for the tests' own server, redis for what serves openmetrics to Prometheus.
packages=(pcp pcp-testsuite python3-requests python3-six redis-server redis-tools sudo procps curl gawk)

prepare() {
    trap close_system EXIT
    make_system "$suite" "$suite-openmetrics"
    inside apt-get update -q >/dev/null
    install_alone "${packages[@]}"
    echo 'pcpqa ALL=(ALL) NOPASSWD: ALL' >"$system/etc/sudoers.d/pcpqa"
    printf '127.0.0.1 localhost %s\n' "$(hostname)" >"$system/etc/hosts"
    close_system
    trap - EXIT
    cargo build --quiet --release --package pmda-openmetrics
    rm -rf "$results"
    mkdir -p "$results/Python" "$results/Rust" "$results/place/config.d"
    cp "$target/release/pmdaopenmetrics" "$results/place/"
    "$results/place/pmdaopenmetrics" --write "$results/place"
    # The tests look for it, and for nothing in it.
    touch "$results/place/pmdaopenmetrics.python"
}

# one AGENT TEST: in the name spaces.
one() {
    mount -t tmpfs tmpfs "$system/run"
    mount -t tmpfs tmpfs "$system/tmp"
    chmod 1777 "$system/tmp"
    [ "$1" = Python ] || mount --bind "$results/place" "$system$place"
    inside install -d -o pcp -g pcp /run/pcp
    inside redis-server --daemonize yes >/dev/null 2>&1 || true
    { inside /etc/init.d/pmcd start && inside /etc/init.d/pmproxy start; } >/dev/null 2>&1
    inside su -s /bin/sh pcpqa -c "umask 022; cd /var/lib/pcp/testsuite && { [ -e localconfig ] || ./mk.localconfig >/dev/null; } && exec ./$2"
}

# run AGENT TEST: what it prints, in a file.
run() {
    isolated 600 "$suite" "$1" "$2" >"$results/$1/$2" 2>&1 ||
        echo "failed: $?" >>"$results/$1/$2"
}

# steady AGENT TEST: without the command of the agent and the metric that ours alone has (OM-80), and sorted, as names come in another
# order (OM-53).
steady() {
    sed -E -e 's/(binary notready)[[:blank:]].*/\1/' -e '/^openmetrics\.control\.(document_age|failures|numbers_unsaved|samples|samples_lost|up)$/d' "$results/$1/$2" | sort
}

# judge TEST
judge() {
    local lost new
    if grep -q '\[not run\]' "$results"/*/"$1"; then
        echo "$1: not run"
        return 1
    elif grep '^failed: ' "$results"/*/"$1"; then
        return 1
    fi
    lost=$(comm -23 <(steady Python "$1") <(steady Rust "$1"))
    new=$(comm -13 <(steady Python "$1") <(steady Rust "$1"))
    if [ -z "$lost$new" ]; then
        echo "$1: equal"
    elif [ "$(wc -l <<<"$lost")" = "$(wc -l <<<"$new")" ] &&
        ! grep -qv 'labels {' <<<"$lost" && ! grep -qv 'labels {.*\\' <<<"$new"; then
        echo "$1: equal but for $(wc -l <<<"$new") labels with quotes or backslashes (OM-68)"
    else
        printf '%s: different\nPython:\n%s\nRust:\n%s\n' "$1" "$lost" "$new"
        return 1
    fi
}

if [ -n "$isolated" ]; then
    one "$2" "$3"
    exit
fi
COMMIT=$(git rev-parse --short=8 HEAD)
export COMMIT
prepare
failed=0
mapfile -t tests < <(sed -n 's/^\([0-9]*\) .*\bpmda\.openmetrics\b.*/\1/p' "$system/var/lib/pcp/testsuite/group")
[ ${#tests[@]} -gt 10 ]
for test in "${tests[@]}"; do
    run Python "$test"
    run Rust "$test"
    judge "$test" || failed=$((failed + 1))
done
echo "openmetrics-test $suite: ${#tests[@]} of PCP's tests, $failed failed"
[ "$failed" = 0 ]
tested "openmetrics-test-$suite" "${#tests[@]} of PCP's tests of openmetrics"
