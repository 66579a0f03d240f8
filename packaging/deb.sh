#!/usr/bin/env bash
# Builds two Debian packages into target/deb: the library, and its development files. They take the place of Debian's
# libpcp-pmda3 and libpcp-pmda3-dev: they provide those in the version that the library is built for, so that pcp, the
# language bindings and every agent stay installed, and conflict with them, so that one replaces the other.
#
#   make deb && apt-get install ./target/deb/*.deb      # in
#   apt-get install libpcp-pmda3 libpcp-pmda3-dev        # and out again
#
# DEBFULLNAME and DEBEMAIL name the maintainer; otherwise it is who made the last commit.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
version=$(sed -n 's/^version = "\(.*\)"/\1/p;T;q' Cargo.toml)
architecture=$(dpkg --print-architecture)
# The version of the C library that is replaced: of Debian's package, or, where ours is installed already, what ours provides.
oracle=$(dpkg-query -W -f '${Version}' libpcp-pmda3-dev 2>/dev/null ||
    dpkg-query -W -f '${Provides}' libpcp-pmda-rust-dev | sed 's/.*(= \(.*\)).*/\1/')
libdir=$(pkg-config --variable=libdir libpcp)
maintainer=${DEBEMAIL:+${DEBFULLNAME:-$DEBEMAIL} <$DEBEMAIL>}
maintainer=${maintainer:-$(git log -1 --format='%an <%ae>')}
date=$(date -R -d "@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}")
stage=$target/deb/stage

rm -rf "$target/deb"
make --no-print-directory install DESTDIR="$PWD/$stage/all" PREFIX=/usr LIBDIR="$libdir" INCLUDEDIR=/usr/include \
    DOCDIR=/usr/share/doc/libpcp-pmda-rust-dev
library=$stage/all$libdir/libpcp_pmda.so.3
libpcp=$(readelf -d "$library" | sed -n 's/.*\[libpcp\.so\.\([0-9]*\)\]$/libpcp\1/p')
glibc=$(readelf -V "$library" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
rm "$stage/all/usr/share/doc/libpcp-pmda-rust-dev/LICENSE"
gzip -9n "$stage"/all/usr/share/man/man3/*

# take PACKAGE PATH…: moves files from the staged tree into a package's own tree.
take() {
    local package=$1 path
    shift
    for path in "$@"; do
        mkdir -p "$stage/$package/$(dirname "$path")"
        mv "$stage/all/$path" "$stage/$package/$path"
    done
}

# changelog PACKAGE: the entries of CHANGELOG.md for this version, as Debian wants them.
changelog() {
    printf '%s (%s) unstable; urgency=medium\n\n' "$1" "$version"
    sed -n "/^## $version\b/,/^## /s/^- /  * /p" CHANGELOG.md | fold -s -w 76 | sed 's/^\([^ ]\)/    \1/; s/ $//'
    printf '\n -- %s  %s\n' "$maintainer" "$date"
}

copyright() {
    cat <<COPYRIGHT
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: pcp_pmda

Files: *
Copyright: $(date -d "$date" +%Y) the authors of pcp_pmda
License: LGPL-2.1+
 This library is free software; you can redistribute it and/or modify it under
 the terms of the GNU Lesser General Public License as published by the Free
 Software Foundation; either version 2.1 of the License, or (at your option)
 any later version. It comes without any warranty.
 .
 On Debian systems, the full text of version 2.1 of the licence is in
 /usr/share/common-licenses/LGPL-2.1.
COPYRIGHT
}

# override PACKAGE TAG REASON: a finding of lintian that is meant so.
override() {
    mkdir -p "$stage/$1/usr/share/lintian/overrides"
    printf '# %s\n%s: %s\n' "$3" "$1" "$2" >>"$stage/$1/usr/share/lintian/overrides/$1"
}

# pack PACKAGE: adds what every package has, and builds it from control text on standard input.
pack() {
    local package=$1 tree=$stage/$1
    mkdir -p "$tree/DEBIAN" "$tree/usr/share/doc/$package"
    copyright >"$tree/usr/share/doc/$package/copyright"
    changelog "$package" | gzip -9n >"$tree/usr/share/doc/$package/changelog.gz"
    {
        printf 'Package: %s\nVersion: %s\nArchitecture: %s\n' "$package" "$version" "$architecture"
        printf 'Maintainer: %s\nInstalled-Size: %s\n' "$maintainer" "$(du -ks "$tree" | cut -f1)"
        cat
    } >"$tree/DEBIAN/control"
    (cd "$tree" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$tree/DEBIAN/md5sums"
    dpkg-deb --root-owner-group --build "$tree" "$target/deb/${package}_${version}_$architecture.deb" >/dev/null
}

strip --strip-unneeded "$library"
strip --strip-debug "$stage/all$libdir/libpcp_pmda.a"
take libpcp-pmda-rust "${libdir#/}/libpcp_pmda.so.3"
take libpcp-pmda-rust-dev "${libdir#/}"/{libpcp_pmda.so,libpcp_pmda.a,pkgconfig} usr/include usr/share

mkdir -p "$stage/libpcp-pmda-rust/DEBIAN"
echo 'activate-noawait ldconfig' >"$stage/libpcp-pmda-rust/DEBIAN/triggers"
echo 'libpcp_pmda 3 libpcp-pmda3' >"$stage/libpcp-pmda-rust/DEBIAN/shlibs"
override libpcp-pmda-rust package-name-doesnt-match-sonames "It provides libpcp-pmda3, the package that is named so."
override libpcp-pmda-rust-dev pkg-config-unavailable-for-cross-compilation "The file lies where Debian's PCP has its own."
pack libpcp-pmda-rust <<CONTROL
Section: libs
Priority: optional
Depends: libc6 (>= ${glibc#GLIBC_}), $libpcp
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
