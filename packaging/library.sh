#!/usr/bin/env bash
# library.sh: the sources of the C library alone, without the crate pmda, the agent and the tests, for whoever builds no more than that,
# such as PCP in its own tree. Packs into target/dist, the same bytes from the same sources:
#
#   pcp-pmda-library-VERSION.tar.gz           the root package and the core, with a Cargo.lock of their own
#   pcp-pmda-library-VERSION-vendor.tar.gz    the crates that it names
#
# The versions of the crates are those of Cargo.lock: cargo takes out of it what no package of the smaller workspace needs.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n 's/^version = "\(.*\)"/\1/p;T;q' Cargo.toml)
out=$(realpath -m "${CARGO_TARGET_DIR:-target}")
tree=$out/library
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(date -d "$(sed -n 's/^ -- .*  //p;T;q' debian/changelog)" +%s)}
export SOURCE_DATE_EPOCH

rm -rf "$tree"
mkdir -p "$tree" "$out/dist"
# What the packages are made of, by their own lists of files, and what builds them.
files() {
    cargo package --quiet --list --allow-dirty --package pcp-pmda | sed '/^Cargo\.toml\.orig$/d; /^\.cargo_vcs_info\.json$/d'
    cargo package --quiet --list --allow-dirty --package pmda-core | sed '/^Cargo\.\(toml\.orig\|lock\)$/d; /^\.cargo_vcs_info\.json$/d; s:^:core/:'
    printf '%s\n' clippy.toml docs/OPERATING.md docs/UPSTREAM.md packaging/{build.sh,cargo.sh,dist.sh,static.sh,vendored.toml} packaging/pcp-tree/*
}
files | sort -u | tar --create --files-from=- | tar --extract -C "$tree"
# without SECTION…: a manifest without these sections.
without() {
    awk -v names="$*" 'BEGIN { count = split(names, name) }
        /^\[/ { left = 0; for (i = 1; i <= count; i++) if (index($0, name[i]) == 1) left = 1 }
        !left'
}
without '[dev-dependencies]' '[profile.dev' <Cargo.toml | sed 's/^members = .*/members = ["core"]/; /^exclude = /d; /^# So that .cargo test/d; /^default-members = /d' >"$tree/Cargo.toml"
without '[dev-dependencies]' <core/Cargo.toml >"$tree/core/Cargo.toml"
cp Cargo.lock "$tree/"
# In somebody's repository, whose .gitignore may have names of our files (PCP's has `debug`): git takes all of them. What is built stays out.
printf '%s\n' '!*' '/target/' >"$tree/.gitignore"
cd "$tree"
cargo metadata --format-version 1 --no-default-features >/dev/null
# Nothing is newer than what was tested.
locked() { sed -n '/^name = /{N;s/\n/, /p}' "$1" | sort; }
added=$(comm -13 <(locked "$OLDPWD/Cargo.lock") <(locked Cargo.lock))
[ -z "$added" ] || { printf 'library.sh: these crates are not those of Cargo.lock:\n%s\n' "$added" >&2; exit 1; }
CARGO_TARGET_DIR=$out/library/target packaging/dist.sh >/dev/null
for kind in "" -vendor; do
    mv "target/dist/pcp-pmda-$version$kind.tar.gz" "$out/dist/pcp-pmda-library-$version$kind.tar.gz"
done
cd "$out/dist"
rm -rf "$tree"
echo "library.sh: $(tar --list --gzip --file="pcp-pmda-library-$version-vendor.tar.gz" | cut -d / -f 2 | sort -u | wc -l) crates in $PWD/pcp-pmda-library-$version-vendor.tar.gz"
