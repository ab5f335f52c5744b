"""Elements, shapes and flags of NumPy arrays that a function reads or writes to.

Each case is compared with plain Python; see `state_cases`.
"""

import itertools
import math

import numpy as np
import pytest
from state_cases import Cases, ignore_fallback, name_of, numtape_only, steps

import numtape as tf

pytestmark = numtape_only

cases = Cases()


# A returned array has its present shape.


@cases.add
def shape_set_in_place(decorate):
    table = np.arange(6.0)

    def f(x):
        return table

    return steps(decorate(f), lambda: setattr(table, "shape", (2, 3)))


# The elements of an argument for a shape or an axis are read, also if the result is a view.


def shape_case(use, shape, before, after):
    def make(decorate):
        a = np.arange(6, dtype="f4").reshape(shape)
        s = np.array(before)

        def f(x):
            return x * use(a, s)

        return steps(decorate(f), lambda: s.__setitem__(..., after))

    return make


for name, made in {
    "reshape": shape_case(np.reshape, (6,), [2, 3], [3, 2]),
    "method": shape_case(lambda a, s: a.reshape(s), (6,), [2, 3], [3, 2]),
    "transpose": shape_case(np.transpose, (2, 3), [1, 0], [0, 1]),
    "broadcast_to": shape_case(np.broadcast_to, (6,), [2, 6], [3, 6]),
    "diagonal": shape_case(np.diagonal, (2, 3), 0, 1),
}.items():
    cases.named("shape_of_" + name, made)


# An array that is both an operand and a shape is read as both.


def operand_and_shape_case(use, before, after):
    def make(decorate):
        s = np.array(before)

        def f(x):
            return x * tf.cast(use(s), tf.float32)

        return steps(decorate(f), lambda: s.__setitem__(..., after))

    return make


for name, made in {
    "tile": operand_and_shape_case(lambda s: tf.tile(s, s), [2], [3]),
    "fill": operand_and_shape_case(lambda s: tf.fill([s], s), 2, 4),
    "repeat": operand_and_shape_case(lambda s: tf.repeat(s, s), 2, 3),
    "reshape": operand_and_shape_case(lambda s: tf.reshape(s, s), [2, 1], [1, 2]),
    "broadcast_to": operand_and_shape_case(lambda s: tf.broadcast_to(s, s), [2], [3]),
    "one_hot": operand_and_shape_case(lambda s: tf.one_hot(s, s), 3, 4),
    "gather": operand_and_shape_case(
        lambda s: tf.gather(tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), s, axis=s), 1, 0
    ),
    "low_and_range_of_uniform": operand_and_shape_case(
        lambda s: (
            0.0 * tf.random.uniform((), s, 5.0)
            + tf.cast(tf.random.uniform((), s, 5.0) > 5.0, tf.float32)
        ),
        np.float32(-1e6),
        np.float32(4.0),
    ),
}.items():
    cases.named("operand_and_shape_of_" + name, made)


# Arrays behind a star are read, whatever iterable contains them.


@cases.add
def dict_values(decorate):
    arrays = {"a": np.array([1.0, 2.0], "f4"), "b": np.array([3.0, 4.0], "f4")}

    def f(x):
        return x * np.add(*arrays.values())

    return steps(decorate(f), lambda: arrays["a"].__setitem__(0, 10.0))


@cases.add
def reversed_list(decorate):
    arrays = [np.array([1.0, 2.0], "f4"), np.array([3.0, 4.0], "f4")]

    def f(x):
        return x * np.add(*reversed(arrays))

    return steps(decorate(f), lambda: arrays[0].__setitem__(0, 10.0))


# `max` and `min` of 0-d arrays read all of them, and return one.


@cases.add
def largest_array(decorate):
    a, b = np.array(1.0, "f4"), np.array(2.0, "f4")

    def f(x):
        return x * max(a, b)

    return steps(decorate(f), lambda: a.__setitem__((), 9.0))


@cases.add
def smallest_array(decorate):
    values = [np.array(1.0, "f4"), np.array(2.0, "f4")]

    def f(x):
        return x * min(values)

    return steps(decorate(f), lambda: values[0].__setitem__((), 9.0))


# The elements of the operands are read, also where the result is a view of a new array.


def array_case(name, use):
    def make(decorate):
        a, m = np.array([1.0, 2.0, 3.0, 4.0]), np.arange(6.0).reshape(2, 3)
        i, z = np.array([0, 2]), np.array(2.0)

        def f(x):
            return x * tf.constant(use(a, m, i, z), tf.float64)

        def change():
            a[:] = [4.0, 0.0, 7.0, 2.0]
            m[:] = m[::-1].copy() ** 2
            z[()] = 3.0

        return steps(decorate(f), change, args=lambda: (tf.constant(1.0, tf.float64),))

    return cases.named(name, make)


array_case("columns_by_index", lambda a, m, i, z: m[:, i])
array_case("tile", lambda a, m, i, z: np.tile(a, 2))
array_case("roll", lambda a, m, i, z: np.roll(a, 1))
array_case("linspace", lambda a, m, i, z: np.linspace(0, z, 3))
array_case("isclose", lambda a, m, i, z: np.isclose(a, [1, 2, 3, 4]) * 1.0)
array_case("isin", lambda a, m, i, z: np.isin(a, [1.0, 2.0]) * 1.0)
array_case("flatnonzero", lambda a, m, i, z: np.flatnonzero(a) * 1.0)
array_case("polyfit", lambda a, m, i, z: np.polyfit([1, 2, 3, 4], a, 1))
array_case("cross", lambda a, m, i, z: np.cross(m[0], m[1]))
array_case("kron", lambda a, m, i, z: np.kron(m, m))
array_case("tensordot", lambda a, m, i, z: np.tensordot(m, m, ([0], [0])))


# A row of a structured array is a view of the array.


@cases.add
def row_of_a_table(decorate):
    table = np.array([(1.0, 2.0)], dtype=[("u", "f8"), ("v", "f8")])
    row = table[0]

    def f(x):
        return x * row.item()[0]

    return steps(decorate(f), lambda: table["u"].__setitem__(0, 5.0))


# Formatting a 0-d array reads its element.


@cases.add
def formatted_array(decorate):
    a = np.array(2.0)

    def f(x):
        return x * float(f"{a}")

    return steps(decorate(f), lambda: a.__setitem__((), 5.0))


# `np.seterr` decides whether NumPy raises.


@cases.add
def floating_point_error(decorate):
    a = np.array([0.0])

    def f(x):
        try:
            low = np.log(a)[0]
        except FloatingPointError:
            low = -1.0
        return x * max(low, -5.0)

    old = np.geterr()
    try:
        return steps(decorate(f), lambda: np.seterr(divide="raise"))
    finally:
        np.seterr(**old)


# Whether an array is writeable, and its shape, decide whether an assignment raises.


@cases.add
def read_only_since(decorate):
    a = np.ones(2, "f4")

    def f(x):
        try:
            a[0] = 1.0
        except ValueError:
            return x * 3.0
        return x * 2.0

    return steps(decorate(f), lambda: a.setflags(write=False))


@cases.add
def of_another_shape_since(decorate):
    a = np.ones(4, "f4")

    def f(x):
        try:
            a[3] = 1.0
        except IndexError:
            return x * 3.0
        return x * 2.0

    return steps(decorate(f), lambda: setattr(a, "shape", (2, 2)))


@cases.add
def read_only_operand(decorate):
    a = np.ones(2, "f4")
    same = [a]

    def f(x):
        b = same[0]
        try:
            b *= 1.0
        except ValueError:
            return x * 3.0
        return x * 2.0

    return steps(decorate(f), lambda: a.setflags(write=False))


# An array can be resized in place, which requires that no other references exist.


@cases.add
def own_array_resized(decorate):
    def f(x):
        z = np.zeros(3, "f4")
        y = tf.constant(z) + 1.0
        z[0] = 2.0
        z.resize(5)
        return x * tf.reduce_sum(y) * float(z.sum() + len(z))

    return steps(decorate(f))


@cases.add
def array_of_the_program_resized(decorate):
    held = [np.arange(4.0)]

    def f(x):
        held[0].resize(held[0].size + 1)
        return x * float(held[0].sum() + len(held[0]))

    return steps(decorate(f))


# Arrays that `itertools.accumulate` adds up are read.


@cases.add
def arrays_that_are_accumulated(decorate):
    rows = [np.array([1.0, 2.0], "f"), np.array([3.0, 4.0], "f")]

    def f(x):
        for total in itertools.accumulate(rows):
            x = x + total
        return x

    return steps(decorate(f), lambda: rows[0].__setitem__(0, 100.0))


# What NumPy writes to an array is read afterwards. Each row writes to `b`.

WRITING = {
    "clip": lambda a, b: a.clip(0, 1, out=b),
    "clip by place": lambda a, b: np.clip(a, 0, 1, b),
    "clip itself": lambda a, b: b.clip(0, 1, b),
    "cumsum": lambda a, b: a.cumsum(0, None, b),
    "np.cumsum": lambda a, b: np.cumsum(a, out=b),
    "round": lambda a, b: np.round(a, 0, b),
    "dot": lambda a, b: np.eye(3).dot(a, b),
    "take": lambda a, b: np.take(a, [0, 0, 0], 0, b, "clip"),
    "std": lambda a, b: np.stack([a, a]).std(0, None, b),
    "reduce": lambda a, b: np.add.reduce(np.stack([a, a]), axis=0, out=b),
    "accumulate": lambda a, b: np.add.accumulate(a, 0, None, b),
    "outer": lambda a, b: np.multiply.outer(a, 2.0, out=b),
    "modf": lambda a, b: np.modf(a, b, np.zeros(3)),
    "median": lambda a, b: np.median(b, overwrite_input=True),
    "nan_to_num": lambda a, b: np.nan_to_num(b, copy=False, nan=7.0),
}


@pytest.mark.filterwarnings("ignore:.*runs as plain Python")
@pytest.mark.parametrize("name", WRITING)
def test_arrays_that_numpy_writes_to_are_read(name):
    def program(decorate):
        a, b = np.array([-1.0, 0.5, 3.0]), np.zeros(3)

        def f(x):
            WRITING[name](a, b)
            return tf.reduce_sum(x * tf.constant(b, tf.float32))

        def change():
            b[:] = 5.0, math.nan, 2.0

        return repr(steps(decorate(f), change, also=lambda: b))

    assert program(tf.function) == program(lambda f: f)


@ignore_fallback
@pytest.mark.parametrize("make", cases, ids=name_of)
def test_changes_of_arrays_are_seen(make):
    assert make(tf.function) == make(lambda f: f)
