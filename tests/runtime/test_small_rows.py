"""Rows of few elements, executed one after the other: the same values as in NumPy."""

import numpy as np
import pytest
from random_op_programs import program_of

from numtape.core.compile.tables import CALLS
from numtape.core.plan import plan as plans
from numtape.core.values import intern_table


class Both:
    """A random program on small vectors, in both numtape and NumPy."""

    def __init__(self, tf, seed, dtype="float64"):
        self.tf, self.dtype = tf, dtype
        self.random = np.random.default_rng(seed)
        self.inputs = [self.drawn(n) for n in (2, 3, 5, 64)]
        self.choices = self.random.uniform(0, 1, (25, 5)).tolist()
        self.matrices = [self.drawn(3, 5) - 1.0 for _ in self.choices]

    def drawn(self, *shape):
        return self.random.uniform(0.5, 1.5, shape).astype(self.dtype)

    def run(self, inputs, numpy):
        """The inputs, and the results of the steps."""
        tf, values = self.tf, list(inputs)
        stack = np.stack if numpy else tf.stack
        concat = np.concatenate if numpy else tf.concat
        total = np.sum if numpy else tf.reduce_sum
        product = np.matmul if numpy else tf.linalg.matvec
        tanh = np.tanh if numpy else tf.tanh
        for (a, b, c, d, e), matrix in zip(self.choices, self.matrices, strict=True):
            x = values[int(a * len(values))]
            n = x.shape[0] if len(x.shape) else 0
            kind = int(b * 7)
            if kind == 0 and n:
                found = x[int(c * 2 * n) - n]
            elif kind == 1:
                same = [v for v in values if v.shape == x.shape]
                found = stack([x, same[int(c * len(same))], tanh(x)])
                if len(found.shape) > 1:
                    found = found[int(d * 3)]
            elif kind == 2 and n:
                found = x[:: 1 + int(e * 2)]
            elif kind == 3 and n and n <= 5:
                found = concat([x, x * 0.5], 0)
            elif kind == 4:
                found = total(x * x) / (1.0 + n)
            elif kind == 5 and n and n <= 5:
                found = product(matrix[:, :n], x)
            else:
                scalars = [v for v in values if not v.shape]
                other = scalars[int(c * len(scalars))] if scalars else 0.25
                found = tanh(x * other + 0.5)
            values.append(found)
        return values

    def loss(self, inputs, numpy=False):
        add = np.sum if numpy else self.tf.reduce_sum
        found = 0.0
        for value in self.run(inputs, numpy):
            found = found + add(value * value)
        return found


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(tf, seed):
    program = Both(tf, seed)
    variables = [tf.Variable(x) for x in program.inputs]

    def both():
        with tf.GradientTape() as tape:
            loss = program.loss(variables)
        return loss, tape.gradient(loss, variables)

    loss, gradients = both()
    exact = program.loss(program.inputs, numpy=True)
    np.testing.assert_allclose(loss, exact, rtol=1e-12)
    for k, gradient in enumerate(gradients):
        direction = program.drawn(*program.inputs[k].shape) - 1.0
        moved = [
            program.loss(
                [x + h * direction if j == k else x for j, x in enumerate(program.inputs)],
                numpy=True,
            )
            for h in (1e-6, -1e-6)
        ]
        slope = 0.0 if gradient is None else np.sum(gradient.numpy() * direction)
        np.testing.assert_allclose(slope, (moved[0] - moved[1]) / 2e-6, rtol=1e-6, atol=1e-7)
    replayed = tf.function(both)
    for _ in range(3):
        again, others = replayed()
        assert again.numpy() == loss.numpy()
        for x, y in zip(gradients, others, strict=True):
            assert (x is None and y is None) or x.numpy().tobytes() == y.numpy().tobytes()


@pytest.mark.numtape_only(reason="what the plan is made of")
@pytest.mark.cpu_only(reason="a GPU has its own groups")
def test_a_program_of_small_vectors_is_one_group(tf, monkeypatch):
    made = []
    init = plans.Plan.__init__
    monkeypatch.setattr(
        plans.Plan, "__init__", lambda self, *args: (init(self, *args), made.append(self))[0]
    )
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        z = x
        for _ in range(3):
            z = tf.stack([z[0] * z[1], z[0] - z[1]]) * 0.5
    tape.gradient(z, x).numpy()
    kinds = made[-1].arrays["groups"][:, plans.G_KIND].tolist()
    assert kinds == [plans.SMALL]
    assert not made[-1].numpy_groups


@pytest.mark.records
@pytest.mark.numtape_only(reason="what the plan is made of")
@pytest.mark.cpu_only(reason="a GPU has its own groups")
@pytest.mark.parametrize("shape", [(3, 4), (40, 12)])
def test_usual_ops_on_arrays_have_kernels(tf, shape):
    """No step of these falls back to NumPy in Python."""

    def several(x):
        return (
            tf.reduce_all(x > 0),
            tf.reduce_any(x < 0, 0),
            tf.reduce_all(x > 0, 1),
            tf.argmax(x, 1),
            tf.argmin(x, 0),
            tf.cumsum(x, 1),
            tf.transpose(x),
            tf.pad(x, [[1, 2], [0, 3]]),
            tf.concat([x, x[1:]], 0),
            tf.stack([x, x], -1),
            tf.roll(x, [1, -2], [0, 1]),
        )

    function = tf.function(several)
    x = np.random.default_rng(0).normal(size=shape)
    for _ in range(2):
        found = [y.numpy() for y in function(tf.constant(x))]
    expected = (
        (x > 0).all(),
        (x < 0).any(0),
        (x > 0).all(1),
        x.argmax(1),
        x.argmin(0),
        x.cumsum(1),
        x.T,
        np.pad(x, [[1, 2], [0, 3]]),
        np.concatenate([x, x[1:]]),
        np.stack([x, x], -1),
        np.roll(x, [1, -2], [0, 1]),
    )
    for y, value in zip(found, expected, strict=True):
        np.testing.assert_array_equal(y, value)
    assert not program_of(function).plan.numpy_groups


JOINS = [
    ([(70,), (0,), (5,)], 0),
    ([(70_000,), (90_001,), (3,), (100_000,)], 0),  # several units of work
    ([(3, 70_000), (3, 5)], 1),
    ([(5_000, 1)] * 3, 1),
    ([(5_000, 3), (5_000, 17)], 1),
    ([(5_000, 3), (5_000, 0), (5_000, 16)], 1),
    ([(5, 6, 7), (5, 2, 7)], 1),
    ([(9_000_001,), (9_000_001,)], 0),  # runs in stages
]


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64"])
@pytest.mark.parametrize("shapes, axis", JOINS)
def test_arrays_are_joined_in_parts(tf, shapes, axis, dtype):
    rng = np.random.default_rng(0)
    arrays = [rng.integers(0, 100, shape).astype(dtype) for shape in shapes]
    found = tf.concat([tf.constant(x) for x in arrays], axis).numpy()
    np.testing.assert_array_equal(found, np.concatenate(arrays, axis), strict=True)


@pytest.mark.numtape_only(reason="numtape's table")
def test_the_table_of_calls_is_forgotten_with_the_numbers(tf):
    x = tf.constant([1.0, 2.0, 3.0])
    assert tf.stack([x[0], x[2]]).numpy().tolist() == [1.0, 3.0]
    intern_table.free_unused()
    assert not CALLS.first.any()
    assert tf.stack([x[2], x[0]]).numpy().tolist() == [3.0, 1.0]


@pytest.mark.numtape_only(reason="numtape's table")
def test_a_full_table_of_calls_is_no_error(tf, monkeypatch):
    monkeypatch.setattr(CALLS, "MAX_ENTRIES", 0)
    x = tf.constant([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]])
    for k in range(6):
        assert x[0, k : k + 2].numpy().tolist() == [k + 1.0, k + 2.0]


class Between(list):
    """Specs that call a function while they are read, like a finalizer or another thread."""

    def __init__(self, specs, happens):
        super().__init__(specs)
        self.happens = happens

    def __iter__(self):
        self.happens()
        return super().__iter__()


def listed(code):
    """The kernels in the linked list of a code; an AssertionError if it is cyclic."""
    found, place = [], int(CALLS.first[code]) - 1
    while place >= 0:
        found.append(int(CALLS.entries[place, 5]))
        place = int(CALLS.entries[place, 0])
        assert len(found) < 10
    return found


@pytest.mark.numtape_only(reason="numtape's table")
def test_calls_that_are_entered_at_once_have_places_of_their_own(tf):
    code = len(CALLS.first) - 1
    try:
        CALLS.add(code, Between([1], lambda: CALLS.add(code, [2], 20, None, 0, 0)), 10, None, 0, 0)
        assert listed(code) == [10, 20]
        CALLS.add(code, Between([3], CALLS.clear), 30, None, 0, 0)  # dropped, requested again
        assert listed(code) == []
    finally:
        CALLS.clear()


def test_elements_keep_their_meaning(tf):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    assert x[1, 0].numpy() == x[-1][0].numpy() == 3.0
    with pytest.raises(tf.errors.InvalidArgumentError):
        x[2]
    v = tf.Variable([1.0, 2.0])
    for _ in range(2):
        v[1].assign(5.0)
        assert v.numpy().tolist() == [1.0, 5.0]
        with tf.GradientTape() as tape:
            y = v[1] * v[1]
        assert tape.gradient(y, v).numpy().tolist() == [0.0, 10.0]
