
# Every rank runs this first: it checks the number of tasks and the folder, then runs the training.
khorovod_rank=$(
  cat <<'RANK'
khorovod_np=$1 khorovod_tasks=$2 khorovod_folder=$3 khorovod_mpi=$4
khorovod_host=$(</proc/sys/kernel/hostname)
khorovod_wrong() {
  echo "khorovod: $*" >&2
  exit 197
}
[[ ${SLURM_STEP_NUM_TASKS:-?} == "$khorovod_np" && ${SLURM_STEP_TASKS_PER_NODE:-?} == "$khorovod_tasks" ]] ||
  khorovod_wrong "wrong world: srun starts ${SLURM_STEP_NUM_TASKS:-?} ranks, ${SLURM_STEP_TASKS_PER_NODE:-?} on each node; the spec has $khorovod_np and $khorovod_tasks"
[[ $khorovod_mpi == none || -n ${PMIX_RANK:-}${PMI_RANK:-}${PMI_FD:-} ]] ||
  khorovod_wrong "srun gave this rank nobody to ask for the others, so each would train alone: name one of 'srun --mpi=list' in slurm.srun.mpi; none, where they meet without MPI"
[[ $PWD -ef $khorovod_folder ]] ||
  khorovod_wrong "$khorovod_host has no folder $khorovod_folder: start from one that all nodes share"
shift 4
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
