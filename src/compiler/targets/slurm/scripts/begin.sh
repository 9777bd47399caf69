
log() { printf '%(%H:%M:%S)T khorovod: %s\n' -1 "$*" >&2; }
fail() {
  log "$2"
  exit "$1"
}

# Is the world the spec's? What stands behind sbatch on a command line wins over the lines above.
[[ -n ${SLURM_JOB_ID:-} ]] || fail 42 "this is a batch script of Slurm: give it to sbatch"
if [[ ${SLURM_JOB_NUM_NODES:-} != "$nodes" || ${SLURM_TASKS_PER_NODE:-} != "$tasks" ]]; then
  fail 42 "wrong world: Slurm gave ${SLURM_JOB_NUM_NODES:-?} nodes, tasks on each: ${SLURM_TASKS_PER_NODE:-?}; the spec has $nodes, tasks on each: $tasks"
fi
# Slurm starts a job again when a node is lost.
tried=${SLURM_RESTART_COUNT:-0}
((tried <= retries)) || fail 42 "Slurm started this job $tried times again, and retries are $retries"
# Ranks get what is set here, whatever sbatch was told to keep from the job.
export PATH SLURM_EXPORT_ENV=ALL
