#!/bin/bash
# The launcher scales up the workers, waits for them, checks MPI, trains, releases the workers and exits.
#
# Exit codes: 0 trained, 42 failed, 43 superseded, 44 past its deadline. The workers are released before. After any other code
# Kubernetes starts a new launcher.
. /etc/khorovod/scripts/common.sh
for part in hosts wait mpi world attempt elastic sshd scale idle; do
  # A job has only the files that it needs.
  [[ ! -e $scripts/$part.sh ]] || . "$scripts/$part.sh"
done

began=$(printf '%(%s)T' -1)
deaths=0 failure=''

# finish CODE REASON: releases the workers and exits. Nothing else exits.
finish() {
  trap '' TERM INT
  trap - EXIT
  terminate_message "$2"
  [[ -z $scales ]] || release_workers
  stop_training
  [[ -z ${sshd:-} ]] || kill "$sshd" 2>/dev/null
  exit "$1"
}
trap 'finish 143 "received SIGTERM"' TERM INT
trap 'finish 1 "the launcher script ended unexpectedly; this is a bug in khorovod"' EXIT
trap 'kill -USR1 "${training:-0}" 2>/dev/null' USR1
trap 'kill -USR2 "${training:-0}" 2>/dev/null' USR2

# Puts hostfile, discovery script and ssh where launchers and people look for them.
prepare() {
  { name_user && copy_keys && install_ssh; } || finish 42 "ssh could not be set up; see the line above"
  [[ ! -e $scripts/discover.sh ]] || install -m 0755 "$scripts/discover.sh" "$generated/discoverHosts.sh"
  if [[ -e $scripts/horovodrun ]] && program=$(type -P horovodrun); then
    ln -sfn "$program" "$generated/real-horovodrun" && install -m 0755 "$scripts/horovodrun" "$generated/bin/horovodrun"
  fi
  export PATH=$generated/bin:$PATH
  # For people, and for programs that do not inherit this PATH.
  home=$(unset HOME; echo ~)
  if [[ ! -e $home/.ssh/config ]] && mkdir -p "$home/.ssh" 2>/dev/null; then
    (
      umask 077
      { printf 'Port %s\nUser %s\n' "$port" "$user"; cat "$scripts/ssh_config"; } >"$home/.ssh/config"
    )
  fi
  # Or Open MPI tries the IPv4 address for egress.
  has_ipv4 || export OMPI_MCA_btl_tcp_disable_family=${OMPI_MCA_btl_tcp_disable_family:-4}
  [[ -e $home/.bashrc ]] || {
    echo "PATH=$generated/bin:\$PATH"
    declare -p OMPI_MCA_btl_tcp_disable_family
  } 2>/dev/null >"$home/.bashrc"
  list_hosts
  write_hostfile
}

# Ends what an attempt left on the workers. Fills `remarks` with the faults found there.
sweep() {
  local host
  mapfile -t remarks < <(
    for host in "${hosts[@]}"; do [[ $host == "$launcher_host" ]] || echo "$host"; done |
      xargs -r -n 1 -P 32 timeout 8 /bin/bash "$scripts/sweep.sh" from
  )
}

# A new pod may see the ConfigMap of the run before for a while.
for ((age = 0; age < 150; age++)); do
  is_superseded || break
  pause 1
done
check_limits

retries=$(limit retries 3)
if [[ -n $scales ]]; then
  read_job
  check_limits
  ((deaths <= retries)) || finish 42 "$deaths launchers failed, and launcher.retries is $retries"
  scale_up
fi
# The workers start meanwhile.
[[ $kind != mpirun ]] || check_mpi
prepare
if [[ -n $launcher_host ]]; then
  { download && start_sshd && check_sshd; } || finish 42 "this pod cannot serve as a worker; see the lines above"
fi

for ((tried = deaths; tried <= retries; tried++)); do
  wait_workers
  # The lost workers are back.
  [[ ! -s $generated/lost ]] || sweep
  [[ $kind != mpirun ]] || check_mpi_versions
  if ((${#launch[@]} == 0)); then stay_open; fi
  watch=watch
  [[ -z $min_workers ]] || watch=''
  if attempt $watch; then
    upload || finish 42 "trained, but the S3 volumes could not be uploaded; see the lines above"
    finish 0 "trained"
  fi
  if [[ ! -s $generated/lost ]]; then
    sweep
    ((${#remarks[@]} == 0)) || failure+="; $(IFS=';' && shorten "${remarks[@]}")"
  fi
  log "attempt $((tried + 1)) of $((retries + 1)) failed: $failure"
  ((tried == retries)) || pause 2
done
upload || log "the S3 volumes could not be uploaded"
finish 42 "failed after $((retries + 1)) attempts; the last: $failure"
