#!/bin/sh
# SPDX-License-Identifier: MIT
# Real file systems that are small or read-only, mounted in a mount namespace of this test's own: a disk that fills up costs
# no row that was written, and what was there can be added to and drawn; where nothing can be written, nothing is run.
# Exit 77: this system lets nobody mount here.
#
# Usage: test_places.sh PROGRAM
set -u
program=${1:?the program}
if [ "${2:-}" != inside ]; then
    for way in -m -Urm; do
        if unshare "$way" sh -c 'mount -t tmpfs tmpfs /mnt' 2>/dev/null; then
            exec unshare "$way" sh "$0" "$program" inside
        fi
    done
    echo 'skipped: no file system can be mounted here, not even in a namespace of its own'
    exit 77
fi
unset CONVSCALE_DATA
CONVSCALE_MACHINE=here
CONVSCALE_CEILINGS=off # they take seconds, and nothing here looks at them
export CONVSCALE_MACHINE CONVSCALE_CEILINGS
work=$(mktemp -d) || exit 1
trap 'umount "$work/small" "$work/fixed" 2>/dev/null; rm -rf -- "$work"' EXIT
failures=0

fail() {
    printf 'FAILED: %s\n' "$1"
    [ $# -lt 2 ] || printf '%s\n' "$2" | head -n 20 | cut -c 1-200 | sed 's/^/    /'
    failures=$((failures + 1))
}

cat >"$work/short.cfg" <<'END'
network = "lenet5"; batch = "1..40 step 1"; order = "listed"; phase = "classify";
series = ( { id = "cpu"; backend = "cpu"; algorithm = "direct"; } );
warmup = 0.001; min_time = 0.001; max_time = 0.01; interval = 1;
END
mkdir "$work/small" "$work/fixed"
mount -t tmpfs -o size=48k tmpfs "$work/small" || exit 1
mount -t tmpfs -o ro tmpfs "$work/fixed" || exit 1

"$program" --out "$work/small" --format csv "$work/short.cfg" >/dev/null 2>"$work/err"
[ $? -eq 1 ] || fail 'a full file system: exit 1' "$(cat "$work/err")"
grep -q '\.csv: cannot be written: No space left on device' "$work/err" || fail 'a full file system: file and reason' "$(cat "$work/err")"
run=$work/small/here/short/latest
rows=$(grep -c '^short,' "$run/rows.csv")
{ [ "$rows" -ge 1 ] && [ "$rows" -lt 40 ]; } || fail "a full file system: $rows rows of 40"
[ "$(tail -c 1 "$run/rows.csv" | od -An -c | tr -d ' ')" = '\n' ] || fail 'a full file system: the last row is whole'
cp -r "$run/" "$work/kept"
PATH=/nonexistent "$program" --plot "$work/kept" 2>"$work/err" # 1: without gnuplot there is no picture, only numbers
drawn=$(cat "$work"/kept/charts/time-*.csv | grep -c '^cpu,')
[ "$drawn" -eq "$rows" ] || fail "a full file system: $drawn of its $rows rows are drawn" "$(cat "$work/err")"
! grep -q 'cut short' "$work/err" || fail 'a full file system: no torn line is left' "$(cat "$work/err")"

"$program" --out "$work/fixed" "$work/short.cfg" >"$work/out" 2>"$work/err"
[ $? -eq 1 ] || fail 'a read-only place: exit 1' "$(cat "$work/err")"
grep -q "$work/fixed.*Read-only file system.*--out" "$work/err" || fail 'a read-only place: named, with a way out' "$(cat "$work/err")"
[ ! -s "$work/out" ] || fail 'a read-only place: nothing on stdout' "$(cat "$work/out")"

[ "$failures" -eq 0 ] || exit 1
echo 'small and read-only places cost no row'
