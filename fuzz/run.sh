#!/usr/bin/env bash
# Fuzzes targets one after another with libFuzzer. Requires stable Rust and a C++ compiler.
#
#   fuzz/run.sh [SECONDS] [TARGET ...]     default: 10 seconds per target, all targets
#
# The corpus is in fuzz/corpus/TARGET. If a check fails, the input is a file `crash-…`: `fuzz/run.sh --again TARGET FILE` runs
# it again, and `--smaller TARGET FILE` minimizes it. FUZZ_OPTIONS are further options of libFuzzer.
set -euo pipefail
cd "$(dirname "$0")"

# Uses its own target folder, because cargo does not detect that this build differs from others.
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
        # shellcheck disable=SC2086 # more than one option
        FUZZ_SEEDS=corpus/$target run "$target" -max_total_time="$seconds" -dict=spec.dict -max_len=4096 -rss_limit_mb=1024 -timeout=20 \
            -print_final_stats=1 -verbosity=0 ${FUZZ_OPTIONS:-} "corpus/$target" "regressions/$target" || failed+=("$target")
    done
    ((${#failed[@]} == 0)) || { echo "something does not hold in: ${failed[*]}" >&2 && exit 1; }
    ;;
esac
