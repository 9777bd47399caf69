
# The rendezvous of the agents is on the first node.
PET_MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
PET_MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))
export PET_MASTER_ADDR PET_MASTER_PORT

# Each agent first runs this script, which checks its allocation and then runs torchrun.
khorovod_rank=$(
  cat <<'RANK'
khorovod_nodes=$1 khorovod_folder=$3
khorovod_host=$(</proc/sys/kernel/hostname)
khorovod_wrong() {
  echo "khorovod: $*" >&2
  exit 197
}
[[ ${SLURM_STEP_NUM_TASKS:-?} == "$khorovod_nodes" && ${SLURM_STEP_NUM_NODES:-?} == "$khorovod_nodes" ]] ||
  khorovod_wrong "wrong number of agents: srun starts ${SLURM_STEP_NUM_TASKS:-?} agents on ${SLURM_STEP_NUM_NODES:-?} nodes; the spec has $khorovod_nodes, one per node"
[[ $PWD -ef $khorovod_folder ]] ||
  khorovod_wrong "the directory $khorovod_folder does not exist on $khorovod_host: submit the job from a directory that all nodes share"
export PET_NODE_RANK=$SLURM_NODEID
shift 3
# srun exits with the highest exit code of all tasks. A task that srun stops because another one failed exits with 1, so that
# the code of the failed task is the highest.
trap 'wait; exit 1' TERM
"$@" &
wait $!
khorovod_code=$?
# Slurm sends SIGTERM to one process after another, so the program may receive it before this shell does.
((khorovod_code != 143)) || sleep 1
exit "$khorovod_code"
RANK
)
