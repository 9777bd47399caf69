#!/bin/sh
# A wrapper of rustc (RUSTC_WRAPPER) that enables edge counting in khorovod and its YAML parser only: counting in all linked
# crates would take three quarters of the speed and not guide the fuzzer.
flags='-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table'
case " $* " in
*" --crate-name khorovod "* | *" --crate-name granit_parser "*)
    # shellcheck disable=SC2086 # several options
    exec "$@" $flags
    ;;
esac
exec "$@"
