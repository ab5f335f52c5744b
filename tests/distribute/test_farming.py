"""Objects in other processes, and the examples that farm work out with Dask and joblib."""

import importlib.util
import multiprocessing
import subprocess
import sys
from pathlib import Path

import pytest
from processes import environment
from ranks import PROGRAMS

EXAMPLES = Path(__file__).resolve().parents[2] / "notebooks" / "examples"
METHODS = [x for x in ("spawn", "forkserver") if x in multiprocessing.get_all_start_methods()]

pytestmark = [
    pytest.mark.distributed,
    pytest.mark.numtape_only("TensorFlow's objects cannot be pickled"),
    pytest.mark.cpu_only("each process uses the CPU"),
]


def needs(package):
    """Mark tests that need a package."""
    reason = f"{package} is needed"
    return pytest.mark.skipif(importlib.util.find_spec(package) is None, reason=reason)


def output(program, *arguments, timeout=300, **variables):
    """The output of a program, which must succeed."""
    child = subprocess.run(
        [sys.executable, "-P", str(program), *map(str, arguments)],
        env=environment(NUMTAPE_QUIET=1, **variables),
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert child.returncode == 0, f"exit status {child.returncode}\n{child.stdout}\n{child.stderr}"
    assert "RuntimeWarning: numtape" not in child.stderr, child.stderr
    return child.stdout


@pytest.mark.parametrize(
    ("method", "way"),
    [
        pytest.param(
            method,
            way,
            marks=[] if (method == "spawn") == (way == "cloudpickle") else pytest.mark.slow,
        )
        for method in METHODS
        for way in ("pickle", "cloudpickle")
    ],
)
def test_objects_compute_the_same_bits_in_another_process(method, way):
    pytest.importorskip(way)
    (last,) = output(PROGRAMS / "round_trips.py", method, way).splitlines()
    count, word = last.split()
    assert word == "objects"
    assert int(count) >= 50


# --- The examples -----------------------------------------------------------------------------

SMALL = "--tasks", 64, "--paths", 200


@pytest.fixture(scope="module")
def greeks():
    """The Greeks of 64 tasks, computed in one process."""
    return output(EXAMPLES / "greeks_dask.py", *SMALL, "--workers", 0)


@needs("distributed")
@pytest.mark.parametrize(
    "run", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 10))]
)
def test_greeks_have_the_same_bits_though_a_worker_is_killed(greeks, tmp_path, run):
    mark = tmp_path / "killed"
    printed = output(EXAMPLES / "greeks_dask.py", *SMALL, "--workers", 2, "--kill", mark)
    assert mark.exists()
    assert printed == greeks
    assert len(printed.splitlines()) == 4


@needs("distributed")
def test_scenarios_have_the_same_gradients_on_workers(tmp_path):
    """The example compares with the gradient that it computes itself."""
    printed = output(EXAMPLES / "scenarios_dask.py", "--scenarios", 4, "--days", 200)
    assert [line.split()[0] for line in printed.splitlines()] == ["shortage", "by", "by"]


@needs("joblib")
def test_a_sweep_has_the_same_results_in_processes():
    results = {
        jobs: output(EXAMPLES / "sweep_joblib.py", "--epochs", 1, "--jobs", jobs) for jobs in (1, 2)
    }
    assert results[1] == results[2]
    assert "the best, trained for one more epoch" in results[1]


@needs("distributed")
@pytest.mark.slow
def test_workers_find_a_sent_kernel_in_the_cache_under_one_key(tmp_path):
    """Its key depends on its code, not on the process or on the file that it was sent from."""
    example = EXAMPLES / "scenarios_dask.py"
    output(example, "--scenarios", 8, "--days", 50, "--workers", 4, NUMTAPE_CACHE_DIR=tmp_path)
    assert len(list(tmp_path.glob("loops_*.unit"))) == 1
