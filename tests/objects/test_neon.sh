#!/bin/sh
# SPDX-License-Identifier: MIT
# The kernels compile for 64-bit Arm with NEON, wherever a compiler for it is.
#
#   test_neon.sh SOURCE_FOLDER      77: skipped, with the reason
set -u
source=$1

compiler=$(command -v aarch64-linux-gnu-gcc) || {
  echo 'skipped: there is no aarch64-linux-gnu-gcc here (package gcc-aarch64-linux-gnu)'
  exit 77
}
failed=0
seen=0
files=$(sed -n "/^cpu_kernels = \[/,/^]/s/^  \['\([a-z_]*\)'.*/\1.c/p; s/^cpu_kernel_sources = files('\(.*\)').*/\1/p" "$source/cpu/meson.build")
for file in $files; do
  seen=$((seen + 1))
  "$compiler" -std=gnu11 -D_GNU_SOURCE -DCPU_ISA_NEON -O2 -Wall -Wextra -Wno-unknown-pragmas -Werror -ffp-contract=fast \
    -I"$source" -S -o /dev/null "$source/cpu/$file" || {
    echo "FAILED: cpu/$file does not compile for NEON"
    failed=1
  }
done
[ $seen -gt 5 ] || {
  echo "FAILED: only $seen kernel files found in cpu/meson.build"
  failed=1
}
[ $failed = 1 ] || echo "$seen kernel files compile for NEON"
exit $failed
