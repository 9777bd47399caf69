#!/bin/bash
# A worker downloads its data, runs sshd, and exits at once on SIGTERM.
# The trap comes first: the kernel ignores signals to process 1 that have no handler. The code is not 0, or an Indexed Job would
# count an evicted worker as complete.
trap 'exit 143' TERM INT
. /etc/khorovod/scripts/common.sh
. "$scripts/sshd.sh"

download && start_sshd || exit 1
trap 'kill "$sshd"; exit 143' TERM INT
trap 'kill "$sshd"; terminate_message "an MPI daemon was killed on this worker, so the worker exits"; exit 1' USR1
log "worker $HOSTNAME answers on port $port"
wait "$sshd"
code=$?
check_sshd && terminate_message "sshd exited with code $code"
exit 1
