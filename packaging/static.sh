#!/usr/bin/env bash
# static.sh ARCHIVE: makes one object of the static library that cargo has built, which defines the functions of capi/exports.map and
# nothing else. As cargo leaves it, the archive has Rust's standard library with all its names, so that a program that links another
# static library in Rust has them twice. What no function needs is left out, as are debug information and bitcode. ld, objcopy and ar are
# those of the C compiler CC (cc): that of the target.
set -euo pipefail
cd "$(dirname "$0")/.."
archive=$1

read -ra compiler <<<"${CC:-cc}"
tool() {
    local path
    if ! path=$("${compiler[@]}" -print-prog-name="$1") || ! command -v "$path"; then
        echo "static.sh: ${compiler[*]} has no $1: set CC to the C compiler of the target, and install its binutils" >&2
        exit 1
    fi
}
ld=$(tool ld.bfd) objcopy=$(tool objcopy) ar=$(tool ar)
# Cargo has not written it anew.
[ "$("$ar" t "$archive")" != pcp_pmda.o ] || exit 0

scratch=$(mktemp -d "$archive.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
sed -n 's/^ *\([_a-zA-Z0-9]*\);$/\1/p' capi/exports.map >"$scratch/names"
mapfile -t wanted < <(sed 's/^/--undefined=/' "$scratch/names")
# Groups are what linkers merge by their names: these become ours alone, too.
"$ld" -r --gc-sections --force-group-allocation "${wanted[@]}" "$archive" -o "$scratch/all.o" || {
    echo "static.sh: $ld cannot link $archive: CC has to be the C compiler of the target" >&2
    exit 1
}
"$objcopy" --strip-debug --remove-section=.llvmbc --remove-section=.llvmcmd --keep-global-symbols="$scratch/names" \
    "$scratch/all.o" "$scratch/pcp_pmda.o"
"$ar" rcsD "$scratch/libpcp_pmda.a" "$scratch/pcp_pmda.o"
mv "$scratch/libpcp_pmda.a" "$archive"
