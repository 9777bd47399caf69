
# The agents meet on the first node.
PET_MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
PET_MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))
export PET_MASTER_ADDR PET_MASTER_PORT

# Every agent runs this first: it checks the number of tasks and the folder, then runs torchrun.
khorovod_rank=$(
  cat <<'RANK'
khorovod_nodes=$1 khorovod_folder=$3
khorovod_host=$(</proc/sys/kernel/hostname)
khorovod_wrong() {
  echo "khorovod: $*" >&2
  exit 197
}
[[ ${SLURM_STEP_NUM_TASKS:-?} == "$khorovod_nodes" && ${SLURM_STEP_NUM_NODES:-?} == "$khorovod_nodes" ]] ||
  khorovod_wrong "wrong world: srun starts ${SLURM_STEP_NUM_TASKS:-?} agents on ${SLURM_STEP_NUM_NODES:-?} nodes; the spec has $khorovod_nodes, one on each"
[[ $PWD -ef $khorovod_folder ]] ||
  khorovod_wrong "$khorovod_host has no folder $khorovod_folder: start from one that all nodes share"
export PET_NODE_RANK=$SLURM_NODEID
shift 3
# srun exits with the highest exit code of all tasks. A task that srun ends because another failed must not exit with a
# higher code than that one.
trap 'wait; exit 1' TERM
"$@" &
wait $!
khorovod_code=$?
# Slurm signals one process after another: the program may receive SIGTERM before its shell does.
((khorovod_code != 143)) || sleep 1
exit "$khorovod_code"
RANK
)
