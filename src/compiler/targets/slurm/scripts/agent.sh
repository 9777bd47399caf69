
# The agents rendezvous on the first node.
PET_MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
PET_MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))
export PET_MASTER_ADDR PET_MASTER_PORT

# Every agent starts as this script, which checks where it runs and then starts torchrun.
khorovod_rank=$(
  cat <<'RANK'
khorovod_nodes=$1 khorovod_folder=$3
khorovod_host=$(</proc/sys/kernel/hostname)
khorovod_wrong() {
  echo "khorovod: $*" >&2
  exit 197
}
[[ ${SLURM_STEP_NUM_TASKS:-?} == "$khorovod_nodes" && ${SLURM_STEP_NUM_NODES:-?} == "$khorovod_nodes" ]] ||
  khorovod_wrong "wrong world: srun starts ${SLURM_STEP_NUM_TASKS:-?} agents on ${SLURM_STEP_NUM_NODES:-?} nodes; the spec has $khorovod_nodes, one per node"
[[ $PWD -ef $khorovod_folder ]] ||
  khorovod_wrong "$khorovod_host has no folder $khorovod_folder: call sbatch in a folder that all nodes share"
export PET_NODE_RANK=$SLURM_NODEID
shift 3
# srun exits with the highest code of all tasks. A task that srun kills after another has failed must not exit with a higher one.
trap 'wait; exit 1' TERM
"$@" &
wait $!
khorovod_code=$?
# Slurm signals the processes one by one: the program may get SIGTERM before this shell does.
((khorovod_code != 143)) || sleep 1
exit "$khorovod_code"
RANK
)
