#!/usr/bin/env bash
# tested.sh COMMAND SYSTEM PCP RESULT: with RECORD=yes, writes into the table of docs/OPERATING.md what a command has just shown, with
# the date and the commit, in place of what it has shown before. The commands that test call it when they have passed. COMMIT is the
# one that was tested: a long run notes it when it begins, as there may be newer ones when it ends.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "${RECORD:-}" = yes ] || exit 0
command=$1
row="| \`$1\` | $2 | $3 | $4 | $(date +%Y-%m-%d) | ${COMMIT:-$(git rev-parse --short=8 HEAD)} |"
page=docs/OPERATING.md
fresh=$(mktemp)
ROW=$row awk -v begin="| \`$command\` |" '
    index($0, begin) == 1 { print ENVIRON["ROW"]; found = 1; next }
    /<!-- tested: end -->/ && !found { print ENVIRON["ROW"] }
    { print }' "$page" >"$fresh"
cat "$fresh" >"$page"
rm "$fresh"
echo "$page: $row"
