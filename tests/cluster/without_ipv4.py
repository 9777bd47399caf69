"""Jobs in a cluster whose pods have no IPv4 address, which FAMILY=6 makes."""
from case import SHAPES, job, merge, play

# Open MPI 5 asks for it, and host names may then not have more than 64 letters, the namespace among them.
IN_FULL = {"patches": [{"target": {"kind": "Pod"}, "patch": {"spec": {"setHostnameAsFQDN": True}}}]}
WHY = "does not launch where pods have no IPv4 address"


@play()
def open_mpi_5_breaks_off(case):
    case.apply(case.render(job(spec={"launcher": {"retries": 2}})))
    case.equal("the end", case.finished(90), "Failed")
    case.check("it is said why", WHY in case.log())
    case.equal("attempts", case.log().count("launching: "), 1)


@play()
def horovodrun(case):
    case.apply(case.render(job(spec=merge({"launcher": {"kind": "horovodrun", "retries": 2}}, IN_FULL))))
    case.equal("the end", case.finished(90), "Failed")
    case.check("it is said why", f"horovodrun {WHY}" in case.log())


@play()
def names_in_full(case):
    for name, shape in SHAPES.items():
        case.apply(case.render(job(spec=merge(shape, IN_FULL))))
        case.equal(f"the end of the {name}", case.finished(90), "Complete")
        case.check("the ranks' sum", "sum of 2 ranks: 1" in case.log())
        case.delete("sum")
        case.until("end of all pods", lambda: not case.pods(), 130)


@play()
def preflight(case):
    check = {"command": "khorovod-preflight && khorovod-bandwidth --max 64Ki", "launcher": {"kind": "shell"}}
    case.apply(case.render(job(spec=merge(check, IN_FULL))))
    case.equal("the end", case.finished(120), "Complete")
    case.check("hosts know each other", "all hosts resolve each other" in case.log())
