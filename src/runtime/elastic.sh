# What is said of an elastic run in which too few are left. It goes on once enough are back; Horovod itself is silent.
tell_of_few() {
  local up=0 now when
  printf -v now '%(%s)T' -1
  while read -r _ when; do ((now - when >= 5)) || ((++up)); done <"$generated/seen"
  ((up >= min_workers)) || log "$up of at least $min_workers workers answer; training waits for more, no longer than elastic.timeout"
}
