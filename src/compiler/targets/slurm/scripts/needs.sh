for name in "${needs[@]}"; do
  [[ -v $name ]] || fail 42 "$name is not set: export it before you call sbatch"
  export "${name?}"
done
