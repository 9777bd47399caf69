"""A rank of any launcher that prints a line at its start and for each SIGUSR1, and does not end by itself."""
import os
import signal
import time

rank = next(os.environ[name] for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "HOROVOD_RANK", "RANK") if name in os.environ)
signal.signal(signal.SIGUSR1, lambda *_: print(f"saved {rank}", flush=True))
print(f"up {rank}", flush=True)
time.sleep(300)
