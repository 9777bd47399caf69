"""horovod_sum.py with TensorFlow, and a training with an all-reduce of gradients."""
import os
import socket
import time

import horovod.tensorflow as hvd
import tensorflow as tf

hvd.init()
rank, size = hvd.rank(), hvd.size()
assert size == int(os.environ.get("WANTED", size)), f"{size} ranks"
total = int(hvd.allreduce(tf.constant([rank]), op=hvd.Sum)[0])
assert total == size * (size - 1) // 2, f"sum {total}"

# The loss of each rank pulls towards its own number; together they converge to the mean.
weight, optimizer = tf.Variable([9.0]), tf.keras.optimizers.legacy.SGD(0.1)
hvd.broadcast_variables([weight], root_rank=0)
for _ in range(60):
    with hvd.DistributedGradientTape(tf.GradientTape()) as tape:
        loss = (weight - rank) ** 2
    optimizer.apply_gradients(zip(tape.gradient(loss, [weight]), [weight]))
reached = float(weight[0])
assert abs(reached - (size - 1) / 2) < 0.01, f"weight {reached}"

way = "MPI" if hvd.mpi_enabled() else "Gloo"
print(f"rank {rank} of {size} on {socket.gethostname()}: sum {total} by {way}", flush=True)
if rank == 0:
    print(f"ranks end at {time.time():.2f}", flush=True)
