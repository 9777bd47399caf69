# What is said of an elastic run in which too few are left. It goes on once enough are back; Horovod itself is silent.
tell_of_few() {
  local up
  mapfile -t up <"$generated/found"
  ((${#up[@]} >= min_workers)) || log "${#up[@]} of at least $min_workers workers answer; training waits for more, no longer than elastic.timeout"
}
