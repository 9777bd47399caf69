#!/usr/bin/env python3
"""api.py WORK POD: the two paths of an API server that a launcher calls. A scale starts and ends pods."""
import http.server
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import time

WORK, POD = sys.argv[1:3]
STARTED = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
pods = {}


def scale(name, replicas):
    with open(f"{WORK}/scale", "a") as file:
        print(replicas, file=file)
    for index in range(replicas):
        if index not in pods:
            log = open(f"{WORK}/worker-{index}.log", "w")
            command = [POD, f"{name}-{index}", f"10.88.0.1{index}", "worker.sh"]
            pods[index] = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    for index in [index for index in pods if index >= replicas]:
        os.killpg(pods.pop(index).pid, signal.SIGKILL)


class Api(http.server.BaseHTTPRequestHandler):
    def answer(self, code, value):
        text = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        if "/jobs/" in self.path:
            failed = int(os.environ.get("FAILED", "0"))
            return self.answer(200, {"status": {"startTime": STARTED, "failed": failed}})
        return self.answer(200, {"spec": {"replicas": len(pods)}})

    def do_PATCH(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = re.fullmatch("/apis/apps/v1/namespaces/team-a/statefulsets/(.*)/scale", self.path)
        if os.environ.get("DENY"):
            return self.answer(403, {"message": "statefulsets.apps is forbidden"})
        if self.headers["Authorization"] != "Bearer secret-token" or not name:
            return self.answer(403, {"message": "no"})
        scale(name[1], body["spec"]["replicas"])
        return self.answer(200, {"spec": body["spec"]})


server = http.server.ThreadingHTTPServer(("10.88.0.1", 6443), Api)
trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
trust.load_cert_chain(f"{WORK}/account/ca.crt", f"{WORK}/key.pem")
server.socket = trust.wrap_socket(server.socket, server_side=True)
signal.signal(signal.SIGTERM, lambda *_: (scale("", 0), os._exit(0)))
server.serve_forever()
