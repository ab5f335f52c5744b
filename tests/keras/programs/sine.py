"""A small LSTM that predicts the continuation of a sine wave."""

import numpy as np
import tensorflow as tf
from tensorflow.keras.layers import LSTM, Dense
from tensorflow.keras.models import Sequential

tf.keras.utils.set_random_seed(4)
wave = np.sin(np.arange(300) * 0.2).astype("float32")
length = 15
x = np.stack([wave[k : k + length] for k in range(len(wave) - length)])[..., None]
y = wave[length:, None]
x_train, y_train, x_test, y_test = x[:220], y[:220], x[220:], y[220:]

model = Sequential()
model.add(LSTM(16, return_sequences=True))
model.add(LSTM(8))
model.add(Dense(1))
model.compile(loss="mean_squared_error", optimizer=tf.keras.optimizers.Adam(0.01))
history = model.fit(x_train, y_train, epochs=8, batch_size=20, verbose=0)
assert history.history["loss"][-1] < 0.02 < history.history["loss"][0]
assert model.evaluate(x_test, y_test, verbose=0) < 0.02

# Predict step by step, each from the previous predictions.
said = list(x_test[0, :, 0])
for _ in range(5):
    window = np.array(said[-length:], "float32").reshape(1, length, 1)
    said.append(float(model.predict(window, verbose=0)[0, 0]))
assert np.abs(np.array(said[length:]) - y_test[:5, 0]).max() < 0.4
