# Shared by all scripts of a pod.
# Sourced files share variables: README.md lists their owners.
set -u
scripts=/etc/khorovod/scripts
generated=/horovod/generated
. "$scripts/job.sh"

# attempt.sh redefines it.
beat() { :; }

log() {
  beat
  printf '%(%H:%M:%S)T khorovod: %s\n' -1 "$*" >&2
}

# terminate_message TEXT: logs TEXT and makes it the pod's termination message, which `kubectl describe` shows.
terminate_message() {
  log "$*"
  { printf '%.4000s\n' "$*" >/dev/termination-log; } 2>/dev/null || true
}

# shorten NAME...: prints at most eight names and the number of the others.
shorten() {
  local shown=("${@:1:8}")
  printf '%s' "${shown[*]}"
  (($# <= 8)) || printf ' and %d more' $(($# - 8))
}

# count NUMBER WORD: prints `1 attempt` or `2 attempts`.
count() {
  local end=s
  (($1 != 1)) || end=''
  printf '%d %s%s' "$1" "$2" "$end"
}

# limit NAME DEFAULT [VARIABLE]: prints a limit, which may change while the job runs. With a variable, sets it and starts no process.
limit() {
  local found=
  { read -r found <"/etc/khorovod/current/$1"; } 2>/dev/null
  if (($# > 2)); then printf -v "$3" %s "${found:-$2}"; else printf %s "${found:-$2}"; fi
}

# Whether another run is current, which is `current`. The kubelet updates the file within two minutes of its ConfigMap.
is_superseded() { current= && limit run "$run" current && [[ $current != "$run" ]]; }

# end_on COMMAND SIGNAL...: sets a trap that ends the script. If a signal arrives while bash 5.2 reads a `$(`, bash reads the command as a
# part of it, and refuses a command without the `)`. In all other cases the command exits before bash reads the second line. After a trap
# that returns, bash may not find the end of the `$(`, and exits. So a script must not use `$(` while such a trap matters.
end_on() { trap "$1"$'\n)' "${@:2}"; }

# pause SECONDS: sleeps, but a trap runs at once. `read -t` would need no process, but its end interrupts a trap that runs.
pause() {
  beat "${1%.*}"
  sleep "$1" & wait $!
}

# Programs need a writable home.
[[ -n ${HOME:-} && -w $HOME ]] || export HOME=/tmp

# Python prints its stacks on a signal: see evidence.sh. Ranks may write their steps: see stall.sh.
if [[ -e $scripts/sitecustomize.py ]] && mkdir -p "$generated/python" "$generated/steps" && ln -sfn "$scripts/sitecustomize.py" "$generated/python"; then
  [[ ! -e $scripts/khorovod_frameworks.py ]] || ln -sfn "$scripts/khorovod_frameworks.py" "$generated/python"
  export PYTHONPATH=$generated/python${PYTHONPATH:+:$PYTHONPATH} KHOROVOD_STEPS=$generated/steps
fi

# Adds the user to /etc/passwd: ssh and sshd refuse a user id without a name.
name_user() {
  local name id
  while IFS=: read -r name _ id _; do [[ $name:$id != "$user:$UID" ]] || return 0; done </etc/passwd
  [[ $(id -u "$user" 2>/dev/null) == "$UID" ]] && return
  if [[ -w /etc/passwd ]]; then
    printf '%s:x:%d:%d::/tmp:/bin/bash\n' "$user" "$UID" "$(id -g)" >>/etc/passwd
  else
    terminate_message "user id $UID has no entry '$user' in /etc/passwd, which ssh requires, and the file is not writable"
    return 1
  fi
}

# Copies the keys: ssh requires mode 0600, and a later change of the Secret must not affect this pod.
copy_keys() { install -D -m 0600 -t "$generated/keys" /etc/khorovod/keys/*; }

# status.sh redefines these for the process that leads the run, if the API server may record its status.
record_phase() { :; }
record_end() { :; }
start_status() { :; }
finish_status() { :; }

# events.sh redefines these if the launcher posts events.
event() { :; }
event_of_phase() { :; }
event_of_end() { :; }

# download: copies the data of this pod. Fails if it cannot, with `undownloaded` for the launcher, and with 2 if another try does not help.
# download.sh redefines the second part if the job has downloads.
undownloaded=''
download_once() { :; }
download() { download_s3 && download_once; }

# tree.sh redefines these for large jobs.
has_tree() { false; }
over_tree() { false; }

# s3.sh redefines these if the job has S3 volumes.
download_s3() { :; }
upload() { :; }
upload_leaving() { :; }
start_uploads() { :; }
restore() { :; }
restore_here() { :; }
[[ ! -e $scripts/s3.sh ]] || . "$scripts/s3.sh"
[[ ! -e $scripts/download.sh ]] || . "$scripts/download.sh"
