#!/usr/bin/env bash
# Format, lints, build, all tests; the last line sums up: "N passed, N failed", and ", N skipped" where tests could not run.
# A step before the tests that fails counts as one failed check, and the tests still run if they can be built.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit

# What a next build could reuse, 1.5 GB of it, is worth its room to a developer alone.
[ -d "${CARGO_TARGET_DIR:-target}/debug/incremental" ] || export CARGO_INCREMENTAL=0

# What docs/OPERATING.md says was tested.
COMMIT=$(git rev-parse --short=8 HEAD 2>/dev/null)
export COMMIT
readonly log=${CARGO_TARGET_DIR:-target}/check.log
passed=0
failed=0
mkdir -p "$(dirname "$log")"

# step NAME COMMAND...: runs one step and counts it.
step() {
    local name=$1 start=$SECONDS
    shift
    printf '== %s\n' "$name"
    if "$@"; then
        passed=$((passed + 1))
        printf '== %s: passed in %d s\n' "$name" $((SECONDS - start))
    else
        failed=$((failed + 1))
        printf '== %s: FAILED\n' "$name"
    fi
}

# The sum of the numbers before WORD in the lines that cargo's test programs end with.
total() { sed -n "s/^test result: .* \([0-9]\+\) $1.*/\1/p" "$log" | awk '{ sum += $1 } END { print sum + 0 }'; }

# meanwhile NAME COMMAND...: runs a command beside what follows; `ended NAME` waits for it.
declare -A running
meanwhile() {
    local name=$1
    shift
    "$@" >"${log%.log}-$name.log" 2>&1 &
    running[$name]=$!
}
ended() { wait "${running[$1]}" || { cat "${log%.log}-$1.log"; return 1; }; }

# Its linking is the work of one thread.
meanwhile build packaging/build.sh

step format cargo fmt --check
step lints cargo clippy --quiet --workspace --all-targets -- -D warnings
step scripts tests/support/scripts.sh
step documentation env RUSTDOCFLAGS='-D warnings' cargo doc --quiet --workspace --no-deps --document-private-items
step build ended build

# The tests run on that library, and need not look whether it is built.
[ -s target/built ] && TEST_BUILT=$(cat target/built) && export TEST_BUILT

# Tests wait more than they work. So three thirds of the test programs run at once, and the one with those that wait most has more threads.
meanwhile oldest nice -n 19 tests/support/oldest_rust.sh
tests() { cargo test --workspace --no-fail-fast "$@"; }
waiting() { RUST_TEST_THREADS=$((2 * $(nproc))) tests --test '[a-c]*'; }
printf '== tests\n'
: >"$log"
outcome=1
if cargo test --workspace --no-run; then
    meanwhile waiting waiting
    meanwhile middle tests --test '[d-l]*'
    tests --lib --bins --examples --test '[m-z]*' 2>&1 | tee "$log"
    outcome=${PIPESTATUS[0]}
    for third in middle waiting; do
        wait "${running[$third]}" || outcome=1
        tee -a "$log" <"${log%.log}-$third.log"
    done
    tests --doc 2>&1 | tee -a "$log"
    [ "${PIPESTATUS[0]}" = 0 ] || outcome=1
fi
step 'oldest Rust' ended oldest
broken=$(total failed)
if [ "$outcome" != 0 ] && [ "$broken" = 0 ]; then
    broken=1
    printf '== tests: FAILED: cargo test ended with %d\n' "$outcome"
fi

# A test that finds out while it runs that it cannot says so, and libtest counts it as passed (tests/support/lib.rs, skipped).
said='skipped: [A-Za-z0-9_:]*: '
marked=$(grep -c "$said" "$log")
skipped=$(($(total ignored) + marked))
if [ "$skipped" != 0 ]; then
    printf '== skipped\n'
    grep -o "$said.*\|^test .* \.\.\. ignored.*" "$log" | sed 's/^skipped: //; s/^test //; s/ *\.\.\. ignored,\{0,1\}/:/' | sort -u
fi
passed=$((passed + $(total passed) - marked))
failed=$((failed + broken))
summary="$passed passed, $failed failed"
[ "$skipped" = 0 ] || summary+=", $skipped skipped"
[ "$failed" != 0 ] ||
    packaging/tested.sh "make check" "Debian $(cat /etc/debian_version), $(dpkg --print-architecture)" "$(pkg-config --modversion libpcp_pmda)" "$summary"
printf '%s\n' "$summary"
[ "$failed" = 0 ]
