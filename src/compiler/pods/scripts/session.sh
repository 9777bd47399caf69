#!/bin/bash
# What sshd has the user's shell read for every session: the command asked for, in the worker's own environment.
# A connection that breaks takes its processes along, so that no rank stays behind on a GPU.
set -u
mapfile -d '' -t environment </horovod/generated/environment
cd "${environment[-1]#PWD=}" || exit
command=${SSH_ORIGINAL_COMMAND:-}

if [[ $command == internal-sftp ]]; then
  for folder in /usr/lib/openssh /usr/libexec/openssh /usr/lib/ssh /usr/libexec; do
    [[ -x $folder/sftp-server ]] && exec env "${environment[@]}" "$folder/sftp-server"
  done
  echo "the image has no sftp-server" >&2
  exit 127
fi
if [[ -z $command ]]; then exec env "${environment[@]}" /bin/bash; fi
if [[ -n ${SSH_TTY:-} ]]; then exec env "${environment[@]}" /bin/bash -c "$command"; fi

set -m # a process group each
exec 3>&2 2>/dev/null # or bash tells the caller what became of them
# A daemon of Open MPI would leave its session, and nobody would learn how it ends: Open MPI 5 calls it a success when one
# is killed. It stays a child here, and this worker ends with it (worker.sh).
if [[ $command == *ted\ *--daemonize* ]]; then
  said=/horovod/generated/daemon-$$
  (
    env "${environment[@]}" /bin/bash -c "${command/ --daemonize/}"
    code=$?
    [[ $code != 13[4-9] ]] || kill -USR1 "$(head -n 1 /horovod/generated/own)"
    exit "$code"
  ) </dev/null >"$said" 2>&1 3>&- &
  daemon=$!
  # As long as one needs that fails at once; a sleep would be a program more.
  read -r -t 0.3 <> <(:)
  [[ ! -s $said ]] || cat "$said"
  ! kill -0 "$daemon" 2>/dev/null || exit 0
  wait "$daemon"
  exit
fi

follow() {
  while [[ -e /proc/$PPID ]]; do sleep 1; done
  kill -TERM -- "-$work"
  sleep 5
  kill -KILL -- "-$work"
}

env "${environment[@]}" /bin/bash -c "$command" 2>&3 3>&- &
work=$!
follow </dev/null >/dev/null 3>&- &
watch=$!
disown "$watch"
wait "$work"
code=$?
kill -KILL -- "-$watch" 2>/dev/null
exit "$code"
