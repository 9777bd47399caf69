# Calls the API server: reads and ends the Job of the launcher, which is `own_job`.
account=/var/run/secrets/kubernetes.io/serviceaccount
namespace=$(<"$account/namespace")
job_path=/apis/batch/v1/namespaces/$namespace/jobs/$own_job

# call METHOD PATH [BODY]: sends a request to the API server. Sets `answer` and its HTTP `status`, or 000.
call() {
  local host=${KUBERNETES_SERVICE_HOST:-kubernetes.default.svc} reply media=merge-patch+json
  [[ $host != *:* ]] || host="[$host]"
  local url="https://$host:${KUBERNETES_SERVICE_PORT:-443}$2"
  if type -P curl >/dev/null; then
    [[ $1 != POST ]] || media=json
    # The token goes through a pipe: other processes can read arguments.
    reply=$(printf 'header = "Authorization: Bearer %s"\n' "$(<"$account/token")" |
      curl -sS -m 10 --noproxy '*' -K - --cacert "$account/ca.crt" -X "$1" -H "Content-Type: application/$media" \
        ${3:+--data "$3"} -w '\n%{http_code}' "$url" 2>&1)
  else
    reply=$(python3 "$scripts/call.py" "$1" "$url" "${3:-}" 2>&1)
  fi
  status=${reply##*$'\n'} answer=${reply%$'\n'*}
}

# field NAME: prints a number or text of the last answer.
field() { [[ $answer =~ \"$1\":[[:space:]]*\"?([^\",}[:space:]]+) ]] && printf '%s' "${BASH_REMATCH[1]}"; }

# Whether the Job of the last answer has ended, or is being deleted, suspended or ended.
is_ending() {
  [[ $answer =~ \"type\":[[:space:]]*\"(Complete|Failed|FailureTarget|SuccessCriteriaMet)\" ]] ||
    [[ $answer =~ \"(deletionTimestamp\"|suspend\":[[:space:]]*true) ]]
}

# Reads the Job: when it started, how many attempts have failed in this launcher or in earlier ones, and whether this launcher is
# the first. The annotation has the state of the last attempt: FAILURES/START, and `/left` if its launcher was evicted.
read_job() {
  local state start left waited=0
  while
    call GET "$job_path"
    if [[ $status != 200 ]]; then
      log "cannot read the Job $own_job (HTTP $status): attempts and the deadline count from the start of this pod"
      return
    fi
    state=$(field khorovod.dev/attempt) || state=''
    IFS=/ read -r failures start left <<<"$state"
    # Wait until an evicted launcher has ended: its ranks may still save a checkpoint, which it uploads.
    [[ -n $left ]] && (($(field terminating || echo 0) && waited++ < 2 * checkpoint_grace + 60))
  do pause 1; done
  # In an Indexed Job, the number of failed pods also counts workers, so only the annotation counts attempts.
  [[ -z $scales ]] || deaths=$(field failed || echo 0)
  began=$(date -u -d "$(field startTime | tr TZ '  ')" +%s 2>/dev/null || echo "$began")
  [[ -z $state ]] && ((deaths == 0)) || is_successor=yes
  failures=${failures:-$deaths}
  if [[ -n $state && -z $left ]]; then
    # The earlier launcher did not record how its attempt ended, so it was killed, and its attempt failed.
    (($(printf '%(%s)T' -1) - start < $(limit retries-reset-after 3600))) || failures=0
    ((++failures))
  fi
}

# note_attempt [left]: records the state of the attempt for the next launcher. Raises `backoffLimit`, so that Kubernetes starts the
# next launcher even if many have failed. Fails if the account has no permission.
note_attempt() {
  local tries=0
  while
    note_state "${1:-}"
    # The Role may be as new as this pod, and then it may not be in effect yet.
    [[ $status == 40[13] ]] && ((++tries < 4))
  do pause 2; done
  [[ $status == 200 ]] || log "cannot record the attempt in the Job $own_job (HTTP $status): ${answer:0:300}"
  [[ $status != 40[13] ]]
}

note_state() {
  local spec='' state
  state=$failures/$(printf '%(%s)T' -1)${1:+/$1}
  # An Indexed Job needs no higher limit: it has `backoffLimitPerIndex`, which is the largest possible value.
  [[ -z $scales ]] || spec=",\"spec\":{\"backoffLimit\":$((deaths + 6))}"
  call PATCH "$job_path" "{\"metadata\":{\"annotations\":{\"khorovod.dev/attempt\":\"$state\"}}$spec}"
}

# Makes the Job fail when this launcher exits.
end_job() {
  local tries=0
  until
    call GET "$job_path"
    [[ $status == 404 ]] || is_ending || {
      call PATCH "$job_path" "{\"spec\":{\"backoffLimit\":$(field failed || echo 0)}}"
      [[ $status == 200 ]]
    }
  do
    if [[ $status == 40[13] ]] && ((++tries > 3)); then
      log "cannot end the Job $own_job (HTTP $status): its ServiceAccount needs get and patch on jobs"
      return
    fi
    pause 2
  done
}

# Fills `no_address` with the hosts of `missing` that have no address yet, and `listed` with the addresses of the others. The API server
# has the current addresses. DNS servers cache answers for half a minute, also the answer that a host has no address. `has_list`
# is empty if the API server has not listed them.
has_list=''
find_no_address() {
  local words index host ip=''
  listed=() has_list=''
  [[ ${has_endpoints:-yes} == yes ]] || return 0
  call GET "/api/v1/namespaces/$namespace/endpoints/$service"
  # Endpoints list at most 1,000 addresses. They do not exist before the first pod has an address.
  case $status in
  200 | 404) ;;
  403) has_endpoints=no ;;
  *) return 0 ;;
  esac
  [[ $answer != *over-capacity* ]] || has_endpoints=no
  [[ ${has_endpoints:-yes} == yes ]] || return 0
  has_list=yes
  # The API server prints `ip` before `hostname`.
  IFS='"' read -r -d '' -a words <<<"$answer"
  for index in "${!words[@]}"; do
    case ${words[index]} in
    ip) ip=${words[index + 2]} ;;
    hostname) listed[${words[index + 2]}.$service]+=" $ip" ;;
    esac
  done
  for host in "${missing[@]}"; do [[ -n ${listed[$host]:-} ]] || no_address+=(["$host"]=1); done
}

# explain_denied PERMISSION: prints the most likely cause of HTTP 403.
explain_denied() {
  [[ $status == 403 ]] || return 0
  echo "; its ServiceAccount needs $1 in namespace $namespace"
  [[ $namespace == default ]] ||
    echo "Objects rendered without a namespace bind the ServiceAccount of namespace default: use -n $namespace or metadata.namespace"
}
