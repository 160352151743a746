#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CUDA C++ into C++ for the emulation: translate.py OUTPUT COMPILER...

Runs the preprocessor (COMPILER... with -E) and rewrites the three things that C++ has no words for: launches, dynamic and
static shared memory. Line marks are kept, so that the compiler names the kernel's own lines.
"""
import re
import subprocess
import sys

OPEN, CLOSE = '([{', ')]}'


def end_of(text, at):
    """The place behind the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] in OPEN) - (text[i] in CLOSE)
        if depth == 0:
            return i + 1
    raise SystemExit('translate.py: a bracket is never closed: ' + text[at:at + 80])


def split(text):
    """The parts of a list apart by commas outside of brackets."""
    parts, depth, begin = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in OPEN) - (letter in CLOSE)
        if letter == ',' and depth == 0:
            parts.append(text[begin:i])
            begin = i + 1
    return parts + [text[begin:]]


def begin_of_callee(text, end):
    """Where the name (with template arguments) begins that ends at `end`."""
    at = len(text[:end].rstrip())
    if text[at - 1] == '>':
        depth = 0
        while True:
            at -= 1
            depth += (text[at] == '>') - (text[at] == '<')
            if depth == 0:
                break
    return re.search(r'[\w:]+\s*$', text[:at]).start()


def translate_launches(text):
    """name<<<grid, block, shared, stream>>>(arguments) becomes a call."""
    out, done = [], 0
    while True:
        at = text.find('<<<', done)
        if at < 0:
            return ''.join(out) + text[done:]
        begin, end = begin_of_callee(text, at), text.index('>>>', at)
        callee = ' '.join(text[begin:at].split())
        setup = [part.strip() for part in split(text[at + 3:end])]
        setup += ['0'] * (4 - len(setup))
        opening = text.index('(', end)
        closing = end_of(text, opening)
        arguments = text[opening + 1:closing - 1].strip()
        call = 'emulated_launch("%s", %s, %s%s)' % (callee, callee, ', '.join(setup), ', ' + arguments if arguments else '')
        out += [text[done:begin], call, '\n' * text.count('\n', begin, closing)]
        done = closing


def translate_shared(text):
    """Shared memory: the block's own, or variables of their own that every block finds poisoned."""
    attributes = r'((?:__attribute__\s*\(\(.*?\)\)\s*)*)'
    text = re.sub(r'\bextern\s+__shared__\s+' + attributes + r'([\w ]+?)\s*\b(\w+)\s*\[\s*\]\s*;',
                  r'\2 *\3 = (\2 *)emulated_dynamic_shared();', text)

    def declare(match):
        names = [re.match(r'.*?(\w+)\s*(\[.*)?$', part.strip(), re.S).group(1) for part in split(match.group(2))]
        return 'static ' + match.group(1) + match.group(2) + ';' + ''.join(
            ' emulated_static_shared(&%s, sizeof %s);' % (name, name) for name in names)

    return re.sub(r'\b__shared__\s+' + attributes + r'([^;]+);', declare, text)


def main():
    output, command = sys.argv[1], sys.argv[2:]
    text = subprocess.run(command, stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
    text = translate_shared(translate_launches(text))
    with open(output, 'w', encoding='utf-8') as file:
        file.write(text)


main()
