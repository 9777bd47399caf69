# ssh and sshd for the pod's own user, without root or any capability.

# The ssh of ours, where people and programs that search PATH find it.
install_ssh() {
  local program
  # Once ours is first in PATH it must not find itself.
  [[ ! -e $generated/real-ssh ]] || return 0
  program=$(type -P ssh) || {
    epitaph "the image has no ssh: install openssh-client"
    return 1
  }
  install -D -m 0755 "$scripts/ssh" "$generated/bin/ssh" && ln -sfn "$program" "$generated/real-ssh"
}

# Sets `sshd`, its process. What it has against its configuration shows when it ends: asking first would load it twice.
start_sshd() {
  local program team name=- options=(-o "Port=$port" -o "AllowUsers=$user")
  program=$(PATH=$PATH:/usr/sbin:/usr/local/sbin:/sbin type -P sshd) || {
    epitaph "the image has no sshd: install openssh-server"
    return 1
  }
  name_user && copy_keys || return 1
  # Only root's sshd wants this folder.
  ((UID)) || mkdir -p /run/sshd
  # Who answers and with which MPI, for probe.sh. Pods on the host's network have the names of their nodes; others may be
  # told to have theirs in full.
  for team in "${team_names[@]}"; do [[ $HOSTNAME != "$team"-* ]] || name=${HOSTNAME%%.*}; done
  if [[ -e $scripts/mpi.sh ]]; then
    . "$scripts/mpi.sh"
    [[ -n ${found:-} ]] || find_mpi
  fi
  found=${found:-none}
  options+=(-o "VersionAddendum=khorovod $name ${found/ /-}")
  # Every session gets the environment and the folder of this container.
  (
    umask 077
    { cat /proc/self/environ; printf 'PWD=%s\0' "$PWD"; } >"$generated/environment"
  )
  # From OpenSSH 9.8 on, which has sshd-session, sshd shuts out who connects and hangs up, as probes do.
  if PATH=/usr/lib/openssh:/usr/libexec/openssh:/usr/lib/ssh:/usr/libexec/ssh type -P sshd-session >/dev/null ||
    "$program" -t -f "$scripts/sshd_config" "${options[@]}" -o PerSourcePenalties=no 2>/dev/null; then
    options+=(-o PerSourcePenalties=no)
  else
    # Serves a connection without starting anew, for a tenth of the time; later versions start another program.
    options+=(-r)
  fi
  sshd_command=("$program" -f "$scripts/sshd_config" "${options[@]}")
  "${sshd_command[@]}" -D -e &
  sshd=$!
  printf '%s\n' $$ "$sshd" >"$generated/own"
}

# Whether sshd takes its configuration; its words otherwise.
sshd_is_sound() {
  "${sshd_command[@]}" -t -o LogLevel=INFO || {
    epitaph "sshd does not take its configuration; its words stand above"
    return 1
  }
}
