"""Attributes and methods of numtape's own objects, which a program can set or replace.

Each case is compared with plain Python; see `state_cases`.
"""

import pytest
from state_cases import Cases, ignore_fallback, name_of, numtape_only, steps

import numtape as tf

pytestmark = numtape_only

cases = Cases()


# Methods and properties of tensors and variables can be replaced.


def patch_case(name, use, patch):
    def make(decorate):
        v = tf.Variable(2.0)
        undo = []

        def f(x):
            return use(x, v)

        def change():
            owner, attribute, value = patch
            undo.append((owner, attribute, getattr(owner, attribute)))
            setattr(owner, attribute, value)

        try:
            return steps(decorate(f), change)
        finally:
            for one in undo:
                setattr(*one)

    return cases.named(name, make)


patch_case(
    "operator_of_tensors", lambda x, v: x + 1.0, (tf.Tensor, "__add__", lambda a, b: a * 5.0)
)
patch_case("method_of_tensors", lambda x, v: x * x.numpy(), (tf.Tensor, "numpy", lambda a: 5.0))
patch_case(
    "method_of_variables",
    lambda x, v: x * v.read_value(),
    (tf.Variable, "read_value", lambda v: 5.0),
)
patch_case(
    "property_of_tensors",
    lambda x, v: x * float(x.dtype.size),
    (tf.Tensor, "dtype", property(lambda t: tf.float64)),
)


# Functions and tapes can get attributes.


@cases.add
def attributes_of_numtapes_objects(decorate):
    other = tf.function(lambda x: x)

    def f(x):
        return x * getattr(other, "scale", 1.0) * (3.0 if hasattr(other, "q") else 1.0)

    return steps(
        decorate(f),
        lambda: setattr(other, "scale", 5.0),
        lambda: setattr(other, "q", 1),
        lambda: delattr(other, "q"),
    )


@cases.add
def attribute_of_a_tape(decorate):
    tape = tf.GradientTape()

    def f(x):
        return x * getattr(tape, "scale", 1.0)

    return steps(decorate(f), lambda: setattr(tape, "scale", 5.0))


@ignore_fallback
@pytest.mark.parametrize("make", cases, ids=name_of)
def test_changes_of_numtape_objects_are_seen(make):
    assert make(tf.function) == make(lambda f: f)
