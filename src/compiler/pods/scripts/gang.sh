# Gangs of Kubernetes.

# Warns if the workload has no gang: an API server without the feature gate drops the field.
check_gang() {
  local path=$job_path
  # The launcher of a StatefulSet does not belong to the gang.
  [[ -z $scales ]] || path=/apis/apps/v1/namespaces/$namespace/statefulsets/${team_names[0]}
  call GET "$path"
  [[ $status != 200 || $answer == *'"schedulingGroup"'* ]] ||
    log "the API server dropped schedulingGroup, so the pods start one by one: enable the feature gate GenericWorkload, and start a new run"
}

# Sets `queue` of wait_workers until the first worker has an address: then Kubernetes has started the gang.
note_gang() {
  local host
  queue=''
  [[ -n $gang && -n $scales ]] || return 0
  for host in "${missing[@]}"; do
    if ((up)) || [[ -n ${listed[$host]:-} ]]; then
      gang=''
      return
    fi
  done
  queue=": their gang waits until the nodes have room for $needed of them together, at most lifecycle.startTimeout"
}
