#!/bin/bash
# SPDX-License-Identifier: MIT
# One task of a Slurm array for each node: experiments/node.cfg, its results below a folder that all nodes share.
#
#   sbatch --array=0-7 experiments/cluster/slurm-array.sh SHARED_FOLDER
#
# Submit it from the project's folder, once the program is built there (./run_sweep --build-only). Each node's rows lie in
# SHARED_FOLDER/<node's name>/node/<time>/; ./run_sweep --report SHARED_FOLDER/*/node/latest puts them on one page.
#SBATCH --job-name=convscale-node
#SBATCH --nodes=1
#SBATCH --exclusive
#SBATCH --time=00:20:00
set -eu
shared=${1:?the folder that results go to}
cd -- "${SLURM_SUBMIT_DIR:?submit this with sbatch}"
[ -f experiments/node.cfg ] || { echo "$PWD is not the project's folder: submit from there" >&2; exit 2; }

CONVSCALE_MACHINE=${SLURMD_NODENAME:-task-$SLURM_ARRAY_TASK_ID}
export CONVSCALE_MACHINE
exec ./run_sweep --no-build --out "$shared" experiments/node.cfg
