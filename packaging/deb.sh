#!/usr/bin/env bash
# Builds two Debian packages into target/deb: the library, and its development files. They take the place of Debian's
# libpcp-pmda3 and libpcp-pmda3-dev: they provide those in the version that the library is built for, so that pcp, the
# language bindings and every agent stay installed, and conflict with them, so that one replaces the other.
#
#   make deb && apt-get install ./target/deb/*.deb      # in
#   apt-get install libpcp-pmda3 libpcp-pmda3-dev        # and out again
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
version=$(sed -n 's/^version = "\(.*\)"/\1/p;T;q' Cargo.toml)
architecture=$(dpkg --print-architecture)
# The version of the C library that is replaced: of Debian's package, or, where ours is installed already, what ours provides.
oracle=$(dpkg-query -W -f '${Version}' libpcp-pmda3-dev 2>/dev/null ||
    dpkg-query -W -f '${Provides}' libpcp-pmda-rust-dev | sed 's/.*(= \(.*\)).*/\1/')
libdir=$(pkg-config --variable=libdir libpcp)
stage=$target/deb/stage

rm -rf "$target/deb"
make --no-print-directory install DESTDIR="$PWD/$stage/all" PREFIX=/usr LIBDIR="$libdir" INCLUDEDIR=/usr/include
libpcp=$(ldd "$stage/all$libdir/libpcp_pmda.so.3" | sed -n 's/^\s*libpcp\.so\.\([0-9]*\) .*/libpcp\1/p')

# take PACKAGE PATH…: moves files from the staged tree into a package's own tree.
take() {
    local package=$1 path
    shift
    for path in "$@"; do
        mkdir -p "$stage/$package/$(dirname "$path")"
        mv "$stage/all/$path" "$stage/$package/$path"
    done
}

# pack PACKAGE: adds the licence and builds the package from control text on standard input.
pack() {
    local package=$1 tree=$stage/$1
    install -D -m 644 LICENSE "$tree/usr/share/doc/$package/copyright"
    mkdir -p "$tree/DEBIAN"
    {
        printf 'Package: %s\nVersion: %s\nArchitecture: %s\n' "$package" "$version" "$architecture"
        printf 'Maintainer: the pcp_pmda project <pcp-pmda@localhost>\nInstalled-Size: %s\n' "$(du -ks "$tree" | cut -f1)"
        cat
    } >"$tree/DEBIAN/control"
    dpkg-deb --root-owner-group --build "$tree" "$target/deb/${package}_${version}_$architecture.deb" >/dev/null
}

strip --strip-unneeded "$stage/all$libdir/libpcp_pmda.so.3"
take libpcp-pmda-rust "${libdir#/}/libpcp_pmda.so.3"
take libpcp-pmda-rust-dev "${libdir#/}"/{libpcp_pmda.so,libpcp_pmda.a,pkgconfig} usr/include usr/share

mkdir -p "$stage/libpcp-pmda-rust/DEBIAN"
echo 'activate-noawait ldconfig' >"$stage/libpcp-pmda-rust/DEBIAN/triggers"
echo 'libpcp_pmda 3 libpcp-pmda3' >"$stage/libpcp-pmda-rust/DEBIAN/shlibs"
pack libpcp-pmda-rust <<CONTROL
Section: libs
Priority: optional
Depends: libc6 (>= 2.34), libgcc-s1, $libpcp
Provides: libpcp-pmda3 (= $oracle)
Conflicts: libpcp-pmda3
Replaces: libpcp-pmda3
Description: Performance Co-Pilot Domain Agent library, in Rust
 A drop-in replacement for the library that the agents of Performance
 Co-Pilot stand on, with the same symbols, structures and behaviour.
CONTROL
pack libpcp-pmda-rust-dev <<CONTROL
Section: libdevel
Priority: optional
Depends: libpcp-pmda-rust (= $version), $libpcp-dev
Provides: libpcp-pmda3-dev (= $oracle)
Conflicts: libpcp-pmda3-dev
Replaces: libpcp-pmda3-dev
Description: Performance Co-Pilot Domain Agent library, in Rust: development files
 Headers, the static library and the pkg-config file for writing agents
 of Performance Co-Pilot.
CONTROL
rm -rf "$stage"
ls "$target"/deb/*.deb
