#!/usr/bin/env bash
# Packs the crates for agents in Rust (cargo package), in target/package, and builds what is in the packages.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(cargo metadata --format-version 1 --no-deps --locked | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
crates=(pmda-core pmda-derive pmda)
# Before a release no registry has them: so no lock file, and the build stands on what is unpacked here.
cargo package --locked --no-verify --exclude-lockfile --allow-dirty "${crates[@]/#/--package=}"
unpacked=$target/package/unpacked
rm -rf "$unpacked"
mkdir -p "$unpacked"
version=$(sed -n 's/^version = "\(.*\)"/\1/p;T;q' Cargo.toml)
{
    echo "[workspace]"
    echo "resolver = \"3\""
    echo "members = [\"*-$version\"]"
    echo "[patch.crates-io]"
    for crate in "${crates[@]}"; do
        tar -xzf "$target/package/$crate-$version.crate" -C "$unpacked"
        echo "$crate = { path = \"$crate-$version\" }"
    done
} > "$unpacked/Cargo.toml"
cp Cargo.lock "$unpacked"
cargo check --quiet --manifest-path "$unpacked/Cargo.toml" --target-dir "$target/package/target" --package pmda --offline
echo "crates.sh: ${#crates[@]} packages, and they build"
