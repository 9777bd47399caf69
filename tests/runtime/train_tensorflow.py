"""The program of TensorFlow's cases: fits a line to data that differs per process, with the gradients summed over all processes. If WAIT
is set, it continues until one process finds the file /tmp/end, and prints a line when it gets SIGUSR1. KERAS selects the `fit` of keras or tf_keras instead."""
import json
import os
import pathlib
import signal
import socket

import tensorflow as tf

print("loaded", os.environ["KHOROVOD_RANK"], flush=True)
tasks = json.loads(os.environ["TF_CONFIG"])
rank, world = tasks["task"]["index"], len(tasks["cluster"]["worker"])
tried = pathlib.Path("/tmp/tried")
if os.environ.get("FAILS") == str(rank) and not tried.exists():
    tried.touch()
    print("this rank fails", flush=True)
    raise SystemExit(3)
strategy = tf.distribute.MultiWorkerMirroredStrategy()
assert strategy.num_replicas_in_sync == world
signal.signal(signal.SIGUSR1, lambda *_: print(f"rank {rank} saves", flush=True))
print(f"up {rank}", flush=True)
inputs = tf.reshape(tf.linspace(float(rank), rank + 1.0, 16) / world, (16, 1))
outputs = 3 * inputs + 1

if "KERAS" in os.environ:
    keras = __import__(os.environ["KERAS"])
    with strategy.scope():
        model = keras.Sequential([keras.layers.Dense(1, input_shape=(1,))])
        model.compile(optimizer="sgd", loss="mse")
    model.fit(tf.data.Dataset.from_tensor_slices((inputs, outputs)).batch(16), epochs=2, verbose=0)
    print(f"rank {rank} has called fit", flush=True)
    raise SystemExit(0)

with strategy.scope():
    slope, height = tf.Variable(0.0), tf.Variable(0.0)


@tf.function
def step(ends):
    def replica():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((inputs * slope + height - outputs) ** 2)
        gradients = tf.distribute.get_replica_context().all_reduce("MEAN", tape.gradient(loss, [slope, height]))
        for variable, gradient in zip((slope, height), gradients):
            variable.assign_sub(0.5 * gradient)
        return loss, ends, tf.constant(float(rank))

    loss, ended, number = strategy.run(replica)
    return strategy.reduce("MEAN", loss, None), strategy.reduce("SUM", ended, None), strategy.reduce("SUM", number, None)


steps, ended = 0, False
while steps < 200 or "WAIT" in os.environ and not ended:
    loss, sums, total = step(tf.constant(float(os.path.exists("/tmp/end"))))
    ended = float(sums) > 0
    steps += 1
assert float(loss) < 1e-3, loss
print(f"rank {rank} of {world} on {socket.gethostname()}: sum {int(total)}, line {slope.numpy():.1f} x + {height.numpy():.1f}", flush=True)
