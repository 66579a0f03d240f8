#!/bin/sh
# Puts all files of the agent below a root folder, for a package: in its folder among those of PCP's
# agents what --write makes, and the program.
#
#   packaging/files.sh ROOT
set -eu

cd "$(dirname "$0")/.."
cargo build --release
folder=$1/var/lib/pcp/pmdas/@NAME@
mkdir -p "$folder"
target/release/pmda@NAME@ --write "$folder"
cp target/release/pmda@NAME@ "$folder"
