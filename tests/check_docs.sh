#!/bin/sh
# SPDX-License-Identifier: MIT
# Documents say what the project is: every column, study and option is in the README, and every link leads somewhere.
# shellcheck disable=SC2013 # what the loops read has no blanks
set -u
cd -- "$(dirname -- "$0")/.." || exit 2
bad=0

complain() {
    printf '%s\n' "$1"
    bad=$((bad + 1))
}

# Columns of rows.csv, as rows_columns.c names them.
for column in $(sed -n 's/^ *\[ROW_[A-Z_]*\] = { "\([a-z_]*\)", .*$/\1/p' experiments/driver/rows_columns.c); do
    grep -q "\`$column\`" README.md || complain "README.md: column \`$column\` of rows.csv is not explained"
    bad_column=no
done
[ "${bad_column:-yes}" = no ] || complain 'experiments/driver/rows_columns.c: no column found'

# Studies: listed in the README, installed.
for study in experiments/*.cfg; do
    grep -q "$study" README.md || complain "README.md: $study is not listed"
    grep -q "'${study#experiments/}'" experiments/meson.build || complain "experiments/meson.build: $study is not installed"
done
for script in plots/*.gp; do
    grep -q "'${script#plots/}'" plots/meson.build || complain "plots/meson.build: $script is not installed"
done

# Options of the help text.
for option in $(grep -oE '^ +"  --[a-z-]+' experiments/driver/help.c | grep -oE -- '--[a-z-]+'); do
    grep -q -- "\`$option" README.md || complain "README.md: option $option is not explained"
done

# Links and pictures that name a file.
for document in $(git ls-files '*.md'); do
    folder=$(dirname "$document")
    for link in $(grep -oE '\]\([^)#][^)]*\)' "$document" | sed 's/^](//; s/)$//; s/#.*//' | grep -v '://'); do
        [ -e "$folder/$link" ] || complain "$document: $link does not exist"
    done
done

# Times of studies are measured, not promised.
for study in $(grep -lE 'TIME_[A-Z]+' experiments/*.cfg README.md); do complain "$study: a time is not filled in"; done

echo "check_docs: $bad against the rules"
[ "$bad" -eq 0 ]
