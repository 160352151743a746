#!/bin/sh
# SPDX-License-Identifier: MIT
# What the compiler made of it, by disassembly: `scalar` kernels hold no packed floating-point arithmetic, and nothing
# outside the kernels of an instruction set uses AVX registers, so that a binary runs on an older processor; register tiles
# are unrolled.
#
#   test_objects.sh BUILD_FOLDER      77: skipped, with the reason
set -u
build=$1

objdump=$(command -v objdump || command -v llvm-objdump) || {
  echo 'skipped: there is no objdump here (it comes with binutils)'
  exit 77
}
case $(uname -m) in
x86_64 | amd64) ;;
*)
  echo "skipped: the instructions looked for are those of x86-64, this is $(uname -m)"
  exit 77
  ;;
esac

failed=0
fail() {
  echo "FAILED: $*"
  failed=1
}

# Mnemonics alone: addps, vmulpd, vfmadd231ps, ...; moves, shuffles and bit operations on packed registers compute nothing.
packed='^v?((add|sub|mul|div|sqrt|max|min|rcp|rsqrt|hadd|hsub|addsub|dp|rcp14|rsqrt14)p[sd]|fn?m(add|sub|addsub|subadd)[0-9]*p[sd]|cvt(dq2p[sd]|t?p[sd]2dq))$'
mnemonics() { "$objdump" -d --no-show-raw-insn "$1" | sed -n 's/^ *[0-9a-f]*:[[:space:]]*\([a-z0-9]*\).*/\1/p'; }
count_packed() { mnemonics "$1" | grep -Ec "$packed"; }
count_wide() { "$objdump" -d --no-show-raw-insn "$1" | grep -Ec '%[yz]mm[0-9]|[[:space:]]v[a-z0-9]+[[:space:]].*%xmm'; }

scalar=$build/cpu/libcpu_scalar.a
avx2=$build/cpu/libcpu_avx2.a
for library in "$scalar" "$avx2" "$build/cpu/libcpu.a" "$build/lib/libcnn.a" "$build/experiments/driver/libdriver.a"; do
  [ -f "$library" ] || fail "$library is not there: build first"
done
[ $failed = 0 ] || exit 1

if nm "$scalar" 2>/dev/null | grep -q __asan; then
  echo 'skipped: the sanitizers of this build add code of their own'
  exit 77
fi

# The search must be able to find something.
found=$(count_packed "$avx2")
[ "$found" -gt 100 ] || fail "$found packed instructions found in the avx2 kernels: the search itself is broken"
echo "avx2 kernels: $found packed arithmetic instructions"
found=$(count_wide "$avx2")
[ "$found" -gt 100 ] || fail "$found AVX instructions found in the avx2 kernels: the search itself is broken"

# A tile of 3 x 4 vectors is multiplied without a jump in between: a loop over its sums would keep them in memory.
run=$("$objdump" -d --no-show-raw-insn "$avx2" | awk '/file format/ { here = /direct_conv\.c\.o:/ } !here { next }
  /\tvfn?madd/ { n++ } /\tj/ { n = 0 } n > most { most = n } END { print most + 0 }')
[ "$run" -ge 12 ] || fail "at most $run multiply-adds without a jump in the avx2 convolution, expected the 12 of a tile"

instructions=$(mnemonics "$scalar" | grep -c .)
[ "$instructions" -gt 1000 ] || fail "$instructions instructions in the scalar kernels: the disassembly is broken"
found=$(count_packed "$scalar")
[ "$found" = 0 ] || fail "the scalar kernels hold $found packed instructions: $(mnemonics "$scalar" | grep -E "$packed" | sort | uniq -c | tr -s ' \n' ' ')"
echo "scalar kernels: $found packed among $instructions instructions"

for library in "$scalar" "$build/cpu/libcpu.a" "$build/lib/libcnn.a" "$build/experiments/driver/libdriver.a"; do
  found=$(count_wide "$library")
  [ "$found" = 0 ] || fail "${library#"$build"/} holds $found AVX instructions: it would not run on an older processor"
  echo "${library#"$build"/}: $found AVX instructions"
done
exit $failed
