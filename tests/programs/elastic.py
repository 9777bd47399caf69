"""An elastic training: counts to STEPS with the current workers, and prints when their number changes."""
import os
import socket
import time

import horovod.torch as hvd
import torch

hvd.init()
host = socket.gethostname().rsplit("-", 2)[-2:]


@hvd.elastic.run
def train(state):
    print(f"from step {state.step}: rank {hvd.rank()} of {hvd.size()} on {'-'.join(host)}", flush=True)
    while state.step < int(os.environ["STEPS"]):
        total = hvd.allreduce(torch.ones(1), op=hvd.Sum)
        assert int(total) == hvd.size(), f"sum {total}"
        time.sleep(0.2)
        state.step += 1
        state.commit()


state = hvd.elastic.TorchState(step=0)
train(state)
if hvd.rank() == 0:
    print(f"counted to {state.step} with {hvd.size()} at the end", flush=True)
    print(f"ranks end at {time.time():.2f}", flush=True)
