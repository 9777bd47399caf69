#!/usr/bin/env python3
"""Jobs in queues of Kueue, before the rules of Kueue's own webhook: run.py KHOROVOD JUDGE. JUDGE is main.go, built."""
import json
import subprocess
import sys

TORCHRUN = "examples/torchrun-elastic/job.yaml"
PREFIX = "kueue.x-k8s.io/"
# The example, fields to set, and the annotations of Kueue that the Job must have.
CASES = [
    ("examples/kueue/job.yaml", [], {}),
    ("examples/topology/job.yaml", [], {}),
    (TORCHRUN, ["scheduling={localQueue: a}"], {"elastic-job": "true"}),
    (TORCHRUN, ["scheduling={localQueue: a, partialAdmission: true}"], {"job-min-parallelism": "2", "job-completions-equal-parallelism": "true"}),
    (TORCHRUN, ["scheduling={localQueue: a}", "placement.topology={required: rack}"], {}),
    (TORCHRUN, ["scheduling={localQueue: a}", "placement.topology={slices: {size: 2, required: rack}}"], {}),
]
# Changes of a Job that Kueue must refuse, so that it is known to look: annotations, the pods' annotations, and a part of the reason.
REFUSED = [
    ({"job-min-parallelism": "8"}, {}, "should be between 0 and 7"),
    ({"elastic-job": "true"}, {"podset-required-topology": "rack"}, "required topology is not supported with elastic jobs"),
    ({"job-completions-equal-parallelism": "maybe"}, {}, "invalid syntax"),
]


def main():
    khorovod, judge = sys.argv[1:]

    def rendered(path, sets):
        words = [word for one in sets for word in ("--set", one)]
        command = [khorovod, "render", "-q", "--no-keys", path, *words, "-o", "json"]
        items = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["items"]
        return next(item for item in items if item["kind"] == "Job")

    jobs, expected = [], []
    for path, sets, annotations in CASES:
        job = rendered(path, sets)
        found = {key.removeprefix(PREFIX): value for key, value in job["metadata"].get("annotations", {}).items() if key.startswith(PREFIX)}
        assert found == annotations, f"{path} {sets}: {found}"
        jobs.append(job)
        expected.append("ok")
    for annotations, pods, reason in REFUSED:
        job = rendered(TORCHRUN, ["scheduling={localQueue: a}"])
        own = {PREFIX + key: value for key, value in annotations.items()}
        job["metadata"]["annotations"] = own
        job["spec"]["template"]["metadata"]["annotations"].update({PREFIX + key: value for key, value in pods.items()})
        jobs.append(job)
        expected.append(reason)
    text = "\n".join(json.dumps(job) for job in jobs)
    answers = subprocess.run([judge], input=text, check=True, capture_output=True, text=True).stdout.splitlines()
    assert len(answers) == len(expected), answers
    wrong = [(wanted, answer) for wanted, answer in zip(expected, answers) if (answer != "ok" if wanted == "ok" else wanted not in answer)]
    for wanted, answer in wrong:
        print(f"expected {wanted!r}, and Kueue answers {answer!r}")
    print(f"{len(expected) - len(wrong)} passed, {len(wrong)} failed")
    if not wrong:
        subprocess.run(["tests/results.py"], check=True, input="tests/kueue/run.py main", text=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
