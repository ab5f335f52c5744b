"""Objects that NumPy converts, and Python code that NumPy calls.

Each case is compared with plain Python; see `state_cases`.
"""

import numpy as np
import pytest
from state_cases import Cases, ignore_fallback, name_of, numtape_only, steps

import numtape as tf

pytestmark = numtape_only

cases = Cases()


# The elements of an array of a subclass are read, whatever `__array_wrap__` returns.


class Units(np.ndarray):
    pass


def subclass_case(use):
    def make(decorate):
        a = np.arange(4, dtype="f4").view(Units)

        def f(x):
            return x * use(a)

        return steps(decorate(f), lambda: a.__setitem__(1, 50.0))

    return make


for name, use in {
    "sum": lambda a: float(a.sum()),
    "mean": lambda a: float(np.mean(a)),
    "sqrt": np.sqrt,
    "times": lambda a: a * 2,
    "negative": lambda a: -a,
    "max": lambda a: float(np.max(a)),
    "any": lambda a: 2.0 if (a > 10).any() else 3.0,
}.items():
    cases.named("subclass_" + name, subclass_case(use))


# The elements of an array that `__array__` returns are read.


class Held:
    def __init__(self):
        self.a = np.array([1.0, 2.0], "f4")

    def __array__(self, dtype=None, copy=None):
        return self.a


def array_method_case(use):
    def make(decorate):
        held = Held()

        def f(x):
            return use(x, held)

        return steps(decorate(f), lambda: held.a.__setitem__(0, 5.0))

    return make


for name, use in {
    "times": lambda x, h: x * h,
    "constant": lambda x, h: x * tf.constant(h),
    "stack": lambda x, h: x * tf.stack([h, h]),
    "np_sum": lambda x, h: x * np.sum(h),
    "np_dot": lambda x, h: x * float(np.dot(h, [1.0, 2.0])),
}.items():
    cases.named("array_method_" + name, array_method_case(use))


# State is read in code that NumPy calls: `__array__`, `__index__`, `__array_function__`.


class Quantity:
    def __init__(self, v):
        self.v = v

    def __array__(self, dtype=None, copy=None):
        return np.array(self.v, "f4")


@cases.add
def array_in_stack(decorate):
    q = [Quantity(1.0), Quantity(2.0)]

    def f(x):
        return x * np.stack(q)

    return steps(decorate(f), lambda: setattr(q[0], "v", 5.0))


@cases.add
def array_in_dot(decorate):
    q, a = Quantity(1.0), np.arange(3, dtype="f4")

    def f(x):
        return x * a.dot(q)

    return steps(decorate(f), lambda: setattr(q, "v", 5.0))


@cases.add
def index_of_reshape(decorate):
    class Rows:
        n = 2

        def __index__(self):
            return self.n

    rows, a = Rows(), np.arange(6, dtype="f4")

    def f(x):
        return x * a.reshape(rows, -1)

    return steps(decorate(f), lambda: setattr(rows, "n", 3))


@cases.add
def array_function(decorate):
    class K:
        k = 2.0

    class Own(np.ndarray):
        def __array_function__(self, function, types, args, named):
            return K.k

    a = np.arange(3.0).view(Own)
    arrays = [a, a]

    def f(x):
        return x * np.concatenate(arrays)

    return steps(decorate(f), lambda: setattr(K, "k", 5.0))


# Attributes that NumPy reads in C, such as `dtype` and `__array_interface__`, are seen.


class Box:
    pass


@cases.add
def dtype_of_an_object(decorate):
    o = Box()
    o.dtype = np.dtype("f4")

    def f(x):
        return x * np.dtype(o).itemsize

    return steps(decorate(f), lambda: setattr(o, "dtype", np.dtype("f8")))


@cases.add
def array_interface(decorate):
    a, b, o = np.array([1.0, 2.0], "f4"), np.array([5.0, 6.0], "f4"), Box()
    o.__array_interface__, o.keeps = a.__array_interface__, (a, b)

    def f(x):
        return x * float(np.sum(np.asarray(o)))

    return steps(
        decorate(f),
        lambda: setattr(o, "__array_interface__", b.__array_interface__),
        lambda: b.__setitem__(0, 50.0),
    )


@cases.add
def array_interface_to_numtape(decorate):
    a, b, o = np.array([1.0, 2.0], "f4"), np.array([5.0, 6.0], "f4"), Box()
    o.__array_interface__, o.keeps = a.__array_interface__, (a, b)

    def f(x):
        return x * tf.constant(o)

    return steps(
        decorate(f),
        lambda: setattr(o, "__array_interface__", b.__array_interface__),
        lambda: b.__setitem__(0, 50.0),
    )


@ignore_fallback
@pytest.mark.parametrize("make", cases, ids=name_of)
def test_objects_given_to_numpy_are_read(make):
    assert make(tf.function) == make(lambda f: f)
