#!/bin/sh
# SPDX-License-Identifier: MIT
# Figures from a run's folder alone: formats, widths, words that mean something to gnuplot, XML or LaTeX, numbers of a paper.
#
# Usage: test_figures.sh FOLDER_OF_THE_PROJECT PROGRAM
set -u
project=${1:?the folder of the project}
program=${2:?the program}
# shellcheck source=tests/driver/common.sh
. "$(dirname -- "$0")/common.sh"
command -v gnuplot >/dev/null || { echo 'skipped: gnuplot is not here'; exit 77; }
CONVSCALE_HOME=$project
export CONVSCALE_HOME

run() {
    "$program" "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
    err=$(cat "$work/err")
}

# A run with a title of everything that is special somewhere, and three numbers typed from a paper, one of another phase.
reference=$project/results/reference/h200-xeon/strigl-lenet5
cp -r "$reference" "$work/run"
cd "$work/run" || exit 1
rm -rf charts
{
    sed -e '/^title/d' -e 's/^figures.*/figures = ("speedup");/' -e 's/\["train", "classify"\]/"train"/' study.cfg
    # shellcheck disable=SC2016
    printf '%s\n' 'title = "100 % {a}_b^c & <x> \\alpha $HOME `id` #1 it'"'"'s";' 'published = "paper.csv";'
} >study.new
mv study.new study.cfg
cat >paper.csv <<'CSV'
label,phase,axis,at,quantity,value
GPU of 2010,train,image,32,speedup,5.1
GPU of 2010,train,image,60,speedup,9
GPU of 2010,evaluate,image,60,speedup,7
CSV

run --plot --figures svg,png,pdf,tex --figure-width 88mm "$work/run"
[ "$status" -eq 0 ] || fail "--plot: exit $status" "$err"
name=charts/speedup-train-image
for ending in .csv .set .svg .png .pdf -latex.set -latex.tex -latex.pdf -latex-caption.tex; do
    [ -s "$name$ending" ] || fail "$name$ending is there" "$(ls charts)"
done
[ ! -e charts/throughput-train-image.csv ] || fail 'a figure that the study does not ask for'

# The words arrive as they are.
python3 - "$name" <<'PYTHON' || fail 'words of the title'
import sys, xml.dom.minidom as xml
words = "100 % {a}_b^c & <x> \\alpha $HOME `id` #1 it's: training"
def inside(node):
    return node.data if node.nodeType in (3, 4) else "".join(map(inside, node.childNodes))
texts = [inside(text) for text in xml.parse(sys.argv[1] + ".svg").getElementsByTagName("text")]
assert any(words.replace(" ", "") in text.replace("\u00a0", "").replace(" ", "") for text in texts), texts
caption = open(sys.argv[1] + "-latex-caption.tex").read()
assert caption.startswith(r"100 \% \{a\}\_b\^{}c \& \textless{}x\textgreater{} \textbackslash{}alpha \$HOME `id` \#1 it's"), caption
PYTHON

# Numbers of the paper are open markers; ours are what they were.
grep -q '^GPU of 2010,32,5.1,,,published,32$' $name.csv || fail 'a number of the paper' "$(cat $name.csv)"
[ "$(grep -c ,published, $name.csv)" -eq 2 ] || fail 'those of this phase alone' "$(cat $name.csv)"
grep -v ,published, $name.csv | cmp -s - "$reference/$name.csv" || fail 'our ratios stay as they are' "$(cat $name.csv)"
grep -q 'Open markers: as published, from paper.csv' $name.set || fail 'the caption says so' "$(cat $name.set)"

# In a column, the figure is 88 mm wide, 332.6 units of 1/96 inch, and its caption breaks into more lines than on a screen.
grep -q 'viewBox="0 0 332 ' $name.svg || fail 'a width in print' "$(head -n 5 $name.svg)"
lines=$(sed -n 's/^caption_lines = //p' $name.set)
[ "$lines" -ge 5 ] || fail "a narrow caption has $lines lines"

# What is wrong is said.
printf 'label,phase,axis,at,quantity,value\nGPU,train,image,32,speedup,fast\n' >paper.csv
run --dry-run "$work/run/study.cfg"
[ "$status" -eq 2 ] || fail "a word where a number belongs: exit $status" "$err"
case $err in *study.cfg:*paper.csv:2:*) ;; *) fail 'names study and line of the CSV' "$err" ;; esac
run --plot --figures svg,gif "$work/run"
[ "$status" -eq 2 ] || fail "an unknown format: exit $status" "$err"
run --plot --figure-width 3mm "$work/run"
[ "$status" -eq 2 ] || fail "too narrow: exit $status" "$err"

[ "$failures" -eq 0 ] && echo 'figures: all as expected'
exit "$((failures > 0))"
