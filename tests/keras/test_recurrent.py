"""Recurrent layers compared with a NumPy loop: outputs, states, masks, gradients, arguments."""

import json

import numpy as np
import pytest
from checks import same

BATCH, TIME, FEATURES, UNITS = 3, 5, 4, 2
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(BATCH, TIME, FEATURES)).astype(np.float32)
MASK = np.array([[1, 1, 1, 1, 1], [0, 1, 1, 0, 0], [0, 0, 0, 0, 0]], bool)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def simple(x, states, kernel, recurrent, bias):
    h = np.tanh(x @ kernel + bias + states[0] @ recurrent)
    return h, [h]


def lstm(x, states, kernel, recurrent, bias):
    h, c = states
    i, f, new, o = np.split(x @ kernel + bias + h @ recurrent, 4, 1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(new)
    h = sigmoid(o) * np.tanh(c)
    return h, [h, c]


def gru(x, states, kernel, recurrent, bias):
    (h,) = states
    xz, xr, xn = np.split(x @ kernel + bias[0], 3, 1)
    hz, hr, hn = np.split(h @ recurrent + bias[1], 3, 1)
    z, r = sigmoid(xz + hz), sigmoid(xr + hr)
    h = z * h + (1 - z) * np.tanh(xn + r * hn)
    return h, [h]


def gru_before(x, states, kernel, recurrent, bias):
    (h,) = states
    xz, xr, xn = np.split(x @ kernel + bias, 3, 1)
    kz, kr, kn = np.split(recurrent, 3, 1)
    z, r = sigmoid(xz + h @ kz), sigmoid(xr + h @ kr)
    h = z * h + (1 - z) * np.tanh(xn + (r * h) @ kn)
    return h, [h]


# Name of the layer, arguments, one step, number of states.
LAYERS = {
    "SimpleRNN": ("SimpleRNN", {}, simple, 1),
    "LSTM": ("LSTM", {}, lstm, 2),
    "GRU": ("GRU", {}, gru, 1),
    "GRU before": ("GRU", {"reset_after": False}, gru_before, 1),
}


def loop(step, x, states, weights, mask=None, backwards=False, zero=False):
    """All outputs, in the order of the steps, and the final states."""
    times = range(x.shape[1])
    outputs, last = [], None
    for t in reversed(times) if backwards else times:
        output, new = step(x[:, t], states, *weights)
        if mask is None:
            states = new
        else:
            kept = mask[:, t, None]
            last = np.zeros_like(output) if last is None or zero else last
            output = np.where(kept, output, last)
            states = [np.where(kept, a, b) for a, b in zip(new, states, strict=True)]
        last = output
        outputs.append(output)
    return np.stack(outputs, 1), states


def made(tf, kind, **more):
    """A layer and its weights."""
    name, arguments, step, count = LAYERS[kind]
    layer = getattr(tf.keras.layers, name)(UNITS, **arguments, **more)
    layer.build((BATCH, TIME, FEATURES))
    random = np.random.default_rng(1)
    weights = [random.normal(size=tuple(v.shape)).astype(np.float32) for v in layer.weights]
    layer.set_weights(weights)
    return layer, weights, step, count


def starts(count):
    random = np.random.default_rng(2)
    return [random.normal(size=(BATCH, UNITS)).astype(np.float32) for _ in range(count)]


CALLS = {
    "plain": ({}, {}),
    "sequences": ({"return_sequences": True}, {}),
    "backwards": ({"return_sequences": True, "go_backwards": True}, {}),
    "unrolled": ({"return_sequences": True, "unroll": True}, {}),
    "masked": ({"return_sequences": True}, {"mask": MASK}),
    "masked, the last": ({}, {"mask": MASK}),
    "masked, backwards": ({"go_backwards": True, "return_sequences": True}, {"mask": MASK}),
    "masked, zeros": ({"zero_output_for_mask": True, "return_sequences": True}, {"mask": MASK}),
    "masked from a state": ({"return_sequences": True}, {"mask": MASK, "initial_state": True}),
    "from a state": ({}, {"initial_state": True}),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", LAYERS)
def test_outputs_and_states(tf, kind, call):
    arguments, given = CALLS[call]
    layer, weights, step, count = made(tf, kind, return_state=True, **arguments)
    states = starts(count) if "initial_state" in given else [np.zeros((BATCH, UNITS))] * count
    named = {name: tf.constant(x) for name, x in given.items() if name == "mask"}
    if "initial_state" in given:
        named["initial_state"] = [tf.constant(x) for x in states]
    output, *found = layer(tf.constant(X), **named)
    wanted, last = loop(
        step,
        X,
        states,
        weights,
        given.get("mask"),
        arguments.get("go_backwards", False),
        arguments.get("zero_output_for_mask", False),
    )
    wanted = wanted if arguments.get("return_sequences") else wanted[:, -1]
    same(output, wanted, "float32", rtol=2e-6, atol=2e-6)
    for one, other in zip(found, last, strict=True):
        same(one, other, "float32", rtol=2e-6, atol=2e-6)
    shape = layer.compute_output_shape((None, TIME, FEATURES))
    assert tuple(shape[0]) == (None, *output.shape[1:])


@pytest.mark.parametrize("kind", LAYERS)
def test_gradients(tf, kind):
    """Against central differences, in double precision."""
    layer, weights, step, count = made(tf, kind, dtype="float64")
    x, state = tf.Variable(X.astype(np.float64)), tf.Variable(starts(1)[0].astype(np.float64))
    states = [state, *(tf.constant(s.astype(np.float64)) for s in starts(2)[1:count])]
    with tf.GradientTape() as tape:
        output = layer(x, initial_state=states, mask=tf.constant(MASK | (np.arange(TIME) == 1)))
        loss = tf.reduce_sum(output * [1.0, 2.0])
    found = tape.gradient(loss, [x, state, *layer.trainable_variables])
    arrays = [x.numpy(), state.numpy(), *(w.astype(np.float64) for w in weights)]

    def total(values):
        begin = [values[1], *(s.astype(np.float64) for s in starts(2)[1:count])]
        outputs, _ = loop(step, values[0], begin, values[2:], MASK | (np.arange(TIME) == 1))
        return (outputs[:, -1] * [1.0, 2.0]).sum()

    random = np.random.default_rng(3)
    for k, gradient in enumerate(found):
        direction = random.normal(size=arrays[k].shape)
        ends = [
            [a + sign * 1e-5 * direction if j == k else a for j, a in enumerate(arrays)]
            for sign in (1, -1)
        ]
        slope = (total(ends[0]) - total(ends[1])) / 2e-5
        np.testing.assert_allclose((gradient.numpy() * direction).sum(), slope, rtol=1e-6)


@pytest.mark.parametrize("kind", LAYERS)
def test_replayed_calls_give_the_same(tf, kind):
    layer, _, _, _ = made(tf, kind, return_sequences=True)
    same(tf.function(layer)(tf.constant(X)), layer(tf.constant(X)).numpy(), rtol=1e-6)


@pytest.mark.records
@pytest.mark.filterwarnings("error")
def test_masks_of_layers_reach_them_in_replayed_calls(tf):
    words = np.array([[1, 2, 3, 0, 0], [4, 0, 0, 0, 0]], np.int32)
    embedding = tf.keras.layers.Embedding(5, FEATURES, mask_zero=True)
    layer = tf.keras.layers.LSTM(UNITS)
    layer(embedding(tf.constant(words)))
    replayed = tf.function(lambda x: layer(embedding(x)))
    zeros = [np.zeros((2, UNITS))] * 2
    for given in (words, words, words[::-1].copy()):
        found = replayed(tf.constant(given))
        x = embedding.embeddings.numpy()[given]
        weights = [v.numpy() for v in layer.weights]
        same(found, loop(lstm, x, zeros, weights, given != 0)[0][:, -1], rtol=2e-6, atol=2e-6)
    if tf.__name__ == "numtape":
        assert str(replayed.paths()).startswith("1 recorded path")


@pytest.mark.parametrize(
    "batch, steps, features, units", [(9, 7, 5, 3), (2, 3, 40, 4), (1, 2, 3, 8)]
)
@pytest.mark.parametrize("reset_after", [None, True, False])
def test_layers_compute_what_their_cells_compute(tf, batch, steps, features, units, reset_after):
    """The gates are columns of products in one of them, and of the kernel in the other."""
    if reset_after is None:
        layer = tf.keras.layers.LSTM(units, bias_initializer="normal")
    else:
        layer = tf.keras.layers.GRU(units, bias_initializer="normal", reset_after=reset_after)
    x = tf.Variable(np.random.default_rng(0).normal(size=(batch, steps, features)), tf.float32)
    with tf.GradientTape(persistent=True) as tape:
        output = layer(x)
        states = layer.cell.get_initial_state(batch)
        for k in range(steps):
            expected, states = layer.cell(x[:, k], states)
        losses = [tf.reduce_sum(tf.sin(y)) for y in (output, expected)]
    np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-6)
    gradients = [tape.gradient(loss, [x, *layer.trainable_weights]) for loss in losses]
    for a, b in zip(*gradients, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_long_sequences_have_the_same_gradients(tf):
    """Slices are taken by recursive halving, for any number of steps."""
    for time in (1, 2, 3, 7, 33):
        x = np.random.default_rng(time).normal(size=(1, time, 2)).astype(np.float32)
        layer = tf.keras.layers.SimpleRNN(
            1, "linear", kernel_initializer="ones", recurrent_initializer="ones"
        )
        given = tf.Variable(x)
        with tf.GradientTape() as tape:
            total = layer(given)
        same(total, x.sum((1, 2))[:, None], rtol=1e-4)
        same(tape.gradient(total, given), np.ones_like(x))


class Minimal:
    """A custom cell, as in guides."""

    @staticmethod
    def of(tf):
        class MinimalCell(tf.keras.layers.Layer):
            def __init__(self, units, **kwargs):
                super().__init__(**kwargs)
                self.units = units
                self.state_size = units

            def build(self, input_shape):
                self.kernel = self.add_weight(
                    shape=(input_shape[-1], self.units), name="kernel", initializer="uniform"
                )
                self.recurrent_kernel = self.add_weight(
                    shape=(self.units, self.units), name="recurrent_kernel"
                )

            def call(self, inputs, states):
                output = tf.matmul(inputs, self.kernel)
                output = tf.tanh(output + tf.matmul(states[0], self.recurrent_kernel))
                return output, [output]

            def get_config(self):
                return {**super().get_config(), "units": self.units}

        return MinimalCell


@pytest.mark.parametrize("mask", [None, MASK])
def test_cells_of_ones_own(tf, mask):
    layer = tf.keras.layers.RNN(Minimal.of(tf)(UNITS), return_sequences=True)
    found = layer(tf.constant(X), mask=None if mask is None else tf.constant(mask))
    weights = [v.numpy() for v in layer.weights]
    wanted, _ = loop(simple, X, [np.zeros((BATCH, UNITS))], [*weights, 0.0], mask)
    same(found, wanted, rtol=2e-6, atol=2e-6)


def test_a_subclass_of_a_built_in_cell_may_override_call(tf):
    class Doubled(tf.keras.layers.SimpleRNNCell):
        def call(self, sequence, states, training=False):
            output, states = super().call(sequence, states, training)
            return 2.0 * output, states

    layer = tf.keras.layers.RNN([Doubled(UNITS)], return_sequences=True)
    found = layer(tf.constant(X)).numpy()
    plain = tf.keras.layers.RNN([tf.keras.layers.SimpleRNNCell(UNITS)], return_sequences=True)
    plain(tf.constant(X))
    plain.set_weights(layer.get_weights())
    np.testing.assert_allclose(found, 2.0 * plain(tf.constant(X)).numpy(), rtol=1e-6)
    alone = tf.keras.layers.RNN(layer.cell.cells[0], return_sequences=True)
    np.testing.assert_allclose(alone(tf.constant(X)).numpy(), found, rtol=1e-6)


@pytest.mark.parametrize("mask", [None, MASK])
def test_cells_on_top_of_each_other(tf, mask):
    layers = tf.keras.layers
    cells = [layers.LSTMCell(3), Minimal.of(tf)(4), layers.GRUCell(UNITS)]
    layer = layers.RNN(cells, return_sequences=True, return_state=True)
    given = {} if mask is None else {"mask": tf.constant(mask)}
    output, *states = layer(tf.constant(X), **given)
    weights = [[v.numpy() for v in cell.weights] for cell in cells]
    weights[1].append(0.0)
    x = X
    for cell, step, size, wanted in zip(
        cells, (lstm, simple, gru), (3, 4, UNITS), weights, strict=True
    ):
        count = 2 if step is lstm else 1
        x, last = loop(step, x, [np.zeros((BATCH, size))] * count, wanted, mask)
        found = states[cells.index(cell)]
        for one, other in zip(
            found if isinstance(found, list | tuple) else [found], last, strict=True
        ):
            same(one, other, rtol=2e-6, atol=2e-6)
    same(output, x, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("kind", LAYERS)
def test_a_cell_alone_goes_one_step(tf, kind):
    layer, weights, step, count = made(tf, kind)
    states = starts(count)
    output, new = layer.cell(tf.constant(X[:, 0]), [tf.constant(s) for s in states])
    wanted, last = step(X[:, 0], states, *weights)
    same(output, wanted, rtol=2e-6, atol=2e-6)
    for one, other in zip(new, last, strict=True):
        same(one, other, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_states_that_are_kept(tf, kind):
    layer, weights, step, count = made(tf, kind, stateful=True)
    zeros = [np.zeros((BATCH, UNITS))] * count
    both, _ = loop(step, np.concatenate([X, X], 1), zeros, weights)
    for _ in range(2):
        same(layer(tf.constant(X)), both[:, TIME - 1], rtol=2e-6, atol=2e-6)
        same(layer(tf.constant(X)), both[:, -1], rtol=2e-6, atol=2e-6)
        layer.reset_states()
    assert len(layer.weights) == 3
    with pytest.raises(ValueError, match="If an RNN is stateful"):
        layer(tf.constant(X[:2]))


@pytest.mark.parametrize("mode", ["concat", "sum", "ave", "mul", None])
@pytest.mark.parametrize("sequences", [False, True])
def test_forward_and_backward(tf, mode, sequences):
    inner = tf.keras.layers.GRU(UNITS, return_sequences=sequences, return_state=True)
    layer = tf.keras.layers.Bidirectional(inner, merge_mode=mode)
    found = layer(tf.constant(X), mask=tf.constant(MASK))
    outputs, states = (found[:2], found[2:]) if mode is None else ([found[0]], found[1:])
    wanted = []
    for k, one in enumerate((layer.forward_layer, layer.backward_layer)):
        weights = [v.numpy() for v in one.weights]
        found, last = loop(gru, X, [np.zeros((BATCH, UNITS))], weights, MASK, k == 1, sequences)
        wanted.append(found[:, :: -1 if k else 1] if sequences else found[:, -1])
        same(states[k], last[0], rtol=2e-6, atol=2e-6)
    merged = {
        "concat": lambda a, b: [np.concatenate([a, b], -1)],
        "sum": lambda a, b: [a + b],
        "ave": lambda a, b: [(a + b) / 2],
        "mul": lambda a, b: [a * b],
        None: lambda a, b: [a, b],
    }[mode](*wanted)
    for one, other in zip(outputs, merged, strict=True):
        same(one, other, rtol=2e-6, atol=2e-6)
    shapes = layer.compute_output_shape((None, TIME, FEATURES))
    assert tuple(shapes[0]) == (None, *outputs[0].shape[1:])


def test_initial_weights_and_states_of_both_directions(tf):
    given = [tf.keras.layers.SimpleRNN(UNITS) for _ in range(2)]
    for layer in given:
        layer.build((BATCH, TIME, FEATURES))
    weights = [w for layer in given for w in layer.get_weights()]
    layer = tf.keras.layers.Bidirectional(tf.keras.layers.SimpleRNN(UNITS))
    layer.build((BATCH, TIME, FEATURES))
    layer.set_weights(weights)
    states = starts(2)
    found = layer(tf.constant(X), initial_state=[tf.constant(s) for s in states])
    wanted = [
        loop(simple, X, [states[k]], weights[3 * k : 3 * k + 3], backwards=k == 1)[0][:, -1]
        for k in range(2)
    ]
    same(found, np.concatenate(wanted, -1), rtol=2e-6, atol=2e-6)


def test_a_layer_at_each_time(tf):
    inner = tf.keras.layers.Dense(UNITS, "relu")
    layer = tf.keras.layers.TimeDistributed(inner)
    found = layer(tf.constant(X))
    kernel, bias = (v.numpy() for v in inner.weights)
    same(found, np.maximum(X @ kernel + bias, 0), rtol=2e-6, atol=2e-6)
    assert tuple(layer.compute_output_shape((None, TIME, FEATURES))) == (None, TIME, UNITS)


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("name", ["dropout", "recurrent_dropout"])
def test_what_is_dropped(tf, kind, name):
    layer, weights, step, count = made(tf, kind, **{name: 0.5}, seed=3)
    zeros = [np.zeros((BATCH, UNITS))] * count
    wanted = loop(step, X, zeros, weights)[0][:, -1]
    same(layer(tf.constant(X)), wanted, rtol=2e-6, atol=2e-6)
    draws = [layer(tf.constant(X), training=True).numpy() for _ in range(2)]
    assert not np.allclose(draws[0], wanted)
    assert not np.allclose(draws[0], draws[1])


def test_inputs_are_dropped_with_their_rate_and_the_same_at_all_times(tf):
    layer = tf.keras.layers.SimpleRNN(
        400,
        "linear",
        kernel_initializer="identity",
        recurrent_initializer="zeros",
        dropout=0.25,
        return_sequences=True,
    )
    found = layer(tf.ones((5, 3, 400)), training=True).numpy()
    assert set(np.unique(found.round(5))) == {0.0, np.float32(1 / 0.75).round(5)}
    np.testing.assert_array_equal(found[:, 0], found[:, 2])
    assert abs((found == 0).mean() - 0.25) < 0.05


BUILT = {
    "LSTM": lambda k: k.layers.LSTM(
        3,
        activation="relu",
        dropout=0.25,
        kernel_regularizer="l2",
        bias_constraint="non_neg",
        unit_forget_bias=False,
        return_sequences=True,
        name="mine",
    ),
    "GRU": lambda k: k.layers.GRU(3, reset_after=False, seed=4, go_backwards=True, use_bias=False),
    "SimpleRNN": lambda k: k.layers.SimpleRNN(3, recurrent_dropout=0.5, stateful=True),
    "RNN": lambda k: k.layers.RNN(k.layers.LSTMCell(3), zero_output_for_mask=True),
    "Stacked": lambda k: k.layers.RNN([k.layers.LSTMCell(3), k.layers.GRUCell(2)]),
    "Bidirectional": lambda k: k.layers.Bidirectional(k.layers.LSTM(3), merge_mode="sum"),
    "TimeDistributed": lambda k: k.layers.TimeDistributed(k.layers.GRU(2)),
}


@pytest.mark.parametrize("kind", BUILT)
def test_configurations(tf, kind):
    layer = BUILT[kind](tf.keras)
    described = json.dumps(tf.keras.layers.serialize(layer))
    again = tf.keras.layers.deserialize(json.loads(described))
    assert type(again) is type(layer)
    assert again.name == layer.name
    assert json.loads(json.dumps(again.get_config())) == json.loads(described)["config"]
    shape = (2, TIME, 3, FEATURES) if kind == "TimeDistributed" else (2, TIME, FEATURES)
    random = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    found = layer(tf.constant(random))
    again.build(shape)
    again.set_weights(layer.get_weights())
    if not getattr(layer, "stateful", False):
        same(again(tf.constant(random)), found.numpy())


def test_arguments_of_the_cell_are_the_layers(tf):
    layer = tf.keras.layers.LSTM(3, "relu", dropout=0.25, kernel_regularizer="l2")
    assert (layer.units, layer.dropout, layer.use_bias) == (3, 0.25, True)
    assert layer.kernel_regularizer.l2 == pytest.approx(0.01)
    layer.build((1, 2, 3))
    same(layer.cell.bias, [0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(
        layer.losses[0], 0.01 * (layer.cell.kernel.numpy() ** 2).sum(), rtol=1e-5
    )
    with pytest.raises(AttributeError, match="nosuch"):
        _ = layer.nosuch


BAD = {
    "no units": (lambda tf: tf.keras.layers.LSTM(0), "expected a positive integer"),
    "no cell": (lambda tf: tf.keras.layers.RNN(3), "should have a `call` method"),
    "no state_size": (lambda tf: tf.keras.layers.RNN(tf.keras.layers.Dense(2)), "state_size"),
    "an unknown argument": (lambda tf: tf.keras.layers.GRU(2, nosuch=1), "nosuch"),
    "two axes": (lambda tf: tf.keras.layers.GRU(2)(tf.ones((2, 3))), "expected ndim=3"),
    "an unknown mode": (
        lambda tf: tf.keras.layers.Bidirectional(tf.keras.layers.GRU(2), merge_mode="x"),
        "Invalid merge mode",
    ),
    "no layer": (lambda tf: tf.keras.layers.Bidirectional(3), "Please initialize"),
    "one direction": (
        lambda tf: tf.keras.layers.Bidirectional(
            tf.keras.layers.GRU(2), backward_layer=tf.keras.layers.GRU(2)
        ),
        "different `go_backwards`",
    ),
    "no inner layer": (lambda tf: tf.keras.layers.TimeDistributed(3), "Please initialize"),
    "cuDNN": (lambda tf: tf.keras.layers.GRU(2, use_cudnn="x"), "use_cudnn"),
}


@pytest.mark.parametrize("what", BAD)
def test_arguments_that_are_refused(tf, what):
    make, message = BAD[what]
    with pytest.raises(ValueError, match=message):
        make(tf)


@pytest.mark.numtape_only(reason="errors that name what is wrong")
def test_inputs_that_are_refused(tf):
    lstm = tf.keras.layers.LSTM(2)
    with pytest.raises(ValueError, match="at least one time step"):
        lstm(tf.ones((2, 0, 3)))
    with pytest.raises(ValueError, match="has 2 states"):
        lstm(tf.ones((2, 4, 3)), initial_state=[tf.ones((2, 2))])
    with pytest.raises(ValueError, match="got a mask of shape"):
        lstm(tf.ones((2, 4, 3)), mask=tf.ones((2, 3), tf.bool))
