#!/usr/bin/env bash
# debian-crates.sh: the library with the crates of a distribution, as its package would be built: in a Debian sid of its own, from librust-*-dev
# packages alone, without Cargo.lock and without a network. The last lines name the versions. docs/UPSTREAM.md says which crates a
# distribution lacks. Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/system.sh
trap close_system EXIT

# What Cargo.toml of the library names, in Debian's words.
mapfile -t crates < <(sed -n '/^\[\(build-\)\?dependencies\]/,/^\[dev-/{s/^\([a-z][a-z_-]*\) = .*/\1/p}' Cargo.toml core/Cargo.toml | grep -v '^pmda-core$' | sort -u)
packaging/library.sh
make_system sid
inside apt-get update -q >/dev/null
packages=("${crates[@]//_/-}")
packages=("${packages[@]/#/librust-}")
install_inside cargo rustc gcc libc6-dev binutils libclang-dev libpcp3-dev pkgconf "${packages[@]/%/-dev}"

# Nothing of an earlier run, and a configuration of its own: all crates come from Debian's directory.
source=/src/debian-crates
rm -rf "${system:?}$source"
mkdir -p "$system$source/home"
version=$(sed -n 's/^version = "\(.*\)"/\1/p;T;q' Cargo.toml)
tar --extract --strip-components=1 -C "$system$source" --file="$target/dist/pcp-pmda-library-$version.tar.gz"
rm "$system$source/Cargo.lock"
cat >"$system$source/home/config.toml" <<'CONFIG'
[source.crates-io]
replace-with = "debian"
[source.debian]
directory = "/usr/share/cargo/registry"
[net]
offline = true
CONFIG
echo "== $(inside rustc --version), PCP $(inside pkg-config --modversion libpcp), in sid: ${crates[*]}"
export -f inside
export system source
unshare --net bash -euo pipefail -c 'inside env -i -C "$source" PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/nonexistent CARGO_HOME="$source/home" packaging/build.sh --offline' \
    >"$system.crates.log" 2>&1 || { tail -n 30 "$system.crates.log" >&2; fail "it does not build: $system.crates.log"; }
packaging/check-library "$system$source/target/release/libpcp_pmda.so" capi/exports.map
sed -n '/^name = /{N;s/name = "\(.*\)"\nversion = "\(.*\)"/\1 \2/p}' "$system$source/Cargo.lock" |
    awk -v names=" ${crates[*]} " 'index(names, " " $1 " ") { printf "%s%s", between, $0; between = ", "; found++ } { all++ }
        END { printf "\ndebian-crates.sh: it builds with these and %d others of sid\n", all - found - 2 }'
