"""Jobs in clusters whose pods reach each other by IPv6 only: FAMILY=6 has no IPv4, 64 has IPv4 for outgoing traffic."""
import os

from case import SHAPES, job, merge, play
from other_mpi import fields_of_mpi, claim

# Open MPI 5 requires it. Host names are then limited to 64 characters, including the namespace.
IN_FULL = {"patches": [{"target": {"kind": "Pod"}, "patch": {"spec": {"setHostnameAsFQDN": True}}}]}
EXAMPLES = ["example-smallest", "example-s3", "example-torchrun", "example-torchrun-elastic"]
WHY = "cannot launch in pods that have only IPv6 addresses"


@play()
def open_mpi_5(case):
    case.apply(case.render(job(spec={"lifecycle": {"retries": 2}})))
    if os.environ["FAMILY"] == "64":
        case.equal("the end", case.finished(90), "Complete")
        case.check("the ranks' sum", "sum of 2 ranks: 1" in case.log())
    else:
        case.equal("the end", case.finished(90), "Failed")
        case.check("the reason in the log", WHY in case.log())
    case.equal("attempts", case.log().count("launching: "), 1)


@play()
def by_hand(case):
    """A shell in the launcher has the settings of a launch by khorovod."""
    by_hand = {"command": "sleep 100", "launcher": {"kind": "shell"}}
    case.apply(case.render(job(spec=merge(by_hand, IN_FULL))))
    case.wait_for_line("launching: ", 60)
    said = case.execute(case.launcher()["metadata"]["name"], "timeout 30 bash -ic 'mpirun python3 /programs/sum.py'")
    case.check(f"the ranks' sum: {said.stdout}{said.stderr}", "sum of 2 ranks: 1" in said.stdout)


@play()
def horovodrun_breaks_off(case):
    elastic = {"workers": {"elastic": {"minReplicas": 2, "maxReplicas": 3}}}
    for name, spec in ("static", IN_FULL), ("elastic", merge(IN_FULL, elastic)):
        case.apply(case.render(job(spec=merge({"launcher": {"kind": "horovodrun"}, "lifecycle": {"retries": 2}}, spec))))
        case.equal(f"the end, {name}", case.finished(90), "Failed")
        case.check("the reason in the log", f"horovodrun {WHY}" in case.log())
        case.clear("sum")


@play()
def mpich_breaks_off(case):
    claim(case, "mpich")
    case.apply(case.render(job(spec=merge({"launcher": {"mpi": "mpich"}, "lifecycle": {"retries": 2}}, fields_of_mpi("mpich")))))
    case.equal("the end", case.finished(90), "Failed")
    case.check("the reason in the log", f"mpich 5.0.2 {WHY}" in case.log())


@play()
def intel_mpi_over_tcp(case):
    claim(case, "intelmpi")
    case.apply(case.render(job(spec=merge({"launcher": {"mpi": "intelmpi"}, "lifecycle": {"retries": 2}}, fields_of_mpi("intelmpi")))))
    case.equal("the end", case.finished(90), "Failed")
    case.check("the reason in the log", "does not go over TCP" in case.log())


@play()
def intel_mpi_launches(case):
    """Ranks of one worker communicate through its memory, as a replacement for a fabric."""
    claim(case, "intelmpi")
    fabric = {"launcher": {"mpi": "intelmpi"}, "env": {"FI_PROVIDER": "tcp"}, "workers": {"replicas": 1, "slotsPerWorker": 2}}
    case.apply(case.render(job(spec=merge(fabric, fields_of_mpi("intelmpi")))))
    case.equal("the end", case.finished(90), "Complete")
    case.check("the ranks' sum", "sum of 2 ranks: 1" in case.log())


@play()
def names_in_full(case):
    for name, shape in SHAPES.items():
        case.apply(case.render(job(spec=merge(shape, IN_FULL))))
        case.equal(f"the end of the {name}", case.finished(90), "Complete")
        case.check("the ranks' sum", "sum of 2 ranks: 1" in case.log())
        case.clear("sum")


@play()
def preflight(case):
    check = {"command": "khorovod-preflight && khorovod-bandwidth --max 64Ki", "launcher": {"kind": "shell"}}
    case.apply(case.render(job(spec=merge(check, IN_FULL))))
    case.equal("the end", case.finished(120), "Complete")
    case.check("hosts know each other", "all hosts resolve each other" in case.log())
    if os.environ["FAMILY"] == "64":
        case.check("the warning about NCCL", "no host answered by the IPv4 addresses of v4if0" in case.log())
