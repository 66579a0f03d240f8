#!/usr/bin/env bash
# pcp-whole.sh DIR: all of PCP with the library on top, to see a change of PCP's before users have it. DIR is as for
# pcp-tree.sh, which runs first. Then all of PCP's `src` is built and installed below target/pcp-tree/root, and with its C library and
# with ours:
#
#   - pmcd starts its default agents, and `pminfo -dtT` says the same of all their metrics, byte for byte; the same metrics have values;
#   - our C programs (tests/c), built for this PCP, do the same.
#
# Needs root, for name spaces (processes, network), and what PCP's configure asks for. The agents run as the user root.
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "packaging/pcp-whole.sh: $*" >&2; exit 1; }
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$target/pcp-tree
root=$work/root

# In the name spaces. asked LIBRARY OUT: what a client sees of pmcd and its agents on a library.
asked() {
    local library=$1 out=$2 pid
    ip link set lo up
    rm -rf "$out"
    mkdir -p "$out" "$root"/var/{run/pcp,tmp,log/pcp/pmcd,lib/pcp/tmp,lib/pcp/config/pmda}
    export LD_LIBRARY_PATH=$library:$root/lib PATH=$root/bin:$PATH LC_ALL=C PCP_DIR=$root PCP_CONF=$root/etc/pcp.conf PCP_USER=root PCP_GROUP=root
    export PCP_RUN_DIR=$root/var/run/pcp
    # Agents leave their logs where pmcd was started.
    cd "$out"
    [ -e "$root/var/lib/pcp/pmns/root" ] || (cd "$root/var/lib/pcp/pmns" && ./Rebuild -u) >"$out/rebuild" 2>&1
    "$(sed -n 's/^PCP_BINADM_DIR=//p' "$PCP_CONF")/pmcd" -f -q 60 -U root -l "$out/pmcd.log" >"$out/output" 2>&1 &
    pid=$!
    for _ in $(seq 120); do
        pminfo -f pmcd.version >"$out/version" 2>/dev/null && break
        sleep 0.5
    done
    pminfo -dtT >"$out/texts"
    # Of values only which there are: a name, or a name with its error.
    pminfo -f 2>"$out/errors" | grep '^[a-z]\|^Error\|^No value' >"$out/values"
    grep -h -o '/.*libpcp_pmda\.so.*' /proc/[0-9]*/maps | sort -u >"$out/loaded"
    kill "$pid"
    wait "$pid" || true
}
if [ "${1:-}" = --asked ]; then
    asked "$2" "$3"
    exit
fi

case $root in /var/*) fail "PCP's install-sh installs no file below /var: set CARGO_TARGET_DIR to a directory elsewhere" ;; esac
packaging/pcp-tree.sh "$@"
tree=$work/source
c=$tree/src/libpcp_pmda/c
ours=$tree/src/libpcp_pmda/src
echo "== all of PCP, and its installation"
make -C "$tree/src" default_pcp >"$work/make.log" 2>&1 </dev/null || { tail -n 20 "$work/make.log" >&2; fail "make in $tree/src"; }
# PCP installs the compiled files of its Python modules, so they are wanted.
env -u PYTHONDONTWRITEBYTECODE NO_CHOWN=true DIST_ROOT="$work/dist" make -C "$tree/src" install >"$work/install.log" 2>&1 </dev/null || { tail -n 20 "$work/install.log" >&2; fail "make install"; }
mv "$work/dist$root" "$root"
install -m 755 "$c/libpcp_pmda.so.3" "$root/lib/"

echo "== its agents on both libraries"
for library in "$c" "$ours"; do
    out=$work/agents-c
    [ "$library" = "$c" ] || out=$work/agents-ours
    unshare --net --pid --fork --kill-child --mount-proc timeout 900 packaging/pcp-whole.sh --asked "$library" "$out" || fail "pmcd does not serve on $library: $out"
    [ "$(cat "$out/loaded")" = "$library/libpcp_pmda.so.3" ] || fail "loaded: $(cat "$out/loaded")"
done
cmp "$work"/agents-{c,ours}/texts || fail "descriptors, labels or texts differ"
diff "$work"/agents-{c,ours}/values || fail "not the same metrics have values"
metrics=$(grep -c '^[a-z].*[]]$' "$work/agents-ours/texts")
[ "$metrics" -gt 1000 ] || fail "$metrics metrics only: $work/agents-ours"
echo "ok: $metrics metrics, $(wc -l <"$work/agents-ours/texts") lines of their descriptors and texts, the same on both"

echo "== our C programs on both libraries"
# libpcp alone, so that a program's own path does not lead to a libpcp_pmda.
mkdir -p "$work/libpcp"
cp "$root"/lib/libpcp.so.[0-9] "$work/libpcp/"
printf '#!/bin/sh\nexec cc -Wl,--disable-new-dtags,-rpath,"%s" "$@"\n' "$work/libpcp" >"$work/cc"
chmod 755 "$work/cc"
export PKG_CONFIG_PATH=$root/lib/pkgconfig CPATH=$root/include LIBRARY_PATH=$root/lib PCP_CONF=$root/etc/pcp.conf TEST_CC=$work/cc
export CARGO_TARGET_DIR=$work/target
# The library that was built with PCP and serves its agents above. A check writes the pkg-config file, by which the tests compile.
mkdir -p "$work/built"
ln -sf "$ours/libpcp_pmda.so.3" "$work/built/libpcp_pmda.so"
export TEST_BUILT=$work/built
cargo check --quiet --package pcp-pmda --lib
cargo run --quiet --package pcp-pmda-test -- differential c/ >"$work/programs" 2>&1 || { grep -A 12 'FAILED\|failed' "$work/programs" >&2; fail "C programs differ: $work/programs"; }
echo "ok: $(grep -c ': as it should be' "$work/programs") C programs do the same on both"
