#!/bin/sh
# Stands before rustc (RUSTC_WRAPPER) and has it count which edges run, in khorovod and its parser alone: counting in all
# that is linked would cost three quarters of the speed and guide nobody.
flags='-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table'
case " $* " in
*" --crate-name khorovod "* | *" --crate-name granit_parser "*)
    # shellcheck disable=SC2086 # several options
    exec "$@" $flags
    ;;
esac
exec "$@"
