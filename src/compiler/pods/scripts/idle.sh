# Stays open for `kubectl exec` until nobody has used the pod for the idle time.

# Whether anything runs here but this script and the pod's sshd. It starts no process to look.
busy() {
  local folder pid word
  for folder in /proc/[0-9]*; do
    pid=${folder#/proc/}
    [[ $pid == "$$" || $pid == "${sshd:-}" ]] && continue
    # A process that has ended and one that was gone show no words.
    { IFS= read -r -d '' word <"$folder/cmdline"; } 2>/dev/null && return 0
  done
  return 1
}

stay_open() {
  local idle used=$SECONDS
  mkfifo "$generated/quiet"
  log "ready: ${#hosts[@]} workers, hostfile $generated/hostfile; ends when idle"
  while :; do
    # A sleep without a process.
    read -r -t 5 <>"$generated/quiet"
    if busy; then used=$SECONDS; fi
    check_limits
    idle=$(limit idle-timeout 7200)
    if ((SECONDS - used >= idle)); then finish 0 "nobody used it for $idle s"; fi
  done
}
