#!/bin/sh
# SPDX-License-Identifier: MIT
# What a real run writes: every cost of a point has its column and they are parts of the whole, every sample is in the
# long CSV, the hash of sources tells backends apart.
#
# Usage: test_rows.sh PROGRAM
set -u
program=${1:?the program}
# shellcheck source=tests/driver/common.sh
. "$(dirname -- "$0")/common.sh"
export CONVSCALE_CEILINGS=off # they take seconds, and nothing here looks at them

cat >"$work/short.cfg" <<'END'
network = "lenet5"; width = [1, 2]; batch = 2; phase = ["train", "classify"];
series = ( { id = "one"; label = "one"; backend = "cpu"; algorithm = "direct"; },
           { id = "copies"; label = "copies"; backend = "cpu"; algorithm = "direct"; copies = "answer"; } );
warmup = 0.001; min_time = 0.001; max_time = 0.02; interval = 1;
END
"$program" --out "$work/out" --format csv "$work/short.cfg" >"$work/rows.csv" 2>"$work/err" || fail 'the run' "$(cat "$work/err")"
run=$(echo "$work"/out/*/short/latest)
cmp -s "$work/rows.csv" "$run/rows.csv" || fail 'stdout and rows.csv differ'

# Quoted cells, which hold commas, are words that nothing here looks at.
awk -F, -v samples="$run/samples.csv" '
{ gsub(/"[^"]*"/, "words") }
function complain(text) { print "row " NR - 1 ": " text; bad = 1 }
NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; columns = NF; next }
{
    if (NF != columns) complain(NF " cells of " columns)
    parts = $at["startup_seconds"] + $at["setup_seconds"] + $at["compile_seconds"] + $at["verify_seconds"] + $at["warmup_seconds"]
    for (name in at)
        if (name ~ /^(startup|setup|compile|verify|warmup)_seconds$/ && !($at[name] > 0)) complain(name " is \"" $at[name] "\"")
    if (!($at["process_seconds"] > parts)) complain("process_seconds " $at["process_seconds"] " are no more than their parts, " parts)
    if (($at["copy_seconds_per_step"] > 0) != ($at["copies"] == "none")) complain("copy_seconds_per_step is \"" $at["copy_seconds_per_step"] "\"")
    if ($at["event_seconds_per_step"] != "") complain("a CPU has no clock of its own")
    if ($at["verified_by"] != "oracle") complain("verified by \"" $at["verified_by"] "\"")
    if ($at["sources_hash"] !~ /^[0-9a-f]+$/ || length($at["sources_hash"]) != 16) complain("sources_hash is \"" $at["sources_hash"] "\"")
    count[NR - 1] = $at["samples"]; least[NR - 1] = $at["minimum_seconds"]; rows = NR - 1
}
END {
    getline line < samples
    if (split(line, head, ",") != 11 || head[1] != "row" || head[10] != "seconds_per_step") complain("header of samples: " line)
    while ((getline line < samples) > 0) {
        split(line, cell, ",")
        if (cell[9] != ++seen[cell[1]]) complain("sample " cell[9] " of row " cell[1] " is not in its place")
        if (!(cell[1] in low) || cell[10] + 0 < low[cell[1]]) low[cell[1]] = cell[10] + 0
    }
    for (row = 1; row <= rows; row++) {
        if (seen[row] != count[row]) { print "row " row ": " count[row] " samples, " seen[row] " in samples.csv"; bad = 1 }
        if (low[row] != least[row] + 0) { print "row " row ": least " least[row] ", of its samples " low[row]; bad = 1 }
    }
    if (rows != 8) { print rows " rows, expected 8"; bad = 1 }
    exit bad
}' "$run/rows.csv" >"$work/complaints" || fail 'what rows and samples say' "$(cat "$work/complaints")"

# The record was written at the start and again at the end.
for word in '"topology_verified":' '"commands":' '"detail":' '"before":.*"load_averages"' '"after":.*"load_averages"'; do
    grep -q "$word" "$run/machine.json" || fail "machine.json has $word" "$(cat "$run/machine.json")"
done

[ "$failures" -eq 0 ] || exit 1
echo 'rows and samples are whole'
