"""Random loop programs: reverse sweeps against complex steps and finite differences."""

import numpy as np
import pytest
from complex_steps import analytic, slopes
from random_kernels import differences, fresh, module, program

from numtape.core.loops.program import program as sweeps
from numtape.core.loops.runtime.plain import run

mark = pytest.mark
pytestmark = mark.numtape_only("native loops")
KINDS = [("float64", 1), ("float64", 2), ("int64", 1), ("float64", -1), ("float64", -1)]
SEEDS, EACH = 5000, 50
COMPILED = 60
# In this program the adjoints of 25 steps grow to a million times their sum, and cancel.
TOLERANCES = {2061: 1e-9}


def flat(found, wanted):
    return np.concatenate([np.ravel(found[j]) for j in wanted])


def swept(seed):
    """A program, and the derivatives from its sweeps."""
    function, arguments, wanted = program(seed)
    with np.errstate(all="ignore"):
        status, value, found = run(sweeps(function, KINDS, wanted), arguments)
        assert status == 0
        assert value == pytest.approx(function(*fresh(arguments)), rel=1e-12, abs=1e-12)
    return function, arguments, wanted, flat(found, wanted)


def rows(numbers, usual, slow):
    """Marks for the seeds: none for the first, then slow, then thorough; see pyproject.toml."""
    return [
        pytest.param(n, marks=[] if n < usual else [mark.slow if n < slow else mark.thorough])
        for n in numbers
    ]


@pytest.mark.parametrize("first", rows(range(0, SEEDS, EACH), 100, 1000))
def test_sweeps_of_random_programs(first):
    """Derivatives of all programs, to the last digits."""
    for seed in range(first, first + EACH):
        _, arguments, wanted, got = swept(seed)
        with np.errstate(all="ignore"):
            expected = slopes(analytic(module(seed))["f"], arguments, wanted)
        error = np.abs(got - expected).max() / (1 + np.abs(expected).max())
        assert error < TOLERANCES.get(seed, 1e-12), seed


def test_differences_of_random_programs():
    """Differences are independent of rules. Programs whose steps cross a branch are skipped."""
    compared = 0
    for seed in range(EACH):
        function, arguments, wanted, got = swept(seed)
        with np.errstate(all="ignore"):
            expected, trusted = differences(function, arguments, wanted)
        scale = 1.0 + np.abs(expected).max()
        assert not trusted or np.abs(got - expected).max() < 2e-5 * scale, seed
        compared += trusted
    assert compared > 0.8 * EACH


@pytest.mark.parametrize("seed", rows(range(COMPILED), 0, 10))
def test_compiled_random_programs(seed):
    import numtape as tf

    function, arguments, wanted = program(seed)
    value, found = tf.value_and_grad(function, wanted)(*arguments)
    with np.errstate(all="ignore"):
        _, expected, adjoints = run(sweeps(function, KINDS, wanted), arguments)
    assert value == pytest.approx(expected, rel=1e-12)
    adjoints = flat(adjoints, wanted)
    got = np.concatenate([np.ravel(x) for x in found])
    scale = 1 + np.abs(adjoints).max()
    np.testing.assert_allclose(got, adjoints, rtol=1e-10, atol=1e-11 * scale)
