#!/bin/bash
#SBATCH --gres=gpu:1 --time=UNLIMITED
python train.py --epochs 3
echo done
