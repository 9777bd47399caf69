#!/usr/bin/env bash
# Reports what a stage did not run, and which of its cases needed a second try. tests/run.sh lists these notes in its last
# lines; a script that runs alone prints them only.
#
#   tests/note.sh left-out REASON            Nothing ran. Exits with 77, which the caller returns.
#   tests/note.sh partly REASON              A part did not run.
#   tests/note.sh second-try SUITE CASE...   These cases passed only on a second try. Exits with 1 unless tests/flakes.md
#                                            has an entry for each of them, or SECOND_TRIES=list is set.
#
# RUN_NOTES names the file that collects the notes.
set -uo pipefail

note() {
    echo "$1"
    [[ -z ${RUN_NOTES:-} ]] || echo "$1" >>"$RUN_NOTES"
}

kind=$1
shift
case $kind in
left-out)
    note "left out: $1"
    exit 77
    ;;
partly) note "left out: $1" ;;
second-try)
    code=0 suite=$1
    shift
    for name; do
        if grep -qF "| \`$suite/$name\` |" "$(dirname "$0")/flakes.md"; then
            note "passed on the second try: $suite/$name, a known flake: see tests/flakes.md"
        else
            note "passed on the second try: $suite/$name, which has no entry in tests/flakes.md: find out why"
            [[ ${SECOND_TRIES:-fail} == list ]] || code=1
        fi
    done
    exit "$code"
    ;;
*)
    echo "unknown kind of note: $kind" >&2
    exit 2
    ;;
esac
