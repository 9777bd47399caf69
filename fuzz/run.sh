#!/usr/bin/env bash
# Fuzzes targets, one after the other, with libFuzzer: nothing but stable Rust and a C++ compiler is needed.
#
#   fuzz/run.sh [SECONDS] [TARGET ...]     default: 10 seconds each, all targets
#
# What is found stays in fuzz/corpus/TARGET, and where something does not hold, the input as a file `crash-…`, which
# `fuzz/run.sh --again TARGET FILE` tries again and `--smaller TARGET FILE` makes smaller. Other options of libFuzzer
# stand in FUZZ_OPTIONS.
set -euo pipefail
cd "$(dirname "$0")"

# In a folder of its own: cargo does not know that this build differs from others.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}/fuzz
RUSTC_WRAPPER=$PWD/cover.sh cargo build --quiet --locked --release
fuzzer=$CARGO_TARGET_DIR/release/khorovod-fuzz

# run TARGET ARGUMENTS
run() { FUZZ_TARGET=$1 "$fuzzer" -artifact_prefix="found/$1-" "${@:2}"; }

mkdir -p found
case ${1:-} in
--again) run "$2" "$3" ;;
--smaller) run "$2" -minimize_crash=1 -runs=200000 "$3" ;;
*)
    seconds=${1:-10}
    shift || true
    targets=("$@") failed=()
    [ $# -gt 0 ] || mapfile -t targets < <(sed -n 's/.*Target { name: "\([a-z]*\)".*/\1/p' src/targets/mod.rs)
    for target in "${targets[@]}"; do
        mkdir -p "corpus/$target" "regressions/$target"
        echo "==> $target"
        # shellcheck disable=SC2086 # several options
        FUZZ_SEEDS=corpus/$target run "$target" -max_total_time="$seconds" -dict=spec.dict -max_len=4096 -rss_limit_mb=1024 -timeout=20 \
            -print_final_stats=1 -verbosity=0 ${FUZZ_OPTIONS:-} "corpus/$target" "regressions/$target" || failed+=("$target")
    done
    ((${#failed[@]} == 0)) || { echo "something does not hold in: ${failed[*]}" >&2 && exit 1; }
    ;;
esac
