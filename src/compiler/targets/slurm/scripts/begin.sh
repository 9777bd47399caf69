
# All names in this script start with khorovod_, so that slurm.setup may use any other.
khorovod_log() { printf '%(%H:%M:%S)T khorovod: %s\n' -1 "$*" >&2; }
khorovod_fail() {
  khorovod_log "$2"
  exit "$1"
}

# Options on the command line of sbatch override the #SBATCH lines, so the nodes and tasks are checked.
[[ -n ${SLURM_JOB_ID:-} ]] || khorovod_fail 42 "this is a batch script for Slurm: submit it with sbatch"
if [[ ${SLURM_JOB_NUM_NODES:-} != "$khorovod_nodes" || ${SLURM_TASKS_PER_NODE:-} != "$khorovod_tasks" ]]; then
  khorovod_fail 42 "wrong world: Slurm gave ${SLURM_JOB_NUM_NODES:-?} nodes, tasks per node: ${SLURM_TASKS_PER_NODE:-?}; the spec has $khorovod_nodes, tasks per node: $khorovod_tasks"
fi
# Slurm restarts a job after it loses a node.
khorovod_tried=${SLURM_RESTART_COUNT:-0}
((khorovod_tried <= khorovod_retries)) ||
  khorovod_fail 42 "Slurm restarted this job $khorovod_tried times, and lifecycle.retries is $khorovod_retries"
# Ranks get all variables of this script, also with `sbatch --export=NONE`.
export PATH SLURM_EXPORT_ENV=ALL
