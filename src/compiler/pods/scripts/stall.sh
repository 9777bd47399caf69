# Finds a training that makes no progress, collects what its ranks are doing, and ends the attempt or only reports it.

# Whether there was progress since the last call. Asks the host whose file changed last, and after half of the time all of them.
declare -A changes=()
output_before='' leader=''
has_progress() {
  local key value pid text='' code=1
  if [[ -z $stall_file$stall_metric ]]; then
    # Compares the bytes that the relays have read. A relay that splices counts no bytes, but it wakes up.
    for pid in "${relays[@]}"; do
      while read -r key value; do
        case $key in rchar: | voluntary_ctxt_switches:) text+=" $value" ;; esac
      done < <(cat "/proc/$pid/io" "/proc/$pid/status" 2>/dev/null)
    done
    [[ $text != "$output_before" ]] && code=0
    output_before=$text
    return "$code"
  fi
  while read -r key value; do
    [[ ${changes[$key]:-$value} == "$value" ]] || leader=$key code=0
    changes[$key]=$value
  done < <(
    if ((${#changes[@]} && SECONDS - quiet_since < allowed / 2)); then
      on_hosts 8 "/bin/bash $scripts/progress.sh {}" "$leader"
    else
      ask_all "/bin/bash $scripts/progress.sh {}"
    fi
  )
  return "$code"
}

# Returns once the training made no progress for stall-timeout, with the reason in the file `stalled`. With the action `report` it
# never returns.
watch_progress() {
  local quiet_since=$SECONDS looked=$SECONDS unwritten=0 allowed told='' what=output
  [[ -z $stall_file$stall_metric ]] || what="change of $stall_file${stall_file:+${stall_metric:+ or }}$stall_metric"
  # Index 0 decides.
  if [[ -e $scripts/agent.sh ]] && ((index)); then
    answer_requests
    return
  fi
  while
    allowed=$(limit stall-timeout 1200)
    sleep "$((allowed < 25 ? 5 : allowed / 5))"
  do
    if has_progress; then
      quiet_since=$SECONDS told=''
      : >"$generated/stalled"
      if ((SECONDS - looked >= allowed && unwritten < 3)); then
        looked=$SECONDS
        report_slow
      fi
      continue
    fi
    if [[ -n $told ]] || ((SECONDS - quiet_since < allowed)); then continue; fi
    told=yes
    explain_stall "no $what for $((SECONDS - quiet_since)) s"
    [[ $stall_action == retry ]] || continue
    echo "$stalled" >"$generated/stalled"
    return
  done
}

# Names the ranks that took more than 1.5 times the median for a step, in this look and in the last one. A rank writes the number
# of its step, and the seconds that it took before it communicated, to the file KHOROVOD_STEPS/RANK. Stops if no rank does.
declare -A slow=()
report_slow() {
  local micro seconds rank host line lines median usual
  local -A before=()
  for rank in "${!slow[@]}"; do before[$rank]=1; done
  slow=()
  mapfile -t lines < <(ask_all "/bin/bash $scripts/progress.sh {} steps" some | grep -E '^[0-9]{1,13} [0-9.]+ [0-9]+ [^ ]+$' | sort -n)
  if ((${#lines[@]} == 0)); then
    ((++unwritten))
    return
  fi
  unwritten=0
  read -r median usual _ <<<"${lines[(${#lines[@]} - 1) / 2]}"
  for line in "${lines[@]}"; do
    read -r micro seconds rank host <<<"$line"
    ((2 * micro > 3 * median)) || continue
    slow[$rank]=1
    [[ -z ${before[$rank]:-} ]] || log "rank $rank on ${host%%.*} is slow: a step takes $seconds s, and $usual s at the median"
  done
}

# explain_stall WHY: collects evidence from all hosts and logs it. Sets `stalled` to a short form.
groups=() samples=() notes=() stalled=''
explain_stall() {
  local text rank folder=$generated/stall store=''
  log "$1: asking all hosts what their ranks are doing"
  [[ -z $stall_evidence ]] || printf -v store '%s/%s-%s-%(%Y%m%dT%H%M%S)T' "$stall_evidence" "$job" "$run" -1
  rm -rf "$folder" && mkdir -p "$folder"
  collect_evidence "$folder" "$store"
  group_ranks "$folder"
  ((${#groups[@]})) || groups=("no rank was found")
  for text in "${groups[@]:0:20}" "${notes[@]:0:20}"; do log "  $text"; done
  # The stacks of the first rank of each group, and NCCL's own report.
  for text in "${samples[@]:0:5}"; do
    rank=${text%% *}
    sed -n "/^rank $rank /,/^[^ ]/p" "$folder/${text#* }" | sed '2,${/^[^ ]/d}' | head -n 24 >&2
  done
  cat "$folder"/* | sed -n '/^NCCL RAS:/,/^[^ ]/p' | head -n 30 >&2
  [[ -z $store ]] || log "the stacks of all ranks are in $store"
  stalled="$1: $(join ', ' "${groups[@]}")"
  ((${#notes[@]} == 0)) || stalled+="; $(join '; ' "${notes[@]}")"
  stalled=${stalled:0:1500}
  event Warning Stalled "$stalled"
}

# ask_all COMMAND [some]: like on_hosts, for a command that may run twice on a host. With `some`, the answers of some hosts suffice: if the
# tree does not reach all, the launcher opens no session to each host.
ask_all() {
  local output code
  output=$(over_tree 15 /bin/bash -c "${1//'{}'/'$SLURMD_NODENAME'}")
  code=$?
  if ((code)) && ! { [[ ${2:-} ]] && has_tree; }; then
    on_hosts 8 "$1"
    return
  fi
  [[ -z $output ]] || printf '%s\n' "$output"
  [[ -z $launcher_host ]] || /bin/bash -c "${1//'{}'/$launcher_host}"
}

# collect_tree FOLDER STORE: like collect_evidence, over the tree. Sets `asked` to the hosts whose evidence is missing or incomplete, because
# an order reaches no host below one that does not answer.
collect_tree() {
  local host line before='' file=''
  local -A is_host=()
  for host in "${asked[@]}"; do is_host[$host]=1; done
  while IFS= read -r line; do
    host=${line%% *} line=${line#* }
    # Other hosts are text of a worker, which must not become a name of a file or part of an array subscript.
    [[ -n $host && -n ${is_host[$host]:-} ]] || continue
    if [[ $line == end ]]; then
      unset "is_host[$host]"
      continue
    fi
    if [[ $host != "$before" ]]; then
      [[ -z $file ]] || exec {file}>&-
      exec {file}>"$1/$host"
      before=$host
    fi
    echo "$line" >&"$file"
  done < <(over_tree 25 /bin/bash "$scripts/evidence.sh" order "$2" | LC_ALL=C sort -s -t ' ' -k 1,1)
  [[ -z $file ]] || exec {file}>&-
  asked=("${!is_host[@]}")
}

# collect_evidence FOLDER STORE: runs evidence.sh on all hosts at once. Writes what each prints to FOLDER/HOST.
collect_evidence() {
  local host all=("${hosts[@]}") asked=()
  if [[ -e $scripts/agent.sh ]]; then
    request_evidence "$@"
    return
  fi
  # An elastic job uses some of its hosts.
  [[ ! -s $generated/found ]] || mapfile -t all < <(cut -d : -f 1 "$generated/found")
  for host in "${all[@]}"; do [[ $host == "$launcher_host" ]] || asked+=("$host"); done
  ! has_tree || collect_tree "$1" "$2"
  ((${#asked[@]} == 0)) || printf '%s\n' "${asked[@]}" | xargs -r -n 1 -P 128 /bin/bash "$scripts/evidence.sh" from "$1" "$2"
  [[ -z $launcher_host ]] || /bin/bash "$scripts/evidence.sh" on "$launcher_host" "$2" >"$1/$launcher_host"
}

# The pods of agents have no ssh. Index 0 requests evidence at a port that it opens only then; the other pods try to connect to
# it, and send theirs. They end their ranks when agents.py reports the end of the attempt, or elastic agents their failure.
request_evidence() {
  local host number
  ((team_replicas[0] == 1)) ||
    python3 "$scripts/collect.py" 29402 "$1" "$stall_action $2" "$((team_replicas[0] - 1))" 2>/dev/null &
  /bin/bash "$scripts/evidence.sh" on "$here" "$2" >"$1/$here"
  wait
  for ((number = 1; number < team_replicas[0]; number++)); do
    host=${team_names[0]}-$number
    [[ -e $1/$host ]] || echo "note this host does not answer" >"$1/$host"
  done
}

answer_requests() {
  local address action='' store=''
  address=$(getent hosts "$rendezvous")
  while sleep 8; do
    { exec 3<>"/dev/tcp/${address%% *}/29402"; } 2>/dev/null || continue
    read -r -t 5 action store <&3
    case $action in retry | report) ;; *) continue ;; esac
    { echo "$here" && /bin/bash "$scripts/evidence.sh" on "$here" "$store" && echo end; } >&3
    read -r -t 40 _ <&3
    exec 3>&-
  done
}

# group_ranks FOLDER: fills `groups` with a text for each place in which ranks are, the most ranks first, `samples` with one rank
# of each, and `notes` with the notes of all hosts. No text of a rank may be part of an arithmetic expression, which would run it.
group_ranks() {
  local line file host rank index step median names places=() count=() lowest=() first=() members=() steps=()
  local -A index_of=() has_lines=()
  groups=() samples=() notes=()
  while IFS= read -r line; do
    file=${line%%:*} line=${line#*:}
    file=${file##*/}
    host=${file%%.*} has_lines[$file]=1
    if [[ ! $line =~ ^rank\ ([0-9]{1,9})\ (.*)\;\ pid\  ]]; then
      notes+=("$host: ${line#note }")
      continue
    fi
    rank=$((10#${BASH_REMATCH[1]})) index=${index_of[${BASH_REMATCH[2]}]:-}
    if [[ -z $index ]]; then
      index=${#places[@]} places+=("${BASH_REMATCH[2]}")
      index_of[${BASH_REMATCH[2]}]=$index
    fi
    if ((count[index]++ < 8)); then
      members[index]="${members[index]:+${members[index]% on "$host"}, }$rank on $host"
    fi
    if ((count[index] == 1 || rank < lowest[index])); then lowest[index]=$rank first[index]=$file; fi
    [[ ! $line =~ ,\ step\ (0|[1-9][0-9]{0,15})$ ]] || steps+=("${BASH_REMATCH[1]} $rank $host")
  done < <(grep -HE '^(rank [0-9]+ .*; pid |rank \? |note )' -- "$1"/*)
  for file in "$1"/*; do
    file=${file##*/}
    [[ -n ${has_lines[$file]:-} ]] || notes+=("${file%%.*}: no evidence")
  done
  mapfile -t steps < <(printf '%s\n' "${steps[@]}" | sort -n)
  median=${steps[(${#steps[@]} - 1) / 2]%% *}
  for line in "${steps[@]}"; do
    read -r step rank host <<<"$line"
    ((step >= median)) || notes+=("$host: rank $rank is at step $step, and the median at $median")
  done
  while read -r _ rank index; do
    names=${members[index]}
    samples+=("$rank ${first[index]}")
    if ((count[index] == 1)); then
      groups+=("rank $rank ${places[index]} on ${names##* }")
    elif ((${#groups[@]} == 0)); then
      groups+=("${count[index]} ranks ${places[index]}")
    else
      ((count[index] <= 8)) || names+=" and $((count[index] - 8)) more"
      groups+=("${count[index]} ranks ${places[index]} ($names)")
    fi
  done < <(for index in "${!places[@]}"; do echo "${count[index]} ${lowest[index]} $index"; done | sort -k1,1nr -k2,2n)
}

# join SEPARATOR TEXT...: prints at most five texts and the number of the others.
join() {
  local text shown=''
  for text in "${@:2:5}"; do shown+=$1$text; done
  printf '%s' "${shown#"$1"}"
  (($# <= 6)) || printf '%s' "$1$(($# - 6)) more"
}
