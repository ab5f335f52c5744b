"""Rows of special functions with SciPy references, and products in which 0 times anything is 0.

`test_special.py` checks the accuracy of SciPy itself.
"""

import numpy as np
import scipy.special as sp
from op_case import Case, over

SMALL = over((3, 2), (), (0, 3))
PAIRS = over(((3, 1), (1, 2)), ((2,), ()), ((0, 3), (3,)))


def unary(name, reference, low, high, **more):
    return Case(name, reference, ((low, high),), variants=SMALL, ulp=8, **more)


def binary(name, reference, *ranges, **more):
    return Case(name, reference, ranges, variants=PAIRS, ulp=8, **more)


def like(x, number):
    """A number of an operand's dtype."""
    return np.array(number, x.dtype.name)


def log_beta(x):
    return sp.gammaln(x).sum(-1) - sp.gammaln(x.sum(-1))


def no_product(function):
    """A product that is 0 if its first operand is 0."""
    return lambda x, y: np.where(x == 0, x, function(x, np.where(x == 0, 1, y)))


INF, NAN = np.inf, np.nan
ZERO = [([[0.0, 0.0, 0.0, 0.0, 2.0, 2.0, NAN], [0.0, INF, -1.0, NAN, 0.0, INF, 1.0]], {})]
BESSEL = {
    "i0": (-3.0, 3.0),
    "i0e": (0.2, 3.0),
    "i1": (-3.0, 3.0),
    "i1e": (-3.0, -0.2),
    "j0": (-3.0, 3.0),
    "j1": (-3.0, 3.0),
    "k0": (0.5, 3.0),
    "k0e": (0.5, 3.0),
    "k1": (0.5, 3.0),
    "k1e": (0.5, 3.0),
    "y0": (0.5, 3.0),
    "y1": (0.5, 3.0),
}

CASES = [
    unary("math.lgamma", sp.gammaln, 0.2, 6.0),
    unary("math.digamma", sp.psi, 0.3, 6.0),
    unary(
        "math.polygamma",
        lambda x: sp.polygamma(1, x),
        0.5,
        4.0,
        call=lambda f, x: f(like(x, 1.0), x),
    ),
    unary("math.zeta", lambda x: sp.zeta(2.5, x), 0.5, 4.0, call=lambda f, x: f(like(x, 2.5), x)),
    unary(
        "math.betainc",
        lambda x: sp.betainc(1.5, 2.5, x),
        0.1,
        0.9,
        call=lambda f, x: f(like(x, 1.5), like(x, 2.5), x),
    ),
    binary("math.igamma", sp.gammainc, (0.5, 4.0), (0.3, 6.0)),
    binary("math.igammac", sp.gammaincc, (0.5, 4.0), (0.3, 6.0)),
    Case("math.lbeta", log_beta, ((0.5, 4.0),), variants=over((3, 2), (4,), (0, 2)), ulp=16),
    unary("math.erfinv", sp.erfinv, -0.9, 0.9),
    unary("math.erfcinv", sp.erfcinv, 0.1, 1.9),
    unary("math.ndtri", sp.ndtri, 0.1, 0.9),
    unary("math.sinc", np.sinc, -2.5, 2.5),
    Case("math.nextafter", np.nextafter, ((-2.0, 2.0),) * 2, variants=PAIRS, ulp=0),
    binary("math.xlogy", no_product(sp.xlogy), (-2.0, 2.0), (0.3, 3.0), special=ZERO),
    binary("math.xlog1py", no_product(sp.xlog1py), (-2.0, 2.0), (-0.6, 3.0), special=ZERO),
    binary("math.xdivy", no_product(np.divide), (-2.0, 2.0), (0.5, 3.0), special=ZERO),
    unary("math.special.dawsn", sp.dawsn, -2.0, 2.0),
    unary("math.special.expint", sp.expi, 0.3, 3.0),
    unary("math.special.fresnel_cos", lambda x: sp.fresnel(x)[1], -2.0, 2.0),
    unary("math.special.fresnel_sin", lambda x: sp.fresnel(x)[0], -2.0, 2.0),
    unary("math.special.spence", sp.spence, 0.2, 3.0),
    *(
        unary(f"math.{'' if name[0] == 'i' else 'special.'}bessel_{name}", getattr(sp, name), *span)
        for name, span in BESSEL.items()
    ),
]
