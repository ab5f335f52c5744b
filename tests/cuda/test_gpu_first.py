"""`benchmarks.gpu.first`: in the simulator, on a stub driver, and with a failing step."""

import json
import subprocess
import sys

import pytest
from processes import ROOT, SUPPORT, environment, run

pytestmark = [
    pytest.mark.numtape_only("about numtape's benchmarks"),
    pytest.mark.cpu_only("it starts processes for each device by itself"),
]

SIMULATED = {"NUMTAPE_DEVICE": "cuda", "NUMBA_ENABLE_CUDASIM": "1"}
FEW = ["versions", "cubin", "gather", "scans", "products", "exhaust_memory", "rates"]
# The stub computes nothing: steps that check results fail, and the others run.
ON_STAND_IN = """
import sys
sys.path[:0] = sys.argv[1:3]
from stub_driver import StubDriver
from numtape.core.cuda.runtime import driver
driver._bindings = StubDriver
from benchmarks.gpu.first import main
output, *names = sys.argv[3:]
print("status", main(["--here", "--no-benchmarks", "--output", output, "--steps", *names]))
"""


def first(tmp_path, *arguments, **variables):
    """The output and the JSON."""
    output = tmp_path / "first.json"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.gpu.first", "--output", str(output), *arguments],
        env=environment(ROOT, **variables),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=550,
    )
    return done, json.loads(output.read_text("utf-8"))


@pytest.mark.slow
def test_steps_in_the_simulator(tmp_path):
    done, found = first(tmp_path, "--no-benchmarks", "--steps", *FEW, **SIMULATED)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [step["verdict"] for step in found["steps"].values()] == ["right"] * len(FEW)
    assert set(found["steps"]) == set(FEW)
    assert found["simulated"]
    assert found["steps"]["cubin"]["facts"]["elements"] == 43
    assert "copy/s" in found["steps"]["rates"]["facts"]
    assert f"{len(FEW)} of {len(FEW)} right" in done.stdout.splitlines()[-1]


@pytest.mark.thorough
def test_everything_in_the_simulator(tmp_path):
    done, found = first(tmp_path, **SIMULATED)
    assert done.returncode == 0, done.stdout + done.stderr
    assert found["steps"]["benchmarks"]["facts"]["status"] == 0
    assert (tmp_path / "first-benchmarks.json").exists()


def test_steps_on_a_stand_in_driver(tmp_path):
    """Kernels are compiled and launched, and missing results are detected."""
    pytest.importorskip("numba_cuda")
    pytest.importorskip("cuda.bindings")
    output = tmp_path / "first.json"
    names = ["versions", "cubin", "exhaust_memory"]
    printed = run(
        ON_STAND_IN,
        ROOT,
        SUPPORT,
        output,
        *names,
        NUMTAPE_DEVICE="cuda",
        NUMBA_ENABLE_CUDASIM=None,
    )
    steps = json.loads(output.read_text("utf-8"))["steps"]
    assert steps["versions"]["facts"]["gpu"] == "Stub"
    assert steps["cubin"]["verdict"] == "wrong"
    assert "instead of" in steps["cubin"]["problem"]
    assert "Traceback" in steps["cubin"]["traceback"]
    assert printed.splitlines()[-1] == "status 1"


def test_a_step_that_dies_or_does_not_end(monkeypatch):
    from benchmarks.gpu import first

    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "1")
    late = first.request("cubin", 0.01)
    assert late["verdict"] == "no answer"
    dead = first.request("no step of this name", 100)
    assert dead["verdict"] == "wrong"
    assert "status 2" in dead["problem"]
    assert "invalid choice" in dead["traceback"]


def test_time_that_is_spent(tmp_path):
    done, found = first(tmp_path, "--budget", "0", "--steps", "cubin", "large", **SIMULATED)
    assert done.returncode == 1
    assert {step["verdict"] for step in found["steps"].values()} == {"no answer"}
