"""Lane groups fused with a preceding product: threads process each tile's elements directly."""

import numpy as np
import pytest
from interruption import interrupted_at_each_line
from log_queries import fresh_log
from random_op_programs import Program, differences, patterns, run

from numtape.core import settings
from numtape.core.cpu import blas, sweeper as cpu
from numtape.core.plan import plan as plans

pytestmark = [
    pytest.mark.numtape_only("numtape's plans"),
    pytest.mark.cpu_only("plans of the CPU's"),
    pytest.mark.skipif(not all(blas.threads()), reason="BLAS takes its own threads"),
]


@pytest.fixture(autouse=True)
def cpu_alone(tf):
    with tf.config.override("cpu"):
        yield


@pytest.fixture
def following(monkeypatch):
    """The number of groups fused with another one, for each plan."""
    counts = []
    fill = plans.Plan._assign_kernels

    def counted(self, log):
        fill(self, log)
        counts.append(int(np.count_nonzero(self.arrays["groups"][:, plans.G_BLOCKS])))

    monkeypatch.setattr(plans.Plan, "_assign_kernels", counted)
    return counts


def normal(*shape, dtype="float64"):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)


def relu(x):
    return np.maximum(x, 0.0)


def one_layer(m, x, w, b):
    return [m.relu(x @ w + b)]


def product_wanted_too(m, x, w, b):
    y = x @ w
    return [m.relu(y - b), y]


def two_readers(m, x, w, b):
    y = x @ w
    return [m.sum(m.tanh(y)), m.tanh(m.relu(y) + b), m.sum(y * y)]


def layers(m, x, w, b):
    """Temporaries of one size, each of which is free after the next product."""
    for scale in (0.02, 0.03, 0.05, 0.07):
        x = m.relu((x @ w) * scale + b)
        w = w * 1.5
    return [m.sum(x * x), x]


class Np:
    relu, tanh, sum = staticmethod(relu), staticmethod(np.tanh), staticmethod(np.sum)


class Tf:
    def __init__(self, tf):
        self.relu, self.tanh, self.sum = tf.nn.relu, tf.tanh, tf.reduce_sum


@pytest.mark.parametrize("model", [one_layer, product_wanted_too, two_readers, layers])
@pytest.mark.parametrize("shape", [(256, 256), (400, 96), (784, 512), (2, 512, 96)], ids=str)
def test_same_bits_whoever_follows_and_as_numpy(tf, monkeypatch, following, model, shape):
    *lead, m, n = shape
    k = n if model is layers else 70
    x, w, b = normal(*lead, m, k), normal(k, n), normal(n)
    expected = model(Np, x, w, b)
    known = []
    for threads, large, follow in (
        (1, cpu.LARGE, True),
        (2, 1, True),
        (3, 1, True),
        (2, cpu.LARGE, True),
        (2, 1, False),
    ):
        monkeypatch.setattr(settings, "_threads", threads)
        monkeypatch.setattr(cpu, "LARGE", large)
        monkeypatch.setattr(plans.Planner, "follow", follow)
        following.clear()
        with fresh_log():
            values = model(Tf(tf), tf.constant(x), tf.constant(w), tf.constant(b))
            values = [y.numpy() for y in values]
        assert any(following) == follow
        known.append([y.tobytes() for y in values])
        for y, right in zip(values, expected, strict=True):
            np.testing.assert_allclose(y, right, rtol=1e-10, atol=1e-10)
    assert all(found == known[0] for found in known)


@pytest.mark.records
@pytest.mark.parametrize("how", ["eager", "replayed", "compiled"])
def test_updates_follow_their_gradients(tf, monkeypatch, following, how):
    monkeypatch.setattr(settings, "_threads", 2)
    monkeypatch.setattr(cpu, "LARGE", 1)
    x, w = normal(64, 300, dtype="float32"), 0.1 * normal(300, 256, dtype="float32")
    v, data, rate = tf.Variable(w), tf.constant(x), tf.constant(0.01)

    def step(data, rate):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.tanh(data @ v))
        v.assign_sub(rate * tape.gradient(loss, v))
        return loss

    if how != "eager":
        step = tf.function(step, jit_compile=how == "compiled")
    right = np.float64(w)
    for _ in range(4):
        loss = float(step(data, rate))
        assert loss == pytest.approx(np.tanh(x @ right).sum(), rel=1e-4, abs=1e-3)
        right = right - 0.01 * (x.T @ (1.0 - np.tanh(x @ right) ** 2))
    np.testing.assert_allclose(v.numpy(), right, rtol=1e-4, atol=1e-5)
    assert max(following) >= 1


def test_random_programs_give_the_same_bits_in_any_order_of_groups(tf, monkeypatch):
    for seed in range(6):
        program = Program(2000 + seed)
        known = {}
        for follow in (False, True):
            monkeypatch.setattr(plans.Planner, "follow", follow)
            for pattern, (look, tape, keep) in patterns(program).items():
                if keep:
                    with fresh_log():
                        found = run(tf, program, "cpu", look, tape)
                    wrong = differences(found, known.setdefault((tape, pattern), found))
                    assert not wrong, f"{wrong} differ with groups moved: {pattern}, {program}"


def test_interrupted_updates_are_undone_or_whole(tf, monkeypatch):
    """After an interrupt at any line, the next evaluation matches NumPy."""
    monkeypatch.setattr(settings, "_threads", 2)
    monkeypatch.setattr(cpu, "LARGE", 1)
    x, w = normal(16, 256, dtype="float32"), normal(256, 256, dtype="float32")
    data, right = tf.constant(x), np.float64(w) - 0.5 * (np.float64(x).T @ x)

    def prepare():
        v = tf.Variable(w)
        v.assign_sub(0.5 * tf.matmul(data, data, transpose_a=True))
        return v

    def check(v):
        np.testing.assert_allclose(v.numpy(), right, rtol=1e-4, atol=1e-4)

    interrupted_at_each_line(prepare, lambda v: v.numpy(), check)
