#!/usr/bin/env bash
# Writes the bill of materials (SPDX 2.3, tag-value) of what the packages have in them into target/dist: of the C library, the program
# behind `pcp-pmda-rust compare` and the agent openmetrics every crate that is linked into them on Linux, with its licence, its checksum
# in Cargo.lock and what needs it. The same bytes from the same sources.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

programs=(pcp-pmda pcp-pmda-rust-compare pmda-openmetrics)
version=$(sed -n 's/^version = "\(.*\)"/\1/p;T;q' Cargo.toml)
out=$(realpath -m "${CARGO_TARGET_DIR:-target}")/dist
file=$out/pcp-pmda-$version.spdx
mkdir -p "$out"
# The day of the last entry in the changelog, as in dist.sh.
seconds=${SOURCE_DATE_EPOCH:-$(date -d "$(sed -n 's/^ -- .*  //p;T;q' debian/changelog)" +%s)}
created=$(date -u -d "@$seconds" +%Y-%m-%dT%H:%M:%SZ)

# identifier NAME VERSION: what may stand behind SPDXRef-.
identifier() { printf 'SPDXRef-%s-%s' "$1" "$2" | tr -c 'A-Za-z0-9.-' '-'; }

# Depth, name, version and licence of every crate, the tree in the order of cargo.
tree() {
    cargo tree --locked "${programs[@]/#/--package=}" --edges normal --prefix depth --format ' {p}|{l}' --no-dedupe |
        sed -nE 's/^([0-9]+) (\S+) v([^ |]+)[^|]*\|(.*)/\1 \2 \3 \4/p'
}

{
    cat <<HEAD
SPDXVersion: SPDX-2.3
DataLicense: CC0-1.0
SPDXID: SPDXRef-DOCUMENT
DocumentName: pcp-pmda-$version
DocumentNamespace: https://spdx.org/spdxdocs/pcp-pmda-$version-$(sha256sum Cargo.lock | cut -c 1-32)
Creator: Tool: packaging/sbom.sh
Created: $created
HEAD
    for program in "${programs[@]}"; do echo "Relationship: SPDXRef-DOCUMENT DESCRIBES $(identifier "$program" "$version")"; done
    tree | cut -d ' ' -f 2- | sort -u | while read -r name number licence; do
        checksum=$(awk -v name="name = \"$name\"" -v number="version = \"$number\"" '
            $0 == name { found = 1; next } found && $0 != number && /^version/ { found = 0 }
            found && /^checksum/ { gsub(/checksum = |"/, ""); print; exit } /^$/ { found = 0 }' Cargo.lock)
        printf '\nPackageName: %s\nSPDXID: %s\nPackageVersion: %s\n' "$name" "$(identifier "$name" "$number")" "$number"
        if [ -n "$checksum" ]; then
            printf 'PackageDownloadLocation: https://crates.io/api/v1/crates/%s/%s/download\n' "$name" "$number"
            printf 'PackageChecksum: SHA256: %s\nExternalRef: PACKAGE-MANAGER purl pkg:cargo/%s@%s\n' "$checksum" "$name" "$number"
        else
            echo 'PackageDownloadLocation: NOASSERTION'
        fi
        # Older crates write "A/B" for "A OR B".
        printf 'FilesAnalyzed: false\nPackageLicenseConcluded: NOASSERTION\nPackageLicenseDeclared: %s\nPackageCopyrightText: NOASSERTION\n' "${licence//\// OR }"
    done
    echo
    # Who needs whom: the last line of a smaller depth.
    tree | awk '{ id = "SPDXRef-" $2 "-" $3; gsub(/[^A-Za-z0-9.-]/, "-", id); above[$1] = id }
        $1 > 0 { print "Relationship: " above[$1 - 1] " DEPENDS_ON " id }' | sort -u
} >"$file"
echo "$file"
