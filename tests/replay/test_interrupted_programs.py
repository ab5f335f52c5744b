"""Programs that are interrupted at any line: later programs must still be correct.

Each program runs under a tape, in a replayed function, or both. It is interrupted at each line of
numtape at which Python handles signals. Afterwards all programs run in the same log, and their
results are compared with closed forms.
"""

import numpy as np
import pytest
from checks import SEED
from interruption import _interrupted

import numtape as tf

pytestmark = pytest.mark.numtape_only("a promise TensorFlow does not make")

X = np.linspace(0.5, 1.5, 6)  # its sum is 6


class Programs:
    """The programs and their shared objects: a variable, a tensor and functions.

    Each method returns a number, which `EXPECTED` computes from the variable's value.
    """

    def __init__(self):
        self.v = tf.Variable(np.float64(1.25))
        self.count = tf.Variable(np.float64(0.0))
        self.x = tf.constant(X)
        self.summed = tf.function(lambda x: tf.reduce_sum(x * self.v))
        self.product = tf.function(lambda x: x * self.v)
        self.cube = tf.function(lambda: self.v**3)
        self.optimizer = tf.keras.optimizers.SGD(0.0)
        self.optimizer.build([self.v])

        @tf.custom_gradient
        def tripled(x):
            return x * 2.0, lambda g: g * 3.0

        self.custom = tf.function(lambda x: tf.reduce_sum(tripled(x) * self.v))

        @tf.function
        def guarded(x):
            return tf.reduce_sum(x * self.v) if tf.reduce_max(x) > 1.0 else tf.reduce_sum(x)

        @tf.function
        def counted(x):
            self.count.assign_add(1.0)
            return tf.reduce_sum(x) * self.v

        @tf.function
        def trained():
            with tf.GradientTape() as tape:
                loss = self.v * self.v
            gradient = tape.gradient(loss, self.v)
            self.optimizer.apply_gradients([(gradient, self.v)])
            return gradient

        @tf.function
        def drawn(x):
            return tf.reduce_sum(x * self.v * tf.ones_like(tf.random.uniform([6], dtype="float64")))

        self.guarded, self.counted, self.trained, self.drawn = guarded, counted, trained, drawn

    def eager(self):
        return tf.reduce_sum(self.x * self.v)

    def eager_gradient(self):
        with tf.GradientTape() as tape:
            y = self.v * self.v * 3.0 + self.v
        return tape.gradient(y, self.v)

    def replay(self):
        return self.summed(self.x)

    def gradient_of_replay(self):
        with tf.GradientTape() as tape:
            y = self.summed(self.x)
        return tape.gradient(y, self.v)

    def gradient_by_argument(self):
        with tf.GradientTape() as tape:
            tape.watch(self.x)
            y = self.summed(self.x)
        return tf.reduce_sum(tape.gradient(y, self.x))

    def persistent(self):
        with tf.GradientTape(persistent=True) as tape:
            y = self.summed(self.x)
            z = y * y
        return tape.gradient(y, self.v) + tape.gradient(z, self.v)

    def second_derivative(self):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as tape:
                y = self.cube()
            gradient = tape.gradient(y, self.v)
        return outer.gradient(gradient, self.v)

    def jacobian(self):
        with tf.GradientTape() as tape:
            y = self.product(self.x)
        return tf.reduce_sum(tape.jacobian(y, self.v))

    def custom_gradient(self):
        with tf.GradientTape() as tape:
            tape.watch(self.x)
            y = self.custom(self.x)
        return tf.reduce_sum(tape.gradient(y, self.x))

    def guard(self):
        with tf.GradientTape() as tape:
            y = self.guarded(self.x)
        small = self.guarded(self.x / 2.0)
        return tape.gradient(y, self.v) + small

    def assigning(self):
        with tf.GradientTape() as tape:
            y = self.counted(self.x)
        return tape.gradient(y, self.v)

    def training(self):
        return self.trained()

    def drawing(self):
        with tf.GradientTape() as tape:
            y = self.drawn(self.x)
        return tape.gradient(y, self.v)

    def mapped(self):
        return tf.map_fn(lambda x: x * self.v, self.x)[-1]


EXPECTED = {
    "eager": lambda v: 6 * v,
    "eager_gradient": lambda v: 6 * v + 1,
    "replay": lambda v: 6 * v,
    "gradient_of_replay": lambda v: 6.0,
    "gradient_by_argument": lambda v: 6 * v,
    "persistent": lambda v: 6 + 72 * v,
    "second_derivative": lambda v: 6 * v,
    "jacobian": lambda v: 6.0,
    "custom_gradient": lambda v: 18 * v,
    "guard": lambda v: 9.0,
    "assigning": lambda v: 6.0,
    "training": lambda v: 2 * v,
    "drawing": lambda v: 6.0,
    "mapped": lambda v: 1.5 * v,
}


@pytest.fixture(scope="module")
def programs():
    programs = Programs()
    for name in [*EXPECTED] * 3:
        float(getattr(programs, name)())
    return programs


@pytest.mark.parametrize("name", EXPECTED)
def test_an_interrupted_program_leaves_the_next_results_right(programs, name, request):
    stride = 1 if request.config.getoption("--slow") else 5 + SEED % 5
    at, hit = 1, True
    while hit:
        count = float(programs.count)
        hit = _interrupted(at, lambda: float(getattr(programs, name)()))
        assert float(programs.count) - count in ((0.0, 1.0) if name == "assigning" else (0.0,))
        programs.v.assign(1.0 + at % 7 / 8)
        for other, expected in EXPECTED.items():
            result = float(getattr(programs, other)())
            assert result == pytest.approx(expected(1.0 + at % 7 / 8), rel=1e-12), (at, other)
        at += stride if at > 8 else 1
    assert at > 4
