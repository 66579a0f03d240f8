#!/usr/bin/env bash
# Checks every shell script of the sources with shellcheck: no finding of level warning or above. Level info is left out: most of it
# warns of words that are split on purpose.
set -euo pipefail
cd "$(dirname "$0")/../.."

command -v shellcheck >/dev/null || { echo "shellcheck is missing: apt-get install shellcheck" >&2; exit 1; }
# A script is known by its first line; what is sourced names its shell in a comment for shellcheck.
mapfile -t scripts < <(
    find . \( -path ./target -o -path ./vendor -o -path ./.git -o -path ./fuzz/target \) -prune -o -type f -print0 |
        LC_ALL=C sort -z | xargs -0 awk 'FNR > 1 { nextfile } /^#!.*[\/ ](ba)?sh( |$)|^# shellcheck shell=/ { print FILENAME }'
)
shellcheck --severity=warning "${scripts[@]}"
echo "${#scripts[@]} shell scripts without a warning"
