"""Count the Python functions that a program runs."""

import pytest

from numtape.core.cpython import layout

COUNTED = """
import sys
import numtape as tf
from numtape.core.native import patch

float(tf.constant(1.0) + 1.0)
assert patch.describe().startswith(sys.argv[1]), patch.describe()

def functions_run(program):
    seen = []
    def tell(frame, event, arg):
        if event == "call":
            seen.append(frame.f_code.co_qualname)
    for _ in range(3):
        program()
    sys.setprofile(tell)
    try:
        program()
    finally:
        sys.setprofile(None)
    return seen[1:]

x, c = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([True, False])
v, number = tf.Variable(x), tf.Variable(1.0)
"""


usable = pytest.mark.skipif(
    bool(layout.unsupported_reason()), reason=layout.unsupported_reason() or "usable"
)
