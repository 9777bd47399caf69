# Checks before the training that every host has the MPI of the spec, in one version.

check_mpi() {
  find_mpi
  if [[ $mpi_found == none ]]; then finish 42 "the image has no mpirun on PATH, and launcher.mpi is $mpi"; fi
  if [[ ${mpi_found%% *} != "$mpi" ]]; then finish 42 "the image has $mpi_found, and launcher.mpi is $mpi"; fi
  # Intel MPI uses IPv6 only with -v6. Over TCP its ranks exchange link-local addresses and wait without end.
  if [[ $mpi != intelmpi ]] || has_ipv4; then return; fi
  [[ -n ${FI_PROVIDER:-}${I_MPI_OFI_PROVIDER:-} ]] ||
    finish 42 "$mpi_found does not use TCP in pods that have only IPv6 addresses; set FI_PROVIDER in env to another fabric"
  launch=("${launch[0]}" -v6 "${launch[@]:1}")
}

# Compares the MPI that each worker has sent in its answer.
check_mpi_versions() {
  local host others=()
  for host in "${hosts[@]}"; do
    [[ ${answers[$host]} == "${mpi_found/ /-}" ]] || others+=("$host has ${answers[$host]/-/ }")
  done
  if ((${#others[@]})); then finish 42 "MPI differs: the launcher has $mpi_found; $(shorten "${others[@]}")"; fi
  log "$mpi_found on ${#hosts[@]} hosts for $np ranks"
}
