# The workers' scale, which belongs to the launcher, and the launcher's own Job.
account=/var/run/secrets/kubernetes.io/serviceaccount
namespace=$(<"$account/namespace")

# call METHOD PATH [BODY]: sets `answer` and its HTTP `status`, 000 where there is none.
call() {
  local host=${KUBERNETES_SERVICE_HOST:-kubernetes.default.svc} reply
  [[ $host != *:* ]] || host="[$host]"
  local url="https://$host:${KUBERNETES_SERVICE_PORT:-443}$2"
  if type -P curl >/dev/null; then
    # The token goes through a pipe: arguments can be seen.
    reply=$(printf 'header = "Authorization: Bearer %s"\n' "$(<"$account/token")" |
      curl -sS -m 10 -K - --cacert "$account/ca.crt" -X "$1" -H 'Content-Type: application/merge-patch+json' \
        ${3:+--data "$3"} -w '\n%{http_code}' "$url" 2>&1)
  else
    reply=$(python3 "$scripts/call.py" "$1" "$url" "${3:-}" 2>&1)
  fi
  status=${reply##*$'\n'} answer=${reply%$'\n'*}
}

# field NAME: a number or text of the last answer.
field() { [[ $answer =~ \"$1\":[[:space:]]*\"?([^\",}[:space:]]+) ]] && printf '%s' "${BASH_REMATCH[1]}"; }

# Reads when the Job started and how many launchers died before this one.
read_job() {
  call GET "/apis/batch/v1/namespaces/$namespace/jobs/$job-$run-launcher"
  if [[ $status != 200 ]]; then
    log "cannot read the launcher's Job (HTTP $status): attempts and the deadline count from this pod on"
    return
  fi
  deaths=$(field failed || echo 0)
  began=$(date -u -d "$(field startTime | tr TZ '  ')" +%s 2>/dev/null || echo "$began")
}

# scale_of TEAM METHOD [BODY]
scale_of() { call "$2" "/apis/apps/v1/namespaces/$namespace/statefulsets/${team_names[$1]}/scale" "${3:-}"; }

# scale TEAM REPLICAS: 0 when it holds, or when there is nothing left to scale down.
scale() {
  scale_of "$1" PATCH "{\"spec\":{\"replicas\":$2}}"
  [[ $status == 200 || ($status == 404 && $2 == 0) ]]
}

# All workers that the spec asks for. An elastic job that someone scaled higher is left so.
scale_up() {
  local team tries=0 allowed=30
  for team in "${!team_names[@]}"; do
    if [[ -n $max_workers ]]; then
      scale_of "$team" GET
      if [[ $status == 200 ]] && (($(field replicas || echo 0) > team_replicas[team])); then continue; fi
    fi
    until scale "$team" "${team_replicas[team]}"; do
      log "cannot scale ${team_names[team]} to ${team_replicas[team]} (HTTP $status): ${answer:0:300}"
      # A permission as young as this pod may take a moment, no more.
      [[ $status != 40[13] ]] || allowed=4 denied=1
      ((++tries < allowed)) || finish 42 "cannot scale ${team_names[team]} (HTTP $status)$(explain)"
      check_limits
      pause 2
    done
  done
}

# Fills `unborn` with those of `missing` that have no address: the DNS of many a cluster says for half a minute that a host is
# not there, once it was asked too soon. There are none where nobody can tell.
locate() {
  local words index host
  local -A known=()
  [[ ${tells:-yes} == yes ]] || return 0
  call GET "/api/v1/namespaces/$namespace/endpoints/$service"
  # Of more than a thousand it names some.
  if [[ $status != 200 || $answer == *over-capacity* ]]; then
    tells=no
    return
  fi
  IFS='"' read -r -d '' -a words <<<"$answer"
  for index in "${!words[@]}"; do [[ ${words[index]} != hostname ]] || known[${words[index + 2]}]=1; done
  for host in "${missing[@]}"; do [[ -n ${known[${host%%.*}]:-} ]] || unborn+=(["$host"]=1); done
}

# What a refusal most likely means.
explain() {
  [[ $status == 403 ]] || return 0
  echo "; its ServiceAccount needs get and patch on statefulsets/scale in namespace $namespace"
  [[ $namespace == default ]] ||
    echo "Objects rendered without a namespace bind the account of namespace default: use -n $namespace or metadata.namespace"
}

# Gives the GPUs back and returns once that is certain; the launcher does not end before.
release() {
  local team tries=0
  for team in "${!team_names[@]}"; do
    until scale "$team" 0; do
      # A token of an account that is gone, as after `kubectl delete`, stays refused.
      [[ $status != 401 ]] || denied=3
      # Who may not release cannot by waiting: say so, and let the Job show it.
      if [[ $status == 40[13] ]] && ((++tries >= ${denied:-30})); then
        log "NOT RELEASED: ${team_names[team]} stays; free it with: kubectl delete statefulset ${team_names[team]}"
        return
      fi
      log "cannot release ${team_names[team]} yet (HTTP $status): ${answer:0:300}"
      sleep 2
    done
  done
  log "released the workers"
}
