"""The applied objects, and the pods that they create."""
import os
import threading
import time

import yaml
from jobs import Job, StatefulSet

OWNERS = {"StatefulSet": StatefulSet, "Job": Job}


class Cluster:
    namespace = "team-a"
    address = "10.88.255.254"

    def __init__(self, work):
        self.work = work
        self.lock, self.wiring = threading.RLock(), threading.Lock()
        self.objects, self.owners = {}, {}
        self.began, self.counted = time.monotonic(), 0
        for folder in ("pods", "jobs", "claims"):
            os.makedirs(f"{work}/{folder}")

    def count(self):
        self.counted += 1
        return self.counted

    def event(self, text):
        with open(f"{self.work}/events.log", "a", encoding="utf-8") as file:
            file.write(f"{time.monotonic() - self.began:7.2f} {text}\n")

    def find(self, kind, name):
        return self.objects.get((kind, name))

    def token(self, account):
        return f"token-of-{account}"

    def certificate(self):
        with open(f"{self.work}/ca.crt", encoding="utf-8") as file:
            return file.read()

    def seconds(self, name):
        """The number in WORK/name, or 0."""
        try:
            with open(f"{self.work}/{name}", encoding="utf-8") as file:
                return float(file.read())
        except FileNotFoundError:
            return 0

    def bridge(self, pod):
        """The bridge of a pod: the file WORK/racks has lines such as `worker-0 rack-2`."""
        try:
            with open(f"{self.work}/racks", encoding="utf-8") as file:
                return dict(line.split() for line in file).get(pod, "pods")
        except FileNotFoundError:
            return "pods"

    # The parts of all images of a case; see README.md.

    def setting(self, name):
        try:
            with open(f"{self.work}/image/{name}", encoding="utf-8") as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    def image_environment(self):
        return dict(line.split("=", 1) for line in self.setting("env"))

    def image_layers(self):
        return self.setting("layers") + self.setting("root") or ["/"]

    def image_script(self):
        path = f"{self.work}/image/prepare"
        return path if os.path.exists(path) else None

    # Methods of the API.

    def apply(self, text):
        with self.lock:
            for obj in yaml.load_all(text, Loader=yaml.CSafeLoader):
                if obj:
                    self.put(obj)

    def put(self, obj):
        kind, name = obj["kind"], obj["metadata"]["name"]
        old = self.objects.get((kind, name))
        if old and old.get("immutable") and old["data"] != obj["data"]:
            raise ValueError(f"{kind} {name} is immutable")
        obj["metadata"].setdefault("uid", f"uid-of-{name}")
        # An API server without the feature gate of gangs drops this field.
        if kind in OWNERS and os.path.exists(f"{self.work}/drops"):
            obj["spec"]["template"]["spec"].pop("schedulingGroup", None)
        self.objects[kind, name] = obj
        if kind in OWNERS and (kind, name) not in self.owners:
            self.owners[kind, name] = OWNERS[kind](self, obj)
        if old and kind in ("ConfigMap", "Secret"):
            for pod in self.pods():
                pod.refresh(kind, name)

    def pods(self):
        return [pod for owner in self.owners.values() for pod in owner.pods.values()]

    def may_start(self, pod):
        """Whether the gang of a pod has all its pods, and the nodes have room for them: there is no file WORK/full."""
        group = pod.spec.get("schedulingGroup")
        if not group:
            return True
        policy = self.find("PodGroup", group["podGroupName"])["spec"]["schedulingPolicy"]
        with self.lock:
            members = [one for one in self.pods() if one.spec.get("schedulingGroup") == group]
        return len(members) >= policy["gang"]["minCount"] and not os.path.exists(f"{self.work}/full")

    def ended(self, pod, code):
        with self.lock:
            pod.owner.ended(pod, code)

    def delete(self, kind, name):
        with self.lock:
            del self.objects[kind, name]
            if (kind, name) in self.owners:
                self.owners[kind, name].delete()

    def may(self, account, verb, group, resource, name):
        """The rights of a pod's account, from the existing Roles."""
        subject = {"kind": "ServiceAccount", "name": account, "namespace": self.namespace}
        for (kind, _), binding in self.objects.items():
            if kind != "RoleBinding" or subject not in binding["subjects"]:
                continue
            role = self.find("Role", binding["roleRef"]["name"])
            for rule in role["rules"] if role else []:
                named = name in rule.get("resourceNames", [name])
                if named and verb in rule["verbs"] and group in rule["apiGroups"] and resource in rule["resources"]:
                    return True
        return False

    def may_cluster(self, account, verb, resource):
        """The rights of a pod's account outside of namespaces, from the existing ClusterRoles."""
        subject = {"kind": "ServiceAccount", "name": account, "namespace": self.namespace}
        roles = [self.find("ClusterRole", binding["roleRef"]["name"]) for (kind, _), binding in self.objects.items()
                 if kind == "ClusterRoleBinding" and subject in binding["subjects"]]
        return any(verb in rule["verbs"] and resource in rule["resources"] for role in roles if role for rule in role["rules"])

    def node_labels(self, node):
        """The labels of a node, from the lines `POD KEY=VALUE...` in WORK/nodes: each pod has a node of its own."""
        labels = {}
        if os.path.exists(f"{self.work}/nodes"):
            with open(f"{self.work}/nodes", encoding="utf-8") as file:
                for pod, *pairs in (line.split() for line in file):
                    if node == f"node-of-{pod}":
                        labels.update(pair.split("=", 1) for pair in pairs)
        return labels

    def records(self):
        """Hosts that a case runs in addition to the pods: lines `HOST ADDRESS` in WORK/names."""
        if not os.path.exists(f"{self.work}/names"):
            return {}
        with open(f"{self.work}/names", encoding="utf-8") as file:
            return dict(line.split() for line in file)

    def behind(self, service):
        """The pods behind a headless Service."""
        wanted = service["spec"].get("selector", {}).items()
        early = service["spec"].get("publishNotReadyAddresses")
        there = [pod for pod in self.pods() if pod.connected and wanted <= pod.meta.get("labels", {}).items()]
        return [pod for pod in there if early or pod.ready]

    def resolve(self, name):
        """The addresses of a name in the cluster's DNS, for headless Services; None if the name does not exist."""
        end = f".{self.namespace}.svc.cluster.local"
        if not name.endswith(end):
            return None
        *host, service = name.removesuffix(end).split(".")
        with self.lock:
            found = self.find("Service", service)
            if not found:
                return None
            shown = self.behind(found)
            if host:
                if host[0] in self.records():
                    return [self.records()[host[0]]]
                shown = [pod for pod in shown if pod.spec.get("subdomain") == service and [pod.hostname] == host]
            return [pod.address for pod in shown] or None
