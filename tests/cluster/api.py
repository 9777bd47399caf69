"""The cluster's API, for tests: requests, and watches that store the objects."""
import http.client
import io
import json
import os
import ssl
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

SERVER = os.environ["SERVER"]


class Cluster:
    """A client of the API server for one user."""

    def __init__(self, token="admin"):
        self.token = token
        self.trust = ssl.create_default_context(cafile=f"{os.environ['STATE']}/pki/apiserver.crt")
        # One connection per thread.
        self.kept = threading.local()

    def open(self, method, path, body=None, kind="application/json", timeout=30):
        request = urllib.request.Request(SERVER + path, method=method, headers={
            "Authorization": f"Bearer {self.token}", "Content-Type": kind})
        data = None if body is None else json.dumps(body).encode()
        return urllib.request.urlopen(request, data, timeout=timeout, context=self.trust)

    def call(self, method, path, body=None, kind="application/json"):
        with self.open(method, path, body, kind) as answer:
            return json.load(answer)

    def read(self, path):
        """Sends a request over a connection that stays open, because tests send many requests per second."""
        if not hasattr(self.kept, "connection"):
            self.kept.connection = http.client.HTTPSConnection(urllib.parse.urlsplit(SERVER).netloc, timeout=30, context=self.trust)
        # The connection may be closed, for example after a restart of the API server.
        for last in (False, True):
            try:
                self.kept.connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
                answer = self.kept.connection.getresponse()
                text = answer.read()
                break
            except (OSError, http.client.HTTPException):
                self.kept.connection.close()
                if last:
                    raise
        if answer.status >= 400:
            raise urllib.error.HTTPError(SERVER + path, answer.status, answer.reason, answer.headers, io.BytesIO(text))
        return text

    def get(self, path):
        """The object at a path, or None."""
        try:
            return json.loads(self.read(path))
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise

    def text(self, path):
        return self.read(path).decode(errors="replace")

    def watch(self, path, **options):
        return Watch(self, path, **options)


class Watch:
    """The current state of every object under a path; calls `seen(time, event, object)` for each change."""

    def __init__(self, cluster, path, seen=None):
        self.cluster, self.path, self.seen = cluster, path, seen
        self.objects, self.lock, self.failure = {}, threading.Lock(), None
        self.version = None
        self.list()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def list(self):
        answer = self.cluster.call("GET", self.path)
        found = {self.key(o): o for o in answer["items"]}
        gone = set(self.objects) - set(found)
        for key in gone:
            self.take("DELETED", self.objects[key])
        for thing in found.values():
            self.take("ADDED", thing)
        self.version = answer["metadata"]["resourceVersion"]

    def key(self, thing):
        return thing["metadata"].get("namespace"), thing["metadata"]["name"]

    def take(self, event, thing):
        now = time.time()
        with self.lock:
            if event == "DELETED":
                self.objects.pop(self.key(thing), None)
            else:
                self.objects[self.key(thing)] = thing
        if self.seen:
            self.seen(now, event, thing)

    def run(self):
        since = time.time()
        while True:
            try:
                join = "&" if "?" in self.path else "?"
                path = f"{self.path}{join}watch=1&allowWatchBookmarks=true&resourceVersion={self.version}"
                with self.cluster.open("GET", path, timeout=600) as lines:
                    since = time.time()
                    for line in lines:
                        since = time.time()
                        change = json.loads(line)
                        if change["type"] == "ERROR":
                            break
                        self.version = change["object"]["metadata"]["resourceVersion"]
                        if change["type"] != "BOOKMARK":
                            self.take(change["type"], change["object"])
                self.list()
            except Exception as error:  # a test may stop the API server for minutes
                if time.time() - since > 600:
                    self.failure = error
                    return
                time.sleep(0.5)
                try:
                    self.list()
                except Exception:
                    pass

    def alive(self):
        return self.failure is None

    def all(self, namespace=None):
        with self.lock:
            return [o for (space, _), o in self.objects.items() if namespace in (None, space)]
