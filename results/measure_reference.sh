#!/bin/sh
# SPDX-License-Identifier: MIT
# Reference results of this machine: every study, its figures, verdicts and pages into results/reference/MACHINE/, samples
# compressed. Run it on a machine that does nothing else, from a clean checkout, so that rows name a commit: what one call
# measured is committed before the next. The page over all machines, results/reference/index.html, is made anew.
#
#   results/measure_reference.sh MACHINE [STUDY...]     a name without blanks; studies by name, all of them by default
#
# CONVSCALE_DATA: the folder that MNIST lies in; without it, studies that need it are left out aloud.
# Nothing of an earlier reference stays where a study runs anew. Exit code 1: a study failed, or all is over 20 MB.
set -u
machine=${1:?"a name for this machine, as in: results/measure_reference.sh amd-epyc-2cpu"}
shift
home=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P) || exit 2
cd -- "$home" || exit 2
if [ $# -eq 0 ]; then
    for study in experiments/*.cfg; do set -- "$@" "$(basename "$study" .cfg)"; done
fi
build=$(./run_sweep --build-only) || exit 2
[ -z "$(git status --porcelain 2>/dev/null)" ] || echo "measure_reference: this checkout has changes; rows will say -dirty" >&2

scratch=$(mktemp -d) || exit 2
trap 'rm -rf -- "$scratch"' EXIT
CONVSCALE_MACHINE=$machine
CONVSCALE_BUILD=$build
export CONVSCALE_MACHINE CONVSCALE_BUILD
failed=0

for study in "$@"; do
    begin=$(date +%s)
    ./run_sweep --no-build --quiet --figures svg --out "$scratch" "experiments/$study.cfg" >/dev/null || failed=1
    run=$(readlink -f "$scratch/$machine/$study/latest") || continue
    [ -f "$run/rows.csv" ] || continue
    gzip -9n "$run/samples.csv"
    sed -i "s#$scratch#results#g" "$run/machine.json" # the record tells nothing of this machine's folders
    target=results/reference/$machine/$study
    rm -rf -- "$target"
    mkdir -p "$target"
    cp -r "$run/." "$target/"
    ./run_sweep --no-build --quiet --plot --figures svg "$target" >/dev/null || failed=1 # its page links the compressed samples
    echo "$study: $(($(date +%s) - begin)) s, $(du -sk "$target" | cut -f 1) KiB, $(grep -c ',ok,' "$target/rows.csv") rows ok"
done

./run_sweep --no-build --quiet --report --figures svg --out results/reference results/reference/*/*/ || failed=1
rm -rf -- results/reference/together # figures of several machines, which the page does not show
size=$(du -sk "results/reference/$machine" | cut -f 1)
echo "results/reference/$machine: $size KiB"
[ "$size" -le 20480 ] || { echo "measure_reference: over 20 MiB" >&2; failed=1; }
exit "$failed"
