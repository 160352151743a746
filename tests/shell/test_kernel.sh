#!/bin/sh
# SPDX-License-Identifier: MIT
# The worked example of CONTRIBUTING.md, done as it says: its pieces go into a copy of the tree, which is built from a copy of the
# build folder (so that only what they change is compiled), checked against the oracle, and run as a series of its study.
#
# Usage: test_kernel.sh FOLDER_OF_THE_PROJECT BUILD_FOLDER
set -u
project=$(cd -- "${1:?the folder of the project}" && pwd -P)
build=$(cd -- "${2:?the build folder}" && pwd -P)
work=$(mktemp -d) || exit 1
trap 'rm -rf -- "$work"' EXIT
export CONVSCALE_CEILINGS=off # they would take longer than the points
failures=0

fail() {
    printf 'FAILED: %s\n' "$1"
    [ $# -lt 2 ] || tail -n 20 "$2" | cut -c 1-300 | sed 's/^/    /'
    failures=$((failures + 1))
}

end() {
    [ $failures -eq 0 ] || exit 1
    echo 'the example was added, built, checked and run'
    exit 0
}

# Both stand to each other as they did: what is built names its sources by relative paths.
tree=$work$project
copy=$work$build
mkdir -p "$tree" "$copy"
tar -C "$project" --exclude='./build*' --exclude=./results --exclude=./.git -cf - . | tar -C "$tree" -xf - || exit 1
tar -C "$build" --exclude='./tests/test_*' --exclude=./meson-logs -cf - . | tar -C "$copy" -xf - || exit 1
cd -- "$tree" || exit 1

# block WORD N: what stands in the N-th block of that language behind the example's headline.
block() {
    awk -v word="$1" -v wanted="$2" '
        /^## / { here = /^## Worked example/ }
        here && $0 == "```" word { inside = ++count == wanted; next }
        /^```/ { inside = 0 }
        inside' CONTRIBUTING.md
}

# insert FILE LINE TEXT: puts the text behind the line of the file that is or begins with LINE.
insert() {
    [ -n "$3" ] || fail "CONTRIBUTING.md has no line for $1"
    awk -v line="$2" -v text="$3" '{ print } index($0, line) == 1 { print text }' "$1" >"$work/file" && cp "$work/file" "$1"
    grep -qF "$3" "$1" || fail "$1 has no line \"$2\""
}

block c 1 >cpu/rows.c
block cuda 1 >kernels/fours.cu
insert cpu/meson.build 'cpu_kernels = [' "$(block meson 1)"
insert kernels/meson.build 'cuda_kernels = [' "$(block meson 2)"
insert experiments/kernel.cfg 'series  = (' "$(block cfg 1)"
if command -v clang-format-14 >/dev/null; then
    clang-format-14 --dry-run -Werror cpu/rows.c kernels/fours.cu >"$work/said" 2>&1 || fail 'its format' "$work/said"
fi
[ $failures -eq 0 ] || end

{ meson setup --reconfigure "$copy" "$tree" && ninja -C "$copy" experiments/driver/convscale tests/checker/check_backend; } \
    >"$work/said" 2>&1 || { fail 'the build' "$work/said"; end; }

"$copy/tests/checker/check_backend" --backend cpu,omp --algorithm rows --cases 24 --seed 5 >"$work/said" 2>&1 ||
    fail 'the check' "$work/said"
grep -q 'rows' "$work/said" || fail 'the checker knows no rows' "$work/said"
"$copy/tests/checker/check_backend" --backend cuda --algorithm fours --cases 24 >"$work/said" 2>&1
case $? in 0) ;; 77) echo 'no GPU here: kernels/fours.cu was not run' ;; *) fail 'the check on the GPU' "$work/said" ;; esac

CONVSCALE_HOME=$tree "$copy/experiments/driver/convscale" --out "$work/results" --set width=1 --set batch=1 --set max_time=0.05 \
    --set warmup=0 --filter 'series=rows,direct,gemm' experiments/kernel.cfg >"$work/rows" 2>"$work/said" ||
    fail 'the study' "$work/said"
for series in rows direct; do
    grep -qE "^kernel,$series,.*,(ok|unstable)," "$work/rows" || fail "the study has no row of $series" "$work/rows"
done
end
