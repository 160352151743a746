#!/bin/sh
# SPDX-License-Identifier: MIT
# --fetch: what arrives is checked before it has its name, what breaks off is continued, what is wrong is not kept, and what
# is there is left alone. Sets of a few bytes come from a folder, and once from a server that cannot continue a file.
#
# Usage: test_fetch.sh FOLDER_OF_THE_PROJECT
set -u
project=${1:?the folder of the project}
work=$(mktemp -d) || exit 1
server=
trap 'rm -rf -- "$work"; [ -z "$server" ] || kill "$server"' EXIT
failures=0
unset CONVSCALE_DATA CONVSCALE_BUILD

fail() {
    printf 'FAILED: %s\n' "$1"
    sed 's/^/    /' "$work/out"
    failures=$((failures + 1))
}

# fetch STATUS WORDS ARGUMENTS...: the exit code, and words of what is said.
fetch() {
    status=$1 words=$2
    shift 2
    "$home/run_sweep" --fetch "$@" >"$work/out" 2>&1 </dev/null
    found=$?
    [ $found -eq "$status" ] || fail "--fetch $*: exit code $found, expected $status"
    grep -q -- "$words" "$work/out" || fail "--fetch $*: does not say \"$words\""
}

sum() { sha256sum <"$1" | cut -d ' ' -f 1; }
same() { cmp -s "$1" "$2" || fail "$2 is not $1"; }
absent() { [ ! -e "$1" ] || fail "$1 is there"; }

# A project of run_sweep, fetch.sh and sums of small files.
home="$work/a project"
far=$work/far
mkdir -p "$home/experiments" "$far/tree/batches"
cp "$project/run_sweep" "$home/run_sweep"
cp "$project/experiments/fetch.sh" "$home/experiments/fetch.sh"
head -c 100000 /dev/urandom >"$far/images.gz"
echo labels >"$far/labels.gz"
echo batch >"$far/tree/batches/data.bin"
tar -czf "$far/archive.tar.gz" -C "$far/tree" batches
cat >"$home/experiments/fetch.sums" <<END
set small file://$work/nowhere file://$far
$(sum "$far/images.gz")  images.gz
$(sum "$far/labels.gz")  labels.gz

set packed file://$far
$(sum "$far/archive.tar.gz")  archive.tar.gz

set hollow file://$far
END

# From the second address, as the first has nothing; into the project's data/.
fetch 0 "small is in $home/data/small" small
same "$far/images.gz" "$home/data/small/images.gz"
same "$far/labels.gz" "$home/data/small/labels.gz"
absent "$home/data/small/images.gz.part"

# What is there is left alone, without asking anybody.
fetch 0 'images.gz is there' small --fetch-base "file://$work/nowhere"
echo other >"$home/data/small/labels.gz"
fetch 1 'labels.gz is there, but not with the published SHA-256' small
[ "$(cat "$home/data/small/labels.gz")" = other ] || fail 'a file of the user was replaced'

# A part is continued: its beginning is not asked for again.
mkdir -p "$work/mine/small"
head -c 60000 "$far/images.gz" >"$work/mine/small/images.gz.part"
{ head -c 60000 /dev/zero; tail -c +60001 "$far/images.gz"; } >"$work/half"
mkdir "$work/second"
cp "$work/half" "$work/second/images.gz"
cp "$far/labels.gz" "$work/second/labels.gz"
fetch 0 "small is in $work/mine/small" small --data "$work/mine" --fetch-base "file://$work/second"
same "$far/images.gz" "$work/mine/small/images.gz"

# A file that is another one is not kept, not even for later.
fetch 1 "SHA-256 $(sum "$work/half"), expected $(sum "$far/images.gz"): not kept" small --data "$work/wrong" \
    --fetch-base "file://$work/second"
absent "$work/wrong/small/images.gz"
absent "$work/wrong/small/images.gz.part"

# What broke off stays as a part, and has no name that anybody reads.
fetch 1 'could not be fetched' small --data "$work/none" --fetch-base "file://$work/nowhere"
absent "$work/none/small/images.gz"

# A whole part needs no server.
mkdir -p "$work/whole/small"
cp "$far/images.gz" "$work/whole/small/images.gz.part"
cp "$far/labels.gz" "$work/whole/small/labels.gz.part"
fetch 0 'small is in' small --data "$work/whole" --fetch-base "file://$work/nowhere"
same "$far/images.gz" "$work/whole/small/images.gz"

# A server that knows no ranges: the file comes anew. A part longer than the file is no beginning of it.
python3 -u -m http.server 0 --bind 127.0.0.1 --directory "$far" >"$work/server" 2>&1 &
server=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    port=$(sed -n 's/.* port \([0-9]*\) .*/\1/p' "$work/server")
    [ -z "$port" ] || break
    sleep 0.25
done
mkdir -p "$work/served/small"
head -c 500 "$far/images.gz" >"$work/served/small/images.gz.part"
head -c 500 "$far/images.gz" >"$work/served/small/labels.gz.part"
fetch 0 'small is in' small --data "$work/served" --fetch-base "http://127.0.0.1:$port/"
same "$far/images.gz" "$work/served/small/images.gz"
same "$far/labels.gz" "$work/served/small/labels.gz"

# An archive is unpacked, once.
CONVSCALE_DATA=$work/environment
export CONVSCALE_DATA
fetch 0 "packed is in $work/environment/packed" packed
same "$far/tree/batches/data.bin" "$work/environment/packed/batches/data.bin"
fetch 0 'archive.tar.gz is there' packed
[ "$(find "$work/environment/packed" -mindepth 1 -maxdepth 1 | wc -l)" -eq 2 ] || fail 'unpacking leaves something behind'
unset CONVSCALE_DATA

# Wrong command lines.
fetch 2 'expected a data set: small packed hollow\|no such data set, expected one of: small packed hollow'
fetch 2 'mnits: no such data set, expected one of: small packed hollow' mnits
fetch 2 'small packed: no such data set' 'small packed'
absent "$home/data/small packed"
fetch 1 'hollow: .* lists no files' hollow
absent "$home/data/hollow"
fetch 2 'expected --data FOLDER' small --data
fetch 2 'expected --data FOLDER' small --fetch-bas x

# The data folder of the project is where the program looks, unless told otherwise.
mkdir -p "$home/build/experiments/driver"
cat >"$home/build/experiments/driver/convscale" <<'END'
#!/bin/sh
echo "data=$CONVSCALE_DATA"
END
chmod +x "$home/build/experiments/driver/convscale"
[ "$("$home/run_sweep" --no-build x)" = "data=$home/data" ] || fail 'the program is not told of the data folder'
[ "$(CONVSCALE_DATA=/mine "$home/run_sweep" --no-build x)" = 'data=/mine' ] || fail 'CONVSCALE_DATA is not obeyed'

# The true list: every set has an address and files with whole sums.
grep -v '^#' "$project/experiments/fetch.sums" | grep -v '^$' |
    grep -qvE '^set [a-z0-9]+( https?://[^ ]+[^/ ])+$|^[0-9a-f]{64}  [^ /]+$' && fail 'fetch.sums has a line that is none'
for set in mnist fashion cifar10 norb; do
    grep -q "^set $set " "$project/experiments/fetch.sums" || fail "fetch.sums has no set $set"
done

[ $failures -eq 0 ] && echo 'fetching: all as it should be'
[ $failures -eq 0 ]
