"""MPICH and Intel MPI from a volume, because the worker image has Open MPI: mpirun and Hydra are on the volume."""
import os

from case import SHAPES, job, merge, play
from host_network import HOST_NETWORK


def fields_of_mpi(mpi):
    """The spec fields for one of these MPIs."""
    at = f"/srv/{mpi}"
    return {"env": {"PATH": f"{at}/bin:/usr/local/bin:/usr/bin:/bin", "LD_LIBRARY_PATH": f"{at}/lib"},
            "storage": [{"name": mpi, "mountPath": at, "existingClaim": mpi, "readOnly": True}]}


def claim(case, mpi):
    """A claim for the folder that tests/launchers/images.sh has created."""
    name = f"{case.namespace}-{mpi}"
    mode = {"accessModes": ["ReadOnlyMany"], "storageClassName": name}
    case.cluster.call("POST", "/api/v1/persistentvolumes", {"metadata": {"name": name}, "spec": mode | {
        "capacity": {"storage": "1Gi"}, "hostPath": {"path": os.environ[mpi.upper()]}}})
    case.cluster.call("POST", f"/api/v1/namespaces/{case.namespace}/persistentvolumeclaims", {"metadata": {"name": mpi}, "spec": mode | {
        "resources": {"requests": {"storage": "1Gi"}}}})


def trains(case, mpi, spec):
    case.apply(case.render(job(spec=merge(merge(spec, fields_of_mpi(mpi)), {"launcher": {"mpi": mpi}}))))
    case.equal("the end", case.finished(120), "Complete")
    case.check("the MPI", f" {mpi} " in case.log())
    case.check("the ranks' sum", "sum of 2 ranks: 1" in case.log())
    case.clear("sum")


def plays_of(mpi):
    @play()
    def in_both_shapes(case):
        claim(case, mpi)
        for shape in SHAPES.values():
            trains(case, mpi, shape)

    @play(level="privileged")
    def on_the_host_network(case):
        claim(case, mpi)
        trains(case, mpi, merge(HOST_NETWORK, {"ssh": {"port": 20024}}))

    for it in (in_both_shapes, on_the_host_network):
        it.name = f"{mpi}-{it.name}"
        yield it


def plays():
    return [*plays_of("mpich"), *plays_of("intelmpi")]
