"""Rows of `tf.linalg`."""

import numpy as np
from op_case import Case, F, over

TWO = ((-2.0, 2.0),) * 2


def einsum(equation, *shapes):
    """A row of one equation."""
    return Case(
        "einsum", lambda *xs: np.einsum(equation, *xs), TWO[:1] * len(shapes), ulp=64,
        dtypes=(*F, "int32"), variants=over(shapes if len(shapes) > 1 else shapes[0]),
        call=lambda f, *xs: f(equation, *xs),
    )  # fmt: skip


EINSUM = [
    einsum("ij,jk->ik", (3, 4), (4, 2)), einsum("ji,kj", (4, 3), (2, 4)),
    einsum("bij,bkj->bki", (2, 3, 4), (2, 2, 4)), einsum("...ij,j...->i...", (2, 3, 4), (4, 1)),
    einsum("abc,cab->", (2, 3, 4), (4, 2, 3)), einsum("i,j->ji", (3,), (2,)),
    einsum("...ii->i...", (2, 3, 3)), einsum("iij,jk,kl->li", (2, 2, 3), (3, 4), (4, 2)),
    einsum("aibj,jbc->ciab", (2, 3, 2, 2), (2, 2, 3)), einsum("ij,kl->i", (2, 3), (2, 2)),
]  # fmt: skip

CASES = [*EINSUM]
