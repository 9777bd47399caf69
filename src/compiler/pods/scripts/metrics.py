"""metrics.py PORT JOB RUN [1]: serves the status of the run, which status.sh writes, as metrics for Prometheus.

The last argument means that the job has a source of progress."""
import http.server
import json
import socket
import sys
import time

PORT, JOB, RUN = int(sys.argv[1]), sys.argv[2], sys.argv[3]
HAS_PROGRESS = int(sys.argv[4:] == ["1"])
PHASES = ["waiting", "preparing", "training", "saving", "uploading", "ended"]
# Name, field of the status, type, and help.
METRICS = [
    ("phase_start_timestamp_seconds", "since", "gauge", "When the phase began."),
    ("attempt", "attempt", "gauge", "The number of the attempt over all launchers."),
    ("failures", "failures", "gauge", "The attempts that counted against lifecycle.retries."),
    ("retries", "retries", "gauge", "The value of lifecycle.retries."),
    ("step", "step", "gauge", "The step or epoch of the training."),
    ("steps", "steps", "gauge", "The number of all steps or epochs."),
    ("progress_timestamp_seconds", "progressAt", "gauge", "When the progress changed last."),
    ("held_seconds_total", "held", "counter", "The seconds for which workers were held."),
    ("trained_seconds_total", "trained", "counter", "The seconds for which the training ran."),
]


def metrics(status):
    labels = f'training_job="{JOB}",run="{RUN}"'
    yield "# HELP khorovod_phase What the run is doing."
    yield "# TYPE khorovod_phase gauge"
    for phase in PHASES:
        yield f'khorovod_phase{{{labels},phase="{phase}"}} {int(status.get("phase") == phase)}'
    yield "# HELP khorovod_has_progress Whether the job has a source of progress."
    yield "# TYPE khorovod_has_progress gauge"
    yield f"khorovod_has_progress{{{labels}}} {HAS_PROGRESS}"
    for name, field, kind, text in METRICS:
        if isinstance(status.get(field), int):
            yield f"# HELP khorovod_{name} {text}"
            yield f"# TYPE khorovod_{name} {kind}"
            yield f"khorovod_{name}{{{labels}}} {status[field]}"


def current():
    """The status, with the times counted until now."""
    try:
        with open("/horovod/generated/status.json") as file:
            status = json.load(file)
    except (OSError, ValueError):
        return {}
    if status.get("phase") != "ended" and status.get("held"):
        later = max(0, int(time.time()) - status["at"])
        status["held"] += later
        if status["phase"] == "training":
            status["trained"] += later
    return status


class Handler(http.server.BaseHTTPRequestHandler):
    timeout = 10

    def do_GET(self):
        if self.path.partition("?")[0] != "/metrics":
            return self.send_error(404)
        body = "".join(line + "\n" for line in metrics(current())).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


class Server(http.server.HTTPServer):
    address_family = socket.AF_INET6

    def server_bind(self):
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()


if __name__ == "__main__":
    try:
        server = Server(("::", PORT), Handler)
    except OSError:
        server = http.server.HTTPServer(("", PORT), Handler)
    server.serve_forever()
