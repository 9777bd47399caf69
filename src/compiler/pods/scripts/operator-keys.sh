
# The MPI Operator's Secret holds one key pair, named id_rsa whatever its type. The launcher logs in with it, and workers
# use it as their host key, so that host keys are verified here too.
copy_keys() (
  umask 077
  mkdir -p "$generated/keys" && cd "$generated/keys" &&
    cp -L /etc/khorovod/keys/id_rsa id_ed25519 && cp id_ed25519 host_key &&
    cp -L /etc/khorovod/keys/id_rsa.pub authorized_keys && printf 'khorovod-worker %s\n' "$(<authorized_keys)" >known_hosts
)
