#!/bin/bash
# The user's shell sources this for every session. Runs the requested command in the worker's environment. When the
# connection ends, its processes are killed, so that no rank keeps a GPU.
set -u
mapfile -d '' -t environment </horovod/generated/environment
cd "${environment[-1]#PWD=}" || exit
command=${SSH_ORIGINAL_COMMAND:-}

# A session that was opened with the key of the workers may only pass on an order of the launcher; order.sh checks the order.
if [[ -e /horovod/generated/keys/relays ]]; then
  key=''
  { read -r _ _ key _ <"${SSH_USER_AUTH:-}"; } 2>/dev/null
  if [[ -z $key || " $(</horovod/generated/keys/authorized_keys) " != *[[:space:]]"$key"[[:space:]]* ]]; then
    unset KHOROVOD_LAUNCHER SSH_TTY
    [[ $command =~ ^/bin/bash\ /etc/khorovod/scripts/order\.sh\ [0-9]{1,6}\ [0-9]{1,6}$ ]] || {
      echo "khorovod: $HOSTNAME accepts only orders from another worker" >&2
      exit 77
    }
  fi
fi

# Only one launcher may start ranks. A new launcher takes over when it runs sweep.sh, and the earlier one is refused from then on.
if [[ -n ${KHOROVOD_LAUNCHER:-} ]]; then
  owner=/horovod/generated/owner first='' former=''
  { read -r first former <"$owner"; } 2>/dev/null
  if [[ $KHOROVOD_LAUNCHER != "$first" ]]; then
    if [[ " $former " == *" $KHOROVOD_LAUNCHER "* || -n $first && $command != *"/sweep.sh" ]]; then
      echo "khorovod: $HOSTNAME refuses this launcher, because it serves another launcher of the run" >&2
      exit 75
    fi
    echo "$KHOROVOD_LAUNCHER $first $former" >"$owner.$$" && mv "$owner.$$" "$owner"
  fi
fi

if [[ $command == internal-sftp ]]; then
  for folder in /usr/lib/openssh /usr/libexec/openssh /usr/lib/ssh /usr/libexec; do
    [[ -x $folder/sftp-server ]] && exec env "${environment[@]}" "$folder/sftp-server"
  done
  echo "the image has no sftp-server" >&2
  exit 127
fi
if [[ $command == "/bin/bash /etc/khorovod/scripts/order.sh "* ]]; then exec env "${environment[@]}" /bin/bash -c "exec $command"; fi
if [[ -z $command ]]; then exec env "${environment[@]}" /bin/bash; fi
if [[ -n ${SSH_TTY:-} ]]; then exec env "${environment[@]}" /bin/bash -c "$command"; fi

set -m # one process group each
exec 3>&2 2>/dev/null # or bash reports to the caller how they ended
# A daemon of Open MPI would leave its session, and Open MPI 5 reports success if its daemon is killed. Here the daemon stays a child
# of this script, and if it is killed, the worker exits, too (worker.sh). Until the end of the daemon there is the file `daemon-$$.runs`,
# unless sweep.sh ends it.
if [[ $command == *ted\ *--daemonize* ]]; then
  output=/horovod/generated/daemon-$$ runs=/horovod/generated/daemon-$$.runs
  : >"$runs"
  (
    env "${environment[@]}" /bin/bash -c "${command/ --daemonize/}"
    code=$?
    if [[ -e $runs ]]; then
      # A daemon of Open MPI 5 is two processes. The first exits with 255 if the second is killed.
      [[ $code != 13[4-9] && $code != 255 ]] || : >/horovod/generated/daemon-killed
      [[ $code != 13[4-9] ]] || kill -USR1 "$(head -n 1 /horovod/generated/own)"
      rm -f "$runs"
    fi
    exit "$code"
  ) </dev/null >"$output" 2>&1 3>&- &
  daemon=$!
  # Wait a moment, so that the error of a daemon that fails at once is printed. `sleep` would start a process.
  read -r -t 0.3 <> <(:)
  [[ ! -s $output ]] || cat "$output"
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
