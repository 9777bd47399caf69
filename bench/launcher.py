"""Runs a launcher with workers that only answer probes, and measures its processor time and memory: launcher.py WORKERS SECONDS

The scripts are those of a rendered job that retries after a hang. `mpirun` prints a step every ten seconds, and `ssh` does nothing.
The launcher writes its status and its progress to an API server, which this program emulates.
"""
import http.server
import json
import os
import selectors
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

import yaml

WORKERS, SECONDS = int(sys.argv[1]), int(sys.argv[2])
JOB = f"""
apiVersion: khorovod.dev/v1alpha1
kind: TrainingJob
metadata: {{name: big, namespace: bench}}
spec:
  image: example.com/train:1
  command: [train]
  workers: {{replicas: {WORKERS}, gpus: 1}}
  lifecycle: {{stall: {{timeout: 10m}}}}
  observability: {{progress: auto}}
"""
MPIRUN = """#!/bin/bash
[[ $1 != --version ]] || { echo 'mpirun (Open MPI) 4.1.6'; exit; }
while sleep 10; do echo "[1,0]<stdout>: 10%|#         | $((++n))/10000 [00:10<99:59, 10.00s/it]"; done
"""


def write(path, text, mode=0o755):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)


def address(index):
    return f"127.1.{index // 250}.{index % 250 + 1}"


def answer(names, port):
    """Sends to every connection the greeting of the worker that has its address."""
    every = selectors.DefaultSelector()
    for index, name in enumerate(names):
        server = socket.create_server((address(index), port), backlog=64)
        greeting = f"SSH-2.0-OpenSSH_9.2 khorovod {name} openmpi-4.1.6 {address(index)} node-{index} a-1\r\n".encode()
        every.register(server, selectors.EVENT_READ, greeting)
    while True:
        for key, _ in every.select():
            connection, _ = key.fileobj.accept()
            connection.sendall(key.data)
            connection.close()


class Server(http.server.BaseHTTPRequestHandler):
    """The API server with one Job, whose annotations can be changed."""
    annotations, writes = {}, 0

    def reply(self):
        body = json.dumps({"metadata": {"annotations": self.annotations},
                           "status": {"active": 1, "startTime": "2026-01-01T00:00:00Z"}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.reply()

    def do_PATCH(self):
        change = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.annotations.update(change.get("metadata", {}).get("annotations", {}))
        Server.writes += 1
        self.reply()

    def log_message(self, *_):
        pass


def serve(account):
    """Starts the API server and writes the files of a pod's service account."""
    write(f"{account}/namespace", "bench", 0o644)
    write(f"{account}/token", "token", 0o644)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-keyout", "/run/api.key", "-out", f"{account}/ca.crt", "-subj", "/CN=127.0.0.1",
                    "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trust.load_cert_chain(f"{account}/ca.crt", "/run/api.key")
    server = http.server.HTTPServer(("127.0.0.1", 6443), Server)
    server.socket = trust.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def memory(processes):
    """The proportional set size in bytes: shared pages count in part."""
    total = 0
    for process in processes:
        try:
            with open(f"/proc/{process}/smaps_rollup") as file:
                total += sum(int(line.split()[1]) << 10 for line in file if line.startswith("Pss:"))
        except OSError:
            pass
    return total


def main():
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)
    os.makedirs("/run/horovod/generated")
    os.makedirs("/run/khorovod")
    for target, source in ("/horovod", "/run/horovod"), ("/etc/khorovod", "/run/khorovod"):
        subprocess.run(["mount", "--bind", source, target], check=True)
    rendered = subprocess.run([os.environ["KHOROVOD"], "render", "-q", "-"], input=JOB, text=True, capture_output=True, check=True).stdout
    objects = list(yaml.safe_load_all(rendered))
    files = next(o["data"] for o in objects if o["kind"] == "ConfigMap" and "job.sh" in o["data"])
    settings = dict(line.split("=", 1) for line in files["job.sh"].splitlines() if "=" in line)
    team, service, port = settings["team_names"].strip("( )"), settings["service"], int(settings["port"])
    names = [f"{team}-{index}" for index in range(WORKERS)]
    files["job.sh"] += "scales='' user=root\n"
    for name, text in files.items():
        write(f"/etc/khorovod/scripts/{name}", text)
    write("/etc/khorovod/keys/id_ed25519", "", 0o600)
    write("/run/bin/mpirun", MPIRUN)
    write("/run/bin/ssh", "#!/bin/bash\n")
    write("/run/hosts", "127.0.0.1 localhost\n" + "".join(f"{address(i)} {n} {n}.{service}\n" for i, n in enumerate(names)), 0o644)
    subprocess.run(["mount", "--bind", "/run/hosts", "/etc/hosts"], check=True)
    threading.Thread(target=answer, args=(names, port), daemon=True).start()
    os.makedirs("/run/secrets/kubernetes.io/serviceaccount", exist_ok=True)
    serve("/run/secrets/kubernetes.io/serviceaccount")

    group = tempfile.mkdtemp(prefix="launcher-", dir="/sys/fs/cgroup/cpuacct")
    log = open("/run/log", "w+")
    launcher = subprocess.Popen(
        ["/bin/bash", "/etc/khorovod/scripts/launcher.sh"], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
        env={"PATH": f"/run/bin:{os.environ['PATH']}", "HOSTNAME": "big-launcher", "HOME": "/run",
             "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "6443"},
        preexec_fn=lambda: write(f"{group}/cgroup.procs", str(os.getpid())))

    def used():
        with open(f"{group}/cpuacct.usage") as file:
            return int(file.read()) / 1e9

    def processes():
        with open(f"{group}/cgroup.procs") as file:
            return file.read().split()

    def started():
        """How many processes this process namespace has had. Only the launcher starts any."""
        with open("/proc/sys/kernel/ns_last_pid") as file:
            return int(file.read())

    while True:
        with open("/run/log") as file:
            said = file.read()
        if "launching: " in said:
            break
        if launcher.poll() is not None:
            sys.exit(said)
        time.sleep(0.1)
    start = used()
    time.sleep(30)  # the first rounds
    began, before, first, sizes = time.time(), used(), started(), []
    while time.time() - began < SECONDS:
        time.sleep(0.9)
        sizes.append(memory(processes()))
        if len(sizes) % 60 == 0:
            now = time.time() - began
            print(f"{now:.0f} s: {100 * (used() - before) / now:.2f} % of a core, {sizes[-1] / 1e6:.1f} MB", file=sys.stderr, flush=True)
    took = time.time() - began
    share, forks = (used() - before) / took, (started() - first) * 60 / took
    with open("/run/log") as file:
        said = file.read()
    launcher.kill()
    for process in processes():
        try:
            os.kill(int(process), 9)
        except ProcessLookupError:
            pass
    while processes():
        time.sleep(0.1)
    os.rmdir(group)
    if said.count("launching: ") != 1 or "do not answer" in said:
        sys.exit(f"workers were lost:\n{said}")
    if '"step"' not in Server.annotations.get("khorovod.dev/status", ""):
        sys.exit(f"no progress was written: {Server.annotations}\n{said}")
    sizes.sort()
    print(f"""# What a launcher uses while ranks run

`bench/launcher.sh {WORKERS} {SECONDS} >bench/launcher.md` runs the launcher of a job of {WORKERS} workers, which only answer
its probes, with an `mpirun` that prints a step every ten seconds. `lifecycle.stall` and `observability.progress` are set. The
launcher wrote its status and progress to an API server {Server.writes} times.

| | |
|---|---|
| processor time until the launch | {start:.2f} s |
| processor, while ranks run | {100 * share:.2f} % of a core |
| processes started per minute, while ranks run | {forks:.0f} |
| memory of all its processes (PSS), median | {sizes[len(sizes) // 2] / 1e6:.1f} MB |
| the same, maximum | {sizes[-1] / 1e6:.1f} MB |""")


main()
