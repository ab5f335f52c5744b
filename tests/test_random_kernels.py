"""Random programs of loops: their reverse sweeps against central differences."""

import numpy as np
import pytest
from random_kernels import differences, fresh, program

from numtape.core.loops.plain import run
from numtape.core.loops.program import program as sweeps

pytestmark = pytest.mark.numtape_only("native loops")
KINDS = [("float64", 1), ("float64", 2), ("int64", 1), ("float64", -1), ("float64", -1)]
SEEDS, EACH = 5000, 50
USUAL = 1000  # the others with --slow, as all compiled ones but two
COMPILED = 60


def flat(found, wanted):
    return np.concatenate([np.ravel(found[j]) for j in wanted])


def check(seed):
    """Whether a program was compared; False for one near a branch that differences go across."""
    function, arguments, wanted = program(seed)
    made = sweeps(function, KINDS, wanted)
    with np.errstate(all="ignore"):
        expected, trusted = differences(function, arguments, wanted)
        status, value, found = run(made, arguments)
        assert status == 0
        assert value == pytest.approx(function(*fresh(arguments)), rel=1e-12, abs=1e-12)
    if trusted:
        got, scale = flat(found, wanted), 1.0 + np.abs(expected).max()
        assert np.abs(got - expected).max() < 2e-5 * scale, f"program {seed}"
    return trusted


@pytest.mark.parametrize("first", [
    first if first < USUAL else pytest.param(first, marks=pytest.mark.slow)
    for first in range(0, SEEDS, EACH)
])  # fmt: skip
def test_sweeps_of_random_programs(first):
    compared = sum(check(seed) for seed in range(first, first + EACH))
    assert compared > 0.8 * EACH


@pytest.mark.parametrize("seed", [
    seed if seed < 2 else pytest.param(seed, marks=pytest.mark.slow) for seed in range(COMPILED)
])  # fmt: skip
def test_compiled_random_programs(seed):
    import numtape as tf

    function, arguments, wanted = program(seed)
    value, found = tf.value_and_grad(function, wanted)(*arguments)
    with np.errstate(all="ignore"):
        _, expected, slopes = run(sweeps(function, KINDS, wanted), arguments)
    assert value == pytest.approx(expected, rel=1e-12)
    slopes = flat(slopes, wanted)
    got = np.concatenate([np.ravel(x) for x in found])
    np.testing.assert_allclose(got, slopes, rtol=1e-10, atol=1e-11 * (1 + np.abs(slopes).max()))
