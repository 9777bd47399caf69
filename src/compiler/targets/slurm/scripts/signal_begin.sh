
# Sends the signal of lifecycle.checkpoint to the ranks of this job on one node.
khorovod_signaller=$(
  cat <<'SIGNALLER'
