"""The GPU simulator: it detects errors in kernels, and finds none in numtape's."""

import pytest
from processes import SUPPORT, run

SIMULATED = {"NUMTAPE_DEVICE": "cuda", "NUMBA_ENABLE_CUDASIM": "1"}
ORDERS = (SUPPORT / "cuda_thread_orders.py").read_text("utf-8")
pytestmark = [
    pytest.mark.numtape_only(reason="TensorFlow has none"),
    pytest.mark.cpu_only("in the simulator, whatever the device"),
]


def test_threads_of_a_block():
    """Threads exchange values, and errors in kernels are detected, in any thread order."""
    run((SUPPORT / "cuda_simulator.py").read_text("utf-8"), **SIMULATED)


@pytest.mark.parametrize(
    "threads, warp, seeds",
    [
        (8, 4, ()),
        pytest.param(8, 4, (1, 2, 3), marks=pytest.mark.slow),
        pytest.param(64, 32, (4,), marks=pytest.mark.slow),
        pytest.param(64, 32, (), marks=pytest.mark.thorough),
        pytest.param(256, 32, (5,), marks=pytest.mark.thorough),
    ],
)
@pytest.mark.slow
def test_threads_in_any_order(threads, warp, seeds):
    """The same bits in any order or, without a seed, no data races between threads."""
    script = SUPPORT / "cuda_all_kernels.py"
    found = run(ORDERS, script, threads, warp, *seeds, timeout=540, **SIMULATED)
    assert "replays ok" in found


@pytest.mark.parametrize(
    "threads, warp, count",
    [
        (8, 4, 2),
        pytest.param(64, 32, 2, marks=pytest.mark.slow),
        pytest.param(256, 32, 1, marks=pytest.mark.thorough),
    ],
)
@pytest.mark.slow
def test_sizes_around_those_of_warps(threads, warp, count):
    script = (SUPPORT / "cuda_sizes.py").read_text("utf-8")
    assert run(script, threads, warp, 0, count, timeout=540, **SIMULATED) == "ok"


@pytest.mark.slow
@pytest.mark.parametrize("start", [0, pytest.param(3, marks=pytest.mark.thorough)])
def test_third_derivatives_of_some_rows(start):
    """Of every sixth row of the op table, from two offsets; all devices share the rules."""
    folders = [str(SUPPORT), str(SUPPORT.parent / "ops")]
    script = (SUPPORT / "cuda_third_derivatives.py").read_text("utf-8")
    assert (
        int(
            run(
                f"import sys; sys.path[:0] = {folders!r}\n{script}",
                6,
                start,
                timeout=540,
                **SIMULATED,
            )
        )
        > 50
    )
