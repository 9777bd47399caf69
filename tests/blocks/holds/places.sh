# shellcheck shell=bash
# The repository of jobs with a place, with both in the branch that it was created from.
cp -r docs/repository/places .
git add places && git -c user.name=reader -c user.email=reader@example.org commit -qm 'A place'
git update-ref refs/remotes/origin/main HEAD
