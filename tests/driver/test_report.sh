#!/bin/sh
# SPDX-License-Identifier: MIT
# The committed runs: their figures' numbers and verdicts follow from their rows, and pages are made of them that stand alone.
#
# Usage: test_report.sh FOLDER_OF_THE_PROJECT PROGRAM
set -u
project=${1:?the folder of the project}
program=${2:?the program}
# shellcheck source=tests/driver/common.sh
. "$(dirname -- "$0")/common.sh"
CONVSCALE_HOME=$project
export CONVSCALE_HOME

# Without gnuplot numbers and pages are made, too; with it, this stays quick.
mkdir "$work/runs" "$work/bin"
printf '#!/bin/sh\nexit 127\n' >"$work/bin/gnuplot"
chmod +x "$work/bin/gnuplot"
set --
for run in "$project"/results/reference/*/*/; do
    machine=$(basename "$(dirname "$run")")
    study=$(basename "$run")
    mkdir -p "$work/runs/$machine"
    cp -r "$run" "$work/runs/$machine/$study"
    rm -f "$work/runs/$machine/$study"/charts/*.csv "$work/runs/$machine/$study/claims.csv" "$work/runs/$machine/$study/index.html"
    set -- "$@" "$work/runs/$machine/$study"
done
[ $# -ge 3 ] || fail "there are $# committed runs"
PATH=$work/bin:$PATH "$program" --report --out "$work/runs" "$@" >"$work/out" 2>"$work/err" </dev/null

for run in "$@"; do
    committed=$project/results/reference${run#"$work/runs"}
    for file in "$committed"/charts/*.csv "$committed"/claims.csv; do
        case $file in */breakeven.csv | */model.csv | */scaling.csv) continue ;; esac # fitted; judged by tests of their own
        [ -e "$file" ] || continue
        cmp -s "$file" "$run${file#"$committed"}" ||
            fail "${file#"$project/"} follows from its rows" "$(diff "$file" "$run${file#"$committed"}" 2>&1)"
    done
    grep -q '^claims' "$run/study.cfg" && [ ! -e "$committed/claims.csv" ] && fail "$committed has verdicts"
    for file in index.html setup.md setup.tex; do [ -s "$run/$file" ] || fail "$run/$file is there" "$(cat "$work/err")"; done
done

# Every page is whole: tags nest, names differ, links lead somewhere, nothing comes from elsewhere, every picture has words.
python3 - "$work"/runs/index.html "$work"/runs/*/*/index.html <<'PYTHON' || fail 'pages'
import html.parser, os, re, sys

VOID = {"meta", "link", "br", "rect", "path", "circle", "use", "polygon", "feflood", "fecomposite"}

class Page(html.parser.HTMLParser):
    def __init__(self, name):
        super().__init__()
        self.name, self.open, self.ids, self.pictures, self.audit = name, [], [], 0, 0
        self.feed(open(name, encoding="utf-8").read())
        assert not self.open, (name, self.open)
        assert len(self.ids) == len(set(self.ids)), (name, [i for i in self.ids if self.ids.count(i) > 1])

    def handle_starttag(self, tag, attributes):
        own = dict(attributes)
        if tag not in VOID:
            self.open.append(tag)
        if "id" in own:
            self.ids.append(own["id"])
        if own.get("role") == "img":
            assert len(own.get("aria-label", "")) > 40, (self.name, own)
            self.pictures += 1
        for link in (own.get("href"), own.get("src")):
            if not link or link.startswith(("#", "data:")):
                continue
            assert "//" not in link, (self.name, link)
            assert os.path.exists(os.path.join(os.path.dirname(self.name), link)), (self.name, link)
        assert tag != "script", self.name

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open and self.open[-1] == tag, (self.name, tag, self.open[-3:], self.getpos())
            self.open.pop()

for name in sys.argv[1:]:
    text = open(name, encoding="utf-8").read()
    assert "{{" not in text and "nan" not in re.findall(r"<td>([^<]*)", text), name
    page = Page(name)
    links = {link for link in re.findall(r'href="#([^"]+)"', text)}
    assert links <= set(page.ids), (name, links - set(page.ids))
    if name != sys.argv[1]:
        figures = len(re.findall("<figure ", text)) # the one that gnuplot was tried on has lost its picture
        assert figures >= 1 and page.pictures == figures - 1, (name, page.pictures, figures)
        assert len(re.findall(r"<th scope=\"row\">\d+\. ", text)) == 12, name
assert re.search(r"467.*\[449, 482\] at image 104", open([n for n in sys.argv if "h200-xeon/strigl-lenet5" in n][0]).read(), re.S)
PYTHON

# The audit is decided from rows and record: without the record, and with an interval missing, rules are no longer met.
audit() { # RULE'S NUMBER FOLDER: its word
    sed -n "s|.*<th scope=\"row\">$1\\. .*</span> \\([a-z ]*\\)</td><td>.*|\\1|p" "$2/index.html"
}
whole=$work/runs/h200-xeon/strigl-lenet5
[ "$(audit 5 "$whole")" = met ] || fail "rule 5 on a whole run: $(audit 5 "$whole")"
[ "$(audit 9 "$whole")" = 'in part' ] || fail "rule 9 where the clock's governor is not known: $(audit 9 "$whole")"
[ "$(audit 11 "$whole")" = met ] || fail "rule 11 on a whole run: $(audit 11 "$whole")"
cp -r "$whole" "$work/poor"
rm "$work/poor/machine.json"
python3 - "$work/poor/rows.csv" <<'PYTHON'
import csv, sys
rows = list(csv.reader(open(sys.argv[1], newline="")))
place, share = rows[0].index("interval_low_seconds"), rows[0].index("share_of_limit")
rows[1][place] = rows[1][place + 1] = ""
for row in rows[1:]:
    row[share] = ""
csv.writer(open(sys.argv[1], "w", newline=""), lineterminator="\n").writerows(rows)
PYTHON
mkdir "$work/empty"
head -n 1 "$whole/rows.csv" >"$work/empty/rows.csv"
PATH=$work/bin:$PATH "$program" --report --out "$work/poor-all" "$work/poor" "$work/empty" >"$work/out" 2>"$work/err" </dev/null
[ "$(audit 5 "$work/poor")" = 'in part' ] || fail "rule 5 where an interval is missing: $(audit 5 "$work/poor")"
[ "$(audit 9 "$work/poor")" = 'not met' ] || fail "rule 9 without a record: $(audit 9 "$work/poor")"
[ "$(audit 11 "$work/poor")" = 'not met' ] || fail "rule 11 without shares: $(audit 11 "$work/poor")"
[ -s "$work/empty/index.html" ] || fail 'a run without rows has a page, too' "$(cat "$work/err")"

# Set-up and audit say what record and rows do: the order that was taken, what was compared, how many points are missing.
doctor() { # NAME ORDER POINTS PHASE VERIFIED_BY REASON: a run of two rows
    cp -r "$whole" "$work/$1"
    python3 - "$work" "$@" <<'PYTHON'
import csv, json, sys
work, name, order, points, phase, by, reason = sys.argv[1:]
folder = work + "/" + name
record = json.load(open(folder + "/machine.json"))
record["run"].update(order=order, points=int(points))
json.dump(record, open(folder + "/machine.json", "w"))
rows = list(csv.DictReader(open(folder + "/rows.csv", newline="")))
rows = [row for row in rows if row["phase"] == "train"][:2]
for row in rows:
    row.update(phase=phase, verified_by=by)
rows[0]["reason"] = reason
with open(folder + "/rows.csv", "w", newline="") as file:
    writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
PYTHON
    PATH=$work/bin:$PATH "$program" --report --quiet --out "$work/doctored" "$work/$1" >"$work/out" 2>"$work/err" </dev/null
}
setup_says() { grep -qF -- "$2" "$work/$1/setup.md" || fail "set-up of $1: $2" "$(cat "$work/$1/setup.md" "$work/err")"; }
setup_is_silent() { ! grep -q -- "$2" "$work/$1/setup.md" || fail "set-up of $1: no $2" "$(cat "$work/$1/setup.md")"; }
doctor trained as-written 2 train oracle ''
setup_says trained "in the study's order"
setup_says trained "every timed point's outputs, loss and gradients were compared"
[ "$(audit 2 "$work/trained")" = met ] || fail "rule 2 on all points: $(audit 2 "$work/trained")"
doctor answered 'cheap first' 3 classify oracle ''
setup_says answered 'the cheapest first'
setup_says answered "every timed point's outputs were compared"
[ "$(audit 2 "$work/answered")" = 'in part' ] || fail "rule 2 where a row is missing: $(audit 2 "$work/answered")"
grep -q '2 of 3 points have a row' "$work/answered/index.html" || fail 'rule 2 counts the points of the record'
doctor evaluated random 2 evaluate oracle ''
setup_says evaluated 'in random order drawn from the seed'
setup_says evaluated "every timed point's outputs and loss were compared"
doctor large random 2 train 'oracle, naive' 'gradients were not checked: too large'
setup_says large 'for the gradients of 2 plain loops stood in; the gradients of 1 were not checked'
doctor unchecked random 2 train '' ''
setup_is_silent unchecked oracle
[ "$(audit 2 "$work/poor")" = 'in part' ] || fail "rule 2 without a record: $(audit 2 "$work/poor")"

# What the README's first table says is in the committed verdicts and ratios.
python3 - "$project" <<'PYTHON' || fail 'the table of the README'
import csv, sys

reference = sys.argv[1] + "/results/reference/h200-xeon/"
readme = open(sys.argv[1] + "/README.md", encoding="utf-8").read()
for line in csv.DictReader(open(reference + "strigl-lenet5/claims.csv")):
    for end in ("least", "most"):
        number = [f"{float(line[end + part]):.3g}" for part in ("", "_low", "_high")]
        assert f"{number[0]} [{number[1]}, {number[2]}]" in readme, (line["series"], line["base"], line["phase"], number)
    if line["phase"] == "train":
        assert float(line["p"]) < 0.05 and float(line["slope_high"]) < float(line["base_slope_low"]), line
        for side in ("slope", "base_slope"):
            number = [f"{float(line[side + part]):.2f}" for part in ("", "_low", "_high")]
            assert f"{number[0]} [{number[1]}, {number[2]}]" in readme, (line["base"], side, number)
        assert f"{float(line['tau']):.2f}" in readme, line
by_width = [row for row in csv.DictReader(open(reference + "quick/charts/speedup-train-width-depth-1.csv")) if row["series"] == "gpu"]
by_width = [row for row in by_width if row["status"] == "ok"]
assert [float(row["low"]) >= 100 for row in by_width] == [False] + [True] * (len(by_width) - 1) and len(by_width) > 2, by_width
first, last = by_width[0], by_width[-1]
said = f"{float(first['speedup']):.3g} at width {first['width']} to {float(last['speedup']):.3g} at width {last['width']}"
assert said in readme, said
PYTHON

grep -q 'NVIDIA H200' "$work/runs/h200-xeon/strigl-lenet5/setup.md" || fail 'the set-up names its devices'

# A folder that is none is told once, and costs the others nothing.
PATH=$work/bin:$PATH "$program" --report --quiet --out "$work/rest" /nowhere "$1" >"$work/out" 2>"$work/err" </dev/null
[ $? -eq 1 ] || fail 'a folder that is none: exit 1'
[ "$(grep -c '/nowhere/rows.csv: cannot be read' "$work/err")" -eq 1 ] || fail 'a folder that is none is told once' "$(cat "$work/err")"
[ -s "$work/rest/index.html" ] || fail 'a folder that is none, and the page over the others'

[ "$failures" -eq 0 ] && echo 'report: all as expected'
exit "$((failures > 0))"
