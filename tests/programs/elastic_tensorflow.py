"""elastic.py with TensorFlow and Keras: the model also has a counter, so that a worker that returns needs the model's state."""
import os
import socket
import time

import horovod.tensorflow as hvd
import tensorflow as tf

hvd.init()
host = socket.gethostname().rsplit("-", 2)[-2:]
model = tf.keras.Sequential([tf.keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")])
model.build((None, 1))
weight = model.trainable_variables[0]


@hvd.elastic.run
def train(state):
    print(f"from step {state.step}: rank {hvd.rank()} of {hvd.size()} on {'-'.join(host)}", flush=True)
    while state.step < int(os.environ["STEPS"]):
        total = hvd.allreduce(tf.ones((1, 1)), op=hvd.Sum)
        assert int(total) == hvd.size(), f"sum {total}"
        weight.assign_add(total / hvd.size())
        time.sleep(0.2)
        state.step += 1
        state.commit()


# TensorFlowState of Horovod 0.28.1 hangs when a worker returns, see docs/elastic.md.
state = hvd.elastic.TensorFlowKerasState(model, tf.keras.optimizers.legacy.SGD(0.1), step=0)
train(state)
assert float(weight) == state.step, f"weight {float(weight)} after step {state.step}"
if hvd.rank() == 0:
    print(f"counted to {state.step} with {hvd.size()} at the end", flush=True)
    print(f"ranks end at {time.time():.2f}", flush=True)
