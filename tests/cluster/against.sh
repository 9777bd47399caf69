#!/usr/bin/env bash
# Runs tests on a cluster with khorovod as it was at a commit, which shows that the tests find the defects of that version:
#
#   against.sh [--render-only] [COMMIT [NAME...]]
#
# The default is the commit 4a23c3f, in which a review found these defects, and all tests that against.py lists. Prints one line
# per test, with the finding of the review and the message of the test:
#
#   failed     the test failed as against.py defines for its defect
#   passed     it passed
#   unclear    it failed in another way: that version refuses the spec, the ranks had not started, as on a busy machine, or the test
#              did not run to the place that is about the defect
#
# Exits with 1 unless all tests failed because of their defects. old_names.py translates the specs of the tests into the names that
# fields had at 4a23c3f. Fields that the version does not have are left out if the rest still tests something, and named.
#
#   --render-only    only renders the specs with that version, without a cluster, in seconds
#
#   KHOROVOD=PATH    the program, if that commit is built already
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tests/tools.sh
. tests/tools.sh
export PYTHONDONTWRITEBYTECODE=1 WITHOUT_NEW_FIELDS=1

only_render=
if [[ ${1:-} == --render-only ]]; then only_render=1 && shift; fi
commit=${1:-4a23c3f}
shift "$(($# > 0))"
git cat-file -e "$commit^{commit}" 2>/dev/null || tests/note.sh left-out "this clone does not have the commit $commit: git fetch --unshallow"
names=$(tests/cluster/against.py names "$@")
mapfile -t names <<<"$names"

work=$(mktemp -d)
trap 'git worktree remove --force "$work/tree" 2>/dev/null || true; rm -rf "$work"' EXIT
if [[ -z ${KHOROVOD:-} ]]; then
    git worktree add --quiet --detach "$work/tree" "$commit"
    target=${CARGO_TARGET_DIR:-$PWD/target}/against
    # Compiled dependencies, as in a fresh clone.
    if [[ ! -d $target && -d $(kept_crates) ]]; then cp -a "$(kept_crates)" "$target"; fi
    (cd "$work/tree" && CARGO_TARGET_DIR=$target cargo build --locked --quiet)
    cp "$target/debug/khorovod" "$work/khorovod"
    export KHOROVOD=$work/khorovod
fi

if [[ -n $only_render ]]; then
    tests/cluster/against.py render "${names[@]}"
    exit
fi
ONCE=1 tests/cluster/test.sh "${names[@]}" | tee "$work/log" || true
if ! grep -q '^cluster: [0-9]* passed' "$work/log"; then
    echo "against.sh: the tests did not run to their end" >&2
    exit 1
fi
printf '\nkhorovod at %s:\n' "$commit"
tests/cluster/against.py verdicts "$work/log" "${names[@]}"
