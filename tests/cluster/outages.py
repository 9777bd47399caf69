#!/usr/bin/env python3
"""Breaks parts of a running cluster, and repairs them.

As a command, in a shell of the cluster (`make cluster`): outages.py dns-silent|dns-servfail|dns-refused|api-away SECONDS
"""
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time

STATE = os.environ["STATE"]
COREFILE = f"{STATE}/Corefile"
# CoreDNS keeps answering from its cache for a while if only its API server is away; this answers every query with an error.
SERVFAIL = """.:53 {
    bind %s
    template ANY ANY {
        rcode SERVFAIL
    }
}
"""


def pid(name):
    with open(f"{STATE}/{name}") as file:
        return int(file.read())


def kill(part):
    """Kills a component and waits until it is gone, so that its ports are free."""
    process = pid(f"{part}.pid")
    os.kill(process, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(process, 0)
    while is_running(process):
        time.sleep(0.02)


def is_running(process):
    try:
        with open(f"/proc/{process}/stat") as stat:
            return stat.read().rsplit(") ", 1)[1][0] != "Z"
    except OSError:
        return False


def start(part, *command, env=None):
    """Starts a component of the cluster again."""
    with open(f"{STATE}/log/{part}", "a") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, env=env)
    with open(f"{STATE}/{part}.pid", "w") as file:
        file.write(str(process.pid))


def start_dns(corefile):
    start("dns", os.environ["COREDNS"], "-conf", corefile)
    host = os.environ["HOME_URL"].strip("[]")
    end = time.time() + 30
    while time.time() < end:
        with contextlib.suppress(OSError):
            socket.create_connection((host, 53), 1).close()
            return
        time.sleep(0.05)
    raise RuntimeError("CoreDNS did not start; its log is in $STATE/log/dns")


@contextlib.contextmanager
def dns_silent():
    """Queries get no answer, as if packets were lost: a resolver waits for its own timeout."""
    process = pid("dns.pid")
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


@contextlib.contextmanager
def dns_servfail():
    """Every query is answered at once with SERVFAIL, as by a CoreDNS that has lost its API server."""
    corefile = f"{COREFILE}.servfail"
    with open(corefile, "w") as file:
        file.write(SERVFAIL % os.environ["HOME_URL"].strip("[]"))
    kill("dns")
    start_dns(corefile)
    try:
        yield
    finally:
        kill("dns")
        start_dns(COREFILE)


@contextlib.contextmanager
def dns_refused():
    """Nothing listens, so each query is refused at once, like that to a Service without endpoints."""
    kill("dns")
    try:
        yield
    finally:
        start_dns(COREFILE)


@contextlib.contextmanager
def api_away():
    """The API server is down: connections to it are refused."""
    kill("apiserver")
    try:
        yield
    finally:
        start("apiserver", "bash", f"{STATE}/apiserver")


@contextlib.contextmanager
def dns_and_api_away():
    with dns_silent(), api_away():
        yield


@contextlib.contextmanager
def s3_away():
    """The S3 server is down: connections to it are refused."""
    with open(f"/proc/{pid('s3.pid')}/cmdline") as command, open(f"/proc/{pid('s3.pid')}/environ") as variables:
        command, environment = command.read().split("\0")[:-1], dict(v.split("=", 1) for v in variables.read().split("\0") if "=" in v)
    kill("s3")
    try:
        yield
    finally:
        start("s3", *command, env=environment)


KINDS = {"dns-silent": dns_silent, "dns-servfail": dns_servfail, "dns-refused": dns_refused, "api-away": api_away}


def kill_node(number):
    """Ends all processes of a node and its network, as if it lost power. It does not come back."""
    os.kill(pid(f"nodes/{number}.pid"), signal.SIGKILL)


@contextlib.contextmanager
def node_unreachable(number):
    """A node and its pods neither send nor receive packets."""
    subprocess.run(["ip", "link", "set", f"node-{number}", "nomaster"], check=True)
    try:
        yield
    finally:
        subprocess.run(["ip", "link", "set", f"node-{number}", "master", "nodes"], check=True)


@contextlib.contextmanager
def cut(number, other):
    """The pods of two nodes do not reach each other. For pods with IPv4 addresses only."""
    pods, nft = f"10.101.{other}.0/24", ["nsenter", f"--net=/proc/{pid(f'nodes/{number}.pid')}/ns/net", "nft"]
    subprocess.run([*nft, f"table ip cut-{other} {{ chain pods {{ type filter hook forward priority 0; "
                          f"ip saddr {pods} drop; ip daddr {pods} drop; }}; }}"], check=True)
    try:
        yield
    finally:
        # The node may have ended.
        subprocess.run([*nft, f"delete table ip cut-{other}"], check=False, stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def image_missing(numbers, image):
    """Nodes do not have an image, and no registry has it."""
    def images(*command):
        for number in numbers:
            with contextlib.suppress(OSError):
                subprocess.run(["nsenter", f"--mount=/proc/{pid(f'nodes/{number}.pid')}/ns/mnt", "ctr", "-n", "k8s.io", "images", *command],
                               check=False, stdout=subprocess.DEVNULL)
    name, kept = f"docker.io/library/{image}", "khorovod.test/kept:1"
    # Under another name, so that containerd does not delete its layers.
    images("tag", name, kept)
    images("rm", name)
    try:
        yield
    finally:
        images("tag", kept, name)
        images("rm", kept)


@contextlib.contextmanager
def kubelet_away(number):
    """A node's kubelet is away while its containers continue."""
    stop = f"{STATE}/nodes/{number}.stop"
    open(stop, "w").close()
    os.kill(kubelet(number), signal.SIGKILL)
    try:
        yield
    finally:
        os.remove(stop)


def kubelet(number):
    first = pid(f"nodes/{number}.pid")
    with open(f"/proc/{first}/task/{first}/children") as children:
        for child in children.read().split():
            with open(f"/proc/{child}/comm") as name:
                if name.read().strip() == "kubelet":
                    return int(child)
    raise RuntimeError(f"node {number} has no kubelet")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in KINDS:
        sys.exit(__doc__)
    with KINDS[sys.argv[1]]():
        time.sleep(float(sys.argv[2]))
