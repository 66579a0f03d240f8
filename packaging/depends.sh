#!/bin/sh
# depends.sh LIBRARY: the packages of libpcp beside which the library works, as Debian's control files name them. It is read from the finished
# file (src/sys/libpcp/fit.rs): libpcp3 (>= 6.0.3), libpcp3 (<< 7).
#
# All PCP with one libpcp.so.N are one generation: PCP 5 and 6 have libpcp.so.3, PCP 7 has libpcp.so.4.
#
# On 32-bit machines time_t has 32 or 64 bits, and the versions of PCP do not say which: Debian's i386 and armhf have 32 in 6.0.3 and 64 in
# 6.3.8. So a library with 32 bits is for that version of PCP alone. None goes back from 64.
set -eu
library=${1:?usage: depends.sh LIBRARY}
soname=$(LC_ALL=C grep -ao 'libpcp\.so\.[0-9][0-9]*' "$library" | sed -n '1s/.*\.//p')
built=$(LC_ALL=C grep -ao 'libpcp_pmda in Rust, built for PCP [0-9.]* with a time_t of [0-9]* bits' "$library" | sed -n '1s/.* PCP //p')
[ -n "$soname" ] && [ -n "$built" ] || { echo "$0: $library is not the library" >&2; exit 1; }
pcp=${built%% *}
case $built in
    *" 32 bits") next=${pcp%.*}.$((${pcp##*.} + 1))~ ;;
    *) next=$((soname + 4)) ;;
esac
echo "libpcp$soname (>= $pcp), libpcp$soname (<< $next)"
