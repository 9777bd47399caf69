
# All names in this script start with khorovod_, so that slurm.setup may use any other.
khorovod_log() { printf '%(%H:%M:%S)T khorovod: %s\n' -1 "$*" >&2; }
khorovod_fail() {
  khorovod_log "$2"
  exit "$1"
}

# Check that the allocation matches the spec: options on the command line of sbatch override the directives above.
[[ -n ${SLURM_JOB_ID:-} ]] || khorovod_fail 42 "this is a Slurm batch script: submit it with sbatch"
if [[ ${SLURM_JOB_NUM_NODES:-} != "$khorovod_nodes" || ${SLURM_TASKS_PER_NODE:-} != "$khorovod_tasks" ]]; then
  khorovod_fail 42 "wrong allocation: Slurm allocated ${SLURM_JOB_NUM_NODES:-?} nodes with ${SLURM_TASKS_PER_NODE:-?} tasks per node; the spec has $khorovod_nodes nodes with $khorovod_tasks tasks per node"
fi
# Slurm restarts a job if a node fails.
khorovod_tried=${SLURM_RESTART_COUNT:-0}
((khorovod_tried <= khorovod_retries)) ||
  khorovod_fail 42 "Slurm restarted this job $khorovod_tried times, and launcher.retries is $khorovod_retries"
# Ranks get the variables that are set here, even if sbatch was called with --export=NONE.
export PATH SLURM_EXPORT_ENV=ALL
