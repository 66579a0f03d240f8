#!/usr/bin/env bash
# Runs PCP's agents simple, sample and mmv on this library below a tool that watches memory, as DSOs and as daemons, with
# dbpmda as their pmcd: each request for each metric and instance domain, stores, and a client that ends.
#
# tool-agents.sh asan|memcheck LIBRARY DIRECTORY: LIBRARY is the library's directory, DIRECTORY is where all is written. The
# last line is "N agents, N failed".
set -uo pipefail
cd "$(dirname "$0")/../.."

readonly tool=$1 library=$2 out=$3
readonly target=${CARGO_TARGET_DIR:-$PWD/target}
readonly pcp=$target/pcp/root supp=$PWD/tests/support/valgrind.supp
readonly sources=$pcp/var/lib/pcp/pmdas

rm -rf "$out"
mkdir -p "$out"/{bin,run,log,tmp/mmv,var/config/pmda,etc}
cp -rL "$sources" "$out/var/pmdas"
ln -s "$pcp/var/lib/pcp/pmns" "$out/var/pmns"
cp "$pcp/etc/pcp/simple/simple.conf" "$out/var/pmdas/simple/"

# The agents as PCP ships them; simple and sample are compiled, so that the tool sees their part as well.
flags=(-g -O1 -w -D_GNU_SOURCE -I include)
[ "$tool" = memcheck ] || flags+=(-fsanitize=address)
for name in simple sample; do
    for form in "-fPIC -shared -o $out/bin/pmda_$name.so" "-o $out/bin/pmda$name"; do
        # shellcheck disable=SC2086
        cc "${flags[@]}" $form "$sources/$name"/*.c -L "$library" -lpcp_pmda -lpcp -lm -lpthread -lrt || exit 1
    done
done
cp "$sources"/mmv/{pmda_mmv.so,pmdammv} "$out/bin/"
cc -w -o "$out/bin/instrumented" tests/consumers/instrumented.c -lpcp_mmv -lpcp || exit 1

# A tool that watches another library would find nothing wrong with ours.
for file in "$out"/bin/pmda*; do
    LD_LIBRARY_PATH=$library ldd "$file" | grep "libpcp_pmda.so.3 => $library/" >/dev/null || { echo "$file does not load $library/libpcp_pmda.so.3" >&2; exit 1; }
done

export PCP_CONF=$target/pcp/pcp.conf PCP_RUN_DIR=$out/run PCP_LOG_DIR=$out/log PCP_TMP_DIR=$out/tmp PCP_TMPFILE_DIR=$out/tmp
export PCP_VAR_DIR=$out/var PCP_SYSCONF_DIR=$out/etc PCP_PMDAS_DIR=$out/var/pmdas LD_LIBRARY_PATH=$library
unset PCP_DIR PMCD_PORT PMCD_HOST

# A program whose values mmv serves, for as long as this script keeps its standard input open.
exec 8> >(exec "$out/bin/instrumented" >"$out/instrumented.out")
for _ in {1..200}; do [ ! -s "$out/instrumented.out" ] || break; sleep 0.05; done

# requests FORM DOMAIN CLUSTER ITEMS SERIALS NAME: what dbpmda is told.
requests() {
    local form=$1 item serial
    shift
    printf '%s\n' 'getdesc on' 'status'
    for ((item = 0; item < $3; item++)); do
        printf '%s\n' "desc $1.$2.$item" "fetch $1.$2.$item" "text $1.$2.$item" "label item $1.$2.$item" "name $1.$2.$item"
    done
    for serial in $4; do
        printf '%s\n' "instance $1.$serial" "text indom $1.$serial" "label indom $1.$serial" "label instances $1.$serial"
        printf '%s\n' "profile $1.$serial none" "profile $1.$serial add 0" "fetch $1.$2.1" "profile $1.$serial all"
    done
    printf '%s\n' 'label context' 'label domain' "label cluster $1.$2" "children $5" "traverse $5" "pmid $5.color" 'attr "userid" "0"'
    printf '%s\n' "store $1.0.0 \"7\"" "fetch $1.0.0"
    # dbpmda frees memory twice when it gives up the store into a DSO, whichever library is below.
    [ "$form" = dso ] || printf '%s\n' "store $1.$2.1 \"text\"" "store $1.$2.2 \"1\"" "fetch $1.$2.0 $1.$2.1 $1.$2.2"
    printf '%s\n' 'close' 'quit'
}

# What an agent's variables point to is no leak, but would be taken for one if the agent was unloaded before the end.
echo 'int dlclose(void *handle) { return 0; }' | cc -shared -x c -o "$out/bin/stay.so" - || exit 1
valgrind=(env LD_PRELOAD="$out/bin/stay.so" valgrind -q --error-exitcode=99 --num-callers=30 --suppressions="$supp" --leak-check=full
    --show-leak-kinds=definite --errors-for-leak-kinds=definite --log-file="$out/report.%p")

# agent NAME FORM DOMAIN INIT CLUSTER ITEMS SERIALS: one agent in one form.
failed=0 count=0
agent() {
    local name=$1 form=$2 domain=$3 status
    local -a open=() run=("$pcp/usr/bin/dbpmda" -ie -n "$sources/$name/root")
    [ "$name" != mmv ] || run=("$pcp/usr/bin/dbpmda" -ie -n "$sources/mmv/root_mmv")
    count=$((count + 1))
    if [ "$form" = dso ]; then
        open=("open dso $out/bin/pmda_$name.so $4 $domain")
        [ "$tool" = asan ] || run=("${valgrind[@]}" "${run[@]}")
    elif [ "$tool" = asan ]; then
        open=("open pipe $out/bin/pmda$name -d $domain -l $out/log/$name.log")
    else
        printf '#!/bin/sh\nexec %s %s -d %d -l %s\n' "${valgrind[*]}" "$out/bin/pmda$name" "$domain" "$out/log/$name.log" >"$out/bin/$name.sh"
        chmod +x "$out/bin/$name.sh"
        open=("open pipe $out/bin/$name.sh")
    fi
    { printf '%s\n' "${open[@]}"; requests "$form" "$domain" "${@:5}" "$name"; } >"$out/$name.$form.in"
    (
        cd "$out"
        [ "$tool" != asan ] || export LD_PRELOAD="$(cc -print-file-name=libasan.so)" ASAN_OPTIONS=detect_leaks=0:log_path=$out/report
        exec timeout 300 "${run[@]}" <"$out/$name.$form.in"
    ) >"$out/$name.$form.out" 2>&1
    status=$?
    if [ "$status" != 0 ] || ! grep -q 'value' "$out/$name.$form.out" || compgen -G "$out/report*" >/dev/null && grep -qsE '^==[0-9]+==' "$out"/report*; then
        failed=$((failed + 1))
        printf '%s (%s): FAILED (%d), see %s\n' "$name" "$form" "$status" "${out#"$PWD"/}"
    fi
    for report in "$out"/report*; do [ ! -e "$report" ] || mv "$report" "$out/$name.$form.${report##*/}"; done
}

for form in dso pipe; do
    agent simple "$form" 253 simple_init 0 6 "0 1"
    agent sample "$form" 29 sample_init 0 170 "1 2 3 4 5 6 7 8 9 10"
    agent mmv "$form" 70 mmv_init 42 6 "1"
done
exec 8>&-
printf '%d agents, %d failed\n' "$count" "$failed"
[ "$failed" = 0 ]
