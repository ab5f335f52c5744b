"""The evals of GradBench, with values from independent computations, and the harness."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.gradbench.cases import CASES, KNOWN, figure, text
from benchmarks.gradbench.kernels import kernel_of
from numtape.core.loops.program import program
from numtape.core.loops.runtime.invoke import kinds_of
from numtape.core.loops.runtime.plain import run

pytestmark = [pytest.mark.numtape_only("native loops"), pytest.mark.cpu_only("native loops")]
ROOT = Path(__file__).resolve().parents[2]
NAMES = [f"{known.eval}-{k}" for k, known in enumerate(KNOWN)]


def check(known, value, adjoints):
    if not math.isnan(known.value):
        assert value == pytest.approx(known.value, rel=1e-10)
    gradient = np.concatenate([np.ravel(x) for x in adjoints])
    for key, expected in known.gradient.items():
        assert figure(gradient, key) == pytest.approx(expected, rel=1e-10), key


@pytest.mark.parametrize("known", KNOWN, ids=NAMES)
def test_known_gradients_of_the_text(known):
    kernel = kernel_of(known.eval, known.arguments)
    kinds = list(kinds_of(known.arguments))
    made = program(kernel.python_function, kinds, list(known.wanted))
    status, value, adjoints = run(made, list(known.arguments))
    assert status == 0
    check(known, value, [adjoints[j] for j in known.wanted])


@pytest.mark.slow
@pytest.mark.parametrize("known", KNOWN, ids=NAMES)
def test_known_gradients(known):
    import numtape as tf

    kernel = kernel_of(known.eval, known.arguments)
    value, adjoints = tf.value_and_grad(kernel, known.wanted)(*known.arguments)
    check(known, value, adjoints)
    if not math.isnan(known.value):
        assert kernel(*known.arguments) == pytest.approx(known.value, rel=1e-10)


def test_the_text_has_the_bits_of_its_characters():
    bits = text(5000)
    assert bits.shape == (5000, 14)
    codes = (bits @ 2.0 ** np.arange(13, -1, -1)).astype(int)
    assert "".join(map(chr, codes[:11])) == "THE SONNETS"
    assert (codes[4096:] == codes[: 5000 - 4096]).all()


@pytest.mark.slow
def test_quick_run_writes_json_and_readme(tmp_path):
    output, readme = tmp_path / "result.json", tmp_path / "README.md"
    readme.write_text("above\n<!-- gradbench:begin -->\nold\n<!-- gradbench:end -->\nbelow\n")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "benchmarks.gradbench",
            "--quick",
            "--libraries",
            "numtape",
            "--cases",
            "lse",
            "--output",
            output,
            "--readme",
            readme,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(output.read_text())
    assert list(result["cases"]) == ["lse"]
    assert str(ROOT) not in output.read_text()
    columns = result["cases"]["lse"]["columns"]
    assert columns.keys() == {"numtape", "array ops"}
    for column in columns.values():
        assert column["error"] < 1e-10
        assert 0 < column["primal"] and 0 < column["gradient"]
    assert columns["numtape"]["stack"] == 9 * CASES["lse"].small[0] + 8
    for column in columns.values():
        assert column["operations"] == CASES["lse"].operations(CASES["lse"].small)
    lines = readme.read_text().splitlines()
    assert lines[:2] == ["above", "<!-- gradbench:begin -->"]
    assert lines[-2:] == ["<!-- gradbench:end -->", "below"]
    assert lines[4].startswith("| lse, 1.28 M | ")
