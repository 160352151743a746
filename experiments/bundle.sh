#!/bin/sh
# SPDX-License-Identifier: MIT
# A run as one archive that can be handed on, and an archive measured again. ./run_sweep --bundle and --reproduce call it.
#
#   bundle.sh --bundle FOLDER [ARCHIVE.tar.gz]     study, rows, samples, record, figures, scripts, checksums
#   bundle.sh --reproduce ARCHIVE [OPTIONS]        checks it, runs its study here with these options of ./run_sweep, and sets
#                                                  both side by side: points compared, figures overlaid, a verdict for each claim
#
# In an archive the host's and the user's name, folders of the machine, GPU serials, UUIDs and PCI addresses are replaced by
# words. --reproduce writes below the folder of --out (default: reproduced). Exit codes: of the run; 2 for a wrong archive.
set -u
LC_ALL=C
export LC_ALL
home=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P) || exit 2

say() { printf 'run_sweep: %s\n' "$*" >&2; }
die() { say "$@"; exit 2; }

scratch=$(mktemp -d) || exit 2
trap 'rm -rf -- "$scratch"' EXIT

# The study of a run, which becomes the name of files: nothing that leads elsewhere.
study_of() { # ACTION FOLDER
    study=$(sed -n '2s/,.*//p' "$2/rows.csv")
    case $study in '' | *[!A-Za-z0-9._-]* | .* | -*) die "$1: the study of rows.csv has no name of letters, digits and . _ -: '$study'" ;; esac
}

# ---- --bundle --------------------------------------------------------------------------------------------------------

# The name of this machine or user as a whole word, for sed; nothing for what is too short or too common to tell anything.
word_rule() { # WORD REPLACEMENT
    case $1 in '' | ? | ?? | root | user | localhost | cuda | cpu | linux | debian | ubuntu) return ;; esac
    printf 's/\\b%s\\b/%s/g\n' "$(printf '%s' "$1" | sed 's/[^A-Za-z0-9_-]/\\&/g')" "$2"
}

# A folder needs two names and a mark before it, so that neither fractions nor tags are taken for one.
write_rules() {
    word_rule "$(uname -n)" HOST
    word_rule "$(id -un)" USER
    cat <<'RULES'
s#(^|[ "'=:])/[A-Za-z0-9._@%+~-]+(/[A-Za-z0-9._@%+~-]+)*/([A-Za-z0-9._@%+~-]+)#\1PATH/\3#g
s/(GPU|MIG)-[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}/\1-UUID/g
s/\b([0-9a-fA-F]{4,8}:)[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-9a-fA-F]\b/PCI-ADDRESS/g
s/("[a-z_]*serial[a-z_]*":[[:space:]]*)"[^"]*"/\1"SERIAL"/g
RULES
}

bundle() {
    folder=${1:?} archive=${2:-}
    for file in rows.csv study.cfg; do
        [ -f "$folder/$file" ] || die "--bundle $folder: expected the folder of a run, with rows.csv and study.cfg"
    done
    study_of "--bundle $folder" "$folder"
    name=convscale-$study
    archive=${archive:-$name.tar.gz}
    stage=$scratch/$name
    mkdir -p "$stage/plots"
    cp -rL "$folder/." "$stage/run" || exit 2
    rm -rf "$stage/run/.answers" # what a run that was killed left for its points
    cp "$home"/plots/*.gp "$stage/plots/"
    write_rules >"$scratch/rules"
    find "$stage/run" -type f ! -name '*.gz' ! -name '*.png' ! -name '*.pdf' -exec sed -E -i -f "$scratch/rules" {} +
    find "$stage/run" -name '*.gz' | while read -r file; do
        gzip -dc "$file" | sed -E -f "$scratch/rules" | gzip -9n >"$scratch/packed" && mv "$scratch/packed" "$file"
    done
    cat >"$stage/README.txt" <<TEXT
A run of the study "$study" of convscale. run/ is the run's folder: index.html shows it, rows.csv has its numbers, machine.json says
where and with which build it was measured. plots/ draws its figures. SHA256SUMS holds for all files.

To measure it again on another machine, with convscale there:

    ./run_sweep --reproduce $(basename "$archive")
TEXT
    (cd "$stage" && find . -type f | sort | xargs -d '\n' sha256sum) >"$scratch/sums" || exit 2
    mv "$scratch/sums" "$stage/SHA256SUMS"
    tar -C "$scratch" --sort=name --owner=0 --group=0 --numeric-owner --mtime='1970-01-01 00:00Z' -cf - "$name" |
        gzip -9n >"$archive" || exit 2
    echo "$archive"
}

# ---- --reproduce -----------------------------------------------------------------------------------------------------

mark=.from-an-archive # in the copy that --reproduce makes and may replace

unpack() {
    tar -tzf "$1" >"$scratch/list" 2>/dev/null || die "--reproduce $1: is no archive of a run (tar.gz)"
    ! grep -qE '^/|(^|/)\.\.(/|$)' "$scratch/list" || die "--reproduce $1: names files outside of its folder: not unpacked"
    ! tar -tvzf "$1" 2>/dev/null | grep -q '^[^d-]' || die "--reproduce $1: has links or devices: not unpacked"
    tar -C "$scratch" --no-same-owner -xzf "$1" || exit 2
    stage=$scratch/$(head -n 1 "$scratch/list" | cut -d / -f 1)
    for file in SHA256SUMS run/study.cfg run/rows.csv; do
        [ -f "$stage/$file" ] || die "--reproduce $1: has no $file"
    done
    (cd "$stage" && sha256sum --quiet -c SHA256SUMS) >"$scratch/sums" 2>&1 ||
        die "--reproduce $1: a file is not what its checksum says: $(head -n 1 "$scratch/sums")"
    [ "$(find "$stage" -type f ! -name SHA256SUMS | wc -l)" -eq "$(wc -l <"$stage/SHA256SUMS")" ] ||
        die "--reproduce $1: has files without a checksum"
}

# Both runs' times in one figure: rows of one file, series and labels telling them apart. Ratios across machines are not drawn.
overlay() { # OLD NEW TARGET
    [ "$(head -n 1 "$1/rows.csv")" = "$(head -n 1 "$2/rows.csv")" ] || {
        say "the archive's rows have other columns: no overlaid figures; the page shows both"
        return
    }
    mkdir -p "$3"
    sed '/^figures/d' "$2/study.cfg" >"$3/study.cfg"
    echo 'figures = ("time", "throughput");' >>"$3/study.cfg"
    cp "$2"/*.csv "$3/"
    sed -nE '2,$s/^([^,]*),([^,]*),("([^"]*)"|([^",]*)),/\1,\2-archived,"\4\5, archived",/p' "$1/rows.csv" >>"$3/rows.csv"
    "$home/run_sweep" --no-build --quiet --plot "$3"
}

reproduce() {
    archive=${1:?} out=reproduced
    shift
    [ -f "$archive" ] || die "--reproduce $archive: there is no such file"
    unpack "$archive"
    study_of "--reproduce $archive" "$stage/run"
    for word in "$@"; do
        [ "${take:-}" != yes ] || out=$word
        take=
        case $word in --out) take=yes ;; --out=*) out=${word#--out=} ;; esac
    done
    [ ! -e "$out/archived" ] || [ -f "$out/archived/$mark" ] ||
        die "--reproduce $archive: $out/archived is there and not of --reproduce: remove it, or choose another --out"
    mkdir -p "$out" "$scratch/study"
    cp "$stage"/run/*.csv "$scratch/study/"
    cp "$stage/run/study.cfg" "$scratch/study/$study.cfg"
    "$home/run_sweep" --out "$out" "$@" "$scratch/study/$study.cfg"
    status=$?
    # the run is the one whose record names this very file; other machines may have theirs here
    record=$(grep -lF "${scratch##*/}/study/$study.cfg" "$out"/*/"$study"/*/machine.json 2>/dev/null | head -n 1)
    [ -n "$record" ] || exit "$status"
    new=${record%/*}
    rm -rf -- "$out/archived"
    cp -r "$stage/run" "$out/archived"
    : >"$out/archived/$mark"
    overlay "$out/archived" "$new" "$out/overlay"
    echo
    "$home/run_sweep" --no-build --format table --compare "$out/archived" "$new"
    "$home/run_sweep" --no-build --quiet --report --out "$out" "$out/archived" "$new"
    echo
    echo "side by side, with a verdict for each claim: $out/index.html"
    exit "$status"
}

action=${1:-}
[ $# -ge 2 ] || die "$action: expected $([ "$action" = --bundle ] && echo 'the folder of a run' || echo 'an archive of --bundle')"
shift
case $action in
--bundle) bundle "$@" ;;
--reproduce) reproduce "$@" ;;
*) die "bundle.sh: expected --bundle or --reproduce" ;;
esac
