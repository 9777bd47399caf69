# S3 volumes are downloaded before the training and uploaded after it.
download() {
  # In the background, so that a trap runs at once.
  python3 "$scripts/s3.py" download &
  wait $! || {
    terminate_message "could not download the S3 volumes on $HOSTNAME"
    return 1
  }
}

# Uploads from this pod if it runs ranks, otherwise from the first host that answers.
upload() {
  local host
  if [[ -n $launcher_host ]]; then
    python3 "$scripts/s3.py" upload
    return
  fi
  for host in "${hosts[@]}"; do
    find_missing "$host"
    ((${#missing[@]})) || break
  done
  ssh -n "$host" "python3 $scripts/s3.py upload"
}
