# One attempt at the training: started in a process group of its own, watched, and ended whole.
training='' watcher=''

start() {
  set -m
  "$@" </dev/null &
  training=$!
  set +m
}

running() { kill -0 "$training" 2>/dev/null; }

# stop_training [SECONDS]: asks first, so that MPI can end its ranks; what is left after 10 seconds is killed. Of a script all
# is asked that it has started; mpirun alone, which gives up when it is asked twice.
stop_training() {
  local tries=0 whom=$training
  [[ -z $watcher ]] || kill -KILL -- "-$watcher" 2>/dev/null
  watcher=''
  [[ -n $training ]] || return 0
  [[ $kind != shell ]] || whom=-$training
  kill -TERM -- "$whom" 2>/dev/null
  while kill -0 -- "$whom" 2>/dev/null && ((tries++ < ${1:-10} * 5)); do pause 0.2; done
  kill -KILL -- "-$training" 2>/dev/null
  wait "$training" 2>/dev/null
  training=''
}

# Superseded, or out of time: the limits that end a run from outside.
check_limits() {
  local deadline
  if superseded; then finish 43 "superseded: run $(limit run '') is current"; fi
  deadline=$(limit deadline '')
  if [[ -n $deadline ]] && (($(printf '%(%s)T' -1) - began >= deadline)); then
    finish 44 "past its deadline of $deadline s"
  fi
}

# Ends once a worker was silent for long, with its name in `lost`. MPI notices a process that ends, and
# some a node that falls silent (world.sh); what is merely busy must not be taken for lost.
watch_workers() {
  local times
  patience=8
  while sleep "$((3 + ${#hosts[@]} / 64))"; do
    missing=("${hosts[@]}")
    for times in 1 2 3; do
      find_missing "${missing[@]}"
      ((${#missing[@]})) || continue 2
    done
    some "${missing[@]}" >"$generated/lost"
    return
  done
}

# Pods of some clusters have none, or, as on EKS, one that leads out of the cluster and that no name has.
has_ipv4() {
  local routes
  mapfile -t routes </proc/net/route
  ((${#routes[@]} > 1)) || return
  [[ -n $(getent ahostsv4 "$HOSTNAME" 2>/dev/null) || -z $(getent ahostsv6 "$HOSTNAME" 2>/dev/null) ]]
}

# explain_family CODE: ends the run where its launch cannot go well without IPv4, which nobody else says.
explain_family() {
  has_ipv4 || case "${found:-$kind} $1 $HOSTNAME" in
  openmpi\ 5.*\ 139\ *.*) ;;
  openmpi\ 5.*\ 139\ * | mpich*\ 255\ * | horovodrun\ 1\ *) finish 42 "${found:-$kind} does not launch where pods reach each other by IPv6 alone" ;;
  esac
}

# attempt [watch]: runs the launch to its end; sets `failure`, empty when it went well.
attempt() {
  local checked=$SECONDS code
  failure=''
  : >"$generated/lost"
  # Of discover.sh: who died with the last attempt is not to be taken for one that is busy.
  rm -f "$generated/seen" "$generated/found"
  few_since=''
  log "launching: ${launch[*]@Q}"
  start "${launch[@]}"
  if [[ ${1:-} == watch ]]; then
    set -m
    watch_workers &
    watcher=$!
    disown "$watcher"
    set +m
  fi
  while running; do
    pause 0.5
    if [[ -s $generated/lost ]]; then
      failure="lost worker $(<"$generated/lost")"
      log "$failure"
      # MPI would wait for it; sweep.sh ends what stays on the others.
      stop_training 1
      return 1
    fi
    if ((SECONDS - checked >= 5)); then
      check_limits
      [[ -z ${min_workers:-} || ! -e $generated/found ]] || tell_of_few || {
        stop_training
        return 1
      }
      checked=$SECONDS
    fi
  done
  wait "$training"
  code=$?
  stop_training
  missing=()
  [[ ${1:-} != watch ]] || find_missing "${hosts[@]}"
  # Open MPI 5 ends with 0 where it loses a host. One that is merely busy is asked again.
  if ((code == 0 && ${#missing[@]})); then patience=8 find_missing "${missing[@]}"; fi
  ((code || ${#missing[@]})) || return 0
  # Said by rank.sh.
  if ((code == 197)); then finish 42 "the world is not the spec's; a rank says above how it differs"; fi
  explain_family "$code"
  failure="training ended with code $code"
  # MPI may have seen first what the watch would have.
  if ((${#missing[@]})); then
    some "${missing[@]}" >"$generated/lost"
    failure="lost worker $(<"$generated/lost"): $failure"
  fi
  return 1
}
