#!/usr/bin/env bash
# cargo.sh ARGUMENT…: cargo, so that nothing of this machine stays in what it builds: for the directories of the sources, of the
# crates and of the standard library the compilers write other names into debug information and messages. Where the archive of crates
# (packaging/dist.sh) is unpacked beside the sources, they come from there, without a network.
set -euo pipefail
cd "$(dirname "$0")/.."

# A directory and its name in the libraries, in turns; of several that fit the last one counts.
prefixes=(
    "${CARGO_HOME:-${HOME-}/.cargo}" /usr/share/cargo
    "$PWD" /usr/src/pcp-pmda-rust
    "$("${RUSTC:-rustc}" --print sysroot)/lib/rustlib/src/rust" "/rustc/$("${RUSTC:-rustc}" -vV | sed -n 's/^commit-hash: //p')"
)
list=
# Flags in a list of their own, and quoted ones: a directory may have a blank in its name.
if [ -z "${CARGO_ENCODED_RUSTFLAGS+set}" ] && [ -n "${RUSTFLAGS+set}" ]; then
    IFS=$' \t\n' read -rd '' -a words <<<"$RUSTFLAGS" || true
    export CARGO_ENCODED_RUSTFLAGS
    CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f'; printf %s "${words[*]}")
fi
export CC_SHELL_ESCAPED_FLAGS=1
for ((at = 0; at < ${#prefixes[@]}; at += 2)); do
    flag=--remap-path-prefix=${prefixes[at]}=${prefixes[at + 1]}
    list+="\"$flag\","
    if [ -n "${CARGO_ENCODED_RUSTFLAGS+set}" ]; then
        export CARGO_ENCODED_RUSTFLAGS+="${CARGO_ENCODED_RUSTFLAGS:+$'\x1f'}$flag"
    fi
    CFLAGS="${CFLAGS-} $(printf %q "-ffile-prefix-map=${prefixes[at]}=${prefixes[at + 1]}")"
    export CFLAGS
done
# The environment hides what cargo's configuration says, so it is only used where it is set already.
options=()
if [ -z "${CARGO_ENCODED_RUSTFLAGS+set}" ]; then
    options=(--config "build.rustflags=[$list]")
fi
[ ! -d vendor ] || options+=(--config packaging/vendored.toml)
exec "${CARGO:-cargo}" "${options[@]}" "$@"
