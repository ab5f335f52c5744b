"""Lifetime of objects: a call releases them when plain Python does.

Each case is compared with plain Python; see `state_cases`.
"""

import contextlib
import copy
import gc
import sys
import time
import weakref

import numpy as np
import pytest
from state_cases import Cases, ignore_fallback, name_of, numtape_only, steps

import numtape as tf

pytestmark = numtape_only

cases = Cases()


class Model:
    k = 2.0


@cases.add
def weak_dictionary(decorate):
    cache = weakref.WeakValueDictionary()

    def f(x):
        model = Model()
        cache["k"] = model
        k = cache["k"].k
        del model
        return x * k if "k" not in cache else x * 3.0

    return steps(decorate(f))


@cases.add
def weak_set(decorate):
    alive = weakref.WeakSet()

    def f(x):
        models = [Model(), Model()]
        for model in models:
            alive.add(model)
        del models, model
        return x * len(alive)

    return steps(decorate(f))


@cases.add
def weak_reference(decorate):
    def f(x):
        pair = (Model(),)
        seen = weakref.ref(pair[0])
        kept = [pair]
        del pair
        kept = kept[:0]
        return x * 2.0 if seen() is None else x * 3.0

    return steps(decorate(f))


@cases.add
def finalizers(decorate):
    gone = [0]

    class Row:
        def __init__(self, v):
            self.v = v

        def __del__(self):
            gone[0] += 1

    class Made(Row):
        def __new__(cls, v):
            return super().__new__(cls)

    def f(x):
        rows = [Row(1.0), Made(2.0), copy.copy(Row(3.0))]
        total = sum(row.v for row in rows)
        rows.clear()
        return x * total + gone[0]

    return steps(decorate(f))


@cases.add
def weak_reference_to_an_argument_of_the_program(decorate):
    model = Model()
    model.k = 2.0

    def f(x):
        return x * weakref.ref(model)().k

    g = decorate(f)
    found = steps(g, lambda: setattr(model, "k", 5.0))
    assert not hasattr(g, "paths") or not g.paths().reasons
    return found


@ignore_fallback
@pytest.mark.parametrize("make", cases, ids=name_of)
def test_objects_are_released_as_in_python(make):
    assert make(tf.function) == make(lambda f: f)


@ignore_fallback
@pytest.mark.parametrize("ending", ["time", "error"])
def test_arrays_are_released_without_a_collection(ending):
    """A call that runs as Python leaves no reference cycle, so `ndarray.resize` works after it."""

    state = {"a": np.arange(3, dtype="float32")}

    @tf.function
    def f(x):
        y = tf.reduce_sum(x * state["a"])
        if ending == "error":
            raise ValueError
        return y * time.time()

    counts = [sys.getrefcount(state["a"])]
    gc.disable()
    try:
        for size in (4, 5, 6):
            with contextlib.suppress(ValueError):
                f(tf.constant(1.0))
            counts.append(sys.getrefcount(state["a"]))
            # From Python 3.14 on NumPy also counts the reference of the dictionary.
            state["a"].resize(size, refcheck=sys.version_info < (3, 14))
    finally:
        gc.enable()
    assert len(set(counts)) == 1
