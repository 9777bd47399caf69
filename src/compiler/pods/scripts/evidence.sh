#!/bin/bash
# What the ranks of a host are doing, for stall.sh. Each part has a few seconds.
#
#   evidence.sh from FOLDER STORE HOST   on the launcher: writes what HOST prints to FOLDER/HOST
#   evidence.sh on HOST STORE            on the host: prints it, and stores it in STORE if that is not empty
#   evidence.sh order STORE              on the host, by an order: prints it with the name of the host before each line; the last is `end`
#
# One line for each rank, `rank NUMBER PLACE; pid …`, with its stacks indented below; and lines `note …` for the launcher's log.
set -u

# limit_lines [PREFIX]: passes on the first lines of each rank, which are enough for the log.
limit_lines() {
  local line lines=0
  while IFS= read -r line; do
    [[ $line == ' '* ]] || lines=0
    # A pipe takes 4,096 bytes at once.
    ((lines++ > 30)) || LC_ALL=C printf '%s%.3800s\n' "${1:-}" "$line"
  done
}

if [[ $1 == order ]]; then
  { timeout -k 1 20 /bin/bash "$0" on "$SLURMD_NODENAME" "$2" 2>/dev/null && echo end; } | limit_lines "$SLURMD_NODENAME "
  exit 0
fi
if [[ $1 == from ]]; then
  timeout -k 1 20 ssh -n -o ConnectTimeout=5 -o ConnectionAttempts=1 "$4" "/bin/bash $0 on $4 ${3@Q}" 2>/dev/null | limit_lines >"$2/$4"
  case ${PIPESTATUS[0]} in
  0) ;;
  124) echo "note this host did not finish within 20 s" >>"$2/$4" ;;
  *) echo "note this host does not answer" >>"$2/$4" ;;
  esac
  exit 0
fi
. /etc/khorovod/scripts/ranks.sh
host=${2%%.*} store=$3

# variable PID NAME: prints a variable of a process.
variable() {
  local words word
  { mapfile -d '' -t words <"/proc/$1/environ"; } 2>/dev/null
  for word in "${words[@]}"; do
    [[ $word == "$2="* ]] && printf '%s' "${word#*=}" && return
  done
  return 1
}

# indent TEXT: prints a text with its lines indented.
indent() { printf '  %s\n' "${1//$'\n'/$'\n'  }"; }

rank_of() {
  local name
  for name in OMPI_COMM_WORLD_RANK PMI_RANK PMIX_RANK HOROVOD_RANK KHOROVOD_RANK RANK; do variable "$1" "$name" && return; done
}

# read_state PID: sets `state`, `threads`, `caught` (signals with a handler) and `wchan` (the kernel function that it waits in).
read_state() {
  local key value
  state='?' threads='?' caught=0 wchan=''
  while read -r key value; do
    case $key in State:) state=${value%% *} ;; Threads:) threads=$value ;; SigCgt:) caught=$((0x$value)) ;; esac
  done 2>/dev/null <"/proc/$1/status"
  { read -r wchan <"/proc/$1/wchan"; } 2>/dev/null
  [[ $wchan != 0 ]] || wchan=''
}

# waits_for PID: prints the file that the first argument of its system call is, if the kernel allows it.
waits_for() {
  local call argument file
  { read -r call argument _ <"/proc/$1/syscall"; } 2>/dev/null || return
  [[ ${argument:-} =~ ^0x[0-9a-f]{1,4}$ ]] || return
  file=$(readlink "/proc/$1/fd/$((argument))") && [[ $file == /* ]] && printf ' for %s' "$file"
}

# Whether a process has waited uninterruptibly for a second.
is_blocked() {
  read_state "$1"
  [[ $state == D ]] && sleep 1 && read_state "$1" && [[ $state == D ]]
}

# children PID: prints the process ids of its children.
children() { { cat "/proc/$1/task/$1/children"; } 2>/dev/null; }

# The file in memory of sitecustomize.py.
stacks_of() { find "/proc/$1/fd" -lname '/memfd:khorovod-stacks*' -print -quit 2>/dev/null; }

# python_stacks PID: fills `stacks` with the stack of each Python thread, that of the main thread first. The process may be a child
# of a wrapper such as `uv run`.
python_stacks() {
  local python=$1 file line text='' before='' tries since=0
  local -a next
  stacks=()
  while file=$(stacks_of "$python") && [[ -z $file ]]; do
    read -r -a next < <(children "$python")
    ((${#next[@]} == 1)) || return 0
    python=${next[0]}
  done
  read_state "$python"
  [[ $state != [TtDZ] ]] && ((caught >> 59 & 1)) || return 0
  : >"$file"
  kill -60 "$python"
  # Until nothing was added for half a second.
  for tries in {1..50}; do
    sleep 0.1
    text=$(<"$file")
    if [[ -z $text || $text != "$before" ]]; then
      since=$tries before=$text
    fi
    ((tries - since < 5)) || break
  done 2>/dev/null
  while IFS= read -r line; do
    case $line in
    *'(most recent call first):') stacks=("$line" "${stacks[@]}") ;;
    ?*) ((${#stacks[@]} == 0)) || stacks[0]+=$'\n'$line ;;
    esac
  done <<<"$text"
}

# Prints the place of the main thread: the function of the innermost frame, and the line of the innermost frame outside of Python
# itself and of installed packages.
python_place() {
  local line function='' at=''
  while IFS= read -r line; do
    [[ $line =~ ^\ +File\ \"(.*)\",\ line\ ([0-9]+)\ in\ (.+)$ ]] || continue
    [[ -n $function ]] || { function=${BASH_REMATCH[3]} && at=${BASH_REMATCH[1]##*/}:${BASH_REMATCH[2]}; }
    case ${BASH_REMATCH[1]} in
    */site-packages/* | */dist-packages/* | */lib/python[0-9]* | '<frozen '*) ;;
    *)
      at=${BASH_REMATCH[1]##*/}:${BASH_REMATCH[2]}
      break
      ;;
    esac
  done <<<"${stacks[0]}"
  printf 'in %s (%s)' "$function" "$at"
}

# native_stacks PID: prints the stacks of its threads, the main thread first, if the image has a program for it and the kernel
# allows it.
native_stacks() {
  if type -P eu-stack >/dev/null; then
    timeout -k 1 5 eu-stack -p "$1"
  elif type -P gdb >/dev/null; then
    timeout -k 1 5 gdb -p "$1" -nx -batch -ex 'thread apply all -ascending bt 30' | grep -E '^(#|Thread )'
  elif type -P py-spy >/dev/null; then
    timeout -k 1 5 py-spy dump --native --pid "$1"
  fi 2>/dev/null | head -n 400
}

# describe_rank PID
describe_rank() {
  local rank place='' native='' kernel='' step='' child stacks state threads caught wchan
  rank=$(rank_of "$1")
  python_stacks "$1"
  is_blocked "$1" || true
  case $state in
  T | t) place="stopped by a signal (state $state)" ;;
  D) place="waiting in ${wchan:-the kernel}$(waits_for "$1") (state D)" ;;
  Z) place="has exited (state Z)" ;;
  *)
    native=$(native_stacks "$1")
    # A debugger that runs out of time leaves the process stopped.
    kill -CONT "$1"
    ;;
  esac
  if [[ -n $place ]]; then
    :
  elif ((${#stacks[@]})); then
    place=$(python_place)
  elif [[ $native =~ (^|$'\n')'#0'\ +(0x[0-9a-f]+\ )?(in\ )?([^\ \(]+) ]]; then
    place="in ${BASH_REMATCH[4]} (C)"
  else
    place=${wchan:+waiting in }${wchan:-running} && place+=", without a Python stack"
  fi
  [[ -z $wchan ]] || kernel=", in the kernel $wchan"
  { read -r step _ <"/horovod/generated/steps/$rank"; } 2>/dev/null
  echo "rank ${rank:-?} $place; pid $1, state $state, $threads threads$kernel${step:+, step $step}"
  for child in "${stacks[@]}"; do indent "$child"; done
  [[ -z $native ]] || indent "Native stacks:"$'\n'"$native"
  describe_recorder "$1" "$rank"
  describe_children "$1" "$rank"
}

# Processes of a rank, such as loaders of data, that are stopped or wait in the kernel.
describe_children() {
  local child name
  for child in $(children "$1"); do
    is_blocked "$child" || true
    { read -r name <"/proc/$child/comm"; } 2>/dev/null || continue
    case $state in
    T | t) echo "note process $child ($name) of rank $2 is stopped by a signal (state $state)" ;;
    D) echo "note process $child ($name) of rank $2 is waiting in ${wchan:-the kernel}$(waits_for "$child") (state D)" ;;
    esac
    describe_children "$child" "$2"
  done
}

# The flight recorder of PyTorch: requests its file, and stores it. PyTorch 2.9 has another variable and default for it than 2.8.
describe_recorder() {
  local pipe prefix file tries=0 files=("$(variable "$1" HOME)/.cache/torch/comm_lib_trace_rank_$2" "/tmp/nccl_trace_rank_$2")
  pipe=$(variable "$1" TORCH_NCCL_DEBUG_INFO_PIPE_FILE)
  prefix=$(variable "$1" TORCH_FR_DUMP_TEMP_FILE || variable "$1" TORCH_NCCL_DEBUG_INFO_TEMP_FILE)
  [[ -n $pipe$prefix ]] || return 0
  [[ -z $prefix ]] || files=("$prefix$2")
  if [[ -p $pipe$2.pipe ]]; then
    # Files of an earlier attempt.
    rm -f "${files[@]}"
    timeout 4 /bin/bash -c 'echo 1 >"$1"' - "$pipe$2.pipe"
    until [[ -s ${files[0]} || -s ${files[-1]} ]] || ((tries++ == 30)); do sleep 0.1; done
    sleep 0.2
  fi
  for file in "${files[@]}"; do
    [[ -s $file ]] || continue
    echo "  Flight recorder: $file"
    [[ -z $store ]] || { mkdir -p "$store" && cp "$file" "$store/"; } 2>/dev/null
  done
}

describe_gpus() {
  local text code index ecc reasons
  type -P nvidia-smi >/dev/null || return 0
  text=$(timeout -k 1 5 nvidia-smi --format=csv,noheader,nounits \
    --query-gpu=index,ecc.errors.uncorrected.volatile.total,clocks_throttle_reasons.active,utilization.gpu,memory.used,temperature.gpu 2>&1)
  code=$?
  case $code in
  0) ;;
  124 | 137) echo "note nvidia-smi did not return within 5 s" ;;
  *) echo "note nvidia-smi failed: ${text%%$'\n'*}" ;;
  esac
  echo "gpus: index, uncorrected ECC errors, throttle reasons, utilisation, memory, temperature"
  indent "$text"
  while ((code == 0)) && IFS=', ' read -r index ecc reasons _; do
    [[ ! $ecc =~ ^[1-9] ]] || echo "note GPU $index has $ecc uncorrected ECC errors"
    # Hardware slowdown, thermal slowdown and power brake.
    [[ ! $reasons =~ ^0x[0-9a-fA-F]+$ ]] || ((!(reasons & 0xe8))) || echo "note GPU $index is slowed down (throttle reasons $reasons)"
  done <<<"$text"
  timeout 2 dmesg 2>/dev/null | grep 'NVRM: Xid' | tail -n 5 | sed 's/^/note /'
}

# NCCL's own view of the whole job, from the host of rank 0 only. Without blank lines and underlines, so that its warnings, which come
# last, are among the lines that stall.sh logs.
describe_nccl() {
  local text
  text=$(timeout 5 /bin/bash -c 'exec 3<>/dev/tcp/127.0.0.1/28028 && echo "verbose status" >&3 && cat <&3' 2>/dev/null |
    grep -v '^=*$' | head -n 300)
  [[ -z $text ]] || { echo "NCCL RAS:" && indent "$text"; }
}

work=$(mktemp -d)
list_ranks 60
for pid in "${ranks[@]}"; do
  printf -v name 'rank-%09d-%d' "$(rank_of "$pid")" "$pid"
  describe_rank "$pid" >"$work/$name" &
  [[ $name != rank-000000000-* ]] || describe_nccl >"$work/ras" &
done 2>/dev/null
describe_gpus >"$work/gpus" &
wait
((${#ranks[@]})) || echo "note this host runs no rank" >"$work/none"
if [[ -n $store ]] && ! { mkdir -p "$store" && cat "$work"/* >"$store/.$host" && mv "$store/.$host" "$store/$host.txt"; } 2>/dev/null; then
  echo "note cannot write to $store" >"$work/store"
fi
cat "$work"/*
rm -rf "$work"
