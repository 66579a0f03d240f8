#!/usr/bin/env bash
# Packs the crates for agents in Rust (cargo package), in target/package, and builds what is in the packages.
#
#   --oldest         tests what is in the packages with the oldest versions of other crates that their Cargo.toml files allow: a program
#                    that uses them may have a Cargo.lock with those. Needs a network.
#   REPOSITORY=URL   the address of the repository in the crates and in their README files, in place of the one of example.org. With
#                    it target/package/source is what `cargo publish` takes: without it the crates refuse to be published.
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "packaging/crates.sh: $*" >&2; exit 1; }
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
declare -A crates=([pmda-core]=core [pmda-derive]=pmda/derive [pmda]=pmda)
version=$(sed -n 's/^version = "\(.*\)"/\1/p;T;q' Cargo.toml)
placeholder=$(sed -n 's/^repository = "\(.*\)"/\1/p;T;q' Cargo.toml)
repository=${REPOSITORY:-$placeholder}
case $repository in https://?*[!/]) ;; *) fail "REPOSITORY is the address of a site, without a slash at its end: $repository" ;; esac

# A copy of the sources with the address in it.
source=$target/package/source
rm -rf "$source"
mkdir -p "$source"
tar --create --exclude=./target --exclude=./.git --exclude=./vendor --exclude=./fuzz . | tar --extract -C "$source"
cd "$source"
for crate in "${!crates[@]}"; do
    for file in Cargo.toml "${crates[$crate]}/Cargo.toml" "${crates[$crate]}/README.md"; do
        sed -i "s|$placeholder|$repository|g" "$file"
        [ -z "${REPOSITORY:-}" ] || sed -i '/^# Nothing is released yet\.$/d; /^publish = false$/d' "$file"
    done
done

# Before a release no registry has them: they find each other here.
patches=()
for crate in "${!crates[@]}"; do
    patches+=(--config "patch.crates-io.$crate.path='$source/${crates[$crate]}'")
done
for crate in "${!crates[@]}"; do
    echo "crates.sh: packing $crate $version"
    cargo package --quiet --no-verify --allow-dirty --target-dir "$target" "${patches[@]}" --package "$crate" 2>"$target/package/log" ||
        { cat "$target/package/log" >&2; fail "$crate is not packed"; }
done

unpacked=$target/package/unpacked
rm -rf "$unpacked"
mkdir -p "$unpacked"
{
    echo "[workspace]"
    echo "resolver = \"3\""
    echo "members = [\"*-$version\"]"
    echo "[patch.crates-io]"
    for crate in "${!crates[@]}"; do
        tar -xzf "$target/package/$crate-$version.crate" -C "$unpacked"
        echo "$crate = { path = \"$crate-$version\" }"
    done
} >"$unpacked/Cargo.toml"
cp Cargo.lock "$unpacked"

# What a registry shows of a crate.
for crate in "${!crates[@]}"; do
    for line in "repository = \"$repository\"" "homepage = \"$repository\"" "documentation = \"https://docs.rs/$crate\""; do
        grep -qxF "$line" "$unpacked/$crate-$version/Cargo.toml" || fail "$crate: Cargo.toml has no $line"
    done
    # A link that is relative leads nowhere on a registry's page.
    ! grep -nE '\]\((\.|[a-z]+/)' "$unpacked/$crate-$version/README.md" || fail "$crate: README.md has a relative link"
    [ "$repository" = "$placeholder" ] || ! grep -rnF "$placeholder" "$unpacked/$crate-$version" || fail "$crate: the placeholder is left"
done
if [ "${1:-}" = --oldest ]; then
    cd "$unpacked"
    rm Cargo.lock
    # The direct dependencies as old as can be, theirs as new: what others name as their oldest versions is not always true. Stable
    # cargo knows the option behind this variable, which no build sees.
    RUSTC_BOOTSTRAP=1 cargo update --quiet -Z direct-minimal-versions
    cargo test --quiet --locked --target-dir "$target/package/oldest" --package pmda-core --package pmda --lib --examples
    echo "crates.sh: with the oldest versions that they allow they build, and their tests pass"
    exit
fi
# What only runs during the build need not be fast.
cargo check --quiet --manifest-path "$unpacked/Cargo.toml" --target-dir "$target/package/target" --package pmda --offline
echo "crates.sh: ${#crates[@]} packages of $repository, and they build"
