#!/bin/sh
# SPDX-License-Identifier: MIT
# What can become of a point: its kernel is wrong, its process crashes, is killed, hangs or asks for more memory than there
# is. Each has its row and its reason, none harms another point, and none has a number.
#
# Usage: test_fates.sh SABOTAGED_PROGRAM
set -u
program=${1:?the program of saboteur.c}
# shellcheck source=tests/driver/common.sh
. "$(dirname -- "$0")/common.sh"
cd "$work" || exit 1

# run ARGUMENTS...: sets status; stdout is in out.txt, stderr in err.txt. Without gnuplot: charts are others' business.
run() {
    PATH=/nowhere "$program" --format csv "$@" >out.txt 2>err.txt </dev/null
    status=$?
}

# has N SERIES WORDS: so many rows of the series with this status and reason.
has() {
    count=$(grep "^fates,$2," out.txt | grep -cF -- "$3")
    [ "$count" -eq "$1" ] || fail "$2: $count rows with '$3', expected $1" "$(cut -c 1-150 out.txt)"
}

cat >fates.cfg <<'END'
network = "garcia"; image = 20; width = [1, 2]; batch = 3; phase = "classify";
warmup = 0.001; min_time = 0.001; max_time = 0.01; min_samples = 6; interval = 1;
series = ( { id = "fine";   label = "F"; backend = "cpu"; },
           { id = "wrong";  label = "W"; backend = "cpu"; algorithm = "wrong";  },
           { id = "crash";  label = "C"; backend = "cpu"; algorithm = "crash";  },
           { id = "killed"; label = "K"; backend = "cpu"; algorithm = "killed"; },
           { id = "hang";   label = "H"; backend = "cpu"; algorithm = "hang"; batch = 2; } );
END

run --order as-written --filter 'batch=3' fates.cfg
[ "$status" -eq 1 ] || fail "points that failed: exit $status, expected 1" "$(cat err.txt)"
[ "$(wc -l <out.txt)" -eq 9 ] || fail 'every point has a row' "$(cut -c 1-100 out.txt)"
[ "$(grep '^fates,fine,' out.txt | grep -cE ',(ok|unstable),')" -eq 2 ] || fail 'the others are measured' "$(cat out.txt)"
has 2 wrong ',mismatch,"classify: output 0 of image 0 in a batch of 3: found' # with the oracle's answer already there
has 2 crash ',error,killed by signal 11 (SIGSEGV),'
has 2 killed ',error,killed by signal 9 (SIGKILL),'
for words in mismatch: SIGSEGV SIGKILL; do
    grep -q "$words" err.txt || fail "'$words' is said as it happens" "$(cat err.txt)"
done
# seconds_per_step, behind the reason
grep -E '^fates,(crash|killed),' out.txt | grep -vqE ',error,[^,]*,,' && fail 'a failed point has no number' "$(cat out.txt)"

# The wrong kernel comes first and leaves the oracle's answer to the right one.
sed 's/series = (/series = ( { id = "first"; label = "1"; backend = "cpu"; algorithm = "wrong"; },/' fates.cfg >turned.cfg
run --order as-written --filter 'series=first,fine' turned.cfg
[ "$(grep -c ',mismatch,' out.txt)" -eq 2 ] || fail 'a wrong kernel that comes first' "$(cat out.txt)"
[ "$(grep -cE ',(ok|unstable),' out.txt)" -eq 2 ] || fail 'a right kernel after a wrong one' "$(cat out.txt)"

run --filter 'series=hang width=1' --timeout 0.5s fates.cfg
[ "$status" -eq 1 ] || fail "a point that hangs: exit $status, expected 1" "$(cat err.txt)"
has 1 hang ',timeout,not done after 0.5 s; --timeout gives it more,'

run --slow --filter 'series=fine width=1' --set batch=100000000 fates.cfg
[ "$status" -eq 1 ] || fail "a point that is too large: exit $status, expected 1" "$(cat err.txt)"
has 1 fine ',oom,"needs about '

[ "$failures" -eq 0 ] || exit 1
echo 'every fate has its row'
