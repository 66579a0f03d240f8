# shellcheck shell=bash
# Sourced: a Debian system of its own below target/systems, made with debootstrap. Needs root.
#
#   make_system SUITE [NAME [ARCH]]
#                         makes it, or takes the one that is there; sets $system to its directory
#   not_below DIRECTORY   stops where this clone lies below it
#   inside COMMAND…       runs a command in it, with /proc and /dev
#   install_inside PACKAGE…, install_alone PACKAGE…
#                         installs packages; the second way, no service of theirs goes on running
#   close_system          takes down what `inside` has mounted; run it on exit

# not_below DIRECTORY: stops where a clone lies below it. There the steps of a test find a file system of their own instead.
not_below() {
    case $(pwd -P)/ in
        "$1"/*)
            echo "$0: this clone is below $1, where this test mounts a file system of its own: move it elsewhere, such as below /var/tmp" >&2
            exit 1
            ;;
    esac
}

make_system() {
    local suite=$1 name=${2:-$1} arch=${3:-} target=${CARGO_TARGET_DIR:-$PWD/target}
    if [ "$(id -u)" != 0 ]; then
        echo "$0: making a system of its own needs root" >&2
        exit 1
    fi
    command -v debootstrap >/dev/null || apt-get install -y -q debootstrap
    system=$target/systems/$name
    if [ ! -e "$system/.complete" ]; then
        echo "== a fresh Debian $suite in $system"
        rm -rf --one-file-system "$system"
        mkdir -p "$system"
        debootstrap ${arch:+--arch="$arch"} --variant=minbase "$suite" "$system" >"$system.log" 2>&1 || { tail "$system.log" >&2; exit 1; }
        # The way to the packages is the host's.
        cp -L /etc/resolv.conf /etc/hosts "$system/etc/"
        cp -n /etc/apt/apt.conf.d/*proxy* /etc/apt/apt.conf.d/99* "$system/etc/apt/apt.conf.d/" 2>/dev/null || true
        # No services start in here.
        printf '#!/bin/sh\nexit 101\n' >"$system/usr/sbin/policy-rc.d"
        chmod 755 "$system/usr/sbin/policy-rc.d"
        touch "$system/.complete"
    fi
    mountpoint -q "$system/proc" || mount -t proc proc "$system/proc"
    mountpoint -q "$system/dev" || mount --bind /dev "$system/dev"
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
