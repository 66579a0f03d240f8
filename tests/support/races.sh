#!/usr/bin/env bash
# Runs the eight threads of tests/hostile on a library with ThreadSanitizer (nightly toolchain): no data race. A program
# that has one on purpose shows that the tool looks.
#
# valgrind's helgrind and drd are no use here: they know the locks of pthreads, and report each access under another lock.
#
# races.sh [MILLISECONDS]
set -uo pipefail
cd "$(dirname "$0")/../.."

readonly target=${CARGO_TARGET_DIR:-$PWD/target}
readonly out=$target/races
triple=$(rustc -vV | sed -n 's/^host: //p')

if ! cargo +nightly --version >/dev/null 2>&1; then
    echo "races: the nightly toolchain is missing: rustup toolchain install nightly" >&2
    exit 1
fi
mkdir -p "$out/lib" "$out/run"
# The standard library comes without the sanitizer; what of it is generic is compiled here, with it.
RUSTFLAGS="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer" cargo +nightly rustc --quiet --lib --crate-type cdylib \
    --target "$triple" --target-dir "$out/build" || exit 1
for name in libpcp_pmda.so libpcp_pmda.so.3; do
    ln -sf "$out/build/$triple/debug/libpcp_pmda.so" "$out/lib/$name"
done
runtime=$(rustc +nightly --print sysroot)/lib/rustlib/$triple/lib/librustc-nightly_rt.tsan.a

# Compiles a program and runs it; the sanitizer wants addresses where it expects them.
run() {
    cc -g -O1 -w -std=gnu11 -D_GNU_SOURCE -o "$out/$1" "tests/hostile/$1.c" -L"$out/lib" -lpcp_pmda -lpcp \
        -Wl,--whole-archive "$runtime" -Wl,--no-whole-archive -Wl,-E -lpthread -ldl -lm -lrt || return 1
    (cd "$out/run" && LD_LIBRARY_PATH=$out/lib PCP_VAR_DIR=$out/run setarch -R "$out/$1" "${@:2}")
}

if run race >"$out/race.log" 2>&1 || ! grep -q 'WARNING: ThreadSanitizer: data race' "$out/race.log"; then
    echo "races: the race on purpose was not seen: $out/race.log" >&2
    exit 1
fi
mkdir -p "$out/run/config/pmda"
run threads "${1:-10000}" >"$out/threads.log" 2>&1
status=$?
found=$(grep -c 'WARNING: ThreadSanitizer' "$out/threads.log")
tail -n 1 "$out/threads.log"
echo "races: $found found"
[ "$status" = 0 ] && [ "$found" = 0 ]
