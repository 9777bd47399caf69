# shellcheck shell=bash
# A repository of jobs with a change of one job, and the branch that it was created from.
mkdir jobs && cp job.yaml jobs/mnist.yaml
git init -q . && git add jobs && git -c user.name=reader -c user.email=reader@example.org commit -qm 'A job'
git update-ref refs/remotes/origin/main HEAD
sed -i 's/replicas: 4/replicas: 8/' jobs/mnist.yaml
