# What the scripts of a pod share: the job's settings, the log, the user, the keys.
set -u
scripts=/etc/khorovod/scripts
generated=/horovod/generated
. "$scripts/job.sh"

log() { printf '%(%H:%M:%S)T khorovod: %s\n' -1 "$*" >&2; }

# What the pod leaves to read when it is gone: `kubectl describe` shows it.
epitaph() {
  log "$*"
  { printf '%.4000s\n' "$*" >/dev/termination-log; } 2>/dev/null || true
}

# limit NAME DEFAULT: a limit that may change while the job runs.
limit() {
  local value=''
  { read -r value <"/etc/khorovod/current/$1"; } 2>/dev/null || true
  printf '%s' "${value:-$2}"
}

# Whether another run has taken over. The file follows its ConfigMap within two minutes.
superseded() { [[ $(limit run "$run") != "$run" ]]; }

# A sleep that a signal's trap interrupts at once.
pause() { sleep "$1" & wait $!; }

# Programs want a home they can write to.
[[ -n ${HOME:-} && -w $HOME ]] || export HOME=/tmp

# ssh and sshd refuse a user id without a name.
name_user() {
  local name id
  while IFS=: read -r name _ id _; do [[ $name:$id != "$user:$UID" ]] || return 0; done </etc/passwd
  [[ $(id -u "$user" 2>/dev/null) == "$UID" ]] && return
  if [[ -w /etc/passwd ]]; then
    printf '%s:x:%d:%d::/tmp:/bin/bash\n' "$user" "$UID" "$(id -g)" >>/etc/passwd
  else
    epitaph "user id $UID has no entry '$user' in /etc/passwd, which ssh needs, and none can be written"
    return 1
  fi
}

# A copy of our own, so that a Secret that changes later disturbs nobody and the mode is what ssh asks for.
copy_keys() { install -D -m 0600 -t "$generated/keys" /etc/khorovod/keys/*; }

# What S3 volumes need, where there are any: `download` and `upload`.
download() { :; }
upload() { :; }
[[ ! -e $scripts/s3.sh ]] || . "$scripts/s3.sh"
