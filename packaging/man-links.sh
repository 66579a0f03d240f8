#!/usr/bin/env bash
# man-links.sh [--remove] DIRECTORY: installs the manual pages of docs/man, and a link page for each further function that a page
# describes; or removes them again.
set -euo pipefail
cd "$(dirname "$0")/.."
remove=no
if [ "$1" = --remove ]; then
    remove=yes
    shift
fi
directory=$1
[ "$remove" = yes ] || mkdir -p "$directory"
for page in docs/man/*.3; do
    sed -n '/^.SH NAME/{n;s/ \\- .*//;s/, /\n/g;p}' "$page" | while read -r name; do
        if [ "$remove" = yes ]; then
            rm -f "$directory/$name.3"
        elif [ "$name.3" = "$(basename "$page")" ]; then
            install -m 644 "$page" "$directory"
        else
            echo ".so man3/$(basename "$page")" >"$directory/$name.3"
        fi
    done
done
