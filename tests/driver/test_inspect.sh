#!/bin/sh
# SPDX-License-Identifier: MIT
# One point, operation by operation, by the real program: --layers, --explain, --profile.
#
# Usage: test_inspect.sh PROGRAM
set -u
program=${1:?the program}
# shellcheck source=tests/driver/common.sh
. "$(dirname -- "$0")/common.sh"
export CONVSCALE_MACHINE=here
cd "$work" || exit 1

# run CODE ARGUMENTS...: sets out, err.
run() {
    code=$1
    shift
    "$program" "$@" >out.txt 2>err.txt </dev/null
    status=$?
    out=$(cat out.txt)
    err=$(cat err.txt)
    [ "$status" -eq "$code" ] || fail "$*: exit $status, expected $code" "$err"
}

# column FILE NAME: that column of a CSV without quoted cells, header left out.
column() {
    awk -F , -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next } { print $at }' "$1"
}

total() { awk '{ sum += $1 } END { printf "%.0f\n", sum }'; }

printf 'network = "lenet5"; image = 32; batch = 2; phase = ["train", "classify"];
series = ( { id = "cpu"; label = "one"; backend = "cpu"; }, { id = "plain"; label = "two"; backend = "cpu"; algorithm = "naive"; } );
warmup = 0.001; min_time = 0.001; max_time = 0.05; min_samples = 6; interval = 1;\n' >small.cfg

# ---- --layers ----
run 0 --layers --quiet --filter 'series=cpu train' small.cfg
layers=results/here/small/latest/layers.csv
[ "$(column $layers operation | sort -u | grep -cxE 'conv_forward|conv_backward_data|update|loss')" -eq 4 ] ||
    fail 'layers.csv has the operations of a training step' "$(cat $layers)"
column $layers share | awk '{ sum += $1 } END { exit sum < 0.999 || sum > 1.001 }' || fail 'shares add up to 1'
awk -F , 'NR > 1 { d = $(NF - 2) + $NF - $(NF - 1); if (d * d > 1e-12 * $(NF - 1) ^ 2) exit 1 }' $layers ||
    fail 'sum and remainder are the whole step' "$(cat $layers)"
sed 's/"[^"]*"/text/g' results/here/small/latest/rows.csv >rows.csv
[ "$(column $layers executed_flop | total)" = "$(column rows.csv executed_flop_per_step)" ] || fail 'executed FLOPs'
run 0 --layers --quiet --format table --filter 'series=cpu classify' small.cfg
case $out in *conv_forward*'whole step'*remainder*layer*C1*) ;; *) fail 'a table of layers' "$out" ;; esac
run 0 --quiet --filter 'series=cpu classify' small.cfg
[ ! -e $layers ] || fail 'layers.csv without --layers'

# ---- --explain ----
run 0 --explain 'series=cpu train' small.cfg
[ "$(column out.txt useful_flop | total)" = "$(column rows.csv useful_flop_per_step)" ] || fail 'useful FLOPs' "$out"
[ "$(column out.txt executed_flop | total)" = "$(column rows.csv executed_flop_per_step)" ] || fail 'executed FLOPs' "$out"
case $out in *'conv_forward,C1,1x32x32,6x28x28,470400,470400,'*',direct,cpu/direct_conv.c'*) ;; *) fail 'an operation' "$out" ;; esac
case $out in *'activation_forward,C1,6x28x28,6x28x28,,,'*',fused,'*) ;; *) fail 'a fused operation' "$out" ;; esac
[ "$(find results -name rows.csv | wc -l)" -eq 3 ] || fail '--explain makes no run'
run 0 --explain 'series=plain classify' --format table small.cfg
case $out in *'cpu/naive_conv.c'*) ;; *) fail 'the kernel of another algorithm' "$out" ;; esac
case $out in *backward*) fail 'classification has nothing backward' "$out" ;; esac
run 2 --explain classify small.cfg
case $err in *'2 points are meant, expected one'*) ;; *) fail 'two points' "$err" ;; esac
run 2 --explain width=7 small.cfg
case $err in *'no point of it is left by --explain'*) ;; *) fail 'no point' "$err" ;; esac
run 1 --explain cpu --set phase=accuracy --set data=digits --filter series=cpu small.cfg

# ---- --profile ----
run 0 --profile 'series=cpu train' small.cfg
case $err in 'one step of lenet5 image 32 batch 2 train, one: '*' us') ;; *) fail '--profile says what ran' "$err" ;; esac
[ -z "$out" ] || fail '--profile leaves stdout alone' "$out"

# perf is told when to count: two FIFOs, each command answered before the step goes on.
mkfifo control ack
( while read -r word; do
    echo "$word" >>said
    echo ack >&3
    [ "$word" != disable ] || break
done ) <>control 3<>ack &
listener=$!
CONVSCALE_PERF=control,ack "$program" --profile 'series=cpu train' small.cfg 2>err.txt || fail 'with perf' "$(cat err.txt)"
kill "$listener" 2>/dev/null
wait "$listener" 2>/dev/null
[ "$(tr '\n' ' ' <said)" = 'enable disable ' ] || fail 'perf is told' "$(cat said)"
CONVSCALE_PERF=control "$program" --profile 'series=cpu train' small.cfg 2>err.txt && fail 'one FIFO is not enough'
case $(cat err.txt) in *'expected two FIFOs'*) ;; *) fail 'one FIFO is told' "$(cat err.txt)" ;; esac

[ "$failures" -eq 0 ] || exit 1
echo 'a point is taken apart as it should be'
