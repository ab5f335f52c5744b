"""Random loops with tapes: the same bits with machine code and with Python only."""

import json
import subprocess
import sys

import pytest
from processes import SUPPORT, environment, output

from numtape.core.cpython import layout

BLOCK = 50  # programs; two processes of 4 s
pytestmark = [
    pytest.mark.numtape_only("how gradients are recorded"),
    pytest.mark.skipif(
        bool(layout.unsupported_reason()), reason=layout.unsupported_reason() or "usable"
    ),
]


def course(first, how):
    """The results of programs in their own process."""
    script = str(SUPPORT / "tape_programs.py")
    child = subprocess.Popen(
        [sys.executable, script, str(first), str(first + BLOCK)],
        text=True,
        env=environment(NUMTAPE_RECORD=how),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    return [json.loads(line) for line in output(child).splitlines()]


@pytest.mark.parametrize(
    "first",
    [pytest.param(first, marks=pytest.mark.slow) for first in range(0, 400, BLOCK)],
)
def test_machine_code_gives_the_same_bits(first):
    machine, python = course(first, "native"), course(first, "python")
    assert len(machine) == len(python) == BLOCK
    for found, expected in zip(machine, python, strict=True):
        assert found["hash"] == expected["hash"], f"seed {found['seed']}"
        assert found["errors"] == expected["errors"]
    assert not any(found["gradients"] or found["looks"] for found in python)
    # Machine code must have run, or the comparison would be empty.
    assert sum(found["gradients"] > 0 for found in machine) > BLOCK // 4
    assert sum(found["looks"] for found in machine) > 2 * BLOCK
