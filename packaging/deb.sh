#!/usr/bin/env bash
# Builds the Debian packages, as sources and for this machine, into target/deb: dist.sh packs the sources with all crates, and
# dpkg-buildpackage builds from what was unpacked of that, without a network.
#
#   make deb && apt-get install ./target/deb/libpcp-pmda-rust_*.deb     # in
#   apt-get purge libpcp-pmda-rust                                      # and out again
#
# The packages of each release of the distribution have a version of their own, since their bytes differ: 0.1.0-1~deb12u1 in Debian 12,
# 0.1.0-1~deb13u1 in Debian 13, 0.1.0-1 in sid. The later release's is the higher one.
#
# DEBFULLNAME and DEBEMAIL, where they are set, name the maintainer; REPOSITORY the address of the project. Arguments go to dpkg-buildpackage.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { printf 'make deb: %s\n' "$@" >&2; exit 1; }
for tool in dpkg-buildpackage dh; do
    command -v "$tool" >/dev/null || fail "$tool is missing: apt-get install build-essential debhelper"
done
version=$(sed -n 's/^version = "\(.*\)"/\1/p;T;q' Cargo.toml)
name=pcp-pmda-rust-$version
# What is packed, if that is a commit: dist.sh takes the files as they are now.
commit=
git diff --quiet HEAD 2>/dev/null && commit=$(git rev-parse --short=8 HEAD)
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
out=$target/deb

# A Rust that did not come as a package does as well, if it is new enough.
unchecked=
missing=$(dpkg-checkbuilddeps 2>&1 | sed 's/.*: //') || true
if [ -n "$missing" ]; then
    others=$(sed -E 's/(cargo|rustc)(-web)? (\(>= [0-9.]+\))?|\|//g; s/ +/ /g; s/^ | $//g' <<<"$missing")
    [ -z "$others" ] || fail "packages are missing: $missing"
    oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    rust=$(rustc --version 2>/dev/null | cut -d ' ' -f 2) || true
    [ -n "$rust" ] && [ "$(printf '%s\n' "$oldest" "$rust" | sort -V | head -n 1)" = "$oldest" ] ||
        fail "Rust $oldest or later is needed (found: ${rust:-none}): https://rustup.rs, or apt-get install cargo-web rustc-web (Debian 12)" \
        "or apt-get install cargo-1.85 rustc-1.85, and PATH=/usr/lib/rust-1.85/bin:\$PATH (Ubuntu 22.04, 24.04)"
    unchecked=--no-check-builddeps
    # debhelper has a HOME of its own, where rustup would not find its toolchains.
    PATH=$(rustc --print sysroot)/bin:$PATH
fi

say() { printf 'make deb: %s\n' "$*" >&2; }
say "1 of 3: packing the sources and the crates ($(date +%T))"
packaging/dist.sh >/dev/null
rm -rf "$out"
mkdir -p "$out/$name"
ln "$target/dist/pcp-pmda-$version.tar.gz" "$out/pcp-pmda-rust_$version.orig.tar.gz"
ln "$target/dist/pcp-pmda-$version-vendor.tar.gz" "$out/pcp-pmda-rust_$version.orig-vendor.tar.gz"
tar -x -f "$out/pcp-pmda-rust_$version.orig.tar.gz" -C "$out/$name" --strip-components=1
tar -x -f "$out/pcp-pmda-rust_$version.orig-vendor.tar.gz" -C "$out/$name"
# The release that this is, in the manner of Debian's backports; sid and testing have no number.
suffix=$(. /etc/os-release && case ${ID:-} in
    debian) [ -z "${VERSION_ID:-}" ] || echo "~deb${VERSION_ID}u1" ;;
    *) [ -z "${VERSION_ID:-}" ] || echo "~$ID$VERSION_ID.1" ;;
esac)
sed -i "1s/([^)]*/&$suffix/" "$out/$name/debian/changelog"
[ -z "${REPOSITORY:-}" ] || sed -i "s|^Homepage: .*|Homepage: $REPOSITORY|; s|https://example.org/pcp_pmda|$REPOSITORY|" "$out/$name"/debian/{control,watch}
if [ -n "${DEBEMAIL:-}" ]; then
    sed -i "s/^Maintainer: .*/Maintainer: ${DEBFULLNAME:-$DEBEMAIL} <$DEBEMAIL>/" "$out/$name/debian/control"
    sed -i "s/^ -- .*>  / -- ${DEBFULLNAME:-$DEBEMAIL} <$DEBEMAIL>  /" "$out/$name/debian/changelog"
fi
cd "$out/$name"
say "2 of 3: dpkg-buildpackage, some minutes; its log is $out/build.log ($(date +%T))"
env -u CARGO_TARGET_DIR -u CARGO_BUILD_TARGET -u MAKEFLAGS -u MAKELEVEL -u MFLAGS dpkg-buildpackage -us -uc $unchecked "$@" >"$out/build.log" 2>&1 || {
    tail -n 40 "$out/build.log" >&2
    exit 1
}
say "3 of 3: the packages ($(date +%T))"
cd "$out"
rm -rf "${out:?}/$name"
# What the tests of the packages ask for.
echo "$commit" >"$out/commit"
ls "$out"/*.deb "$out"/*.dsc
