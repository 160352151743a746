#!/bin/sh
# SPDX-License-Identifier: MIT
# Every C, CUDA and header file is formatted as .clang-format says. Only clang-format 14 decides; others differ in detail.
# Exit 77: there is none of that version.
set -u
cd -- "$(dirname -- "$0")/.." || exit 2
tool=
for name in clang-format-14 clang-format; do
    case $("$name" --version 2>/dev/null) in *'version 14.'*) tool=$name; break ;; esac
done
if [ -z "$tool" ]; then
    echo "check_format: skipped: clang-format 14 is not here (Debian 12 has it)"
    exit 77
fi
bad=0
count=0
for file in $(git ls-files '*.c' '*.h' '*.cu' '*.cuh'); do
    count=$((count + 1))
    "$tool" --dry-run -Werror "$file" || bad=$((bad + 1))
done
echo "check_format: $count files, $bad to be formatted ($tool -i FILE)"
[ "$bad" -eq 0 ] && [ "$count" -gt 0 ]
