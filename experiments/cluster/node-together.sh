#!/bin/sh
# SPDX-License-Identifier: MIT
# What the devices of a node do all at once: experiments/node.cfg for each series by itself, then for all of them at the same
# time, then both compared. Shared power, cooling, memory or links show as "slower".
#
#   experiments/cluster/node-together.sh OUT SERIES... [-- OPTIONS]      as in: node-together.sh /scratch/me gpu0 gpu1 gpu2 gpu3
#
# OPTIONS go to ./run_sweep. Points run in the study's order, so that all series are at the same one at about the same time; this
# is no barrier, and a series that is done early leaves the others alone. Exit code of ./run_sweep --compare: 1 if one is slower.
set -u
home=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd -P) || exit 2
out=${1:?the folder that results go to}
shift
all=
while [ $# -gt 0 ]; do
    [ "$1" != -- ] || { shift; break; }
    all="$all $1"
    shift
done
[ -n "$all" ] || { echo "node-together: expected series of experiments/node.cfg, as in: $0 $out gpu0 gpu1" >&2; exit 2; }

measure() { # WHERE SERIES OPTIONS...
    where=$1 series=$2
    shift 2
    "$home/run_sweep" --no-build --quiet --order as-written --out "$out/$where/$series" --filter "series=$series" "$@" \
        "$home/experiments/node.cfg" >/dev/null
}

for series in $all; do measure alone "$series" "$@" || exit; done
children=
for series in $all; do
    measure together "$series" "$@" &
    children="$children $!"
done
for child in $children; do wait "$child" || exit; done

worst=0
for series in $all; do
    echo "$series, alone and with the others:"
    "$home/run_sweep" --no-build --format table --compare "$out"/alone/"$series"/*/node/latest "$out"/together/"$series"/*/node/latest || worst=$?
done
exit "$worst"
