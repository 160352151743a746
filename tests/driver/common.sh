#!/bin/sh
# SPDX-License-Identifier: MIT
# How a test that drives the real program begins; read with `.` once `program` is set. Makes `program` absolute, forgets the
# caller's settings, makes the folder `work`, which goes with the test, and counts failures.
program=${program:?the program}
case $program in /*) ;; *) program=$(pwd -P)/$program ;; esac
unset CONVSCALE_DATA CONVSCALE_HOME CONVSCALE_MACHINE CONVSCALE_PERF
work=$(mktemp -d) || exit 1
trap 'rm -rf -- "$work"' EXIT
failures=0

# fail WHAT [EVIDENCE]
fail() {
    printf 'FAILED: %s\n' "$1"
    [ $# -lt 2 ] || printf '%s\n' "$2" | head -n 20 | cut -c 1-200 | sed 's/^/    /'
    failures=$((failures + 1))
}
