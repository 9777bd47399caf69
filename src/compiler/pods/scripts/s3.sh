# S3 volumes are downloaded before the training and uploaded after it.
download() {
  # In the background, so that a trap runs at once.
  python3 "$scripts/s3.py" download &
  wait $! || {
    terminate_message "could not download the S3 volumes on $HOSTNAME"
    return 1
  }
}

# upload [SECONDS]: uploads from this pod if it runs ranks, otherwise from the first host that answers; by default without a limit.
upload() {
  local host
  if [[ -n $launcher_host ]]; then
    timeout "${1:-0}" python3 "$scripts/s3.py" upload &
  else
    for host in "${hosts[@]}"; do
      find_missing "$host"
      ((${#missing[@]})) || break
    done
    timeout "${1:-0}" ssh -n "$host" "python3 $scripts/s3.py upload" &
  fi
  wait $!
}
