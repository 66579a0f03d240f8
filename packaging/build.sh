#!/usr/bin/env bash
# build.sh [CARGO-OPTION…]: the release build of the shared and the static library, and of the program behind `pcp-pmda-rust compare`. The
# libraries are built alone: with the Rust library beside them, which the tests use, cargo does not optimise the crates as one. Writes the
# directory of the libraries into target/built: only cargo knows it for sure (CARGO_TARGET_DIR, CARGO_BUILD_TARGET, its configuration), and
# root, who runs `make install`, may have no cargo. CRATE_TYPES=staticlib leaves out the shared library. In the sources of the library alone
# (library.sh) there is no such program.
set -euo pipefail
cd "$(dirname "$0")/.."

# An older cargo cannot read Cargo.toml, and does not say why.
oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
rust=$("${RUSTC:-rustc}" --version 2>/dev/null | cut -d ' ' -f 2) || true
if ! command -v "${CARGO:-cargo}" >/dev/null || [ -z "$rust" ] || [ "$(printf '%s\n' "$oldest" "$rust" | sort -V | head -n 1)" != "$oldest" ]; then
    echo "make: Rust $oldest or later is needed (found: ${rust:-none}): https://rustup.rs, or on Debian 12 apt-get install cargo-web rustc-web," \
        "on Debian 13 apt-get install cargo rustc" >&2
    exit 1
fi
messages=$(packaging/cargo.sh rustc --release --package pcp-pmda --lib --crate-type "${CRATE_TYPES:-cdylib,staticlib}" --message-format=json-render-diagnostics "$@")
library=$(grep -o '"[^"]*/libpcp_pmda\.a"' <<<"$messages" | tail -n 1 | tr -d '"')
packaging/static.sh "$library"
[ ! -d tools/compare ] || packaging/cargo.sh build --release --package pcp-pmda-rust-compare "$@"
# In one step: tests that run beside each other build and read.
mkdir -p target
dirname "$library" >target/built.$$
mv target/built.$$ target/built
# For `pcp-pmda-rust run` of a clone: the library under the name that agents ask for, in a folder of its own.
mkdir -p "${library%/*}/pcp-pmda-rust"
ln -sfn ../libpcp_pmda.so "${library%/*}/pcp-pmda-rust/libpcp_pmda.so.3"
