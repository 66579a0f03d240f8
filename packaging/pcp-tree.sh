#!/usr/bin/env bash
# pcp-tree.sh DIR: the library in PCP's own tree. DIR has PCP's sources, such as Debian's source package (`apt-get source pcp`); it is copied to
# target/pcp-tree/source, and nothing is written into it. There libpcp and its C libpcp_pmda are built, then ours by
# packaging/pcp-tree/GNUmakefile in the C library's place, without a network: it exports the same symbols, and dbpmda gets the same
# answers of PCP's agent simple from both. Needs what PCP's configure asks for (Debian: bison, flex).
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "packaging/pcp-tree.sh: $*" >&2; exit 1; }
[ $# = 1 ] || fail "PCP=DIR names the directory of PCP's sources"
[ -e "$1/src/libpcp_pmda/src/GNUmakefile" ] || fail "$1 has no sources of PCP: src/libpcp_pmda/src/GNUmakefile is missing"
from=$(realpath "$1")
version=$(sed -n 's/^version = "\(.*\)"/\1/p;T;q' Cargo.toml)
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$target/pcp-tree
tree=$work/source
export NO_CHOWN=true

# quietly NAME COMMAND…: the output is in a file; the end of it is shown if the command fails.
quietly() {
    local log=$work/$1.log
    shift
    "$@" >"$log" 2>&1 </dev/null || { tail -n 20 "$log" >&2; fail "$* failed: $log"; }
}
# offline COMMAND…: without a network, where the kernel lets us.
offline() { if unshare --net true 2>/dev/null; then unshare --net "$@"; else "$@"; fi; }

rm -rf "$work"
mkdir -p "$tree"
echo "== a copy of $from in $tree"
tar --create --exclude=./.git -C "$from" . | tar --extract -C "$tree"
[ ! -e "$tree/src/include/builddefs" ] || quietly clean make -C "$tree/src" clean
cd "$tree"
# As packages are built: without assertions.
quietly configure ./configure --prefix="$work/root" --with-non-debug=yes --without-qt --without-qt3d --without-selinux
cd "$OLDPWD"

echo "== PCP $(sed -n 's/^PCP_VERSION=//p' "$tree/src/include/pcp.conf")"
for part in include libpcp libpcp_static libpcp_pmda libpcp_mmv libpcp_gui pmcpp dbpmda pmns pmdas/simple; do
    quietly "make-${part##*/}" make -C "$tree/src/$part" default_pcp
done
library=$tree/src/libpcp_pmda/src
# The C library, aside.
c=$tree/src/libpcp_pmda/c
cp -a "$library" "$c"

echo "== the library in its tree"
packaging/library.sh
rust=$tree/src/libpcp_pmda/rust
mkdir "$rust"
tar --extract --strip-components=1 -C "$rust" -f "$target/dist/pcp-pmda-library-$version.tar.gz"
tar --extract -C "$rust" -f "$target/dist/pcp-pmda-library-$version-vendor.tar.gz"
rm -f "$library"/*.[acho] "$library"/libpcp_pmda.{so,so.3,pc}
cp "$rust/packaging/pcp-tree/GNUmakefile" "$library/"
quietly make-rust offline make -C "$library" default_pcp

symbols() { readelf --wide --dyn-syms "$1" | awk '$7 != "UND" && $8 ~ /@/ { print $8 }' | sort; }
diff <(symbols "$c/libpcp_pmda.so.3") <(symbols "$library/libpcp_pmda.so.3") >&2 || fail "the exported symbols differ"
echo "ok: $(symbols "$library/libpcp_pmda.so.3" | wc -l) symbols with their versions, as in the C library"

# answers LIBRARY: what dbpmda shows of the agent simple on it, without the numbers of processes and addresses.
cat >"$work/names" <<'NAMES'
root { simple }
simple {
    numfetch 253:0:0
    color 253:0:1
}
NAMES
answers() {
    (
        cd "$tree/src/pmdas/simple"
        PCP_CONF=$tree/src/include/pcp.conf PCP_BINADM_DIR=$tree/src/pmcpp PCP_PMDAS_DIR=$tree/src/pmdas PCP_USER=$(id -un) PCP_GROUP=$(id -gn) \
            PCP_LOG_DIR=$work PCP_RUN_DIR=$work LD_LIBRARY_PATH=$1:$tree/src/libpcp/src:$tree/src/libpcp_gui/src \
            timeout 120 ../../dbpmda/src/dbpmda -n "$work/names" -ei 2>&1 <<COMMANDS
getdesc on
open dso pmda_simple.so simple_init 253
fetch 253.0.0 253.0.1
fetch 253.0.0 253.0.1
desc 253.0.1
instance 253.0
label instances 253.0
store 253.0.0 "42"
fetch 253.0.0
close
open pipe ./pmdasimple -d 253 -l $work/simple.log
fetch 253.0.0 253.0.1
instance 253.0
quit
COMMANDS
    ) | sed 's/([0-9]*)/(PID)/; s/^\[.*\] \(dbpmda\)/[TIME] \1/; s/0x[0-9a-f]*/ADDRESS/g; s/timestamp: .* numpmid/timestamp: TIME numpmid/'
}
answers "$c" >"$work/answers.c" || fail "dbpmda does not run: $(tail -n 3 "$work/answers.c")"
answers "$library" >"$work/answers.ours" || fail "dbpmda does not run on ours: $(tail -n 3 "$work/answers.ours")"
diff "$work/answers.c" "$work/answers.ours" >&2 || fail "dbpmda gets other answers from ours"
if ! grep -q 'value 43' "$work/answers.c" || [ "$(grep -c 'name: "blue"' "$work/answers.c")" != 2 ]; then
    fail "dbpmda got no answers: $work/answers.c"
fi
echo "ok: dbpmda gets the same $(wc -l <"$work/answers.c") lines of the agent simple, as a shared object and as a daemon"
