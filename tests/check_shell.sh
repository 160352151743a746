#!/bin/sh
# SPDX-License-Identifier: MIT
# Every script parses in the language it names, and shellcheck, where it is, has nothing to say of the shell's.
set -u
cd -- "$(dirname -- "$0")/.." || exit 2
bad=0
count=0
for file in $(git ls-files run_sweep tests/run .ci/run '*.sh'); do
    count=$((count + 1))
    case $(head -n 1 "$file") in *bash*) shell="bash" ;; *) shell="sh" ;; esac
    "$shell" -n "$file" || bad=$((bad + 1))
    if command -v shellcheck >/dev/null 2>&1; then
        shellcheck -x "$file" || bad=$((bad + 1))
    fi
    [ -x "$file" ] || { echo "$file: not executable"; bad=$((bad + 1)); }
done
for file in $(git ls-files '*.py'); do
    count=$((count + 1))
    python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read(), sys.argv[1])' "$file" || bad=$((bad + 1))
done
command -v shellcheck >/dev/null 2>&1 || echo "check_shell: shellcheck is not here; syntax alone was checked"
echo "check_shell: $count scripts, $bad complaints"
[ "$bad" -eq 0 ] && [ "$count" -gt 0 ]
