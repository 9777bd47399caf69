
khorovod_training=''
khorovod_told() {
  khorovod_log "told to end"
  [[ -z $khorovod_training ]] || { kill "$khorovod_training" && wait "$khorovod_training"; }
  exit 143
}
trap khorovod_told TERM INT

for (( ; ; khorovod_tried++)); do
  khorovod_left=$((khorovod_deadline ? khorovod_deadline - SECONDS : 0))
  khorovod_log "launching: ${khorovod_launch[*]} ${khorovod_command[*]}"
  # SIGTERM first, so that ranks end in order, and SIGKILL after 10 seconds. A launcher gets the signal alone: an mpirun that
  # gets it twice, once with its process group, leaves its ranks running. For a script, the whole group gets the signal.
  timeout ${khorovod_launch[0]:+--foreground} --kill-after=10 "$khorovod_left" \
    "${khorovod_launch[@]}" "${khorovod_check[@]}" "${khorovod_command[@]}" </dev/null &
  khorovod_training=$!
  wait "$khorovod_training"
  khorovod_code=$? khorovod_training=''
  ((khorovod_code)) || break
  if ((khorovod_deadline && SECONDS >= khorovod_deadline)); then
    khorovod_fail 44 "past its deadline of $khorovod_deadline s"
  fi
  ((khorovod_code != 197)) || khorovod_fail 42 "the world is not the spec's; a rank says above how it differs"
  khorovod_log "attempt $((khorovod_tried + 1)) of $((khorovod_retries + 1)) failed: training ended with code $khorovod_code"
  ((khorovod_tried < khorovod_retries)) || exit "$khorovod_code"
  sleep 2
done
khorovod_log "trained"
