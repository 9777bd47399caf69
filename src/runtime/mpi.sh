# Prints the MPI found on PATH and its version: `openmpi 4.1.4`.
mpi_found() {
  local text
  text=$(mpirun --version 2>&1)
  if [[ $text =~ 'Open MPI) '([0-9][^[:space:]]*) ]]; then
    echo "openmpi ${BASH_REMATCH[1]}"
  elif [[ $text =~ 'Intel(R) MPI Library'.*'Version '([0-9][^[:space:]]*) ]]; then
    echo "intelmpi ${BASH_REMATCH[1]}"
  elif [[ $text =~ HYDRA.*Version:[[:space:]]*([0-9][^[:space:]]*) ]]; then
    echo "mpich ${BASH_REMATCH[1]}"
  else
    echo none
  fi
}
