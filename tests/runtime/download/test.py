#!/usr/bin/env python3
"""Tests of download.py with one process per pod, each with a loopback address of its own."""
import contextlib
import hashlib
import io
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
SCRIPT = HERE.parents[2] / "src/compiler/pods/scripts/download.py"
# The program with another port, address and key.
START = """
import sys
sys.path.insert(0, {scripts!r})
sys.argv = {words!r}
import download
download.__file__ = {scripts!r} + "/download.py"
download.ADDRESS, download.PORT, download.KEYS, download.TOKENS = {address!r}, {port}, {keys!r}, {tokens!r}
download.PATIENCE, download.POLL, download.TRIES, download.CHUNK, download.PART = 1, 2, 4, 65536, 262144
download.main()
"""


def sizes(ranges):
    return [int(end) - int(start) + 1 for start, end in (each[6:].split("-") for each in ranges)]


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Job:
    """The pods of a job, and the server that they download from."""

    def __init__(self, folder, count, given, **variables):
        self.folder, self.count, self.variables = pathlib.Path(folder), count, variables
        self.port, self.source_port = free_port(), free_port()
        self.given = {"name": "set", "unpacks": False, "hasToken": False, **given}
        if "url" in given:
            self.given["url"] = f"http://127.0.0.1:{self.source_port}/{given['url']}"
        self.pods, self.server = {}, None
        (self.folder / "keys").mkdir()
        (self.folder / "keys/host_key").write_text("key of the run")

    def write(self, name, size, seed=0):
        place = self.folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(random.Random(seed).randbytes(size))
        return place.read_bytes()

    def serve(self, *options):
        words = [sys.executable, HERE / "source.py", self.folder, "127.0.0.1", str(self.source_port), *options]
        self.server = subprocess.Popen(words)
        for _ in range(100):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.source_port)):
                return
            time.sleep(0.05)
        raise AssertionError("no source")

    def start(self, index, keys="keys"):
        place = self.folder / f"pod-{index}"
        (place / "data").mkdir(parents=True, exist_ok=True)
        scripts = place / "scripts"
        scripts.mkdir(exist_ok=True)
        shutil.copy(SCRIPT, scripts)
        (scripts / "download.json").write_text(json.dumps([{**self.given, "path": str(place / "data")}]))
        (place / "result").unlink(missing_ok=True)
        above, at = [], index
        while at:
            at = (at - 1) // 2
            above.append(at)
        below = [at for at in (2 * index + 1, 2 * index + 2) if at < self.count]
        names = [f"127.0.1.{at + 1}" for at in above] + ["-"] + [f"127.0.1.{at + 1}" for at in below]
        words = ["download.py", str(place / "result"), str(index), str(self.count), *names]
        text = START.format(scripts=str(scripts), words=words, address=f"127.0.1.{index + 1}", port=self.port,
                            keys=str(self.folder / keys), tokens=str(self.folder / "tokens"))
        with open(place / "log", "a") as log:
            environment = {**os.environ, "HF_ENDPOINT": f"http://127.0.0.1:{self.source_port}", **self.variables}
            self.pods[index] = subprocess.Popen([sys.executable, "-c", text], stderr=log, env=environment)

    def start_all(self):
        for index in range(self.count):
            self.start(index)

    def result(self, index, seconds=120):
        """The text that a pod wrote at its end."""
        place = self.folder / f"pod-{index}/result"
        until = time.monotonic() + seconds
        while not place.exists():
            if time.monotonic() > until or self.pods[index].poll() not in (None, 0, 1, 2):
                raise AssertionError(f"pod {index} has no result: {self.log(index)}")
            time.sleep(0.05)
        return place.read_text()

    def log(self, index):
        return (self.folder / f"pod-{index}/log").read_text()

    def data(self, index, name):
        return (self.folder / f"pod-{index}/data" / name).read_bytes()

    def requests(self):
        return (self.folder / "requests").read_text().splitlines()

    def received(self, index):
        """How many chunks a pod has noted."""
        place = self.folder / f"pod-{index}/data/.khorovod-download"
        return place.read_text().count("\n") - 1 if place.exists() else -1

    def wait_for_chunks(self, index, count):
        until = time.monotonic() + 30
        while self.received(index) < count:
            assert time.monotonic() < until, self.log(index)
            time.sleep(0.02)

    def kill(self, index):
        self.pods[index].send_signal(signal.SIGKILL)
        self.pods[index].wait()

    def end(self):
        for process in [*self.pods.values(), self.server]:
            if process and process.poll() is None:
                process.kill()
                process.wait()


class Downloads(unittest.TestCase):
    def job(self, count, given, **variables):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        job = Job(folder.name, count, given, **variables)
        self.addCleanup(job.end)
        return job

    def file_job(self, count, size, *options, **given):
        job = self.job(count, {"url": "set.bin", **given})
        self.wanted = job.write("files/set.bin", size)
        if "sha256" not in given:
            job.given["sha256"] = hashlib.sha256(self.wanted).hexdigest()
        job.serve(*options)
        return job

    def assert_all_ok(self, job, name="set.bin"):
        for index in range(job.count):
            self.assertEqual(job.result(index), "ok", job.log(index))
            self.assertEqual(job.data(index, name), self.wanted)

    def test_only_the_first_pod_asks_the_source(self):
        job = self.file_job(7, 3000001)
        job.start_all()
        self.assert_all_ok(job)
        ranges = [line.split()[2] for line in job.requests()]
        self.assertEqual(len(ranges), 1 + 12, ranges)
        self.assertEqual(len(set(ranges)), len(ranges), "a range was requested twice")
        self.assertIn("set: 1 files from 127.0.1.2", job.log(3))
        leftovers = {name for name in os.listdir(job.folder / "pod-3/data")}
        self.assertEqual(leftovers, {"set.bin", ".khorovod-download"})

    def test_a_repository(self):
        revision = "0123456789abcdef0123456789abcdef01234567"
        job = self.job(3, {"huggingFace": "org/model", "revision": revision, "hasToken": True, "files": ["*.json", "deep/*"]})
        small, large = job.write("hub/org/model/config.json", 900), job.write("hub/org/model/deep/a b.safetensors", 700000)
        job.write("hub/org/model/pytorch_model.bin", 200000)
        (job.folder / "hub/org/model/empty.json").write_bytes(b"")
        (job.folder / "tokens/set").mkdir(parents=True)
        (job.folder / "tokens/set/HF_TOKEN").write_text("hf_secret\n")
        job.serve("token=hf_secret")
        job.start_all()
        for index in range(3):
            self.assertEqual(job.result(index), "ok", job.log(index))
            self.assertEqual(job.data(index, "config.json"), small)
            self.assertEqual(job.data(index, "deep/a b.safetensors"), large)
            self.assertEqual(job.data(index, "empty.json"), b"")
            self.assertNotIn("hf_secret", job.log(index))
        self.assertFalse((job.folder / "pod-0/data/pytorch_model.bin").exists())
        lists = [line for line in job.requests() if "/tree/" in line]
        self.assertEqual(len(lists), 2)
        first = [line for line in job.requests() if line.startswith("127") and "safetensors" in line]
        self.assertLessEqual(len(first), 3, "the redirect is used again")

    def test_a_pod_above_is_killed(self):
        job = self.file_job(7, 4000000, "rate=1000000")
        job.start_all()
        job.wait_for_chunks(3, 8)
        job.kill(1)
        for index in 0, 2, 3, 4, 5, 6:
            self.assertEqual(job.result(index), "ok", job.log(index))
            self.assertEqual(job.data(index, "set.bin"), self.wanted)
        self.assertIn("1 files from 127.0.1.1", job.log(3))
        self.assertNotIn("downloading from the source", job.log(3) + job.log(4))
        # Its container starts again, and continues with what it had.
        had = job.received(1)
        self.assertGreater(had, 4)
        job.start(1)
        self.assertEqual(job.result(1), "ok", job.log(1))
        self.assertEqual(job.data(1, "set.bin"), self.wanted)
        self.assertEqual(job.received(1), 62 + 1, "each chunk was received once")

    def test_the_first_pod_is_killed(self):
        job = self.file_job(3, 4000000, "rate=1000000")
        job.start_all()
        job.wait_for_chunks(1, 20)
        job.kill(0)
        before = len(job.requests())
        job.start(0)
        self.assert_all_ok(job)
        again = sizes(line.split()[2] for line in job.requests()[before:])
        self.assertLess(sum(again), 3500000, "the first pod continues")

    def test_a_new_first_pod_asks_the_others(self):
        job = self.file_job(3, 1000000)
        job.start_all()
        self.assert_all_ok(job)
        job.kill(0)
        shutil.rmtree(job.folder / "pod-0/data")
        before = len(job.requests())
        job.start(0)
        self.assert_all_ok(job)
        self.assertEqual(len(job.requests()), before)

    def test_without_the_first_pod(self):
        job = self.file_job(5, 1000000)
        for index in range(1, 5):
            job.start(index)
        for index in range(1, 5):
            self.assertEqual(job.result(index), "ok", job.log(index))
        self.assertIn("downloading from the source", job.log(1) + job.log(2))
        self.assertNotIn("downloading from the source", job.log(3) + job.log(4))

    def test_nothing_is_downloaded_after_a_restart(self):
        job = self.file_job(1, 1000000)
        job.start(0)
        self.assertEqual(job.result(0), "ok")
        job.pods[0].wait()
        job.server.kill()
        job.start(0)
        self.assertEqual(job.result(0), "ok", job.log(0))

    def test_a_wrong_digest(self):
        job = self.file_job(3, 1000000, "wrong=set.bin")
        job.start_all()
        for index in range(3):
            self.assertRegex(job.result(index), r"/set.bin: the data does not match its sha256 digest [0-9a-f]{64}; correct `sha256`")
            self.assertEqual(job.pods[index].wait(), 2)
            self.assertEqual(os.listdir(job.folder / f"pod-{index}/data"), [".khorovod-download"])
        # After a restart it is downloaded again.
        job.server.kill()
        job.server.wait()
        job.serve()
        job.start_all()
        self.assert_all_ok(job)

    def test_a_wrong_digest_of_git(self):
        job = self.job(1, {"huggingFace": "org/model", "revision": "0" * 40})
        job.write("hub/org/model/config.json", 900)
        job.serve("wrong=config.json")
        job.start(0)
        self.assertIn("/config.json: the data does not match its Git digest", job.result(0))

    def test_refusals(self):
        for given, text in [
            ({"url": "other.bin"}, "/other.bin: HTTP 404; check `url`"),
            ({"huggingFace": "org/other", "revision": "0" * 40}, "HTTP 404; check `huggingFace` and `revision`"),
        ]:
            job = self.job(1, given)
            job.serve()
            job.start(0)
            self.assertIn(text, job.result(0))
            self.assertEqual(job.pods[0].wait(), 2)
            job.end()
        job = self.file_job(1, 1000, "token=t")
        job.start(0)
        self.assertIn("HTTP 401; set `secretName`, a Secret with a token", job.result(0))
        job.end()
        job = self.file_job(1, 1000, "token=t", hasToken=True)
        job.start(0)
        self.assertEqual(job.result(0), "the Secret of `secretName` has no key TOKEN")
        job.end()
        (job.folder / "tokens/set").mkdir(parents=True)
        (job.folder / "tokens/set/TOKEN").write_text("wrong")
        job.serve("token=t")
        job.start(0)
        self.assertIn("HTTP 401; check that the token in the Secret's key TOKEN may read it", job.result(0))

    def test_the_source_is_away(self):
        job = self.job(1, {"url": "set.bin?signature=secret"})
        job.start(0)
        self.assertRegex(job.result(0), "http://127.0.0.1:[0-9]+/set.bin: .*refused; check that the pods can reach the server")
        self.assertEqual(job.pods[0].wait(), 1)

    def test_broken_connections(self):
        job = self.file_job(2, 1000000, "cut=140000")
        job.start_all()
        self.assert_all_ok(job)

    def test_a_server_without_ranges(self):
        job = self.file_job(2, 1000001, "no-ranges")
        job.start_all()
        self.assert_all_ok(job)

    def test_a_file_that_changes(self):
        job = self.file_job(1, 2000000, "etag=one", "rate=300000", sha256=None)
        job.start(0)
        job.wait_for_chunks(0, 4)
        job.kill(0)
        job.server.kill()
        job.server.wait()
        self.wanted = job.write("files/set.bin", 2000000, 7)
        job.serve("etag=two")
        job.start(0)
        self.assert_all_ok(job)

    def test_a_stranger_gets_nothing(self):
        job = self.file_job(2, 1000000)
        (job.folder / "other").mkdir()
        (job.folder / "other/host_key").write_text("key of another run")
        job.start(0)
        self.assertEqual(job.result(0), "ok")
        for path in "/0/files", "/0/chunk/0":
            with self.assertRaises(urllib.error.HTTPError) as found:
                urllib.request.urlopen(f"http://127.0.1.1:{job.port}{path}", timeout=5)
            self.assertEqual(found.exception.code, 403)
            found.exception.close()
        # A pod with another key gets the data from the source.
        job.start(1, "other")
        self.assertEqual(job.result(1), "ok")
        self.assertIn("127.0.1.1 does not have the key of this run", job.log(1))
        self.assertIn("downloading from the source", job.log(1))

    def archive(self, job, **more):
        place = job.folder / "files/set.tar.gz"
        place.parent.mkdir(exist_ok=True)
        with tarfile.open(place, "w:gz") as archive:
            for name, data in {"train/a": b"first", "train/deep/b": b"second" * 100000, **more}.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
        return place.read_bytes()

    def test_an_archive(self):
        job = self.job(4, {"url": "set.tar.gz", "unpacks": True})
        job.given["sha256"] = hashlib.sha256(self.archive(job)).hexdigest()
        job.serve()
        job.start_all()
        for index in range(4):
            self.assertEqual(job.result(index), "ok", job.log(index))
            self.assertEqual(job.data(index, "train/deep/b"), b"second" * 100000)
        until = time.monotonic() + 10
        while any((job.folder / f"pod-{index}/data/.khorovod-archive").exists() for index in range(4)):
            self.assertLess(time.monotonic(), until, "the archives stay")
            time.sleep(0.1)
        # A new pod finds the archive in no other pod, and a restarted container needs none.
        job.kill(3)
        shutil.rmtree(job.folder / "pod-3/data")
        job.start(3)
        self.assertEqual(job.result(3), "ok", job.log(3))
        self.assertIn("the archive was removed", job.log(3))
        job.kill(1)
        before = len(job.requests())
        job.start(1)
        self.assertEqual(job.result(1), "ok", job.log(1))
        self.assertEqual(len(job.requests()), before)

    def test_an_archive_that_leads_outside(self):
        job = self.job(1, {"url": "set.tar.gz", "unpacks": True})
        self.archive(job, **{"../../outside": b"x"})
        job.serve()
        job.start(0)
        self.assertIn("cannot be unpacked", job.result(0))
        self.assertFalse((job.folder / "outside").exists())
        self.assertFalse((job.folder / "pod-0/outside").exists())

    def test_not_an_archive(self):
        job = self.file_job(1, 1000, unpacks=True)
        job.start(0)
        self.assertRegex(job.result(0), "/set.bin cannot be unpacked: .*; remove `unpacks: true`")

    def test_names_that_lead_outside(self):
        job = self.job(1, {"huggingFace": "org/model", "revision": "0" * 40})
        job.write("hub/org/model/config.json", 9)
        job.serve("rename=../../outside")
        job.start(0)
        self.assertIn("the file '../../outside' leads to a path outside", job.result(0))

    def test_a_full_disk(self):
        if os.geteuid():
            self.skipTest("needs root to mount a small file system")
        job = self.file_job(1, 3000000)
        place = job.folder / "pod-0/data"
        place.mkdir(parents=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], check=True)
        self.addCleanup(subprocess.run, ["umount", place], check=True)
        job.start(0)
        self.assertRegex(job.result(0), "cannot write to .*/pod-0/data, which has [0-9]+ bytes free: No space left on device; raise `sizeLimit`")
        job.end()


class Result(unittest.TextTestResult):
    """Also records the tests that passed."""

    def addSuccess(self, test):
        super().addSuccess(test)
        name = test.id().rsplit(".", 1)[-1]
        subprocess.run([HERE.parents[1] / "results.py"], check=True, input=f"tests/runtime/download/test.py {name}", text=True)


if __name__ == "__main__":
    unittest.main(testRunner=unittest.TextTestRunner(resultclass=Result))
