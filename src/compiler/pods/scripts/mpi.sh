# Sets `mpi_found` to the MPI on PATH and its version, such as `openmpi 4.1.4`, or to none.
find_mpi() {
  local text
  mpi_found=none
  text=$(mpirun --version 2>&1)
  if [[ $text =~ 'Open MPI) '([0-9][^[:space:]]*) ]]; then
    mpi_found="openmpi ${BASH_REMATCH[1]}"
  elif [[ $text =~ 'Intel(R) MPI Library'.*'Version '([0-9][^[:space:]]*) ]]; then
    mpi_found="intelmpi ${BASH_REMATCH[1]}"
  elif [[ $text =~ HYDRA.*Version:[[:space:]]*([0-9][^[:space:]]*) ]]; then
    mpi_found="mpich ${BASH_REMATCH[1]}"
  fi
}
