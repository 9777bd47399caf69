# shellcheck shell=bash disable=SC1091,SC2034,SC2154
# Asserts the world before anything trains: the MPI asked for, and one version of it everywhere.
# Whether ranks are where they belong, each checks for itself (rank.sh).

# Sets `found`. Before any worker is asked for.
check_mpi() {
  found=$(mpi_found)
  if [[ $found == none ]]; then finish 42 "the image has no mpirun on PATH; the spec says $mpi"; fi
  if [[ ${found%% *} != "$mpi" ]]; then finish 42 "the image has $found; the spec says $mpi (launcher.mpi)"; fi
  # Where daemons cannot reach the launcher, Open MPI would wait for ever; and it gives a node that
  # falls silent eight minutes. What the user has set stays.
  mca startup_timeout "$((120 + np / 50))" orte prte
  mca tcp_keepalive_time 4 oob
  mca tcp_keepalive_intvl 2 oob
  mca tcp_keepalive_probes 2 oob
}

# mca NAME VALUE FRAMEWORK...: a parameter of Open MPI, in the first's name for 4 and in the last's for 5.
mca() {
  local four=OMPI_MCA_$3_$1 five=PRTE_MCA_${*: -1}_$1
  export "$four=${!four:-$2}" "$five=${!five:-$2}"
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
