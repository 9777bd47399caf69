
# The first node is where the agents meet.
PET_MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
PET_MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))
export PET_MASTER_ADDR PET_MASTER_PORT

# What every agent is first: checks its place, then runs torchrun.
rank=$(
  cat <<'RANK'
nodes=$1 folder=$3
host=$(</proc/sys/kernel/hostname)
wrong() {
  echo "khorovod: $*" >&2
  exit 197
}
[[ ${SLURM_STEP_NUM_TASKS:-?} == "$nodes" && ${SLURM_STEP_NUM_NODES:-?} == "$nodes" ]] ||
  wrong "wrong world: srun starts ${SLURM_STEP_NUM_TASKS:-?} agents on ${SLURM_STEP_NUM_NODES:-?} nodes; the spec has $nodes, one on each"
[[ $PWD -ef $folder ]] || wrong "$host has no folder $folder: start from one that all nodes share"
export PET_NODE_RANK=$SLURM_NODEID
shift 3
# srun ends with the highest code of all: what it ends itself, because another failed, must not outdo that.
trap 'wait; exit 1' TERM
"$@" &
wait $!
code=$?
# Slurm tells one process after another to end: the program may know before its shell does.
((code != 143)) || sleep 1
exit "$code"
RANK
)
