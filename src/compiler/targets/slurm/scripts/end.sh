
training=''
terminate() {
  log "received SIGTERM"
  [[ -z $training ]] || { kill "$training" && wait "$training"; }
  exit 143
}
trap terminate TERM INT

for (( ; ; tried++)); do
  left=$((deadline ? deadline - SECONDS : 0))
  log "launching: ${launch[*]} ${command[*]}"
  # SIGTERM, and SIGKILL to what is left after 10 seconds. A launcher gets SIGTERM alone: an mpirun that gets it twice, once
  # with its group, leaves its ranks running. A script gets it with its whole group.
  timeout ${launch[0]:+--foreground} --kill-after=10 "$left" "${launch[@]}" "${check[@]}" "${command[@]}" </dev/null &
  training=$!
  wait "$training"
  code=$? training=''
  ((code)) || break
  if ((deadline && SECONDS >= deadline)); then fail 44 "past its deadline of $deadline s"; fi
  ((code != 197)) || fail 42 "the ranks do not match the spec; see a rank's line above"
  log "attempt $((tried + 1)) of $((retries + 1)) failed: training ended with code $code"
  ((tried < retries)) || exit "$code"
  sleep 2
done
log "trained"
