#!/usr/bin/env bash
# Builds the Debian packages twice from the source package of target/deb: in two directories, by two users, with two locales and
# time zones. The packages have to be the same bytes. Needs root, for the second user.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
[ "$(id -u)" = 0 ] || { echo "packaging/reproducible.sh: building as two users needs root" >&2; exit 1; }
ls "$target"/deb/*.dsc >/dev/null 2>&1 || packaging/deb.sh >/dev/null
PATH=$(rustc --print sysroot)/bin:$PATH
# Outside of anybody's home, since the second user has to get there, and to the toolchain.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
toolchain=$(rustc --print sysroot)
mkdir "$work/toolchain"
if ! setpriv --reuid=65534 --regid=65534 --clear-groups "$toolchain/bin/rustc" --version >/dev/null 2>&1; then
    cp -a "$toolchain/bin" "$toolchain/lib" "$work/toolchain/"
    toolchain=$work/toolchain
fi

# build DIRECTORY USER TIMEZONE
build() {
    mkdir -p "$1"
    dpkg-source --no-check -x "$target"/deb/*.dsc "$1/source" >/dev/null 2>&1
    chown -R "$2:$2" "$1"
    (cd "$1/source" && setpriv --reuid="$2" --regid="$2" --clear-groups env -i PATH="$toolchain/bin:/usr/sbin:/usr/bin:/sbin:/bin" HOME="$1" TZ="$3" LC_ALL="$4" \
        dpkg-buildpackage -b -us -uc --no-check-builddeps >"$1/build.log" 2>&1) || { tail -n 30 "$1/build.log" >&2; exit 1; }
}
build "$work/one" 0 UTC C
build "$work/two/in/a/longer/path" 65534 Asia/Tokyo C.UTF-8
different=0
for package in "$work"/one/*.deb; do
    other=$work/two/in/a/longer/path/${package##*/}
    if cmp -s "$package" "$other"; then
        echo "same bytes: $(sha256sum "$package" | cut -c 1-16) ${package##*/}"
    else
        echo "DIFFERENT: ${package##*/}" >&2
        mkdir -p "$target/different"
        cp "$package" "$target/different/one.${package##*/}"
        cp "$other" "$target/different/two.${package##*/}"
        different=1
    fi
done
exit $different
