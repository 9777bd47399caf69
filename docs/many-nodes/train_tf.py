"""Trains a model on one GPU, or on the CPU if there is none."""

import tensorflow as tf

tf.random.set_seed(0)
inputs = tf.random.normal((4096, 16))
data = tf.data.Dataset.from_tensor_slices((inputs, inputs @ tf.random.normal((16, 1))))
data = data.shuffle(4096).batch(64)

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.build((None, 16))
optimizer = tf.keras.optimizers.SGD(0.01)


@tf.function
def train_step(batch, target):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(batch) - target) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for epoch in range(5):
    for batch, target in data:
        loss = train_step(batch, target)
    print(f"epoch {epoch + 1}/5: loss {float(loss):.6f}", flush=True)
