#!/usr/bin/env bash
# Lists the requirements of tests/requirements.txt that no test cites, and exits 1 if there are any.
#
# A test cites a requirement by its number, written out (CACHE-12), in a file below tests/, or in the test module of a
# source file (what follows its `#[cfg(test)]`). A number with a reason beside it in the list needs no test.
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly list=tests/requirements.txt

# Every citation in the tests, one a line.
cited() {
    {
        find tests -type f ! -path "$list" ! -name '*.md' -exec cat {} +
        find src -name '*.rs' -exec awk 'FNR == 1 { on = 0 } /#\[cfg\(test\)\]/ { on = 1 } on' {} +
        # A test module in a file of its own.
        find src -name 'tests.rs' -exec cat {} +
        find src -path '*/tests/*.rs' -exec cat {} +
    } | grep -aoE '\b[A-Z]{1,5}-[0-9]+\b' | sort -u
}

# The numbers that need a test.
wanted() { grep -xE '[A-Z]+-[0-9]+' "$list" | sort -u; }

missing=$(comm -13 <(cited) <(wanted) | sort -V)
if [ -n "$missing" ]; then
    echo "requirements that no test cites:"
    printf '%s\n' "$missing" | awk -F- '{ line[$1] = line[$1] " " $0 } END { for (name in line) print "   " line[name] }' | sort
    exit 1
fi
printf 'all %d requirements are cited by a test; %d need none, for the reasons given in %s\n' \
    "$(wanted | wc -l)" "$(grep -cE '^[A-Z]+-[0-9]+ ' "$list" || true)" "$list"
