"""record.py FOLDER: writes the logs of this folder with tqdm, which it calls as its users do, and with Keras. Needs tqdm, keras, numpy and
scipy.
"""
import contextlib
import os
import sys
import time

from tqdm import tqdm, trange

os.environ["KERAS_BACKEND"] = "numpy"
from keras.callbacks import ProgbarLogger  # noqa: E402

FOLDER = sys.argv[1]
FAST = {"mininterval": 0, "ascii": None, "ncols": 70}


@contextlib.contextmanager
def into(name):
    with open(f"{FOLDER}/{name}.log", "w", encoding="utf-8") as file, contextlib.redirect_stderr(file), contextlib.redirect_stdout(file):
        yield


def work():
    time.sleep(0.01)


# Downloads and preparation, then one loop over all steps.
with into("tqdm"):
    with tqdm(total=40_000_000, unit="B", unit_scale=True, desc="model.safetensors", **FAST) as bar:
        for _ in range(4):
            bar.update(10_000_000)
            work()
    for _ in tqdm(range(2), desc="Loading checkpoint shards", **FAST):
        work()
    for _ in tqdm(range(3), desc="Map", unit="examples", **FAST):
        work()
    for step in (bar := tqdm(range(50), **FAST)):
        bar.set_postfix(loss=1 / (step + 1))
        work()

# Nested loops.
with into("nested"):
    for epoch in trange(3, desc="Epoch", **FAST):
        for step in tqdm(range(20), leave=False, desc="Train", **FAST):
            work()
        for step in tqdm(range(5), leave=False, desc="Validation", **FAST):
            work()

# One bar for each epoch, with and without the number of epochs.
with into("epochs"):
    for epoch in range(1, 4):
        for step in tqdm(range(20), desc=f"Epoch {epoch}/3", **FAST):
            work()

# An iterable without a length.
with into("unknown"):
    for step in tqdm(iter(range(30)), **FAST):
        work()

# TQDMProgressBar of Lightning.
with into("lightning"):
    form = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}, {rate_noinv_fmt}{postfix}]"
    print("GPU available: False, used: False\n  | Name  | Type   | Params\n1 | model | Linear | 7.9 K")
    for step in tqdm(range(2), desc="Sanity Checking DataLoader 0", bar_format=form, leave=False, **FAST):
        work()
    bar = tqdm(total=20, desc="Epoch 0", bar_format=form, leave=True, **FAST)
    for epoch in range(3):
        bar.reset(20)
        bar.set_description(f"Epoch {epoch}")
        for step in range(20):
            bar.update()
            bar.set_postfix_str("v_num=0, train_loss=0.123")
            work()
        for step in tqdm(range(5), desc="Validation DataLoader 0", bar_format=form, leave=False, position=1, **FAST):
            work()
    bar.close()

# The Trainer of Hugging Face: one bar over all steps, the metrics as lines, and a bar for each evaluation.
with into("trainer"):
    with tqdm(total=60, dynamic_ncols=True, mininterval=0) as bar:
        for step in range(1, 61):
            bar.update()
            work()
            if step % 10 == 0:
                bar.write(str({"loss": "0.5", "grad_norm": "1.2", "learning_rate": "4.5e-05", "epoch": f"{step / 20:.2f}"}))
            if step % 20 == 0:
                for _ in tqdm(range(13), leave=False, dynamic_ncols=True, mininterval=0):
                    work()
    print({"train_runtime": 6.2, "train_samples_per_second": 77.1, "epoch": 3.0})

# Keras with a bar and with one line for each epoch. An evaluation follows.
for verbose in 1, 2:
    with into(f"keras{verbose}"):
        bar = ProgbarLogger()
        bar.set_params({"epochs": 3, "steps": 30, "verbose": verbose})
        bar.on_train_begin()
        for epoch in range(3):
            bar.on_epoch_begin(epoch)
            for step in range(30):
                bar.on_train_batch_end(step, {"accuracy": 0.9, "loss": 0.5})
                work()
            bar.on_epoch_end(epoch, {"accuracy": 0.9, "loss": 0.4})
        bar = ProgbarLogger()
        bar.set_params({"epochs": 1, "steps": 5, "verbose": verbose})
        bar.on_test_begin()
        for step in range(5):
            bar.on_test_batch_end(step, {"loss": 0.5})
        bar.on_test_end({"loss": 0.5})
