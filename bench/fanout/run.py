#!/usr/bin/env python3
"""bench/fanout/run.py [WORKERS [MEGABYTES]]: measures how long the download of a file takes, from a server with limited bandwidth.

Each pod and the server have a network namespace of their own, and a token bucket filter limits what the server sends to 10 MB/s. Measures
one download, downloads of some workers that each ask the server, and the downloads of all workers with download.py. Needs root,
iproute2 and a kernel with sch_tbf. Prints a table in Markdown.
"""
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SCRIPT = HERE.parents[1] / "src/compiler/pods/scripts/download.py"
RATE = 10_000_000
DIRECT = 4
START = """
import sys
sys.argv = {words!r}
import download
download.__file__ = {scripts!r} + "/download.py"
download.ADDRESS, download.KEYS = {address!r}, {keys!r}
download.main()
"""


def sh(*words):
    subprocess.run(words, check=True)


def address(index):
    """That of a pod, or of the server, which has index -1."""
    return f"10.99.{(index + 2) // 250}.{(index + 2) % 250 + 1}"


class Network:
    def __init__(self, workers):
        self.names = {index: f"fan{os.getpid()}-{index + 1}" for index in range(-1, workers)}
        self.bridge = f"fan{os.getpid() % 100000}"

    def __enter__(self):
        sh("ip", "link", "add", self.bridge, "type", "bridge")
        sh("ip", "link", "set", self.bridge, "up")
        for index, name in self.names.items():
            outside = f"{self.bridge}-{index + 1}"
            sh("ip", "netns", "add", name)
            sh("ip", "link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", name)
            sh("ip", "link", "set", outside, "master", self.bridge, "up")
            sh("ip", "-n", name, "addr", "add", address(index) + "/16", "dev", "eth0")
            sh("ip", "-n", name, "link", "set", "eth0", "up")
            sh("ip", "-n", name, "link", "set", "lo", "up")
        sh("tc", "-n", self.names[-1], "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", f"{RATE * 8}bit", "burst", "256kb", "latency", "400ms")
        return self

    def __exit__(self, *_):
        for name in self.names.values():
            subprocess.run(["ip", "netns", "del", name], check=False)
        subprocess.run(["ip", "link", "del", self.bridge], check=False)

    def start(self, index, *words):
        return subprocess.Popen(["ip", "netns", "exec", self.names[index], *map(str, words)], stderr=subprocess.DEVNULL)


def download(network, folder, pods, given, is_tree):
    """Starts the pods, and returns the seconds until the last one is complete, and how many bytes the server has sent."""
    before, began, processes = sent(network), time.monotonic(), []
    for index in range(pods):
        place = folder / f"pod-{index}"
        shutil.rmtree(place, ignore_errors=True)
        (place / "data").mkdir(parents=True)
        shutil.copy(SCRIPT, place)
        (place / "download.json").write_text(json.dumps([{**given, "path": str(place / "data")}]))
        above, at = [], index
        while at and is_tree:
            at = (at - 1) // 2
            above.append(address(at))
        below = [address(at) for at in (2 * index + 1, 2 * index + 2) if is_tree and at < pods]
        words = ["download.py", str(place / "result"), str(index if is_tree else 0), str(pods if is_tree else 1), *above, "-", *below]
        text = START.format(words=words, scripts=str(place), address=address(index), keys=str(folder / "keys"))
        processes.append(network.start(index, "env", f"PYTHONPATH={place}", sys.executable, "-c", text))
    try:
        for index in range(pods):
            while not (folder / f"pod-{index}/result").exists():
                time.sleep(0.02)
                assert time.monotonic() - began < 600
            assert (folder / f"pod-{index}/result").read_text() == "ok", (folder / f"pod-{index}/result").read_text()
        seconds = time.monotonic() - began
        wanted = (folder / "files/set.bin").read_bytes()
        for index in range(pods):
            assert (folder / f"pod-{index}/data/set.bin").read_bytes() == wanted
    finally:
        for each in processes:
            each.kill()
            each.wait()
    return seconds, sent(network) - before


def sent(network):
    found = subprocess.run(["ip", "-n", network.names[-1], "-j", "-s", "link", "show", "eth0"], check=True, capture_output=True)
    return json.loads(found.stdout)[0]["stats64"]["tx"]["bytes"]


def main():
    # The namespaces must not stay.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    workers, size = (int(word) for word in (sys.argv[1:] + ["16", "200"][len(sys.argv) - 1:]))
    with tempfile.TemporaryDirectory() as name, Network(workers) as network:
        folder = pathlib.Path(name)
        for part in "files", "keys":
            (folder / part).mkdir()
        (folder / "keys/host_key").write_text("key of the run")
        data = os.urandom(size * 1_000_000)
        (folder / "files/set.bin").write_bytes(data)
        source = HERE.parents[1] / "tests/runtime/download/source.py"
        server = network.start(-1, sys.executable, source, folder, address(-1), 80)
        time.sleep(2)
        given = {"name": "set", "url": f"http://{address(-1)}/set.bin", "sha256": hashlib.sha256(data).hexdigest(), "unpacks": False, "hasToken": False}
        rows = []
        try:
            rows.append(("one worker", *download(network, folder, 1, given, False)))
            rows.append((f"{workers} workers that pass it on", *download(network, folder, workers, given, True)))
            rows.append((f"{DIRECT} workers, each from the server", *download(network, folder, DIRECT, given, False)))
        finally:
            server.kill()
            server.wait()
            print(rows, file=sys.stderr)
    print(f"{size} MB from a server that sends {RATE // 1_000_000} MB/s.\n")
    print("| Downloads | Seconds | Compared with one | Sent by the server |\n|---|---|---|---|")
    for what, seconds, amount in rows:
        print(f"| {what} | {seconds:.1f} | {seconds / rows[0][1]:.2f} | {amount / 1e6:.0f} MB |")


if __name__ == "__main__":
    main()
