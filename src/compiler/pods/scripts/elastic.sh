# Logs if an elastic run has too few workers, which Horovod does not. Training continues once enough workers are back.
# Fails, with `failure` set, if Horovod has not exited 20 s after its own timeout, which happens.
check_min_workers() {
  local up text
  mapfile -t up <"$generated/found"
  if ((${#up[@]} >= min_workers)); then
    [[ -z $few_since ]] || record_phase training
    few_since=''
    return
  fi
  few_since=${few_since:-$SECONDS}
  text="${#up[@]} of at least $min_workers workers answer; training waits for more until workers.elastic.timeout"
  log "$text"
  record_phase training "$text"
  ((SECONDS - few_since < elastic_timeout + 20)) || {
    failure="fewer than $min_workers workers for $((SECONDS - few_since)) s, and Horovod has not exited"
    return 1
  }
}
