# S3 volumes are downloaded before the training, and uploaded while it runs and after it. s3.py copies.
#
# One pod uploads: this one if it runs ranks, otherwise the first host. A run is known by its Job: a resumed or restarted one
# continues from what it has uploaded.
run_id=${KHOROVOD_JOB_UID:-${KHOROVOD_POD_UID:-}}

download_s3() {
  # In the background, so that a trap runs at once.
  beat never
  python3 "$scripts/s3.py" download &
  wait $! || {
    terminate_message "could not download the S3 volumes on $HOSTNAME"
    return 1
  }
}

# upload [SECONDS]: uploads from this pod if it runs ranks, otherwise from the first host that answers; by default without a limit.
upload() {
  local host seconds=${1:-0}
  record_phase uploading
  beat never
  local command="timeout -k 5 $seconds python3 $scripts/s3.py upload $run_id"
  if [[ -n $launcher_host ]]; then
    $command &
  else
    find_uploader
    # 0 means no limit.
    timeout -k 5 "$((seconds ? seconds + 8 : 0))" ssh -n "$host" "$command" &
  fi
  wait $!
}

# Sets `host` of the caller to the first host that answers.
find_uploader() {
  for host in "${hosts[@]}"; do
    find_missing "$host"
    ((${#missing[@]})) || break
  done
}

# start_uploads: begins to upload each volume at its interval, until stop_training. The first time is at once, so that the
# bucket shows which pod uploads from now on.
declare -A had=()
uploader=''
start_uploads() {
  local host each
  # A torchrun agent other than index 0 has neither.
  [[ -n $launcher_host${hosts[*]:-} ]] || return 0
  if [[ -n ${hosts[*]:-} ]]; then
    had=() uploader=${hosts[0]}
    for host in $launcher_host "${hosts[@]}"; do had[$host]=${instances[$host]:-here}; done
  fi
  for each in "${upload_intervals[@]}"; do start_watcher save "${each%=*}" "${each#*=}"; done
}

# save VOLUME SECONDS: uploads a volume at each interval.
save() {
  local output told='' host=$uploader
  while :; do
    # A job with a fixed number of hosts ends the attempt if the first one is lost.
    [[ -z $min_workers || -n $launcher_host ]] || find_uploader
    if output=$(
      if [[ -n $launcher_host ]]; then
        nice python3 "$scripts/s3.py" save "$run_id" "$1" 2>&1
      else
        ssh -n -o ConnectTimeout=10 "$host" "nice python3 $scripts/s3.py save $run_id $1" 2>&1
      fi
    ); then
      [[ -z $output ]] || echo "$output" >&2
      told=''
    elif [[ -z $told ]]; then
      log "the S3 volume $1 could not be uploaded now; tried again every $2 s: $output"
      told=yes
    fi
    sleep "$2"
  done
}

# restore: before an attempt, downloads what this run has uploaded to each host that is new or whose container started again.
unrestored=''
restore() {
  local host new=() failed since=$SECONDS
  ((${#upload_intervals[@]})) || return 0
  ((attempts)) || [[ -n $is_successor || -z $own_job ]] || are_older || return 0
  # A worker that was evicted uploads before it ends.
  while
    [[ -n $uploader ]] && find_missing "$uploader"
    [[ -n $uploader && -n ${leaving[$uploader]:-} ]] && ((SECONDS - since < 2 * checkpoint_grace + 60))
  do
    check_limits
    pause 1
  done
  for host in "${hosts[@]}"; do
    [[ -z ${answers[$host]:-} || ${had[$host]:-} == "${instances[$host]}" ]] || new+=("$host")
  done
  start_watcher restore_hosts "${new[@]}"
  while kill -0 "${watchers[0]}" 2>/dev/null; do
    check_limits
    pause 0.5
  done
  watchers=()
  mapfile -t new <"$generated/unrestored"
  ((${#new[@]})) || { unrestored='' && return; }
  unrestored=${unrestored:-$SECONDS}
  failed="$(shorten "${new[@]}") could not download what this run has uploaded"
  ((SECONDS - unrestored < $(limit wait-timeout 1800))) || finish 42 "$failed"
  log "$failed; trying again"
  pause 5
  return 1
}

# restore_hosts HOST...: writes the names of those that fail.
restore_hosts() {
  if [[ -n $launcher_host && -z ${had[$launcher_host]:-} && ! " $* " == *" $launcher_host "* ]]; then
    set -- "$@" "$launcher_host"
  fi
  printf '%s\n' "$@" | xargs -r -n 1 -P 32 /bin/bash -c '
    if [[ $3 == "$2" ]]; then
      python3 "$0" restore "$1"
    else
      ssh -n -o ConnectTimeout=10 "$3" "python3 $0 restore $1"
    fi || echo "$3"' "$scripts/s3.py" "$run_id" "$launcher_host" >"$generated/unrestored"
}

# restore_here: the same on a pod of torchrun, which decides for itself.
restore_here() {
  local since=$SECONDS
  # The pod with index 0 before this one may still upload.
  if ((index == 0)) && [[ -n $own_job ]]; then
    while call GET "$job_path" && (($(field terminating || echo 0) && SECONDS - since < 2 * checkpoint_grace + 60)); do pause 1; done
  fi
  while
    beat never
    python3 "$scripts/s3.py" restore "$run_id" &
    ! wait $!
  do
    ((SECONDS - since < $(limit wait-timeout 1800))) || finish 42 "could not download what this run has uploaded"
    check_limits
    pause 5
  done
}

# upload_leaving: on a worker that is about to end, uploads what the launcher could not upload in time. The second time waits for
# an upload of the launcher.
upload_leaving() {
  local turn until=$((SECONDS + checkpoint_grace))
  for turn in 1 2; do
    [[ -s $generated/uploads ]] && ((SECONDS < until)) || return 0
    timeout -k 5 "$((until - SECONDS))" python3 "$scripts/s3.py" leave &
    wait $!
    pause "$turn"
  done
}
