#!/bin/bash
# Checks in seconds whether this pod can run ranks. Prints one line for each fault: `LEVEL HOST REASON`. The levels are
# `suspect` (it can, but another worker would be better), `unfit` (it cannot) and `refused` (the user's own command failed).
#
#   check.sh HOST [NOW [OTHER=ADDRESS]...]   in the pod of that host; NOW is the launcher's clock, OTHER another worker
#   check.sh from HOST [OTHER=ADDRESS]...    on the launcher
#   check.sh order NOW                       in all pods, by an order: the OTHERs are the hosts before and after this one. The last line
#                                            is `checked HOST`
set -u
. /etc/khorovod/scripts/job.sh
if [[ $1 == from ]]; then
  host=$2
  command=("/bin/bash" "$0" "$host" "$(printf '%(%s)T' -1)" "${@:3}")
  [[ $host == "$launcher_host" ]] || command=(ssh -n -o ConnectTimeout=5 "$host" "${command[*]}")
  output=$(timeout -k 1 $((health_timeout + 60)) "${command[@]}" 2>&1)
  code=$?
  case $code in
  # Without warnings of ssh and of the shell.
  0) output=$(grep -E "^(suspect|unfit|refused) $host " <<<"$output") ;;
  124 | 137) output="unfit $host the checks did not end within $((health_timeout + 60)) s" ;;
  255) output="unfit $host cannot log in: ${output##*: }" ;;
  *) output="unfit $host the checks ended with code $code: ${output##*$'\n'}" ;;
  esac
  [[ -z $output ]] || echo "$output"
  exit 0
fi

is_order=''
if [[ $1 == order ]]; then
  is_order=yes
  mapfile -t lines <"/horovod/generated/orders/$KHOROVOD_ORDER"
  for start in "${!lines[@]}"; do [[ ${lines[start]} != "-----END SSH SIGNATURE-----" ]] || break; done
  # After the format, the number and the command, each line is a host with its address.
  lines=("${lines[@]:start+4}")
  set -- "$SLURMD_NODENAME" "$2"
  if ((${#lines[@]} > 2)); then
    for index in $((SLURM_NODEID - 1)) $(((SLURM_NODEID + 1) % ${#lines[@]})); do
      read -r other address _ <<<"${lines[index]}"
      set -- "$@" "$other=$address"
    done
  fi
  unset SLURM_JOBID SLURM_NODEID SLURM_PROCID SLURMD_NODENAME
fi
host=$1 faults=()
fault() { faults+=("$1 $host $2"); }

# try SECONDS COMMAND...: runs a command and sets `output` and `code`, which is 124 if it takes longer. Does not wait for a process
# that cannot be killed, as after a failure of a device.
try() {
  local text
  read -r -d '' -t "$1" text < <(
    exec </dev/null 2>&1
    "${@:2}"
    echo "; $?"
  )
  output=${text%; *} code=124
  [[ $text != *'; '* ]] || code=${text##*; }
  [[ $code =~ ^[0-9]+$ ]] || code=124
}

check_nvidia() {
  local index errors pending mig failure rows=0 line=''
  try 20 nvidia-smi --query-gpu=index,ecc.errors.uncorrected.volatile.total,retired_pages.pending,mig.mode.current --format=csv,noheader
  # With 2 the driver lacks one of the fields, and 14 is only a warning.
  case $code in
  0 | 2 | 14) ;;
  124)
    is_counted=''
    fault unfit "nvidia-smi does not answer within 20 s"
    return
    ;;
  *)
    while read -r line && [[ $line == [0-9]*,* ]]; do :; done <<<"$output"
    is_counted=''
    fault unfit "nvidia-smi fails with code $code: $line"
    return
    ;;
  esac
  ((code == 2)) || found=()
  while IFS=', ' read -r index errors pending mig; do
    [[ $index =~ ^[0-9]+$ ]] || continue
    found+=("$index")
    # The spec may count slices of a GPU, which are not listed.
    [[ $mig != Enabled ]] || is_counted=''
    [[ ! $errors =~ ^[1-9] ]] || fault suspect "GPU $index has $errors uncorrectable memory errors"
    [[ $pending != Yes ]] || fault suspect "GPU $index must be reset, because it has memory pages to retire"
  done <<<"$output"
  try 20 nvidia-smi --query-remapped-rows=remapped_rows.pending,remapped_rows.failure --format=csv,noheader
  while IFS=', ' read -r pending failure; do
    [[ $failure != [1Y]* ]] || fault suspect "GPU $rows could not remap a row of its memory and must be replaced"
    [[ $pending != [1Y]* ]] || fault suspect "GPU $rows must be reset, because it has rows of memory to remap"
    ((++rows))
  done <<<"$output"
}

# check_devices TEAM
check_devices() {
  local found is_counted=yes
  mapfile -t found < <(compgen -G '/dev/infiniband/uverbs*')
  [[ -z ${team_rdma[$1]} ]] || ((${#found[@]})) || fault unfit "there is no RDMA device in /dev/infiniband"
  [[ -n ${team_gpu_files[$1]} ]] && ((team_gpus[$1])) || return 0
  mapfile -t found < <(compgen -G "${team_gpu_files[$1]}")
  if [[ ${team_gpu_files[$1]} == *nvidia* ]] && type -P nvidia-smi >/dev/null; then
    check_nvidia
  elif ((${#found[@]} == 0)); then
    # A cluster for tests may have GPUs that do not exist.
    is_counted=''
  fi
  [[ -z $is_counted ]] || ((${#found[@]} >= team_gpus[$1])) || fault unfit "it has ${#found[@]} of ${team_gpus[$1]} GPUs"
}

# check_folder LEVEL FOLDER: whether the file system answers, has space, and was not made read-only after an error.
check_folder() {
  local size free block files all folder options rest
  try 5 stat -f -c '%b %a %S %d %c' "$2"
  case $code in
  0) ;;
  124)
    fault unfit "$2 does not answer within 5 s"
    return
    ;;
  *)
    [[ $output == *denied* ]] || fault unfit "$2 cannot be used: ${output##*: }"
    return
    ;;
  esac
  read -r size free block files all <<<"$output"
  # Some file systems report no size.
  if ((size && free * block < 1 << 20 || all && !files)); then fault "$1" "$2 is full"; fi
  while read -r _ _ _ _ folder options rest; do
    [[ $folder != "${2%/}" || ,$options, == *,ro,* || ,${rest##* }, != *,ro,* ]] || fault unfit "$2 has become read-only"
  done </proc/self/mountinfo
}

name=${host%%.*}
for team in "${!team_names[@]}"; do [[ ${name%-*} != "${team_names[team]}" ]] || check_devices "$team"; done
# A launcher that runs ranks is like the workers of the first group.
[[ $name != "$launcher_pod" ]] || check_devices 0
for folder in /horovod/generated /tmp /dev/shm; do check_folder unfit "$folder"; done
for folder in "${health_folders[@]}"; do check_folder suspect "$folder"; done
if [[ -n ${2:-} ]]; then
  off=$(($(printf '%(%s)T' -1) - $2))
  ((off > -300 && off < 300)) || fault suspect "its clock is $off s off the launcher's"
fi
if (($# > 2)); then
  try 4 timeout 3 /bin/bash /etc/khorovod/scripts/probe.sh "$port" '' "${@:3}"
  others=("${@:3}")
  [[ $output == *[![:space:]]* ]] || fault unfit "it cannot connect to ${others[*]%%=*} on port $port"
fi
if ((${#health_command[@]})); then
  try $((health_timeout + 3)) timeout -k 2 "$health_timeout" "${health_command[@]}"
  output=${output%$'\n'}
  case $code in
  0) ;;
  124) fault refused "the command of workers.healthCheck did not end within $health_timeout s" ;;
  *) fault refused "the command of workers.healthCheck ended with code $code: ${output##*$'\n'}" ;;
  esac
fi
((${#faults[@]} == 0)) || printf '%s\n' "${faults[@]}"
[[ -z $is_order ]] || echo "checked $host"
exit 0
