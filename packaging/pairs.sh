#!/usr/bin/env bash
# pairs.sh [ARCH…]: the library built for one PCP, on a host with another one. For each pair of PCP 6.0.3, 6.3.8 and 7.2.2 (Debian 12, 13 and
# sid) on amd64, i386 and armhf: as a package and as `make install` leaves it, it works, or refuses in words before an agent sees a structure
# of the other PCP. On PCP 7 with its own build, Debian 12's agents for Linux and for processes run as well, with libpcp.so.3 and
# libpcp.so.4 in their process. The last lines are the table of packaging/pairs.md.
#
# Below target/systems it makes a Debian system of each suite and architecture, and a Debian 13 that builds for all of them with
# --sysroot, as `make` does; armhf's systems are unpacked and not configured, and run under qemu-user, by a binfmt_misc
# of a user name space (Linux 6.7). PAIRS="bookworm-trixie …" tries only these (built for the first, on the second). What is installed in
# a pair, and pmcd's files, lie in memory; processes and network are the pair's own. Needs root, and some 9 GB.
set -Eeuo pipefail
cd "$(dirname "$0")/.."
. packaging/system.sh

suites=(bookworm trixie sid)
# What a host has, and what a build for it needs.
packages=(pcp libpcp3 libpcp-pmda3 libpcp-pmda3-dev libpcp3-dev libc6-dev procps)

# names ARCH: the words for it.
names() {
    case $1 in
        amd64) rust=x86_64-unknown-linux-gnu gnu=x86_64-linux-gnu multi=x86_64-linux-gnu ;;
        i386) rust=i686-unknown-linux-gnu gnu=i686-linux-gnu multi=i386-linux-gnu ;;
        armhf) rust=armv7-unknown-linux-gnueabihf gnu=arm-linux-gnueabihf multi=arm-linux-gnueabihf ;;
        *) fail "'$1' is none of amd64, i386, armhf" ;;
    esac
}

# foreign COMMAND…: as root of a user name space with all users, in which programs for ARM run under qemu-user.
foreign() {
    local pid pipe=$target/systems/pairs.$$ tries
    mkfifo "$pipe"
    # The first line, "go", says that the name space has its users.
    PIPE=$pipe QEMU=$target/systems/qemu/usr/bin/qemu-arm-static unshare --user --mount --pid --fork --kill-child bash -euc '
        read -r _ <"$PIPE"
        mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
        printf "%s" ":pairs:M::\x7fELF\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x28\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:$QEMU:F" \
            >/proc/sys/fs/binfmt_misc/register
        exec "$@"' bash "$@" &
    pid=$!
    for tries in $(seq 50); do
        [ "$(readlink "/proc/$pid/ns/user")" = "$(readlink /proc/self/ns/user)" ] || break
        [ "$tries" -lt 50 ] || fail "no user name space"
        sleep 0.1
    done
    echo "0 0 65536" >"/proc/$pid/uid_map"
    echo "0 0 65536" >"/proc/$pid/gid_map"
    echo go >"$pipe"
    rm "$pipe"
    wait "$pid"
}

# make_host SUITE ARCH: the system of a host with PCP.
make_host() {
    system=$target/systems/pairs-$1-$2
    [ ! -e "$system/.pcp" ] || return 0
    if [ "$2" = armhf ]; then
        if [ ! -e "$target/systems/qemu/usr/bin/qemu-arm-static" ]; then
            mkdir -p "$target/systems/qemu"
            (cd "$target/systems/qemu" && apt-get download -q qemu-user-static >/dev/null && dpkg -x qemu-user-static_*.deb .)
        fi
        command -v mmdebstrap >/dev/null || apt-get install -y -q --no-install-recommends mmdebstrap
        echo "== a Debian $1 for armhf in $system"
        rm -rf --one-file-system "$system"
        # One archive, as debootstrap takes it. How old its lists may be is the host's affair.
        local valid
        valid=$(apt-config dump Acquire::Check-Valid-Until)
        mmdebstrap --quiet --mode=root --variant=extract --architectures=armhf --skip=check/qemu ${valid:+--aptopt="$valid"} \
            --include="$(IFS=,; echo "${packages[*]}"),bash,dash,coreutils,grep,sed,mawk,findutils,debianutils,base-files,base-passwd,libc-bin,util-linux" \
            "$1" "$system" http://deb.debian.org/debian >"$system.log" 2>&1 || { tail "$system.log" >&2; exit 1; }
    else
        make_system "$1" "pairs-$1-$2" "$2"
        inside apt-get update -q >/dev/null
        close_system
        install_alone "${packages[@]}"
    fi
    touch "$system/.pcp"
}

make_builder() {
    make_system trixie pairs-builder
    [ ! -e "$system/.builder" ] || return 0
    inside dpkg --add-architecture i386
    inside dpkg --add-architecture armhf
    inside apt-get update -q >/dev/null
    install_inside rustc cargo libstd-rust-dev:i386 libstd-rust-dev:armhf gcc libc6-dev gcc-i686-linux-gnu gcc-arm-linux-gnueabihf libclang-dev pkgconf make
    touch "$system/.builder"
}

# build SUITE ARCH: what `make` leaves, in target/pairs/ARCH-SUITE, for the PCP of that system; and the package.
build() {
    local host=/systems/pairs-$1-$2 out=$target/pairs/$2-$1 program name=${rust//-/_} upper libc tree=$target/pairs/$2-$1/tree
    [ "$(cat "$out/sources" 2>/dev/null)" != "$SOURCES" ] || return 0
    echo "== build for Debian $1, $2"
    upper=${name^^}
    system=$target/systems/pairs-builder
    # A name that stays, so that cargo builds the crates once.
    printf '#!/bin/sh\nexec %s-gcc --sysroot="$PAIR" "$@"\n' "$gnu" >"$system/src/link-$gnu"
    chmod 755 "$system/src/link-$gnu"
    inside env -i -C /src/pcp-pmda HOME=/root PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin CARGO_HOME=/rust/cargo CARGO_TARGET_DIR=/src/target \
        CARGO_BUILD_TARGET="$rust" "CARGO_TARGET_${upper}_LINKER=/src/link-$gnu" PAIR="$host" "CC_$name=$gnu-gcc" "CFLAGS_$name=--sysroot=$host" \
        BINDGEN_EXTRA_CLANG_ARGS="--sysroot=$host" PKG_CONFIG_ALLOW_CROSS=1 PKG_CONFIG_SYSROOT_DIR="$host" \
        PKG_CONFIG_LIBDIR="$host/usr/lib/$multi/pkgconfig:$host/usr/lib/pkgconfig:$host/usr/share/pkgconfig" \
        CARGO_PROFILE_RELEASE_DEBUG=none sh -ec "
            packaging/cargo.sh rustc --release --locked --package pcp-pmda --lib --crate-type cdylib,staticlib
            CC=$gnu-gcc packaging/static.sh /src/target/$rust/release/libpcp_pmda.a
            [ $1 != ${suites[0]} ] || packaging/cargo.sh build --release --locked --package pcp-pmda-rust-compare" >"$out.log" 2>&1 || {
        tail -n 30 "$out.log" >&2
        exit 1
    }
    rm -rf "$out"
    mkdir -p "$out"
    cp "$target/pairs/target/$rust/release"/{libpcp_pmda.so,libpcp_pmda.a,libpcp_pmda.pc} "$out/"
    # It needs no libpcp, and the oldest glibc will do.
    if [ "$1" = "${suites[0]}" ]; then program=$target/pairs/target/$rust/release; else program=$target/pairs/$2-${suites[0]}; fi
    cp "$program/pcp-pmda-rust-compare" "$out/"
    make -s install BUILT="$out" DESTDIR="$tree" PREFIX=/usr CONF=00-pcp-pmda-rust.conf STRIP=: >/dev/null
    rm -r "${tree:?}"/usr/{share,include}
    mkdir -p "$tree/DEBIAN" "$tree/etc/ld.so.conf.d"
    echo /usr/lib/pcp-pmda-rust >"$tree/etc/ld.so.conf.d/00-pcp-pmda-rust.conf"
    echo "activate-noawait ldconfig" >"$tree/DEBIAN/triggers"
    libc=$(readelf -V "$out/libpcp_pmda.so" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -V | tail -n 1)
    printf 'Package: libpcp-pmda-rust\nVersion: %s-1\nArchitecture: %s\nMaintainer: nobody <nobody@localhost>\nDepends: %s, libc6 (>= %s)\nDescription: a test\n' \
        "$(sed -n 's/^version = "\(.*\)"/\1/p;T;q' Cargo.toml)" "$2" "$(packaging/depends.sh "$out/libpcp_pmda.so")" "$libc" >"$tree/DEBIAN/control"
    dpkg-deb -Zgzip -z1 --root-owner-group -b "$tree" "$out/package.deb" >/dev/null
    cp "$target/systems/pairs-$1-$2"/usr/lib/{,"$multi"/}libpcp.so.[0-9] "$out/" 2>/dev/null || true
    mkdir "$out/c"
    cp "$target/systems/pairs-$1-$2"/usr/lib/{,"$multi"/}libpcp_pmda.so.3 "$out/c/" 2>/dev/null || true
    echo "$SOURCES" >"$out/sources"
}

# on_host SUITE ARCH COMMAND…: in a copy of a host's system that is gone afterwards, with $out of the build in /built, and with agents of
# the first suite in /older.
on_host() {
    local run=() host=$target/systems/pairs-$1-$2 older=$target/systems/pairs-${suites[0]}-$2/usr/lib/pcp/pmdas
    [ "$2" != armhf ] || run=(foreign)
    shift 2
    HOST=$host OUT=$out OLDER=$older "${run[@]}" timeout --kill-after=10 900 unshare --mount --pid --net --fork --kill-child bash -euc '
        mount --make-rprivate /
        mount -t tmpfs tmpfs /mnt
        mkdir /mnt/upper /mnt/work /mnt/root
        mount -t overlay overlay -o "lowerdir=$HOST,upperdir=/mnt/upper,workdir=/mnt/work" /mnt/root
        mount -t proc proc /mnt/root/proc
        mount --rbind /dev /mnt/root/dev
        mkdir -p /mnt/root/built
        cp -r "$OUT/." /mnt/root/built
        cp packaging/pairs-host.sh /mnt/root/built/
        mkdir /mnt/root/older
        cp -r "$OLDER/linux" "$OLDER/proc" /mnt/root/older/
        make -s install BUILT="$OUT" DESTDIR=/mnt/root STRIP=: >/dev/null
        ip link set lo up
        exec chroot /mnt/root env -i LC_ALL=C DEBIAN_FRONTEND=noninteractive HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"' bash "$@"
}

# by_apt SUITE ARCH: whether apt takes the package on a host with that suite's PCP, out of the suite's own lists.
by_apt() {
    local lists=$target/pairs/apt-$1-$2 options answer
    mkdir -p "$lists"/{etc/apt/preferences.d,state/lists/partial,cache/archives/partial}
    touch "$lists/status"
    echo "deb [trusted=yes] http://deb.debian.org/debian $1 main" >"$lists/etc/apt/sources.list"
    options=(-o "Dir::Etc=$lists/etc/apt" -o Dir::Etc::parts= -o "Dir::State=$lists/state" -o "Dir::State::status=$lists/status" -o "Dir::Cache=$lists/cache" -o "APT::Architecture=$2"
        -o "APT::Architectures=$2" -o APT::Install-Recommends=no)
    [ -e "$lists/updated" ] || { apt-get -q "${options[@]}" update >"$lists/log" 2>&1 && touch "$lists/updated"; }
    if answer=$(LC_ALL=C apt-get -q -s "${options[@]}" install pcp "$out/package.deb" 2>&1); then
        echo taken
    else
        # The first line that names what is missing: "libpcp-pmda-rust : Depends: libpcp3 (< 7) but it is not installable".
        echo "refused: $(sed -n 's/^.*Depends: \(libpcp[0-9].*\|libc6.*\)/\1/p' <<<"$answer" | sed 's/ *$//;q')"
    fi
}

# What is committed, in a clone: a build takes long, and the sources may move on meanwhile.
source=$target/pairs/source
mkdir -p "$target/pairs/target" "$target/systems"
[ -e "$source/.git" ] || git clone -q . "$source"
git -C "$source" fetch -q "$PWD" HEAD
git -C "$source" reset -q --hard FETCH_HEAD
SOURCES=$(git rev-parse HEAD:src HEAD:core HEAD:capi HEAD:build.rs HEAD:packaging/depends.sh | sha256sum | cut -c 1-16)
[ $# -gt 0 ] || set -- amd64 i386 armhf
for arch; do names "$arch"; done
trap close_system EXIT
for arch; do
    for suite in "${suites[@]}"; do make_host "$suite" "$arch"; done
done
make_builder
bind "$source" /src/pcp-pmda
bind "$target/pairs/target" /src/target
bind "${CARGO_HOME:-$HOME/.cargo}" /rust/cargo
bind "$target/systems" /systems
for arch; do
    names "$arch"
    for suite in "${suites[@]}"; do build "$suite" "$arch"; done
done
system=$target/systems/pairs-builder
close_system

declare -A version=([bookworm]=6.0.3 [trixie]=6.3.8 [sid]=7.2.2)
table=$target/pairs/table
: >"$table"
wrong=0
for arch; do
    for from in "${suites[@]}"; do
        for on in "${suites[@]}"; do
            [ -z "${PAIRS:-}" ] || [[ " $PAIRS " == *" $from-$on "* ]] || continue
            out=$target/pairs/$arch-$from
            log=$target/pairs/$arch-$from-$on.log
            package=$(by_apt "$on" "$arch")
            if on_host "$on" "$arch" bash /built/pairs-host.sh >"$log" 2>&1; then
                installed=$(tail -n 1 "$log")
            else
                installed="WRONG: see $log"
            fi
            # A package that apt takes has to work; one that it refuses may.
            case $package$installed in
                *WRONG* | takenrefused*) wrong=$((wrong + 1)) ;;
            esac
            echo "| $arch | ${version[$from]} | ${version[$on]} | $package | $installed |" | tee -a "$table"
        done
    done
done
echo "pairs: $(wc -l <"$table") tried, $wrong wrong"
exit $((wrong > 0))
