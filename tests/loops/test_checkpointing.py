"""Stored and recomputed values of sweeps: checked in the generated text, with gradients."""

import math

import numpy as np
import pytest

import numtape as tf
from numtape.core.loops.program import program
from numtape.core.loops.runtime.invoke import kinds_of
from numtape.core.loops.runtime.plain import run

pytestmark = pytest.mark.numtape_only("native loops")


def stored(function, *arguments):
    """The values that the forward sweep stores, and the gradient by the first argument."""
    made = program(function, list(kinds_of(arguments)), [0])
    forward = made.source.partition("_reverse(")[0]
    found = [
        line.split("_of(")[1][:-1]
        for line in forward.splitlines()
        if "] = " in line and "_of(" in line
    ]
    status, _, adjoints = run(made, list(arguments))
    assert status == 0
    return found, np.ravel(adjoints[0])


def differences(function, x, *others):
    steps = 1e-6 * np.eye(len(x))
    return [(function(x + e, *others) - function(x - e, *others)) / 2e-6 for e in steps]


X = np.array([0.3, 1.2, -0.7, 1.9, 0.4])


def largest(x):
    top = x[0]
    for i in range(1, len(x)):
        top = max(top, x[i] * x[i])
    return top


def smallest_twice(x):
    low = x[0]
    for i in range(1, len(x)):
        low = np.minimum(low, x[i]) * low
    return low


def clipped(x):
    total = 0.0
    y = 0.5
    for i in range(len(x)):
        y = 0.5 * y + x[i]
        z = math.exp(-y * y)
        if z > 0.5:
            total += y * z * z
        total += z
        z = 2.0 * z
        total += z * z * x[i]
    return total


def changed(x):
    total = 0.0
    for i in range(len(x)):
        z = math.exp(x[i])
        if z > 1.5:
            z = math.sin(z)
            total += z * z
        total += z * z
    return total


def test_a_maximum_stores_which_operand_it_took():
    found, gradient = stored(largest, X)
    assert [x.partition(" _")[0] for x in found] == ["top >="]
    np.testing.assert_allclose(gradient, differences(largest, X), rtol=1e-7, atol=1e-9)


def test_a_minimum_stores_no_more_than_it_has_to():
    """The stored operand shows which argument was the minimum."""
    found, gradient = stored(smallest_twice, X)
    assert all(x.isidentifier() for x in found)
    np.testing.assert_allclose(gradient, differences(smallest_twice, X), rtol=1e-7, atol=1e-9)


def test_ties_of_a_maximum_give_all_to_the_first():
    def tie(x):
        top = x[0]
        for i in range(1, len(x)):
            top = max(top, x[i])
        return top

    _, gradient = stored(tie, np.ones(3))
    assert gradient.tolist() == [1.0, 0.0, 0.0]


def test_a_value_that_pieces_share_is_stored_once():
    found, gradient = stored(clipped, X)
    assert found.count("z") == 1
    np.testing.assert_allclose(gradient, differences(clipped, X), rtol=1e-7, atol=1e-9)


def test_a_value_that_changes_between_pieces_is_stored_for_each():
    _, gradient = stored(changed, X)
    np.testing.assert_allclose(gradient, differences(changed, X), rtol=1e-7, atol=1e-9)


def test_compiled_sweeps_that_store_bytes_and_share_values():
    def both(x):
        total = 0.0
        top = x[0]
        for i in range(1, len(x)):
            top = max(top, x[i] * x[i])
            z = math.exp(-x[i])
            if z > 0.5:
                total += x[i] * z * z
            total += z * top
        return total

    value, gradient = tf.value_and_grad(both)(X)
    assert value == pytest.approx(both(X), rel=1e-14)
    np.testing.assert_allclose(gradient, differences(both, X), rtol=1e-7, atol=1e-9)


def signs(x):
    total = 0.0
    sign = 1.0
    at = 0
    for _ in range(len(x) // 2):
        total += sign * x[at] * x[at + 1]
        for j in range(1, 3):
            total += sign * x[at] * x[j]
        sign = -sign
        at += 2
        total += sign * x[at - 1]
    return total


def growing(x):
    total = 0.0
    at = 0
    for i in range(len(x) - 2):
        at = at + i  # not by a constant increment
        total += x[at] * x[at]
    return total


def halves(x, low, high):
    if high - low == 1:
        return x[low] * x[low]
    middle = (low + high) // 2
    return halves(x, low, middle) * halves(x, middle, high)


def skipping(x):
    total = 0.0
    for i in range(len(x)):
        if i == 2:
            continue
        if i > 3:
            return total * x[i]
        total += x[i] * x[i]
    return total


def counting(x, step):
    total = 0.0
    for _ in range(1):
        at = step - 1
        while at < len(x):
            if total < 1.0:
                total += x[at] * x[at]
            if total < 2.0:
                total *= x[at - 1]
            at += step
    return total


def until(x):
    total = 0.0
    for i in range(len(x)):
        first = i // 2
        if first > 0:
            for j in range(first, 2 * first):
                total += x[j] * x[i]
    return total


@pytest.mark.parametrize(
    ("function", "others", "expected"),
    [
        (signs, (), set()),  # constant increments
        (growing, (), {"at"}),
        (halves, (0, 5), {"_8", "_9"}),  # results of calls, but no arguments, bounds or branches
        (skipping, (), {"total", "C1", "_13"}),
        (counting, (2,), {"_2", "_8", "_first0", "total", "C2"}),
        (until, (), set()),
    ],
)
def test_what_follows_from_numbers_of_rounds_and_arguments_is_not_stored(
    function, others, expected
):
    found, gradient = stored(function, X, *others)
    assert set(found) == expected
    np.testing.assert_allclose(gradient, differences(function, X, *others), rtol=1e-7, atol=1e-9)


def picked(x, a, b):
    total = 0.0
    for _ in range(3):
        i = int((a * b - 1.0) * 2.0**55)
        total += x[i] * x[i]
    return total


def judged(x, a, b):
    total = 0.0
    for i in range(3):
        c = a * b - 1.0
        total += x[i] * x[i] if c < 0.0 else x[i]
    return total


@pytest.mark.parametrize("function", [picked, judged])
def test_an_index_or_way_that_rounding_decides_is_that_of_the_function(function):
    """With one rounding for product and sum, an index would be -2 and not 0."""
    others = 1 + 2.0**-27, 1 - 2.0**-27
    value, gradient = tf.value_and_grad(function)(X, *others)
    assert value == function(X, *others)
    np.testing.assert_allclose(gradient, differences(function, X, *others), rtol=1e-7, atol=1e-9)


def powers(a, n):
    return a[n] * a[n] * powers(a, n - 1) if n > 0 else a[0] * a[0]


def changing(x):
    y = x.copy()
    total = powers(y, 2)
    y[1] = 5.0 * x[0]
    return total + powers(y, 2)


def test_what_a_caller_changes_later_is_not_read_again_in_a_call():
    _, gradient = stored(changing, X)
    np.testing.assert_allclose(gradient, differences(changing, X), rtol=1e-7, atol=1e-9)
