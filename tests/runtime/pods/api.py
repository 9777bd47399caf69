"""The paths of an API server that launchers call, and some for the cases.

A pod's account has the rights of its Role. Cases use the account `admin`.
"""
import http.server
import json
import os
import re
import ssl
import time

import commands

EVENTS = re.compile(r"/api/v1/namespaces/([\w-]+)/events")
NAMED = re.compile(r"/(?:api|apis/([a-z.]+))/v1/namespaces/([\w-]+)/([a-z]+)/([\w.-]+)(?:/(scale))?")
KINDS = {"jobs": "Job", "statefulsets": "StatefulSet", "configmaps": "ConfigMap", "secrets": "Secret", "services": "Service"}


class Refused(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Handler(http.server.BaseHTTPRequestHandler):
    cluster = None
    protocol_version = "HTTP/1.1"

    def handle_verb(self, verb):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        try:
            code, value = 200, self.judged(verb, body)
        except Refused as refused:
            code, value = refused.code, {"kind": "Status", "status": "Failure", "message": str(refused), "code": refused.code}
        text = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def judged(self, verb, body):
        account = self.headers.get("Authorization", "").removeprefix("Bearer ").removeprefix("token-of-")
        # A case lets the pods' requests hang while this file exists.
        while account != "admin" and os.path.exists(f"{self.cluster.work}/hangs"):
            time.sleep(0.1)
        # Or refuses them, because it has too many.
        if account != "admin" and os.path.exists(f"{self.cluster.work}/busy"):
            raise Refused(429, "too many requests")
        if self.path == "/apply" and account == "admin":
            return self.cluster.apply(body)
        if self.path == "/kubectl" and account == "admin":
            return commands.answer(self.cluster, json.loads(body))
        if self.path.startswith("/api/v1/nodes/"):
            return self.node(self.path.removeprefix("/api/v1/nodes/"), account, verb)
        if found := EVENTS.fullmatch(self.path):
            return self.event(verb, found[1], account, json.loads(body))
        found = NAMED.fullmatch(self.path.split("?")[0])
        if not found:
            raise Refused(404, f"no such path: {self.path}")
        group, namespace, resource, name, sub = found.groups()
        full = f"{resource}/{sub}" if sub else resource
        allowed = namespace == self.cluster.namespace and self.cluster.may(account, verb, group or "", full, name)
        if account != "admin" and not allowed:
            who = f"system:serviceaccount:{self.cluster.namespace}:{account}"
            what = f'cannot {verb} resource "{full}" in API group "{group or ""}" in the namespace "{namespace}"'
            raise Refused(403, f'{resource} "{name}" is forbidden: User "{who}" {what}')
        with self.cluster.lock:
            return self.act(verb, resource, name, sub, json.loads(body) if body else {})

    def node(self, name, account, verb):
        if account != "admin" and not self.cluster.may_cluster(account, verb, "nodes"):
            raise Refused(403, f'nodes "{name}" is forbidden: cannot {verb} resource "nodes" at the cluster scope')
        # An annotation of a real node may contain another object as text.
        notes = {"note": json.dumps({"labels": {"topology.kubernetes.io/rack": "wrong"}})}
        labels = {"kubernetes.io/hostname": name, **self.cluster.node_labels(name)}
        return {"kind": "Node", "metadata": {"annotations": notes, "labels": labels, "name": name}, "spec": {}}

    def event(self, verb, namespace, account, event):
        """Stores an event in WORK/posted.log, like an API server with the kind v1 Event."""
        if verb != "post" or not self.cluster.may(account, "create", "", "events", None):
            raise Refused(403, f'events is forbidden: cannot create resource "events" in the namespace "{namespace}"')
        if self.headers.get("Content-Type") != "application/json":
            raise Refused(415, "the body of the request was in an unknown format")
        about = event["involvedObject"]
        found = self.cluster.find(about["kind"], about["name"])
        if about["namespace"] != namespace or not found or found["metadata"]["uid"] != about["uid"]:
            raise Refused(422, "involvedObject does not exist")
        if not event["metadata"]["generateName"].endswith("."):
            raise Refused(422, "generateName")
        for time_of in ("firstTimestamp", "lastTimestamp"):
            time.strptime(event[time_of], "%Y-%m-%dT%H:%M:%SZ")
        if len(event["message"]) > 1024 or event["type"] not in ("Normal", "Warning"):
            raise Refused(422, "message or type")
        with open(f"{self.cluster.work}/posted.log", "a", encoding="utf-8") as file:
            file.write(f"{event['type']} {event['reason']}: {event['message']}\n")
        return event

    def act(self, verb, resource, name, sub, body):
        if resource == "pods" and verb == "delete":
            return self.delete_pods(name, body)
        if resource == "endpoints":
            return self.endpoints(name)
        kind = KINDS.get(resource)
        obj = self.cluster.find(kind, name)
        if not obj:
            raise Refused(404, f'{resource} "{name}" not found')
        owner = self.cluster.owners.get((kind, name))
        if sub == "scale":
            if verb == "patch":
                owner.scale(body["spec"]["replicas"])
            return {
                "kind": "Scale",
                "apiVersion": "autoscaling/v1",
                "metadata": {"name": name, "namespace": self.cluster.namespace},
                "spec": {"replicas": owner.replicas},
                "status": {"replicas": len(owner.pods)},
            }
        if verb == "delete":
            return self.cluster.delete(kind, name)
        if verb == "patch" and kind == "Job":
            annotations = body.get("metadata", {}).get("annotations", {})
            obj["metadata"].setdefault("annotations", {}).update(annotations)
            if "khorovod.dev/status" in annotations:
                with open(f"{self.cluster.work}/status.log", "a", encoding="utf-8") as file:
                    file.write(annotations["khorovod.dev/status"] + "\n")
            owner.patch(body.get("spec", {}))
            return obj
        if verb == "patch":
            self.cluster.put({**obj, "data": {**obj["data"], **body["data"]}})
            return self.cluster.find(kind, name)
        if kind == "Job":
            return {**obj, "status": owner.status()}
        if kind == "StatefulSet":
            return {**obj, "status": {"replicas": len(owner.pods), "readyReplicas": sum(pod.ready for pod in owner.pods.values())}}
        return obj

    def endpoints(self, name):
        service = self.cluster.find("Service", name)
        if not service:
            raise Refused(404, f'endpoints "{name}" not found')
        pods = self.cluster.behind(service)
        addresses = [{"ip": pod.address, "hostname": pod.hostname} for pod in pods if pod.spec.get("subdomain") == name]
        return {"kind": "Endpoints", "metadata": {"name": name}, "subsets": [{"addresses": addresses}] if addresses else []}

    def delete_pods(self, name, body):
        """Returns a pod by its name in logs and cases."""
        pods = [pod for pod in self.cluster.pods() if name in (pod.name, pod.short)]
        if not pods:
            raise Refused(404, f'pods "{name}" not found')
        for pod in pods:
            pod.disrupted = body.get("disrupted", False)
            if hasattr(pod.owner, "evicted"):
                pod.owner.evicted(pod)
            pod.delete(body.get("gracePeriodSeconds"))
        return {}

    def do_GET(self):
        self.handle_verb("get")

    def do_PATCH(self):
        self.handle_verb("patch")

    def do_POST(self):
        self.handle_verb("post")

    def do_DELETE(self):
        self.handle_verb("delete")

    def log_message(self, *words):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


def serve(cluster):
    Handler.cluster = cluster
    server = Server((cluster.address, 6443), Handler)
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trust.load_cert_chain(f"{cluster.work}/ca.crt", f"{cluster.work}/key.pem")
    server.socket = trust.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.serve_forever()
