
khorovod_training=''
khorovod_terminate() {
  khorovod_log "received SIGTERM"
  [[ -z $khorovod_training ]] || { kill "$khorovod_training" && wait "$khorovod_training"; }
  exit 143
}
# If the signal arrives while bash 5.2 reads a `$(`, bash reads the trap as a part of it, and refuses a trap without the `)`.
printf -v khorovod_on_term 'khorovod_terminate\n)'
trap -- "$khorovod_on_term" TERM INT
khorovod_saving=''
[[ -z ${khorovod_signal:-} ]] || trap khorovod_save "$khorovod_signal"

for (( ; ; khorovod_tried++)); do
  khorovod_left=$((khorovod_deadline ? khorovod_deadline - SECONDS : 0))
  khorovod_log "launching: ${khorovod_launch[*]} ${khorovod_command[*]}"
  # SIGTERM, and SIGKILL to what is left after 30 seconds. A launcher gets SIGTERM alone: an mpirun that gets it twice, once
  # with its group, leaves its ranks running. A script gets it with its whole group.
  timeout ${khorovod_launch[0]:+--foreground} --kill-after=30 "$khorovod_left" \
    "${khorovod_launch[@]}" "${khorovod_check[@]}" "${khorovod_command[@]}" </dev/null &
  khorovod_training=$!
  # A signal interrupts `wait`. 127: an earlier `wait` has returned the code.
  khorovod_code=127
  while
    khorovod_interrupted=''
    wait "$khorovod_training"
    khorovod_ended=$?
    ((khorovod_ended == 127)) || khorovod_code=$khorovod_ended
    [[ -n $khorovod_interrupted ]]
  do :; done
  khorovod_training=''
  ((khorovod_code)) || break
  if ((khorovod_deadline && SECONDS >= khorovod_deadline)); then
    khorovod_fail 44 "past its deadline of $khorovod_deadline s"
  fi
  [[ -z $khorovod_saving ]] ||
    khorovod_fail "$khorovod_code" "the ranks ended with code $khorovod_code after SIG${khorovod_signal:-}"
  ((khorovod_code != 197)) || khorovod_fail 42 "the ranks do not match the spec; see a rank's line above"
  khorovod_log "attempt $((khorovod_tried + 1)) of $((khorovod_retries + 1)) failed: training ended with code $khorovod_code"
  ((khorovod_tried < khorovod_retries)) || exit "$khorovod_code"
  sleep 2
  [[ -z $khorovod_saving ]] || exit "$khorovod_code"
done
khorovod_log "trained"
