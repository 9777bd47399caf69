#!/usr/bin/env bash
# Runs tests on a cluster with khorovod as it was at a commit, which shows that the tests find the defects of that version:
#
#   against.sh COMMIT [NAME...]
#
# Without names, runs those below. Prints one line per test: passed, failed and why, or unclear: the ranks had not started before the
# failure that the test is about, as on a busy machine. Fields that the commit does not have are left out of the tests' specs if the
# rest still tests something, and named. Exits with 1 unless all tests fail.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tests/tools.sh
. tests/tools.sh
commit=$(git rev-parse --short "$1^{commit}")
shift
# The tests of defects that a review found in the commit c021507.
(($#)) || set -- node-of-worker-dies-without-spare node-of-worker-dies-with-spare node-of-launcher-dies \
    network-of-launcher-lost launcher-cannot-return launcher-drained worker-drained deadline-with-checkpoint two-launchers retries-reread \
    signal-without-training applied-with-other-keys keys-of-workers torchrun-first-pod-evicted dns-servfail-while-training \
    dns-refused-while-training dns-silent-while-training dns-servfail-while-elastic finished-run-is-not-trained-again \
    api-server-away-at-start s3-away-at-the-end results-are-uploaded-at-the-deadline job-deleted-while-uploading

work=$(mktemp -d)
trap 'git worktree remove --force "$work/tree" 2>/dev/null; rm -rf "$work"' EXIT
git worktree add --quiet --detach "$work/tree" "$commit"
target=${CARGO_TARGET_DIR:-$PWD/target}/against
# Compiled dependencies, as in a fresh clone.
if [[ ! -d $target && -d $(kept_crates) ]]; then cp -a "$(kept_crates)" "$target"; fi
(cd "$work/tree" && CARGO_TARGET_DIR=$target cargo build --locked --quiet)
cp "$target/debug/khorovod" "$work/khorovod"

code=0
KHOROVOD=$work/khorovod WITHOUT_NEW_FIELDS=1 ONCE=1 tests/cluster/test.sh "$@" | tee "$work/log" || code=$?
if ! grep -q '^cluster: [0-9]* passed' "$work/log"; then
    echo "against.sh: the tests did not run to their end" >&2
    exit "$((code ? code : 1))"
fi
printf '\nkhorovod at %s:\n' "$commit"
sed -nE 's/^ok +([0-9.]+ s)  ([^ ]+) *(.*)/passed\t\2\t\1\t\3/p; s/^FAIL +([0-9.]+ s)  ([^ :]+): (no launch 1 of|Traceback)(.*)/unclear\t\2\t\1\t\3\4/p; t
    s/^FAIL +([0-9.]+ s)  ([^ :]+): (.*)/failed\t\2\t\1\t\3/p' "$work/log" |
    sort | awk -F '\t' '{ printf "%-7s  %-40s %8s  %s\n", $1, $2, $3, $4 }' | tee "$work/table"
! grep -q '^passed\|^unclear' "$work/table"
