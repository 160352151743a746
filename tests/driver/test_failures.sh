#!/bin/sh
# SPDX-License-Identifier: MIT
# The program under bad conditions: interrupted, killed, without room or permission, with nobody reading. Rows that were
# written stay, the exit code tells, nothing is left running.
#
# Usage: test_failures.sh PROGRAM
set -u
program=${1:?the program}
# shellcheck source=tests/driver/common.sh
. "$(dirname -- "$0")/common.sh"

# Points that take a minute each.
cat >"$work/long.cfg" <<'END'
network = "lenet5"; width = [1, 2]; batch = 1; order = "as-written"; phase = "classify";
series = ( { id = "cpu"; backend = "cpu"; algorithm = "direct"; } );
warmup = 0.01; min_time = 0.001; max_time = 60.0; min_samples = 6; max_samples = 1000000; interval = 0.0001;
END
cat >"$work/short.cfg" <<'END'
network = "lenet5"; width = [1, 2, 3, 4]; batch = 1; order = "as-written"; phase = "classify";
series = ( { id = "cpu"; backend = "cpu"; algorithm = "direct"; } );
warmup = 0.001; min_time = 0.001; max_time = 0.01; interval = 1;
END

# wait_for SECONDS_TENTHS COMMAND...: until the command succeeds.
wait_for() {
    left=$1
    shift
    while ! "$@" 2>/dev/null; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || return 1
        sleep 0.1
    done
}

rows_in() { find "$work/$1" -name rows.csv -exec cat {} + 2>/dev/null | grep -c "^$2,"; }
# Children of a process; a bare system has no ps.
children_of() { cat /proc/[0-9]*/stat 2>/dev/null | awk -v parent="$1" '{ pid = $1; sub(/.*\) /, ""); if ($2 == parent) print pid }'; }
child_of() { [ -n "$(children_of "$1")" ]; }
# Ended; whoever adopted it may leave it unburied.
gone() { ! grep -q '^State:[[:space:]]*[^ZX]' "/proc/$1/status" 2>/dev/null; }

# interrupt NAME SIGNAL TIMES: runs the long study, waits for its child to work, signals; sets status and seconds.
interrupt() {
    "$program" --out "$work/$1" --format csv "$work/long.cfg" >"$work/out" 2>"$work/err" &
    pid=$!
    wait_for 100 child_of "$pid" || fail "$1: a child starts"
    child=$(children_of "$pid" | head -n 1)
    sleep 0.3
    kill -s "$2" "$pid"
    [ "$3" -eq 1 ] || kill -s "$2" "$pid"
    wait "$pid"
    status=$?
    wait_for 50 gone "$child" || fail "$1: the child is gone, too"
}

interrupt sigint INT 1
[ "$status" -eq 130 ] || fail "Ctrl-C: exit $status, expected 130" "$(cat "$work/err")"
record=$(echo "$work"/sigint/*/long/*/machine.json)
grep -q '"ended_by_signal"' "$record" || fail 'Ctrl-C: the record is there and says how it ended'
interrupt sigterm TERM 1
[ "$status" -eq 143 ] || fail "SIGTERM: exit $status, expected 143" "$(cat "$work/err")"
interrupt twice INT 2
[ "$status" -eq 130 ] || fail "Ctrl-C twice: exit $status, expected 130" "$(cat "$work/err")"
interrupt sigkill KILL 1
[ "$status" -eq 137 ] || fail "SIGKILL: exit $status, expected 137"

# Where nothing can be written, nothing is run.
: >"$work/a-file"
"$program" --out "$work/a-file" "$work/short.cfg" >"$work/out" 2>"$work/err"
[ $? -eq 1 ] || fail 'results below a file: exit 1'
grep -q 'a-file' "$work/err" || fail 'results below a file: it is named' "$(cat "$work/err")"
[ ! -s "$work/out" ] || fail 'results below a file: nothing on stdout' "$(cat "$work/out")"

# A disk that fills up: exit 1, the file named, every row whole. The record of the machine, which comes first and has
# whatever this one has, must fit. The limit is in blocks of 512 bytes.
"$program" --out "$work/record" --format csv --filter 'width=1' "$work/short.cfg" >/dev/null 2>"$work/err"
record=$(wc -c <"$(echo "$work"/record/*/short/latest/machine.json)")
(
    ulimit -f $((record / 512 + 8))
    "$program" --out "$work/full" --format csv --set 'batch=1..24 step 1' "$work/short.cfg" >/dev/null 2>"$work/err"
)
[ $? -eq 1 ] || fail 'a full disk: exit 1' "$(cat "$work/err")"
grep -q 'rows.csv: cannot be written' "$work/err" || fail 'a full disk: the file is named' "$(cat "$work/err")"
rows=$(rows_in full short)
[ "$rows" -ge 1 ] || fail 'a full disk: rows before it stay'
file=$(echo "$work"/full/*/short/latest/rows.csv)
[ "$(tail -c 1 "$file" | od -An -c | tr -d ' ')" = '\n' ] || fail 'a full disk: no torn row'

# stdout on a full device, and a reader that goes away: rows are safe, the exit code tells.
"$program" --out "$work/devfull" --format csv "$work/short.cfg" >/dev/full 2>"$work/err"
[ $? -eq 1 ] || fail 'stdout is full: exit 1' "$(cat "$work/err")"
[ "$(rows_in devfull short)" -eq 4 ] || fail 'stdout is full: all rows are on disk'
{
    "$program" --out "$work/head" --format csv "$work/short.cfg" 2>"$work/err"
    echo $? >"$work/status"
} | head -n 1 >/dev/null
case $(cat "$work/status") in
0 | 141) ;; # 0 where all was written before the reader left
*) fail "a reader that goes away: exit $(cat "$work/status")" "$(cat "$work/err")" ;;
esac

# The other side of a point's process, by hand.
printf '' | "$program" --child >"$work/out" 2>"$work/err"
[ $? -eq 1 ] || fail '--child without a point: exit 1'
printf 'nonsense' | "$program" --child >"$work/out" 2>"$work/err" || fail '--child with nonsense: a result all the same'
grep -q '"status":"invalid"' "$work/out" || fail '--child with nonsense: invalid' "$(cat "$work/out")"

[ "$failures" -eq 0 ] || exit 1
echo 'all failures end as they should'
