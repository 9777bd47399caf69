
# What every rank is first: checks its place, then becomes the training.
rank=$(
  cat <<'RANK'
np=$1 slots=$2 folder=$3
host=$(</proc/sys/kernel/hostname)
wrong() {
  echo "khorovod: $*" >&2
  exit 197
}
size=${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-${HOROVOD_SIZE:-?}}}
here=${OMPI_COMM_WORLD_LOCAL_SIZE:-${MPI_LOCALNRANKS:-${HOROVOD_LOCAL_SIZE:-?}}}
[[ $size == "$np" && $here == "$slots" ]] ||
  wrong "wrong world: this rank on $host is one of $here there and of $size in all; the spec has $slots and $np (another mpirun on PATH, or launcher.args?)"
[[ $PWD -ef $folder ]] || wrong "$host has no folder $folder: start from one that all nodes share"
shift 3
exec "$@"
RANK
)
