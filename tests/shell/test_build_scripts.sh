#!/bin/sh
# SPDX-License-Identifier: MIT
# The scripts that a build runs: hashes follow the code of their backend alone, commands come out without paths, and
# headers that would be the same are not written again, so that nothing is compiled for them.
#
# Usage: test_build_scripts.sh FOLDER_OF_THE_PROJECT
set -u
project=${1:?the folder of the project}
work=$(mktemp -d) || exit 1
trap 'rm -rf -- "$work"' EXIT
failures=0

fail() {
    printf 'FAILED: %s\n' "$1"
    [ $# -lt 2 ] || printf '%s\n' "$2" | sed 's/^/    /'
    failures=$((failures + 1))
}

# hashes: sets cpu and cuda to what the script writes of $work.
hashes() {
    sh "$project/experiments/driver/sources_hash.sh" "$work" "$work/hash.h" || fail 'sources_hash.sh runs'
    cpu=$(sed -n 's/^#define SOURCES_CPU "\(.*\)"$/\1/p' "$work/hash.h")
    cuda=$(sed -n 's/^#define SOURCES_CUDA "\(.*\)"$/\1/p' "$work/hash.h")
}

mkdir "$work/lib" "$work/cpu" "$work/kernels"
echo 'int a;' >"$work/lib/a.c"
echo 'int b;' >"$work/cpu/b.h"
echo 'int k;' >"$work/kernels/k.cu"
hashes
cpu_first=$cpu cuda_first=$cuda
{ [ "${#cpu}" -eq 16 ] && [ "${#cuda}" -eq 16 ] && [ "$cpu" != "$cuda" ]; } || fail 'two hashes of 16 digits' "$cpu $cuda"
touch -t 201009151200 "$work/hash.h"
echo notes >"$work/cpu/notes.txt" # no code
hashes
[ "$cpu $cuda" = "$cpu_first $cuda_first" ] || fail 'the same code, the same hashes' "$cpu $cuda"
[ -z "$(find "$work/hash.h" -newermt 2011-01-01)" ] || fail 'a header that is the same was written again'
echo 'int c;' >>"$work/cpu/b.h"
hashes
[ "$cpu" != "$cpu_first" ] || fail "the CPU's code changed, its hash did not"
[ "$cuda" = "$cuda_first" ] || fail "the CPU's code is none of the GPU's"
mv "$work/kernels/k.cu" "$work/kernels/l.cu"
hashes
[ "$cuda" != "$cuda_first" ] || fail 'a file with another name is other code'
cuda_first=$cuda
echo 'int d;' >>"$work/lib/a.c"
hashes
[ "$cuda" != "$cuda_first" ] || fail "the core's code is every backend's"

cat >"$work/compile_commands.json" <<'END'
[
  {
    "directory": "/some/where/build",
    "command": "ccache /usr/bin/cc -Icpu/x.a.p -I.. -isystem /some/where/include -DNAME=\"a\" -O3 -MD -MQ cpu/x.a.p/b.c.o -MF cpu/x.a.p/b.c.o.d -o cpu/x.a.p/b.c.o -c ../cpu/b.c",
    "file": "../cpu/b.c",
    "output": "cpu/x.a.p/b.c.o"
  },
  {
    "directory": "/some/where/build",
    "command": "cc -O0 -o cpu/x.a.p/c.c.o -c ../cpu/c.c",
    "file": "../cpu/c.c",
    "output": "cpu/x.a.p/c.c.o"
  },
  {
    "directory": "/some/where/build",
    "command": "cc -O1 -o tests/t.p/t.c.o -c ../tests/t.c",
    "file": "../tests/t.c",
    "output": "tests/t.p/t.c.o"
  }
]
END
sh "$project/experiments/driver/build_flags.sh" "$work" "$work/flags.h" || fail 'build_flags.sh runs'
grep -qxF '    { "cpu/x.a", "cc -DNAME=\"a\" -O3" },' "$work/flags.h" || fail 'the command of the first file of a target' "$(cat "$work/flags.h")"
[ "$(grep -c '^    { "' "$work/flags.h")" -eq 2 ] || fail 'one line for each target that is no test, and the last' "$(cat "$work/flags.h")"
touch -t 201009151200 "$work/flags.h"
sh "$project/experiments/driver/build_flags.sh" "$work" "$work/flags.h"
[ -z "$(find "$work/flags.h" -newermt 2011-01-01)" ] || fail 'flags that are the same were written again'

[ "$failures" -eq 0 ] || exit 1
echo 'the scripts of a build say what is'
