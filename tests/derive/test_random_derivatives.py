"""Random compositions at random and special points: derivatives against mpmath."""

import numpy as np
import pytest
from kernel_checks import function_of, plain
from random_derivatives import Program, truth, wrong

pytestmark = pytest.mark.numtape_only(reason="TensorFlow is wrong in some of these")

EACH, USUAL, ALL = 10, 40, 100


@pytest.mark.parametrize(
    "first",
    [pytest.param(n, marks=[] if n < USUAL else [pytest.mark.slow]) for n in range(0, ALL, EACH)],
)
def test_derivatives_of_random_programs(tf, first):
    """To third order; for every fifth program also the Jacobian and a recorded function."""
    compared = 0
    for seed in range(first, first + EACH):
        lines, count = wrong(tf, seed, seed % 5 == 0)
        assert not lines, "\n".join(lines)
        compared += count
    assert compared


@pytest.mark.cpu_only("kernels run on the host")
@pytest.mark.parametrize(
    "first",
    [
        pytest.param(n, marks=[] if n < 2 * USUAL else [pytest.mark.slow])
        for n in range(0, ALL, 2 * EACH)
    ],
)
def test_random_programs_as_native_loops(first):
    """The first derivative of programs that have a loop version, by generated sweeps."""
    for seed in range(first, first + 2 * EACH):
        program = Program(seed)
        lines = program.lines(2)
        if lines is None:
            continue
        text = "".join(f"    {line}\n" for line in lines)
        function = function_of(f"def f(v0):\n{text}    return v{len(lines)} + 0.0 * v0\n")
        for at in program.points:
            right = truth(program, at)
            # Only compiled loops compute both sides of a branch, by NumPy's rules.
            if right is None or any(step[0] == "where" for step in program.steps):
                continue
            with np.errstate(all="ignore"):
                try:
                    _, found = plain(function, [np.float64(at)], [0])
                except (ValueError, OverflowError, ZeroDivisionError):
                    continue  # Python's math raises, unlike C
            assert found[0] == pytest.approx(right[1], rel=1e-6, abs=1e-12), (seed, lines, at)
