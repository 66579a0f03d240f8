#!/usr/bin/env bash
# pcp-tree.sh DIR: the library in PCP's own tree, in the steps of docs/UPSTREAM.md. DIR has PCP's sources: a clone of its repository, of which
# HEAD is taken, or an unpacked archive, such as Debian's source package (`apt-get source pcp`). Nothing is written into it. In a copy below
# target/pcp-tree the two archives (packaging/library.sh) are unpacked, packaging/pcp-tree/configure.patch is applied, and all is committed;
# what a clone of that has is configured, built and installed, without a network. It shows:
#
#   - git takes each file of ours, whatever PCP's .gitignore names, and dh_clean, which PCP's packages run, deletes none;
#   - PCP's flags for the compiler and the linker (CFLAGS, LDFLAGS) are those of ours, too;
#   - `make install` after `make` builds nothing, by a root without cargo and with another HOME, nor do the commands of `make -n install`, which PCP's
#     install-dev runs; with --disable-shared the static library alone is built and installed;
#   - the same symbols as the C library's, and the same answers of PCP's agent simple to dbpmda.
#
# Needs what PCP's configure asks for (Debian: bison, flex).
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "packaging/pcp-tree.sh: $*" >&2; exit 1; }
[ $# = 1 ] || fail "PCP=DIR names the directory of PCP's sources"
[ -d "$1" ] || fail "$1 is no directory"
from=$(realpath "$1")
version=$(sed -n 's/^version = "\(.*\)"/\1/p;T;q' Cargo.toml)
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$target/pcp-tree
tree=$work/source
unset CARGO_TARGET_DIR
export NO_CHOWN=true

# quietly NAME COMMAND…: the output is in a file; the end of it is shown if the command fails.
quietly() {
    local log=$work/$1.log
    shift
    "$@" >"$log" 2>&1 </dev/null || { tail -n 20 "$log" >&2; fail "$* failed: $log"; }
}
# offline COMMAND…: without a network, where the kernel lets us.
offline() { if unshare --net true 2>/dev/null; then unshare --net "$@"; else "$@"; fi; }
commit() {
    git -C "$1" -c core.excludesFile=/dev/null add --all .
    git -C "$1" -c user.name=pcp-tree -c user.email=pcp-tree@localhost commit --quiet --message="$2"
}

rm -rf "$work"
mkdir -p "$work"
CARGO_TARGET_DIR=$target packaging/library.sh
# without_qa REPOSITORY DIRECTORY: a clone without PCP's tests, which are most of its tree; nothing of them is built here.
without_qa() {
    git clone --quiet --shared --no-checkout "$1" "$2"
    git -C "$2" sparse-checkout set --no-cone '/*' '!/qa'
    git -C "$2" checkout --quiet HEAD
}
if [ -e "$from/.git" ] || [ "$(git -C "$from" rev-parse --is-inside-git-dir 2>/dev/null)" = true ]; then
    echo "== PCP's commit $(git -C "$from" describe --tags --always HEAD) of $from"
    without_qa "$from" "$work/patched"
else
    [ -e "$from/src/libpcp_pmda/src/GNUmakefile" ] || fail "$from has no sources of PCP: src/libpcp_pmda/src/GNUmakefile is missing"
    echo "== a copy of $from"
    git init --quiet "$work/patched"
    tar --create --exclude=./.git --exclude=./qa -C "$from" . | tar --extract -C "$work/patched"
    # What packagers' tools have left out of their .gitignore is there, too.
    git -C "$work/patched" add --all --force .
    commit "$work/patched" "PCP"
fi

echo "== two archives and a patch"
rust=src/libpcp_pmda/rust
(
    cd "$work/patched"
    mkdir $rust
    tar --extract --strip-components=1 -C $rust --file="$target/dist/pcp-pmda-library-$version.tar.gz"
    tar --extract -C $rust --file="$target/dist/pcp-pmda-library-$version-vendor.tar.gz"
    git apply $rust/packaging/pcp-tree/configure.patch
)
commit "$work/patched" "libpcp_pmda in Rust"
without_qa "$work/patched" "$tree"
(cd "$work/patched/$rust" && find . -type f | sort) >"$work/unpacked"
(cd "$tree/$rust" && find . -type f | sort) >"$work/cloned"
diff "$work/unpacked" "$work/cloned" >&2 || fail "PCP's .gitignore hides these files"
# What dh_clean deletes (its manual page).
cleaned=$(find "$tree/$rust" -type f \( -name '#*#' -o -name '*~' -o -name DEADJOE -o -name '*.orig' -o -name '*.rej' -o -name '*.bak' -o -name .SUMS -o -name TAGS \))
[ -z "$cleaned" ] || fail "dh_clean deletes: $cleaned"
echo "ok: git takes all $(wc -l <"$work/cloned") files"

echo "== configure, make"
# As packages are built: without assertions, and with flags in the environment; these two show in what is built.
export CFLAGS=-fstack-protector-all LDFLAGS=-Wl,--hash-style=both
(
    cd "$tree"
    quietly configure ./configure --prefix="$work/root" --with-non-debug=yes --without-qt --without-qt3d --without-selinux --with-rust-pmda
)
grep -qxE 'RUST_PMDA_TARGET = .+' "$tree/src/include/builddefs" || fail "configure has chosen the C library: $work/configure.log"
echo "PCP $(sed -n 's/^PCP_VERSION=//p' "$tree/src/include/pcp.conf"), $(sed -n 's/^RUST_PMDA_TARGET = //p' "$tree/src/include/builddefs")"
for part in include libpcp libpcp_static; do
    quietly "make-$part" make -C "$tree/src/$part" default_pcp
done
library=$tree/src/libpcp_pmda/src
# The C library, aside: what configure chooses without the option.
c=$tree/src/libpcp_pmda/c
quietly make-c make -C "$tree/src/libpcp_pmda" RUST_PMDA_TARGET= default_pcp
cp -a "$library" "$c"
quietly clean-c make -C "$tree/src/libpcp_pmda" RUST_PMDA_TARGET= clean
quietly make-libpcp_pmda offline make -C "$tree/src/libpcp_pmda" default_pcp
for part in libpcp_mmv libpcp_gui pmcpp dbpmda pmns pmdas/simple; do
    quietly "make-${part##*/}" make -C "$tree/src/$part" default_pcp
done

symbols() { readelf --wide --dyn-syms "$1" | awk '$7 != "UND" && $8 ~ /@/ { print $8 }' | sort; }
diff <(symbols "$c/libpcp_pmda.so.3") <(symbols "$library/libpcp_pmda.so.3") >&2 || fail "the exported symbols differ"
echo "ok: $(symbols "$library/libpcp_pmda.so.3" | wc -l) symbols with their versions, as in the C library"
readelf --wide --dyn-syms "$library/libpcp_pmda.so.3" | grep 'UND __stack_chk_fail@' >/dev/null || fail "the functions in C were compiled without CFLAGS"
readelf --wide --dynamic "$library/libpcp_pmda.so.3" | grep '(HASH)' >/dev/null || fail "the library was linked without LDFLAGS"
echo "ok: it has the flags of CFLAGS and LDFLAGS"

echo "== make install"
# installed NAME COMMAND…: runs it in the library's directory, as a root for whom no cargo is there; its files are listed below $work/NAME.
installed() {
    local name=$1
    shift
    quietly "$name" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/nonexistent CARGO=/nonexistent/cargo RUSTC=/nonexistent/rustc NO_CHOWN=true \
        DIST_ROOT="$work/$name" "$@"
    (cd "$work/$name$work/root/lib" && find . ! -type d | sort)
}
before=$(stat --format=%Y "$library/../rust/target/built" "$library"/libpcp_pmda.*)
files=$(installed install make -C "$library" install)
[ "$files" = "$(printf '%s\n' ./libpcp_pmda.a ./libpcp_pmda.so ./libpcp_pmda.so.3 ./pkgconfig/libpcp_pmda.pc)" ] || fail "installed are: $files"
# shellcheck disable=SC2016
files=$(installed install-dev sh -e -c 'cd "$1"; make -n install | grep -v "pkgconfig\|^make" >"$2"; sh -e "$2"' sh "$library" "$work/commands")
[ "$(grep -c -v 'install-sh' "$work/commands")" = 0 ] || fail "make -n install builds: $work/commands"
[ "$files" = "$(printf '%s\n' ./libpcp_pmda.a ./libpcp_pmda.so ./libpcp_pmda.so.3)" ] || fail "by the commands of make -n install are there: $files"
[ "$before" = "$(stat --format=%Y "$library/../rust/target/built" "$library"/libpcp_pmda.*)" ] || fail "make install builds anew"
cmp "$work/install$work/root/lib/libpcp_pmda.so.3" "$library/libpcp_pmda.so.3"
echo "ok: after make it builds nothing, and needs no cargo"
quietly make-static offline make -C "$library" ENABLE_SHARED=no --what-if="$tree/src/libpcp_pmda/rust/build.rs" default
files=$(installed static make -C "$library" ENABLE_SHARED=no install)
[ "$files" = ./libpcp_pmda.a ] || fail "with --disable-shared installed are: $files"
grep -q "CRATE_TYPES='staticlib'" "$work/make-static.log" || fail "with --disable-shared a shared library was built: $work/make-static.log"
echo "ok: with ENABLE_SHARED=no the static library alone"

echo "== an agent"
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
