"""Elastic Horovod: goes on until it has worked for a while in a world of three."""
import time

import horovod.torch as hvd
import torch

hvd.init()
state = hvd.elastic.ObjectState(step=0, whole=0)


@hvd.elastic.run
def train(state):
    if hvd.rank() == 0:
        print(f"a world of {hvd.size()}", flush=True)
    while state.whole < 10:
        hvd.allreduce(torch.ones(1))
        state.step += 1
        state.whole += hvd.size() == 3
        time.sleep(0.2)
        state.commit()


train(state)
if hvd.rank() == 0:
    print(f"the work is done after {state.step} steps", flush=True)
    print(f"ranks end at {time.time():.2f}", flush=True)
