#!/usr/bin/env bash
# directories.sh note DESTDIR FILE DIRECTORY…: notes in FILE which of the directories, and of those above them, are not there yet: it is
# called before they are made. What an earlier installation has noted stays.
# directories.sh remove DESTDIR FILE: removes FILE and the directories in it that are empty.
#
# All names are below DESTDIR.
set -euo pipefail
command=$1 root=$2 file=$2$3
shift 3
case $command in
    note)
        noted=$(
            [ ! -e "$file" ] || cat "$file"
            for directory in "$@"; do
                while [ -n "$directory" ] && [ ! -e "$root$directory" ]; do
                    printf '%s\n' "$directory"
                    directory=${directory%/*}
                done
            done
        )
        mkdir -p "${file%/*}"
        LC_ALL=C sort -u <<<"$noted" >"$file"
        ;;
    remove)
        [ -e "$file" ] || exit 0
        # The deepest first: a name sorts behind that of the directory above it.
        noted=$(LC_ALL=C sort -r "$file")
        rm "$file"
        while IFS= read -r directory; do
            [ -z "$directory" ] || rmdir --ignore-fail-on-non-empty "$root$directory" 2>/dev/null || true
        done <<<"$noted"
        ;;
esac
