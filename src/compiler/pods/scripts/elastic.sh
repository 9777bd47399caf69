# What is said of an elastic run in which too few are left. It goes on once enough are back; Horovod itself is silent.
# Fails, with `failure` set, where Horovod lets its own limit pass, which it has been seen to do.
tell_of_few() {
  local up
  mapfile -t up <"$generated/found"
  if ((${#up[@]} >= min_workers)); then
    few_since=''
    return
  fi
  few_since=${few_since:-$SECONDS}
  log "${#up[@]} of at least $min_workers workers answer; training waits for more, no longer than elastic.timeout"
  ((SECONDS - few_since < elastic_timeout + 20)) || {
    failure="fewer than $min_workers workers for $((SECONDS - few_since)) s, and Horovod does not end"
    return 1
  }
}
