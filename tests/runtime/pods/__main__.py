"""pods WORK: an emulated cluster on this machine, in the current namespaces. See ../README.md.

    WORK/NAME.log      the log of a pod (launcher, worker-0), or the events of the cluster
    WORK/pods/NAME/    a pod: pid of its first process, termination message
    WORK/jobs/NAME     the result of a Job: Complete 0, Failed 42, Deleted 143
    WORK/image/        the parts of the pods' images: layers, root, env, prepare
"""
import subprocess
import sys

import api
import names
from cluster import Cluster

work = sys.argv[1]
cluster = Cluster(work)
# The bridge has a fixed MAC address. By default it has the lowest one of its ports, which changes when pods start, and hosts
# that cached the old one cannot reach it any more.
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
