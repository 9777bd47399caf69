for name in "${needs[@]}"; do
  [[ -v $name ]] || fail 42 "$name is not set: export it where you call sbatch"
  export "${name?}"
done
