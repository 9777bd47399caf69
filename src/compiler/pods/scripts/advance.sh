# Ends a run whose attempts make no progress, whatever ends them.

# check_advance SECONDS: called after an attempt that took SECONDS. Does nothing before the first step is found. A step of another
# unit cannot be compared.
highest='' highest_unit='' unmoved=0
check_advance() {
  local step='' unit=''
  # relay.py or status.sh writes it.
  read -r step _ unit 2>/dev/null <"$generated/progress"
  [[ -n $step$highest ]] || return 0
  if [[ -n $step ]] && { [[ $unit != "$highest_unit" ]] || ((step > highest)); }; then
    highest=$step highest_unit=$unit unmoved=0
  elif (($1 >= $(limit retries-reset-after 3600))); then
    unmoved=0
  elif ((++unmoved >= $(limit retries-without-progress 10))); then
    upload || log "the S3 volumes could not be uploaded"
    finish 42 "no attempt has passed $highest_unit $highest in the last $unmoved, and lifecycle.retriesWithoutProgress is $(limit retries-without-progress 10); the last: $failure"
  fi
}
