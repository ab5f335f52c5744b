"""Checks third derivatives of a sample of op rows on the simulated GPU; prints their number."""

import sys

import op_cases
import test_ops

import numtape as tf

assert tf.config.simulated()
every, start = map(int, sys.argv[1:])
rows = [case for case in op_cases.CASES if case.order == 2][start::every]
for case in rows:
    try:
        test_ops.test_third_derivatives(tf, "cuda", case)
    except Exception as error:
        error.add_note(case.name)
        raise
print(len(rows))
