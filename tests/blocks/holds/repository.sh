# shellcheck shell=bash
# A repository with one job on origin/main, and a change of that job in the working tree.
mkdir jobs && cp job.yaml jobs/mnist.yaml
echo '  lifecycle: {deadline: 24h}' >>jobs/mnist.yaml
git init -q . && git add jobs && git -c user.name=reader -c user.email=reader@example.org commit -qm 'A job'
git update-ref refs/remotes/origin/main HEAD
sed -i 's/replicas: 4/replicas: 8/' jobs/mnist.yaml
cp -r docs/repository/templates docs/repository/policy.yaml .
