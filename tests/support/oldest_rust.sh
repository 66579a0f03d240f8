#!/usr/bin/env bash
# The crates that users build, with the oldest Rust that Cargo.toml allows, which may refuse what a newer one takes. It comes out of
# Debian's packages, unpacked below target. Where Debian has no package of that release, this says so, and `make -C packaging check-rust`
# is the test that is left. With the word fetch, only the packages, which need a network.
set -euo pipefail
cd "$(dirname "$0")/../.."

oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p;T;q' Cargo.toml)
readonly oldest home=${CARGO_TARGET_DIR:-$PWD/target}/rust-$oldest

# version PACKAGE: that of the package, if there is one of the release.
version() { apt-cache madison "$1" | awk -F ' *[|] *' -v release="$oldest." 'index($2, release) == 1 { print $2; exit }'; }

# download PACKAGE...
download() {
    apt-get download -q "$@" >"$home/apt.log" 2>&1 || { cat "$home/apt.log" >&2; return 1; }
}

if [ ! -x "$home/rustc" ]; then
    name=web # Debian 12 has it for browsers: rustc-web
    version=$(version rustc-web)
    if [ -z "$version" ]; then
        name=
        version=$(version rustc)
    fi
    if [ -z "$version" ]; then
        echo "Rust $oldest is not among this system's packages: make -C packaging check-rust builds with it"
        exit
    fi
    rm -rf "$home"
    mkdir -p "$home/deb"
    cd "$home/deb"
    download "rustc${name:+-$name}=$version" "libstd-rust${name:+-$name}-dev=$version" "libstd-rust${name:+-$name}-$oldest=$version"
    llvm=$(dpkg-deb -f libstd-rust*-"$oldest"_*.deb Depends | grep -o 'libllvm[0-9]*')
    download "$llvm"
    for package in *.deb; do
        dpkg-deb -x "$package" "$home/root"
    done
    cd - >/dev/null
    rm -r "$home/deb"
    libraries=$(dirname "$(find "$home/root" -name 'libLLVM*.so*' -type f | head -n 1)")
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%q exec %q "$@"\n' "$libraries" "$home/root/usr/bin/rustc" >"$home/rustc"
    chmod 755 "$home/rustc"
fi
[ "${1:-}" != fetch ] || exit 0
export RUSTC=$home/rustc CARGO_TARGET_DIR=$home/target
cargo check --quiet --locked --package pcp-pmda --package pmda --package pmda-derive
# The standard library differs as well: which kind of error a number becomes, for one.
cargo test --quiet --locked --package pmda-core --lib
