#!/bin/sh
# SPDX-License-Identifier: MIT
# What every tracked file must keep: a licence line, its size, no path of one machine, links only to known hosts, LF ends.
set -u
cd -- "$(dirname -- "$0")/.." || exit 2
bad=0

complain() { # what is wrong, then the places
    [ -n "$2" ] || return 0
    printf '%s\n' "$2" | sed "s|\$|   <- $1|"
    bad=$((bad + $(printf '%s\n' "$2" | wc -l)))
}

sources=$(git ls-files '*.c' '*.h' '*.cu' '*.cuh' '*.sh' '*.gp' '*.cfg' '*.py' '*meson.build' run_sweep tests/run .ci/run)
code=$(git ls-files '*.c' '*.h' '*.cu' '*.cuh')
all=$(git ls-files | grep -vE '\.(png|svg|gz)$')

for file in $sources; do
    head -n 2 "$file" | grep -q 'SPDX-License-Identifier: MIT' || complain 'no SPDX line at the top' "$file"
done

# Files over 400 lines are two rooms, functions over 80 lines two jobs. A function's braces stand in the first column.
for file in $code; do
    lines=$(wc -l <"$file")
    [ "$lines" -le 400 ] || complain 'over 400 lines' "$file: $lines"
done
# shellcheck disable=SC2086
complain 'a function over 80 lines' "$(awk 'FNR == 1 { start = 0 }
    /^\{/ { start = FNR }
    /^\}/ { if (start && FNR - start > 80) print FILENAME ":" start ": " FNR - start " lines"; start = 0 }' $code)"

# Folders of somebody's machine. Folders that every system has (/dev, /proc, /usr, /tmp through mktemp) are fine.
# shellcheck disable=SC2086
complain 'a path of one machine' \
    "$(grep -nIHE '(^|[^A-Za-z0-9_.})/-])/(work|root|home/[a-z]|Users/[A-Za-z]|mnt|media)/' $all | cut -c 1-160)"

# Only these hosts may be named: licences, formats, papers, where sources of methods are, and where data sets are.
hosts='www\.w3\.org|spdx\.org|keepachangelog\.com|semver\.org|citation-file-format\.github\.io|doi\.org|mesonbuild\.com|yann\.lecun\.com|git-lfs|example\.org|github\.com/dstrigl/cnnplus'
hosts="$hosts|127\.0\.0\.1|storage\.googleapis\.com/cvdf-datasets/|ossci-datasets\.s3\.amazonaws\.com/|www\.cs\.toronto\.edu/|cs\.nyu\.edu/"
hosts="$hosts|raw\.githubusercontent\.com/zalandoresearch/|fashion-mnist\.s3-website\.eu-central-1\.amazonaws\.com"
# shellcheck disable=SC2086
complain 'a host that is not on the list of tests/check_text.sh' \
    "$(grep -nIHoE 'https?://[A-Za-z0-9./_-]+' $all | grep -vE "https?://($hosts)")"

# shellcheck disable=SC2086
complain 'carriage return' "$(grep -lI "$(printf '\r')" $all | grep -v '^tests/data/')"
# shellcheck disable=SC2086
complain 'space at the end of a line' "$(grep -nIE ' +$' $sources)"

echo "check_text: $bad against the rules"
[ "$bad" -eq 0 ]
