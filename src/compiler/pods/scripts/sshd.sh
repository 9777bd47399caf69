# ssh and sshd for the pod's user, without root or capabilities.

# Puts the script `ssh` first in PATH.
install_ssh() {
  local program
  # On a second call, PATH would lead to the script itself.
  [[ ! -e $generated/real-ssh ]] || return 0
  program=$(type -P ssh) || {
    terminate_message "the image has no ssh: install openssh-client"
    return 1
  }
  install -D -m 0755 "$scripts/ssh" "$generated/bin/ssh" && ln -sfn "$program" "$generated/real-ssh"
}

# Lets other workers pass on orders of the launcher. They log in with the host key, which all workers share.
allow_orders() {
  local key keys=$generated/keys
  key=$(ssh-keygen -y -f "$keys/host_key") || return
  echo "khorovod-worker $key" >"$keys/relays_hosts"
  sed 's/^/launcher /' "$keys/authorized_keys" >"$keys/signers"
  echo "restrict $key" >"$keys/relays"
  echo "$name ${greeting##* }" >"$generated/instance"
  options+=(-o "AuthorizedKeysFile=$keys/authorized_keys $keys/relays" -o ExposeAuthInfo=yes)
}

# Starts sshd and sets `sshd`, its process id. It does not check the configuration first, which would take as long as the start.
start_sshd() {
  local program team name=- options=(-o "Port=$port" -o "AllowUsers=$user")
  program=$(PATH=$PATH:/usr/sbin:/usr/local/sbin:/sbin type -P sshd) || {
    terminate_message "the image has no sshd: install openssh-server"
    return 1
  }
  name_user && copy_keys || return 1
  # Only root's sshd requires this folder.
  ((UID)) || mkdir -p /run/sshd
  # Find the name that probe.sh expects. With hostNetwork, HOSTNAME is the name of the node; otherwise it may be fully qualified.
  for team in "${team_names[@]}"; do [[ $HOSTNAME != "$team"-* ]] || name=${HOSTNAME%%.*}; done
  if [[ -e $scripts/mpi.sh ]]; then
    . "$scripts/mpi.sh"
    [[ -n ${mpi_found:-} ]] || find_mpi
  fi
  mpi_found=${mpi_found:-none}
  # launcher.sh has already sourced topology.sh, worker.sh has not.
  if [[ -n ${rank_order:-} ]]; then
    type -t find_domain >/dev/null || . "$scripts/topology.sh"
    find_domain
  fi
  # probe.sh reads the greeting. The end of the greeting changes when the container starts again.
  greeting="khorovod $name ${mpi_found/ /-} ${KHOROVOD_POD_IP:--} ${KHOROVOD_NODE_IP:--}${pod_domain:+=$pod_domain} ${KHOROVOD_POD_UID:0:8}-$(printf '%(%s)T' -1)"
  # Every session gets this container's environment and working directory.
  (
    umask 077
    { cat /proc/self/environ; printf 'PWD=%s\0' "$PWD"; } >"$generated/environment"
  )
  if [[ -e $scripts/order.sh ]]; then allow_orders; fi
  # OpenSSH 9.8 and later, which have sshd-session, block clients that connect and hang up, as probes do.
  if PATH=/usr/lib/openssh:/usr/libexec/openssh:/usr/lib/ssh:/usr/libexec/ssh type -P sshd-session >/dev/null ||
    "$program" -t -f "$scripts/sshd_config" "${options[@]}" -o PerSourcePenalties=no 2>/dev/null; then
    options+=(-o PerSourcePenalties=no)
  else
    # Without re-execution, a connection takes a tenth of the time. Later versions always start sshd-session.
    options+=(-r)
  fi
  sshd_command=("$program" -f "$scripts/sshd_config" "${options[@]}")
  listen
}

# listen [leaving]: starts sshd, or starts it again with a word at the end of its greeting; sessions continue.
listen() {
  [[ -z ${sshd:-} ]] || { kill "$sshd" && wait "$sshd"; } 2>/dev/null
  "${sshd_command[@]}" -o "VersionAddendum=$greeting${1:+ $1}" -D -e &
  sshd=$!
  printf '%s\n' $$ "$sshd" "${guard:-}" "${distributor:-}" >"$generated/own"
}

# Fails, with sshd's messages, if sshd rejects its configuration.
check_sshd() {
  "${sshd_command[@]}" -t -o LogLevel=INFO || {
    terminate_message "sshd rejects its configuration; see its messages above"
    return 1
  }
}
