#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes a header with the compiler's command for each target of the core, the backends and the driver: that of its first
# file, without the names of files and folders. A header that would be the same is left alone.
#
# Usage: build_flags.sh BUILD_ROOT HEADER
set -eu
build=$1 header=$2

# compile_commands.json is JSON, whose escapes in strings are C's, too; Ninja's backend writes a member a line.
text=$(awk '
BEGIN {
    print "/* SPDX-License-Identifier: MIT */"
    print "/* How each target was compiled; written by build_flags.sh. The last one is empty. */"
    print "#ifndef DRIVER_BUILD_FLAGS_H\n#define DRIVER_BUILD_FLAGS_H\n"
    print "static const char *const build_flags[][2] = {"
}
/^ *"command": "/ { sub(/^ *"command": "/, ""); sub(/",?$/, ""); command = $0 }
/^ *"output": "/ {
    sub(/^ *"output": "/, "")
    target = $0
    if (!sub(/\.p\/.*$/, "", target) || target !~ /^(lib|cpu|kernels|experiments)\// || seen[target]++) next
    count = split(command, word, " ")
    line = ""
    for (i = 1; i <= count; i++) {
        if (word[i] ~ /^-(MQ|MF|o|c|isystem|include)$/) { i++; continue }
        if (word[i] ~ /^(-I.*|-isystem.*|-MD|-fdiagnostics-color.*|ccache)$/) continue
        if (line == "") sub(/^.*\//, "", word[i]) # the compiler, wherever it lies
        line = line (line == "" ? "" : " ") word[i]
    }
    print "    { \"" target "\", \"" line "\" },"
}
END { print "    { \"\", \"\" }\n};\n\n#endif" }' "$build/compile_commands.json")
[ "$(cat "$header" 2>/dev/null)" = "$text" ] || printf '%s\n' "$text" >"$header"
