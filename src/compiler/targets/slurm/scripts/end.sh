
khorovod_training=''
khorovod_on_signal() {
  khorovod_log "received SIGTERM"
  [[ -z $khorovod_training ]] || { kill "$khorovod_training" && wait "$khorovod_training"; }
  exit 143
}
trap khorovod_on_signal TERM INT

for (( ; ; khorovod_tried++)); do
  khorovod_left=$((khorovod_deadline ? khorovod_deadline - SECONDS : 0))
  khorovod_log "launching: ${khorovod_launch[*]} ${khorovod_command[*]}"
  # timeout sends SIGTERM first, so that the launcher stops its ranks, and SIGKILL after 10 seconds. With --foreground only the
  # launcher gets the signal: mpirun leaves its ranks running if it gets the signal twice, once as a member of the process
  # group. A shell command has no launcher, so its whole process group gets the signal.
  timeout ${khorovod_launch[0]:+--foreground} --kill-after=10 "$khorovod_left" \
    "${khorovod_launch[@]}" "${khorovod_check[@]}" "${khorovod_command[@]}" </dev/null &
  khorovod_training=$!
  wait "$khorovod_training"
  khorovod_code=$? khorovod_training=''
  ((khorovod_code)) || break
  if ((khorovod_deadline && SECONDS >= khorovod_deadline)); then
    khorovod_fail 44 "past its deadline of $khorovod_deadline s"
  fi
  ((khorovod_code != 197)) || khorovod_fail 42 "the ranks do not match the spec; see the message of a rank above"
  khorovod_log "attempt $((khorovod_tried + 1)) of $((khorovod_retries + 1)) failed: training exited with code $khorovod_code"
  ((khorovod_tried < khorovod_retries)) || exit "$khorovod_code"
  sleep 2
done
khorovod_log "training succeeded"
