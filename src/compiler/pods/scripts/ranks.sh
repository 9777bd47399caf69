# The ranks of this pod.

# Whether a process has a rank in its environment, as MPI, Horovod, torchrun, DeepSpeed and processes.sh set it.
has_rank() {
  local words text
  { mapfile -d '' -t words <"/proc/$1/environ"; } 2>/dev/null || return 1
  printf -v text '\n%s' "${words[@]}"
  [[ $text =~ $'\n'(OMPI_COMM_WORLD_RANK|PMI_RANK|PMIX_RANK|HOROVOD_RANK|KHOROVOD_RANK|RANK)= ]]
}

# list_ranks [SIGNAL]: fills `ranks` with the process ids of the ranks: the first processes with a rank in their environment,
# without their children, such as the loaders of data. A shell that does not handle the signal number is replaced by its
# children, because it would end and leave them.
list_ranks() {
  local folder pid key value
  local -A parent=() children=() handled=()
  ranks=()
  for folder in /proc/[0-9]*; do
    pid=${folder#/proc/}
    has_rank "$pid" || continue
    while read -r key value; do
      case $key in PPid:) parent[$pid]=$value ;; SigCgt:) handled[$pid]=$((0x$value)) ;; esac
    done 2>/dev/null <"$folder/status"
  done
  for pid in "${!parent[@]}"; do children[${parent[$pid]}]+=" $pid"; done
  for pid in "${!parent[@]}"; do [[ -n ${parent[${parent[$pid]}]:-} ]] || add_rank "$pid" "${1:-0}"; done
}

add_rank() {
  local name child
  { read -r name <"/proc/$1/comm"; } 2>/dev/null || return 0
  case $name in
  bash | sh | dash)
    if (($2 && !(handled[$1] >> ($2 - 1) & 1))) && [[ -n ${children[$1]:-} ]]; then
      for child in ${children[$1]}; do add_rank "$child" "$2"; done
      return
    fi
    ;;
  esac
  ranks+=("$1")
}
