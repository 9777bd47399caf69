#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=2 --time=10:00 --nodelist=node[1-2]
#SBATCH --gres=gpu
module load mpi
for lr in 0.1 0.01; do
    srun --mpi=pmi2 python train.py --lr "$lr" || exit 1
done
cat <<EOF >done.txt
finished
EOF
#SBATCH --qos=late
