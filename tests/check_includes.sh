#!/bin/sh
# SPDX-License-Identifier: MIT
# Dependencies between the rooms point one way: each folder may include from the folders listed for it, and the core knows
# no clock, no thread and no device.
set -u
cd -- "$(dirname -- "$0")/.." || exit 2
bad=0

complain() { # what it breaks, then grep's output
    [ -n "$2" ] || return 0
    printf '%s\n' "$2" | sed "s|\$|   <- $1|"
    bad=$((bad + $(printf '%s\n' "$2" | wc -l)))
}

sources() { git ls-files "$1/*.c" "$1/*.h" "$1/*.cu" "$1/*.cuh"; }

# room FOLDER ALLOWED...: quoted includes must start with one of the allowed folders. Build-made headers have no folder.
room() {
    folder=$1
    shift
    files=$(sources "$folder")
    [ -n "$files" ] || return 0
    allowed=$(printf '%s\n' "$@" | tr '\n' '|' | sed 's/|$//')
    # shellcheck disable=SC2086
    complain "$folder may include only: $*" "$(grep -nHE '^ *# *include +"' $files | grep -vE "include +\"($allowed)/" |
        grep -vE '^experiments/driver/backends\.c:.*"(cpu|kernels)/')"
}

room lib lib
room cpu lib cpu
room kernels lib kernels
room experiments/driver lib experiments/driver

forbid() { # why, pattern, files
    why=$1 pattern=$2
    shift 2
    [ $# -gt 0 ] || return 0
    complain "$why" "$(grep -nHE "$pattern" "$@")"
}

# shellcheck disable=SC2046
forbid 'the core knows no clock, thread or device' \
    '# *include +<(time|sys/time|pthread|omp|threads|cuda[a-z_]*|hwloc)\.h>|clock_gettime|# *pragma +omp' $(sources lib)
# shellcheck disable=SC2046
forbid 'no build option in shared code: a backend is in the list of this build or not' \
    '^ *# *(if|ifdef|ifndef|elif).*(CUDA|_OPENMP|WITH_|USE_)' $(sources lib )
# shellcheck disable=SC2046
forbid 'only study*.c know libconfig' '# *include +<libconfig' \
    $(sources lib) $(sources cpu) $(sources kernels) $(sources experiments/driver | grep -v '/study')
# shellcheck disable=SC2046
forbid 'only charts*.c know gnuplot' 'gnuplot' $(sources lib) $(sources cpu) $(sources kernels)

echo "check_includes: $bad against the rules"
[ "$bad" -eq 0 ]
