#!/usr/bin/env bash
# Builds the RPM packages, sources and binaries, from the archives of dist.sh into target/rpm. Where there is no RPM database
# (Debian: apt-get install rpm) rpmbuild cannot see what is installed; the build itself says what is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v rpmbuild >/dev/null || { echo "packaging/rpm.sh: rpmbuild is missing (the package rpm or rpm-build)" >&2; exit 1; }
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
top=$target/rpm
spec=packaging/rpm/libpcp-pmda-rust.spec
version=$(sed -n 's/^version = "\(.*\)"/\1/p;T;q' Cargo.toml)
unchecked=
rpm -q rpm >/dev/null 2>&1 || unchecked=--nodeps

echo "packaging/rpm.sh: 1 of 2: packing the sources and the crates" >&2
packaging/dist.sh >/dev/null
rm -rf "$top"
mkdir -p "$top/SOURCES"
ln "$target/dist/pcp-pmda-$version.tar.gz" "$target/dist/pcp-pmda-$version-vendor.tar.gz" "$top/SOURCES/"
echo "packaging/rpm.sh: 2 of 2: rpmbuild, some minutes; its log is $top/build.log" >&2
env -u CARGO_TARGET_DIR -u CARGO_BUILD_TARGET -u MAKEFLAGS -u MAKELEVEL rpmbuild -ba $unchecked ${REPOSITORY:+--define "repository $REPOSITORY"} --define "_topdir $top" "$spec" >"$top/build.log" 2>&1 || {
    tail -n 40 "$top/build.log" >&2
    exit 1
}
find "$top/RPMS" "$top/SRPMS" -name '*.rpm'
