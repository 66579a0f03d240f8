#!/usr/bin/env bash
# docs-test.sh [DOCUMENT…]: runs the commands of the guides as they are written, one block after the other, in a fresh Debian 12 system with
# PCP (SUITE=trixie: Debian 13, where the packages of Rust are called cargo and rustc), and says how long each takes, and by how much the
# system has grown. The blocks of a document follow each other as in one shell: each finds the directory, the variables and the remembered
# paths of commands that the one before has left. A block is what stands between ```sh and ```; it has to succeed. Words behind ```sh say
# where it cannot run every time:
#
#   slow      takes many minutes: only with SLOW=yes
#   nightly   needs Rust's nightly toolchain, and is not run here (CI has lanes for it)
#   systemd   needs systemd as process 1, and is run where it is
#
# In a guide for writing agents the pieces of ```c become the file that they are said to be. Everything runs in name spaces of its own:
# processes and mounts, and, for all that does not load packages or crates, a network of its own. Needs root.
set -Eeuo pipefail
cd "$(dirname "$0")/.."
. packaging/system.sh
not_below /tmp
not_below /run

suite=${SUITE:-bookworm}
documents=("$@")
[ $# -gt 0 ] || documents=(README.md docs/OPERATING.md docs/WRITING-AGENTS.md CONTRIBUTING.md SECURITY.md RELEASING.md)

# blocks DOCUMENT DIRECTORY: writes the blocks into files 01, 02 … that begin with a comment of the words behind ```sh.
blocks() {
    mkdir -p "$2"
    awk -v directory="$2" '
        /^ *```sh/ && !inside { inside = 1; file = sprintf("%s/%02d", directory, ++count); words = $0; sub(/^ *```sh */, "", words)
            indent = match($0, /`/) - 1; print "# " words >file; next }
        /^ *```/ && inside { inside = 0; close(file); next }
        inside { print substr($0, indent + 1) >file }' "$1"
}

# size: MB in the system, without what is mounted in it.
size() { du --summarize --one-file-system --block-size=MB "$system" | sed 's/MB.*//'; }

steps() {
    local document block words place run=0 left=0 where start seconds before after
    system=$target/systems/$suite-docs
    mount --make-rprivate /
    mount -t tmpfs tmpfs /run
    mount -t tmpfs tmpfs /tmp
    mount -t proc proc "$system/proc"
    mount --bind /dev "$system/dev"
    # The home of root in the system, with its cargo, stays there.
    ip netns add docs
    ip netns exec docs ip link set lo up
    alone() { ip netns exec docs chroot "$system" "$@"; }
    alone /etc/init.d/pmcd restart >/dev/null

    for document in "${documents[@]}"; do
        blocks "$document" "/tmp/blocks/$document"
        place=/src/pcp-pmda
        if grep -q '^```c$' "$document"; then
            place=/src/folder
            rm -rf "$system$place"
            mkdir -p "$system$place"
            awk '/^```c$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$document" >"$system$place/hello.c"
        fi
        rm -f "$system/src/state"
        for block in "/tmp/blocks/$document"/*; do
            [ -e "$block" ] || continue
            words=$(sed -n '1s/^# //p' "$block")
            case $words in
                slow) [ "${SLOW:-}" = yes ] || { left=$((left + 1)); echo "left out ($words): $document, block ${block##*/}"; continue; } ;;
                nightly | systemd) left=$((left + 1)); echo "left out ($words): $document, block ${block##*/}"; continue ;;
                '') ;;
                *) echo "docs-test: $document: what is \"$words\"?" >&2; exit 1 ;;
            esac
            where=alone
            if grep -qE '^ *(apt-get|make|cargo|packaging/)' "$block"; then where=inside; fi
            # bash in a network of its own cannot go on in another one, so what it remembers is handed on.
            {
                echo "cd $place; [ ! -e /src/state ] || . /src/state; set -e"
                if [ "$suite" = bookworm ]; then cat "$block"; else sed 's/cargo-web rustc-web/cargo rustc/' "$block"; fi
                echo '{ export -p; hash -l 2>/dev/null || true; printf "cd %q\n" "$PWD"; } >/src/state'
            } >"$system/src/block"
            before=$(size)
            start=$SECONDS
            if ! $where env -i HOME=/root TERM=dumb PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
                bash /src/block >/tmp/log 2>&1 </dev/null; then
                { cat "$block"; tail -n 40 /tmp/log; echo "docs-test: $document: block ${block##*/} failed"; } >&2
                exit 1
            fi
            seconds=$((SECONDS - start))
            after=$(size)
            run=$((run + 1))
            echo "ok: $document, block ${block##*/}, $seconds s, $((after - before)) MB: $(sed -n 2p "$block" | cut -c 1-100)"
        done
    done
    alone /etc/init.d/pmcd stop >/dev/null 2>&1 || true
    echo "docs-test: $run blocks passed, $left left out"
}

if [ "${DOCS_TEST_STEPS:-}" = yes ]; then
    steps
else
    trap close_system EXIT
    # Not that of check-suite.sh, which has compilers.
    make_system "$suite" "$suite-guides"
    inside apt-get update -q >/dev/null
    install_inside pcp libpcp-pmda3 procps git
    close_system
    copy_system "$suite-guides" "$suite-docs"
    mkdir -p "$system/src/pcp-pmda"
    # What is in the repository, as it is now, under version control.
    git ls-files -z | tar --create --file=- --null --files-from=- | tar --extract --file=- -C "$system/src/pcp-pmda"
    inside_git() { chroot "$system" git -C /src/pcp-pmda -c user.name=test -c user.email=test@localhost "$@"; }
    inside_git init -q 2>/dev/null
    inside_git add -A
    inside_git commit -q -m "The sources"
    # Crates come the same way as on the host: through what its administrator trusts.
    cp -a /usr/local/share/ca-certificates "$system/usr/local/share/" 2>/dev/null || true
    DOCS_TEST_STEPS=yes timeout "${LIMIT:-3600}" unshare --mount --mount-proc --pid --fork --kill-child "packaging/${0##*/}" "${documents[@]}"
fi
