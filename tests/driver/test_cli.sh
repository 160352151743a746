#!/bin/sh
# SPDX-License-Identifier: MIT
# The command line as a user types it: what is told without running anything, what is chosen, what is refused, and the
# exit codes.
#
# Usage: test_cli.sh PROGRAM
set -u
program=${1:?the program}
# shellcheck source=tests/driver/common.sh
. "$(dirname -- "$0")/common.sh"
cd "$work" || exit 1

# run ARGUMENTS...: sets status, out, err.
run() {
    "$program" "$@" >out.txt 2>err.txt </dev/null
    status=$?
    out=$(cat out.txt)
    err=$(cat err.txt)
}

expect() { [ "$status" -eq "$1" ] || fail "$2: exit $status, expected $1" "$err"; }
says() { case $out in *"$1"*) ;; *) fail "$2: expected \"$1\" on stdout" "$out" ;; esac; }
tells() { case $err in *"$1"*) ;; *) fail "$2: expected \"$1\" on stderr" "$err" ;; esac; }
lines() { printf '%s\n' "$out" | wc -l; }

SERIES='series = ( { id = "cpu"; backend = "cpu"; }, { id = "omp"; backend = "omp"; }, { id = "gpu"; backend = "cuda"; } );'
FAST='warmup = 0.001; min_time = 0.001; max_time = 0.05; min_samples = 1; interval = 1;'
printf 'network = "lenet5"; width = [1, 2]; image = "32..48 step 8"; batch = 4;\n%s\n' "$SERIES" >sizes.cfg
printf 'network = "lenet5"; image = [8, 32]; phase = "classify"; series = ( { id = "cpu"; backend = "cpu"; } );\n%s\n' "$FAST" >small.cfg

# ---- told without running anything ----
run --help
expect 0 --help
[ "$(lines)" -le 40 ] || fail '--help has more than 40 lines'
[ -z "$(printf '%s\n' "$out" | sed 's/^.\{120\}//;t;d' | sed '/^$/d')" ] || fail '--help is wider than 120 characters'
run --version
expect 0 --version
says 'compiler: ' --version
says 'libconfig' --version
says 'cpu: ' --version
says 'cuda: not available: ' --version
run --list
expect 0 --list
for word in cpu omp cuda lenet5 simard garcia jahrer mlp stack large conv subsample maxpool avgpool full tanh naive direct \
    conv_forward width depth image batch threads connections copies launch precision isa phase digits mnist fashion cifar10 norb idx distort; do
    printf '%s\n' "$out" | grep -qw -- "$word" || fail "--list does not name $word"
done
[ -z "$(ls -d results 2>/dev/null)" ] || fail 'results appear without a run'

# ---- --dry-run: the definitions' numbers, and nothing is made ----
run --dry-run sizes.cfg
expect 0 --dry-run
says '51046' 'parameters at width 1'
says '316800' 'MACs at width 1'
says '201082' 'parameters at width 2'
says '79846' 'parameters at image 48'
says 'unavailable: ' 'what this machine lacks'
says '18 points' 'the number of points'
says 'is an estimate' 'the time is named an estimate'
run --dry-run --format csv sizes.cfg
[ "$(lines)" -eq 19 ] || fail 'a header and 18 lines of CSV' "$out"
case $(printf '%s\n' "$out" | head -n 1) in study,series,network,*planned_bytes,*) ;; *) fail 'the header of a dry run' "$out" ;; esac
[ "$(printf '%s\n' "$out" | cut -d , -f 2,10,12 | sed -n 2p)" = cpu,1,32 ] || fail 'the first point' "$out"
[ "$(printf '%s\n' "$out" | cut -d , -f 17 | sed -n 2p)" -gt 204184 ] || fail 'planned bytes hold the parameters' "$out"
run --dry-run --format csv sizes.cfg sizes.cfg
[ "$(printf '%s\n' "$out" | grep -c '^study,')" -eq 1 ] || fail 'two studies share one header'
run --dry-run --format json --filter 'series=cpu width=2 image=40' sizes.cfg
[ "$(lines)" -eq 1 ] || fail 'one point as JSON' "$out"
says '"parameters":220282' 'JSON of a dry run'
run --dry-run small.cfg
expect 0 '--dry-run of a network that cannot exist'
says 'invalid: lenet5, width 1, depth 1, image 8: ' 'the reason is told'
run --dry-run --set image=34 small.cfg
says 'never reads the last row' 'cropped rows are named'
[ ! -e results ] || fail '--dry-run makes no results'

# ---- choosing ----
run --dry-run --format csv --filter series=omp --filter width=2 sizes.cfg
[ "$(lines)" -eq 4 ] || fail 'two filters must both hold' "$out"
run --dry-run --format csv --set width=1,2,4,8 --set image=32 --set 'batch=1..16 x2' sizes.cfg
[ "$(lines)" -eq $((1 + 4 * 5 * 3)) ] || fail '--set replaces axes' "$(lines)"
run --dry-run --format csv --backend omp --threads 3 sizes.cfg
[ "$(printf '%s\n' "$out" | tail -n +2 | cut -d , -f 14 | sort -u)" = 3 ] || fail '--threads reaches omp' "$out"
[ "$(printf '%s\n' "$out" | tail -n +2 | cut -d , -f 2 | sort -u)" = omp ] || fail '--backend keeps its series' "$out"
run --dry-run --filter width=64 sizes.cfg
expect 2 'a filter that leaves nothing'
tells 'no point of it is left by --filter' 'a filter that leaves nothing'
run --dry-run --backend cuda small.cfg
expect 2 'a backend that no series has'
tells 'no point of it is left by --backend' 'a backend that no series has'

# ---- refused: exit 2, one sentence, nothing on stdout ----
refused() {
    words=$1
    shift
    run "$@"
    expect 2 "$*"
    tells "$words" "$*"
    [ -z "$out" ] || fail "$*: something on stdout" "$out"
    [ "$(printf '%s\n' "$err" | wc -l)" -eq 1 ] || fail "$*: more than one line" "$err"
}
refused 'did you mean --dry-run?' --dry-rum sizes.cfg
refused 'did you mean "width"?' --set widht=1 sizes.cfg
refused 'sizes.cfg: --set width=0: ' --set width=0 sizes.cfg
refused 'did you mean "image"?' --filter imgae=32 sizes.cfg
refused 'did you mean "omp"?' --backend opm sizes.cfg
refused '--threads two: ' --threads two sizes.cfg
refused '--data nowhere: ' --data nowhere sizes.cfg
refused 'none.cfg: cannot be read' none.cfg
refused 'does the pattern match nothing?' 'none*.cfg'
refused '.: is a folder' .
refused 'no study given' --quiet
printf 'network = "lenet5";\nwidth = 32..104;\n%s\n' "$SERIES" >range.cfg
refused 'range.cfg:2: 32..104: a range needs quotes' range.cfg
refused 'range.cfg:2: ' --dry-run range.cfg

# One wrong study does not stop the others, and still counts.
run --dry-run range.cfg sizes.cfg
expect 2 'a wrong study beside a right one'
says '18 points' 'a wrong study beside a right one'
tells 'range.cfg:2: ' 'a wrong study beside a right one'

# ---- running ----
run small.cfg
expect 0 'a point that cannot exist beside one that can'
[ "$(printf '%s\n' "$out" | grep -c ',invalid,')" -eq 1 ] || fail 'its row says invalid' "$out"
[ "$(printf '%s\n' "$out" | grep -cE ',(ok|unstable),')" -eq 1 ] || fail 'the other one ran' "$out"
[ -d results ] || fail 'results are in results/'
run --set image=8 small.cfg
expect 1 'a study of which no point can exist'
run --set required=true small.cfg
expect 1 'a required point that cannot exist'
run --filter image=32 --format json --out elsewhere --quiet small.cfg
expect 0 '--format json'
case $out in '[{"study":"small","series":"cpu",'*'"schema":'*'}]') ;; *) fail 'an array with one object' "$out" ;; esac
[ -z "$err" ] || fail '--quiet is quiet' "$err"
[ -d elsewhere ] || fail '--out says where'
run --filter image=32 --format table --quiet small.cfg
says 'classify: ' '--format table into a pipe'
says 'image 32' '--format table into a pipe'

# Ceilings: shown, kept, and what rows are held against; a sweep measures them where they cannot be read.
run --ceilings --out limits
expect 0 '--ceilings'
says 'CPU, 1 thread: ' '--ceilings'
says ' GFLOP/s' '--ceilings'
says ' GB/s' '--ceilings'
kept=$(find limits -name ceilings.json)
[ -n "$kept" ] || fail '--ceilings keeps its file'
bound='"bound":"\(compute\|memory\|latency\)"'
run --filter image=32 --format json --out limits --quiet small.cfg
expect 0 'a run with ceilings'
printf '%s' "$out" | grep -q "$bound" || fail 'a row says what bounds it' "$out"
printf '%s' "$out" | grep -q '"share_of_limit":[0-9]' || fail 'a row has its share of the limit' "$out"
cmp -s "$kept" limits/*/small/latest/ceilings.json || fail 'the run keeps the ceilings of its rows'
sed 's/"build":.*/"build": "another",/' "$kept" >other.json && cp other.json "$kept"
run --filter image=32 --format json --out limits --quiet small.cfg
printf '%s' "$out" | grep -q "$bound" && fail 'ceilings of another build count for nothing' "$out"
head -c 100 other.json >"$kept"
CONVSCALE_CEILINGS='' "$program" --filter image=32 --format json --out limits small.cfg >out.txt 2>err.txt
grep -q 'ceilings.json: cannot be read, so it is measured anew' err.txt || fail 'broken ceilings are told' "$(cat err.txt)"
grep -q 'measuring what this machine can do at most' err.txt || fail 'measuring is said aloud' "$(cat err.txt)"
grep -q "$bound" out.txt || fail 'a sweep measures ceilings that it cannot read' "$(cat err.txt)"

# On a terminal the run ends with a table and stdout holds no CSV.
if command -v script >/dev/null 2>&1; then
    script -qec "stty cols 80; $program --filter image=32 small.cfg" /dev/null >out.txt 2>&1 </dev/null
    out=$(tr -d '\r' <out.txt)
    says 'classify: ' 'a table on a terminal'
    case $out in *study,series,*) fail 'no CSV on a terminal' "$out" ;; esac
else
    echo 'script(1) is not here: a terminal was not tried'
fi

[ "$failures" -eq 0 ] || exit 1
echo 'the command line does as it says'
