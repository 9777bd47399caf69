# Starts a large job over a tree of ssh sessions. Sourced by the launcher, srun and order.sh; README.md describes the tree.

# From how many hosts on, and how many hosts each host starts itself. Tests set other values.
tree_from=${tree_from:-65}
tree_radix=${tree_radix:-32}

# Whether the hosts of the attempt can be reached over a tree. After a launch that failed because of it, the next attempts do not use it.
has_tree() { ((${#hosts[@]} >= tree_from)) && [[ -s $generated/tree && ! -e $generated/tree-failed ]]; }

# Makes mpirun start its daemons with one call of `srun`, as in a Slurm job, if the attempt has many hosts. The launcher may be mpirun, or
# call it. An mpirun without support for Slurm ignores it and uses ssh.
use_tree() {
  local names="${hosts[*]}"
  uses_tree=''
  rm -f "$generated/bin/srun" "$generated/tree-errors" "$generated/tree-code" "$generated/logged-in"
  tree_environment unset
  has_tree || return 0
  beat 60
  # horovodrun executes `true` on each host before it starts. With this file, the script `ssh` answers that.
  [[ $kind != horovodrun ]] || ! over_tree 60 true || : >"$generated/logged-in"
  # A script may call other programs, which must not believe that they run in a Slurm job. With Gloo, horovodrun calls no mpirun.
  [[ $kind != shell && " ${launch[*]} " != *" --gloo "* ]] || return 0
  # Other programs than Open MPI 4 pass the names of all hosts to srun in one word, and Linux allows 128 KiB for it.
  [[ ${mpi_found:-} == openmpi\ 4.* ]] || ((${#names} < 120000)) || return 0
  # Each mpirun keeps a connection for each host.
  ulimit -S -n "$(ulimit -H -n)" 2>/dev/null
  install -m 0755 "$scripts/srun" "$generated/bin/srun"
  tree_environment export
  uses_tree=yes
  if [[ $kind == mpirun ]]; then log "the launch uses a tree of ssh sessions"; else log "mpirun uses a tree of ssh sessions, if $kind calls it"; fi
}

# over_tree SECONDS COMMAND...: runs a command on all hosts of the attempt except this one, and prints its output, in which lines of
# different hosts follow each other in any order. Fails without a tree, and if the command failed on a host; then other hosts may have
# executed it.
over_tree() { has_tree && timeout -k 6 "$1" /bin/bash "$scripts/srun" --command "${@:2}" 2>/dev/null; }

# Sweeps the hosts of the attempt over the tree. The workers must have accepted this launcher before. If this fails, sweep opens all
# sessions itself.
sweep_tree() {
  local output
  ((attempts)) && output=$(over_tree 30 /bin/bash "$scripts/sweep.sh") || return
  mapfile -t remarks < <(printf '%s' "$output")
}

# Whether srun, which mpirun has called in this attempt, reports that a daemon was killed. Open MPI 5 exits with 0 even then, but its other
# daemons do not. srun writes its exit code to the file `tree-code`, which is empty until then; waits at most ten seconds for it.
lost_daemon() {
  local tries=0 code
  while [[ ! -s $generated/tree-code ]] && ((tries++ < 50)); do pause 0.2; done
  code=$(<"$generated/tree-code")
  [[ -n $code && $code != 0 && $code != 78 ]]
}

# tree_environment export|unset: the variables that choose srun. Those of the user stay.
tree_environment() {
  local pair name
  for pair in "${tree_variables[@]}"; do
    name=${pair%%=*}
    if [[ $1 == unset ]]; then
      [[ ${!name:-} != "${pair#*=}" ]] || unset "$name"
      [[ -z ${tree_before[$name]:-} ]] || export "$name=${tree_before[$name]}"
    else
      tree_before[$name]=${!name:-}
      export "${pair?}"
    fi
  done
}
declare -A tree_before=()
case $mpi in
openmpi) tree_variables=(SLURM_JOBID=1 OMPI_MCA_ras=^slurm PRTE_MCA_ras=^slurm) ;;
mpich) tree_variables=(HYDRA_LAUNCHER=slurm "HYDRA_LAUNCHER_EXEC=$generated/bin/srun") ;;
intelmpi) tree_variables=(I_MPI_HYDRA_BOOTSTRAP=slurm "I_MPI_HYDRA_BOOTSTRAP_EXEC=$generated/bin/srun") ;;
esac

# pass_lines COMMAND...: executes it. If the order is a command of the launcher, its output is passed on in whole lines, so that lines of
# several hosts, which the sessions pass on in parts, do not mix.
pass_lines() {
  if [[ -n $is_command ]]; then
    exec > >(while IFS= read -r line; do printf '%s\n' "$line"; done)
  fi
  exec "$@"
}

# hand_down ORDER FROM TO OPTION...: opens a session to some of the hosts FROM to TO of an order. Each of them starts those that
# follow it. `started` gets the process ids, and the options are those of ssh.
started=()
hand_down() {
  local order=$1 from=$2 count=$(($3 - $2)) child first last host address
  shift 3
  set -m
  for ((child = 0; child < tree_radix; child++)); do
    first=$((from + count * child / tree_radix)) last=$((from + count * (child + 1) / tree_radix))
    ((first < last)) || continue
    read -r host address _ <<<"${tree_hosts[first]}"
    ssh_program "$@" -o "HostName=$address" "$host" "/bin/bash $scripts/order.sh $first $last" <"$order" &
    started+=($!)
  done
  set +m
}

# wait_started: waits for all processes in `started`, or until one of them fails. Returns its code. A command of the launcher runs to its
# end on each host that it reaches.
wait_started() {
  local left=${#started[@]} code failed=0
  while ((left-- > 0)); do
    wait -n
    code=$?
    ((code == 0)) || failed=$code
    if ((code == 78)) || [[ -z $is_command && $code != 0 ]]; then break; fi
  done
  return "$failed"
}

# end_started: ends them.
end_started() {
  local pid tries=0
  trap '' TERM INT HUP
  for pid in "${started[@]}"; do kill -TERM -- "-$pid"; done 2>/dev/null
  for pid in "${started[@]}"; do
    while kill -0 -- "-$pid" && ((tries++ < 25)); do sleep 0.2; done
    kill -KILL -- "-$pid"
  done 2>/dev/null
}

# watch_process PID [SECONDS]: returns 78 a few seconds after a process has ended. It starts no process, because it runs as long as the
# training.
watch_process() {
  local quiet
  mkfifo "$generated/watch-$BASHPID" && exec {quiet}<>"$generated/watch-$BASHPID" && rm "$generated/watch-$BASHPID"
  while [[ -e /proc/$1 ]]; do read -r -t 2 -u "$quiet"; done
  read -r -t "${2:-0.1}" -u "$quiet"
  return 78
}
