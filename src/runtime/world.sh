# Asserts the world before anything trains: the MPI asked for, and one version of it everywhere.
# Whether ranks are where they belong, each checks for itself (rank.sh).

# Sets `found`.
check_mpi() {
  found=$(mpi_found)
  if [[ $found == none ]]; then finish 42 "the image has no mpirun on PATH; the spec says $mpi"; fi
  if [[ ${found%% *} != "$mpi" ]]; then finish 42 "the image has $found; the spec says $mpi (launcher.mpi)"; fi
  # Intel MPI asks for IPv6 only where it is told.
  [[ $mpi != intelmpi ]] || has_ipv4 || launch=("${launch[0]}" -v6 "${launch[@]:1}")
}

# Pods of some clusters have none.
has_ipv4() {
  local routes
  mapfile -t routes </proc/net/route
  ((${#routes[@]} > 1))
}

# explain_family CODE: ends the run where its launch cannot go well without IPv4, which MPI's own words do not say.
explain_family() {
  has_ipv4 || case "$found $1 $HOSTNAME" in
  openmpi\ 5.*\ 139\ *.*) ;;
  openmpi\ 5.*\ 139\ * | mpich*\ 255\ *) finish 42 "$found does not launch where pods have no IPv4 address" ;;
  esac
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
