
training=''
told() {
  log "told to end"
  [[ -z $training ]] || { kill "$training" && wait "$training"; }
  exit 143
}
trap told TERM INT

for (( ; ; tried++)); do
  left=$((deadline ? deadline - SECONDS : 0))
  log "launching: ${launch[*]} ${command[*]}"
  # Asks first, so that ranks are ended in order; what is left after 10 seconds is killed. A launcher is asked alone: mpirun
  # that is asked twice, once as one of its group, leaves its ranks behind. Of a script, the whole group is asked.
  timeout ${launch[0]:+--foreground} --kill-after=10 "$left" "${launch[@]}" "${check[@]}" "${command[@]}" </dev/null &
  training=$!
  wait "$training"
  code=$? training=''
  ((code)) || break
  if ((deadline && SECONDS >= deadline)); then fail 44 "past its deadline of $deadline s"; fi
  ((code != 197)) || fail 42 "the world is not the spec's; a rank says above how it differs"
  log "attempt $((tried + 1)) of $((retries + 1)) failed: training ended with code $code"
  ((tried < retries)) || exit "$code"
  sleep 2
done
log "trained"
