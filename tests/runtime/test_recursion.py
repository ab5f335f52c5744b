"""At the recursion limit calls succeed, or raise a RecursionError and change nothing."""

import sys

import numpy as np
import pytest
from checks import SEED
from log_queries import fresh_log
from op_cases import CASES
from op_draws import draw, variants
from processes import CACHES, run, with_cache

from numtape.core.log.log import local

pytestmark = [
    pytest.mark.numtape_only("a promise TensorFlow does not make"),
    pytest.mark.cpu_only("compiling for a GPU takes more frames than there are left"),
]


def with_frames(left, call):
    """Make a call with the given number of remaining Python frames."""

    def deep(n):
        return call() if n == 0 else deep(n - 1)

    frame, depth = sys._getframe(), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    return deep(sys.getrecursionlimit() - depth - left - 2)


def everywhere(call, state=lambda: None, most=150):
    """Make a call with 0, 1, 2, … frames left, until it has worked a dozen times.

    Returns how often it raised.
    """
    raised = worked = 0
    for left in range(most):
        before = state()
        try:
            with_frames(left, call)
            worked += 1
        except RecursionError:
            raised += 1
            assert state() == before, left
        log = local.log
        idle = not (log.is_recorded() or log.symbolic or log.busy or log.tracing)
        assert idle, left
        assert local.journal is None, left
        if worked == 12:
            return raised
    raise AssertionError("it does not work with as many frames as there are")


class Model:
    """A variable, an optimizer, and methods that use them."""

    def __init__(self, tf):
        self.tf = tf
        self.v, self.w = tf.Variable([1.0, 2.0]), tf.Variable(3.0)
        self.optimizer = tf.keras.optimizers.Adam(0.1)
        self.function = tf.function(self.trained)
        self.replayed = tf.function(lambda x: tf.reduce_sum(tf.sin(x) * x * self.w))
        self.guarded = tf.function(lambda x: x * 2.0 if float(x) > 0.0 else x)

    def state(self):
        """State that must change atomically; new slots are zeros, equivalent to missing ones."""
        found = map(np.asarray, [self.v, self.w, *self.optimizer.variables])
        return b"".join(x.tobytes() for x in found if x.any())

    def gradient(self):
        with self.tf.GradientTape() as tape:
            y = self.tf.reduce_sum(self.v * self.v * self.w)
        return [g.numpy() for g in tape.gradient(y, [self.v, self.w])]

    def trained(self):
        with self.tf.GradientTape() as tape:
            y = self.tf.reduce_sum(self.v * self.v * self.w)
        both = [self.v, self.w]
        self.optimizer.apply_gradients(zip(tape.gradient(y, both), both, strict=True))
        return y

    def jacobian(self):
        with self.tf.GradientTape() as tape:
            y = self.v * self.v
        return tape.jacobian(y, self.v).numpy()

    def second(self):
        with self.tf.GradientTape() as outer:
            with self.tf.GradientTape() as tape:
                y = self.tf.reduce_sum(self.v**3.0)
            g = tape.gradient(y, self.v)
        return outer.gradient(g, self.v).numpy()

    def made(self):
        function = self.tf.function(lambda x: self.tf.reduce_sum(x * 3.0))
        return [float(function(self.v)) for _ in range(3)]

    def calls(self):
        """Name -> call."""
        tf, v, w = self.tf, self.v, self.w
        m = tf.ones((2, 3))
        pack = tf.experimental.dlpack
        return {
            "look": lambda: float(w * 2.0),
            "gradient": self.gradient,
            "step": self.trained,
            "function": self.function,
            "replayed": lambda: float(self.replayed(v)),
            "guarded": lambda: float(self.guarded(tf.constant(1.0))),
            "new function": self.made,
            "jacobian": self.jacobian,
            "second": self.second,
            "assign": lambda: v.assign([1.0, 2.0]),
            "assign_add": lambda: v.assign_add([1.0, 2.0]),
            "element": lambda: v[0].assign(5.0),
            "repr": lambda: repr(m) + str(v),
            "getitem": lambda: m[0, 1:].numpy(),
            "draw": lambda: tf.random.normal((3,)).numpy(),
            "draws": lambda: tf.random.uniform((3000, 200)).numpy(),
            "loop": lambda: tf.while_loop(lambda i: i < 3, lambda i: (i + 1,), [0])[0].numpy(),
            "map": lambda: tf.map_fn(lambda x: x * 2.0, m).numpy(),
            "NumPy": lambda: np.from_dlpack(m),
            "copied": lambda: np.asarray(m * 2.0),
            "DLPack": lambda: pack.from_dlpack(pack.to_dlpack(m)).numpy(),
            "layer": lambda: tf.keras.layers.Dense(2)(m).numpy(),
            "shared": lambda: (tf.ones(1_000_000) * 2.0).numpy()[0],
        }


NAMES = (
    "look",
    "gradient",
    "step",
    "function",
    "replayed",
    "guarded",
    "new function",
    "jacobian",
    "second",
    "assign",
    "assign_add",
    "element",
    "repr",
    "getitem",
    "draw",
    "draws",
    "loop",
    "map",
    "NumPy",
    "copied",
    "DLPack",
    "layer",
    "shared",
)


@pytest.fixture
def model(tf):
    with fresh_log():
        found = Model(tf)
        assert list(found.calls()) == list(NAMES)
        yield found


@pytest.mark.parametrize("name", NAMES)
def test_calls(model, name):
    call = model.calls()[name]
    call()
    call()
    assert everywhere(call, model.state) > 1
    call()


@pytest.mark.parametrize("name", NAMES)
def test_first_calls(tf, name):
    with fresh_log():
        model = Model(tf)
        assert everywhere(model.calls()[name], model.state, 400) > 1


def test_inside_a_tape(model, tf):
    """Rows recorded before and after the error are differentiated."""
    with tf.GradientTape() as tape:
        y = model.v * model.v
        for left in range(30):
            try:
                z = with_frames(left, lambda: tf.reduce_sum(tf.exp(y) * tf.ones(2)))
            except RecursionError:
                z = tf.reduce_sum(y)
        y = y * model.v
    assert tape.gradient(y, model.v).numpy().tolist() == [3.0, 12.0]
    assert float(z) > 0.0


@pytest.mark.filterwarnings("ignore")
def test_every_op(tf, request):
    # Every ninth row, depending on the seed, unless all are requested.
    for case in CASES if request.config.getoption("--slow") else CASES[SEED % 9 :: 9]:
        shapes, options = next(iter(variants(case)))
        operands = draw(case, shapes, case.dtypes[0])
        function = case.function(tf)

        def call(function=function, operands=operands, options=options):
            found = function(*operands, **options)
            return [np.asarray(x) for x in (found if isinstance(found, list) else [found])]

        expected = call()
        for left in range(0, 40, 2):
            try:
                found = with_frames(left, call)
            except RecursionError:
                continue
            assert [x.tobytes() for x in found] == [x.tobytes() for x in expected], case.name
        assert not local.log.busy


COLD = """
import sys
import numpy as np
import numtape as tf

def deep(n, call):
    return call() if n == 0 else deep(n - 1, call)

def call():
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.cumsum(tf.sin(v) * 2.0))
    return tape.gradient(y, v).numpy()

v = tf.Variable([1.0, 2.0])
raised = 0
for left in range(4, 130, 9):
    try:
        deep(sys.getrecursionlimit() - left - 3, call)
    except RecursionError:
        raised += 1
np.testing.assert_allclose(call(), 2.0 * np.cos([1.0, 2.0]) * [2.0, 1.0], rtol=1e-6)
print(raised > 0)
"""


@CACHES
def test_first_use_of_a_process(cache, tmp_path):
    """Imports and compilations at first use are completed."""
    assert run(COLD, **with_cache(cache, tmp_path)) == "True"
