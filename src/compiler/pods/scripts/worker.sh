#!/bin/bash
# A worker downloads its data and runs sshd. On SIGTERM it lets its ranks save a checkpoint, or exits at once if there are no ranks.
# The trap comes first: the kernel ignores signals to process 1 that have no handler. The code is not 0, or an Indexed Job would
# count an evicted worker as complete.
trap 'exit 143' TERM INT
. /etc/khorovod/scripts/common.sh
end_on 'exit 143' TERM INT
. "$scripts/sshd.sh"
. "$scripts/ranks.sh"

# Announces in sshd's greeting that this worker is about to end, so that the launcher signals the ranks of all workers. If it does
# not, signals the ranks here after half of the time.
leave() {
  local began=$SECONDS
  trap '' TERM INT USR1
  list_ranks
  if ((${#ranks[@]})) || [[ -s $generated/uploads ]]; then
    rm -f "$generated/signalled"
    listen leaving
    while list_ranks && ((${#ranks[@]} && SECONDS - began < checkpoint_grace + 15)); do
      if [[ ! -e $generated/signalled ]] && ((SECONDS - began >= checkpoint_grace / 2)); then
        /bin/bash "$scripts/signal.sh" "$checkpoint_signal"
      fi
      pause 0.3
    done
    upload_leaving
  fi
  kill "$sshd" "${guard:-$sshd}" 2>/dev/null
  exit 143
}

# The first workers watch the launcher: see guard.sh.
guard=''
watches() {
  # With an account of its own, a worker has no token.
  [[ -n $own_job && -e /var/run/secrets/kubernetes.io/serviceaccount/token ]] || return
  case ${HOSTNAME%%.*} in "${team_names[0]}"-[0123]) ;; "${team_names[0]}"-*) return 1 ;; esac
}
if watches; then
  /bin/bash "$scripts/guard.sh" &
  guard=$!
fi

# This container may have started again.
rm -f "$generated"/daemon-*
download && start_sshd || exit 1
lose_daemon() {
  kill "$sshd" "${guard:-$sshd}"
  terminate_message "an MPI daemon was killed on this worker, so the worker exits"
  exit 1
}
end_on leave TERM INT
end_on lose_daemon USR1
log "worker $HOSTNAME answers on port $port"
wait "$sshd"
code=$?
check_sshd && terminate_message "sshd exited with code $code"
exit 1
