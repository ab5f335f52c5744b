"""Defaults, attributes and partial arguments of functions, and recursion.

Each case is compared with plain Python; see `state_cases`.
"""

# ruff: noqa: B006

import functools
import types

import pytest
from state_cases import Cases, ignore_fallback, name_of, numtape_only, steps

import numtape as tf

pytestmark = numtape_only

cases = Cases()


# A mutable default keeps what calls store in it; it can be of any type.


@cases.add
def counter_in_a_default(decorate):
    def f(x, seen=[]):
        seen.append(1)
        return x * len(seen)

    return steps(decorate(f))


@cases.add
def cache_in_a_default(decorate):
    def f(x, state={}):
        state["n"] = state.get("n", 0) + 1
        return x * state["n"]

    return steps(decorate(f))


@cases.add
def set_as_default(decorate):
    def f(x, names={"a", "b"}):
        return x * len(names)

    return steps(decorate(f))


# A changed keyword default applies to the next call.


@cases.add
def keyword_defaults(decorate):
    def f(x, *, k=2.0):
        return x * k

    return steps(decorate(f), lambda: f.__kwdefaults__.__setitem__("k", 5.0))


# The keywords of a partial are read, also where C calls it.


@cases.add
def partial_in_map(decorate):
    scaled = functools.partial(lambda v, k: v * k, k=2.0)

    def f(x):
        return x * sum(map(scaled, [1.0, 2.0]))

    return steps(decorate(f), lambda: scaled.keywords.__setitem__("k", 5.0))


@cases.add
def partial_as_sort_key(decorate):
    signed = functools.partial(lambda v, k: v * k, k=1.0)

    def f(x):
        return x * sorted([1.0, 2.0], key=signed)[0]

    return steps(decorate(f), lambda: signed.keywords.__setitem__("k", -1.0))


@cases.add
def partial_as_property(decorate):
    getter = functools.partial(lambda s, k: k, k=2.0)

    class C:
        rate = property(getter)

    o = C()

    def f(x):
        return x * o.rate

    return steps(decorate(f), lambda: getter.keywords.__setitem__("k", 5.0))


@cases.add
def partial_as_getattr_of_a_module(decorate):
    module = types.ModuleType("module")
    module.__getattr__ = functools.partial(lambda name, k: k, k=2.0)

    def f(x):
        return x * module.rate

    return steps(decorate(f), lambda: module.__getattr__.keywords.__setitem__("k", 5.0))


# A function can store state in its own attributes.


@cases.add
def counter_of_the_function(decorate):
    def f(x):
        step.calls = getattr(step, "calls", 0) + 1
        return x * step.calls

    step = decorate(f)
    return steps(step, also=lambda: step.calls)


@cases.add
def cache_of_the_function(decorate):
    def f(x):
        if not hasattr(step, "seen"):
            step.seen = {}
        step.seen["n"] = step.seen.get("n", 0) + 1
        return x * step.seen["n"]

    step = decorate(f)
    return steps(step, also=lambda: step.seen["n"])


# A recursive function needs hardly more of Python's stack than the plain function.


@cases.add
def deep_recursion(decorate):
    def power(x, n):
        return x if n == 1 else x * again(x, n - 1)

    again = decorate(power)
    return steps(lambda x: again(x, 250), args=lambda: (tf.constant(1.0),))


@ignore_fallback
@pytest.mark.parametrize("make", cases, ids=name_of)
def test_state_of_functions_is_as_in_python(make):
    assert make(tf.function) == make(lambda f: f)
