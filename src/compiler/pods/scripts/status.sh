# Writes what the run is doing to the annotation khorovod.dev/status of its Job. docs/monitoring.md describes the value.
#
# Only a background process calls the API server, so that the launcher never waits for it. `record_phase` passes it the state in the file
# `status`, one value per line, and wakes it up through the pipe `wake`.
phase='' phase_since=0 begun=0 held=0 trained=0 counted=0 has_workers='' was_held='' last_end='' is_final='' writer='' server=''
[[ ! -e $scripts/events.sh ]] || . "$scripts/events.sh"

# record_phase PHASE [MESSAGE]: records the state of the run. It starts no process and never blocks.
record_phase() {
  local now text line
  printf -v now '%(%s)T' -1
  [[ -z $was_held ]] || ((held += now - counted))
  [[ $phase != training ]] || ((trained += now - counted))
  counted=$now was_held=$has_workers
  if [[ $1 != "$phase" ]]; then
    event_of_phase "$1"
    phase=$1 phase_since=$now
    [[ $1 != training ]] || ((++begun))
  fi
  text=${2:-}$'\n'$last_end
  # The characters that JSON escapes.
  local LC_ALL=C
  text=${text//\"/\'}
  text=${text//\\/\/}
  line=${text#*$'\n'} text=${text%%$'\n'*}
  text=${text//[^ -~]/ } line=${line//[^ -~]/ }
  printf '%s\n' "$phase" "$phase_since" "$begun" "${failures:-0}" "$held" "$trained" "$counted" "$has_workers" "$is_final" \
    "${text:0:500}" "${line:0:700}" end 2>/dev/null >"$generated/status"
  # Opened for both directions, because the pipe may have no reader.
  [[ ! -p $generated/wake ]] || echo 1<>"$generated/wake"
}

# record_end CODE REASON: records the last state of this launcher.
record_end() {
  local next=waiting
  case $1${stays_evicted-yes} in 0* | 4[234]* | 143) next=ended ;; esac
  (($1 == 0)) || last_end=$2
  event_of_end "$1" "$2"
  is_final=yes
  record_phase "$next" "$2"
}

# Waits until the last state and all events are written, at most two seconds.
finish_status() {
  local tries=0
  [[ -n $writer ]] || return 0
  event end
  while kill -0 "$writer" ${poster:+"$poster"} 2>/dev/null && ((tries++ < 20)); do pause 0.1; done
  kill -KILL -- "-$writer" ${server:+"-$server"} ${poster:+"-$poster"} 2>/dev/null
}

start_status() {
  mkfifo "$generated/wake" 2>/dev/null
  set -m
  write_status &
  writer=$!
  disown "$writer"
  if [[ -n ${status_port:-} ]]; then
    python3 "$scripts/metrics.py" "$status_port" "$job" "$run" "${progress_pattern+1}${progress_file+1}" &
    server=$!
    disown "$server"
  fi
  [[ ! -e $scripts/events.sh ]] || start_events
  set +m
}

# number NAME: prints a number of the last answer, or 0.
number() {
  local value
  value=$(field "$1")
  [[ $value =~ ^(0|[1-9][0-9]{0,11})$ ]] || value=0
  printf '%s' "$value"
}

# Sets `base`, `held_before`, `trained_before` and `last_before` of the caller to what earlier launchers have recorded. Fails if the
# Job cannot be read now.
read_before() {
  local phase terminating at
  [[ -n $own_job ]] || return 0
  call GET "$job_path"
  [[ $status == 200 ]] || return
  terminating=$(number terminating)
  [[ $answer =~ \"khorovod.dev/status\":[[:space:]]*\"(([^\"\\]|\\.)*)\" ]] || return 0
  local answer=${BASH_REMATCH[1]//\\/}
  phase=$(field phase)
  base=$(number attempt) held_before=$(number held) trained_before=$(number trained)
  [[ $answer =~ \"lastEnd\":\"([^\"]*)\" ]] && last_before=${BASH_REMATCH[1]}
  case $phase in
  training | saving | uploading)
    # That launcher may still save a checkpoint.
    ((terminating == 0 || SECONDS - began_writing > 2 * checkpoint_grace + 60)) || return
    last_before="the launcher was killed"
    ;;
  waiting | preparing) ((base == 0 || --base)) ;;
  esac
  # The workers stayed meanwhile.
  at=$(number at)
  if ((at && (held_before || base))) && [[ $phase != ended ]]; then ((held_before += $(printf '%(%s)T' -1) - at)); fi
}

# Writes each change of the phase at once, other changes at most every 10 s, progress at most every 30 s, and the times of a training
# every five minutes. Ends after the last state, or if it may not write.
write_status() {
  local wake now state=() written=(-) wrote=0 tried=-60 denials=0 wait=10 is_due text
  local base=0 held_before=0 trained_before=0 last_before='' began_writing=$SECONDS
  local progress='' progress_written='' seen='' asked=-30
  exec {wake}<>"$generated/wake" 2>/dev/null
  until read_before; do
    ((denials += 1))
    case $status in
    404) return ;;
    40[13]) ((denials < 4)) || return ;;
    esac
    read -r -t 5 -u "$wake"
  done
  denials=0
  while kill -0 $$; do
    read -r -t "$wait" -u "$wake"
    wait=10
    [[ -z ${status_port:-} ]] || wait=5
    mapfile -t state <"$generated/status"
    [[ ${state[11]:-} == end ]] || { wait=1 && continue; }
    printf -v now '%(%s)T' -1
    read_progress
    is_due=''
    if [[ ${state[*]:0:3} != "${written[*]:0:3}" || -n ${state[8]} ]]; then
      wait=1 is_due=yes
      # The attempt may begin soon. When it begins, the processor time of the launcher is for mpirun.
      case ${state[0]} in preparing | training) ((now > state[1] + 1)) || continue ;; esac
      ((now > wrote)) || [[ -n ${state[8]} ]] || continue
    elif [[ ${state[*]:9} != "${written[*]:9}" || ${state[3]} != "${written[3]}" ]] && ((now - wrote >= 10)); then
      is_due=yes
    elif [[ $progress != "$progress_written" ]] && ((now - wrote >= 30)); then
      is_due=yes
    elif [[ ${state[0]} == training ]] && ((now - wrote >= 300)); then
      is_due=yes
    fi
    [[ -n $is_due${status_port:-} ]] || continue
    compose
    [[ -z ${status_port:-} ]] || { echo "$text" >"$generated/status.new" && mv "$generated/status.new" "$generated/status.json"; }
    if [[ -z $own_job ]]; then
      [[ -z ${state[8]} ]] || return
      written=("${state[@]}")
      continue
    fi
    [[ -n $is_due ]] || continue
    ((denials == 0 || SECONDS - tried >= 10)) || [[ -n ${state[8]} ]] || continue
    tried=$SECONDS
    call PATCH "$job_path" "{\"metadata\":{\"annotations\":{\"khorovod.dev/status\":\"${text//\"/\\\"}\"}}}"
    case $status in
    200)
      written=("${state[@]}") wrote=$now denials=0 progress_written=$progress
      [[ -z ${state[8]} ]] || return
      ;;
    404) return ;;
    40[13]) ((++denials < 4)) || return ;;
    *) ((++denials)) ;;
    esac
  done
} >/dev/null 2>&1

# Sets `text` of write_status to the JSON.
compose() {
  local held trained attempt=$((base + state[2])) message=${state[9]} last=${state[10]:-$last_before}
  case ${state[0]} in waiting | preparing) ((++attempt)) ;; esac
  ((attempt)) || attempt=1
  held=$((held_before + state[4])) trained=$((trained_before + state[5]))
  if [[ ${state[0]} != ended ]]; then
    [[ -z ${state[7]} ]] || ((held += now - state[6]))
    [[ ${state[0]} != training ]] || ((trained += now - state[6]))
  fi
  text="{\"phase\":\"${state[0]}\",\"since\":${state[1]},\"at\":$now"
  [[ -z $message ]] || text+=",\"message\":\"$message\""
  text+=",\"attempt\":$attempt,\"failures\":${state[3]},\"retries\":$(limit retries 3)"
  [[ -z $last ]] || text+=",\"lastEnd\":\"$last\""
  text+="$progress,\"held\":$held,\"trained\":$trained}"
}

# Sets `progress` of write_status if the training has made progress.
read_progress() {
  local step steps unit
  if [[ -n ${progress_file:-} ]]; then
    [[ ${state[0]} == training ]] && ((SECONDS - asked >= 30)) || return
    asked=$SECONDS
    read -r step steps unit < <(read_file | python3 "$scripts/relay.py" read)
    [[ -z $step ]] || echo "$step $steps $unit" >"$generated/progress"
  else
    read -r step steps unit <"$generated/progress" || return
  fi
  [[ "$step $steps $unit" =~ ^[0-9]{1,15}\ ([0-9]{1,15}|-)\ [a-z]{1,9}$ && "$step $steps $unit" != "$seen" ]] || return
  seen="$step $steps $unit"
  progress=",\"step\":$step"
  [[ $steps == - ]] || progress+=",\"steps\":$steps"
  progress+=",\"unit\":\"$unit\",\"progressAt\":$now"
}

# Prints the end of the file on the host of rank 0. An elastic job uses some of its hosts.
read_file() {
  local host
  IFS=' :' read -r host _ <"$generated/hostfile"
  [[ ! -s $generated/found ]] || IFS=: read -r host _ <"$generated/found"
  if [[ -n $launcher_host || -e $scripts/agent.sh ]]; then
    tail -c 4096 "$progress_file"
  else
    timeout -k 1 8 ssh -n -o ConnectTimeout=5 "$host" "tail -c 4096 ${progress_file@Q}"
  fi
}
