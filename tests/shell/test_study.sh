#!/bin/sh
# SPDX-License-Identifier: MIT
# The program as a user meets it: a study into a pipe, its folder, its charts, its exit codes.
#
# Usage: test_study.sh FOLDER_OF_THE_PROJECT PROGRAM
set -u
project=${1:?the folder of the project}
program=${2:?the program}
# shellcheck source=tests/driver/common.sh
. "$(dirname -- "$0")/../driver/common.sh"
CONVSCALE_HOME=$project
export CONVSCALE_HOME
tiny=$project/tests/shell/tiny.cfg

# run ARGUMENTS...: sets status, out, err.
run() {
    (cd "$work" && "$program" "$@" >"$work/out" 2>"$work/err" </dev/null)
    status=$?
    out=$(cat "$work/out")
    err=$(cat "$work/err")
}

expect_status() { [ "$status" -eq "$1" ] || fail "$2: exit $status, expected $1" "$err"; }
expect_err() { case $err in *"$1"*) ;; *) fail "$2: expected \"$1\" on stderr:" "$err" ;; esac; }

# Into a pipe, stdout is the CSV and nothing else: a header, then as many cells in every row.
run --out results "$tiny"
expect_status 0 'a study'
header=$(printf '%s\n' "$out" | head -n 1)
case $header in study,series,label,network,*,key,schema) ;; *) fail 'the header' "$header" ;; esac
[ "$(printf '%s\n' "$out" | wc -l)" -eq 7 ] || fail 'a header and six rows' "$out"
widths=$(printf '%s\n' "$out" | sed 's/"[^"]*"/q/g' | awk -F , '{ print NF }' | sort -u | wc -l)
[ "$widths" -eq 1 ] || fail 'rows of one width' "$out"
[ "$(printf '%s\n' "$out" | grep -cE ',(ok|unstable),')" -eq 4 ] || fail 'four rows are measured' "$out"
[ "$(printf '%s\n' "$out" | grep -c ',unavailable,')" -eq 2 ] || fail 'two rows are unavailable' "$out"
if printf '%s\n' "$out" | sed 's/"[^"]*"//g' | grep -qiE ',(-?nan|-?inf)(,|$)'; then fail 'a cell is empty, never nan or inf' "$out"; fi
expect_err 'left out' 'what a machine lacks is left out aloud'

# The run's folder holds the same rows, the record, the study and the charts; latest points there; stderr ends with pictures.
latest=$(echo "$work"/results/*/tiny/latest)
[ -f "$latest/rows.csv" ] || fail 'latest leads to rows.csv' "$(find "$work/results")"
[ "$(sort "$latest/rows.csv")" = "$(printf '%s\n' "$out" | sort)" ] || fail 'rows.csv is what stdout got'
for file in machine.json study.cfg samples.csv claims.csv index.html setup.tex charts/time-train-width.svg charts/time-train-width.png \
    charts/throughput-train-width.png charts/speedup-train-width.svg charts/speedup-train-width.png; do
    [ -s "$latest/$file" ] || fail "$file is there" "$(ls "$latest" "$latest/charts")"
done
case $(tail -n 2 "$work/err") in *charts/*.png*/index.html) ;; *) fail 'the last words are the paths of charts and page' "$err" ;; esac

# Drawn again from the folder alone.
rm -rf "$latest/charts"
run --plot "$latest"
expect_status 0 '--plot'
[ -s "$latest/charts/speedup-train-width.svg" ] || fail '--plot draws again' "$err"
run --plot "$work/nowhere"
[ "$status" -ne 0 ] || fail '--plot of nothing fails'

# A table where it is asked for.
run --out results --format table --filter 'series=cpu' "$tiny"
expect_status 0 '--format table'
case $out in *,*,*,*,*,*,*,*) fail 'a table is no CSV' "$out" ;; esac

# Asked for by name, a missing backend is a failure.
run --out results --backend cuda "$tiny"
expect_status 1 '--backend cuda without one'

# A wrong study or command line: exit 2, file and line; the other study still runs.
printf 'network = "lenet5";\nwdith = 3;\nseries = ( { id = "cpu"; backend = "cpu"; } );\n' >"$work/wrong.cfg"
run --out results wrong.cfg
expect_status 2 'an unknown key'
expect_err 'wrong.cfg:2: ' 'an unknown key'
run --out other wrong.cfg "$tiny"
expect_status 2 'a wrong study beside a right one'
[ "$(printf '%s\n' "$out" | grep -cE ',(ok|unstable),')" -eq 4 ] || fail 'the right study runs' "$err"
run --out results 'nothing*.cfg'
expect_status 2 'a pattern that matches nothing'
run --no-such-option
expect_status 2 'an unknown option'
run
expect_status 2 'no study at all'

# Results that cannot be kept are told before anything runs; a full disk at stdout too.
: >"$work/file"
run --out "$work/file/results" "$tiny"
expect_status 1 'a place that cannot be written'
if [ -w /dev/full ]; then
    (cd "$work" && "$program" --out full "$tiny" >/dev/full 2>"$work/err") && fail 'a full disk at stdout fails'
fi

# Ctrl-C: what is finished is on disk, exit 130.
(cd "$work" && exec "$program" --out stopped --set max_time=5 --set interval=0.0001 --set 'width=1,1000' --set batch=1 \
    --set min_samples=1000000 --set max_samples=1000000 --slow --order as-written --set timeout=100 \
    --filter series=cpu "$tiny" >"$work/out" 2>"$work/err") &
pid=$!
sleep 2
kill -INT "$pid" 2>/dev/null
wait "$pid"
status=$?
expect_status 130 'Ctrl-C'
[ "$(cat "$work"/stopped/*/tiny/2*/rows.csv | wc -l)" -ge 1 ] || fail 'after Ctrl-C rows.csv is whole'

# Every study of the project expands on any machine.
for study in "$project"/experiments/*.cfg; do
    run --dry-run "$study"
    expect_status 0 "--dry-run $study"
done

# The first paper's networks have the numbers of parameters that its published program has.
parameters() { # STUDY: of its training points on one series, "NETWORK IMAGE WIDTH PARAMETERS"
    run --dry-run --format csv --filter 'train series=naive' "$project/experiments/$1.cfg"
    printf '%s\n' "$out" | awk -F , 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { print $at["network"], $at["image"], $at["width"], $at["parameters"] }'
}
expect_parameters() { # STUDY LINE...
    study=$1
    shift
    found=$(parameters "$study")
    for line in "$@"; do
        printf '%s\n' "$found" | grep -qx "$line" || fail "$study has a network $line" "$found"
    done
}
expect_parameters strigl-lenet5 'lenet5 32 1 51046' 'lenet5 64 1 147046' 'lenet5 104 1 483046'
expect_parameters strigl-simard-image 'simard 29 1 132540' 'simard 57 1 727540' 'simard 105 1 2887540'
expect_parameters strigl-simard-width 'simard-5-50-100 29 1 132540' 'simard-5-50-200 29 1 258640' 'simard-5-100-100 29 1 263840' \
    'simard-5-100-200 29 1 514940' 'simard-10-50-100 29 1 138920' 'simard-10-50-200 29 1 265020' \
    'simard-10-100-100 29 1 276470' 'simard-10-100-200 29 1 527570'
expect_parameters strigl-garcia 'garcia 20 1 489' 'garcia 28 1 601' 'garcia 36 1 825' 'garcia 40 1 979'
expect_parameters strigl-jahrer 'jahrer 28 1 99860'
expect_parameters strigl-mlp 'mlp 28 1 469160' 'mlp 28 10 11441510'

[ "$failures" -eq 0 ] && echo "studies: all as expected"
exit "$((failures > 0))"
