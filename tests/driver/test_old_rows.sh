#!/bin/sh
# SPDX-License-Identifier: MIT
# Rows that another version wrote, as the program meets them: a run of the first schema, kept beside this file, and the
# committed reference runs draw well, rows of a later schema are refused with a sentence, a torn last line is left out aloud.
#
# Usage: test_old_rows.sh FOLDER_OF_THE_PROJECT PROGRAM
set -u
project=${1:?the folder of the project} program=${2:?the program}
# shellcheck source=tests/driver/common.sh
. "$(dirname -- "$0")/common.sh"
export CONVSCALE_CEILINGS=off # they take seconds, and nothing here looks at them

# draw FOLDER: its charts' numbers; pictures need gnuplot, which is hidden.
draw() { PATH=/nonexistent "$program" --plot "$1" >/dev/null 2>"$work/err"; }

tried=0
for run in "$project"/results/reference/*/*/ "$project"/tests/driver/schema1/; do
    rm -rf "$work/run"
    mkdir "$work/run"
    cp "$run"rows.csv "$run"epochs.csv "$run"study.cfg "$work/run/"
    draw "$work/run"
    for chart in "$work/run"/charts/*.csv; do
        head -n 1 "$chart" | grep -q ',status,' || continue # what is made of points is not one
        grep -q ',ok' "$chart" || fail "$run: $chart has no point" "$(cat "$work/err")"
        tried=$((tried + 1))
    done
done
[ "$tried" -ge 3 ] || fail "only $tried charts of older runs were drawn"

# The last run again, as a later program might have written it: one more column, a higher schema.
sed -e '1s/$/,flavour/' -e '2,$s/,[0-9]*$/,99,sweet/' "$work/run/rows.csv" >"$work/later.csv"
cp "$work/run/rows.csv" "$work/rows.csv"
mv "$work/later.csv" "$work/run/rows.csv"
draw "$work/run"
[ $? -eq 1 ] || fail 'rows of a later version: exit 1'
grep -q 'schema 99 with the column "flavour"' "$work/err" || fail 'rows of a later version: said' "$(cat "$work/err")"

head -c -40 "$work/rows.csv" >"$work/run/rows.csv"
draw "$work/run"
grep -q 'rows.csv: its last line was cut short and is left out' "$work/err" || fail 'a torn line: said' "$(cat "$work/err")"

[ "$failures" -eq 0 ] || exit 1
echo 'rows of other versions are read or refused as they should be'
