"""Comparisons of derivatives, and the smallest operands of a row of the op table."""

import numpy as np
from op_draws import draw, variants

SMALL = 40  # the maximal number of elements of operands and result


def smallest(case):
    """Operands and options of a small variant with more than one element."""
    if case.elementwise:
        shapes = ((3, 1), (1, 2), (2,))[: len(case.ranges)]
        if case.widest:
            shapes = (np.broadcast_shapes(*shapes), *shapes[1:])
        return draw(case, shapes, "float64"), case.options[0]
    found = [(draw(case, shapes, "float64"), options) for shapes, options in variants(case)]
    found = [pair for pair in found if 1 < sum(x.size for x in pair[0]) <= SMALL]
    return max(found, key=lambda pair: sum(x.size for x in pair[0]), default=None)
