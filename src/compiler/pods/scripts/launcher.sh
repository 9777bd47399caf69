#!/bin/bash
# The launcher's life: is it current, scale the workers, wait for them, assert the world, train,
# give the GPUs back, and only then end.
#
# Exit codes: 0 trained · 42 failed for good · 43 superseded · 44 past its deadline. These come
# after the release; any other is a death that Kubernetes answers with a new launcher.
. /etc/khorovod/scripts/common.sh
for part in hosts wait mpi world attempt elastic sshd scale idle; do
  # Only the parts that the job needs are there.
  [[ ! -e $scripts/$part.sh ]] || . "$scripts/$part.sh"
done

began=$(printf '%(%s)T' -1)
deaths=0 failure=''

# finish CODE WHY: the one way out.
finish() {
  trap '' TERM INT
  trap - EXIT
  epitaph "$2"
  [[ -z $scales ]] || release
  stop_training
  [[ -z ${sshd:-} ]] || kill "$sshd" 2>/dev/null
  exit "$1"
}
trap 'finish 143 "told to end"' TERM INT
trap 'finish 1 "the launcher broke off; this is a bug in khorovod"' EXIT
trap 'kill -USR1 "${training:-0}" 2>/dev/null' USR1
trap 'kill -USR2 "${training:-0}" 2>/dev/null' USR2

# hostfile, discovery script and ssh, where launchers and people look for them.
prepare() {
  { name_user && copy_keys && install_ssh; } || finish 42 "ssh cannot be set up; see the line above"
  [[ ! -e $scripts/discover.sh ]] || install -m 0755 "$scripts/discover.sh" "$generated/discoverHosts.sh"
  if [[ -e $scripts/horovodrun ]] && program=$(type -P horovodrun); then
    ln -sfn "$program" "$generated/real-horovodrun" && install -m 0755 "$scripts/horovodrun" "$generated/bin/horovodrun"
  fi
  export PATH=$generated/bin:$PATH
  # For people and programs that do not start from this PATH.
  home=$(unset HOME; echo ~)
  if [[ ! -e $home/.ssh/config ]] && mkdir -p "$home/.ssh" 2>/dev/null; then
    (
      umask 077
      { printf 'Port %s\nUser %s\n' "$port" "$user"; cat "$scripts/ssh_config"; } >"$home/.ssh/config"
    )
  fi
  # Open MPI would try what leads elsewhere.
  has_ipv4 || export OMPI_MCA_btl_tcp_disable_family=${OMPI_MCA_btl_tcp_disable_family:-4}
  [[ -e $home/.bashrc ]] || {
    echo "PATH=$generated/bin:\$PATH"
    declare -p OMPI_MCA_btl_tcp_disable_family
  } 2>/dev/null >"$home/.bashrc"
  list_hosts
  write_hostfile
}

# Ends what an attempt left on the workers, and fills `remarks` with what they say to it: who cannot be
# logged in to, and why, or what is wrong there.
sweep() {
  local host
  mapfile -t remarks < <(
    for host in "${hosts[@]}"; do [[ $host == "$launcher_host" ]] || echo "$host"; done |
      xargs -r -n 1 -P 32 timeout 8 /bin/bash "$scripts/sweep.sh" from
  )
}

# A fresh pod may for a while see the ConfigMap as it was before this run.
for ((age = 0; age < 150; age++)); do
  superseded || break
  pause 1
done
check_limits

retries=$(limit retries 3)
if [[ -n $scales ]]; then
  read_job
  check_limits
  ((deaths <= retries)) || finish 42 "$deaths launchers died, and retries are $retries"
  scale_up
fi
# While the workers start.
[[ $kind != mpirun ]] || check_mpi
prepare
if [[ -n $launcher_host ]]; then
  { download && start_sshd && sshd_is_sound; } || finish 42 "this pod cannot serve as a worker; see the lines above"
fi

for ((tried = deaths; tried <= retries; tried++)); do
  wait_workers
  # Those that were lost are back.
  [[ ! -s $generated/lost ]] || sweep
  [[ $kind != mpirun ]] || assert_world
  if ((${#launch[@]} == 0)); then stay_open; fi
  watch=watch
  [[ -z $min_workers ]] || watch=''
  if attempt $watch; then
    upload || finish 42 "trained, but the S3 volumes could not be uploaded; see the lines above"
    finish 0 "trained"
  fi
  if [[ ! -s $generated/lost ]]; then
    sweep
    ((${#remarks[@]} == 0)) || failure+="; $(IFS=';' && some "${remarks[@]}")"
  fi
  log "attempt $((tried + 1)) of $((retries + 1)) failed: $failure"
  ((tried == retries)) || pause 2
done
upload || log "the S3 volumes could not be uploaded"
finish 42 "failed after $((retries + 1)) attempts; the last: $failure"
