"""Random programs that create and read objects, and change classes and state between calls."""

import random

import pytest
from checks import SEED
from class_cases import CASES
from object_programs import BEGIN, Program, compare
from state_cases import numtape_only

from numtape.core.replay import dispatch
from numtape.core.replay.observe.guards import Guards

pytestmark = numtape_only

CHUNKS = 4


def check(seeds):
    """The number of programs, and how many were replayed."""
    ran = replayed = 0
    for seed in seeds:
        program = Program(seed)
        said, hits, _ = compare(program)
        assert said is None, f"seed {seed} (--seed {SEED}): {said}\n{program.text()}"
        ran, replayed = ran + 1, replayed + (hits > 0)
    return ran, replayed


@pytest.mark.parametrize("k", range(CHUNKS))
def test_the_same_programs(k, request):
    count = 2 * request.config.getoption("--programs")
    ran, replayed = check(range(k, count, CHUNKS))
    assert replayed > ran // 4 or ran < 40  # otherwise the test would compare Python with Python


@pytest.mark.parametrize("k", range(CHUNKS))
def test_other_programs_for_each_seed(k, request):
    count, start = 2 * request.config.getoption("--programs"), (SEED + 1) * 1_000_000
    check(range(start + k, start + count, CHUNKS))


def finds(seeds=range(600)):
    return any(compare(Program(seed))[0] is not None for seed in seeds)


def test_programs_detect_missing_guards(monkeypatch):
    monkeypatch.setattr(Guards, "holds", lambda self: True)
    assert finds()


def test_programs_detect_missing_guards_on_temporary_objects(monkeypatch):
    lasting = dispatch.select_lasting
    monkeypatch.setattr(dispatch, "select_lasting", lambda found, of_temporary: lasting(found, []))
    assert finds()


@pytest.mark.parametrize("name", CASES)
def test_cases(name):
    source, *changes = CASES[name]
    program = object.__new__(Program)
    program.draw = random.Random(0)
    program.source = program._filled(BEGIN) + source
    program.steps = [None] * 3
    for change in changes:
        program.steps += [change, None, None, None]
    said, _, good = compare(program)
    assert said is None, f"{said}\n{program.text()}"
    assert good
