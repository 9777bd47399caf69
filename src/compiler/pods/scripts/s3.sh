# S3 volumes: what they hold comes before anything that reads it, and goes out at the end.
download() {
  # Not in the foreground, where it would keep a signal waiting.
  python3 "$scripts/s3.py" download &
  wait $! || {
    epitaph "could not download the S3 volumes on $HOSTNAME"
    return 1
  }
}

# From this pod where it runs ranks, else from the first host that answers.
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
