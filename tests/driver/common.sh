#!/bin/sh
# SPDX-License-Identifier: MIT
# How a test that drives the real program begins; read with `.` once `program` is set. Makes `program` absolute, forgets the
# caller's settings, makes the folder `work`, which goes with the test, and counts failures. GPUs are out of sight, so that a
# machine that has some answers as one that has none; the checker and the unit tests of `cuda` look at them. Ceilings are not
# measured unless a test asks for them.
program=${program:?the program}
case $program in /*) ;; *) program=$(pwd -P)/$program ;; esac
unset CONVSCALE_DATA CONVSCALE_HOME CONVSCALE_MACHINE CONVSCALE_PERF
export CUDA_VISIBLE_DEVICES='' CONVSCALE_CEILINGS=off # these would take longer than the points
work=$(mktemp -d) || exit 1
trap 'rm -rf -- "$work"' EXIT
failures=0

# fail WHAT [EVIDENCE]
fail() {
    printf 'FAILED: %s\n' "$1"
    [ $# -lt 2 ] || printf '%s\n' "$2" | head -n 20 | cut -c 1-200 | sed 's/^/    /'
    failures=$((failures + 1))
}
