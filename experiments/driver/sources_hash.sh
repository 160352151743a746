#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes a header with a hash of each backend's own sources and the core's, so that a row tells which kernel code it
# measured, also in a tree with changes. A header that would be the same is left alone.
#
# Usage: sources_hash.sh SOURCE_ROOT HEADER
set -eu
root=$1 header=$2

# hash FOLDER...: of the names and contents of all code in them.
hash() {
    (cd -- "$root" && find "$@" -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name meson.build \) |
        LC_ALL=C sort | xargs sha256sum | sha256sum | cut -c 1-16)
}

cpu=$(hash lib cpu) cuda=$(hash lib kernels)
if [ "${#cpu}" -ne 16 ] || [ "${#cuda}" -ne 16 ]; then
    echo "sources_hash.sh: sha256sum gave no hash of $root: is coreutils installed?" >&2
    exit 1
fi
text="/* SPDX-License-Identifier: MIT */
/* Hashes of the code that rows measure; written by sources_hash.sh at every build. */
#ifndef DRIVER_SOURCES_HASH_H
#define DRIVER_SOURCES_HASH_H

#define SOURCES_CPU \"$cpu\"
#define SOURCES_CUDA \"$cuda\"

#endif"
[ "$(cat "$header" 2>/dev/null)" = "$text" ] || printf '%s\n' "$text" >"$header"
