"""Runs the same job with khorovod and with Kubeflow's MPI Operator, alternating: operator.py FOLDER PROGRAM ROUNDS, in a cluster.

Measures the time from apply to the first line of the first rank, how much of it is after the last worker's container has
started and after the cluster has the last worker's address, and the time from the end of the ranks to free devices. Also
measures a lower limit for any launcher: the time of mpirun alone, on workers on which it has run before.

Kubelets clean up after deleted pods once per minute, which delays a run by about 0.2 s. Because the rounds also take about a
minute, the same runs would always be affected: a run during which this happened is repeated.
"""
import glob
import json
import os
import re
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "cluster"))
import case as cases  # noqa: E402
from case import IMAGE, Case, World, run  # noqa: E402

# Another build of khorovod to compare with, at a commit whose fields have the names of old_names.py.
BEFORE = os.environ.get("BEFORE")
# The numbers of workers. SIZES=3 measures one size only, to run more rounds in the same time.
SIZES = [int(size) for size in os.environ.get("SIZES", "3 16").split()]
LOG = f"{os.environ['STATE']}/log/mpi-operator"
RANK = "echo first $(date +%s.%N); sleep 2; echo ranks end at $(date +%s.%N)"
DEVICES = 4
# The ssh configuration of the operator's base image.
SSH = """Port 2222
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
"""
SSHD = """Port 2222
PidFile none
HostKey /home/khorovod/.ssh/id_rsa
StrictModes no
"""
RESOLVE = 'cut -d" " -f1 /etc/mpi/hostfile | while read -r host; do until getent hosts "$host" >/dev/null; do sleep 0.1; done; done'


def ours(case, workers, launcher=None, account=None, **spec):
    text = case.render({"apiVersion": "khorovod.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "sum"}, "spec": {
        "image": IMAGE, "command": RANK, "launcher": launcher or {"kind": "mpirun"},
        "workers": {"replicas": workers, "gpus": DEVICES, "slotsPerWorker": 1, "cpu": "1", "memory": "1Gi"}
        | ({"serviceAccountName": account} if account else {})} | spec})
    return lambda: case.apply(text)


def ours_in_one_job(case, workers):
    return ours(case, workers, {"kind": "mpirun", "runsIn": "firstWorker"})


def ours_without_token(case, workers):
    """With an account of their own, workers have no token for the API server."""
    return ours(case, workers, account="default")


def ours_before(case, workers):
    """The default shape, rendered by the build in BEFORE."""
    now = cases.KHOROVOD, cases.IS_OLD
    cases.KHOROVOD, cases.IS_OLD = BEFORE, True
    try:
        return ours(case, workers)
    finally:
        cases.KHOROVOD, cases.IS_OLD = now


def mpirun_alone(case, workers):
    """Runs mpirun twice and measures the second run, which needs no setup."""
    mpirun = f"mpirun --hostfile /horovod/generated/hostfile -np {workers} --bind-to none --tag-output sh -c '{RANK}'"
    ours(case, workers, command=f"{mpirun}; echo launch $(date +%s.%N); {mpirun}", launcher={"kind": "shell"})()
    case.equal("the end", case.finished(120), "Complete")
    launch, log = re.search(r"launch ([0-9.]+)\n(.*)", case.log(), re.S).groups()
    firsts = [float(t) for t in re.findall(r"first ([0-9.]+)", log)]
    case.equal("ranks", len(firsts), workers)
    return min(firsts) - float(launch)


def theirs(case, workers):
    text = "\n---\n".join(map(json.dumps, mpijob(workers, f"sh -c '{RANK}'")))
    return lambda: case.kubectl("apply", "-f", "-", text=text)


def mpijob(workers, command):
    """The operator's objects for a job that runs a command as each rank."""
    def pod(*command, **resources):
        return {"template": {"spec": {
            "securityContext": {"runAsUser": 65532, "runAsGroup": 0, "runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
            "volumes": [{"name": "ssh", "configMap": {"name": "ssh"}}],
            "containers": [{
                "name": "mpi", "image": IMAGE, "command": command,
                "resources": {"limits": {"cpu": "1"} | resources},
                "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
                "volumeMounts": [{"name": "ssh", "mountPath": "/etc/ssh/ssh_config.d/mpi.conf", "subPath": "client"},
                                 {"name": "ssh", "mountPath": "/etc/mpi-sshd", "subPath": "server"}]}]}}}
    launch = f"{RESOLVE}; exec mpirun --hostfile /etc/mpi/hostfile -np {workers} --bind-to none --tag-output {command}"
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ssh"}, "data": {"client": SSH, "server": SSHD}},
        {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": {"name": "sum"}, "spec": {
            "slotsPerWorker": 1, "sshAuthMountPath": "/home/khorovod/.ssh",
            "runPolicy": {"cleanPodPolicy": "Running", "backoffLimit": 6},
            "mpiReplicaSpecs": {
                "Launcher": {"replicas": 1} | pod("sh", "-c", launch, memory="2Gi"),
                "Worker": {"replicas": workers} | pod("/usr/sbin/sshd", "-De", "-f", "/etc/mpi-sshd", memory="1Gi",
                                                      **{"nvidia.com/gpu": str(DEVICES)})}}}]


def start_operator(folder, program):
    run("kubectl", "apply", "--server-side", "-f", f"{folder}/manifests/base/kubeflow.org_mpijobs.yaml")
    # Fails until the object has conditions.
    while run("kubectl", "wait", "--for=condition=Established", "crd/mpijobs.kubeflow.org", "--timeout=30s", check=False).returncode:
        time.sleep(0.5)
    run("kubectl", "create", "namespace", "mpi-operator")
    with open(LOG, "w") as log:
        return subprocess.Popen([program, "--kubeConfig", os.environ["KUBECONFIG"], "--namespace", ""], stdout=log, stderr=log)


def began_at(pods):
    """The start time of the first process of each pod's container: `{name of the pod: time}`."""
    boot = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    of = {pod["metadata"]["uid"]: pod["metadata"]["name"] for pod in pods}
    found = {}
    for folder in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{folder}/cgroup") as groups, open(f"/proc/{folder}/status") as status, open(f"/proc/{folder}/stat") as stat:
                inside = groups.read()
                uid = next((uid for uid in of if uid in inside), None)
                first = re.search(r"^NSpid:.*\t1$", status.read(), re.M)
                name = stat.read()
        except OSError:
            continue
        if uid and first and "(pause)" not in name:
            found[of[uid]] = boot + int(name.rsplit(") ", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")
    return found


class AddressCase(Case):
    """A case that records when the cluster received each pod's address: a kubelet may poll once per second."""

    def __init__(self, world, name):
        self.addressed = {}
        super().__init__(world, name)

    def hear(self, now, event, pod):
        if pod.get("status", {}).get("podIP"):
            self.addressed.setdefault(pod["metadata"]["name"], now)
        super().hear(now, event, pod)


# Each way, and its column in the report.
WAYS = {ours: "khorovod", ours_in_one_job: "… `runsIn: firstWorker`", ours_without_token: "… workers without a token",
        **({ours_before: "before"} if BEFORE else {}), theirs: "MPI Operator"}


def sandboxes():
    """The pod sandboxes on all nodes, including those of deleted pods that their kubelet has not cleaned up."""
    found = set()
    for path in glob.glob(f"{os.environ['STATE']}/nodes/*.pid"):
        with open(path) as pid:
            found.update(glob.glob(f"/proc/{pid.read().strip()}/root/run/images/io.containerd.grpc.v1.cri/sandboxes/*"))
    return found


def named(case, part):
    return (p for p in case.pods() if part in p["metadata"]["name"])


def once(world, name, way, workers):
    """The figures of a run, or None if a kubelet cleaned up during the run."""
    case = AddressCase(world, name)
    try:
        if way is mpirun_alone:
            return {"alone": mpirun_alone(case, workers)}
        apply = way(case, workers)
        # Do not count the cleanup of the previous job.
        world.rest()
        kept, began = sandboxes(), time.time()
        apply()
        launcher = case.until("launcher", lambda: case.launcher() or next(named(case, "launcher"), None), 60)
        case.wait_for_line(r"first [0-9.]+", 60, launcher)
        if kept - sandboxes():
            return None
        # In the Job shape, index 0 launches and is also a worker.
        pods = case.pods() if way is ours_in_one_job else list(named(case, "worker"))
        containers = began_at(pods)
        case.equal("workers whose container is found", len(containers), workers)
        case.equal("the end", case.finished(120), "Complete")
        log = case.log(launcher)
        ends = max(float(t) for t in re.findall(r"ranks end at ([0-9.]+)", log))
        first = min(float(t) for t in re.findall(r"first ([0-9.]+)", log))
        case.equal("ranks", len(re.findall(r"first \d", log)), workers)
        case.until("freed devices", case.freed, 60)
        last_address = max(case.addressed[pod["metadata"]["name"]] for pod in pods)
        return {"first": first - began, "after": first - max(containers.values()), "addressed": first - last_address,
                "freed": max(0, case.freed() - ends)}
    except Exception as error:
        with open(LOG) as log:
            sys.exit(f"{name}: {error}\n{case.explain()}\n--- the operator\n{log.read()[-600:]}")
    finally:
        case.close()
        case.until("an empty namespace", lambda: not case.pods(), 60)


def undisturbed(world, name, way, workers):
    for attempt in range(9):
        found = once(world, f"{name}-{attempt}", way, workers)
        if found:
            return found
        print(f"{name}: a kubelet cleaned up during the run; repeating", file=sys.stderr, flush=True)
    sys.exit(f"{name}: a kubelet cleaned up during each of nine runs")


def main(folder, program, rounds):
    operator = start_operator(folder, program)
    world = World()
    time.sleep(20)
    figures = {}
    for number in range(rounds + 1):
        for workers in SIZES:
            ways = (*WAYS, mpirun_alone)
            for way in ways if number % 2 else reversed(ways):
                found = undisturbed(world, f"{way.__name__.replace('_', '-')}-{workers}-{number}", way, workers)
                print(number, workers, way.__name__, {key: round(value, 2) for key, value in found.items()}, file=sys.stderr, flush=True)
                # The first round fills the caches and is not counted.
                if number:
                    figures.setdefault((workers, way.__name__), []).append(found)
    operator.kill()
    report(figures, rounds)


def report(figures, rounds):
    def cell(workers, way, what):
        runs = [found[what] for found in figures[workers, way]]
        return f"{statistics.median(runs):.2f} ({min(runs):.2f} to {max(runs):.2f})"
    print(f"## Kubernetes {os.environ['KUBERNETES']}, {rounds} runs each\n")
    lines = ["| Workers | | " + " | ".join(WAYS.values()) + " |", "|---|---" + "|---" * len(WAYS) + "|"]
    for workers in SIZES:
        for what, words in (("first", "from apply to the first rank"), ("after", "… since the last worker's container runs"),
                            ("addressed", "… since its address is known"),
                            ("freed", "from the ranks' end to free devices")):
            lines.append(f"| {workers} | {words} | " + " | ".join(cell(workers, way.__name__, what) for way in WAYS) + " |")
        sooner = [sum(a["first"] < b["first"] for a, b in zip(figures[workers, way.__name__], figures[workers, theirs.__name__]))
                  for way in WAYS if way is not theirs]
        lines.append(f"| {workers} | first rank sooner than the operator's of the same round | " + "".join(f"{won} of {rounds} | " for won in sooner) + "|")
    alone = ", ".join(f"{cell(workers, mpirun_alone.__name__, 'alone')} for {workers} workers" for workers in SIZES)
    print("\n".join([*lines, "", f"mpirun alone, from its start to the first rank, on workers that have run one before: {alone}.", ""]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
