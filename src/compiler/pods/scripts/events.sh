# Posts Kubernetes Events for the Job of the run. docs/monitoring.md lists them.
#
# Only a background process calls the API server, so that the launcher never waits for it. `event` passes it one event per line of the
# file `events`.
poster=''

# event TYPE [REASON MESSAGE]: records an event. TYPE is Normal, Warning or end. It starts no process and never blocks.
event() {
  # The characters that JSON escapes.
  local LC_ALL=C text=${3:-}
  text=${text//\"/\'}
  text=${text//\\/\/}
  printf '%(%s)T %s %s %s\n' -1 "$1" "${2:-}" "${text//[^ -~]/ }" 2>/dev/null >>"$generated/events"
}

# event_of_phase PHASE: records the events of the change from `phase` to PHASE.
event_of_phase() {
  local lost text=''
  case $phase,$1 in
  *,training)
    ((failures == 0)) || text=" (failed attempts: $failures)"
    event Normal AttemptStarted "the training starts$text"
    ;;
  training,saving) ;;
  training,* | saving,*)
    if [[ -n ${gone[*]:-} ]]; then
      lost=("${gone[@]:0:8}")
      ((${#gone[@]} < 9)) || text=" and $((${#gone[@]} - 8)) more"
      event Warning WorkerLost "lost ${lost[*]%%.*}$text"
    fi
    [[ $1 != waiting ]] || event Warning AttemptEnded "$last_end"
    ;;
  esac
}

# event_of_end CODE REASON: records the event of the end of this launcher.
event_of_end() {
  case $1 in
  0) event Normal Trained "$2" ;;
  42) event Warning Failed "$2" ;;
  43) event Normal Superseded "$2" ;;
  44) event Warning DeadlineExceeded "$2" ;;
  143) event Normal LauncherStopped "$2" ;;
  *) event Warning LauncherFailed "$2" ;;
  esac
}

# The caller has switched on job control, so that the process has its own process group.
start_events() {
  : >"$generated/events"
  post_events &
  poster=$!
  disown "$poster"
}

# Posts each recorded event, in order. Ends after the event `end`, or if it may not post.
post_events() {
  local events uid='' at type reason text time denials=0 TZ=UTC
  exec {events}<"$generated/events"
  while kill -0 $$ 2>/dev/null; do
    read -r -u "$events" at type reason text || { rest 0.5 && continue; }
    [[ $type != end ]] || return
    printf -v time '%(%Y-%m-%dT%H:%M:%SZ)T' "$at"
    until
      # `kubectl describe` finds events by the uid of their object.
      if [[ -z $uid ]]; then
        call GET "$job_path"
        [[ $status != 200 ]] || uid=$(field uid)
      fi
      [[ -z $uid ]] || call POST "/api/v1/namespaces/$namespace/events" "{\"metadata\":{\"generateName\":\"$own_job.\"},\
\"involvedObject\":{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"$own_job\",\"namespace\":\"$namespace\",\"uid\":\"$uid\"},\
\"type\":\"$type\",\"reason\":\"$reason\",\"message\":\"${text:0:1000}\",\"count\":1,\"firstTimestamp\":\"$time\",\
\"lastTimestamp\":\"$time\",\"source\":{\"component\":\"khorovod\"}}"
      case $status in
      40[13])
        if ((++denials >= 4)); then
          log "cannot post events (HTTP $status)$(explain_denied "create on events")"
          return
        fi
        false
        ;;
      # No answer, too many requests, or an error of the server: the event is posted again later.
      000 | 429 | 5*) false ;;
      404) return ;;
      *) denials=0 ;;
      esac
    do rest 5; done
  done
}
