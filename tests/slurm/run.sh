#!/bin/bash
# Tests the target slurm on a real Slurm: see README.md.
#
#   tests/slurm/run.sh [CASE...]
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
here=$PWD/tests/slurm
# shellcheck source=tests/tools.sh
. tests/tools.sh
# shellcheck source=tests/launchers/images.sh
. tests/launchers/images.sh
# shellcheck source=tests/slurm/cases.sh
. "$here/cases.sh"

if [[ ${1:-} == inside ]]; then
    results=() left_out=0
    for name in "${@:2}"; do
        failed='' skipped='' work=/home/alice/$name start=$SECONDS
        as_alice mkdir "$work" && cd "$work" || exit
        # shellcheck disable=SC2034 # a case's own
        job=''
        "case_$name" 2>"$work/case.err"
        if [[ -n $skipped ]]; then
            "$here/../note.sh" partly "$name: $skipped"
            left_out=$((left_out + 1))
        elif [[ -z $failed ]]; then
            echo "ok $name ($((SECONDS - start)) s)"
        else
            tail -n 40 "$work"/*.err "$work"/*.out
            echo "FAILED $name: ${failed#; }"
            results+=("$name")
        fi
        scancel --user=alice 2>/dev/null
    done
    ((${#results[@]} == 0)) || exit 1
    ((left_out < $# - 1)) || exit 77
    echo "every job ended as it should"
    exit
fi

if [ "$(id -u)" != 0 ]; then
    exec tests/note.sh left-out "Slurm's daemons in their own namespaces need root"
fi
# Slurm opens libpmix.so, which Debian has in libpmix-dev.
need slurmctld slurmctld -V && need slurmd slurmd -V && need test slurm-client -x /usr/bin/sbatch && need munged munge -V &&
    need test environment-modules -e /etc/profile.d/modules.sh && need test libpmix-dev -e "/usr/lib/$(uname -m)-linux-gnu/libpmix.so" &&
    need ip iproute2 -V && need setpriv util-linux -V && need shellcheck shellcheck || exit
if [[ -z ${KHOROVOD:-} ]]; then
    cargo build --quiet --locked || exit
    KHOROVOD=$(realpath "${CARGO_TARGET_DIR:-target}")/debug/khorovod
fi
all=("$@")
(($#)) || mapfile -t all < <(declare -F | sed -n 's/^declare -f case_//p')
SHARED=$PWD/tests/programs:/srv/programs$'\n'$(dirname "$KHOROVOD"):/srv/bin$'\n'$PWD:/srv/project
for part in "${parts[@]}"; do
    folder=$(part_folder "$part")
    make_images "$part" >&2 || exit
    SHARED+=$'\n'$folder:/srv/$part
done
export SHARED KHOROVOD
unshare --mount --net --pid --fork --kill-child --mount-proc "$here/cluster.sh" "$here/run.sh" inside "${all[@]}"
