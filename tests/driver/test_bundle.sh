#!/bin/sh
# SPDX-License-Identifier: MIT
# --bundle and --reproduce: an archive tells nothing of its machine but what was measured, is checked before anything runs, and
# sets old and new side by side.
#
# Usage: test_bundle.sh FOLDER_OF_THE_PROJECT PROGRAM
set -u
project=${1:?the folder of the project}
program=${2:?the program}
# shellcheck source=tests/driver/common.sh
. "$(dirname -- "$0")/common.sh"
cd "$work" || exit 1

# A project whose run_sweep is the program of this build; gnuplot is not needed for what is tested here.
mkdir -p home/experiments bin
cp "$project/experiments/bundle.sh" home/experiments/
cp -r "$project/plots" home/plots
cat >home/run_sweep <<END
#!/bin/sh
[ "\$1" != --no-build ] || shift
CONVSCALE_HOME=$work/home exec "$program" "\$@"
END
printf '#!/bin/sh\nexit 127\n' >bin/gnuplot
chmod +x home/run_sweep bin/gnuplot
PATH=$work/bin:$PATH
export PATH

# bundle ARGUMENTS...: sets status and out.
bundle() {
    out=$(home/experiments/bundle.sh "$@" 2>&1 </dev/null)
    status=$?
}

mkdir -p private/secret
sed 's/^claims.*/claims = ( { text = "it is so"; ratio = "2..24"; pairs = ("naive\/cpu"); } );/' \
    "$project/tests/shell/tiny.cfg" >private/secret/small.cfg
home/run_sweep --quiet --out private/results --filter 'width=1 series=cpu,naive' private/secret/small.cfg >/dev/null 2>&1
run=$(echo private/results/*/small/latest)
[ -s "$run/rows.csv" ] || fail 'a run to start from' "$(ls -R private)"
uuid=GPU-01234567-89ab-cdef-0123-456789abcdef
printf '\n{"gpu": "%s", "pci": "00000000:3B:00.0", "serial": "S1234567", "host": "%s", "folder": "%s/private"}\n' \
    "$uuid" "$(uname -n)" "$work" >"$run/extra.json"
gzip -9n "$run/samples.csv"

bundle --bundle "$run"
[ "$status" -eq 0 ] || fail "--bundle: exit $status" "$out"
[ "$out" = convscale-small.tar.gz ] || fail 'the archive is named after its study' "$out"
mkdir unpacked
tar -C unpacked -xzf convscale-small.tar.gz
inside=unpacked/convscale-small
for file in README.txt SHA256SUMS plots/common.gp run/rows.csv run/samples.csv.gz run/machine.json run/study.cfg run/index.html; do
    [ -s "$inside/$file" ] || fail "$file is in the archive" "$(find unpacked)"
done
(cd "$inside" && sha256sum --quiet -c SHA256SUMS) || fail 'checksums hold'
for word in "$work" "$uuid" 3B:00.0 S1234567; do
    found=$(grep -rl -- "$word" "$inside")
    [ -z "$found" ] || fail "nothing says $word" "$found"
done
cmp -s "$run/rows.csv" "$inside/run/rows.csv" || fail 'rows are what they were'
mkdir again
bundle --bundle "$run" again/convscale-small.tar.gz
cmp -s convscale-small.tar.gz again/convscale-small.tar.gz || fail 'the same run makes the same archive'

# Another machine's run is there, before this one's in the alphabet: it is not taken for the new one.
mkdir -p new/a-machine/small/2010
cp "$run/rows.csv" "$run/study.cfg" "$run/machine.json" new/a-machine/small/2010/
ln -s 2010 new/a-machine/small/latest
bundle --reproduce convscale-small.tar.gz --out new --filter 'width=1 series=cpu,naive' --format table
[ "$status" -eq 0 ] || fail "--reproduce: exit $status" "$out"
case $out in *'2 points: '*) ;; *) fail 'points are compared' "$out" ;; esac
[ -s new/overlay/rows.csv ] || fail 'both are in one figure' "$out"
grep -q '^small,cpu-archived,"CPU, 1 thread, archived",' new/overlay/rows.csv || fail 'and told apart' "$(cut -c 1-80 new/overlay/rows.csv)"
[ "$(grep -c 'it is so' new/index.html)" -ge 1 ] || fail 'the page has the claim' "$out"

case $out in *a-machine*) fail "another machine's run is compared" "$out" ;; esac

# The copy of the archive is replaced, a folder of somebody's is not.
bundle --reproduce convscale-small.tar.gz --out new --filter 'width=1 series=cpu' --format table
[ "$status" -eq 0 ] || fail "--reproduce again: exit $status" "$out"
mkdir -p theirs/archived
echo theirs >theirs/archived/file
bundle --reproduce convscale-small.tar.gz --out theirs
[ "$status" -eq 2 ] || fail "a folder of somebody's: exit $status" "$out"
[ -f theirs/archived/file ] || fail "a folder of somebody's is left alone"

# A changed file, a file beside the sums, a way out of the folder: refused before anything runs.
echo '# changed' >>"$inside/run/study.cfg"
tar -C unpacked -czf changed.tar.gz convscale-small
bundle --reproduce changed.tar.gz --out never
[ "$status" -eq 2 ] || fail "a changed study: exit $status" "$out"
case $out in *study.cfg*) ;; *) fail 'the changed file is named' "$out" ;; esac
mkdir -p evil/inner
echo x >evil/outside
tar -C evil/inner -czPf way-out.tar.gz ../outside
bundle --reproduce way-out.tar.gz --out never
[ "$status" -eq 2 ] || fail "a way out: exit $status" "$out"
refused() { # WHAT WORDS: packs the folder with sums that hold; it is refused, and nothing is written
    (cd forged/convscale-small && find . -type f ! -name SHA256SUMS | sort | xargs sha256sum >../sums)
    mv forged/sums forged/convscale-small/SHA256SUMS
    tar -C forged -czf forged.tar.gz convscale-small
    bundle --reproduce forged.tar.gz --out never
    [ "$status" -eq 2 ] || fail "$1: exit $status" "$out"
    case $out in *"$2"*) ;; *) fail "$1: does not say '$2'" "$out" ;; esac
    [ ! -e escaped.cfg ] || fail "$1: a file outside"
}
mkdir forged
tar -C forged -xzf convscale-small.tar.gz
cp forged/convscale-small/run/rows.csv rows.kept
for name in "../../..$work/escaped" "..$work/escaped" .hidden 'a b' -x; do
    sed "2s|^[^,]*|$name|" rows.kept >forged/convscale-small/run/rows.csv
    refused "a study named $name" 'has no name of letters'
done
bundle --bundle forged/convscale-small/run
[ "$status" -eq 2 ] || fail "--bundle of such a study: exit $status" "$out"
cp rows.kept forged/convscale-small/run/rows.csv
ln -s / forged/convscale-small/run/link
refused 'a link' 'has links'
bundle --reproduce "$project/README.md" --out never
[ "$status" -eq 2 ] || fail "no archive: exit $status" "$out"
bundle --bundle "$work/private"
[ "$status" -eq 2 ] || fail "no run: exit $status" "$out"
[ ! -e never ] || fail 'nothing ran'

[ "$failures" -eq 0 ] && echo 'bundle: all as expected'
exit "$((failures > 0))"
