"""Outages of DNS, of the API server and of S3: training does not need them, and a launcher waits until they are back."""
import os
import signal
import time

import outages
from case import IMAGE, PROGRAMS, job, merge, play
from examples import request, stored
from ranks import Ranks

S3 = {"endpoint": f"http://{os.environ['HOME_URL']}:9000", "bucket": "outages", "region": "eu-central-1", "secretName": "s3-writer"}


def training_goes_on(case, outage, seconds, within=60, freed=30):
    """Checks that an outage ends no attempt."""
    ranks = Ranks(case)
    case.apply(case.render(job(spec=ranks.spec())))
    ranks.until_running(1, 120)
    time.sleep(3)
    with outage():
        time.sleep(seconds)
    # The launcher may judge a worker after the outage.
    time.sleep(15)
    ranks.end()
    case.equal("the end", case.finished(within), "Complete")
    case.equal("launches", len(ranks.launches()), 1)
    case.check("the ranks' sum", "sum of 2 ranks: 1" in case.log())
    case.until("freed devices", case.freed, freed)


@play(alone=True, long=True)
def dns_servfail_while_training(case):
    training_goes_on(case, outages.dns_servfail, 30)


@play(alone=True, long=True)
def dns_refused_while_training(case):
    training_goes_on(case, outages.dns_refused, 30)


@play(alone=True, long=True)
def dns_silent_while_training(case):
    training_goes_on(case, outages.dns_silent, 180)


@play(alone=True, long=True)
def dns_servfail_while_elastic(case):
    """Horovod asks every second for the hosts; an outage of DNS does not change them."""
    with open(os.path.join(PROGRAMS, "elastic.py")) as file:
        program = file.read()
    case.apply(case.render(job(spec={
        "launcher": {"kind": "horovodrun"}, "lifecycle": {"retries": 3}, "workers": {"elastic": {"minReplicas": 2, "maxReplicas": 2}}, "env": {"STEPS": "300"},
        "code": {"files": {"elastic.py": program}}, "command": ["python3", "/programs/elastic.py"]})))
    case.wait_for_line("rank 0 of 2 on", 180)
    with outages.dns_servfail():
        time.sleep(30)
    case.equal("the end", case.finished(240), "Complete")
    case.check("the workers at the end", "counted to 300 with 2 at the end" in case.log())
    case.equal("starts of rank 0", case.log().count("rank 0 of 2 on"), 1)
    case.until("freed devices", case.freed, 30)


@play(alone=True, long=True)
def api_server_away_while_training(case):
    """After three minutes all nodes are NotReady for a moment, and controllers and kubelets wait before they retry: up to 30 s
    each."""
    training_goes_on(case, outages.api_away, 180, within=120, freed=120)


@play(alone=True, long=True)
def dns_and_api_server_away_while_training(case):
    """Both at once, as when a whole control plane is replaced."""
    training_goes_on(case, outages.dns_and_api_away, 180, within=120, freed=120)


@play(alone=True, long=True)
def api_server_away_at_start(case):
    """The API server is away for 90 s when the launcher starts, which needs it to scale up the workers."""
    ranks = Ranks(case)
    # The kubelet starts the launcher's container without the API server, which is away by the time that this one ends.
    earlier = {"name": "earlier", "image": IMAGE, "command": ["sleep", "10"], "securityContext": {
        "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}
    patch = {"patches": [{"target": {"kind": "Job"}, "patch": {"spec": {"template": {"spec": {"initContainers": [earlier]}}}}}]}
    case.apply(case.render(job(spec=ranks.spec(patch))))
    case.until("first container", lambda: case.launcher() and any(
        "running" in c["state"] for c in case.launcher()["status"].get("initContainerStatuses", [])), 60)
    first = case.launcher()["metadata"]["uid"]
    with outages.api_away():
        time.sleep(90)
    case.until("ranks after the outage", lambda: ranks.launches() and len(ranks.launches()[0]) == 2, 120)
    case.equal("the launcher that waited", case.launcher()["metadata"]["uid"], first)
    ranks.end()
    case.equal("the end", case.finished(90), "Complete")
    case.until("freed devices", case.freed, 30)


@play(alone=True, long=True)
def finished_run_is_not_trained_again(case):
    """The training exits with 0 while DNS is down."""
    ranks = Ranks(case)
    case.apply(case.render(job(spec=ranks.spec())))
    ranks.until_running(1, 120)
    with outages.dns_servfail():
        ranks.end()
        case.until("end of the ranks", lambda: len(ranks.events("end 0")) == 2, 20)
        time.sleep(20)
    case.equal("the end", case.finished(90), "Complete")
    case.equal("launches", len(ranks.launches()), 1)
    case.until("freed devices", case.freed, 15)


def results(case, ranks):
    """The fields of a job whose first rank writes a file that khorovod uploads to S3."""
    request("PUT", S3["bucket"], check=False)
    key = f"{S3['bucket']}/{case.namespace}/weights"
    request("DELETE", key, check=False)
    case.kubectl("create", "secret", "generic", S3["secretName"], "--from-literal=AWS_ACCESS_KEY_ID=s3-user",
                 "--from-literal=AWS_SECRET_ACCESS_KEY=s3-secret")
    spec = ranks.spec()
    upload = {"name": "results", "mountPath": "/results", "s3": S3 | {"prefix": f"{case.namespace}/", "direction": "out"}}
    return key, merge(spec, {
        "command": "echo trained >/results/weights; exec python3 /programs/record.py /programs/sum.py",
        "storage": spec["storage"] + [upload], "workers": {"ephemeralStorage": "1Gi"}})


@play(alone=True, long=True)
def s3_away_at_the_end(case):
    """S3 is away for 40 s when the results are uploaded."""
    ranks = Ranks(case)
    key, spec = results(case, ranks)
    case.apply(case.render(job(spec=spec)))
    ranks.until_running(1, 120)
    with outages.s3_away():
        ranks.end()
        case.until("end of the ranks", lambda: len(ranks.events("end 0")) == 2, 20)
        time.sleep(40)
    case.equal("the end", case.finished(120), "Complete")
    case.equal("launches", len(ranks.launches()), 1)
    case.equal("the results", stored(key), "trained\n")
    case.until("freed devices", case.freed, 15)


@play(long=True)
def results_are_uploaded_at_the_deadline(case):
    ranks = Ranks(case)
    key, spec = results(case, ranks)
    case.apply(case.render(job(spec=merge(spec, {"lifecycle": {"deadline": "40s"}}))))
    case.equal("the end", case.finished(120), "Failed")
    case.equal("the launcher's code", case.code(case.launcher()), 44)
    case.check("the ranks ran", ranks.launches())
    case.equal("the results", stored(key), "trained\n")
    case.until("freed devices", case.freed, 15)


@play(alone=True, long=True)
def job_deleted_while_uploading(case):
    """S3 accepts the upload and does not answer. The launcher's Job is deleted, so no other launcher follows: this one frees the
    devices before its grace period ends."""
    ranks = Ranks(case)
    _, spec = results(case, ranks)
    case.apply(case.render(job(spec=spec)))
    ranks.until_running(1, 120)
    server = outages.pid("s3.pid")
    os.kill(server, signal.SIGSTOP)
    try:
        ranks.end()
        case.until("end of the ranks", lambda: len(ranks.events("end 0")) == 2, 20)
        time.sleep(5)
        began = time.time()
        case.kubectl("delete", "job", case.jobs()[0]["metadata"]["name"], "--wait=false")
        case.freed_after(began, 60, settle=150)
    finally:
        os.kill(server, signal.SIGCONT)
