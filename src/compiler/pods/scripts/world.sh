# Asserts the world before anything trains: the MPI asked for, and one version of it everywhere.
# Whether ranks are where they belong, each checks for itself (rank.sh).

check_mpi() {
  find_mpi
  if [[ $found == none ]]; then finish 42 "the image has no mpirun on PATH; the spec says $mpi"; fi
  if [[ ${found%% *} != "$mpi" ]]; then finish 42 "the image has $found; the spec says $mpi (launcher.mpi)"; fi
  # Intel MPI asks for IPv6 only where it is told. Over TCP its ranks name link-local addresses, and wait for ever.
  if [[ $mpi != intelmpi ]] || has_ipv4; then return; fi
  [[ -n ${FI_PROVIDER:-}${I_MPI_OFI_PROVIDER:-} ]] ||
    finish 42 "$found does not go over TCP where pods reach each other by IPv6 alone; another fabric is named by FI_PROVIDER in env"
  launch=("${launch[0]}" -v6 "${launch[@]:1}")
}

# The workers said which MPI they have when they answered.
assert_world() {
  local host others=()
  for host in "${hosts[@]}"; do
    [[ ${answers[$host]} == "${found/ /-}" ]] || others+=("$host has ${answers[$host]/-/ }")
  done
  if ((${#others[@]})); then finish 42 "MPI differs: the launcher has $found; $(some "${others[@]}")"; fi
  log "$found on ${#hosts[@]} hosts for $np ranks"
}
