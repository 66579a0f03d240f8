#!/usr/bin/env bash
# setup.sh [demo]: installs what the tests and benchmarks need, and a fresh Debian machine lacks:
#
#   - build packages (PCP's headers and C library, libclang, a C compiler), by apt;
#   - PCP's daemons, tools and agents: the package pcp, unpacked and not installed (its post-install script wants
#     systemd, and would start a pmcd of the system), and the libraries that it depends on, by apt;
#   - PCP's own test programs and test agents (of the package pcp-testsuite: its src and pmdas, never its scripts);
#   - PCP's generated files, and a pcp.conf whose paths lead into the unpacked tree.
#
# With the word demo, only what the demo needs: a C compiler, the package pcp, two libraries that its tools are linked with,
# and the help texts of one agent.
#
# All files of its own are below target/pcp. Without root or apt it lists the missing packages, and exits with 1. If nothing is
# missing, it takes a fraction of a second.
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly home=${CARGO_TARGET_DIR:-$PWD/target}/pcp
readonly root=$home/root

# The programs that the build and the tests call: gcc and g++ for the C and C++ programs, clang for the header tests, binutils for
# the link, valgrind for the memory checks, shellcheck for the scripts, libclang for bindgen, OpenSSL for the agent openmetrics and
# the certificates of its tests, man-db for the manual pages, nss-wrapper so that agents find their user pcp, uid-wrapper so that
# an ordinary user's can become it.
readonly build_packages=(
    binutils clang g++ gcc libc6-dev libclang-dev libnss-wrapper libpcp-mmv1-dev libpcp-pmda3-dev libpcp-trace2-dev libpcp3-dev
    libssl-dev libuid-wrapper make man-db openssl pkg-config procps shellcheck valgrind
)
# Interpreters' bindings, and the modules that agents in Perl and Python import: these agents use the library, too.
readonly binding_packages=(
    libdate-manip-perl libdbd-mysql-perl libdbi-perl libjson-perl libnet-ldap-perl libnet-snmp-perl libpcp-pmda-perl libwww-perl
    python3-json-pointer python3-pcp python3-requests python3-six
)

# The libraries of the demo's tools, and the compiler of its agent.
readonly demo_packages=(gcc libc6-dev libpcp-gui2 libpcp3-dev libreadline8 pkg-config procps)

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$@" >&2; exit 1; }

# missing PACKAGE...: prints those that are not installed, under this name or one that provides it (libreadline8t64).
missing() {
    local installed
    installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}, ${Provides}\n' | sed -n 's/^installed //p' | tr ',' '\n' | sed 's/(.*//; s/[[:space:]]//g')
    printf "%s\n" "$@" | sort -u | grep -vxF -e "$installed" || true
}

# install WHY PACKAGE...: installs those that are missing, or says which ones are.
install() {
    local why=$1 wanted
    shift
    mapfile -t wanted < <(missing "$@")
    [ ${#wanted[@]} -gt 0 ] || return 0
    if [ "$(id -u)" != 0 ]; then
        fail "missing packages ($why): ${wanted[*]}" "install them as root: apt-get install ${wanted[*]}"
    fi
    say "installing ($why): ${wanted[*]}"
    refresh
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -q --no-install-recommends "${wanted[@]}" >"$home/apt.log" 2>&1 ||
        { tail -n 20 "$home/apt.log" >&2; fail "apt-get could not install: ${wanted[*]}"; }
}

# refresh: the package lists, once in a run.
refreshed=
refresh() {
    [ -z "$refreshed" ] || return 0
    refreshed=yes
    [ "$(id -u)" = 0 ] || return 0
    apt-get update -q >"$home/apt.log" 2>&1 || say "apt-get update failed, going on with the present lists"
}

# unpack VERSION: the package pcp of that version becomes $root.
unpack() {
    local version=$1 fresh=$home/root.new
    say "unpacking pcp $version into ${root#"$PWD"/}"
    rm -rf "$fresh"
    mkdir -p "$fresh"
    download "pcp=$version"
    dpkg-deb -x "$home"/deb/pcp_*.deb "$fresh"
    dpkg-deb -f "$home"/deb/pcp_*.deb Depends >"$home/depends"
    rebase_links "$fresh"
    rm -rf "$root"
    mv "$fresh" "$root"
}

# unpack_tests VERSION: PCP's test programs and test agents.
unpack_tests() {
    say "unpacking PCP's test programs"
    download "pcp-testsuite=$1"
    rm -rf "$home/testsuite"
    mkdir "$home/testsuite"
    dpkg-deb --fsys-tarfile "$home"/deb/pcp-testsuite_*.deb |
        tar -x -C "$home/testsuite" --strip-components=5 ./var/lib/pcp/testsuite/src ./var/lib/pcp/testsuite/pmdas
}

# download PACKAGE=VERSION: into an empty directory.
download() {
    rm -rf "$home/deb"
    mkdir -p "$home/deb"
    chmod 777 "$home/deb"
    (cd "$home/deb" && { apt-get download -q "$1" || { refresh && apt-get download -q "$1"; }; }) \
        >"$home/apt.log" 2>&1 || { cat "$home/apt.log" >&2; fail "apt-get could not download $1"; }
}

# rebase_links TREE: absolute links that mean a file of the package lead into the unpacked tree.
rebase_links() {
    local tree=$1 link target
    while IFS=$'\t' read -r link target; do
        [ ! -e "$tree$target" ] && [ ! -L "$tree$target" ] || ln -sfnr "$tree$target" "$link"
    done < <(find "$tree" -type l -lname '/*' -printf '%p\t%l\n')
}

# The names in the package's Depends line; of alternatives the first.
depends() { tr ',' '\n' <"$home/depends" | sed 's/|.*//; s/(.*//; s/:any//; s/[[:space:]]//g' | sort -u; }

# configure: a pcp.conf for the unpacked tree; its variable directories are replaced by each user of it.
configure() {
    local name value
    sed -E "s#=/(usr/lib/pcp|usr/share/pcp|var/lib/pcp|etc/pcp|usr/share/doc)#=$root/\1#" /etc/pcp.conf |
        sed -E "s#^(PCP_BIN_DIR)=.*#\1=$root/usr/bin#; s#^(PCP_(USER|GROUP))=.*#\1=$(id -un)#
                s#^(PCP_PYTHON_PROG)=.*#\1=/usr/bin/python3#; s#^(PCP_PERL_PROG)=.*#\1=/usr/bin/perl#" >"$home/pcp.conf"
    sed -i "s#^PCP_GROUP=.*#PCP_GROUP=$(id -gn)#" "$home/pcp.conf"
    for name in PCP_RUN_DIR PCP_LOG_DIR PCP_TMP_DIR PCP_TMPFILE_DIR; do
        value=$home/var/${name,,}
        mkdir -p "$value"
        sed -i "s#^$name=.*#$name=$value#" "$home/pcp.conf"
    done
}

# help DIRECTORY: an agent's help database. The source names instance domains by the symbol of domain.h.
help() {
    local symbols
    symbols=$(sed -nE 's/^#define[[:space:]]+([A-Z0-9_]+)[[:space:]]+([0-9]+).*/s#^@ \1\\.#@ \2.#/p' "$1/domain.h" 2>/dev/null) || true
    cd "$1" && sed "$symbols" help | PCP_CONF=$home/pcp.conf "$root/usr/lib/pcp/bin/newhelp" -n root -o help
}

# users: an /etc/passwd and /etc/group in which the users that agents change to are whoever runs the tests.
users() {
    local name
    cp /etc/passwd "$home/passwd"
    cp /etc/group "$home/group"
    for name in pcp dirsrv oracle postgres; do
        sed -i "/^$name:/d" "$home/passwd" "$home/group"
        echo "$name:x:$(id -u):$(id -g)::/:/bin/sh" >>"$home/passwd"
        echo "$name:x:$(id -g):" >>"$home/group"
    done
}

# generate [AGENT]: files that the package's post-install script and the agents' Install scripts would make, for all agents or one.
generate() {
    local directory agent=${1:-*}
    (cd "$root/var/lib/pcp/pmns" && PCP_CONF=$home/pcp.conf PCP_DIR=$root PATH=$root/usr/bin:$PATH sh ./Make.stdpmid) \
        >"$home/generate.log" 2>&1 || { cat "$home/generate.log" >&2; fail "Make.stdpmid failed"; }
    [ -s "$root/var/lib/pcp/pmns/stdpmid" ] || fail "Make.stdpmid made no stdpmid"
    # shellcheck disable=SC2231 # A pattern.
    for directory in "$root"/var/lib/pcp/pmdas/$agent/; do
        [ -e "$directory/help" ] && [ -e "$directory/root" ] && [ ! -e "$directory/help.pag" ] || continue
        { (help "$directory") >>"$home/generate.log" 2>&1 || [ -s "$directory/help.pag" ]; } || fail "newhelp failed in $directory, see $home/generate.log"
    done
}

for tool in apt-get dpkg-deb dpkg-query; do
    command -v "$tool" >/dev/null || fail "$tool is missing: this needs Debian or a relative of it" \
        "elsewhere install these yourself: ${build_packages[*]} ${binding_packages[*]} pcp"
done
case $home in
    *[[:space:]]*)
        fail "a blank is in $home, and PCP's configuration files cannot name such a directory" \
            "build elsewhere: CARGO_TARGET_DIR=DIRECTORY make …" ;;
esac
command -v cargo >/dev/null || fail "cargo is missing: install the Rust toolchain, https://rustup.rs"
mkdir -p "$home"

what=${1:-all}
case $what in
    all) install "build" "${build_packages[@]}" ;;
    demo) install "the demo" "${demo_packages[@]}" ;;
    *) fail "usage: setup.sh [demo]" ;;
esac
version=$(dpkg-query -W -f '${Version}' libpcp3-dev)
stamp="pcp $version in $root, $(cksum <"$0")"
# done_before NAME: whether this step has been taken for this version, by this script.
done_before() { [ "$(cat "$home/$1" 2>/dev/null)" = "$stamp" ]; }
if ! done_before stamp && ! done_before stamp.demo; then
    rm -f "$home"/stamp*
    unpack "$version"
fi
if [ "$what" = all ]; then
    done_before stamp || unpack_tests "$version"
    mapfile -t libraries < <(depends)
    install "what pcp needs" "${libraries[@]}" "${binding_packages[@]}"
fi
# Who runs the tests may be another one than the last time.
configure
users
if [ "$what" = demo ]; then
    done_before stamp || done_before stamp.demo || generate simple
    echo "$stamp" >"$home/stamp.demo"
elif ! done_before stamp; then
    generate
    echo "$stamp" >"$home/stamp"
    say "ready"
fi
