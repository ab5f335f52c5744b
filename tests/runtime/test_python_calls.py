"""The most common eager calls run few Python functions, with the same results as NumPy."""

import re

import numpy as np
import pytest
from function_counts import COUNTED, usable
from processes import run

from numtape.core.log.log import local
from numtape.core.log.variable import Variable, assign_all
from numtape.core.values import convert
from numtape.core.values.dtypes import as_dtype

ASSIGNS = (
    COUNTED
    + """
for most, change in (
    (2, lambda: v.assign(x)), (3, lambda: v.assign_add(x)), (3, lambda: v.assign_sub(x)),
    (11, lambda: number.assign(2.0)),
):
    # Looks come first: what was assigned before is not to be computed now.
    seen = functions_run(lambda: (v.numpy(), number.numpy(), change()))
    own = len(seen) - 1 - seen[::-1].index("<lambda>")
    assert len(seen) - own - 1 <= most, seen[own:]
seen = functions_run(lambda: tf.constant(2.0))
assert len(seen) <= 7, seen
"""
)

SELECTED = (
    COUNTED
    + """
for most, program in (
    (2, lambda: tf.where(c, x, 0.0)), (2, lambda: tf.where(c, 0.0, x)),
    (2, lambda: tf.where(c, x, v)),
    (3, lambda: tf.clip_by_value(x, -1.0, 1.0)),
):
    seen = functions_run(program)
    assert len(seen) <= most, seen
"""
)


@usable
@pytest.mark.parametrize("program", [ASSIGNS, SELECTED], ids=["assigns", "selected"])
def test_few_functions_run(program):
    assert run(program, "machine code", NUMTAPE_RECORD="native") == ""


@pytest.mark.parametrize("recorded", [False, True])
def test_assigns_one_by_one_are_as_all_at_once(tf, isolated, monkeypatch, recorded):
    """Every order of assigns, reads and evaluations, also under a tape, which keeps rows."""

    def slow(self, value, read_value):
        assign_all([self], [value])
        return self.read_value()

    found = []
    for change in (Variable._assign_tensor, slow):
        monkeypatch.setattr(Variable, "_assign_tensor", change)
        rng = np.random.default_rng(3)
        variables = [tf.Variable(rng.normal(size=n).astype("f")) for n in (3, 3, 3)]
        values = [v.numpy() for v in variables]
        tape = tf.GradientTape(persistent=True)
        if recorded:
            tape.__enter__()
        for _ in range(200):
            k, j, what = *rng.integers(3, size=2), rng.integers(6)
            v, w = variables[k], variables[j]
            if what == 0:
                v.assign(w.read_value())
                values[k] = values[j]
            elif what == 1:
                v.assign_add(w * 0.5)
                values[k] = values[k] + values[j] * np.float32(0.5)
            elif what == 2:
                v.assign_sub(tf.constant(values[j]))
                values[k] = values[k] - values[j]
            elif what == 3:
                v.assign(w / 2.0, read_value=False)
                values[k] = values[j] / np.float32(2)
            elif what == 4:
                with pytest.raises(ValueError):
                    v.assign([1.0])
            else:
                np.testing.assert_array_equal(v.numpy(), values[k])
        if recorded:
            tape.__exit__(None, None, None)
        for v, value in zip(variables, values, strict=True):
            np.testing.assert_array_equal(v.numpy(), value)
        found.append(values)
    np.testing.assert_array_equal(*found)


def test_a_value_that_an_assign_left_is_computed_before_the_next(tf, isolated):
    v = tf.Variable([1.0, 2.0])
    for _ in range(3):
        v.assign(v * 2.0)
        assert v._value._home is local.log and list(local.log.pending.values()) == [v]
    before, value = v._value, v.assign(v * 2.0)
    assert before._home is not local.log or local.log.columns.state[before._row] == 1
    np.testing.assert_array_equal(value, [16.0, 32.0])


@pytest.mark.parametrize("dtype", [None, "float32", "float64", "int8", "int32", "int64"])
@pytest.mark.parametrize(
    "number",
    [
        0.0,
        -0.0,
        0.1,
        -1e-46,
        2.0**31 - 1,
        -3e38,
        float("inf"),
        float("nan"),
        7,
        -7,
        0,
        2**24 + 1,
        2**31 - 1,
        -(2**31),
        2**31,
        True,
    ],
)
def test_a_number_becomes_the_array_that_a_list_of_it_becomes(number, dtype):
    wanted = None if dtype is None else as_dtype(dtype)
    found = []
    for value in (number, [number]):
        try:
            array = convert.new_array(value, wanted)
            found.append((array.dtype, array.tobytes()))
        except (TypeError, ValueError) as error:
            found.append(type(error))
    assert found[0] == found[1]
    if not isinstance(found[0], type) and dtype is not None:
        with np.errstate(over="ignore"):
            assert found[0][1] == np.array(number).astype(dtype).tobytes()


MOVED = (
    COUNTED
    + """
y = x + 1.0
for most, program in (
    (2, lambda: tf.reshape(y, (4,))), (2, lambda: tf.reshape(y, [-1, 1])),
    (2, lambda: tf.reshape(y, y.shape)), (2, lambda: tf.cast(y, tf.float64)),
    (3, lambda: y[1:]),
    # One more each: the wrapper of `suggest_keywords`.
    (4, lambda: tf.expand_dims(y, -1)), (4, lambda: tf.transpose(y)),
    (4, lambda: tf.transpose(y, [1, 0])), (5, lambda: tf.squeeze(y)),
):
    seen = [name for name in functions_run(program) if name not in ("shape", "Tensor.shape")]
    assert len(seen) <= most, seen
"""
)


@usable
def test_few_functions_move_elements():
    assert run(MOVED, "machine code", NUMTAPE_RECORD="native") == ""


@pytest.mark.parametrize("again", [1, 2, 3])
def test_a_known_way_is_for_ints_alone(tf, again):
    """Not for values that equal ints: 2 == 2.0, and 1 == True."""
    value = np.arange(6, dtype="f").reshape(2, 3)
    x = tf.constant(value)
    for shape in ((3, 2), [3, -1], (-1,), (1, 6), (1, 2, 3), x.shape, np.array([3, 2]), 6):
        np.testing.assert_array_equal(tf.reshape(x, shape), value.reshape(shape))
    for shape in ((3.0, 2.0), (3, 2.0), (True, 6), [6.0], (4, 2), (-1, -1), (0,), "ab", 6.0):
        with pytest.raises((tf.errors.InvalidArgumentError, TypeError, ValueError)):
            tf.reshape(x, shape)
    for perm in (None, (1, 0), [1, 0], (0, 1), (-1, 0), np.array([1, 0])):
        np.testing.assert_array_equal(tf.transpose(x, perm), np.transpose(value, perm))
    for perm in ((1.0, 0.0), (1, 1), (0,), [2, 0], 1.5):
        with pytest.raises((tf.errors.InvalidArgumentError, TypeError, ValueError)):
            tf.transpose(x, perm)
    for axis in (0, 1, 2, -1, -2, -3):
        np.testing.assert_array_equal(tf.expand_dims(x, axis), np.expand_dims(value, axis))
    for axis in (3, -4, 1.0, "1"):
        with pytest.raises((tf.errors.InvalidArgumentError, TypeError, ValueError)):
            tf.expand_dims(x, axis)
    for wrong in ([[3], [2]], ([1, 0], [0, 1])):  # the message shows the argument as passed
        for move in (tf.reshape, tf.transpose):
            with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(f"got {wrong}")):
                move(x, wrong)
    np.testing.assert_array_equal(tf.squeeze(tf.expand_dims(x, 1)), value)
    assert tf.transpose(x, (0, 1)) is not x and tf.reshape(x, (2, 3)) is not x


def test_known_ways_stay_few(tf):
    from numtape.core.ops import movement

    for n in range(1, movement.MAX_CACHED + 100):
        tf.reshape(tf.zeros((1,)), (1,) * (n % 8))
        movement.store_plan(movement._reshape_plans, (None, (n,)), None)
    assert len(movement._reshape_plans) <= movement.MAX_CACHED
    movement._reshape_plans.clear()
