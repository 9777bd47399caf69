"""Runs another program as a rank, and records what happens to the rank in the folder RECORD: record.py PROGRAM

Each start, signal and end is a line in `events`: the time, the launch, the host, the rank, and what happened. A file per process in
`beats` is touched ten times per second: its time of modification shows until when the process existed. SIGTERM ends the rank.
"""
import os
import runpy
import signal
import socket
import sys
import threading
import time

RECORD = os.environ["RECORD"]
HOST = socket.gethostname()
RANK = next((os.environ[name] for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "HOROVOD_RANK", "RANK") if name in os.environ), "0")
# Open MPI's and torchrun's names of a launch. With MPICH and Gloo, all launches have the same name here.
LAUNCH = os.environ.get("PMIX_NAMESPACE") or os.environ.get("TORCHELASTIC_RUN_ID", "-") + os.environ.get("TORCHELASTIC_RESTART_COUNT", "")
SIGNALS = {signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM}


def record(what):
    file = os.open(f"{RECORD}/events", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    os.write(file, f"{time.time():.3f} {LAUNCH} {HOST} {RANK} {what}\n".encode())
    os.close(file)


def beat():
    os.makedirs(f"{RECORD}/beats", exist_ok=True)
    path = f"{RECORD}/beats/{LAUNCH} {HOST} {RANK} {os.getpid()}"
    while True:
        with open(path, "w"):
            pass
        time.sleep(0.1)


def take_signals():
    while True:
        got = signal.sigwait(SIGNALS)
        record(signal.Signals(got).name)
        if got == signal.SIGTERM:
            os._exit(143)


# A thread takes the signals, because the main thread may be in a call of MPI that does not return.
signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
for act in (beat, take_signals):
    threading.Thread(target=act, daemon=True).start()
record("start")
try:
    runpy.run_path(sys.argv[1], run_name="__main__")
except SystemExit as end:
    record(f"end {end.code or 0}")
    raise
