#!/usr/bin/env bash
# Writes THIRD-PARTY.txt (what is linked into the library, with the licences' texts), debian/copyright (all sources of the Debian
# source package, the vendored crates among them) and the list of linked crates in the RPM's specification anew: after each change of
# Cargo.lock. `make -C packaging release-check` fails where one of the three is another one then.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cargo vendor --locked --versioned-dirs "$work/vendor" >/dev/null 2>&1

# field CRATE NAME: a string of its Cargo.toml.
field() { sed -n "s/^$2 = \"\(.*\)\"$/\1/p;T;q" "$work/vendor/$1/Cargo.toml"; }

# holders CRATE: those whom its own licence files name; where they name nobody, the authors in its Cargo.toml.
holders() {
    local found name
    name=$(field "$1" name)
    found=$(find "$work/vendor/$1" -maxdepth 1 -type f \( -iname 'LICEN[SC]E*' -o -iname 'COPYRIGHT*' -o -iname 'NOTICE*' -o -iname 'UNLICENSE*' \) -print0 | sort -z |
        xargs -0 -r cat | tr -d '\r' | sed -nE '
            s/^ *Copyrights in the .* are retained by their contributors.*/the contributors to '"$name"'/p
            s/^ *(\([cC]\) )?(Copyright|©)( \([cC]\)| ©)? +([A-Z0-9"].*)/\4/; t holder
            b
            :holder
            s/[. ]*( All rights reserved[. ]*)$//
            /Inc\.$/!s/\.$//
            s/^([0-9]{4}(-*[0-9]{4})?)[[:space:]]*$/\1 the authors of '"$name"'/
            p' | sort -u)
    [ -n "$found" ] || found=$(authors "$1")
    printf '%s\n' "${found:-the authors of $name}"
}

# authors CRATE: each in a line; the list may be on one line or on several.
authors() {
    awk '/^authors = \[/ { inside = 1 } inside { print } inside && /\] *$/ { exit }' "$work/vendor/$1/Cargo.toml" | grep -o '"[^"]*"' | tr -d '"' || true
}

# The licence of a crate as an SPDX expression; older crates write "A/B" for "A OR B".
licence() { field "$1" license | sed 's: */ *: OR :g'; }

# linked: the crates that are linked into the library, and into the program behind `pcp-pmda-rust compare`, on Linux.
linked() { cargo tree --locked --package pcp-pmda --package pcp-pmda-rust-compare --edges normal --prefix none --format '{p}' | sed -n 's/^\([^ ]*\) v\([^ ]*\).*/\1-\2/p' | grep -Ev '^(pcp-pmda|pmda)-' | sort -u; }

{
    cat <<'TEXT'
Third-party parts of libpcp_pmda.so.3, libpcp_pmda.a and compare
================================================================

The library itself is LGPL-2.1-or-later (LICENSE). Written by packaging/licences.sh.

1. Crates from crates.io
------------------------

TEXT
    for crate in $(linked); do
        printf '%s %s\n    SPDX-License-Identifier: %s\n' "$(field "$crate" name)" "$(field "$crate" version)" "$(licence "$crate")"
        holders "$crate" | sed 's/^/    Copyright: /'
        echo
    done
    cat <<'TEXT'
2. Rust's standard library and the crates in it
-----------------------------------------------

Which versions, and which of them are left after linking, depends on the Rust toolchain; its file share/doc/rust/COPYRIGHT-library.html
has the details.

alloc, core, panic_unwind, std, std_detect, unwind
    SPDX-License-Identifier: MIT OR Apache-2.0
    Copyright: the Rust project's contributors

compiler_builtins (with parts of LLVM's compiler-rt and of musl's libm)
    SPDX-License-Identifier: MIT AND Apache-2.0 WITH LLVM-exception AND (MIT OR Apache-2.0)
    Copyright: the Rust project's contributors; the LLVM project's contributors; Rich Felker and others

addr2line, cfg-if, gimli, hashbrown, libc, object, rustc-demangle
    SPDX-License-Identifier: MIT OR Apache-2.0

memchr
    SPDX-License-Identifier: Unlicense OR MIT
    Copyright: 2015 Andrew Gallant

miniz_oxide
    SPDX-License-Identifier: MIT OR Zlib OR Apache-2.0
    Copyright: 2017 Frommi; 2017-2024 oyvindln

adler2
    SPDX-License-Identifier: 0BSD OR MIT OR Apache-2.0
    Copyright: Jonas Schievink

3. GCC's run-time library
-------------------------

libgcc, libgcc_eh (the unwinder)
    SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1
    Copyright: Free Software Foundation, Inc.
    By the exception a program that was linked with them may be conveyed under terms of one's own choice.

4. Texts of the licences
------------------------

Of a choice ("OR"), this project takes the first licence that follows here.

TEXT
    printf -- '---- MIT ----\n\n'
    # The crate's own line of copyright is above.
    grep -v '^Copyright (c)' "$work"/vendor/libc-[0-9]*/LICENSE-MIT | sed '/./,$!d'
    echo
} >THIRD-PARTY.txt

{
    cat <<'TEXT'
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: pcp_pmda
Comment: Written by packaging/licences.sh. The crates in vendor/ come from https://crates.io; which of them are linked into the
 library, and which only build or test it, says docs/DEPENDENCIES.md.

Files: *
Copyright: 2026 the authors of pcp_pmda
License: LGPL-2.1+
TEXT
    for path in "$work"/vendor/*; do
        crate=${path##*/}
        # A comma stands for the brackets of "(A or B) and C".
        expression=$(licence "$crate" | sed -E 's/\(([^()]*)\) AND /\1, and /; s/ OR / or /g; s/ AND / and /g; s/ WITH LLVM-exception/ with LLVM exception/g; s/MIT/Expat/g; s/LGPL-2.1-or-later/LGPL-2.1+/g')
        [[ $expression != *[\(\)]* ]] || { echo "licences.sh: $crate has a licence that this cannot write: $expression" >&2; exit 1; }
        printf '\nFiles: vendor/%s/*\n' "$crate"
        holders "$crate" | sed '1s/^/Copyright: /; 2,$s/^/ /'
        printf 'License: %s\n' "$expression"
        printf '%s\t%s\n' "$path" "$expression" >>"$work/licences"
    done
    cat <<'TEXT'

License: LGPL-2.1+
 This library is free software; you can redistribute it and/or modify it under
 the terms of the GNU Lesser General Public License as published by the Free
 Software Foundation; either version 2.1 of the License, or (at your option)
 any later version. It comes without any warranty.
 .
 On Debian systems, the full text of version 2.1 of the licence is in
 /usr/share/common-licenses/LGPL-2.1.
TEXT
    cut -f 2 "$work/licences" | sed 's/,\? \(or\|and\) /\n/g' | sort -u | grep -vxF LGPL-2.1+ | while read -r name; do
        printf '\nLicense: %s\n' "$name"
        case $name in
            Apache-2.0*) echo " On Debian systems, the full text of version 2.0 of the Apache licence is in"; echo " /usr/share/common-licenses/Apache-2.0."
                [ "$name" = Apache-2.0 ] || echo " With the LLVM exception, parts of it may be embedded in what a compiler makes, without conditions." ;;
            MPL-2.0) echo " On Debian systems, the full text of version 2.0 of the Mozilla Public License is in"; echo " /usr/share/common-licenses/MPL-2.0." ;;
            *)
                # A file of the licence's own name; else one of a crate that has this licence alone, as a rule.
                word=${name%%-*}
                [ "$word" != Expat ] || word=MIT
                mapfile -t paths < <(grep -E "[[:space:]]$name(,|\$| )" "$work/licences" | cut -f 1)
                text=$(find "${paths[@]}" -maxdepth 1 \( -iname "LICENSE*$word*" -o -iname "$word" \) | sort
                    find "${paths[@]}" -maxdepth 1 \( -iname LICENSE -o -iname LICENSE.md -o -iname LICENSE.txt \) | sort)
                text=${text%%$'\n'*}
                [ -n "$text" ] || { echo "licences.sh: no text of the licence $name" >&2; exit 1; }
                tr -d '\r' <"$text" | sed -E '/^[[:space:]]*(Copyright [(©0-9A-Z]|\([Cc]\))/d' | sed 's/[[:space:]]*$//; /./,$!d; s/^/ /; s/^ $/ ./' ;;
        esac
    done
} >debian/copyright

for crate in $(linked); do
    printf 'Provides:       bundled(crate(%s)) = %s\n' "$(field "$crate" name)" "$(field "$crate" version)"
done >"$work/bundled"
sed -i -e '/^Provides: *bundled(crate(/d' -e "/^# What is linked in,/r $work/bundled" packaging/rpm/libpcp-pmda-rust.spec
