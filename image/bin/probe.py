"""Collects facts about one host and its connections to others. hosts.py starts this program on every host over ssh, as source
code, so that the host needs only python3. The checks evaluate the facts.

Prints its facts as one line of JSON, then answers requests, one line each, until its standard input ends.
"""

import fcntl
import glob
import json
import os
import re
import secrets
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata

PATIENCE = 5  # seconds for one connection
TOKEN = secrets.token_hex(8)  # identifies this process, independently of the host's name


def said(*command):
    """The output of a program, or the last line of its error output; None if it is not installed."""
    if not shutil.which(command[0]):
        return None, None
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, str(error)
    text = done.stdout.decode(errors="replace").strip()
    return (text, None) if done.returncode == 0 else (None, text or f"it ended with {done.returncode}")


def interfaces():
    """Every interface with its address, network and MTU."""
    found, six = [], addresses_six()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:

        def get(request, name):
            try:
                return fcntl.ioctl(channel, request, struct.pack("256s", name.encode()))[16:24]
            except OSError:
                return None

        for _, name in socket.if_nameindex():
            flags, mtu = get(0x8913, name), get(0x8921, name)
            address, mask = get(0x8915, name), get(0x891B, name)
            flags = struct.unpack("H", flags[:2])[0] if flags else 0
            found.append(
                {
                    "name": name,
                    "up": bool(flags & 1),
                    "loopback": bool(flags & 8),
                    "mtu": struct.unpack("i", mtu[:4])[0] if mtu else 0,
                    "address": socket.inet_ntoa(address[4:8]) if address else "",
                    "six": six.get(name, []),
                    "prefix": bin(int.from_bytes(mask[4:8], "big")).count("1") if mask else 0,
                }
            )
    return found


def addresses_six():
    """IPv6 addresses by interface, for clusters without IPv4."""
    found = {}
    if os.path.exists("/proc/net/if_inet6"):
        with open("/proc/net/if_inet6") as lines:
            for address, _, _, _, _, name in map(str.split, lines):
                found.setdefault(name, []).append(socket.inet_ntop(socket.AF_INET6, bytes.fromhex(address)))
    return found


def shared_memory(folder="/dev/shm"):
    """The size and free space of /dev/shm, and whether a file can be written there."""
    try:
        room = os.statvfs(folder)
        path = f"{folder}/khorovod-preflight-{TOKEN}"
        try:
            with open(path, "wb") as file:
                file.write(bytes(1 << 20))
        finally:
            if os.path.exists(path):
                os.unlink(path)
    except OSError as error:
        return {"error": error.strerror}
    return {"size": room.f_blocks * room.f_frsize, "free": room.f_bavail * room.f_frsize}


def versions():
    """The versions that must be the same on all hosts."""
    found = {"python": ".".join(map(str, sys.version_info[:2]))}
    text = said("mpirun", "--version")[0] or ""
    for name, pattern in (
        ("openmpi", r"Open MPI\) (\d\S*)"),
        ("intelmpi", r"Intel\(R\) MPI Library[\s\S]*?Version (\d\S*)"),
        ("mpich", r"HYDRA[\s\S]*?Version:\s*(\d\S*)"),
    ):
        match = re.search(pattern, text)
        if match:
            found["mpi"] = f"{name} {match.group(1)}"
            break
    for package in ("torch", "horovod", "tensorflow", "deepspeed"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            pass
    return found


def gpus():
    """The accelerators in this container, with the names that the driver reports, or as device files."""
    text, error = said("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    if text:
        rows = [line.rsplit(", ", 1) for line in text.splitlines()]
        return {"names": [row[0] for row in rows], "driver": rows[0][-1]}
    if error:
        return {"names": [], "error": error.splitlines()[0]}
    for kind, pattern in (("NVIDIA device", "/dev/nvidia[0-9]*"), ("accelerator", "/dev/accel/accel[0-9]*")):
        devices = glob.glob(pattern)
        if devices:
            return {"names": [kind] * len(devices)}
    return {"names": ["AMD device"] * len(glob.glob("/dev/dri/renderD*") if os.path.exists("/dev/kfd") else [])}


def serve(listener):
    """Receives the data of a peer, then replies with this process's token and the number of bytes."""

    def answer(peer):
        with peer:
            peer.settimeout(PATIENCE)
            room, many = bytearray(1 << 20), 0
            try:
                while True:
                    got = peer.recv_into(room)
                    if not got:
                        break
                    many += got
                peer.sendall(json.dumps({"token": TOKEN, "bytes": many}).encode())
            except OSError:
                pass

    while True:
        peer, _ = listener.accept()
        threading.Thread(target=answer, args=(peer,), daemon=True).start()


def send(host, port, many, seconds=PATIENCE):
    """Sends up to a number of bytes for up to a number of seconds, and receives the peer's token and count."""
    began = time.perf_counter()
    try:
        with socket.create_connection((host, port), timeout=PATIENCE) as peer:
            connected = time.perf_counter()
            block, left = memoryview(bytes(min(many, 1 << 20))), many
            while left > 0 and time.perf_counter() - connected < seconds:
                left -= peer.send(block[:left])
            peer.shutdown(socket.SHUT_WR)
            answer = b""
            while True:
                got = peer.recv(4096)
                if not got:
                    break
                answer += got
            answer = json.loads(answer)
            took = time.perf_counter() - connected
            return dict(answer, local=peer.getsockname()[0], connect=connected - began, seconds=took)
    except socket.timeout:
        return {"error": "timed out"}
    except (OSError, ValueError) as error:
        return {"error": getattr(error, "strerror", None) or "the connection broke off"}


def resolve(name):
    """The addresses of a name, and how long the look-up took."""
    began = time.perf_counter()
    try:
        addresses = sorted({entry[4][0] for entry in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)})
    except OSError as error:
        return {"error": error.strerror, "seconds": time.perf_counter() - began}
    return {"addresses": addresses, "seconds": time.perf_counter() - began}


def each(work, many):
    """Runs `work` for all items in parallel; returns the results in the order of the items."""
    with ThreadPoolExecutor(max_workers=16) as pool:
        return list(pool.map(work, many))


ANSWERS = {
    "clock": lambda request: {"now": time.time()},
    "names": lambda request: dict(zip(request["names"], each(resolve, request["names"]))),
    "reach": lambda request: {"peers": each(lambda peer: send(*peer, many=1 << 16), request["peers"])},
    "link": lambda request: send(*request["peer"], many=1 << 34, seconds=request["seconds"]),
}


def main():
    try:
        listener = socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    except (OSError, ValueError):
        listener = socket.create_server(("", 0))
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
    knobs = re.compile(
        r"(NCCL|GLOO)_SOCKET_IFNAME|HOROVOD_GLOO_IFACE|OMPI_MCA_btl_tcp_if_(in|ex)clude|NVIDIA_VISIBLE_DEVICES"
    )
    say(
        {
            "host": socket.gethostname(),
            "token": TOKEN,
            "port": listener.getsockname()[1],
            "interfaces": interfaces(),
            "shm": shared_memory(),
            "versions": versions(),
            "gpus": gpus(),
            "rdma": sorted(os.listdir("/sys/class/infiniband")) if os.path.isdir("/sys/class/infiniband") else [],
            "environment": {name: value for name, value in os.environ.items() if knobs.fullmatch(name)},
        }
    )
    for line in sys.stdin:
        request = json.loads(line)
        say(ANSWERS[request["ask"]](request))


def say(answer):
    print(json.dumps(answer), flush=True)


main()
