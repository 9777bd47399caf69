# Passes on the output of the training, so that stall.sh and relay.py see it. The processes that do it are not in the process group of
# the training, so that they also pass on its last lines. `relays` has their ids.
relays=() is_read=''
if [[ -n ${progress_pattern+given} && ${index:-0} == 0 ]]; then
  if type -P python3 >/dev/null; then is_read=yes; else log "observability.progress needs python3 in the image: the progress stays unknown"; fi
fi
watches_output='' rank_style=''
case $kind,${mpi:-} in mpirun,intelmpi | mpirun,mpich | deepspeed,intelmpi | deepspeed,mpich) rank_style=hydra ;; esac
[[ -z ${stall_action:-} || -n $stall_file$stall_metric ]] || watches_output=yes

[[ -z $is_read$watches_output ]] || start_training() {
  local output errors pipe=$generated/output hold reader
  if [[ -n $is_read ]] && rm -f "$pipe" && mkfifo "$pipe"; then
    # One process reads both: `hold` lets the others open the pipe.
    exec {hold}<>"$pipe"
    exec {errors}>"$pipe"
    exec {reader}<"$pipe"
    exec {output}> >(exec python3 "$scripts/relay.py" relay "$generated/progress" "$progress_pattern" "$rank_style" 3<&"$reader" {reader}<&- {hold}>&- {errors}>&-)
    relays=($!)
    exec {hold}>&- {reader}<&-
  else
    exec {output}> >(exec cat)
    relays=($!)
    exec {errors}> >(exec cat >&2 {output}>&-)
    relays+=($!)
  fi
  set -m
  "$@" </dev/null >&"$output" 2>&"$errors" {output}>&- {errors}>&- &
  training=$!
  set +m
  exec {output}>&- {errors}>&-
}

# Waits for the last lines. A process that left its group may hold them open.
finish_output() {
  local pid tries=0
  for pid in "${relays[@]}"; do
    while kill -0 "$pid" 2>/dev/null && ((tries++ < 50)); do pause 0.1; done
    kill "$pid" 2>/dev/null
  done
  relays=()
}
