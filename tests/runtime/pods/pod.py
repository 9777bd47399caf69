"""One pod: its network, its volumes, and its containers one after another, like a kubelet runs them."""
import glob
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import volumes

HERE = os.path.dirname(os.path.abspath(__file__))
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
# The user ID that the platform chooses if the pod sets none, as OpenShift does.
PLATFORM_USER, PLATFORM_GROUP = 1000660000, 0
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
CAPABILITIES = {"NET_BIND_SERVICE": 10, "IPC_LOCK": 14, "SYS_CHROOT": 18, "SYS_PTRACE": 19, "SYS_NICE": 23, "SYS_RESOURCE": 24}


class Pod:
    def __init__(self, cluster, owner, name, host, index, template):
        self.cluster, self.owner, self.name, self.index = cluster, owner, name, index
        self.meta, self.spec = template["metadata"], template["spec"]
        self.hostname = self.spec.get("hostname", host)
        # The name in logs and cases: `launcher`, `worker-1`, or an index.
        self.short = self.hostname.split(f"-{self.meta.get('labels', {}).get('khorovod.dev/run')}-")[-1]
        # A pod of the same name may start again; it gets a new network and folder.
        serial = cluster.count()
        self.network = f"{self.short}.{serial}"
        self.folder = f"{cluster.work}/pods/{self.network}"
        self.address = f"10.88.{serial >> 8}.{serial & 255}"
        self.security = self.spec.get("securityContext", {})
        chosen = "runAsUser" in self.security
        self.group = self.security.get("fsGroup", None if chosen else PLATFORM_USER)
        self.deleted = self.disrupted = self.ready = self.connected = False
        self.process = None
        self.runs = ""  # the name of the container that has started
        os.makedirs(self.folder)
        threading.Thread(target=self.live, daemon=True).start()

    # Properties of the pod.

    def token(self):
        return self.cluster.token(self.spec.get("serviceAccountName", "default"))

    def field(self, path):
        labels = re.fullmatch(r"metadata\.(labels|annotations)\['(.*)'\]", path)
        if labels:
            job = {"controller-uid": self.owner.uid, "batch.kubernetes.io/job-completion-index": str(self.index)}
            # Kubernetes 1.35 and newer copies these labels of the node.
            copied = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
            node = {key: value for key, value in self.cluster.node_labels(f"node-of-{self.short}").items() if key in copied}
            known = {**self.meta.get(labels[1], {}), **node, **(job if self.owner.uid else {})}
            return known.get(labels[2], "")
        return {
            "metadata.name": self.name,
            "metadata.namespace": self.cluster.namespace,
            "metadata.uid": self.name,
            "spec.nodeName": f"node-of-{self.short}",
            "spec.serviceAccountName": self.spec.get("serviceAccountName", "default"),
            "status.podIP": self.address,
            "status.podIPs": self.address,
            "status.hostIP": self.address,
        }[path]

    def environment(self, container):
        env = {
            "PATH": PATH,
            "HOSTNAME": self.hostname,
            "KUBERNETES_SERVICE_HOST": self.cluster.address,
            "KUBERNETES_SERVICE_PORT": "6443",
            **self.cluster.image_environment(),
        }
        for source in container.get("envFrom", []):
            for kind, reference in (("ConfigMap", "configMapRef"), ("Secret", "secretRef")):
                if reference in source:
                    files = volumes.picked(source[reference], kind, source[reference]["name"], 0, self.cluster.find)
                    env.update({source.get("prefix", "") + key: data.decode() for key, data, _ in files})
        for entry in container.get("env", []):
            value = self.value(entry["valueFrom"]) if "valueFrom" in entry else expand(entry.get("value", ""), env)
            if value is not None:
                env[entry["name"]] = value
        if self.owner.indexed:
            env["JOB_COMPLETION_INDEX"] = str(self.index)
        return env

    def value(self, source):
        if "fieldRef" in source:
            return self.field(source["fieldRef"]["fieldPath"])
        for kind, reference in (("ConfigMap", "configMapKeyRef"), ("Secret", "secretKeyRef")):
            if reference in source:
                inner = dict(source[reference], items=[{"key": source[reference]["key"], "path": "value"}])
                files = volumes.picked(inner, kind, inner["name"], 0, self.cluster.find)
                return files[0][1].decode() if files else None
        raise NotImplementedError(f"valueFrom {source}")

    # The lifecycle of the pod.

    def live(self):
        code = 128
        try:
            while not self.deleted and not self.cluster.may_start(self):
                time.sleep(0.2)
            # A delay that a real network may have.
            time.sleep(self.cluster.seconds("late"))
            self.connect()
            self.connected = True
            self.prepare()
            containers = self.spec["containers"]
            if len(containers) != 1:
                raise NotImplementedError("more than one container")
            for container in self.spec.get("initContainers", []):
                while (code := self.run(container)) and not self.deleted and self.restarts(code):
                    time.sleep(1)
                if code:
                    break
            else:
                if "readinessProbe" in containers[0]:
                    threading.Thread(target=self.probe, args=[containers[0]], daemon=True).start()
                else:
                    self.ready = True
                while True:
                    code = self.run(containers[0])
                    if self.deleted or not self.restarts(code):
                        break
                    self.cluster.event(f"{self.short} ended with {code} and restarts")
                    time.sleep(1)
        except (OSError, subprocess.CalledProcessError, NotImplementedError, KeyError) as error:
            self.cluster.event(f"{self.short} BROKE: {error!r}")
        self.ready = False
        self.disconnect()
        for volume in self.spec.get("volumes", []):
            if "emptyDir" in volume:
                volumes.remove(f"{self.folder}/volumes/{volume['name']}")
        self.cluster.event(f"{self.short} ended with {code}")
        self.cluster.ended(self, code)

    def restarts(self, code):
        policy = self.spec.get("restartPolicy", "Always")
        return policy == "Always" or (policy == "OnFailure" and code)

    def connect(self):
        link = "v" + self.address.removeprefix("10.88.").replace(".", "-")
        here = f"netns add {self.network}\nlink add {link} type veth peer name eth0 netns {self.network}\nlink set {link} master {self.cluster.bridge(self.short)} up\n"
        there = f"addr add {self.address}/16 dev eth0\nlink set eth0 up\nlink set lo up\n"
        # One at a time, because network namespaces are named by mounts of the machine.
        with self.cluster.wiring:
            for options, lines in (([], here), (["-n", self.network], there)):
                subprocess.run(["ip", *options, "-batch", "-"], input=lines.encode(), check=True)

    def disconnect(self):
        with self.cluster.wiring:
            subprocess.run(["ip", "netns", "delete", self.network], stderr=subprocess.DEVNULL, check=False)

    def prepare(self):
        """Creates the volumes when everything that they refer to exists."""
        told = None
        os.makedirs(f"{self.folder}/volumes")
        self.mounts = {}
        for volume in self.spec.get("volumes", []):
            while not self.deleted:
                try:
                    folder = f"{self.folder}/volumes/{volume['name']}"
                    self.mounts[volume["name"]] = volumes.make(folder, volume, self, self.cluster, self.group)
                    break
                except volumes.Missing as missing:
                    if told != str(missing):
                        self.cluster.event(f"{self.short} waits for {missing}")
                        told = str(missing)
                    time.sleep(0.5)
        names = f"127.0.0.1 localhost\n{self.address} {self.full_name()} {self.hostname}\n"
        search = f"{self.cluster.namespace}.svc.cluster.local svc.cluster.local cluster.local"
        resolver = f"nameserver {self.cluster.address}\nsearch {search}\noptions ndots:5\n"
        for name, text in (("hosts", names), ("resolv.conf", resolver), ("termination", "")):
            with open(f"{self.folder}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
        os.chmod(f"{self.folder}/termination", 0o666)

    def full_name(self):
        return f"{self.hostname}.{self.spec.get('subdomain', '')}.{self.cluster.namespace}.svc.cluster.local"

    def refresh(self, kind, name):
        """Updates the volumes of a ConfigMap or Secret that has changed."""
        key = {"ConfigMap": ("configMap", "name"), "Secret": ("secret", "secretName")}[kind]
        for volume in self.spec.get("volumes", []):
            if volume.get(key[0], {}).get(key[1]) == name and volume["name"] in getattr(self, "mounts", {}):
                volumes.write(self.mounts[volume["name"]], volumes.files_of(volume, self, self.cluster.find), self.group)

    def run(self, container):
        """Runs a container to its end; returns its exit code."""
        if self.deleted:
            return 137
        with open(f"{self.folder}/container.json", "w", encoding="utf-8") as file:
            json.dump(self.container(container), file)
        program = [sys.executable, "-IS", f"{HERE}/container.py", file.name]
        enter = ["nsenter", f"--net=/run/netns/{self.network}", "unshare", *"--mount --uts --ipc --pid --fork --kill-child".split()]
        # Uses a pipe, like container runtimes, because programs buffer output to files differently.
        with open(f"{self.cluster.work}/{self.short}.log", "ab") as log:
            reader = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=log)
        with reader.stdin as out:
            self.process = subprocess.Popen(
                enter + program, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd="/", start_new_session=True
            )
        self.runs = container["name"]
        self.cluster.event(f"{self.short} started {container['name']} at {self.address}")
        threading.Thread(target=self.note_first, args=[self.process], daemon=True).start()
        code = self.process.wait()
        reader.wait()
        return code if code >= 0 else 128 - code

    def first(self, process):
        """The pid of the container's first process on this machine; None if it is not running."""
        try:
            with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
                children = file.read().split()
        except OSError:
            return None
        return int(children[0]) if children else None

    def note_first(self, process):
        """Writes the termination message to the file in which cases find it."""
        while process.poll() is None and not (first := self.first(process)):
            time.sleep(0.01)
        if process.poll() is None:
            with open(f"{self.folder}/pid", "w", encoding="ascii") as file:
                file.write(str(first))
            short = f"{self.cluster.work}/pods/{self.short}"
            os.symlink(self.network, f"{short}.new")
            os.rename(f"{short}.new", short)

    def container(self, container):
        security = dict(self.security, **container.get("securityContext", {}))
        env = self.environment(container)
        chosen = "runAsUser" in security
        uid = security.get("runAsUser", PLATFORM_USER)
        if not uid and security.get("runAsNonRoot"):
            raise NotImplementedError("root, and runAsNonRoot")
        mounts = [(f"{self.folder}/{name}", f"/etc/{name}", False) for name in ("hosts", "resolv.conf")]
        mounts.append((f"{self.folder}/termination", container.get("terminationMessagePath", "/dev/termination-log"), False))
        for mount in container.get("volumeMounts", []):
            source = self.mounts[mount["name"]]
            if "subPath" in mount:
                source = os.path.realpath(f"{source}/{mount['subPath']}")
                if not os.path.exists(source):
                    os.makedirs(source)
            mounts.append((source, mount["mountPath"], mount.get("readOnly", False)))
        if self.spec.get("automountServiceAccountToken", True):
            mounts.append((self.account(), ACCOUNT, True))
        mounts += [(*line.rsplit(":", 1), True) for line in self.cluster.setting("mount")]
        scratch = f"{self.folder}/root"
        os.makedirs(scratch, exist_ok=True)
        command = container["command"] + container.get("args", [])
        return {
            "pod": self.short,
            "image": container["image"],
            "hostname": self.hostname,
            "scratch": scratch,
            "layers": self.cluster.image_layers(),
            "prepare": self.cluster.image_script(),
            "mounts": mounts,
            "devices": gpus(container),
            "env": env,
            "command": [expand(word, env) for word in command],
            "workdir": container.get("workingDir", "/"),
            "uid": uid,
            "gid": security.get("runAsGroup", 0 if chosen else PLATFORM_GROUP),
            "groups": [self.group] if self.group is not None else [],
            "capabilities": [CAPABILITIES[name] for name in security.get("capabilities", {}).get("add", [])],
            "escalation": security.get("allowPrivilegeEscalation", True),
            "read_only": security.get("readOnlyRootFilesystem", False),
        }

    def account(self):
        folder = f"{self.folder}/account"
        if not os.path.isdir(folder):
            os.makedirs(folder)
            parts = {"token": self.token(), "namespace": self.cluster.namespace, "ca.crt": self.cluster.certificate()}
            volumes.write(folder, [(name, text.encode(), 0o644) for name, text in parts.items()], self.group)
        return folder

    def probe(self, container):
        """Sets the pod Ready when its port answers. It stays Ready afterwards."""
        action = container["readinessProbe"].get("tcpSocket")
        ports = {port.get("name"): port["containerPort"] for port in container.get("ports", [])}
        while not self.deleted and action:
            try:
                socket.create_connection((self.address, ports.get(action["port"], action["port"])), 1).close()
                self.ready = True
                self.cluster.event(f"{self.short} is ready")
                return
            except OSError:
                time.sleep(0.5)

    def delete(self, grace=None):
        """Sends SIGTERM, and SIGKILL after the grace period, like kubectl delete."""
        self.deleted = True
        if grace is None:
            grace = self.spec.get("terminationGracePeriodSeconds", 30)
        threading.Thread(target=self.end, args=[grace], daemon=True).start()

    def end(self, grace):
        for number, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, 5)):
            if not patience:
                continue
            first = self.process and self.first(self.process)
            if first:
                try:
                    os.kill(first, number)
                    self.process.wait(patience)
                except ProcessLookupError:
                    return
                except subprocess.TimeoutExpired:
                    self.cluster.event(f"{self.short} did not end within {patience} s of {number.name}")


def gpus(container):
    """The device files of the GPUs that a container requests. All pods share the GPUs of this machine, as with time-slicing; a pod
    that requests more of them gets fewer, like one on a node that has lost a GPU."""
    count = int(container.get("resources", {}).get("limits", {}).get("nvidia.com/gpu", 0))
    found = sorted(glob.glob("/dev/nvidia[0-9]*"))[:count]
    return found + [path for path in ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools") if found and os.path.exists(path)]


def expand(text, env):
    """Replaces $(NAME) by the value of a variable if it exists, and $$ by $."""
    return re.sub(r"\$(\$|\(([A-Za-z_.-][\w.-]*)\))", lambda found: "$" if found[1] == "$" else env.get(found[2], found[0]), text)
