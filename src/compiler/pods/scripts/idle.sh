# Keeps the pod for `kubectl exec` until it was idle for launcher.idleTimeout.

# Whether anything runs here but this script, sshd and the two groups of processes of status.sh. Starts no process to find out.
is_busy() {
  local folder pid word line group
  for folder in /proc/[0-9]*; do
    pid=${folder#/proc/}
    [[ $pid == "$$" || $pid == "${sshd:-}" ]] && continue
    { IFS= read -r line <"$folder/stat"; } 2>/dev/null || continue
    # The fifth field is the process group. The second one, the name, may contain spaces.
    read -r _ _ group _ <<<"${line##*) }"
    [[ $group == "${writer:--}" || $group == "${server:--}" ]] && continue
    # A process that has exited has an empty command line or none.
    { IFS= read -r -d '' word <"$folder/cmdline"; } 2>/dev/null && return 0
  done
  return 1
}

stay_open() {
  local idle used=$SECONDS
  log "ready: ${#hosts[@]} workers, hostfile $generated/hostfile; exits when idle"
  record_phase training "ready for kubectl exec; exits when idle"
  while :; do
    pause 5
    if is_busy; then used=$SECONDS; fi
    check_limits
    idle=$(limit idle-timeout 7200)
    if ((SECONDS - used >= idle)); then finish 0 "idle for $idle s"; fi
  done
}
