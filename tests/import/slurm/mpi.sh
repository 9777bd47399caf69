#!/bin/bash
#SBATCH --job-name=resnet50
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=8
#SBATCH --cpus-per-task=6
#SBATCH --gres=gpu:a100:8
#SBATCH --mem=480G
#SBATCH --time=1-12:00:00
#SBATCH --partition=gpu --account=p_vision
#SBATCH -o logs/%x-%j.out
#SBATCH --mail-type=END,FAIL --mail-user=kim@example.org
#SBATCH --exclusive
#SBATCH --array=0-3

module load OpenMPI/4.1.4
module load Python/3.10 \
    CUDA/12.1
source $HOME/venvs/horovod/bin/activate
export NCCL_DEBUG=INFO
export NCCL_SOCKET_IFNAME=ib0
export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
export LD_LIBRARY_PATH=/opt/nccl/lib:$LD_LIBRARY_PATH
EPOCHS=90
cd $SLURM_SUBMIT_DIR
echo "running on $SLURM_JOB_NODELIST"
mpirun -np $SLURM_NTASKS --bind-to none -x NCCL_DEBUG --mca pml ob1 python train.py --epochs $EPOCHS --data /data/imagenet > train.log 2>&1
