#!/usr/bin/env bash
# Runs the C programs of tests/c and tests/hostile and PCP's agents simple, sample and mmv on this library under valgrind: no
# error, no definite leak.
#
# memcheck.sh [PROGRAM...]: a PROGRAM is a name below tests, such as c/cache_files; without one all of them and the agents.
# The last line is "N programs and N agents, N failed"; the reports of those that failed are in target/memcheck.
set -uo pipefail
cd "$(dirname "$0")/../.."

readonly target=${CARGO_TARGET_DIR:-$PWD/target}
readonly out=$target/memcheck
readonly error=99

readonly options=(
    -q --error-exitcode="$error" --num-callers=30 --trace-children=no --suppressions="$PWD/tests/support/valgrind.supp"
    --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite
)

setting() { sed -n "s|^[ */]*$1:\(.*\)|\1|p" "$2" | head -n 1 | sed 's|\*/||'; }

cargo build --quiet || exit 1
mkdir -p "$out/lib"
ln -sf "$target/debug/libpcp_pmda.so" "$out/lib/libpcp_pmda.so.3"
# Left out are hostile/dso, whose agent is unloaded with all that its variables point to, hostile/memory and
# hostile/cache_memory, which replace malloc as the tool does, and hostile/saves, which kills agents sooner than they save
# anything here.
programs=("$@")
[ ${#programs[@]} -gt 0 ] || mapfile -t programs < <(cd tests && ls c/*.c c/fixed/*.c hostile/{calls,leaks,pdus,reenter,streams,threads}.c | sed 's/\.c$//')

failed=0
for name in "${programs[@]}"; do
    source=tests/$name.c
    directory=$out/$name
    rm -rf "$directory"
    mkdir -p "$directory/var/config"
    read -ra arguments < <(setting args "$source") || true
    read -ra extra < <(setting cc "$source") || true
    case $name in
        hostile/pdus) arguments=(1000) ;;
        hostile/threads) arguments=(50) ;;
        hostile/*) arguments=(1) ;;
    esac
    if ! cc -g -O1 -w -std=gnu11 -D_GNU_SOURCE -I tests/c -o "$directory/program" "$source" "${extra[@]}" -lpcp_pmda -lpcp -lpthread -ldl; then
        failed=$((failed + 1))
        continue
    fi
    (cd "$directory" && LD_LIBRARY_PATH=$out/lib PCP_VAR_DIR=$directory/var PCP_SYSCONF_DIR=$directory/etc PCP_TMPFILE_DIR=$directory TZ=UTC LC_ALL=C HOSTILE_TOOL=valgrind \
        timeout 600 valgrind "${options[@]}" --log-file="$directory/report.%p" ./program "${arguments[@]}") \
        </dev/null >"$directory/output" 2>&1
    status=$?
    # A child that dies of errors reports them too, whatever its parent's exit status.
    if [ "$status" = "$error" ] || [ "$status" = 124 ] || { [[ $name == hostile/* ]] && [ "$status" != 0 ]; } || grep -qsE '^==[0-9]+== ' "$directory"/report.*; then
        failed=$((failed + 1))
        printf '%s: FAILED (%d), see %s\n' "$name" "$status" "${directory#"$PWD"/}"
    else
        rm -rf "$directory"
    fi
done
agents=0
if [ $# = 0 ]; then
    tests/support/tool-agents.sh memcheck "$out/lib" "$out/agents" | tee "$out/agents.log"
    read -r agents _ broken _ < <(tail -n 1 "$out/agents.log" | tr -d ,)
    failed=$((failed + ${broken:-1}))
fi
printf '%d programs and %d agents, %d failed\n' "${#programs[@]}" "${agents:-0}" "$failed"
[ "$failed" = 0 ]
