"""Random programs: all executors and evaluation patterns agree, with and without a tape."""

import pytest
from devices import SIMULATED
from random_op_programs import Program, compare

PROGRAMS, BLOCKS = 200, 16
# Each program compiles some 80 kernels in 0.2 s each; the simulator is even slower.
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
