#!/usr/bin/env bash
# Runs the fuzz targets. Needs the nightly toolchain and cargo-fuzz.
#
# run.sh [TARGET...]: each (without a name all of them) for FUZZ_SECONDS (600), FUZZ_JOBS (1) at a time. A line for each, then
# "N targets, N runs, N failed"; logs and new inputs are in fuzz/target/run, inputs that fail in fuzz/artifacts. Once fixed,
# such an input goes to fuzz/regressions/TARGET.
#
# run.sh --corpus [TARGET...]: takes the new inputs over into fuzz/corpus, as few files as cover the same, of at most 1 kB.
set -uo pipefail
cd "$(dirname "$0")" || exit

readonly seconds=${FUZZ_SECONDS:-600} jobs=${FUZZ_JOBS:-1}
readonly out=$PWD/target/run

command -v cargo-fuzz >/dev/null || { echo "fuzz: cargo-fuzz is missing: cargo install cargo-fuzz --locked" >&2; exit 1; }
cargo +nightly --version >/dev/null 2>&1 || { echo "fuzz: the nightly toolchain is missing: rustup toolchain install nightly" >&2; exit 1; }

minimise=
if [ "${1:-}" = --corpus ]; then
    minimise=yes
    shift
fi
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(cargo +nightly fuzz list)
mkdir -p "$out"
cargo +nightly fuzz build >"$out/build.log" 2>&1 || { cat "$out/build.log" >&2; exit 1; }

# The log of the library goes to /dev/null, that of the fuzzer does not.
run() {
    mkdir -p "$out/$1"
    if cargo +nightly fuzz run "$1" "$out/$1" "corpus/$1" -- -max_total_time="$seconds" -print_final_stats=1 -close_fd_mask=2 >"$out/$1.log" 2>&1; then
        : >"$out/$1.passed"
    else
        rm -f "$out/$1.passed"
    fi
    printf '%s: %d runs, %s\n' "$1" "$(runs "$1")" "$([ -e "$out/$1.passed" ] && echo 'none failed' || echo "FAILED, see ${out#"$PWD"/}/$1.log")"
}

runs() { sed -n 's/^stat::number_of_executed_units: *//p' "$out/$1.log" | awk '{ sum += $1 } END { print sum + 0 }'; }

minimise() {
    local fresh=$out/$1.corpus
    rm -rf "$fresh"
    mkdir -p "$fresh" "$out/$1"
    cargo +nightly fuzz run "$1" "$fresh" "corpus/$1" "$out/$1" -- -set_cover_merge=1 -max_len=1024 -close_fd_mask=2 >"$out/$1.merge.log" 2>&1 || {
        printf '%s: FAILED, see %s\n' "$1" "${out#"$PWD"/}/$1.merge.log"
        return 1
    }
    rm -rf "corpus/$1"
    mv "$fresh" "corpus/$1"
    printf '%s: %d files, %d bytes\n' "$1" "$(find "corpus/$1" -type f | wc -l)" "$(cat "corpus/$1"/* | wc -c)"
}

failed=0
if [ -n "$minimise" ]; then
    for target in "${targets[@]}"; do minimise "$target" || failed=1; done
    exit "$failed"
fi
for target in "${targets[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
    run "$target" &
done
wait
total=0
for target in "${targets[@]}"; do
    total=$((total + $(runs "$target")))
    [ -e "$out/$target.passed" ] || failed=$((failed + 1))
done
printf '%d targets, %d runs, %d failed\n' "${#targets[@]}" "$total" "$failed"
[ "$failed" = 0 ]
