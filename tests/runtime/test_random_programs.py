"""Random programs: every executor, every pattern of looks, with and without a tape, agrees."""

import pytest
from devices import SIMULATED
from random_op_programs import Program, compare

PROGRAMS, BLOCKS = 200, 16
# Each program has some 80 kernels, of 0.2 s each to compile; the simulator is slower still.
ON_CUDA = 16 if SIMULATED else 48


@pytest.mark.numtape_only(reason="TensorFlow has no executors, and does not look")
@pytest.mark.parametrize(
    "block",
    [
        pytest.param(block, marks=[pytest.mark.slow] * (block >= BLOCKS // 4))
        for block in range(BLOCKS)
    ],
)
def test_random_programs(tf, executor, block):
    for seed in range(block, ON_CUDA if executor == "cuda" else PROGRAMS, BLOCKS):
        program = Program(seed)
        try:
            wrong = compare(tf, program, executor)
        except Exception as error:
            error.add_note(program.script())
            raise
        assert wrong is None, f"{wrong}\n\n{program.script()}"
