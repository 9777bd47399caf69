#!/bin/sh
#SBATCH --nodes=2
#SBATCH --gpus=16
#SBATCH --workdir=/work/mnist
horovodrun -np 16 -H $(scontrol show hostnames | sed 's/$/:8/' | paste -sd,) --fusion-threshold-mb 32 python train.py
