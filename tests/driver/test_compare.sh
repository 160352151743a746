#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs of the real program compared: names, words, exit codes, and rows of an older program.
#
# Usage: test_compare.sh PROGRAM SOURCE_ROOT
set -u
program=${1:?the program}
root=${2:?the source root}
# shellcheck source=tests/driver/common.sh
. "$(dirname -- "$0")/common.sh"
export CONVSCALE_MACHINE=here
cd "$work" || exit 1

# compare CODE ARGUMENTS...: sets out, err.
compare() {
    code=$1
    shift
    "$program" --compare "$@" >out.txt 2>err.txt </dev/null
    status=$?
    out=$(cat out.txt)
    err=$(cat err.txt)
    [ "$status" -eq "$code" ] || fail "--compare $*: exit $status, expected $code" "$err"
}

# slowed FOLDER COPY FACTOR: a copy of a run in which every time is FACTOR times as long; quoted texts are lost.
slowed() {
    cp -R "$1" "$2"
    sed 's/"[^"]*"/text/g' "$1/rows.csv" | awk -v factor="$3" 'BEGIN { FS = OFS = ","; CONVFMT = "%.12g" }
        NR == 1 { for (i = 1; i <= NF; i++) if ($i ~ /^(seconds_per_step|interval_(low|high)_seconds)$/) column[i] = 1; print; next }
        { for (i in column) $i *= factor; print }' >"$2/rows.csv"
}

printf 'network = "lenet5"; image = 32; batch = [1, 2]; phase = "classify"; series = ( { id = "cpu"; label = "one"; backend = "cpu"; } );
warmup = 0.001; min_time = 0.001; max_time = 0.05; min_samples = 6; interval = 1;\n' >small.cfg
"$program" --quiet small.cfg >/dev/null || fail 'a run'
compare 2 previous latest
case $err in *'has no previous run: left out'*) ;; *) fail 'one run has no previous one' "$err" ;; esac
"$program" --quiet small.cfg >/dev/null || fail 'a second run'
"$program" --compare previous latest >/dev/null 2>&1
status=$? # a busy machine may well be slower now
[ $status -le 1 ] || fail "--compare previous latest: exit $status"
compare $status previous latest
[ "$(printf '%s\n' "$out" | wc -l)" -eq 3 ] || fail 'a header and a line for each of two points' "$out"
[ "$(printf '%s\n' "$out" | grep -cE ',(slower|unclear|same|faster),')" -eq 2 ] || fail 'two runs of a machine' "$out"
[ "$(printf '%s\n' "$out" | grep -c ',slower,.*,true,')" -gt 0 ] && [ $status -eq 0 ] && fail 'slower, but exit 0' "$out"

# A run is as fast as itself; a million times slower is slower, and faster the other way round.
run=$(cd results/here/small/latest && pwd -P)
compare 0 "$run" latest
[ "$(printf '%s\n' "$out" | grep -cE ',(unclear|same),1,')" -eq 2 ] || fail 'a run and itself' "$out"
slowed "$run" slow 1000000
compare 1 "$run" slow
[ "$(printf '%s\n' "$out" | grep -c ',slower,1000000,.*,true,')" -eq 2 ] || fail 'slower' "$out"
compare 0 slow "$run"
[ "$(printf '%s\n' "$out" | grep -c ',faster,1e-06,.*,false,')" -eq 2 ] || fail 'faster' "$out"
slowed "$run" twice 2
compare "$("$program" --compare --threshold 150 "$run" twice | grep -c ',true,')" --threshold 150 "$run" twice
[ "$status" -eq 0 ] || fail 'twice as slow is within a threshold of 150 %' "$out"

# Several: worst first, one line each, outliers marked; a table for people.
slowed "$run" same1 1
slowed "$run" same2 1
compare 1 "$run" same1 slow same2
[ "$(printf '%s\n' "$out" | sed -n '2p' | cut -d , -f 1,15)" = slow,true ] || fail 'the slow one first, an outlier' "$out"
[ "$(printf '%s\n' "$out" | wc -l)" -eq 4 ] || fail 'a line for each run' "$out"
compare 1 --format table "$run" slow
case $out in *'slower !'*'2 points: 2 slower. Slower by more than 5 % (!): 2.'*) ;; *) fail 'a table' "$out" ;; esac

# Rows of schema 1 can be compared; other studies and other machines are told.
reference=$root/results/reference/h200-xeon
compare 0 "$reference/quick" "$reference/quick"
[ "$(printf '%s\n' "$out" | grep -cE ',(unclear|same),1,')" -eq 28 ] || fail 'rows of schema 1' "$out"
compare 2 "$reference/quick" "$run"
case $err in *'no point of'*'differ in series=naive there, series=cpu here'*) ;; *) fail 'nothing in common' "$err" ;; esac
sed 's/,here,/,elsewhere,/' "$run/rows.csv" >slow/rows.csv
compare 0 "$run" slow
[ "$(printf '%s\n' "$out" | grep -c ',different machine,1,')" -eq 2 ] || fail 'another machine' "$out"
compare 2 "$run"
compare 2 "$run" nowhere

# Several runs in one set of charts: a line for each series of each run.
"$program" --plot "$run" twice --out drawn --quiet 2>err.txt
status=$?
csv=drawn/together/small/charts/time-classify-batch.csv
case $status,$(cat err.txt) in 0,* | 1,*'no charts: '*) ;; *) fail 'charts of two runs' "$(cat err.txt)" ;; esac
[ "$(tail -n +2 "$csv" | cut -d , -f 1 | sort | uniq -c | awk '{ print $1 }' | tr '\n' ' ')" = '2 2 ' ] ||
    fail 'two runs, two lines of two points' "$(cat "$csv")"
grep -q "one; here 20.*#2" drawn/together/small/charts/time-classify-batch.set || fail 'labels name machine and run'
cp -r "$reference/quick" committed # which is drawn anew, too
"$program" --plot "$run" committed --out alone --quiet 2>/dev/null
[ ! -e alone/together ] || fail 'runs of two studies are not drawn together'

[ "$failures" -eq 0 ] || exit 1
echo 'runs are compared as they should be'
