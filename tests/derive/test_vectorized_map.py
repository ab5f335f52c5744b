"""`vectorized_map`: a function of one slice, vectorized over all slices."""

import logging

import numpy as np
import pytest
from checks import same
from derivative_checks import smallest
from op_cases import CASES

ANY = [case for case in CASES if smallest(case) is not None]


@pytest.mark.numtape_only(reason="compared with a loop of numtape's own ops")
@pytest.mark.parametrize("case", ANY, ids=[case.name for case in ANY])
def test_every_op_is_what_a_loop_gives(tf, case, caplog):
    """With each operand batched alone (for non-elementwise ops), and with all batched."""
    operands, options = smallest(case)
    random = np.random.default_rng(3)
    stacks = [
        np.stack([random.permutation(x.ravel()).reshape(x.shape) for _ in range(3)])
        for x in operands
    ]
    count = len(operands)
    which = {tuple(range(count))} | {(j,) for j in range(count) if not case.elementwise}

    def call(xs):
        found = case.function(tf)(*xs, **options)
        return list(found) if isinstance(found, list | tuple) else [found]

    for chosen in sorted(which):

        def of_slice(parts, chosen=chosen):
            xs = [tf.constant(x) for x in operands]
            for j, part in zip(chosen, parts, strict=True):
                xs[j] = part
            return call(xs)

        with caplog.at_level(logging.ERROR, "numtape"):
            try:
                wanted = [of_slice([tf.constant(stacks[j][k]) for j in chosen]) for k in range(3)]
            except (tf.errors.InvalidArgumentError, ValueError, TypeError):
                continue  # it needs concrete numbers there
            shapes = {tuple(tuple(x.shape) for x in one) for one in wanted}
            if len(shapes) > 1:
                continue
            found = tf.vectorized_map(of_slice, [tf.constant(stacks[j]) for j in chosen])
        for actual, parts in zip(found, zip(*wanted, strict=True), strict=True):
            exact = np.stack([part.numpy() for part in parts])
            assert actual.dtype == parts[0].dtype
            np.testing.assert_allclose(actual.numpy(), exact, rtol=1e-6, atol=1e-9)


def test_nests_and_constants(tf):
    x, s = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([10, 20])
    found = tf.vectorized_map(
        lambda d: {"a": d["a"] * 2.0, "b": (d["b"], 5.0, [tf.ones(2)]), "c": None}, {"a": x, "b": s}
    )
    same(found["a"], [[2.0, 4.0], [6.0, 8.0]], "float32")
    same(found["b"][0], [10, 20], "int32")
    same(found["b"][1], [5.0, 5.0])
    same(found["b"][2][0], np.ones((2, 2)))
    assert found["c"] is None
    same(
        tf.vectorized_map(lambda p: p[0] * p[1], [x, tf.constant([[10.0, 20.0]])]),
        [[10.0, 40.0], [30.0, 80.0]],
    )
    assert tf.vectorized_map(lambda r: r[:2] * 2.0, tf.zeros((0, 3))).shape == (0, 2)


def test_it_is_called_once(tf):
    calls = []

    def double(r):
        calls.append(r)
        return 2.0 * r

    same(tf.vectorized_map(double, tf.constant([1.0, 2.0, 3.0])), [2.0, 4.0, 6.0])
    assert len(calls) == 1


def test_gradients_through_and_inside(tf):
    v, x = tf.Variable(2.0), tf.constant([[1.0, 2.0], [3.0, 4.0]])
    captured = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as outer:
        outer.watch([x, captured])

        def slope(r):
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(r * v * v) * captured
            return tape.gradient(y, v)

        each = tf.vectorized_map(slope, x)
    same(each, [36.0, 84.0])
    same(outer.gradient(each, v), 60.0)
    same(outer.gradient(each, x), np.full((2, 2), 12.0))
    same(outer.gradient(each, captured), 40.0)
    same(outer.jacobian(each, x), 12.0 * np.eye(2)[:, :, None] * np.ones((2, 2, 2)))


def test_jacobian_of_each_slice_and_a_map_inside(tf):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])

    def jacobian(r):
        with tf.GradientTape() as tape:
            tape.watch(r)
            y = r * r * r[::-1]
        return tape.jacobian(y, r)

    found = tf.vectorized_map(jacobian, x)
    for k in range(2):
        same(found[k], jacobian(x[k]))
    nested = tf.vectorized_map(lambda r: tf.vectorized_map(lambda z: z * tf.reduce_sum(r), r), x)
    same(nested, [[3.0, 6.0], [21.0, 28.0]])


def test_in_a_function(tf):
    v = tf.Variable(2.0)
    f = tf.function(lambda x: tf.vectorized_map(lambda r: tf.reduce_sum(r * r) * v, x))
    for k in range(4):
        x = tf.constant([[1.0, 2.0], [3.0, k]])
        v.assign(k + 1.0)
        same(f(x), (k + 1.0) * np.array([5.0, 9.0 + k * k]))


def test_random_numbers_are_others_for_each(tf):
    tf.random.set_seed(1)
    found = tf.vectorized_map(lambda r: r + tf.random.normal((2,)), tf.zeros((3, 2))).numpy()
    assert len(np.unique(found)) == 6


def test_checks_of_values(tf):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    pick = lambda pair: tf.gather(pair[0], pair[1])  # noqa: E731
    same(tf.vectorized_map(pick, (x, tf.constant([[0], [1]]))), [[1.0], [4.0]])
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.vectorized_map(pick, (x, tf.constant([[0], [7]])))


@pytest.mark.numtape_only(reason="TensorFlow raises, or assigns what the first slice gives")
def test_what_needs_each_slice(tf, caplog):
    x, total = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.Variable(0.0)

    def adds(r):
        total.assign_add(tf.reduce_sum(r))
        return r

    chooses = lambda r: 2.0 * r if r[0] > 2.0 else r  # noqa: E731
    same(tf.vectorized_map(adds, x), x.numpy())
    assert total.numpy() == 10.0
    assert "it assigns a variable" in caplog.text
    caplog.clear()
    same(tf.vectorized_map(chooses, x, warn=False), [[1.0, 2.0], [6.0, 8.0]])
    assert not caplog.text
    with pytest.raises(ValueError, match="reads a value of a slice"):
        tf.vectorized_map(chooses, x, fallback_to_while_loop=False)
    same(2.0 * x, [[2.0, 4.0], [6.0, 8.0]])  # the thread works as before


def test_errors(tf):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    v = tf.Variable(1.0)
    for fn, elems, kind in [
        (3, x, TypeError),
        (lambda r: r, tf.constant(1.0), IndexError),
        (lambda p: p[0], [x, tf.zeros(3)], tf.errors.InvalidArgumentError),
        (lambda r: v, x, ValueError),
    ]:
        with pytest.raises(kind):
            tf.vectorized_map(fn, elems)
    same(x + 1.0, [[2.0, 3.0], [4.0, 5.0]])


@pytest.mark.numtape_only(reason="there it is another error")
def test_a_slice_used_after_the_end(tf):
    kept = []
    tf.vectorized_map(lambda r: kept.append(r) or r, tf.zeros((2, 2)))
    with pytest.raises(RuntimeError, match="after its end"):
        kept[0].numpy()


def test_gradients_by_captured_tensors(tf):
    """A tape inside may watch a tensor that is the same for all slices."""
    w, xs = tf.constant([1.0, 2.0]), tf.constant([[1.0, 3.0], [2.0, 5.0]])

    def gradient(x):
        inner = tf.constant([3.0, 4.0])
        with tf.GradientTape() as tape:
            tape.watch([w, inner])
            loss = tf.reduce_sum(w * w * inner * x)
        return tape.gradient(loss, [w, inner])

    by_w, by_inner = tf.vectorized_map(gradient, xs)
    np.testing.assert_allclose(by_w.numpy(), [[6.0, 48.0], [12.0, 80.0]])
    np.testing.assert_allclose(by_inner.numpy(), [[1.0, 12.0], [2.0, 20.0]])
