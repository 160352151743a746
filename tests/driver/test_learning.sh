#!/bin/sh
# SPDX-License-Identifier: MIT
# A study of training as a user meets it, on sets made here in the exact formats: IDX files, CIFAR-10, a stereo pair of small
# NORB. What a backend learns is the same whether loading is timed or not; seeds, distortions and targets reach the rows.
#
# Usage: test_learning.sh PROGRAM
set -u
program=${1:?the program}
unset CONVSCALE_DATA CONVSCALE_MACHINE
export CONVSCALE_CEILINGS=off # they would take longer than the points
work=$(mktemp -d) || exit 1
trap 'rm -rf -- "$work"' EXIT
failures=0

fail() {
    printf 'FAILED: %s\n' "$1"
    head -n 20 "$work/err" | cut -c 1-200 | sed 's/^/    /'
    failures=$((failures + 1))
}

# Pictures of two kinds, bright on the left or on the right: 200 to train, 60 to test.
python3 - "$work" <<'END'
import gzip, random, struct, sys
folder = sys.argv[1]
random.seed(1)

def picture(side, label):
    return bytes(random.randrange(60) + (150 if (col < side // 2) == (label == 0) else 0)
                 for row in range(side) for col in range(side))

def write(path, data):
    with open(path, 'wb') as file:
        file.write(data)

for split, count in (('train', 200), ('test', 60)):
    labels = bytes(i % 2 for i in range(count))
    images = b''.join(picture(12, label) for label in labels)
    write(f'{folder}/mine-{split}-images-idx3-ubyte', struct.pack('>4B3I', 0, 0, 8, 3, count, 12, 12) + images)
    write(f'{folder}/mine-{split}-labels-idx1-ubyte.gz', gzip.compress(struct.pack('>4BI', 0, 0, 8, 1, count) + labels))
for name in ['data_batch_%d' % i for i in range(1, 6)] + ['test_batch']:
    write(f'{folder}/{name}.bin', b''.join(bytes([i % 2]) + picture(32, i % 2) * 3 for i in range(12)))
for split in ('5x46789x9x18x6x2x96x96-training', '5x01235x9x18x6x2x96x96-testing'):
    base = f'{folder}/smallnorb-{split}'
    write(base + '-dat.mat', struct.pack('<6I', 0x1E3D4C55, 4, 20, 2, 96, 96) +
          b''.join(picture(96, i % 2) * 2 for i in range(20)))
    write(base + '-cat.mat', struct.pack('<5I20I', 0x1E3D4C54, 1, 20, 1, 1, *(i % 2 for i in range(20))))
    write(base + '-info.mat', struct.pack('<5I80I', 0x1E3D4C54, 2, 20, 4, 1, *([4, 0, 0, 0] * 20)))
END

# study FILE DATA CHANNELS CLASSES FURTHER KEYS
study() {
    cat >"$work/$1.cfg" <<END
network = { name = "small"; image = 12; channels = $3; classes = $4; loss = "softmax";
            layers = ( { kind = "conv"; maps = 4; kernel = 5; activation = "tanh"; }, { kind = "full"; } ); };
phase = "accuracy"; data = "$2"; batch = 10; epochs = 3; rate = 0.02; momentum = 0.9; order = "as-written"; $5
END
}
both='series = ( { id = "cpu"; backend = "cpu"; algorithm = "direct"; },
           { id = "load"; backend = "cpu"; algorithm = "naive"; copies = "answer"; } );'

# run ARGUMENTS...: sets status; the rows are in rows.csv, the epochs in epochs.csv.
run() {
    rm -rf "$work/results"
    "$program" --out "$work/results" "$@" >"$work/rows.csv" 2>"$work/err" </dev/null
    status=$?
    cat "$work"/results/*/*/latest/epochs.csv >"$work/epochs.csv" 2>/dev/null
}

# holds WORDS EXPRESSION: of all rows r, a list of dicts, and epochs e.
holds() {
    python3 - "$work" "$2" <<'END' || fail "$1"
import csv, sys
r = list(csv.DictReader(open(sys.argv[1] + '/rows.csv')))
e = list(csv.DictReader(open(sys.argv[1] + '/epochs.csv')))
sys.exit(not eval(sys.argv[2]))
END
}

study idx idx 1 2 "data_folder = \"$work/mine-\"; seed = \"1..2\"; distort = \"rotate 5 shift 1 elastic 10 sigma 3\"; target = 0.9; $both"
run "$work/idx.cfg"
[ $status -eq 0 ] || fail "a set of IDX files: exit code $status"
holds 'four rows of two seeds and two series' 'len(r) == 4 and {x["seed"] for x in r} == {"1", "2"} and all(x["status"] == "ok" for x in r)'
holds 'two kinds of pictures are told apart' 'all(float(x["test_accuracy"]) > 0.95 for x in r)'
holds 'the set and what was done to it' 'all((x["train_images"], x["test_images"], x["fit"], x["pixels"]) == ("200", "60", "auto", "standard") and
  0.3 < float(x["pixel_mean"]) < 0.5 and float(x["pixel_deviation"]) > 0.1 and x["distort"] == "rotate 5 shift 1 elastic 10 sigma 3" for x in r)'
holds 'the time to the target' 'all(x["target_accuracy"] == "0.9" and int(x["epochs_to_target"]) in (1, 2, 3) and
  float(x["seconds_to_target_with_loading"]) > float(x["seconds_to_target"]) > 0 and float(x["loading_seconds"]) > 0 for x in r)'
holds 'epochs have loading and images per second' 'len(e) == 12 and all(float(x["load_seconds"]) > 0 and
  abs(float(x["images_per_second"]) * float(x["train_seconds"]) - 200) < 1 for x in e)'
holds 'the same is learnt whether loading is timed or not, by plain loops and tuned ones' 'all(abs(float(a["test_loss"]) - float(b["test_loss"])) < 1e-4
  for a in r for b in r if a["seed"] == b["seed"]) and r[0]["parameters_checksum"] != r[2]["parameters_checksum"]'

run --set distort=none "$work/idx.cfg"
holds 'without distortions something else is learnt' 'all(x["distort"] == "none" and x["test_accuracy"] for x in r)'
run --data /nowhere "$work/idx.cfg"
[ $status -eq 2 ] || fail '--data that is no folder is a wrong command line'

study cifar cifar10 3 10 "image = 16; $both"
run --data "$work" "$work/cifar.cfg"
holds 'CIFAR-10, down-scaled' 'len(r) == 2 and all(x["status"] == "ok" and x["train_images"] == "60" and x["channels"] == "3" for x in r)'

study norb norb 2 5 "image = 24; pixels = \"signed\"; $both"
run --data "$work" "$work/norb.cfg"
holds 'small NORB, a stereo pair, down-scaled' 'len(r) == 2 and all(x["status"] == "ok" and x["channels"] == "2" and
  x["pixel_mean"] == "0.5" and float(x["test_accuracy"]) > 0.8 for x in r)'

# What is not there, or cut short, is said, and no number stands in for it.
head -c 30000 "$work/data_batch_3.bin" >"$work/short"
mv "$work/short" "$work/data_batch_3.bin"
run --data "$work" "$work/cifar.cfg"
[ $status -eq 1 ] || fail "a file cut short: exit code $status"
holds 'a file cut short' 'all(x["status"] == "invalid" and "data_batch_3.bin: 30,000 bytes" in x["reason"] and not x["test_accuracy"] for x in r)'
rm "$work/data_batch_3.bin"
run --data "$work" "$work/cifar.cfg"
holds 'a file that is not there' 'all(x["status"] == "unavailable" and "no data_batch_3.bin" in x["reason"] for x in r)'

[ $failures -eq 0 ] && echo 'learning: all as it should be'
[ $failures -eq 0 ]
