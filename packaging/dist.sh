#!/usr/bin/env bash
# Packs the sources into target/dist, the same bytes from the same sources:
#
#   pcp-pmda-VERSION.tar.gz           what is in the repository, as it is now
#   pcp-pmda-VERSION-vendor.tar.gz    all crates that Cargo.lock names, so that a build needs no network
#
# Crates that Linux never needs (those of other systems) are in it by name alone: cargo wants to see them, and compiles none of them.
# In a clone the sources are what git lists (or, where git is not installed, its index). What was unpacked from such an archive has no .git: there they are all files but for what
# builds leave behind. A vendor directory is taken as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
cd "$(pwd -P)"

version=$(sed -n 's/^version = "\(.*\)"/\1/p;T;q' Cargo.toml)
name=pcp-pmda-$version
out=$(realpath -m "${CARGO_TARGET_DIR:-target}")/dist
in_git() { [ -e .git ]; }
has_git() { type -P git >/dev/null; }
# Who runs this already runs what lies in the directory: git may look into it, too, when it is another user's (make deb below sudo). It
# need not run what that user's configuration says.
git() { command git -c safe.directory="$PWD" -c core.fsmonitor=false -c log.showSignature=false "$@"; }
# list: the files of the clone; where git is not installed, out of its index (versions 2 and 3).
list() {
    if has_git; then
        git -c core.quotePath=off ls-files
    else
        perl -e '
            local $/; open my $file, "<:raw", ".git/index" or die "packaging/dist.sh: .git/index: $!: git is needed here\n"; my $index = <$file>;
            my ($kind, $version, $count) = unpack "a4NN", $index; my $at = 12;
            die "packaging/dist.sh: .git/index is of a new kind: git is needed here\n" unless $kind eq "DIRC" && ($version == 2 || $version == 3);
            for (1 .. $count) {
                my $start = $at + 62 + (unpack("n", substr $index, $at + 60, 2) & 0x4000 ? 2 : 0);
                my $end = index $index, "\0", $start;
                print substr($index, $start, $end - $start), "\n";
                $at += $end - $at + 8 & ~7;
            }'
    fi
}
# A clone that git does not look into must not be packed whole: .git and what lies beside the sources may hold secrets.
if in_git && has_git && ! reason=$(git rev-parse --show-toplevel 2>&1 >/dev/null); then
    echo "packaging/dist.sh: this is a clone, and git does not list its files: $reason" >&2
    exit 1
fi
# The day of the last entry in the changelog: the same with git, without it, and outside of a clone.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(date -d "$(sed -n 's/^ -- .*  //p;T;q' debian/changelog)" +%s)}
mkdir -p "$out"

# pack FILE PREFIX: packs the files that are named on standard input, one in a line, sorted, below this directory.
pack() {
    LC_ALL=C sort | tar --create --no-recursion --files-from=- --transform="s:^:$2:S" --owner=0 --group=0 --numeric-owner \
        --mode=go=rX,u+rw,a-s --mtime="@$SOURCE_DATE_EPOCH" --format=gnu | gzip -9n >"$1"
}

if in_git; then
    list | while IFS= read -r file; do [ ! -e "$file" ] || echo "$file"; done
else
    find . \( -path ./target -o -path ./vendor -o -path ./fuzz/target -o -path ./.pc \) -prune -o -type f -printf '%P\n'
fi | pack "$out/$name.tar.gz" "$name/"

# stub CRATE: leaves of a crate what cargo reads to find out that it is not needed.
stub() {
    local checksum
    checksum=$(grep -o '"package":"[0-9a-f]*"' "$1/.cargo-checksum.json")
    find "$1" -mindepth 1 -maxdepth 1 ! -name Cargo.toml ! -name .cargo-checksum.json -exec rm -rf {} +
    mkdir "$1/src"
    : >"$1/src/lib.rs"
    # What links a library is one with a build script.
    sed -i '/^build = /d; /^links = /d' "$1/Cargo.toml"
    sed -i '/^\[\[\(bin\|test\|bench\|example\)\]\]/,/^$/d' "$1/Cargo.toml"
    printf '{"files":{},%s}' "$checksum" >"$1/.cargo-checksum.json"
}

if [ ! -d vendor ]; then
    rm -rf "$out/vendor"
    cargo vendor --locked --versioned-dirs "$out/vendor" >/dev/null 2>"$out/vendor.log" || { cat "$out/vendor.log" >&2; exit 1; }
    # The crates of every Linux: cargo knows those of the platforms that it is told, so all that are packaged are named.
    needed=$(for cpu in x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu i686-unknown-linux-gnu s390x-unknown-linux-gnu \
        powerpc64le-unknown-linux-gnu armv7-unknown-linux-gnueabihf riscv64gc-unknown-linux-gnu; do
        cargo tree --locked --workspace --edges all --target "$cpu" --prefix none --format '{p}'
    done | sed 's/^\([^ ]*\) v\([^ ]*\).*/\1-\2/' | sort -u)
    for crate in "$out"/vendor/*; do
        grep -qxF "${crate##*/}" <<<"$needed" || stub "$crate"
    done
    # Compiled code, all for other systems: nobody can build it from these sources, and nothing here needs it. And the first forms of Cargo.toml,
    # which dh_clean deletes as leftovers of a patch; cargo would miss them.
    find "$out/vendor" -type f -regex '.*[.]\(a\|dll\|exe\|lib\|o\|obj\|orig\|so\|wasm\)' -printf '%P\n' | while read -r file; do
        rm "$out/vendor/$file"
        sed -i "s#\"${file#*/}\":\"[0-9a-f]*\",\\?##; s#,}#}#" "$out/vendor/${file%%/*}/.cargo-checksum.json"
    done
    compiled=$(find "$out/vendor" -type f -exec perl -e 'for (@ARGV) { open my $f, "<:raw", $_ or die "$_: $!"; read $f, my $head, 8;
        print "$_\n" if $head =~ /^(?:\x7fELF|!<arch>\n|MZ[^a-zA-Z ]|\0asm|[\x4c\x64][\x01\x86\xaa][^\0]?\0)/s }' {} +)
    [ -z "$compiled" ] || { printf 'packaging/dist.sh: compiled code among the crates:\n%s\n' "$compiled" >&2; exit 1; }
    cd "$out"
fi
find vendor -type f | pack "$out/$name-vendor.tar.gz" ""
[ "$PWD" != "$out" ] || rm -rf vendor
ls -l "$out/$name.tar.gz" "$out/$name-vendor.tar.gz"
