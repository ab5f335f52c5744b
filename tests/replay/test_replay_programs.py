"""Random programs: each step has the same results with `tf.function` and in plain Python."""

import pytest
import replay_programs
from checks import SEED
from devices import SIMULATED
from replay_programs import Program, compare, script, shrunk

# Half of the programs are the same in every run, the others depend on `--seed`; `--programs` sets
# their number.
CHUNKS = 10
FIRST = (SEED + 1) * 10**6

pytestmark = pytest.mark.numtape_only(reason="TensorFlow does not replay")


def check(seeds):
    for seed in seeds:
        program = Program(seed)
        world = program.source, program.steps
        try:
            wrong = compare(*world, program.look, program.check)
        except Exception as error:
            error.add_note(script(*world, program.look, program.check))
            raise
        if wrong is not None:
            small = shrunk(*world, program.look, program.check)
            pytest.fail(
                f"seed {seed} (--seed {SEED}): {wrong}\n\nAs a script:\n\n"
                f"{script(*small, program.look, program.check)}"
            )


@pytest.fixture
def count(tf, request, executor):
    """The number of programs of each kind, on each device.

    Compiling for a GPU takes longer, and its simulator runs each thread in Python.
    """
    with tf.config.override(executor):
        asked = request.config.getoption("--programs") // 2
        yield min(asked, 10 if SIMULATED else 100) if executor == "cuda" else asked


@pytest.mark.parametrize("k", range(CHUNKS))
def test_programs(count, k):
    check(range(k, count, CHUNKS))


@pytest.mark.parametrize("k", range(CHUNKS))
def test_new_programs(count, k):
    check(range(FIRST + k, FIRST + count, CHUNKS))


def broken_guards(monkeypatch):
    from numtape.core.replay.recording import Recording

    monkeypatch.setattr(Recording, "_first_failed_guard", lambda self, log: None)


def broken_names(monkeypatch):
    from numtape.core.replay.observe.guards import Guards

    monkeypatch.setattr(Guards, "holds", lambda self: True)


def broken_draws(monkeypatch):
    from numtape.core.replay.trace import CallDraws

    monkeypatch.setattr(CallDraws, "number_after", lambda self, k: self.base)


def broken_guards_on_tapes(monkeypatch):
    from numtape.core.replay.recording import Recording

    monkeypatch.setattr(Recording, "_first_failed_row", lambda self, log, to: None)


def broken_assigns(monkeypatch):
    from numtape.core.replay.trace import Trace

    monkeypatch.setattr(Trace, "forget_reads", lambda self, variables: None)


def broken_leaks(monkeypatch):
    from numtape.core.replay import dispatch

    monkeypatch.setattr(dispatch, "find_leaked", lambda trace: [])


@pytest.mark.parametrize(
    "broken, first",
    [
        (broken_guards, 0),
        (broken_names, 0),
        (broken_draws, 0),
        (broken_guards_on_tapes, 0),
        (broken_assigns, 0),
        (broken_leaks, 700),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
@pytest.mark.cpu_only("about the programs, not about a device")
def test_the_programs_detect_defects(broken, first, monkeypatch):
    """``first`` is the first program to try; earlier ones are known not to detect the defect."""
    broken(monkeypatch)
    for seed in range(first, first + 1000):
        program = Program(seed)
        try:
            if compare(program.source, program.steps, program.look, program.check) is not None:
                return
        except Exception:  # a crash also counts as detected
            return
    pytest.fail("1000 programs did not find it")


@pytest.mark.records
def test_a_failing_program_is_shrunk(monkeypatch):
    broken_names(monkeypatch)
    source = "rate = 2.0\nother = 3.0\n@function\ndef f(x):\n    y = x + 1\n    return x * rate"
    steps = ["result = f(1.0)", "other = 1.0", "rate = 4.0", "result = f(2.0)", "result = f(1.0)"]
    small, fewer = shrunk(source, steps, "always", 0)
    assert small == "rate = 2.0\n@function\ndef f(x):\n    return x * rate"
    assert fewer == ["result = f(1.0)", "rate = 4.0", "result = f(1.0)"]


def test_a_script_runs_the_comparison(capsys):
    source = "@function\ndef f(x):\n    return x * 2"
    exec(script(source, ["result = f(1.0)"]), {})
    assert capsys.readouterr().out == "None\n"
    assert replay_programs.compare(source, ["result = f(1.0)", "result = f('no')"]) is None
