#!/bin/bash
# Runs on the first workers. If no launcher runs for launcher.lostTimeout, releases all workers, so that a run without a launcher holds
# no GPU. This happens if the launcher cannot start again, or if its Job has ended or was deleted.
. /etc/khorovod/scripts/common.sh
. "$scripts/api.sh"
[[ ! -e $scripts/scale.sh ]] || . "$scripts/scale.sh"

# is_launched: whether a launcher runs, from the answer for the Job. In an Indexed Job, index 0 launches and answers like a worker.
is_launched() {
  if [[ -n $scales ]]; then
    (($(field ready || echo 0)))
  else
    timeout 5 /bin/bash -c "exec 3<>/dev/tcp/$launcher_host/$port" 2>/dev/null
  fi
}

release() {
  if [[ -n $scales ]]; then
    release_workers
  else
    # With this deadline, Kubernetes ends all pods of the Job.
    call PATCH "$job_path" '{"spec":{"activeDeadlineSeconds":1}}'
  fi
}

# With hostNetwork, all workers watch, because they do not know their index.
every=10
[[ ${HOSTNAME%%.*} == "${team_names[0]}"-* ]] || every=120
since=''
while pause "$((every + RANDOM % every))"; do
  call GET "$job_path"
  case $status in
  200)
    if ! is_ending && is_launched; then
      since=''
      continue
    fi
    ;;
  404) ;;
  # The API server does not answer or refuses the request, so whether a launcher runs is unknown.
  *) continue ;;
  esac
  allowed=$(limit lost-timeout 900)
  # The Job has ended: no launcher will release the workers.
  if [[ $status == 404 ]] || is_ending; then allowed=30; fi
  since=${since:-$SECONDS}
  ((SECONDS - since >= allowed)) || continue
  log "no launcher has run for $((SECONDS - since)) s: this worker releases the workers of the run"
  release
done
