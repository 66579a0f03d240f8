#!/bin/sh
# rust.sh [TOOLCHAIN]: for a container of CI, as root: Rust's toolchain by rustup, with its programs in /usr/local/bin; and git may look
# into the sources, which belong to another user there.
set -eu
curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs |
    sh -s -- -y --no-modify-path --profile minimal --default-toolchain "${1:-stable}" -c clippy -c rustfmt -c rust-src -c llvm-tools
ln -sf "${CARGO_HOME:-$HOME/.cargo}"/bin/* /usr/local/bin/
git config --global --add safe.directory "$PWD"
