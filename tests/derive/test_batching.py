"""Batching rules: rows vectorized over many inputs, compared with a loop over the inputs."""

import numpy as np
import pytest
from derivative_checks import SMALL, smallest
from op_cases import CASES

import numtape
from numtape.core.derive import batching
from numtape.core.derive.custom import LINK
from numtape.core.log.op import CODES, LEAF, READ

pytestmark = pytest.mark.numtape_only(reason="compared with a loop of numtape's own gradients")


def test_every_op_has_a_rule_or_is_known_to_be_looped():
    for op in CODES.ops:
        if op.kind not in (LEAF, READ) and op.arity and op is not LINK:  # links are not read
            assert (batching.rule_of(op) is None) == (op.name in batching.LOOPED), (
                f"{op.name}: give it a line in RULES of numtape/core/derive/batching.py, "
                f"or name it in LOOPED there"
            )
    names = [op.name for op in CODES.ops]
    assert {name for name in batching.RULES if names.count(name) > 1} == set()
    assert not batching.LOOPED & set(batching.RULES)


def loop(tf, tape, y, x):
    """The Jacobian by a loop over the elements of ``y``."""
    rows = []
    for k in range(y.numpy().size):
        seed = np.zeros(y.numpy().size, y.dtype.name)
        seed[k] = 1
        rows.append(tape.gradient(y, x, output_gradients=seed.reshape(y.shape)))
    if all(row is None for row in rows):
        return None
    return np.reshape([tf.convert_to_tensor(row).numpy() for row in rows], (*y.shape, *x.shape))


FLOATS = [case for case in CASES if case.order > 0 and "float64" in case.dtypes]


@pytest.mark.parametrize("case", FLOATS, ids=[case.name for case in FLOATS])
def test_jacobian_is_what_a_loop_of_gradients_gives(tf, case):
    """For the op and for its derivative."""
    chosen = smallest(case)
    if chosen is None:
        pytest.skip("it has no small variant")
    operands, options = chosen
    xs = [tf.constant(x) for x in operands]
    floats = [x for x in xs if x.dtype.is_floating]
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(floats)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(floats)
            y = case.function(tf)(*xs, **options)
            if isinstance(y, list | tuple):
                y = tf.concat([tf.reshape(part, [-1]) for part in y], 0)
        if y.numpy().size > SMALL or not y.dtype.is_floating:
            pytest.skip("it has no small variant")
        if max(2 * x.ndim for x in (y, *floats)) > 8:
            pytest.skip("its Jacobian has too many axes")
        for x, found in zip(floats, tape.jacobian(y, floats), strict=True):
            compare(found, loop(tf, tape, y, x), case.name)
        slope = tape.gradient(tf.reduce_sum(y * y), floats)
        slope = [None if g is None else tf.convert_to_tensor(g) for g in slope]
    for first, x in zip(slope, floats, strict=True):
        if first is not None:
            compare(outer.jacobian(first, x), loop(tf, outer, first, x), case.name)


def compare(found, wanted, name):
    assert (found is None) == (wanted is None)
    if wanted is not None:
        assert tuple(found.shape) == wanted.shape
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-9, atol=1e-12, err_msg=name)


def test_an_op_without_a_rule_is_done_lane_by_lane(monkeypatch):
    monkeypatch.delitem(batching.RULES, "Cumsum")
    x = numtape.constant([1.0, 2.0, 3.0])
    with numtape.GradientTape() as tape:
        tape.watch(x)
        y = numtape.cumsum(x * x)
    wanted = [[2.0, 0.0, 0.0], [2.0, 4.0, 0.0], [2.0, 4.0, 6.0]]
    assert tape.jacobian(y, x).numpy().tolist() == wanted
