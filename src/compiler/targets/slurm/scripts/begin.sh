
# All names in this script start with khorovod_, so that slurm.setup may use any other.
khorovod_log() { printf '%(%H:%M:%S)T khorovod: %s\n' -1 "$*" >&2; }
khorovod_fail() {
  khorovod_log "$2"
  exit "$1"
}

# Options on the command line of sbatch override the lines above, so the number of nodes and tasks is checked.
[[ -n ${SLURM_JOB_ID:-} ]] || khorovod_fail 42 "this is a batch script of Slurm: give it to sbatch"
if [[ ${SLURM_JOB_NUM_NODES:-} != "$khorovod_nodes" || ${SLURM_TASKS_PER_NODE:-} != "$khorovod_tasks" ]]; then
  khorovod_fail 42 "wrong world: Slurm gave ${SLURM_JOB_NUM_NODES:-?} nodes, tasks on each: ${SLURM_TASKS_PER_NODE:-?}; the spec has $khorovod_nodes, tasks on each: $khorovod_tasks"
fi
# Slurm restarts a job if a node fails.
khorovod_tried=${SLURM_RESTART_COUNT:-0}
((khorovod_tried <= khorovod_retries)) ||
  khorovod_fail 42 "Slurm started this job $khorovod_tried times again, and retries are $khorovod_retries"
# Ranks get the environment of this script, whatever `--export` is given to sbatch.
export PATH SLURM_EXPORT_ENV=ALL
