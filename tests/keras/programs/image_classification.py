"""Image classification from files: augmentation and a small network of separable convolutions."""

import os
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

# Files of two classes: bright disks at random places, and bright stripes.
keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)
folder = tempfile.mkdtemp()
rows, columns = np.mgrid[:20, :20]
for name in ("disk", "stripes"):
    os.mkdir(os.path.join(folder, name))
    for k in range(16):
        image = rng.uniform(0, 60, (20, 20, 3))
        if name == "disk":
            y, x = rng.integers(6, 14, 2)
            image[(rows - y) ** 2 + (columns - x) ** 2 < 25] += 180
        else:
            image[(columns + k) % 4 < 2] += 180
        path = os.path.join(folder, name, f"{k:02d}.png")
        keras.utils.save_img(path, image, scale=False)

image_size, batch_size = (16, 16), 8
train_ds, val_ds = keras.utils.image_dataset_from_directory(
    folder,
    validation_split=0.25,
    subset="both",
    seed=1337,
    image_size=image_size,
    batch_size=batch_size,
)
assert train_ds.class_names == ["disk", "stripes"]

data_augmentation_layers = [layers.RandomFlip("horizontal"), layers.RandomRotation(0.05)]


def data_augmentation(images):
    for layer in data_augmentation_layers:
        images = layer(images)
    return images


for images, labels in train_ds.take(1):
    assert images.shape == (8, 16, 16, 3) and labels.shape == (8,)
    assert data_augmentation(images).shape == (8, 16, 16, 3)

train_ds = train_ds.map(lambda img, label: (data_augmentation(img), label))
train_ds, val_ds = train_ds.prefetch(tf.data.AUTOTUNE), val_ds.prefetch(tf.data.AUTOTUNE)


def make_model(input_shape):
    inputs = keras.Input(shape=input_shape)
    x = layers.Rescaling(1.0 / 255)(inputs)
    x = layers.Conv2D(8, 3, strides=2, padding="same")(x)
    x = layers.BatchNormalization()(x)
    x = layers.Activation("relu")(x)
    previous_block_activation = x
    for size in [12]:
        x = layers.Activation("relu")(x)
        x = layers.SeparableConv2D(size, 3, padding="same")(x)
        x = layers.BatchNormalization()(x)
        x = layers.MaxPooling2D(3, strides=2, padding="same")(x)
        residual = layers.Conv2D(size, 1, strides=2, padding="same")(previous_block_activation)
        x = layers.add([x, residual])
        previous_block_activation = x
    x = layers.SeparableConv2D(16, 3, padding="same")(x)
    x = layers.BatchNormalization()(x)
    x = layers.Activation("relu")(x)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dropout(0.1)(x)
    return keras.Model(inputs, layers.Dense(1, activation=None)(x))


model = make_model((*image_size, 3))
model.compile(
    optimizer=keras.optimizers.Adam(0.02),
    loss=keras.losses.BinaryCrossentropy(from_logits=True),
    metrics=[keras.metrics.BinaryAccuracy(name="acc", threshold=0.0)],
)
history = model.fit(train_ds, epochs=4, validation_data=val_ds, verbose=0)
assert history.history["loss"][-1] < 0.5 * history.history["loss"][0]
assert history.history["acc"][-1] > 0.85

# Inference on a new image: augmentation is not a part of the model.
img = keras.utils.load_img(os.path.join(folder, "stripes", "00.png"), target_size=image_size)
img_array = keras.utils.img_to_array(img)[None]
score = float(keras.ops.sigmoid(model.predict(img_array, verbose=0)[0][0]))
assert 0.0 <= score <= 1.0
