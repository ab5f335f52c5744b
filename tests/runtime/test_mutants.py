"""The mutation testing command, on two mutants."""

import ast
import os
import subprocess
import sys

import pytest
from equivalent_mutants import EQUIVALENT
from mutations import KINDS, all_mutants, changes
from processes import SUPPORT, environment

pytestmark = [
    pytest.mark.numtape_only("changes numtape"),
    pytest.mark.cpu_only("one device is enough"),
]
KILLED = "activations Sigmoid: g * (y * (1.0 - y)) -> y * (1.0 - y)"
SAME = "activations Softplus: x > 0 -> x >= 0"


def test_changes_of_an_expression():
    tree = ast.parse("max(x, 1) < y - z[0]", mode="eval").body
    found = {(ast.unparse(old), ast.unparse(new)) for old, new in changes(tree, calls=False)}
    assert found == {
        ("max(x, 1) < y - z[0]", "max(x, 1) <= y - z[0]"),
        ("max(x, 1)", "min(x, 1)"),
        ("1", "0"),
        ("y - z[0]", "y + z[0]"),
        ("y - z[0]", "y"),
        ("y - z[0]", "z[0] - y"),
        ("0", "1"),
    }


def test_names_are_of_one_mutant_each():
    names = [mutant.name for mutant in all_mutants(KINDS)]
    assert len(names) == len(set(names))
    assert [name for name in EQUIVALENT if name not in names] == []


def test_every_rule_and_body_has_mutants(tf):
    from numtape.core.log.op import CODES

    met = {(mutant.kind, op) for mutant in all_mutants(KINDS) for op in mutant.ops}
    rules = {op.name for op in CODES.ops if op.vjp and ("rules", op.name) not in met}
    hand_on = {"Identity", "BroadcastTo", "AddV2"}  # pass gradients through
    by_functions = {"Real", "Imag", "Angle", "BesselIv", "BesselIve", "BesselJv"}  # made so
    assert rules == hand_on | by_functions
    bodies = {op.body for op in CODES.ops if op.body and ("bodies", op.name) not in met}
    parts = {"real(x)", "imag(x)", "angle(x)"}
    assert bodies == {"x", "sum", "max", "min"} | parts


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="every mutant gets a forked child")
def test_one_mutant_is_killed_and_an_equivalent_one_survives():
    assert SAME in EQUIVALENT
    found = subprocess.run(
        [sys.executable, str(SUPPORT / "mutants.py"), "--only", KILLED, "--only", SAME],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert found.returncode == 1, found.stderr
    survived, killed, total = sorted(found.stdout.splitlines(), reverse=True)
    assert survived.startswith("survived") and SAME in survived
    assert killed.startswith("killed") and KILLED in killed
    assert total == "1 bodies survived, 1 rules killed"
