#!/bin/sh
# SPDX-License-Identifier: MIT
# Every C, C++, CUDA and header file is formatted as .clang-format says. Only clang-format 14 decides; others differ in detail.
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
git ls-files -z '*.c' '*.cc' '*.h' '*.cu' '*.cuh' | xargs -0 -n 40 -P 2 "$tool" --dry-run -Werror || {
    echo "check_format: format with $tool -i FILE"
    exit 1
}
echo "check_format: $(git ls-files '*.c' '*.cc' '*.h' '*.cu' '*.cuh' | wc -l) files are as .clang-format says"
