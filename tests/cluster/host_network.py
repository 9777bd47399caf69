"""Jobs on the host network. The nodes here cannot resolve their own names, like many real nodes."""
import os

from case import PROGRAMS, job, merge, play

HOST_NETWORK = {"security": {"podSecurityLevel": "privileged"}, "placement": {"hostNetwork": True}}
GLOO = {"launcher": {"kind": "horovodrun", "args": ["--gloo"]}, "ssh": {"port": 20023}}
TORCHRUN = {"launcher": {"kind": "torchrun"}}
ELASTIC = {"workers": {"elastic": {"minReplicas": 2, "maxReplicas": 3, "cooldown": {"min": "1s", "max": "2s"}}}, "env": {"STEPS": "20"}}


def trains(case, file, spec, wanted):
    with open(os.path.join(PROGRAMS, file)) as program:
        code = {"code": {"files": {"sum.py": program.read()}}}
    case.apply(case.render(job(spec=merge(merge(HOST_NETWORK, spec), code))))
    case.equal("the end", case.finished(120), "Complete")
    case.check(f"the log has '{wanted}'", wanted in case.log())
    case.clear("sum")


@play(level="privileged")
def host_network_gloo(case):
    trains(case, "horovod_sum.py", GLOO, "sum 1 by Gloo")


@play(level="privileged")
def host_network_torchrun(case):
    trains(case, "torch_sum.py", TORCHRUN, "sum 1")


@play(level="privileged")
def host_network_elastic(case):
    trains(case, "elastic.py", merge(ELASTIC, {"launcher": {"kind": "horovodrun"}, "ssh": {"port": 20025}}), "counted to 20 with 2 at the end")


@play(level="privileged")
def host_network_torchrun_elastic(case):
    trains(case, "torch_sum.py", merge(ELASTIC, TORCHRUN), "sum 1")
