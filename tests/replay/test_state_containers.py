"""Lists and dicts that a function returns, and iterators that it consumes.

Each case is compared with plain Python; see `state_cases`.
"""

# ruff: noqa: B905

import numpy as np
import pytest
from state_cases import Cases, ignore_fallback, name_of, numtape_only, steps

import numtape as tf

pytestmark = numtape_only

cases = Cases()


# Returned containers: a call returns their present items.


@cases.add
def returned_list(decorate):
    settings = [1.0, 2.0]

    def f(x):
        return settings

    return steps(decorate(f), lambda: settings.__setitem__(0, 5.0), lambda: settings.append(7.0))


@cases.add
def returned_dict_inside(decorate):
    config = {"rate": 1.0}

    def f(x):
        return {"y": x * 2.0, "config": config}

    return steps(
        decorate(f), lambda: config.__setitem__("rate", 5.0), lambda: config.__setitem__("new", 7.0)
    )


@cases.add
def returned_variables(decorate):
    weights = [tf.Variable(1.0)]

    def f(x):
        return weights

    return steps(
        decorate(f),
        lambda: weights.append(tf.Variable(3.0)),
        lambda: weights.__setitem__(0, tf.Variable(9.0)),
    )


@cases.add
def array_in_a_list(decorate):
    table = np.arange(6.0)
    tables = [table]

    def f(x):
        return tables

    return steps(decorate(f), lambda: tables.__setitem__(0, np.ones(2)))


# Stored iterators: each call consumes the next items, also where `__iter__` returns the iterator.


class Stream:
    def __init__(self, n):
        self.it = iter([float(k) for k in range(1, n)])

    def __iter__(self):
        return self.it


@cases.add
def for_loop(decorate):
    stream = Stream(100)

    def f(x):
        for value in stream:
            return x * value

    return steps(decorate(f))


@cases.add
def next_of_iter(decorate):
    stream = Stream(100)

    def f(x):
        return x * next(iter(stream))

    return steps(decorate(f))


@cases.add
def zipped(decorate):
    stream = Stream(100)

    def f(x):
        return x * sum([a * b for a, b in zip(range(1, 3), stream)])

    return steps(decorate(f))


@cases.add
def as_list(decorate):
    stream = Stream(5)

    def f(x):
        return x * sum(list(stream))

    return steps(decorate(f))


@ignore_fallback
@pytest.mark.parametrize("make", cases, ids=name_of)
def test_containers_and_iterators_are_as_in_python(make):
    assert make(tf.function) == make(lambda f: f)
