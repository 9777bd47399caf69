# Scales the workers and reads the launcher's Job.
account=/var/run/secrets/kubernetes.io/serviceaccount
namespace=$(<"$account/namespace")

# call METHOD PATH [BODY]: sends a request to the API server. Sets `answer` and its HTTP `status`, or 000.
call() {
  local host=${KUBERNETES_SERVICE_HOST:-kubernetes.default.svc} reply
  [[ $host != *:* ]] || host="[$host]"
  local url="https://$host:${KUBERNETES_SERVICE_PORT:-443}$2"
  if type -P curl >/dev/null; then
    # The token goes through a pipe: other processes can read arguments.
    reply=$(printf 'header = "Authorization: Bearer %s"\n' "$(<"$account/token")" |
      curl -sS -m 10 -K - --cacert "$account/ca.crt" -X "$1" -H 'Content-Type: application/merge-patch+json' \
        ${3:+--data "$3"} -w '\n%{http_code}' "$url" 2>&1)
  else
    reply=$(python3 "$scripts/call.py" "$1" "$url" "${3:-}" 2>&1)
  fi
  status=${reply##*$'\n'} answer=${reply%$'\n'*}
}

# field NAME: prints a number or text of the last answer.
field() { [[ $answer =~ \"$1\":[[:space:]]*\"?([^\",}[:space:]]+) ]] && printf '%s' "${BASH_REMATCH[1]}"; }

# Reads when the Job started and how many launchers failed before this one.
read_job() {
  call GET "/apis/batch/v1/namespaces/$namespace/jobs/$job-$run-launcher"
  if [[ $status != 200 ]]; then
    log "cannot read the launcher's Job (HTTP $status): attempts and the deadline count from the start of this pod"
    return
  fi
  deaths=$(field failed || echo 0)
  began=$(date -u -d "$(field startTime | tr TZ '  ')" +%s 2>/dev/null || echo "$began")
}

# call_scale TEAM METHOD [BODY]
call_scale() { call "$2" "/apis/apps/v1/namespaces/$namespace/statefulsets/${team_names[$1]}/scale" "${3:-}"; }

# scale TEAM REPLICAS: succeeds if the API server accepts it, or if there is nothing left to scale down.
scale() {
  call_scale "$1" PATCH "{\"spec\":{\"replicas\":$2}}"
  [[ $status == 200 || ($status == 404 && $2 == 0) ]]
}

# Scales to the workers of the spec. An elastic job that a user scaled higher stays so.
scale_up() {
  local team tries=0 allowed=30
  for team in "${!team_names[@]}"; do
    if [[ -n $max_workers ]]; then
      call_scale "$team" GET
      if [[ $status == 200 ]] && (($(field replicas || echo 0) > team_replicas[team])); then continue; fi
    fi
    until scale "$team" "${team_replicas[team]}"; do
      log "cannot scale ${team_names[team]} to ${team_replicas[team]} (HTTP $status): ${answer:0:300}"
      # A permission as new as this pod may not apply yet.
      [[ $status != 40[13] ]] || allowed=4 max_denials=1
      ((++tries < allowed)) || finish 42 "cannot scale ${team_names[team]} (HTTP $status)$(explain_denied)"
      check_limits
      pause 2
    done
  done
}

# Fills `no_address` with the hosts of `missing` that have no address yet: after a query for one, many DNS servers cache the
# negative answer for half a minute.
find_no_address() {
  local words index host
  local -A known=()
  [[ ${has_endpoints:-yes} == yes ]] || return 0
  call GET "/api/v1/namespaces/$namespace/endpoints/$service"
  # Endpoints list at most 1,000 addresses.
  if [[ $status != 200 || $answer == *over-capacity* ]]; then
    has_endpoints=no
    return
  fi
  IFS='"' read -r -d '' -a words <<<"$answer"
  for index in "${!words[@]}"; do [[ ${words[index]} != hostname ]] || known[${words[index + 2]}]=1; done
  for host in "${missing[@]}"; do [[ -n ${known[${host%%.*}]:-} ]] || no_address+=(["$host"]=1); done
}

# Prints the most likely cause of HTTP 403.
explain_denied() {
  [[ $status == 403 ]] || return 0
  echo "; its ServiceAccount needs get and patch on statefulsets/scale in namespace $namespace"
  [[ $namespace == default ]] ||
    echo "Objects rendered without a namespace bind the ServiceAccount of namespace default: use -n $namespace or metadata.namespace"
}

# Scales the workers to 0. Returns once the API server has accepted it.
release_workers() {
  local team tries=0
  for team in "${!team_names[@]}"; do
    until scale "$team" 0; do
      # The token of a deleted ServiceAccount, as after `kubectl delete`, stays invalid.
      [[ $status != 401 ]] || max_denials=3
      # Waiting does not grant a missing permission.
      if [[ $status == 40[13] ]] && ((++tries >= ${max_denials:-30})); then
        log "NOT RELEASED: ${team_names[team]} still runs; delete it with: kubectl delete statefulset ${team_names[team]}"
        return
      fi
      log "cannot release ${team_names[team]} yet (HTTP $status): ${answer:0:300}"
      sleep 2
    done
  done
  log "released the workers"
}
