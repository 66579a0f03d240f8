# shellcheck shell=bash
# Sourced: a system of its own below target/systems, of a release of Debian or Ubuntu, made with debootstrap. Needs root.
#
#   $target               the directory of what is built
#   $UBUNTU_MIRROR        where Ubuntu's packages are, if not at http://archive.ubuntu.com/ubuntu
#   fail TEXT             says why the script ends
#   make_system SUITE [NAME [ARCH]]
#                         makes it, or takes the one that is there; sets $system to its directory
#   not_below DIRECTORY   stops where this clone lies below it
#   inside COMMAND…       runs a command in it, with /proc, /sys, /dev and terminals
#   install_inside PACKAGE…, install_alone PACKAGE…
#                         installs packages; the second way, no service of theirs goes on running
#   close_system          takes down what `inside` has mounted; run it on exit
#   copy_system FROM TO   copies the system FROM for a test that changes it, and removes the copy on exit; sets $system
#   isolated SECONDS ARGUMENT…
#                         runs the script again with these arguments and $isolated set, in name spaces of its own (processes, network,
#                         mounts), where $system has /proc and /dev, and /tmp is empty: nothing is left when it ends, however it ends
#   tested TARGET RESULT [STATE]
#                         writes down what `make -C packaging TARGET` has shown in $system (tested.sh)

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
fail() { echo "${0##*/}: $*" >&2; exit 1; }
trap 'echo "${0##*/}: line $LINENO: $BASH_COMMAND failed" >&2' ERR

# not_below DIRECTORY: stops where a clone lies below it. There the steps of a test find a file system of their own instead.
not_below() {
    case $(pwd -P)/ in
        "$1"/*)
            fail "this clone is below $1, where this test mounts a file system of its own: move it elsewhere, such as below /var/tmp"
            ;;
    esac
}

# ubuntu SUITE: it is one of Ubuntu's releases.
ubuntu() { case $1 in jammy | noble | resolute) ;; *) false ;; esac; }

# ubuntu_keyring: the keys of Ubuntu's archive, in $keyring. They are from the package of Debian 13, since Debian 12 has none; Debian's own keys
# vouch for the package.
ubuntu_keyring() {
    local apt=$target/systems/keyring
    keyring=$apt/usr/share/keyrings/ubuntu-archive-keyring.gpg
    [ ! -e "$keyring" ] || return 0
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    echo 'deb http://deb.debian.org/debian trixie main' >"$apt/sources.list"
    (
        cd "$apt"
        set -- -q -o "Dir::Etc::SourceList=$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$apt/lists" \
            -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root
        apt-get "$@" update && apt-get "$@" download ubuntu-keyring && dpkg-deb -x ubuntu-keyring_*.deb .
    ) >"$apt.log" 2>&1 || { cat "$apt.log" >&2; fail "no keys of Ubuntu's archive"; }
    rm -r "$apt/lists" "$apt/cache"
}

make_system() {
    local suite=$1 name=${2:-$1} arch=${3:-} mirror=${UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu} keyring pocket
    [ "$(id -u)" = 0 ] || fail "making a system of its own needs root"
    command -v debootstrap >/dev/null || apt-get install -y -q debootstrap
    system=$target/systems/$name
    if [ ! -e "$system/.complete" ]; then
        echo "== a fresh $suite in $system"
        rm -rf --one-file-system "$system"
        mkdir -p "$system"
        set -- ${arch:+--arch="$arch"} --variant=minbase
        if ubuntu "$suite"; then
            ubuntu_keyring
            # debootstrap has one script for all releases of Ubuntu, and older ones do not know the newer releases' names.
            set -- "$@" --keyring="$keyring" --components=main,universe "$suite" "$system" "$mirror" gutsy
        else
            set -- "$@" "$suite" "$system"
        fi
        debootstrap "$@" >"$system.log" 2>&1 || { tail "$system.log" >&2; exit 1; }
        ! ubuntu "$suite" || for pocket in updates security; do
            echo "deb $mirror $suite-$pocket main universe" >>"$system/etc/apt/sources.list"
        done
        # The way to the packages is the host's.
        cp -L /etc/resolv.conf /etc/hosts "$system/etc/"
        cp -n /etc/apt/apt.conf.d/*proxy* /etc/apt/apt.conf.d/99* "$system/etc/apt/apt.conf.d/" 2>/dev/null || true
        # No services start in here.
        printf '#!/bin/sh\nexit 101\n' >"$system/usr/sbin/policy-rc.d"
        chmod 755 "$system/usr/sbin/policy-rc.d"
        touch "$system/.complete"
    fi
    mountpoint -q "$system/proc" || mount -t proc proc "$system/proc"
    # What is mounted below it stays out of the host's own.
    mountpoint -q "$system/dev" || mount --bind --make-private /dev "$system/dev"
    mountpoint -q "$system/dev/pts" || mount --bind /dev/pts "$system/dev/pts"
    mountpoint -q "$system/sys" || mount --bind /sys "$system/sys"
}

# bind FROM TO: makes a directory of the host visible in the system, and makes it if there is none.
bind() {
    mkdir -p "$1" "$system$2"
    mountpoint -q "$system$2" || mount --bind "$1" "$system$2"
}

inside() {
    DEBIAN_FRONTEND=noninteractive LC_ALL=C chroot "$system" "$@"
}

install_inside() {
    inside apt-get install -y -q --no-install-recommends "$@" >"$system.apt.log" 2>&1 || { tail -n 20 "$system.apt.log" >&2; return 1; }
}

# PCP 7 starts its services whatever policy-rc.d says: they end with the name spaces.
install_alone() {
    install_inside --download-only "$@"
    DEBIAN_FRONTEND=noninteractive LC_ALL=C unshare --mount --pid --net --fork --kill-child chroot "$system" sh -c \
        'mount -t proc proc /proc && exec apt-get install -y -q --no-install-recommends --no-download "$@"' sh "$@" >"$system.apt.log" 2>&1 ||
        { tail -n 20 "$system.apt.log" >&2; return 1; }
}

close_system() {
    local mounted
    [ -n "${system:-}" ] || return 0
    # The deepest first.
    for mounted in $(awk -v root="$system/" 'index($2, root) == 1 { print $2 }' /proc/mounts | sort -r); do
        umount "$mounted" || umount -l "$mounted"
    done
}

copy_system() {
    system=$target/systems/$2
    rm -rf --one-file-system "$system"
    cp -a "$target/systems/$1" "$system"
    trap 'rm -rf --one-file-system "$system"' EXIT
}

isolated() {
    local seconds=$1
    shift
    timeout "$seconds" unshare --mount --mount-proc --pid --net --fork --kill-child "packaging/${0##*/}" --isolated "$system" "$@"
}

tested() {
    local name
    name=$(. "$system/etc/os-release" && case $ID in debian) echo "Debian $(cat "$system/etc/debian_version")" ;; *) echo "${PRETTY_NAME% LTS}" ;; esac)
    # A package that each libpcp needs, under a name that has not changed.
    packaging/tested.sh "make -C packaging $1" "$name, $(inside dpkg --print-architecture)${3:-}" \
        "$(inside dpkg-query -W -f '${Version}' pcp-conf | sed 's/-.*//')" "$2"
}

# In the name spaces of `isolated`. The script's own arguments are left.
isolated=
# shellcheck disable=SC2034 # The scripts read it.
if [ "${1:-}" = --isolated ]; then
    isolated=yes
    system=$2
    shift 2
    mount --make-rprivate /
    mount -t tmpfs tmpfs /tmp
    ip link set lo up
    mount -t proc proc "$system/proc"
    mount --bind /dev "$system/dev"
fi
