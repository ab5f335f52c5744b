"""Arguments: a call receives the caller's own objects.

Each case is compared with plain Python; see `state_cases`.
"""

# ruff: noqa: RUF015

import collections
import copy
import decimal
import math
import operator

import numpy as np
import pytest
from state_cases import Cases, ignore_fallback, name_of, numtape_only, steps

import numtape as tf

pytestmark = numtape_only

cases = Cases()


# Arguments that are equal to earlier ones but not identical are other arguments.


class Key:
    def __init__(self, name, weight):
        self.name, self.weight = name, weight

    def __eq__(self, other):
        return self.name == other.name

    def __hash__(self):
        return hash(self.name)


class Box:
    pass


def equal_argument_case(f, first, second, wrap):
    def make(decorate):
        b = Box()
        b.value = first()
        return steps(
            decorate(f),
            lambda: setattr(b, "value", second()),
            args=lambda: (tf.constant(1.0), wrap(b.value)),
        )

    return cases.named(f.__name__, make)


def keys_of_a_dict(x, d):
    return x * sum(k.weight for k in d)


def members_of_a_frozenset(x, s):
    return x * sum(k.weight for k in s)


def text_of_a_decimal_key(x, d):
    return x * len(str(list(d)[0]))


def sign_of_nan(x, n):
    return x * math.copysign(1.0, n)


def metadata(x, t):
    return x * t.metadata["k"]


equal_argument_case(
    keys_of_a_dict, lambda: Key("a", 2.0), lambda: Key("a", 5.0), lambda k: {k: 1.0}
)
equal_argument_case(
    members_of_a_frozenset, lambda: Key("a", 2.0), lambda: Key("a", 5.0), lambda k: frozenset([k])
)
equal_argument_case(
    text_of_a_decimal_key,
    lambda: decimal.Decimal("1.0"),
    lambda: decimal.Decimal("1.00"),
    lambda k: {k: 1.0},
)
equal_argument_case(sign_of_nan, lambda: math.nan, lambda: -math.nan, lambda n: n)
equal_argument_case(
    metadata,
    lambda: np.dtype("f8", metadata={"k": 2.0}),
    lambda: np.dtype("f8", metadata={"k": 5.0}),
    lambda t: t,
)


# Arguments keep their class and attributes.


class NamedPoint(collections.namedtuple("NamedPoint", "a b")):
    pass


@cases.add
def attribute_of_a_namedtuple(decorate):
    p = NamedPoint(1.0, 2.0)
    p.scale = 3.0

    def f(x, p):
        return x * p.scale

    return steps(decorate(f), args=lambda: (tf.constant(1.0), p))


# A parameter can be called `self`.


@cases.add
def self_by_keyword(decorate):
    def f(x, self=1.0):
        return x * self

    g = decorate(f)
    try:
        return float(g(tf.constant(1.0), self=3.0))
    except TypeError as error:
        return repr(error)


# Deeply nested arguments are compared without recursion.


@cases.add
def deep_arguments(decorate):
    def nest(x):
        for _ in range(3000):
            x = (x,)
        return x

    wide = 1.0
    for _ in range(60):
        wide = (wide, wide)

    def f(x, deep, wide):
        while type(deep) is tuple:
            (deep,) = deep
        return x * deep

    g = decorate(f)
    return [float(g(tf.constant(1.0), nest(k), wide)) for k in (1.0, 1.0, 2.0)]


# Tensors, lists and dicts are the caller's own, also while a call is recorded.


def identity_case(name, argument, use):
    def make(decorate):
        def f(x, given):
            return x * 2.0 if use(given, argument) else x * 3.0

        other = tf.constant(1.0) if type(argument) is tf.Tensor else copy.copy(argument)
        g = decorate(f)
        return [*steps(lambda x: g(x, argument)), *steps(lambda x: g(x, other))]

    return cases.named(name, make)


def raises_if_not(given, argument):
    if given is not argument:
        raise ValueError
    return True


identity_case("is_a_tensor", tf.constant(1.0), lambda x, y: x is y)
identity_case("is_not_a_tensor", tf.constant(1.0), lambda x, y: x is not y)
identity_case("is_a_tensor_by_a_function", tf.constant(1.0), operator.is_)
identity_case("id_of_a_tensor", tf.constant(1.0), lambda x, y: id(x) == id(y))
identity_case("ref_of_a_tensor", tf.constant(1.0), lambda x, y: x.ref() in {y.ref()})
identity_case("a_tensor_in_a_list", tf.constant(math.nan), lambda x, y: x in [y])
identity_case("raises_if_it_is_another_one", tf.constant(1.0), raises_if_not)
identity_case("is_a_list", [1.0], lambda x, y: x is y)
identity_case("is_a_dict", {"a": tf.constant(1.0)}, lambda x, y: y is x)
identity_case("id_of_a_list", [1.0], lambda x, y: id(x) == id(y))
identity_case("is_in_a_list", [tf.constant(1.0)], lambda x, y: x[0] is y[0])
identity_case("is_none", tf.constant(1.0), lambda x, y: x is None)


@cases.add
def one_list_twice(decorate):
    both = [1.0]

    def f(x, a, b):
        return x * 2.0 if a is b else x * 3.0

    return steps(decorate(f), args=lambda: (tf.constant(1.5), both, both))


# Changes of list and dict arguments reach the caller, and are seen by later calls.


@cases.add
def out_parameter(decorate):
    out = []

    def f(x, out):
        out.append(1.0)
        return x * len(out)

    return steps(decorate(f), args=lambda: (tf.constant(1.5), out), also=lambda: [float(len(out))])


@cases.add
def argument_that_is_kept(decorate):
    kept = {}

    def f(x, given):
        y = x * kept["l"][0] if "l" in kept else x
        kept["l"] = given
        return y

    given, g = [2.0], decorate(f)
    out = steps(lambda x: g(x, given), lambda: given.__setitem__(0, 5.0))
    return [*out, kept["l"] is given]


@cases.add
def argument_that_is_an_attribute_then(decorate):
    class Holder:
        pass

    holder, given = Holder(), {"k": 1.0}

    def f(x, given):
        holder.given = given
        return x * given["k"]

    g = decorate(f)
    out = steps(lambda x: g(x, given), lambda: given.update(k=2.0))
    return [*out, holder.given is given]


@cases.add
def argument_that_is_appended(decorate):
    kept, given = [], [1.0]

    def f(x, given):
        kept.append(given)
        return x * len(given)

    g = decorate(f)
    out = steps(lambda x: g(x, given), lambda: given.append(2.0))
    return [*out, [one is given for one in kept]]


@cases.add
def argument_changed_by_another_name(decorate):
    given, other = [1.0], {"k": 1.0}
    names, numbers = {"l": given}, {"n": 1.0}

    def f(x, given, also):
        names["l"].append(5.0)
        other["k"] = numbers["n"]
        return x * len(given) * also["k"]

    g = decorate(f)
    out = steps(lambda x: g(x, given, other), lambda: numbers.update(n=4.0))
    return [*out, len(given), other["k"]]


@ignore_fallback
@pytest.mark.parametrize("make", cases, ids=name_of)
def test_arguments_are_the_callers_objects(make):
    assert make(tf.function) == make(lambda f: f)
