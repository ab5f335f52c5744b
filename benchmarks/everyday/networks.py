"""Training steps of networks, their layers and optimizers, and Keras's ``fit``."""

from __future__ import annotations

import itertools

import numpy as np

from benchmarks.everyday.case import (
    Custom,
    Gradient,
    Training,
    Values,
    as_is,
    dense_weights,
    workload,
)
from benchmarks.everyday.modules import F, jax, jnp, lax, nt, torch


def initialized(model, weights):
    """Returns a Keras model with the given trainable weights."""
    for variable, w in zip(model.trainable_variables, weights, strict=True):
        variable.assign(w)
    return model


def load(parameters, weights):
    """Copies weights in Keras's layout into parameters of PyTorch."""
    with torch.no_grad():
        for parameter, w in zip(parameters, weights, strict=True):
            axes = {2: (1, 0), 4: (3, 2, 0, 1)}.get(w.ndim, range(w.ndim))
            parameter.copy_(torch.from_numpy(w.transpose(*axes).copy()))


def keras_mlp(*sizes):
    """A dense network with relu."""
    layers = [nt.keras.layers.Dense(n, activation="relu") for n in sizes[1:-1]]
    return nt.keras.Sequential(
        [nt.keras.Input((sizes[0],)), *layers, nt.keras.layers.Dense(sizes[-1])]
    )


def torch_mlp(weights):
    """The same network in PyTorch."""
    layers = []
    for kernel in weights[::2]:
        layers += [torch.nn.Linear(*kernel.shape), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers[:-1])
    load(model.parameters(), weights)
    return model


def jax_mlp(weights, x):
    """The same network in JAX."""
    for kernel, bias in zip(weights[:-2:2], weights[1:-2:2], strict=True):
        x = jax.nn.relu(x @ kernel + bias)
    return x @ weights[-2] + weights[-1]


def jax_cross_entropy(logits, y):
    """The mean cross-entropy with class numbers."""
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1))


class Classifier(Training):
    """A Keras model and a module of PyTorch with the same weights, and cross-entropy."""

    def numtape(self, weights):
        model = initialized(self.numtape_model(), weights)
        loss = nt.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        return lambda x, y: loss(y, model(x, training=True)), model.trainable_variables

    def torch(self, weights):
        model = self.torch_model(weights)
        parameters = [p for p in model.parameters() if p.requires_grad]
        return lambda x, y: F.cross_entropy(model(x), y), parameters

    def jax(self, weights, x, y):
        return jax_cross_entropy(self.jax_model(weights, x), y)


@workload(
    tiny=(4, 5, 6, 6, 3),
    mlp_64_b32=(32, 32, 64, 64, 10),
    mlp_256_b128=(128, 784, 256, 256, 10),
    mlp_1024_b128=(128, 784, 1024, 1024, 10),
)
class Mlp(Classifier):
    """A dense network with Adam."""

    def inputs(self, rng, batch, *sizes):
        self.sizes = sizes
        x = rng.normal(size=(batch, sizes[0])).astype(np.float32)
        return list(dense_weights(2, *sizes)), [x, rng.integers(sizes[-1], size=batch)]

    def numtape_model(self):
        return keras_mlp(*self.sizes)

    def torch_model(self, weights):
        return torch_mlp(weights)

    def jax_model(self, weights, x):
        return jax_mlp(weights, x)


def jax_convolution(x, w, b=0.0):
    """A convolution with the same size."""
    layout = "NHWC", "HWIO", "NHWC"
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=layout) + b


def jax_max_pool(x):
    """The maximum of 2 x 2 blocks."""
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


class Images(Classifier):
    """A classifier of images, which PyTorch stores with the channels first."""

    def torch_data(self, x, y):
        return x.transpose(0, 3, 1, 2).copy(), y

    def kernels(self, rng, *channels):
        pairs = itertools.pairwise(channels)
        return [
            (rng.normal(size=(3, 3, i, o)) / (9 * i) ** 0.5).astype(np.float32) for i, o in pairs
        ]


@workload(tiny=(2, 8, 2, 3), cnn28_b32=(32, 28, 16, 32))
class Cnn28(Images):
    """Two convolutions with pools on grey images."""

    def inputs(self, rng, batch, size, first, second):
        self.channels = first, second
        self.size = size
        a, b = self.kernels(rng, 1, first, second)
        dense = dense_weights(3, (size // 4) ** 2 * second, 10)
        weights = [a, np.zeros(first, np.float32), b, np.zeros(second, np.float32), *dense]
        x = rng.random((batch, size, size, 1), np.float32)
        return weights, [x, rng.integers(10, size=batch)]

    def numtape_model(self):
        layers = nt.keras.layers
        first, second = self.channels
        return nt.keras.Sequential(
            [
                nt.keras.Input((self.size, self.size, 1)),
                layers.Conv2D(first, 3, padding="same", activation="relu"),
                layers.MaxPooling2D(),
                layers.Conv2D(second, 3, padding="same", activation="relu"),
                layers.MaxPooling2D(),
                layers.Flatten(),
                layers.Dense(10),
            ]
        )

    def torch_model(self, weights):
        nn = torch.nn
        first, second = self.channels
        model = nn.Sequential(
            nn.Conv2d(1, first, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(first, second, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(len(weights[4]), 10),
        )
        size = self.size // 4
        kernel = weights[4].reshape(size, size, second, 10).transpose(2, 0, 1, 3)
        load(model.parameters(), [*weights[:4], kernel.reshape(-1, 10), weights[5]])
        return model

    def jax_model(self, weights, x):
        a, b, c, d, kernel, bias = weights
        x = jax_max_pool(jax.nn.relu(jax_convolution(x, a, b)))
        x = jax_max_pool(jax.nn.relu(jax_convolution(x, c, d)))
        return x.reshape(x.shape[0], -1) @ kernel + bias


@workload(tiny=(3, 8, 2, 3), cnn32_bn_b32=(32, 32, 16, 32))
class CnnBatchNorm(Images):
    """Convolutions with batch normalization on colour images."""

    def inputs(self, rng, batch, size, *channels):
        self.channels = channels
        self.size = size
        weights = []
        for kernel in self.kernels(rng, 3, *channels):
            n = kernel.shape[-1]
            weights += [kernel, np.ones(n, np.float32), np.zeros(n, np.float32)]
        weights += dense_weights(3, channels[-1], 10)
        x = rng.random((batch, size, size, 3), np.float32)
        return weights, [x, rng.integers(10, size=batch)]

    def numtape_model(self):
        layers = nt.keras.layers
        blocks = [
            layer
            for n in self.channels
            for layer in (
                layers.Conv2D(n, 3, padding="same", use_bias=False),
                layers.BatchNormalization(),
                layers.ReLU(),
                layers.MaxPooling2D(),
            )
        ]
        ends = [layers.GlobalAveragePooling2D(), layers.Dense(10)]
        return nt.keras.Sequential([nt.keras.Input((self.size, self.size, 3)), *blocks, *ends])

    def torch_model(self, weights):
        nn = torch.nn
        blocks, before = [], 3
        for n in self.channels:
            blocks += [
                nn.Conv2d(before, n, 3, padding=1, bias=False),
                nn.BatchNorm2d(n, eps=1e-3),
                nn.ReLU(),
                nn.MaxPool2d(2),
            ]
            before = n
        ends = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, 10)]
        model = nn.Sequential(*blocks, *ends)
        load(model.parameters(), weights)
        return model

    def jax_model(self, weights, x):
        *blocks, kernel, bias = weights
        for w, gamma, beta in zip(blocks[::3], blocks[1::3], blocks[2::3], strict=True):
            x = jax_convolution(x, w)
            mean, variance = jnp.mean(x, (0, 1, 2)), jnp.var(x, (0, 1, 2))
            x = (x - mean) * lax.rsqrt(variance + 1e-3) * gamma + beta
            x = jax_max_pool(jax.nn.relu(x))
        return jnp.mean(x, (1, 2)) @ kernel + bias


class Recurrent(Classifier):
    """A recurrent layer and a dense one on the last state."""

    gates = 0

    def inputs(self, rng, batch, steps, features, units):
        self.shape = steps, features, units
        kernel, _, recurrent, *_ = dense_weights(4, features, units, units)
        kernels = [np.tile(w, self.gates) for w in (kernel, recurrent)]
        for w in kernels:
            w += (rng.normal(size=w.shape) / 10).astype(np.float32)
        x = rng.normal(size=(batch, steps, features)).astype(np.float32)
        weights = [*kernels, self.bias(units), *dense_weights(5, units, 10)]
        return weights, [x, rng.integers(10, size=batch)]

    def numtape_model(self):
        steps, features, units = self.shape
        layers = nt.keras.layers
        layer = {"LSTM": layers.LSTM, "GRU": layers.GRU}[self.layer](units)
        return nt.keras.Sequential([nt.keras.Input((steps, features)), layer, layers.Dense(10)])

    def torch_model(self, weights):
        _, features, units = self.shape
        kind = {"LSTM": torch.nn.LSTM, "GRU": torch.nn.GRU}[self.layer]

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.recurrent = kind(features, units, batch_first=True)
                self.dense = torch.nn.Linear(units, 10)

            def forward(self, x):
                return self.dense(self.recurrent(x)[0][:, -1])

        model = Model()
        load(model.parameters(), self.in_torch(weights))
        if self.layer == "LSTM":
            model.recurrent.bias_hh_l0.requires_grad_(False)  # Keras has one bias
        return model


@workload(tiny=(2, 3, 2, 4), lstm50_b32=(32, 50, 32, 64))
class Lstm(Recurrent):
    """50 steps of an LSTM."""

    layer, gates = "LSTM", 4

    def bias(self, units):
        return np.repeat(np.float32([0, 1, 0, 0]), units)

    def in_torch(self, weights):
        kernel, recurrent, bias, *dense = weights
        return [kernel, recurrent, bias, 0 * bias, *dense]

    def jax_model(self, weights, x):
        kernel, recurrent, bias, dense, end = weights

        def body(state, x):
            h, c = state
            i, f, g, o = jnp.split(x @ kernel + h @ recurrent + bias, 4, 1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

        zeros = jnp.zeros((x.shape[0], recurrent.shape[0]), x.dtype)
        (h, _), _ = lax.scan(body, (zeros, zeros), x.transpose(1, 0, 2))
        return h @ dense + end


@workload(tiny=(2, 3, 2, 4), gru50_b32=(32, 50, 32, 64))
class Gru(Recurrent):
    """50 steps of a GRU."""

    layer, gates = "GRU", 3

    def bias(self, units):
        return np.zeros((2, 3 * units), np.float32)

    def in_torch(self, weights):
        def swapped(w):  # the first two gates
            z, r, h = np.split(w, 3, -1)
            return np.concatenate([r, z, h], -1)

        kernel, recurrent, bias, *dense = weights
        return [*map(swapped, (kernel, recurrent, bias[0], bias[1])), *dense]

    def jax_model(self, weights, x):
        kernel, recurrent, bias, dense, end = weights

        def body(h, x):
            a, b, c = jnp.split(x @ kernel + bias[0], 3, 1)
            d, e, f = jnp.split(h @ recurrent + bias[1], 3, 1)
            z, r = jax.nn.sigmoid(a + d), jax.nn.sigmoid(b + e)
            return z * h + (1 - z) * jnp.tanh(c + r * f), None

        zeros = jnp.zeros((x.shape[0], recurrent.shape[0]), x.dtype)
        return lax.scan(body, zeros, x.transpose(1, 0, 2))[0] @ dense + end


@workload(tiny=(2, 3, 4, 2), attention_64=(16, 64, 64, 4), attention_256=(8, 128, 256, 8))
class Attention(Gradient):
    """Self-attention with several heads and causal masks."""

    wrt = 2

    def inputs(self, rng, batch, length, depth, heads):
        self.heads = heads
        w = rng.normal(size=(depth, 3 * depth)) / depth**0.5
        out = rng.normal(size=(depth, depth)) / depth**0.5
        x = rng.normal(size=(batch, length, depth))
        return [a.astype(np.float32) for a in (w, out, x)]

    def numtape(self, w, out, x):
        batch, length, depth = x.shape
        shape = batch, length, 3, self.heads, depth // self.heads
        q, k, v = nt.unstack(nt.transpose(nt.reshape(x @ w, shape), (2, 0, 3, 1, 4)))
        scores = nt.matmul(q, k, transpose_b=True) / shape[-1] ** 0.5
        mask = nt.linalg.band_part(nt.ones((length, length), nt.bool), -1, 0)
        weights = nt.nn.softmax(nt.where(mask, scores, -1e9))
        y = nt.reshape(nt.transpose(weights @ v, (0, 2, 1, 3)), x.shape)
        return nt.reduce_mean((y @ out) ** 2)

    def torch(self, w, out, x):
        batch, length, depth = x.shape
        shape = batch, length, 3, self.heads, depth // self.heads
        q, k, v = (x @ w).reshape(shape).permute(2, 0, 3, 1, 4).unbind()
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return ((y.transpose(1, 2).reshape(x.shape) @ out) ** 2).mean()

    def jax(self, w, out, x):
        batch, length, depth = x.shape
        shape = batch, length, 3, self.heads, depth // self.heads
        q, k, v = (x @ w).reshape(shape).transpose(2, 0, 3, 1, 4)
        scores = q @ k.swapaxes(2, 3) / shape[-1] ** 0.5
        mask = jnp.tril(jnp.ones((length, length), bool))
        y = jax.nn.softmax(jnp.where(mask, scores, -1e9)) @ v
        return jnp.mean((y.swapaxes(1, 2).reshape(x.shape) @ out) ** 2)


@workload(tiny=(3, 4, 20, 5), embedding_softmax_5k=(64, 16, 5000, 64))
class EmbeddingSoftmax(Classifier):
    """The mean of embeddings, and a softmax over the whole vocabulary."""

    optimizer, rate = "sgd", 0.1

    def inputs(self, rng, batch, length, words, depth):
        self.shape = length, words, depth
        table = rng.normal(size=(words, depth)).astype(np.float32)
        weights = [table, *dense_weights(6, depth, words)]
        return weights, [rng.integers(words, size=(batch, length)), rng.integers(words, size=batch)]

    def numtape_model(self):
        length, words, depth = self.shape
        layers = nt.keras.layers
        return nt.keras.Sequential(
            [
                nt.keras.Input((length,), dtype="int64"),
                layers.Embedding(words, depth),
                layers.GlobalAveragePooling1D(),
                layers.Dense(words),
            ]
        )

    def torch_model(self, weights):
        _, words, depth = self.shape
        model = torch.nn.Sequential(
            torch.nn.EmbeddingBag(words, depth, mode="mean"), torch.nn.Linear(depth, words)
        )
        load(model.parameters(), [weights[0].T, *weights[1:]])
        return model

    def jax_model(self, weights, x):
        table, kernel, bias = weights
        return jnp.mean(table[x], 1) @ kernel + bias


class Norm(Gradient):
    """A normalization with scale and shift, and its gradients."""

    wrt = 3
    axis = 0

    def inputs(self, rng, rows, columns):
        x, y = (rng.normal(size=(rows, columns)).astype(np.float32) for _ in range(2))
        return [x, np.ones(columns, np.float32), np.zeros(columns, np.float32), y]

    def numtape(self, x, scale, shift, y):
        mean, variance = nt.nn.moments(x, [self.axis], keepdims=True)
        z = nt.nn.batch_normalization(x, mean, variance, shift, scale, 1e-5)
        return nt.reduce_mean((z - y) ** 2 * y)

    def jax(self, x, scale, shift, y):
        mean, variance = jnp.mean(x, self.axis, keepdims=True), jnp.var(x, self.axis, keepdims=True)
        z = (x - mean) * lax.rsqrt(variance + 1e-5) * scale + shift
        return jnp.mean((z - y) ** 2 * y)


@workload(tiny=(4, 3), layer_norm_2000x512=(2000, 512))
class LayerNorm(Norm):
    """Over the features."""

    axis = 1

    def torch(self, x, scale, shift, y):
        return ((F.layer_norm(x, scale.shape, scale, shift) - y) ** 2 * y).mean()


@workload(tiny=(4, 3), batch_norm_2000x512=(2000, 512))
class BatchNorm(Norm):
    """Over the examples."""

    def torch(self, x, scale, shift, y):
        z = F.batch_norm(x, None, None, scale, shift, training=True)
        return ((z - y) ** 2 * y).mean()


@workload(tiny=(20_000,), dropout_1m=(1_000_000,))
class Dropout(Custom):
    """Dropout and its gradient. The random masks differ, so that only means are compared."""

    tolerance = 0.05

    def inputs(self, rng, n):
        return [rng.normal(size=n).astype(np.float32)]

    def compared(self, result):
        value, gradient = (np.asarray(a) for a in result)
        return [np.array([float(value), np.mean(gradient == 0), np.std(gradient) * gradient.size])]

    def numtape(self, decorate, x):
        nt.random.set_seed(1)
        x = nt.constant(x)

        @decorate
        def value_and_gradient(x):
            with nt.GradientTape() as tape:
                tape.watch(x)
                value = nt.reduce_mean(nt.nn.dropout(x, 0.5) ** 2)
            return value, tape.gradient(value, x)

        def step():
            result = value_and_gradient(x)
            float(result[0])
            return result

        return step

    def torch(self, x):
        torch.manual_seed(1)
        x = torch.tensor(x, requires_grad=True)

        def step():
            value = (F.dropout(x, 0.5) ** 2).mean()
            return value.detach(), torch.autograd.grad(value, x)[0]

        return step

    def jax(self, x):
        x, key = jnp.asarray(x), jax.random.key(1)

        def loss_of(x, key):
            kept = jax.random.bernoulli(key, 0.5, x.shape)
            return jnp.mean(jnp.where(kept, x / 0.5, 0) ** 2)

        @jax.jit
        def value_and_gradient(x, key):
            key, one = jax.random.split(key)
            return jax.value_and_grad(loss_of)(x, one), key

        def step():
            nonlocal key
            result, key = jax.block_until_ready(value_and_gradient(x, key))
            return result

        return step


@workload(
    tiny=(3, 4),
    adam_10_variables=(10, 64),
    adam_200_variables=(200, 64),
    adam_1000_variables=(1000, 64),
)
class Adam(Training):
    """Many small variables, each with its own term of the loss."""

    rate = 0.1

    def inputs(self, rng, count, size):
        weights = [rng.normal(size=size).astype(np.float32) for _ in range(count)]
        return weights, [rng.normal(size=size).astype(np.float32)]

    def numtape(self, weights):
        variables = [nt.Variable(w) for w in weights]
        return lambda y: nt.add_n([nt.reduce_mean((w - y) ** 2) for w in variables]), variables

    def torch(self, weights):
        parameters = [torch.nn.Parameter(torch.tensor(w)) for w in weights]
        return lambda y: sum(((w - y) ** 2).mean() for w in parameters), parameters

    def jax(self, weights, y):
        return sum(jnp.mean((w - y) ** 2) for w in weights)


class Epoch(Custom):
    """An epoch over arrays, in batches of 32 and without shuffling."""

    def inputs(self, rng, n, *sizes):
        self.sizes = sizes
        x = rng.normal(size=(n, sizes[0])).astype(np.float32)
        return [*dense_weights(2, *sizes), x, rng.integers(sizes[-1], size=n)]

    def keras_model(self, decorate, weights):
        model = initialized(keras_mlp(*self.sizes), weights)
        model.compile(
            optimizer=nt.keras.optimizers.Adam(1e-3),
            loss=nt.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            run_eagerly=decorate is as_is,
        )
        return model


@workload(tiny=(70, 4, 5, 3), fit_64_batches=(2048, 32, 64, 64, 10))
class Fit(Epoch):
    """An epoch of training."""

    checked_steps = 3
    tolerance = 1e-2

    def numtape(self, decorate, *arrays):
        *weights, x, y = arrays
        model = self.keras_model(decorate, weights)

        def step():
            history = model.fit(x, y, batch_size=32, shuffle=False, verbose=0)
            return history.history["loss"][0]

        return step

    def torch(self, *arrays):
        *weights, x, y = arrays
        model = torch_mlp(weights)
        optimizer = torch.optim.Adam(model.parameters(), 1e-3, eps=1e-7)
        x, y = torch.from_numpy(x), torch.from_numpy(y)

        def step():
            total = 0.0
            for k in range(0, len(x), 32):
                batch, target = x[k : k + 32], y[k : k + 32]
                loss = F.cross_entropy(model(batch), target)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.item() * len(batch)
            return total / len(x)

        return step


@workload(tiny=(70, 4, 5, 3), evaluate_64_batches=(2048, 32, 64, 64, 10))
class Evaluate(Epoch):
    """The mean loss of an epoch."""

    def numtape(self, decorate, *arrays):
        *weights, x, y = arrays
        model = self.keras_model(decorate, weights)
        return lambda: model.evaluate(x, y, batch_size=32, verbose=0)

    def torch(self, *arrays):
        *weights, x, y = arrays
        model = torch_mlp(weights)
        x, y = torch.from_numpy(x), torch.from_numpy(y)

        def step():
            total = 0.0
            with torch.no_grad():
                for k in range(0, len(x), 32):
                    batch = x[k : k + 32]
                    total += F.cross_entropy(model(batch), y[k : k + 32]).item() * len(batch)
            return total / len(x)

        return step

    def jax(self, *arrays):
        *weights, x, y = arrays
        weights = [jnp.asarray(w) for w in weights]
        loss_of = jax.jit(lambda w, x, y: jax_cross_entropy(jax_mlp(w, x), y))

        def step():
            total = 0.0
            for k in range(0, len(x), 32):
                batch = x[k : k + 32]
                total += float(loss_of(weights, batch, y[k : k + 32])) * len(batch)
            return total / len(x)

        return step


@workload(tiny=(70, 4, 5, 3), predict_64_batches=(2048, 32, 64, 64, 10))
class Predict(Epoch):
    """The outputs of an epoch."""

    def numtape(self, decorate, *arrays):
        *weights, x, _ = arrays
        model = self.keras_model(decorate, weights)
        return lambda: model.predict(x, batch_size=32, verbose=0)

    def torch(self, *arrays):
        *weights, x, _ = arrays
        model, x = torch_mlp(weights), torch.from_numpy(x)

        def step():
            with torch.no_grad():
                return torch.cat([model(x[k : k + 32]) for k in range(0, len(x), 32)])

        return step

    def jax(self, *arrays):
        *weights, x, _ = arrays
        weights = [jnp.asarray(w) for w in weights]
        model = jax.jit(jax_mlp)

        def step():
            parts = [model(weights, x[k : k + 32]) for k in range(0, len(x), 32)]
            return np.concatenate(parts)

        return step


@workload(tiny=(4, 5, 3), predict_one_mlp=(32, 64, 64, 10))
class PredictOne(Values):
    """The output for one example."""

    def inputs(self, rng, *sizes):
        self.weights = dense_weights(2, *sizes)
        self.sizes = sizes
        return [rng.normal(size=(1, sizes[0])).astype(np.float32)]

    def numtape_step(self, decorate):
        self.model = initialized(keras_mlp(*self.sizes), self.weights)
        return super().numtape_step(decorate)

    def numtape(self, x):
        return self.model(x)

    def torch_step(self):
        self.model = torch_mlp(self.weights)
        return super().torch_step()

    def torch(self, x):
        with torch.no_grad():
            return self.model(x)

    def jax(self, x):
        return jax_mlp([jnp.asarray(w) for w in self.weights], x)
