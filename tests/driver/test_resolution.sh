#!/bin/sh
# SPDX-License-Identifier: MIT
# --resolution by the real program, on a network so small that its thirty runs take a moment. What it finds on a busy
# machine cannot be known; that it looked, and what it keeps, can.
#
# Usage: test_resolution.sh PROGRAM
set -u
program=${1:?the program}
# shellcheck source=tests/driver/common.sh
. "$(dirname -- "$0")/common.sh"
export CONVSCALE_MACHINE=here
cd "$work" || exit 1

cat >tiny.cfg <<'CFG'
network = { name = "tiny"; image = 6; channels = 1; classes = 2; loss = "mse"; layers = ( { kind = "full"; } ); };
phase = ["train", "classify"]; batch = 1;
series = ( { id = "cpu"; label = "one"; backend = "cpu"; } );
warmup = 0.001; min_time = 0.001; max_time = 0.02; min_samples = 6; interval = 1;
CFG
out=$("$program" --resolution --filter train tiny.cfg 2>err.txt) || fail '--resolution' "$(cat err.txt)"
case $out in *'66 pairs'*'false'*'planted'*'5 %'*'slowdown'*) ;; *) fail 'what it says' "$out" ;; esac
grep -q 'round 6 of 6' err.txt || fail 'progress on stderr'
kept=results/here/resolution.json
for name in timer_step_seconds timer_reading_seconds null_pairs false_alarms planted smallest_seen; do
    grep -q "\"$name\"" $kept || fail "resolution.json has no $name" "$(cat $kept)"
done
[ "$(grep -c '"measured"' $kept)" -eq 3 ] || fail 'three planted slowdowns' "$(cat $kept)"

"$program" --resolution tiny.cfg >/dev/null 2>err.txt
[ $? -eq 2 ] || fail 'two points are one too many'
grep -q '2 points are meant, expected one' err.txt || fail 'two points are told' "$(cat err.txt)"
"$program" --resolution nowhere.cfg >/dev/null 2>&1
[ $? -eq 2 ] || fail 'a study that is none'

[ "$failures" -eq 0 ] || exit 1
echo 'what can be told apart is found out'
