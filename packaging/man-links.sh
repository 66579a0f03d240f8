#!/usr/bin/env bash
# man-links.sh [--remove] DIRECTORY [EXTENSION]: installs the manual pages of docs/man below DIRECTORY (man1, man3), and a link page
# for each further function that a page describes; or removes them again. EXTENSION takes the place of 3 in the names of pages
# about functions, as in pmdaTreeCreate.3pcprust: man(1) finds them all the same, and no package of PCP can have a file of that name.
set -euo pipefail
cd "$(dirname "$0")/.."
remove=no
if [ "$1" = --remove ]; then
    remove=yes
    shift
fi
directory=$1
functions=${2:-3}
for page in docs/man/*.[13]; do
    section=${page##*.}
    extension=$section
    [ "$section" != 3 ] || extension=$functions
    folder=$directory/man$section
    [ "$remove" = yes ] || mkdir -p "$folder"
    main=$(basename "$page" ".$section")
    sed -n '/^.SH NAME/{n;s/ \\- .*//;s/, /\n/g;p}' "$page" | while read -r name; do
        file=$folder/$name.$extension
        if [ "$remove" = yes ]; then
            rm -f "$file"
        elif [ "$name" = "$main" ]; then
            sed "s/^\(\.TH [^ ]*\) 3 /\1 $functions /" "$page" >"$file"
            chmod 644 "$file"
        else
            echo ".so man$section/$main.$extension" >"$file"
            chmod 644 "$file"
        fi
    done
done
