"""pods WORK: a cluster of one machine, in the namespaces it is started in. See ../README.md.

    WORK/NAME.log      what a pod has said: launcher, worker-0, and events of the cluster
    WORK/pods/NAME/    a pod: pid of its first process, termination message
    WORK/jobs/NAME     how a Job ended: Complete 0, Failed 42, Deleted 143
    WORK/image/        what the pods' images are made of: layers, root, env, prepare
"""
import subprocess
import sys

import api
import names
from cluster import Cluster

work = sys.argv[1]
cluster = Cluster(work)
# With an address of its own: else it takes the lowest of its pods', and who knew the one before is not heard any more.
bridge = "link add pods address 02:00:00:00:00:01 type bridge"
for line in (bridge, f"addr add {cluster.address}/16 dev pods", "link set pods up", "link set lo up"):
    subprocess.run(["ip", *line.split()], check=True)
subprocess.run(
    f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=api "
    f"-addext subjectAltName=IP:{cluster.address} -keyout {work}/key.pem -out {work}/ca.crt".split(),
    stderr=subprocess.DEVNULL,
    check=True,
)
names.serve(cluster)
api.serve(cluster)
