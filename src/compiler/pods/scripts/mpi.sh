# Sets `found`, the MPI on PATH and its version: `openmpi 4.1.4`; or none.
find_mpi() {
  local text
  found=none
  text=$(mpirun --version 2>&1)
  if [[ $text =~ 'Open MPI) '([0-9][^[:space:]]*) ]]; then
    found="openmpi ${BASH_REMATCH[1]}"
  elif [[ $text =~ 'Intel(R) MPI Library'.*'Version '([0-9][^[:space:]]*) ]]; then
    found="intelmpi ${BASH_REMATCH[1]}"
  elif [[ $text =~ HYDRA.*Version:[[:space:]]*([0-9][^[:space:]]*) ]]; then
    found="mpich ${BASH_REMATCH[1]}"
  fi
}
