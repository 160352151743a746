#!/bin/sh
# SPDX-License-Identifier: MIT
# How a run goes: its order, what it skips for lack of time, how it goes on after it was killed.
#
# Usage: test_runs.sh PROGRAM
set -u
program=${1:?the program}
# shellcheck source=tests/driver/common.sh
. "$(dirname -- "$0")/common.sh"
cd "$work" || exit 1

# run ARGUMENTS...: sets status; stdout is in out.txt, stderr in err.txt. Without gnuplot: charts are others' business.
run() {
    PATH=/nowhere "$program" --format csv "$@" >out.txt 2>err.txt </dev/null
    status=$?
}

expect() { [ "$status" -eq "$1" ] || fail "$2: exit $status, expected $1" "$(cat err.txt)"; }
tells() { grep -qF -- "$1" err.txt || fail "$2: stderr does not say '$1'" "$(cat err.txt)"; }
with_status() { grep -cE ",$1," out.txt; }
# The n-th column of all rows in one line; the first columns hold no commas.
column() { tail -n +2 out.txt | cut -d , -f "$1" | tr '\n' ' '; }

QUICK='warmup = 0.001; min_time = 0.001; max_time = 0.01; min_samples = 6; interval = 1;'
cat >small.cfg <<END
network = "garcia"; image = 20; width = [1, 2, 3, 4]; batch = 1; phase = "classify"; $QUICK
series = ( { id = "a"; label = "A"; backend = "cpu"; algorithm = "naive"; }, { id = "b"; label = "B"; backend = "cpu"; algorithm = "direct"; } );
END

# ---- order ----
run --order as-written --set width=3,1 small.cfg
expect 0 '--order as-written'
[ "$(column 5)" = '3 3 1 1 ' ] || fail 'as written' "$(column 5)"
run --set seed=3 small.cfg
random=$(column 5)
run --order random --set order=as-written --order random --set seed=3 small.cfg
[ "$(column 5)" = "$random" ] || fail 'the seed decides the order' "$random against $(column 5)"
run --set seed=4 small.cfg
[ "$(column 5)" != "$random" ] || fail 'another seed, another order' "$random"
echo "$random" | awk '{ for (i = 1; i < NF; i += 2) if ($i != $(i + 1)) exit 1 }' || fail 'a size stands together' "$random"
[ -z "$(find results -name .answers)" ] || fail 'what points share is gone after the run'

# ---- what there is no time for ----
run --set 'width=1,400' --set batch=100 --filter series=a small.cfg
expect 0 'a point above a minute beside one below'
[ "$(with_status skipped)" -eq 1 ] || fail 'a point above a minute is skipped' "$(cat out.txt)"
tells '1 point was skipped that would take more than a minute each: --slow runs them' 'what is skipped is told'
run --set width=400 --set batch=100 --filter series=a small.cfg
expect 1 'nothing but skipped points'
run --budget 0.000001 --slow small.cfg
expect 1 'a budget for nothing'
[ "$(with_status skipped)" -eq 8 ] || fail 'what a budget has no room for is skipped' "$(cat out.txt)"
tells '8 points were skipped for lack of time: a larger --budget has room for them' 'a budget for nothing'
run --budget 10m --order as-written --set width=4,1,3 --filter series=b small.cfg
expect 0 'a large budget'
[ "$(column 5)" = '1 3 4 ' ] || fail 'cheap points come first' "$(column 5)"
run --budget soon small.cfg
expect 2 'a budget that is no time'
tells '--budget soon: expected a time, as in 90s, 10m or 2h' 'a budget that is no time'
run --timeout 1ms small.cfg
expect 2 'a time in a unit that is none'
cat >long.cfg <<END
network = "lenet5"; phase = "classify"; max_time = 60.0; max_samples = 1000000; min_samples = 1000000;
series = ( { id = "a"; label = "A"; backend = "cpu"; algorithm = "direct"; } );
END
run --slow --timeout 0.3s long.cfg
expect 1 'a point that takes too long'
[ "$(with_status timeout)" -eq 1 ] || fail '--timeout ends it' "$(cat out.txt)"

# ---- what is not here ----
cat >lacking.cfg <<END
network = "garcia"; batch = 1; phase = "accuracy"; data = "mnist"; $QUICK
series = ( { id = "a"; label = "A"; backend = "cpu"; algorithm = "direct"; } );
END
run --data "$work" lacking.cfg
expect 0 'data that are not here'
run --data "$work" --required lacking.cfg
expect 1 'data that are not here and required'

# ---- a run that was killed goes on ----
# Points that take a fraction of a second each, whatever the machine.
cat >kill.cfg <<END
network = "garcia"; image = 20; width = [1, 2, 3, 4]; batch = 1; phase = "classify"; slow = true;
warmup = 0.001; min_time = 0.001; max_time = 0.3; min_samples = 100000; max_samples = 100000;
series = ( { id = "a"; label = "A"; backend = "cpu"; algorithm = "naive"; }, { id = "b"; label = "B"; backend = "cpu"; algorithm = "direct"; } );
END
rows_of() { cat results/*/kill/"$1"/rows.csv 2>/dev/null; }
runs_of() { find results/*/kill -mindepth 1 -maxdepth 1 -type d | wc -l; }
# Kills a run as soon as two rows are on disk; the child of the point in progress must not outlive it.
"$program" --format csv --order as-written kill.cfg >out.txt 2>err.txt &
pid=$!
tries=0
while [ "$(rows_of latest | wc -l)" -lt 3 ] && [ $((tries += 1)) -lt 200 ]; do sleep 0.05; done
kill -KILL "$pid"
wait "$pid" 2>/dev/null
had=$(rows_of latest | tail -n +2 | wc -l)
case $had in [2-7]) ;; *) fail 'killed between rows' "$had rows" ;; esac
rows_of latest >before.csv
printf 'kill,a,A,garcia,1,1,20' >>"$(echo results/*/kill/latest/rows.csv)" # as a crash in the middle of a write leaves it
run --order as-written kill.cfg
expect 0 'a run that goes on'
tells "goes on with $had of 8 points done; --fresh starts a new run" 'a run that goes on'
[ "$(runs_of)" -eq 1 ] || fail 'it goes on in its own folder' "$(runs_of)"
rows_of latest | head -n $((had + 1)) | cmp -s - before.csv || fail 'rows that were there stay as they are'
rows_of latest | cmp -s - out.txt || fail 'stdout has all rows, old and new' "$(cut -c 1-60 out.txt)"
[ "$(column 5)" = '1 1 2 2 3 3 4 4 ' ] || fail 'every point has one row' "$(column 5)"
[ -z "$(find results -name .answers)" ] || fail 'what a killed run left for its points is gone'
record=$(cat results/*/kill/latest/machine.json)
case $record in *'"rows_taken_over":'*"$had,"*) ;; *) fail 'the record says how many rows were there before' ;; esac

# A finished run is not gone on with; nor is one of another study, of other settings, or where --fresh says so.
run --order as-written --filter width=1 kill.cfg
[ "$(runs_of)" -eq 2 ] || fail 'other points are another run' "$(runs_of)"

# ---- repeating points ----
sed -E 's/,(ok|unstable),/,timeout,/' "$(echo results/*/kill/latest/rows.csv)" >changed.csv
cp changed.csv "$(echo results/*/kill/latest/rows.csv)"
run --order as-written --filter width=1 --retry error,mismatch kill.cfg
tells 'repeats 0 of 2 points' '--retry of what there is none of'
run --order as-written --filter width=1 --retry timeout kill.cfg
expect 0 '--retry'
tells 'repeats 2 of 2 points' '--retry'
[ "$(with_status timeout) $(with_status '(ok|unstable)')" = '0 2' ] || fail '--retry repeats the points' "$(cat out.txt)"
[ "$(runs_of)" -eq 4 ] || fail '--retry leaves the old run as it was' "$(runs_of)"
run --retry nonsense kill.cfg
expect 2 '--retry of no status'

# ---- the account ----
tells_time() { grep -q 's, of these .* warm-up and samples; .* % outside them' err.txt || fail 'the time is accounted for' "$(cat err.txt)"; }
run --filter 'width=1 series=b' small.cfg
tells_time
for word in '"order":' '"overhead":' '"drift":' '"identity":'; do
    grep -q "$word" results/*/small/latest/machine.json || fail "the record has $word"
done

[ "$failures" -eq 0 ] || exit 1
echo 'runs go as they should'
