#!/usr/bin/env bash
# Packs the crates for agents in Rust (cargo package, Rust 1.90 or later) and builds each out of its package; the packages are in
# target/crates/package.
#
#   --oldest         tests what is in the packages with the oldest versions of other crates that their Cargo.toml files allow: a program
#                    that uses them may have a Cargo.lock with those. Needs a network.
#   REPOSITORY=URL   the address of the repository in the crates and in their README files, in place of the one of example.org. With
#                    it target/crates/source is what `cargo publish` takes: without it the crates refuse to be published.
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "packaging/crates.sh: $*" >&2; exit 1; }
out=$(realpath -m "${CARGO_TARGET_DIR:-target}")/crates
crates=(pmda-core pmda-derive pmda)
version=$(sed -n 's/^version = "\(.*\)"/\1/p;T;q' Cargo.toml)
placeholder=$(sed -n 's/^repository = "\(.*\)"/\1/p;T;q' Cargo.toml)
repository=${REPOSITORY:-$placeholder}
case $repository in https://?*[!/]) ;; *) fail "REPOSITORY is the address of a site, without a slash at its end: $repository" ;; esac

# A copy of the sources with the address in it.
source=$out/source
rm -rf "$source"
mkdir -p "$source"
tar --create --exclude=./target --exclude=./.git --exclude=./vendor --exclude=./fuzz . | tar --extract -C "$source"
cd "$source"
sed -i "s|$placeholder|$repository|g" Cargo.toml {core,pmda/derive,pmda}/{Cargo.toml,README.md}
# Cargo packs together only what may be published.
sed -i '/^# Nothing is released yet\.$/d; /^publish = false$/d' {core,pmda/derive,pmda}/Cargo.toml
cargo package --quiet --allow-dirty --target-dir "$out" "${crates[@]/#/--package=}"
[ -n "${REPOSITORY:-}" ] || rm -rf "$source"
cd "$out/package"

# What a registry shows of a crate.
for crate in "${crates[@]}"; do
    for line in "repository = \"$repository\"" "homepage = \"$repository\"" "documentation = \"https://docs.rs/$crate\""; do
        grep -qxF "$line" "$crate-$version/Cargo.toml" || fail "$crate: Cargo.toml has no $line"
    done
    # A link that is relative leads nowhere on a registry's page.
    ! grep -nE '\]\((\.|[a-z]+/)' "$crate-$version/README.md" || fail "$crate: README.md has a relative link"
    [ "$repository" = "$placeholder" ] || ! grep -rnF "$placeholder" "$crate-$version" || fail "$crate: the placeholder is left"
done
if [ "${1:-}" = --oldest ]; then
    rm -rf oldest
    mkdir oldest
    cp -r -- *-"$version" oldest
    cd oldest
    printf '[workspace]\nresolver = "3"\nmembers = ["*"]\n[patch.crates-io]\n' >Cargo.toml
    for crate in "${crates[@]}"; do echo "$crate = { path = \"$crate-$version\" }"; done >>Cargo.toml
    # The direct dependencies as old as can be, theirs as new: what others name as their oldest versions is not always true. Stable
    # cargo knows the option behind this variable, which no build sees.
    RUSTC_BOOTSTRAP=1 cargo update --quiet -Z direct-minimal-versions
    cargo test --quiet --locked --target-dir "$out/oldest" --package pmda-core --package pmda --lib --examples
    echo "crates.sh: with the oldest versions that they allow they build, and their tests pass"
    exit
fi
echo "crates.sh: ${#crates[@]} packages of $repository, and they build"
