#!/bin/bash -l
#SBATCH -J cifar
#SBATCH -N 2
#SBATCH -n 8
#SBATCH -c 4
#SBATCH --gpus-per-task=1
#SBATCH --mem-per-cpu=4000
#SBATCH -t 90
#SBATCH -p ml -q normal -C "a100|h100"
#SBATCH --requeue
#SBATCH --export=ALL,SEED=7
#SBATCH --signal=USR1@120

set -euo pipefail
ulimit -l unlimited
export TOKENIZERS_PARALLELISM=false
HF_HUB_TOKEN=hf_abcdefghijklmnopqrstuvwxyz012345 srun --mpi=pmix --cpu-bind=cores -l \
    apptainer exec --nv --bind /scratch:/scratch docker://ghcr.io/acme/cifar:2.1 python train.py --out "/scratch/$USER/run"
