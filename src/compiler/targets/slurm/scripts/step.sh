
# Each rank first runs this script, which checks its allocation and then runs the training.
khorovod_rank=$(
  cat <<'RANK'
khorovod_np=$1 khorovod_tasks=$2 khorovod_folder=$3 khorovod_mpi=$4
khorovod_host=$(</proc/sys/kernel/hostname)
khorovod_wrong() {
  echo "khorovod: $*" >&2
  exit 197
}
[[ ${SLURM_STEP_NUM_TASKS:-?} == "$khorovod_np" && ${SLURM_STEP_TASKS_PER_NODE:-?} == "$khorovod_tasks" ]] ||
  khorovod_wrong "wrong number of ranks: srun starts ${SLURM_STEP_NUM_TASKS:-?} ranks, ${SLURM_STEP_TASKS_PER_NODE:-?} per node; the spec has $khorovod_np and $khorovod_tasks"
[[ $khorovod_mpi == none || -n ${PMIX_RANK:-}${PMI_RANK:-}${PMI_FD:-} ]] ||
  khorovod_wrong "srun did not set up MPI for this rank, so each rank would train separately: set slurm.srun.mpi to a value from 'srun --mpi=list', or to none if the ranks do not use MPI"
[[ $PWD -ef $khorovod_folder ]] ||
  khorovod_wrong "the directory $khorovod_folder does not exist on $khorovod_host: submit the job from a directory that all nodes share"
shift 4
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
