
log() { printf '%(%H:%M:%S)T khorovod: %s\n' -1 "$*" >&2; }
fail() {
  log "$2"
  exit "$1"
}

# Options on the command line of sbatch override the #SBATCH lines, so the nodes and tasks are checked.
[[ -n ${SLURM_JOB_ID:-} ]] || fail 42 "this is a batch script for Slurm: submit it with sbatch"
if [[ ${SLURM_JOB_NUM_NODES:-} != "$nodes" || ${SLURM_TASKS_PER_NODE:-} != "$tasks" ]]; then
  fail 42 "wrong world: Slurm gave ${SLURM_JOB_NUM_NODES:-?} nodes, tasks per node: ${SLURM_TASKS_PER_NODE:-?}; the spec has $nodes, tasks per node: $tasks"
fi
# Slurm restarts a job after it loses a node.
tried=${SLURM_RESTART_COUNT:-0}
((tried <= retries)) || fail 42 "Slurm restarted this job $tried times, and launcher.retries is $retries"
# Ranks get all variables of this script, whatever --export of sbatch says.
export PATH SLURM_EXPORT_ENV=ALL
