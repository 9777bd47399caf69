#!/bin/bash
# processes.sh COMMAND...: starts the ranks of this pod for JAX or TensorFlow, and waits for them. When one of them fails, it ends the
# others and exits with the code of that one.
. /etc/khorovod/scripts/job.sh
generated=/horovod/generated
slots=${team_slots[0]} index=$JOB_COMPLETION_INDEX
share=$((gpus / slots))

# The addresses of all ranks as JSON, in the order of the ranks.
list_addresses() {
  local host rank list=''
  for ((host = 0; host < team_replicas[0]; host++)); do
    for ((rank = 0; rank < slots; rank++)); do list+=",\"${team_names[0]}-$host.$service:$((29410 + rank))\""; done
  done
  printf '[%s]' "${list#,}"
}
[[ $kind != tensorflow ]] || addresses=$(list_addresses)

# start LOCAL_RANK COMMAND...: becomes a rank.
start() {
  local devices='' device
  for ((device = $1 * share; device < ($1 + 1) * share; device++)); do devices+=,$device; done
  devices=${devices#,}
  export KHOROVOD_RANK=$((index * slots + $1)) KHOROVOD_LOCAL_RANK=$1 KHOROVOD_RANKS=$np KHOROVOD_RANK_PID=$BASHPID
  case $kind in
  jax)
    export JAX_PROCESS_ID=$KHOROVOD_RANK
    [[ -z $devices ]] || export JAX_LOCAL_DEVICE_IDS=$devices
    ;;
  tensorflow)
    export TF_CONFIG="{\"cluster\":{\"worker\":$addresses},\"task\":{\"type\":\"worker\",\"index\":$KHOROVOD_RANK}}"
    if [[ -n $devices ]] && ((slots > 1)); then
      export CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES:-$devices} HIP_VISIBLE_DEVICES=${HIP_VISIBLE_DEVICES:-$devices}
    fi
    ;;
  esac
  trap - TERM INT
  exec "${@:2}"
}

# Sleeps without starting a process.
rest() {
  [[ -p $generated/quiet ]] || mkfifo "$generated/quiet" 2>/dev/null
  ! read -r -t "$1" <>"$generated/quiet"
}

ending=''
trap 'ending=143' TERM INT
declare -A running=()
for ((number = 0; number < slots; number++)); do
  if [[ -n $rank_prefix ]]; then
    prefix="[rank$((index * slots + number))]: "
    start "$number" "$@" > >(exec sed -u "s/^/$prefix/") 2> >(exec sed -u "s/^/$prefix/" >&2) &
  else
    start "$number" "$@" &
  fi
  running[$number]=$!
done

# Ranks may handle SIGTERM, as those of JAX do: after 3 seconds they get SIGKILL.
signalled=''
while ((${#running[@]})); do
  rest 0.2
  for number in "${!running[@]}"; do
    kill -0 "${running[$number]}" 2>/dev/null && continue
    wait "${running[$number]}"
    code=$?
    unset "running[$number]"
    ((code)) || continue
    [[ -n $ending ]] || echo "khorovod: rank $((index * slots + number)) ended with code $code" >&2
    ending=${ending:-$code}
  done
  [[ -n $ending ]] || continue
  if [[ -z $signalled ]]; then
    signalled=$SECONDS
    kill -TERM "${running[@]}" 2>/dev/null
  elif ((SECONDS - signalled >= 3)); then
    kill -KILL "${running[@]}" 2>/dev/null
  fi
done
# The last lines of the output.
wait
exit "${ending:-0}"
