"""horovod_sum.py with MXNet, and a training with an all-reduce of gradients."""
import os
import socket
import time

import horovod.mxnet as hvd
import mxnet as mx

hvd.init()
rank, size = hvd.rank(), hvd.size()
assert size == int(os.environ.get("WANTED", size)), f"{size} ranks"
total = int(hvd.allreduce(mx.nd.array([rank]), average=False).asscalar())
assert total == size * (size - 1) // 2, f"sum {total}"

# The loss of each rank pulls towards its own number; together they converge to the mean.
weight = mx.gluon.Parameter("weight", shape=(1,), init=mx.init.Constant(9.0))
weight.initialize()
hvd.broadcast_parameters({"weight": weight}, root_rank=0)
trainer = hvd.DistributedTrainer({"weight": weight}, "sgd", {"learning_rate": 0.1})
for _ in range(60):
    with mx.autograd.record():
        loss = (weight.data() - rank) ** 2
    loss.backward()
    trainer.step(1)
reached = float(weight.data().asscalar())
assert abs(reached - (size - 1) / 2) < 0.01, f"weight {reached}"

way = "MPI" if hvd.mpi_enabled() else "Gloo"
print(f"rank {rank} of {size} on {socket.gethostname()}: sum {total} by {way}", flush=True)
if rank == 0:
    print(f"ranks end at {time.time():.2f}", flush=True)
