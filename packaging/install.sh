#!/usr/bin/env bash
# install.sh install|uninstall|install-openmetrics|uninstall-openmetrics: the Makefile's targets of these names, whose variables are in the
# environment.
#
# Nothing is half done: each file is written beside its place, under another name, and all of them are renamed when all of them are there.
# If a step before that fails, such as on a full disk, the new files are removed again, and the installation of before is as it was. Modes are
# given, whatever the umask. $LIBDIR/installed, and .installed in the agent's folder, list what is removed again: the files, and the directories
# that were not there before.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022
command=$1
root=${DESTDIR-}

fail() { printf 'make %s: %s\n' "$command" "$*" >&2; exit 1; }

# Places of files whose new ones are written, and directories that were made.
places=()
made=()
# Directories that are not there, and that somebody else will make.
noted=()
# not: nothing was renamed yet; partly: some files were.
renamed=not

# beside FILE: sets $beside to the name of the new FILE until it is renamed. It is in the same file system, and no program looks for it.
beside() { beside=$root${1%/*}/.${1##*/}.new; }

# note DIRECTORY: notes which of the directory and those above it are not there.
note() {
    local directory=$1
    while [ -n "$directory" ] && [ ! -d "$root$directory" ]; do
        noted+=("$directory/")
        directory=${directory%/*}
    done
}

# directory DIRECTORY: makes it, and those above it.
directory() {
    local directory=$1 missing=()
    while [ -n "$directory" ] && [ ! -d "$root$directory" ]; do
        missing=("$directory" "${missing[@]}")
        directory=${directory%/*}
    done
    for directory in "${missing[@]}"; do
        mkdir -m 755 "$root$directory"
        made+=("$directory")
    done
}

# place FILE: sets $beside; the caller writes that file.
place() {
    [ ! -d "$root$1" ] || [ -L "$root$1" ] || fail "$root$1 is a directory"
    places+=("$1")
    directory "${1%/*}"
    beside "$1"
    [ ! -e "$beside" ] && [ ! -L "$beside" ] || rm -f "$beside"
}

# put MODE FROM FILE
put() {
    place "$3"
    install -m "$1" "$2" "$beside"
}

# What was begun and not renamed.
take_back() {
    local file at
    [ "$renamed" != all ] || return 0
    for file in "${places[@]}"; do
        beside "$file"
        rm -f "$beside"
    done
    for ((at = ${#made[@]} - 1; at >= 0; at--)); do rmdir --ignore-fail-on-non-empty "$root${made[at]}" 2>/dev/null || true; done
    [ "${#places[@]}" = 0 ] || case $renamed in
        not) echo "make $command: nothing was changed" >&2 ;;
        partly) echo "make $command: a part of the files is new: run it again" >&2 ;;
    esac
}
trap take_back EXIT
trap 'exit 130' INT TERM HUP

rename_all() {
    local file
    for file in "${places[@]}"; do
        beside "$file"
        mv -fT "$beside" "$root$file"
        renamed=partly
    done
    renamed=all
}

# finish LIST: writes the list of what is installed, to which a place has been given already, and renames all.
finish() {
    local directory
    beside "$1"
    {
        # What an earlier installation has made stays in the list.
        [ ! -e "$root$1" ] || cat "$root$1"
        printf '%s\n' "${noted[@]}" "${places[@]}" "${made[@]/%//}"
    } | sed '/^\/*$/d' | LC_ALL=C sort -u >"$beside"
    chmod 644 "$beside"
    rename_all
    # An earlier installation may have made them with another mode.
    while IFS= read -r directory; do
        [ ! -d "$root$directory" ] || chmod 755 "$root$directory"
    done < <(sed -n 's:/$::p' "$root$1")
}

# remove LIST: the files, and directories that are empty then.
remove() {
    local name all
    # The deepest first: a name sorts behind that of the directory above it.
    mapfile -t all < <(LC_ALL=C sort -r "$root$1")
    for name in "${all[@]}"; do
        case $name in */ | "$1") ;; *) printf '%s\0' "$root$name" ;; esac
    done | xargs -0 rm -f
    # The last file: until then this can be repeated.
    rm "$root$1"
    for name in "${all[@]}"; do
        case $name in */) [ ! -d "$root$name" ] || rmdir --ignore-fail-on-non-empty "$root${name%/}" ;; esac
    done
}

# quoted TEXT: as it stands in the right part of sed's s:::.
quoted() { sed 's/[\\&:]/\\&/g' <<<"$1"; }

manual_pages() {
    local page section extension folder main name names
    for page in docs/man/*.[13]; do
        section=${page##*.}
        extension=$section
        [ "$section" != 3 ] || extension=$MANEXT
        folder=$MANDIR/man$section
        main=$(basename "$page" ".$section")
        mapfile -t names < <(sed -n '/^.SH NAME/{n;s/ \\- .*//;s/, /\n/g;p}' "$page")
        # A page for each function that the page describes: the others lead to the first.
        for name in "${names[@]}"; do
            place "$folder/$name.$extension"
            if [ "$name" = "$main" ]; then
                sed "s/^\(\.TH [^ ]*\) 3 /\1 $extension /" "$page" >"$beside"
            else
                echo ".so man$section/$main.$extension" >"$beside"
            fi
            chmod 644 "$beside"
        done
    done
}

install_library() {
    local file directory from docs manifest=$LIBDIR/installed
    [ -e "$BUILT/libpcp_pmda.so" ] || fail "nothing is built: run make first (not as root)"
    for directory in "$LIBDIR" "$BINDIR" "$INCLUDEDIR" "$MANDIR" "$DOCDIR" "$COMPLETIONDIR" "$SYSCONFDIR"; do
        case $directory in
            *\'* | *$'\n'*) fail "a directory's name must have no quotation mark and no line end: $directory" ;;
            /*) ;;
            *) fail "not an absolute path: $directory" ;;
        esac
    done
    [ -z "$root" ] || mkdir -p "$root"
    # What `enable` makes.
    note "$SYSCONFDIR/ld.so.conf.d"
    mapfile -t docs < <(
        printf '%s\n' LICENSE THIRD-PARTY.txt ./*.md tests/README.md packaging/pairs.md agents/openmetrics/DIFFERENCES.md docs/*.md docs/*.csv docs/*.svg docs/spec/*.md pmda/{README.md,interface.txt}
        find c-examples pmda/examples pmda/template -name target -prune -o -type f -print
    )

    # The first place is renamed first: what the list has can be uninstalled.
    place "$manifest"
    put 755 "$BUILT/libpcp_pmda.so" "$LIBDIR/libpcp_pmda.so.3"
    $STRIP --strip-unneeded "$beside"
    # A rename that is on the disk before the data would leave an empty library after a power failure.
    sync "$beside"
    place "$LIBDIR/libpcp_pmda.so"
    ln -s libpcp_pmda.so.3 "$beside"
    put 755 "$BUILT/pcp-pmda-rust-compare" "$LIBDIR/compare"
    $STRIP --strip-unneeded "$beside"
    put 644 "$BUILT/libpcp_pmda.a" "$LIBDIR/libpcp_pmda.a"
    for file in pmda.h pmdaroot.h; do put 644 "include/pcp/$file" "$INCLUDEDIR/pcp/$file"; done
    place "$LIBDIR/pkgconfig/libpcp_pmda.pc"
    sed "s:^prefix=.*:prefix=$(quoted "$PREFIX"):; s:^libdir=.*:libdir=$(quoted "$LIBDIR"):; s:^includedir=.*:includedir=$(quoted "$INCLUDEDIR"):" \
        "$BUILT/libpcp_pmda.pc" >"$beside"
    chmod 644 "$beside"
    place "$BINDIR/pcp-pmda-rust"
    sed "s:@LIBDIR@:$(quoted "$LIBDIR"):; s:@SYSCONFDIR@:$(quoted "$SYSCONFDIR"):; s:@CONF@:$(quoted "$CONF"):; s:@VERSION@:$(quoted "$VERSION"):" \
        packaging/pcp-pmda-rust.in >"$beside"
    chmod 755 "$beside"
    put 644 packaging/pcp-pmda-rust.bash "$COMPLETIONDIR/pcp-pmda-rust"
    manual_pages
    for from in "${docs[@]}"; do put 644 "$from" "$DOCDIR/${from#./}"; done

    finish "$manifest"
    [ -n "$root" ] || echo "installed in $LIBDIR. PCP uses it after: $BINDIR/pcp-pmda-rust enable"
}

# The line of `pcp-pmda-rust enable` is removed first: then no process looks for a library that is not there.
uninstall_library() {
    local manifest=$LIBDIR/installed
    [ -e "$root$manifest" ] || fail "$root$manifest, the list of what make install has installed, is not there: nothing is installed, or in another LIBDIR"
    rm -f "$root$SYSCONFDIR/ld.so.conf.d/$CONF"
    remove "$manifest"
    [ -n "$root" ] || echo "uninstalled. Run ldconfig, and restart pmcd and pmproxy where they run"
}

# The agent writes its files into a folder beside its own, with copies of its scripts, of which it keeps those that were changed.
install_agent() {
    local file
    [ -e "$OPENMETRICS" ] || fail "nothing is built: cargo build --release -p pmda-openmetrics"
    [ -z "$root" ] || mkdir -p "$root"
    directory "$OPENMETRICSDIR"
    stage=$root${OPENMETRICSDIR%/*}/.openmetrics.new
    trap 'rm -rf "$stage"; take_back' EXIT
    place "$OPENMETRICSDIR/.installed"
    rm -rf "$stage"
    mkdir -m 700 "$stage"
    for file in "$root$OPENMETRICSDIR"/Install* "$root$OPENMETRICSDIR"/Remove*; do [ ! -e "$file" ] || cp -p "$file" "$stage/"; done
    "$OPENMETRICS" --write "$stage"
    for file in "$stage"/*; do put "$(stat -c %a "$file")" "$file" "$OPENMETRICSDIR/${file##*/}"; done
    put 755 "$OPENMETRICS" "$OPENMETRICSDIR/pmdaopenmetrics"
    $STRIP --strip-unneeded "$beside"
    put 644 agents/openmetrics/man/pmdaopenmetrics-rust.1 "$MANDIR/man1/pmdaopenmetrics-rust.1"
    finish "$OPENMETRICSDIR/.installed"
    [ -n "$root" ] || echo "installed. pmcd starts it after: cd $OPENMETRICSDIR && ./Install"
}

uninstall_agent() {
    local conf
    [ -e "$root$OPENMETRICSDIR/.installed" ] || fail "$root$OPENMETRICSDIR/.installed, the list of what was installed, is not there: nothing is installed, or in another OPENMETRICSDIR"
    conf=$(sed -n 's/^PCP_PMCDCONF_PATH=//p' "${PCP_CONF:-/etc/pcp.conf}" 2>/dev/null || true)
    if [ -z "$root" ] && grep -qsF "$OPENMETRICSDIR/pmdaopenmetrics" "$conf"; then
        fail "pmcd still starts it: cd $OPENMETRICSDIR && ./Remove"
    fi
    # What Install has made of the help texts.
    rm -f "$root$OPENMETRICSDIR"/help.dir "$root$OPENMETRICSDIR"/help.pag
    remove "$OPENMETRICSDIR/.installed"
}

case $command in
    install) install_library ;;
    uninstall) uninstall_library ;;
    install-openmetrics) install_agent ;;
    uninstall-openmetrics) uninstall_agent ;;
esac
