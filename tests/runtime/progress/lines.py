#!/usr/bin/env python3
"""The progress that relay.py finds in recorded logs of frameworks, in texts that only look like it, and with patterns and files."""
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).parent
SCRIPT = HERE.parents[2] / "src/compiler/pods/scripts/relay.py"
sys.path.insert(0, str(SCRIPT.parent))
sys.dont_write_bytecode = True
import relay  # noqa: E402


def seen(text, pattern="", ranks=""):
    """Each value of the progress in the lines of a text, without repetitions."""
    progress, values = relay.Progress(pattern, ranks), []
    for line in relay.split(text):
        progress.look(line)
        if progress.value and progress.value != (values or [None])[-1]:
            values.append(progress.value)
    return values


def log(name):
    return (HERE / f"{name}.log").read_bytes().decode()


class Frameworks(unittest.TestCase):
    def steps(self, values, steps, unit="step"):
        """Checks that all values count to `steps`, and never back."""
        self.assertEqual({value[1:] for value in values}, {(steps, unit)})
        numbers = [value[0] for value in values]
        self.assertEqual(numbers, sorted(numbers))
        return numbers

    def test_tqdm(self):
        # Neither the download nor the preparation counts.
        self.assertEqual(self.steps(seen(log("tqdm")), 50), list(range(51)))

    def test_without_length(self):
        self.assertEqual(seen(log("unknown"))[-1], (30, None, "step"))

    def test_nested_bars(self):
        values = seen(log("nested"))
        self.assertEqual(values[0], (0, 3, "epoch"))
        self.assertEqual(self.steps(values[1:], 60)[-1], 60)

    def test_a_bar_for_each_epoch(self):
        self.assertEqual(self.steps(seen(log("epochs")), 60)[-1], 60)

    def test_lightning(self):
        # It prints no number of epochs.
        self.assertEqual(self.steps(seen(log("lightning")), None)[-1], 60)
        bar = "Epoch {}/2  ━━━━━━━━━━━━━━━━╸━━━━━━━━━━━━━━━━━━━━━━━ {}/20 0:00:01 • 0:00:00 35.15it/s v_num: 0.000"
        rich = "\n".join(bar.format(epoch, n) for epoch in range(3) for n in (10, 20))
        self.assertEqual(self.steps(seen(rich), 60), [10, 20, 30, 40, 50, 60])

    def test_trainer(self):
        # The bars of evaluations have another total.
        self.assertEqual(self.steps(seen(log("trainer")), 60)[-1], 60)

    def test_keras(self):
        for name in "keras1", "keras2":
            values = seen(log(name))
            self.assertEqual(values[0], (1, 3, "epoch"))
            self.assertEqual(self.steps([value for value in values if value[2] == "step"], 90)[-1], 90)

    def test_keras_2(self):
        bar = (
            "Epoch {}/3\n\r   1/1875 [..............................] - ETA: 8:21 - loss: 2.3\x08\x08\x08\r 800/1875 [===>..........] - "
            "ETA: 1s - loss: 0.5\r1875/1875 [==============================] - 3s 2ms/step - loss: 0.3\n"
        )
        line = "Epoch {}/3\n1875/1875 - 3s - loss: 0.2946 - accuracy: 0.9143 - 3s/epoch - 2ms/step\n"
        for form in bar, line:
            values = seen("".join(map(form.format, (1, 2, 3))) + "313/313 - 0s - loss: 0.2946 - 300ms/epoch - 1ms/step\n")
            self.assertEqual(self.steps([value for value in values if value[2] == "step"], 5625)[-1], 5625)

    def test_lines(self):
        for line, value in {
            "Epoch [3/10], Step [100/600], Loss: 0.3": (1300, 6000, "step"),
            "Epoch: 3/10 loss 0.2": (3, 10, "epoch"),
            "epoch 3 of 10": (3, 10, "epoch"),
            " iteration      100/  500000 | consumed samples:         6400": (100, 500000, "step"),
            "12:00:01 INFO step 100/1000 loss=3.2": (100, 1000, "step"),
        }.items():
            self.assertEqual(seen(line), [value], line)

    def test_ranks(self):
        text = "[1,0]<stdout>:step 100/1000\n[1,1]<stdout>:step 110/1000\n[3]<stdout>:step 120/1000\n[default2]:step 130/1000\n[rank0]: step 140/1000"
        self.assertEqual(seen(text), [(100, 1000, "step"), (140, 1000, "step")])
        bars = "[1,0]<stderr>:\r  1%|  | 1/90 [00:01<00:09,  9it/s][1,1]<stderr>:\r  5%|  | 5/90 [00:01<00:09,  9it/s]"
        self.assertEqual(seen(bars), [(1, 90, "step")])
        # The prefix of a bar that begins a line.
        self.assertEqual(seen("[1,1]<stderr>:\r  5%|  | 5/90 [00:01<00:09,  9it/s]\n"), [])
        # Open MPI 5 adds a space.
        keras = "[1,{0}]<stdout>: Epoch 2/3\n[1,{0}]<stdout>: 30/60 [====>.....] - ETA: 1s\n"
        self.assertEqual(seen(keras.format(1) + keras.format(0)), [(2, 3, "epoch"), (90, 180, "step")])
        # torchrun, and the ranks of JAX and TensorFlow.
        for prefix in "[default{}]:", "[rank{}]: ":
            text = "{0}Epoch 2/3\n{0}30/60 ━━━━━━━━━━ 1s 5ms/step - loss: 0.5\n"
            text = text.format(prefix.format(1)) + text.format(prefix.format(0))
            self.assertEqual(seen(text), [(2, 3, "epoch"), (90, 180, "step")], prefix)

    def test_ranks_of_hydra(self):
        """The prefix of Intel MPI and MPICH has no colon, as in this output of mpirun -prepend-rank."""
        text = "[1] step 110/1000\n[0] step 100/1000\n[1] \r  5%|  | 5/90 [00:01<00:09,  9it/s]\n[0] \r  1%|  | 1/90 [00:01<00:09,  9it/s]\n"
        self.assertEqual(seen(text, ranks="hydra"), [(100, 1000, "step"), (1, 90, "step")])
        keras = "[0] Epoch 2/3\n[1] 31/60 [====>.....] - ETA: 1s\n[0] 30/60 [====>.....] - ETA: 1s\n"
        self.assertEqual(seen(keras, ranks="hydra"), [(2, 3, "epoch"), (90, 180, "step")])
        # Under another launcher, such a number is a part of the line.
        self.assertEqual(seen("[1] step 110/1000\n"), [(110, 1000, "step")])


class FalsePositives(unittest.TestCase):
    def test_nothing(self):
        text = """2026/11/26 12:00:01 INFO started
Epoch 2026/11/26 is the first day
date: 26/11/2026, epoch: 1764158401
loss 3/4, precision 4/5, 3/4 workers
Step 3/5 : RUN pip install torch
GPU 45% used, 45% | 12
100%
Progress: 45%
1/8 [tag] unknown
120/1000
http://example.org/epoch/3/10.html
epoch 12/10
batch_size: 64/128
Downloading data:  45%|████▌     | 45.0M/100M [00:01<00:01, 30.0MB/s]
model.safetensors:  45%|████▌     | 45.0M/100M [00:01<00:01, 30.0MB/s]
Fetching 9 files:  33%|███▎      | 3/9 [00:01<00:02,  2.9it/s]
Generating train split:  45%|████▌     | 450/1000 [00:01<00:01, 300.0 examples/s]
   450/1000 [00:01<00:01, 300.0 examples/s]
Evaluating:  45%|████▌     | 450/1000 [00:01<00:01, 300.0it/s]
Some value of 12it [abc]
 45%|████▌     | ./.. [00:01<00:01, 9.0it/s]
 45%|████▌     | 4.5.1/10 [00:01<00:01, 9.0it/s]
Collecting tqdm
     ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 45.0/78.5 MB 30.1 MB/s eta 0:00:02
"""
        for line in text.splitlines():
            self.assertEqual(seen(line), [], line)
        self.assertEqual(seen(text), [])
        self.assertEqual(seen("[" * 5000 + "\x1b" * 5000 + "9" * 4000 + "%|" + "|" * 4000), [])

    def test_two_loops(self):
        """A loop that ends early, and the next one: the second counts after half an hour, and at once if the first had ended."""
        bar = "{}:  {}%|██ | {}/100 [00:01<00:01, 9.0it/s]\n"
        first, second = bar.format("A", 45, 45), bar.format("B", 1, 1)
        self.assertEqual(seen(first + second), [(45, 100, "step")])
        progress = relay.Progress()
        progress.look(first)
        progress.bar_at -= relay.FORGOTTEN
        progress.look(second)
        self.assertEqual(progress.value, (1, 100, "step"))
        self.assertEqual(seen(bar.format("A", 100, 100) + second)[-1], (1, 100, "step"))


class Sources(unittest.TestCase):
    def test_patterns(self):
        for pattern, line, value in (
            (r"it=(\d+) of (\d+)", "it=5 of 10", (5, 10, "step")),
            (r"it=(\d+)", "it=5 of 10", (5, None, "step")),
            (r"(?P<steps>\d+) in all, now (?P<step>\d+)", "10 in all, now 5", (5, 10, "step")),
            (r"round (?P<epoch>\d+)(?:/(?P<total>\d+))?", "round 3", (3, None, "epoch")),
            (r"done ([\d,]+)/([\d,]+)", "[1,0]<stdout>:done 1,000/20,000", (1000, 20000, "step")),
        ):
            self.assertEqual(seen(line, pattern), [value], pattern)
        for pattern, line in ((r"it=(\w+)", "it=now"), (r"it=(\d+)/(\d+)", "it=11/10"), (r"no group", "no group")):
            self.assertEqual(seen(line, pattern), [], pattern)

    def test_files(self):
        for text, value in {
            "120": "120 - step",
            "120/1000\n": "120 1000 step",
            "120 1000": "120 1000 step",
            "a log\n110 of 1000\n120 of 1000\n": "120 1000 step",
            '{"step": 120, "steps": 1000, "loss": 0.1}': "120 1000 step",
            '{\n "epoch": 3,\n "total": 10\n}\n': "3 10 epoch",
            '{"step": 110}\n{"step": 120}\n': "120 - step",
            "epoch 3/10: loss 0.1\n": "3 10 epoch",
            "": "",
            "{": "",
            "[1]": "",
            '{"step": null}': "",
            '{"loss": 3}': "",
            "no number": "",
        }.items():
            out = subprocess.run([sys.executable, SCRIPT, "read"], input=text, capture_output=True, text=True)
            self.assertEqual((out.stdout.strip(), out.stderr), (value, ""), text)


class Relay(unittest.TestCase):
    def start(self, script, *pattern):
        """Runs a bash script whose output passes through the relay. Returns both outputs, the progress and the seconds."""
        with tempfile.TemporaryDirectory() as folder:
            command = f"mkfifo {folder}/e; python3 {SCRIPT} relay {folder}/progress \"$@\" < <(exec 2>{folder}/e; {script}) 3<{folder}/e"
            since = time.monotonic()
            out = subprocess.run(["bash", "-c", command, "bash", *pattern], capture_output=True)
            took = time.monotonic() - since
            file = pathlib.Path(folder, "progress")
            return out.stdout, out.stderr, file.read_text() if file.exists() else None, took

    def test_passes_on(self):
        out, errors, progress, _ = self.start("seq 100000; seq 100000 200000 >&2; printf 'step 3/40\\nno end' >&2")
        self.assertEqual(out, b"".join(b"%d\n" % n for n in range(1, 100001)))
        self.assertEqual(errors, b"".join(b"%d\n" % n for n in range(100000, 200001)) + b"step 3/40\nno end")
        self.assertEqual(progress, "3 40 step\n")

    def test_passes_on_at_once(self):
        out, _, progress, took = self.start("printf 'it=1 '; sleep 2.5; cp \"$(ls -d /tmp/tmp*/progress | tail -n 1)\" /dev/stdout", r"it=(\d+)")
        self.assertEqual((out, progress), (b"it=1 1 - step\n", "1 - step\n"))

    def test_is_not_delayed_by_a_slow_pattern(self):
        out, _, _, took = self.start("printf '%40s\\n' | tr ' ' a; head -c 3000000 /dev/zero | tr '\\0' a", r"(a+)+(\d)")
        self.assertEqual(len(out), 3000041)
        self.assertLess(took, 5)

    def test_reports_a_wrong_pattern(self):
        out, errors, progress, _ = self.start("echo 1", "(1")
        self.assertEqual((out, progress), (b"1\n", None))
        self.assertIn(b"observability.progress.pattern is not a regular expression of Python", errors)


if __name__ == "__main__":
    unittest.main()
