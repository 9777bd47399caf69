"""Starts the workers of a job as processes, launches ranks on them in several ways, and prints one JSON line per launch:
measure.py WORKERS [REPETITIONS [VARIANT...]]

"srun", "floor" and "flat" start `echo` instead of ranks, without mpirun. With "init", the ranks join MPI. "retry" and "retry-mpirun" lose
a worker when all ranks run; the first starts a no-op instead of mpirun. With "check" and "check-flat", the hosts are checked first, and
with "stall" and "stall-flat" the launcher asks what waiting ranks do; do not mix these with other variants. "probe" and "probe-in-turn" start
nothing, and only probe the workers.
Each worker is the job's worker.sh with a real sshd, in process, mount and host name namespaces of its own, at its own address of
the loopback interface. A launch is measured from the launcher's line "all answer", or the start of a bare mpirun, to the first
line of the last rank. A rank prints one line.
"""
import base64
import json
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import time

import yaml

WORKERS = int(sys.argv[1])
REPETITIONS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
VARIANTS = sys.argv[3:] or ["khorovod", "khorovod-flat", "mpirun-flat", "mpirun-tree", "srun", "floor", "flat"]
# An MPI of tests/launchers/images.sh instead of Debian's Open MPI 4.
MPI = os.environ.get("MPI", "")
RADIX = int(os.environ.get("RADIX", 32))
CHECKS, STALLS = VARIANTS[0].startswith("check"), VARIANTS[0].startswith("stall")
STARTED = time.time_ns()
HERE = os.path.dirname(os.path.abspath(__file__))
JOB = f"""
apiVersion: khorovod.dev/v1alpha1
kind: TrainingJob
metadata: {{name: big, namespace: bench}}
spec:
  image: example.com/train:1
  command: {"[/bin/bash, -c, 'echo first-line; exec sleep 300']" if STALLS else "[echo, first-line]"}
  workers: {{replicas: {WORKERS}{", healthCheck: {policy: Always}" if CHECKS else ""}}}
  launcher: {{kind: mpirun, mpi: {re.sub("[0-9]", "", MPI) or "openmpi"}}}
  lifecycle: {{retries: 0{", stall: {timeout: 60s, action: report}" if STALLS else ""}}}
  security: {{runAsUser: 0, podSecurityLevel: baseline}}
"""
# Open MPI must use the loopback interface, which it otherwise ignores.
ENVIRONMENT = {
    "OMPI_MCA_oob_tcp_if_include": "lo", "OMPI_MCA_btl": "self,tcp", "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "HOME": "/run/home", "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
}
if MPI:
    ENVIRONMENT["PATH"] = f"/srv/{MPI}/bin:{ENVIRONMENT['PATH']}"
    del ENVIRONMENT["OMPI_MCA_oob_tcp_if_include"]
ENTER = """mount --bind "$1/horovod" /horovod && mount --bind "$1/khorovod" /etc/khorovod && hostname "$2" && shift 2 && exec "$@" """


def write(path, text, mode=0o755):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)


def read(path):
    with open(path) as file:
        return file.read()


def address(index):
    return f"127.1.{index // 250}.{index % 250 + 1}"


class Group:
    """A cgroup, which counts processor time and memory of a launcher."""

    def __init__(self, name):
        self.folders = {kind: f"/sys/fs/cgroup/{kind}/launch-bench-{STARTED}-{name}" for kind in ("cpuacct", "memory")}
        for folder in self.folders.values():
            os.makedirs(folder, exist_ok=True)

    def enter(self):
        for folder in self.folders.values():
            write(f"{folder}/cgroup.procs", str(os.getpid()), 0o644)

    def seconds(self):
        return int(read(f"{self.folders['cpuacct']}/cpuacct.usage")) / 1e9

    def reset_peak(self):
        write(f"{self.folders['memory']}/memory.max_usage_in_bytes", "0", 0o644)

    def peak(self):
        return int(read(f"{self.folders['memory']}/memory.max_usage_in_bytes"))

    def processes(self):
        return read(f"{self.folders['cpuacct']}/cgroup.procs").split()

    def open_files(self):
        """The open files of the process that has most of them."""
        most = 0
        for process in self.processes():
            try:
                most = max(most, len(os.listdir(f"/proc/{process}/fd")))
            except OSError:
                pass
        return most

    def close(self):
        for process in self.processes():
            try:
                os.kill(int(process), signal.SIGKILL)
            except OSError:
                pass
        while self.processes():
            time.sleep(0.05)
        for folder in self.folders.values():
            # A process that has ended is counted a little longer.
            for _ in range(600):
                try:
                    os.rmdir(folder)
                    break
                except OSError:
                    time.sleep(0.1)


class Job:
    def __init__(self):
        rendered = subprocess.run([os.environ["KHOROVOD"], "render", "-q", "-"], input=JOB, text=True, capture_output=True)
        if rendered.returncode:
            sys.exit(rendered.stderr)
        objects = list(yaml.load_all(rendered.stdout, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
        self.files = next(o["data"] for o in objects if o["kind"] == "ConfigMap" and "job.sh" in o["data"])
        # Smaller jobs do not have them.
        for name in ("tree.sh", "srun", "order.sh"):
            self.files.setdefault(name, read(f"{HERE}/../../src/compiler/pods/scripts/{name}"))
        # Two cores do the work of all hosts, so connections take longer.
        self.files["ssh_config"] = re.sub("ConnectTimeout .*", "ConnectTimeout 200", self.files["ssh_config"])
        self.files["sshd_config"] += "LoginGraceTime 0\n"
        secret = next(o for o in objects if o["kind"] == "Secret")
        self.keys = {name: base64.b64decode(text).decode() for name, text in secret["data"].items()}
        settings = dict(line.split("=", 1) for line in self.files["job.sh"].splitlines() if "=" in line)
        self.team, self.service, self.port = settings["team_names"].strip("( )"), settings["service"], settings["port"]
        self.launcher = f"{settings['launcher_pod']}.{self.service}"
        self.names = [f"{self.team}-{index}" for index in range(WORKERS)]
        # There is no API server.
        self.files["job.sh"] += f"own_job='' scales='' user=root tree_radix={RADIX}\n"
        launcher = next(o for o in objects if o["kind"] == "Job")
        container = launcher["spec"]["template"]["spec"]["containers"][0]
        self.environment = {e["name"]: e["value"] for e in container["env"] if "value" in e} | ENVIRONMENT
        # The workers of the bench are older than each launcher, which would therefore sweep them first.
        assert "began_here - 20" in self.files["launcher.sh"]
        # For the same reason as the connections, a worker that does not answer for ten seconds is not lost.
        assert "patience:-10" in self.files["attempt.sh"]
        assert "over_tree 30" in self.files["tree.sh"]
        self.files["tree.sh"] = self.files["tree.sh"].replace("over_tree 30", "over_tree 300")
        self.files["attempt.sh"] = self.files["attempt.sh"].replace("patience:-10", "patience:-900")
        self.files["launcher.sh"] = self.files["launcher.sh"].replace("began_here - 20", "began_here - 200000")

    def pod(self, folder, keys, changed):
        for name, text in (self.files | changed).items():
            write(f"{folder}/khorovod/scripts/{name}", text)
        for name in keys:
            write(f"{folder}/khorovod/keys/{name}", self.keys[name], 0o600)
        os.makedirs(f"{folder}/horovod/generated", exist_ok=True)

    def start_workers(self):
        self.group = Group("workers")
        self.processes = []
        for index in range(WORKERS):
            self.processes.append(self.start_worker(index))
            if index >= 16:
                self.wait_worker(index - 16)
        for index in range(WORKERS):
            self.wait_worker(index)

    def start_worker(self, index, pod=0):
        folder, name = f"/run/workers/{index}", self.names[index]
        # The log shows each session and the key that opened it.
        config = self.files["sshd_config"].replace("LogLevel FATAL", "LogLevel INFO")
        self.pod(folder, ["host_key", "authorized_keys"], {"sshd_config": f"ListenAddress {address(index)}\n{config}"})
        environment = self.environment | {
            "HOSTNAME": name, "KHOROVOD_POD_IP": address(index), "KHOROVOD_NODE_IP": "127.0.0.1",
            "KHOROVOD_POD_UID": f"{index + pod * WORKERS:08x}",
        }
        with open(f"{folder}/log", "a") as log:
            return subprocess.Popen(
                ["unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc", "/bin/bash", "-c", ENTER, "-",
                 folder, name, "/bin/bash", "/etc/khorovod/scripts/worker.sh"],
                env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL, preexec_fn=self.group.enter)

    def wait_worker(self, index):
        for _ in range(1200):
            if "answers on port" in read(f"/run/workers/{index}/log"):
                return
            time.sleep(0.05)
        sys.exit(f"worker {index} did not start:\n{read(f'/run/workers/{index}/log')}")

    def sessions(self):
        """How many sessions the user's key and the host key have opened so far."""
        counts = {}
        for index in range(WORKERS):
            for key in re.findall(r"Accepted publickey .*(SHA256:\S+)", read(f"/run/workers/{index}/log")):
                counts[key] = counts.get(key, 0) + 1
        return counts.get(self.fingerprint, 0), sum(counts.values())

    def launch(self, variant, number):
        folder = f"/run/launcher-{number}"
        changed = {}
        if variant in ("khorovod-flat", "check-flat"):
            changed["job.sh"] = self.files["job.sh"] + "tree_from=1000000\n"
        elif variant == "init":
            changed["job.sh"] = self.files["job.sh"].replace("echo first-line", "/run/bare/init first-line") + "tree_from=1\n"
        elif variant in ("khorovod", "check"):
            changed["job.sh"] = self.files["job.sh"] + "tree_from=1\n"
        self.pod(folder, ["id_ed25519", "known_hosts"], changed)
        begins, marker, expected = None, "first-line", WORKERS
        environment = self.environment | {"HOSTNAME": "big-launcher"}
        if variant.startswith(("khorovod", "check")) or variant == "init":
            command = ["/bin/bash", "/etc/khorovod/scripts/launcher.sh"]
            begins = f"{WORKERS} of {WORKERS} workers answer"
        elif variant.startswith("mpirun"):
            # Without the settings of khorovod.
            environment = {n: v for n, v in environment.items() if not re.match("OMPI_MCA_|PRTE_MCA_", n)} | ENVIRONMENT
            command = [
                "mpirun", "--hostfile", "/run/bare/hostfile", "-np", str(WORKERS), "--bind-to", "none", "--map-by", "slot",
                "--mca", "orte_keep_fqdn_hostnames", "true", "--mca", "plm_rsh_agent", "/run/bare/ssh",
                "--mca", "plm_rsh_no_tree_spawn", "1" if variant == "mpirun-flat" else "0", "echo", marker,
            ]
        elif variant == "srun":
            # The tree of khorovod with the command of the floor.
            generated = f"{folder}/horovod/generated"
            for name in ("id_ed25519", "known_hosts"):
                write(f"{generated}/keys/{name}", self.keys[name], 0o600)
            os.symlink("/usr/bin/ssh", f"{generated}/real-ssh")
            instances = [read(f"/run/workers/{index}/horovod/generated/instance").split()[1] for index in range(WORKERS)]
            write(f"{generated}/tree", "".join(
                f"{name}.{self.service} {address(i)} {instances[i]}\n" for i, name in enumerate(self.names)), 0o644)
            command = ["/bin/bash", "-c", f"/etc/khorovod/scripts/srun echo {marker}; exit"]
        else:
            radix = WORKERS if variant == "flat" else RADIX
            command = ["/bin/bash", "-c", f"exec /bin/bash /run/bare/floor.sh /run/bare/config {radix} 'echo {marker}' </run/bare/addresses"]
        group = Group(f"{variant}-{number}")
        before = self.sessions()
        log = open(f"{folder}/log", "w")
        start = time.time()
        launcher = subprocess.Popen(
            ["unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc", "/bin/bash", "-c", ENTER, "-", folder,
             "big-launcher", *command],
            env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL, preexec_fn=group.enter)
        text, used, theirs, first, files, looked, scripts, waited = "", 0.0, self.group.seconds(), None, 0, 0.0, None, 0.0
        file = open(f"{folder}/log")
        while True:
            ended = launcher.poll() is not None
            text += file.read()
            now = time.time()
            if begins and begins in text:
                begins, start, used, theirs = None, now, group.seconds(), self.group.seconds()
                waited = used
                group.reset_peak()
            if scripts is None and "launching: " in text:
                scripts = group.seconds() - used
            lines = text.count(marker + "\n")
            if lines and first is None:
                first = now - start
            if lines >= expected or ended:
                break
            if now - looked > 0.3:
                looked, files = now, max(files, group.open_files())
            time.sleep(0.005)
        last, cpu, peak = time.time() - start, group.seconds() - used, group.peak()
        files = max(files, group.open_files())
        if lines < expected:
            errors = f"{folder}/horovod/generated/tree-errors"
            text += read(errors) if os.path.exists(errors) else ""
            sys.exit(f"{variant} with {WORKERS} workers: {lines} ranks printed their line\n{text[-16000:]}")
        try:
            launcher.wait(300)
        except subprocess.TimeoutExpired:
            sys.exit(f"{variant} did not end\n{file.read()[-3000:]}")
        total = group.seconds() - used
        theirs = self.group.seconds() - theirs
        group.close()
        after = self.sessions()
        print(json.dumps({
            "workers": WORKERS, "radix": RADIX, "variant": variant, "mpi": MPI or "openmpi4", "cpu": round(cpu, 3), "cpu_waiting": round(waited, 3), "cpu_before": round(scripts or 0, 3), "cpu_to_end": round(total, 3), "workers_cpu": round(theirs, 3), "first": round(first, 3), "last": round(last, 3),
            "launcher_sessions": after[0] - before[0], "all_sessions": after[1] - before[1], "peak_mib": round(peak / 2**20, 1),
            "open_files": files, "code": launcher.returncode,
        }), flush=True)

    def stall(self, variant, number):
        """Waits for the launcher's line about a stall, and measures until it has logged what the ranks do."""
        folder = f"/run/launcher-{number}"
        job = self.files["job.sh"] + ("tree_from=1\n" if variant == "stall" else "tree_from=1000000\n")
        self.pod(folder, ["id_ed25519", "known_hosts"], {"job.sh": job})
        write(f"{folder}/khorovod/current/stall-timeout", "20\n", 0o644)
        group = Group(f"{variant}-{number}")
        log = open(f"{folder}/log", "w")
        launcher = subprocess.Popen(
            ["unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc", "/bin/bash", "-c", ENTER, "-", folder,
             "big-launcher", "/bin/bash", "/etc/khorovod/scripts/launcher.sh"],
            env=self.environment | {"HOSTNAME": "big-launcher"}, stdout=log, stderr=log, stdin=subprocess.DEVNULL, preexec_fn=group.enter)
        times = []
        for wanted in "asking all hosts", f"  {WORKERS} ranks ":
            until = time.time() + 600
            while wanted not in read(f"{folder}/log"):
                if launcher.poll() is not None or time.time() > until:
                    sys.exit(f"{variant} with {WORKERS} workers\n{read(f'{folder}/log')[-16000:]}")
                time.sleep(0.01)
            times.append((time.time(), group.seconds(), self.sessions()))
        launcher.kill()
        launcher.wait(60)
        group.close()
        (began, before, opened), (ended, after, all_opened) = times
        print(json.dumps({
            "workers": WORKERS, "radix": RADIX, "variant": variant, "mpi": MPI or "openmpi4", "cpu": round(after - before, 3), "last": round(ended - began, 1),
            "launcher_sessions": all_opened[0] - opened[0],
        }), flush=True)

    def probe(self, variant, number):
        """Probes all workers ten times, as the launcher does while it waits, or, with "probe-in-turn", while ranks run."""
        command = ["/bin/bash", f"{HERE}/../../src/compiler/pods/scripts/probe.sh", self.port]
        targets, answers = [f"{name}.{self.service}={address(i)}" for i, name in enumerate(self.names)], 0

        def ask(words, size):
            groups = [words[first:first + size] for first in range(0, len(words), size)]
            return [subprocess.run([*command, *group], text=True, capture_output=True) for group in groups]

        def lines():
            return [line.split(" ", 1) for done in ask(targets, 16) for line in done.stdout.splitlines()]
        command.append("")
        last = dict(lines())
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        if variant == "probe-in-turn":
            command[-1] = "same"
            words = [w for i, n in enumerate(self.names) for w in (address(i), n, last[f"{n}.{self.service}"])]
            for _ in range(10):
                answers += sum(128 for done in ask(words, 384) if done.returncode == 0)
        else:
            for _ in range(10):
                answers += len(lines())
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        # On a busy machine, a few workers may not answer.
        if answers < 9 * WORKERS:
            sys.exit(f"{answers} answers to 10 probes of {WORKERS} workers")
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(json.dumps({"workers": WORKERS, "variant": variant, "mpi": MPI or "openmpi4", "cpu": round(used / 10, 5)}), flush=True)

    def retry(self, variant, number):
        """Kills a worker that has started others, starts it again after 5 seconds, and measures until all ranks run again."""
        folder = f"/run/launcher-{number}"
        for again in ("/run/again", "/run/fake"):
            if os.path.exists(again):
                os.rename(again, f"{again}-{number}")
        if variant == "retry":
            # The tree of khorovod with a no-op in the place of mpirun's daemons.
            write("/run/fake/mpirun", '#!/bin/bash\n[[ $1 != --version ]] || exec /usr/bin/mpirun "$@"\n'
                  'exec /horovod/generated/bin/srun /bin/bash /run/bare/rank\n')
        job = self.files["job.sh"].replace("echo first-line", "/bin/bash /run/bare/rank") + "tree_from=1\n"
        self.pod(folder, ["id_ed25519", "known_hosts"], {"job.sh": job})
        write(f"{folder}/current/retries", "1\n", 0o644)
        environment = self.environment | {"HOSTNAME": "big-launcher", "PATH": f"/run/fake:{ENVIRONMENT['PATH']}"}
        group = Group(f"{variant}-{number}")
        log = open(f"{folder}/log", "w")
        launcher = subprocess.Popen(
            ["unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc", "/bin/bash", "-c",
             'mkdir -p "$1/khorovod/current" && cp "$1"/current/* "$1/khorovod/current/"; ' + ENTER, "-", folder,
             "big-launcher", "/bin/bash", "/etc/khorovod/scripts/launcher.sh"],
            env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL, preexec_fn=group.enter)
        file, text = open(f"{folder}/log"), ""

        def until(done, seconds=400):
            nonlocal text
            began = time.time()
            while True:
                text += file.read()
                if done():
                    return time.time(), group.seconds()
                if launcher.poll() is not None or time.time() - began > seconds:
                    sys.exit(f"{variant} with {WORKERS} workers\n{text[-16000:]}")
                time.sleep(0.01)

        until(lambda: text.count("first-line\n") == WORKERS)
        time.sleep(40)
        write("/run/again", "", 0o644)
        before = self.sessions()
        lost, killed, started = 0, time.time(), group.seconds()
        self.processes[lost].kill()
        self.processes[lost].wait()
        found = until(lambda: "attempt 1 of 2 failed" in text or "does not count against" in text)
        time.sleep(max(0, killed + 5 - time.time()))
        self.processes[lost] = self.start_worker(lost, 1 + number)
        waited = until(lambda: text.count(f"{WORKERS} of {WORKERS} workers answer") == 2)
        launched = until(lambda: text.count("launching: ") == 2)
        first = until(lambda: "second-line\n" in text)
        last = until(lambda: text.count("second-line\n") == WORKERS)
        launcher.wait(300)
        after = self.sessions()
        trees = text.count("the launch uses a tree")
        group.close()
        print(json.dumps({
            "workers": WORKERS, "variant": variant, "detected": round(found[0] - killed, 1), "answered": round(waited[0] - found[0], 1),
            "swept": round(launched[0] - waited[0], 1), "first": round(first[0] - launched[0], 1), "last": round(last[0] - launched[0], 1),
            "whole": round(last[0] - found[0], 1), "cpu_detected": round(found[1] - started, 3), "cpu_answered": round(waited[1] - found[1], 3),
            "cpu_swept": round(launched[1] - waited[1], 3), "cpu_launched": round(last[1] - launched[1], 3), "trees": trees,
            "launcher_sessions": after[0] - before[0], "all_sessions": after[1] - before[1], "code": launcher.returncode,
        }), flush=True)

    def prepare(self):
        write("/run/bare/config", self.files["ssh_config"].replace("/horovod/generated/keys", "/run/bare") + f"  Port {self.port}\n  User root\n", 0o644)
        for name in ("id_ed25519", "known_hosts"):
            write(f"/run/bare/{name}", self.keys[name], 0o600)
        write("/run/bare/ssh", '#!/bin/sh\nexec ssh -F /run/bare/config "$@"\n')
        if "init" in VARIANTS:
            subprocess.run(["mpicc", "-O1", "-o", "/run/bare/init", f"{HERE}/init.c"], check=True)
        write("/run/bare/floor.sh", read(f"{HERE}/floor.sh"))
        write("/run/bare/rank", "if [[ -e /run/again ]]; then echo second-line; exit; fi\necho first-line\nexec sleep 900\n")
        write("/run/bare/hostfile", "".join(f"{name}.{self.service} slots=1\n" for name in self.names), 0o644)
        write("/run/bare/addresses", "".join(f"{address(i)}\n" for i in range(WORKERS)), 0o644)
        write("/run/hosts", f"127.0.0.1 localhost big-launcher {self.launcher}\n" + "".join(
            f"{address(i)} {name}.{self.service} {name}\n" for i, name in enumerate(self.names)), 0o644)
        subprocess.run(["mount", "--bind", "/run/hosts", "/etc/hosts"], check=True)
        # A session runs the .bashrc of its user, which on this machine may do anything.
        write("/run/passwd", read("/etc/passwd").replace(":/root:", ":/run/home:", 1), 0o644)
        subprocess.run(["mount", "--bind", "/run/passwd", "/etc/passwd"], check=True)
        shown = subprocess.run(["ssh-keygen", "-l", "-f", "/run/bare/id_ed25519"], text=True, capture_output=True, check=True).stdout
        self.fingerprint = shown.split()[1]


def main():
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)
    if MPI:
        # Open MPI 5 uses no loopback interface, and khorovod sees IPv4 only if there is a route.
        for words in ("link add v0 type veth peer name v1", "address add 10.77.0.254/24 dev v0", "link set v0 up", "link set v1 up"):
            subprocess.run(["ip", *words.split()], check=True)
        subprocess.run(["mount", "-t", "tmpfs", "none", "/srv"], check=True)
        os.mkdir(f"/srv/{MPI}")
        subprocess.run(["mount", "--bind", os.environ["MPI_FOLDER"], f"/srv/{MPI}"], check=True)
    os.makedirs("/run/home")
    os.makedirs("/run/sshd")
    job = Job()
    job.prepare()
    began = time.time()
    job.start_workers()
    available = int(re.search(r"MemAvailable: +(\d+)", read("/proc/meminfo"))[1]) >> 10
    print(f"{WORKERS} workers after {time.time() - began:.0f} s; {available} MiB available", file=sys.stderr)
    number = 0
    for _ in range(REPETITIONS):
        for variant in VARIANTS:
            methods = {"retry": job.retry, "stall": job.stall, "probe": job.probe}
            methods.get(variant.split("-")[0], job.launch)(variant, number)
            number += 1
            time.sleep(1)
    job.group.close()


if __name__ == "__main__":
    main()
