#!/usr/bin/env bash
# release.sh: all that a release publishes, in target/publish: the archives of the sources with the bill of materials, the Debian and
# RPM packages for the PCP of this machine, the crates, the section of CHANGELOG.md as NOTES.md, and SHA256SUMS of the files. Signing and
# publishing is for people: RELEASING.md. REPOSITORY=URL is the address that the crates name.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${REPOSITORY:?release.sh: REPOSITORY is the address of the repository}"
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
version=$(sed -n 's/^version = "\(.*\)"/\1/p;T;q' Cargo.toml)
publish=$target/publish
rm -rf "$publish"
mkdir -p "$publish"
packaging/dist.sh
packaging/sbom.sh
packaging/deb.sh
packaging/rpm.sh
packaging/crates.sh
cp "$target"/dist/*.tar.gz "$target"/dist/*.spdx "$publish"
cp "$target"/deb/*.deb "$target"/deb/*.dsc "$target"/deb/*.debian.tar.* "$target"/deb/*.changes "$target"/deb/*.buildinfo "$publish"
find "$target/rpm/RPMS" "$target/rpm/SRPMS" -name '*.rpm' -exec cp {} "$publish" \;
cp "$target"/crates/package/*-"$version".crate "$publish"
awk -v head="## $version " 'index($0 " ", head) == 1 { found = 1; next } /^## / { found = 0 } found' CHANGELOG.md | sed '/./,$!d' >"$target/NOTES.md"
[ -s "$target/NOTES.md" ] || { echo "release.sh: CHANGELOG.md has no section $version" >&2; exit 1; }
(cd "$publish" && sha256sum -- * >SHA256SUMS)
mv "$target/NOTES.md" "$publish"
ls -l "$publish"
