"""The controllers of pods: StatefulSets and Jobs, with the features that rendered objects use."""
import threading
import time

from pod import Pod


class StatefulSet:
    indexed, uid = False, None

    def __init__(self, cluster, obj):
        self.cluster, self.name = cluster, obj["metadata"]["name"]
        self.spec = obj["spec"]
        self.replicas = self.spec.get("replicas", 1)
        self.pods = {}
        self.gone = False
        self.reconcile()

    def scale(self, replicas):
        self.replicas = replicas
        self.cluster.event(f"{self.name} scaled to {replicas}")
        self.reconcile()

    def reconcile(self):
        for index, pod in self.pods.items():
            if index >= self.replicas and not pod.deleted:
                pod.delete()
        for index in range(self.replicas):
            if index not in self.pods:
                name = f"{self.name}-{index}"
                template = self.spec["template"]
                template["spec"]["subdomain"] = self.spec["serviceName"]
                self.pods[index] = Pod(self.cluster, self, name, name, index, template)

    def ended(self, pod, _code):
        del self.pods[pod.index]
        self.reconcile()

    def delete(self):
        self.gone = True
        self.scale(0)


class Job:
    def __init__(self, cluster, obj):
        self.cluster, self.name, self.uid = cluster, obj["metadata"]["name"], f"uid-{time.time_ns()}"
        self.spec = obj["spec"]
        self.indexed = self.spec.get("completionMode") == "Indexed"
        self.started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.failed, self.births, self.condition = 0, 0, None
        self.pods, self.succeeded = {}, set()
        # Pods that are being deleted and are replaced already.
        self.terminating = []
        self.gone = False
        if self.spec.get("suspend"):
            self.cluster.event(f"{self.name} is suspended")
            return
        if "activeDeadlineSeconds" in self.spec:
            timer = threading.Timer(self.spec["activeDeadlineSeconds"], self.expire)
            timer.daemon = True
            timer.start()
        for index in range(self.spec.get("completions", 1)):
            self.bear(index)

    def bear(self, index):
        self.births += 1
        place = f"{self.name}-{index}" if self.indexed else self.name
        self.pods[index] = Pod(self.cluster, self, f"{place}-{self.births}", place, index, self.spec["template"])

    def status(self):
        status = {"startTime": self.started, "active": len(self.pods), "ready": sum(pod.ready for pod in self.pods.values())}
        status |= {"failed": self.failed} if self.failed else {}
        status |= {"terminating": len(self.terminating)} if self.terminating else {}
        return status | ({"conditions": [{"type": self.condition, "status": "True"}]} if self.condition else {})

    def limit(self):
        return self.spec.get("backoffLimit", 2**31 if "backoffLimitPerIndex" in self.spec else 6)

    def patch(self, spec):
        was_suspended = self.spec.get("suspend", False)
        self.spec.update(spec)
        if self.spec.get("suspend", False) != was_suspended:
            self.suspend_or_resume()
        if self.failed > self.limit():
            self.finish("Failed", "BackoffLimitExceeded", 0)

    def suspend_or_resume(self):
        if self.spec["suspend"]:
            self.cluster.event(f"{self.name} is suspended")
            for pod in self.pods.values():
                pod.delete()
        else:
            self.cluster.event(f"{self.name} is resumed")
            for index in range(self.spec.get("completions", 1)):
                self.bear(index)

    def evicted(self, pod):
        """Without podFailurePolicy, a pod that is being deleted is replaced at once, and counts as failed."""
        if self.condition or self.gone or "podFailurePolicy" in self.spec or self.pods.get(pod.index) is not pod:
            return
        self.terminating.append(self.pods.pop(pod.index))
        self.failed += 1
        threading.Timer(1, self.replace, [pod.index]).start()

    def expire(self):
        with self.cluster.lock:
            self.finish("Failed", "DeadlineExceeded", 0)

    def finish(self, condition, why, code):
        if not self.condition:
            self.condition = condition
            self.cluster.event(f"{self.name} is {condition}: {why}")
            for pod in [*self.pods.values(), *self.terminating]:
                pod.delete()
            self.note(f"{condition} {code}")

    def note(self, text):
        """Writes the file in which cases find the result of a job."""
        with open(f"{self.cluster.work}/jobs/{self.name}", "w", encoding="utf-8") as file:
            file.write(text)

    def ended(self, pod, code):
        if pod in self.terminating:
            self.terminating.remove(pod)
            return
        del self.pods[pod.index]
        if self.gone and not self.pods:
            self.note(f"Deleted {code}")
        if self.condition or self.gone or self.spec.get("suspend"):
            return
        if code == 0:
            self.succeeded.add(str(pod.index))
            rules = self.spec.get("successPolicy", {}).get("rules", [])
            enough = [set(rule["succeededIndexes"].split(",")) for rule in rules]
            if any(wanted <= self.succeeded for wanted in enough):
                self.finish("Complete", "successPolicy", code)
            elif len(self.succeeded) == self.spec.get("completions", 1):
                self.finish("Complete", "completions", code)
            return
        action = self.judge(pod, code)
        if action == "FailJob":
            self.finish("Failed", f"podFailurePolicy on code {code}", code)
            return
        if action == "Count":
            self.failed += 1
        if self.failed > self.limit():
            self.finish("Failed", "BackoffLimitExceeded", code)
        else:
            # Kubernetes waits for 10 s or longer.
            threading.Timer(1, self.replace, [pod.index]).start()

    def replace(self, index):
        with self.cluster.lock:
            if not self.condition and not self.gone:
                self.bear(index)

    def judge(self, pod, code):
        for rule in self.spec.get("podFailurePolicy", {}).get("rules", []):
            if "onExitCodes" in rule:
                asked = rule["onExitCodes"]
                if (code in asked["values"]) == (asked["operator"] == "In"):
                    return rule["action"]
            elif pod.disrupted:
                return rule["action"]
        return "Count"

    def delete(self):
        self.gone = True
        for pod in [*self.pods.values(), *self.terminating]:
            pod.delete()
