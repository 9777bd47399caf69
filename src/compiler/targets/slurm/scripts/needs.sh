for khorovod_name in "${khorovod_needs[@]}"; do
  [[ -v $khorovod_name ]] || khorovod_fail 42 "$khorovod_name is not set: export it before you call sbatch"
  export "${khorovod_name?}"
done
