"""Starts a Slurm cluster of many nodes on this machine, and measures `srun` as measure.py does: slurm.py NODES [REPETITIONS]

Each node is a slurmd with a name and a port of its own. A job of all nodes holds them already, so that only the start of the tasks is
measured, as in the other launches.
"""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from measure import REPETITIONS, WORKERS, Group, read, write  # noqa: E402

# Slurm resolves no address while the loopback interface is the only one.
ADDRESS = "10.77.0.254"
CONFIG = f"""
ClusterName=bench
SlurmctldHost=ctl({ADDRESS})
SlurmUser=root
StateSaveLocation=/run/slurm
SlurmdSpoolDir=/run/slurm/%n
SlurmctldPidFile=/run/slurm/ctl.pid
SlurmdPidFile=/run/slurm/%n.pid
SlurmctldLogFile=/run/slurm/ctl.log
SlurmdLogFile=/run/slurm/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
MessageTimeout=100
SlurmdTimeout=300
NodeName=n[0-{WORKERS - 1}] NodeHostname=ctl NodeAddr={ADDRESS} Port=[20000-{20000 + WORKERS - 1}] CPUs=1 RealMemory=100
PartitionName=all Nodes=ALL Default=YES MaxTime=60 State=UP
"""


def idle():
    shown = subprocess.run(["sinfo", "-h", "-t", "idle", "-o", "%D"], text=True, capture_output=True).stdout.split()
    return sum(map(int, shown))


def wait(what, done):
    for _ in range(1200):
        if done():
            return
        time.sleep(0.2)
    sys.exit(f"{what}:\n{read('/run/slurm/ctl.log')[-3000:]}")


def main():
    for words in ("link set lo up", "link add br0 type bridge", f"address add {ADDRESS}/24 dev br0", "link set br0 up"):
        subprocess.run(["ip", *words.split()], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)
    for folder in ("/run/munge", "/run/lock", "/run/slurm", "/run/etc"):
        os.makedirs(folder)
    subprocess.run(["mount", "--bind", "/run/etc", "/etc/slurm"], check=True)
    write("/etc/slurm/slurm.conf", CONFIG, 0o644)
    # Set explicitly, because the default plugin requires cgroups, which are not used here.
    write("/etc/slurm/cgroup.conf", "CgroupPlugin=cgroup/v1\n", 0o644)
    write("/run/hosts", f"127.0.0.1 localhost\n{ADDRESS} ctl\n", 0o644)
    subprocess.run(["mount", "--bind", "/run/hosts", "/etc/hosts"], check=True)
    subprocess.run(["hostname", "ctl"], check=True)
    with open("/run/munge.key", "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write(os.urandom(64))
    subprocess.run(["munged", "--force", "--key-file=/run/munge.key", "--log-file=/run/munge.log", "--pid-file=/run/munge.pid",
                    "--seed-file=/run/munge.seed"], check=True)
    nodes, controller = Group("slurm-nodes"), Group("slurm-controller")
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.Popen(["slurmctld", "-D"], preexec_fn=controller.enter, **quiet)
    wait("no controller", lambda: subprocess.run(["scontrol", "ping"], capture_output=True).returncode == 0)
    for index in range(WORKERS):
        os.makedirs(f"/run/slurm/n{index}")
        subprocess.Popen(["slurmd", "-D", "-N", f"n{index}"], preexec_fn=nodes.enter, **quiet)
        if index % 16 == 15:
            time.sleep(0.5)
    wait("not all nodes are idle", lambda: idle() == WORKERS)
    held = subprocess.Popen(["salloc", f"-N{WORKERS}", "sleep", "600"], **quiet)
    job = []

    def is_held():
        job[:] = subprocess.run(["squeue", "-h", "-t", "R", "-o", "%i"], text=True, capture_output=True).stdout.split()
        return job
    wait("no allocation", is_held)
    for number in range(REPETITIONS):
        group = Group(f"slurm-{number}")
        theirs, middle, start, first, lines, files, peak = nodes.seconds(), controller.seconds(), time.time(), None, 0, 0, 0
        command = ["srun", f"--jobid={job[0]}", f"-N{WORKERS}", f"-n{WORKERS}", "--overlap", "echo", "first-line"]
        srun = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                                preexec_fn=group.enter)
        shown = []
        for line in srun.stdout:
            shown.append(line)
            if line == "first-line\n":
                lines += 1
                first = first or time.time() - start
                files = max(files, group.open_files())
                if lines == WORKERS:
                    break
        if lines < WORKERS:
            sys.exit(f"srun: {lines} of {WORKERS} lines\n{''.join(shown)[-3000:]}")
        last, cpu = time.time() - start, group.seconds()
        srun.wait()
        total, peak = group.seconds(), group.peak()
        group.close()
        print(json.dumps({
            "workers": WORKERS, "variant": "slurm", "cpu": round(cpu, 3), "cpu_to_end": round(total, 3),
            "workers_cpu": round(nodes.seconds() - theirs, 3), "controller_cpu": round(controller.seconds() - middle, 3),
            "first": round(first, 3), "last": round(last, 3), "all_sessions": 0, "peak_mib": round(peak / 2**20, 1),
            "open_files": files, "code": srun.returncode}), flush=True)
        time.sleep(1)
    held.kill()
    for group in (nodes, controller):
        group.close()


main()
