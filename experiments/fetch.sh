#!/bin/sh
# SPDX-License-Identifier: MIT
# Downloads a data set and checks every file by its SHA-256 before it gets its name. ./run_sweep --fetch calls it.
#
#   fetch.sh SET [--data FOLDER] [--fetch-base ADDRESS]
#
# SET is one of fetch.sums beside this file. Files go to FOLDER/SET; without --data to CONVSCALE_DATA, else to data/ in the
# project. ADDRESS is taken in place of the listed ones. What broke off stays as NAME.part, is no data to anyone, and is
# continued by the next call. Exit codes: 0 all files are there and right, 1 one is not, 2 a wrong command line.
set -u

say() { printf 'run_sweep --fetch: %s\n' "$*" >&2; }
usage() { say "$@"; exit 2; }
die() { say "$@"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P) || exit 2
sums=$here/fetch.sums

sets() { sed -n 's/^set \([^ ]*\) .*/\1/p' "$sums" | tr '\n' ' ' | sed 's/ *$//'; }

# The lines of the set: its addresses, or "SUM NAME" of its files.
addresses() { sed -n "s/^set $set //p" "$sums"; }
files() { sed -n "/^set $set /,/^set /{ /^[0-9a-f]\{64\}  /p; }" "$sums"; }

sum_of() {
    if have sha256sum; then sha256sum <"$1"; else shasum -a 256 <"$1"; fi | cut -d ' ' -f 1
}

# Continues NAME.part, or starts it anew where the server cannot continue one.
download() { # address, part
    for attempt in continue anew; do
        [ "$attempt" = continue ] || rm -f -- "$2"
        answer=$(curl -f -sS -L --retry 3 --connect-timeout 30 -C - -o "$2" -w '%{http_code}' "$1")
        status=$?
        [ $status -ne 0 ] || return 0
        case $status/$answer in 33/* | 36/* | */416) ;; *) return "$status" ;; esac # no such range
    done
    return "$status"
}

fetch_file() { # sum, name
    target=$folder/$2
    part=$target.part
    if [ -e "$target" ]; then
        [ "$(sum_of "$target")" = "$1" ] || die "$target is there, but not with the published SHA-256 $1: remove it to fetch it anew"
        say "$target is there"
        return
    fi
    for address in $bases; do
        # a part that is whole needs no server
        if ! { [ -s "$part" ] && [ "$(sum_of "$part")" = "$1" ]; }; then
            say "$address/$2"
            download "$address/$2" "$part" || { say "curl could not download $address/$2 (its exit code $?)"; continue; }
        fi
        found=$(sum_of "$part")
        if [ "$found" = "$1" ]; then
            mv -- "$part" "$target" || die "$target cannot be written"
            return
        fi
        say "$address/$2: SHA-256 $found, expected $1: not kept"
        rm -f -- "$part"
    done
    die "$2 could not be fetched; by hand: put it into $folder, with SHA-256 $1"
}

# An archive's one folder appears whole or not at all.
unpack() { # archive
    have tar || die "tar is not here: unpack $1 by hand in $folder"
    top=$(tar -tzf "$1" | sed -n '1s,/.*,,p')
    [ -n "$top" ] && [ ! -e "$folder/$top" ] || return 0
    scratch=$(mktemp -d "$folder/unpacking.XXXXXX") || die "$folder cannot be written"
    trap 'rm -rf -- "$scratch"' EXIT
    trap 'exit 130' INT TERM
    if ! tar -xzf "$1" -C "$scratch" || ! mv -- "$scratch/$top" "$folder/$top"; then
        die "$1 could not be unpacked in $folder"
    fi
    rm -rf -- "$scratch"
}

set=${1:-}
case $set in *[!A-Za-z0-9]*) usage "$set: no such data set, expected one of: $(sets)" ;; esac
case " $(sets) " in *" $set "*) [ -n "$set" ] || usage "expected a data set: $(sets)" ;;
*) usage "$set: no such data set, expected one of: $(sets)" ;;
esac
shift
data=${CONVSCALE_DATA:-$here/../data}
bases=$(addresses)
while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || usage "$1: expected --data FOLDER or --fetch-base ADDRESS"
    case $1 in
    --data) data=$2 ;;
    --fetch-base) bases=${2%/} ;;
    *) usage "$1: expected --data FOLDER or --fetch-base ADDRESS" ;;
    esac
    shift 2
done
[ -n "$(files)" ] || die "$set: $sums lists no files of it"
have curl || die "curl is not here (Debian: apt-get install curl); by hand: download from $bases into $data/$set"
have sha256sum || have shasum || die "neither sha256sum nor shasum is here: downloads could not be checked"
mkdir -p -- "$data/$set" || die "the folder $data/$set cannot be made"
folder=$(CDPATH='' cd -- "$data/$set" && pwd -P) || exit 1

# A here-document keeps the loop in this shell, so that die() ends it.
while read -r sum name; do
    fetch_file "$sum" "$name"
    case $name in *.tar.gz) unpack "$folder/$name" ;; esac
done <<END
$(files)
END
say "$set is in $folder"
