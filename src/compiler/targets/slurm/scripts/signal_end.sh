
# Whether a process is a rank of this job.
has_rank() {
  local words text
  { mapfile -d '' -t words <"/proc/$1/environ"; } 2>/dev/null || return 1
  printf -v text '%s\n' '' "${words[@]}"
  [[ $text == *$'\n'"SLURM_JOB_ID=$SLURM_JOB_ID"$'\n'* && $text == *$'\n'"$mark"=* ]]
}
mark=$2
list_ranks "$(kill -l "$1")"
((${#ranks[@]} == 0)) || kill -s "$1" "${ranks[@]}"
SIGNALLER
)
khorovod_save() {
  khorovod_saving=1 khorovod_interrupted=1
  [[ -n $khorovod_training ]] || return 0
  khorovod_log "SIG$khorovod_signal from Slurm: all ranks get it, to save a checkpoint"
  timeout 60 srun --overlap --nodes="$khorovod_nodes" --ntasks="$khorovod_nodes" --ntasks-per-node=1 --cpus-per-task=1 --mem=0 \
    --input=none bash -c "$khorovod_signaller" signaller "$khorovod_signal" "$khorovod_mark" ||
    khorovod_log "the ranks of some nodes did not get the signal; see the lines above"
}
