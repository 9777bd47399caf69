
# Each rank first runs this script, which checks its allocation and then replaces itself by the training.
khorovod_rank=$(
  cat <<'RANK'
khorovod_np=$1 khorovod_slots=$2 khorovod_folder=$3
khorovod_host=$(</proc/sys/kernel/hostname)
khorovod_wrong() {
  echo "khorovod: $*" >&2
  exit 197
}
khorovod_size=${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-${HOROVOD_SIZE:-?}}}
khorovod_here=${OMPI_COMM_WORLD_LOCAL_SIZE:-${MPI_LOCALNRANKS:-${HOROVOD_LOCAL_SIZE:-?}}}
[[ $khorovod_size == "$khorovod_np" && $khorovod_here == "$khorovod_slots" ]] ||
  khorovod_wrong "wrong number of ranks: $khorovod_host has $khorovod_here ranks, of $khorovod_size in all; the spec has $khorovod_slots and $khorovod_np (check the mpirun on PATH and launcher.args)"
[[ $PWD -ef $khorovod_folder ]] ||
  khorovod_wrong "the directory $khorovod_folder does not exist on $khorovod_host: submit the job from a directory that all nodes share"
shift 3
exec "$@"
RANK
)
