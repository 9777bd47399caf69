#!/bin/bash
# A worker's life: fetch its data, answer on ssh, end at once when told.
# First of all: a container's first process is deaf to signals that it has no trap for. Not 0: an Indexed
# Job would take an evicted worker for a finished one.
trap 'exit 143' TERM INT
. /etc/khorovod/scripts/common.sh
. "$scripts/sshd.sh"

download && start_sshd || exit 1
trap 'kill "$sshd"; exit 143' TERM INT
trap 'kill "$sshd"; epitaph "an MPI daemon was killed here, so this worker ends"; exit 1' USR1
log "worker $HOSTNAME answers on port $port"
wait "$sshd"
code=$?
sshd_is_sound && epitaph "sshd ended with code $code"
exit 1
