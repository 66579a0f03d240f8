#!/usr/bin/env bash
# Builds the packages of packaging/rpm/libpcp-pmda-rust.spec from the last commit into target/rpm. Where there is no RPM database
# (Debian: apt-get install rpm) rpmbuild cannot see what is installed; the build itself says what is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v rpmbuild >/dev/null || { echo "make rpm: rpmbuild is missing (the package rpm or rpm-build)" >&2; exit 1; }
top=$(realpath -m "${CARGO_TARGET_DIR:-target}")/rpm
spec=packaging/rpm/libpcp-pmda-rust.spec
version=$(sed -n 's/^version = "\(.*\)"/\1/p;T;q' Cargo.toml)
grep -q "^Version: *$version\$" "$spec" || { echo "make rpm: $spec is not about version $version" >&2; exit 1; }
unchecked=
rpm -q rpm >/dev/null 2>&1 || unchecked=--nodeps

mkdir -p "$top/SOURCES"
git archive --prefix="pcp-pmda-$version/" -o "$top/SOURCES/pcp-pmda-$version.tar.gz" HEAD
# The spec builds in the sources' own directory, wherever cargo builds otherwise.
env -u CARGO_TARGET_DIR rpmbuild -bb $unchecked --define "_topdir $top" "$spec" >"$top/build.log" 2>&1 || {
    tail -n 30 "$top/build.log" >&2
    exit 1
}
find "$top/RPMS" -name "*-$version-*.rpm"
