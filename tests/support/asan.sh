#!/usr/bin/env bash
# Builds the library with AddressSanitizer (nightly toolchain) and runs the C programs of tests/c and tests/hostile and PCP's
# agents simple, sample and mmv on it: no report. Leaks are memcheck.sh's business: what programs of C lose has its list
# of reasons there.
#
# asan.sh [PROGRAM...]: a PROGRAM is a name below tests, such as c/cache_files; without one all of them and the agents. The
# last line is "N programs and N agents, N failed, N left to memcheck"; the reports of those that failed are in target/asan.
set -uo pipefail
cd "$(dirname "$0")/../.."

readonly target=${CARGO_TARGET_DIR:-$PWD/target}
readonly out=$target/asan
triple=$(rustc -vV | sed -n 's/^host: //p')

setting() { sed -n "s|^[ */]*$1:\(.*\)|\1|p" "$2" | head -n 1 | sed 's|\*/||'; }

if ! cargo +nightly --version >/dev/null 2>&1; then
    echo "asan: the nightly toolchain is missing: rustup toolchain install nightly" >&2
    exit 1
fi
mkdir -p "$out/lib"
# The runtime is linked into the library: its own start is first in each process.
RUSTFLAGS="-Zsanitizer=address" cargo +nightly rustc --quiet --lib --crate-type cdylib --target "$triple" --target-dir "$out/build" || exit 1
ln -sf "$out/build/$triple/debug/libpcp_pmda.so" "$out/lib/libpcp_pmda.so.3"

# Left out are hostile/dso, whose agent is unloaded with all that its variables point to, and hostile/memory, which
# replaces malloc as the tool does.
programs=("$@")
[ ${#programs[@]} -gt 0 ] || mapfile -t programs < <(cd tests && ls c/*.c c/fixed/*.c hostile/{calls,leaks,pdus,reenter,saves,streams,threads}.c | sed 's/\.c$//')
failed=0
skipped=0
for name in "${programs[@]}"; do
    source=tests/$name.c
    # The sanitizer cannot live with a limit of its own memory; memcheck.sh runs these.
    if [[ $name == c/* ]] && grep -q 'RLIMIT_AS' "$source"; then
        skipped=$((skipped + 1))
        continue
    fi
    directory=$out/$name
    rm -rf "$directory"
    mkdir -p "$directory/var/config"
    read -ra arguments < <(setting args "$source") || true
    read -ra extra < <(setting cc "$source") || true
    case $name in
        hostile/calls) arguments=(100) ;;
        hostile/leaks) arguments=(1600) ;;
        hostile/streams) arguments=(2) ;;
        hostile/pdus) arguments=(20000) ;;
        hostile/saves) arguments=(20) ;;
        hostile/threads) arguments=(5000) ;;
    esac
    # The sanitizer keeps freed memory for a while; the program that measures memory has it freed at once.
    keep=
    [ "$name" != hostile/leaks ] || keep=:quarantine_size_mb=0:thread_local_quarantine_size_kb=0
    if ! cc -g -O1 -w -fsanitize=address -std=gnu11 -D_GNU_SOURCE -I tests/c -o "$directory/program" "$source" "${extra[@]}" \
        -L"$out/lib" -lpcp_pmda -lpcp -lpthread -ldl; then
        failed=$((failed + 1))
        continue
    fi
    (cd "$directory" && LD_LIBRARY_PATH=$out/lib PCP_VAR_DIR=$directory/var PCP_SYSCONF_DIR=$directory/etc PCP_TMPFILE_DIR=$directory TZ=UTC LC_ALL=C HOSTILE_TOOL=asan \
        ASAN_OPTIONS=detect_leaks=0:log_path=$directory/report:abort_on_error=0:handle_segv=1$keep timeout 300 ./program "${arguments[@]}") \
        </dev/null >"$directory/output" 2>&1
    status=$?
    if [ "$status" = 124 ] || { [[ $name == hostile/* ]] && [ "$status" != 0 ]; } || compgen -G "$directory/report*" >/dev/null; then
        failed=$((failed + 1))
        printf '%s: FAILED (%d), see %s\n' "$name" "$status" "${directory#"$PWD"/}"
    else
        rm -rf "$directory"
    fi
done
agents=0
if [ $# = 0 ]; then
    tests/support/tool-agents.sh asan "$out/lib" "$out/agents" | tee "$out/agents.log"
    read -r agents _ broken _ < <(tail -n 1 "$out/agents.log" | tr -d ,)
    failed=$((failed + ${broken:-1}))
fi
printf '%d programs and %d agents, %d failed, %d left to memcheck\n' $((${#programs[@]} - skipped)) "${agents:-0}" "$failed" "$skipped"
[ "$failed" = 0 ]
