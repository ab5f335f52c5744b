"""Vector functions made from the logarithm: x = 2**k * (1 + f).

The logarithm is a series in f / (2 + f), and that of a power has two parts, as in fdlibm.
"""

from __future__ import annotations

import math

from .value import (
    FLOAT32,
    FLOAT64,
    WIDE,
    Coefficients,
    Value,
    above,
    absolute,
    below,
    copysign,
    fma,
    halves,
    polynomial,
    rint,
    sqrt,
    upper,
)

# The bits of sqrt(0.5).
SQRT_HALF = {FLOAT32: 0x3F3504F3, FLOAT64: 0x3FE6A09E667F3BCD, WIDE: 0x3FE6A09E667F3BCD}
# (2 * atanh(s) / s - 2) / z where z = s * s, for 1 + f = (1 + s) / (1 - s)
LOG: Coefficients = {
    FLOAT32: [0.6666677669951014, 0.39977495305776617, 0.2987310641903779],
    FLOAT64: [
        0.6666666666666735,
        0.3999999999941109,
        0.2857142874326393,
        0.22222198475824748,
        0.1818356974868638,
        0.15313903015358185,
        0.14797510056010874,
    ],
}


def _split(x: Value) -> tuple[Value, Value, Value]:
    """``k``, ``f`` (1 + f lies between sqrt(0.5) and sqrt(2)), and the bits of ``2**-k``.

    If ``2**-k`` would be denormal, they are the bits of 0 or of -inf.
    """
    form = x.format
    mask, first = (1 << form.mantissa) - 1, SQRT_HALF[form]
    shifted = x.bits() + ((form.bias << form.mantissa) - first)
    # A small integer becomes a float as the mantissa of 2**mantissa.
    carrier = form.bias + form.mantissa << form.mantissa
    k = ((shifted >> form.mantissa) | carrier).number() - (2.0**form.mantissa + form.bias)
    f = ((shifted & mask) + first).number() - 1.0
    return k, f, (2 * form.bias << form.mantissa) - (shifted & ~mask)


def _split_any(x: Value) -> tuple[Value, Value]:
    """``k`` and ``f``; denormal numbers are made normal first."""
    shift = x.format.mantissa + 1.0
    small = x.compare("<", x.format.tiny)
    k, f, _ = _split(small.pick(x * 2.0**shift, x))
    return small.pick(k - shift, k), f


def _sum(k: Value, f: Value, lost: Value | None = None) -> Value:
    """``log(2**k * (1 + f)) + lost``, added from small to large."""
    form = k.format
    high, low = form.ln2
    s = f / (f + 2.0)
    z = s * s
    half = f * f * 0.5
    tail = fma(k, low, s * fma(z, polynomial(z, LOG[form]), half))
    if lost is not None:
        tail = tail + lost
    return fma(k, high, f - (half - tail))


def _ends(x: Value, result: Value) -> Value:
    """``result``, or the logarithm of an ``x`` that is not a positive finite number."""
    result = x.compare("<", math.inf).pick(result, x)
    end = x.compare("==", 0.0).pick(-math.inf, math.nan)
    return x.compare("<=", 0.0).pick(end, result)


def log(x: Value) -> Value:
    """At most 0.9 ulp off."""
    return _ends(x, _sum(*_split_any(x)))


def _log1p(x: Value, low: Value | None = None, twice: Value | None = None) -> Value:
    """``log(1 + x + low)``; where ``twice`` holds, plus ``log(2)``."""
    u = x + 1.0
    k, f, power = _split(u)
    # The rounding error of the sum, exact while it matters; times 2**-k / (1 + f), to first order.
    lost = x - (u - 1.0)
    if low is not None:
        lost = lost + low
    lost = lost * above(power.number(), 0.0)
    if twice is not None:
        k = twice.pick(k + 1.0, k)
    return _ends(u, _sum(k, f, lost - lost * f))


def log1p(x: Value) -> Value:
    """At most 1.1 ulp off."""
    return copysign(_log1p(x), x)


def _large(x: Value) -> Value:
    """Whether ``x`` is so large that ``1 + x**2`` safely rounds to ``x**2``."""
    return x.compare(">", 2.0 ** (x.format.mantissa // 2 + 3))


def asinh(x: Value) -> Value:
    """At most 1.3 ulp off: ``log1p(x + x**2 / (1 + sqrt(1 + x**2)))``."""
    size = absolute(x)
    square = size * size
    more = square / (sqrt(square + 1.0) + 1.0)
    total = size + more
    large = _large(size)
    low = large.pick(0.0, more - (total - size))
    return copysign(_log1p(large.pick(size - 1.0, total), low, large), x)


def acosh(x: Value) -> Value:
    """At most 1.2 ulp off: ``log1p(t + sqrt(2 * t + t**2))`` where ``t = x - 1``."""
    t = x - 1.0
    square = fma(t, t, t * 2.0)
    root = sqrt(square)
    # The error of the square and of the root: a Newton step, whose divisor need not be exact.
    high = upper(root)
    lack = fma(t, t, t * 2.0 - square) + (square - high * high) - (root - high) * (root + high)
    total = t + root
    about = (x.format.reciprocal - root.bits()).number()
    low = (t - (total - root)) + lack * 0.5 * about
    large = _large(x)
    low = large.pick(0.0, low)
    return x.compare("<", 1.0).pick(math.nan, _log1p(large.pick(t, total), low, large))


# (atanh(s) / s - 1) / s**2, in s**2, for |s| <= 0.5
ATANH: Coefficients = {
    FLOAT32: [
        0.33333298563957214,
        0.20002605020999908,
        0.14221146702766418,
        0.11836808919906616,
        0.050877220928668976,
        0.17735111713409424,
    ],
    FLOAT64: [
        0.3333333333333328,
        0.20000000000018822,
        0.14285714283361892,
        0.1111111125954921,
        0.09090903546517488,
        0.07692441412336086,
        0.06664474021049425,
        0.05907546795443547,
        0.05057289725525381,
        0.0595952544866416,
        -0.005418694437338927,
        0.17508359098650295,
        -0.1962530112489666,
        0.24117642555278698,
    ],
}


def atanh(x: Value) -> Value:
    """At most 1.6 ulp off: beyond 0.5 in terms of ``(1 + x) / (1 - x)``."""
    form = x.format
    size = absolute(x)
    near = size.compare("<=", 0.5)
    # (1 + x) / (1 - x) = 2**k * (1 + s) / (1 - s); the largest k that leaves s small.
    w = 1.0 - size
    k, f, _ = _split(w)
    k = near.pick(0.0, 1.0 - k)
    m = (f + 1.0) * 2.0
    s = near.pick(size, (2.0 - m) - w) / near.pick(1.0, (2.0 - w) + m)
    z = s * s
    high, low = form.ln2
    tail = fma(s * z, polynomial(z, ATANH[form]), k * (low / 2))
    result = fma(k, high / 2, s + tail)
    end = size.compare("==", 1.0).pick(math.inf, math.nan)
    return copysign(size.compare("<", 1.0).pick(result, end), x)


# Powers: 2**(y * log2(x)).

# log2((1 + s) / (1 - s)) / s, in s**2
LOG2 = [
    2.885390081790162,
    0.9617966732497796,
    0.5770836016070543,
    0.4116717644382579,
    0.34074716834284674,
]
# (3 * atanh(s) / s - 3 - z) / z**2, in z = s * s
LOG2_MORE = [
    0.600000000000034,
    0.42857142855144564,
    0.33333333780757657,
    0.2727267647261489,
    0.2308013967175761,
    0.19885139202930008,
    0.19795321416426798,
]
# (2**r - 1) / r for |r| <= 0.5
EXP2: Coefficients = {
    WIDE: [
        0.6931472065558252,
        0.24022651354139415,
        0.05550327125165653,
        0.009618002873559522,
        0.0013400537248725592,
        0.00015476590306675545,
    ],
    FLOAT64: [
        0.6931471805599453,
        0.24022650695910133,
        0.05550410866482175,
        0.009618129107592764,
        0.0013333558146377859,
        0.00015403530458862197,
        1.5252733868582239e-05,
        1.3215434398271428e-06,
        1.0178046049835963e-07,
        7.0739364023499645e-09,
        4.457446929423769e-10,
    ],
}
# 2 / (3 * ln 2) in two parts, the first of half as many bits.
SCALE = (0.9617966860532761, 7.872699542894897e-09)
# Exponents: beyond the first, only powers of 1 are finite; beyond the second, no power of 2 is.
LARGEST = {FLOAT32: 2.0**33, FLOAT64: 2.0**64}
END = {WIDE: 160.0, FLOAT64: 1100.0}


def _log2(x: Value) -> tuple[Value, Value]:
    """The logarithm of a positive ``x`` to one and a half times the precision.

    The first part has half of the bits, so products of two such parts are exact, with and without
    fused instructions.
    """
    k, f = _split_any(x)
    d = f + 2.0
    inverse = 1.0 / d
    s = f * inverse
    high, d_high = upper(s), upper(d)
    low = ((f - high * d_high) - high * (f - (d_high - 2.0))) * inverse
    # 3 * atanh(s) = s * (3 + s**2 + r)
    # s**2 is square + more; the first term of r corrects the rounding error of z.
    z, square, more = s * s, high * high, low * (high + s)
    r = fma(z * z, halves(z, LOG2_MORE), fma(((square - z) + more) * z, 1.2, more))
    t_high = upper(square + 3.0 + r)
    t_low = r - ((t_high - 3.0) - square)
    # Their product, times 2 / (3 * ln 2), plus k.
    u = high * t_high
    v = fma(low, t_high, t_low * s)
    p_high = upper(u + v)
    p_low = v - (p_high - u)
    first, second = SCALE
    large = p_high * first
    small = fma(p_high, second, p_low * (first + second))
    rounded = upper((large + small) + k)
    return rounded, small - ((rounded - k) - large)


def power_32(x: Value, y: Value) -> Value:
    """``x ** y``, at most 0.6 ulp off; computed in float64."""
    times = below(above(y, -LARGEST[x.format]), LARGEST[x.format])
    k, f, _ = _split(absolute(x).convert("fpext", WIDE))
    s = f / (f + 2.0)
    high = fma(s, polynomial(s * s, LOG2), k) * times.convert("fpext", WIDE)
    high = below(above(high, -END[WIDE]), END[WIDE])
    biased = WIDE.round + WIDE.bias
    rounded = high + biased
    r = high - (rounded - biased)
    result = fma(r, polynomial(r, EXP2[WIDE]), 1.0)
    result = result * (rounded.bits() << WIDE.mantissa).number()
    return _special_powers(x, y, result.convert("fptrunc", FLOAT32))


def power_64(x: Value, y: Value) -> Value:
    """``x ** y``, at most 1.6 ulp off; the logarithm and the product are in two parts."""
    form = x.format
    first, second = _log2(absolute(x))
    times = below(above(y, -LARGEST[form]), LARGEST[form])
    high = upper(times)
    low = fma(times - high, first, times * second)
    full = high * first
    high = below(above(full, -END[form]), END[form])
    # Past the ends the low part may be large.
    low = full.compare("==", high).pick(low, 0.0)
    biased = form.round + form.bias
    rounded = high + biased
    r = (high - (rounded - biased)) + low
    # The power of 2 in two factors, as in `exp`.
    half = fma(high, 0.5, biased).bits()
    scale = (half << form.mantissa).number()
    rest = (rounded.bits() - half + form.bias << form.mantissa).number()
    result = fma(r, halves(r, EXP2[form]), 1.0) * scale * rest
    return _special_powers(x, y, result)


def _special_powers(x: Value, y: Value, power: Value) -> Value:
    """``x ** y`` with its special cases; ``power`` is ``|x| ** y`` for other ``x`` and ``y``."""
    size = absolute(x)
    # C's rules: first for a base of 0 or inf, then for one below 0, for NaN, and for 1.
    vast = size.compare(">", 1.0) ^ y.compare("<", 0.0)
    edge = size.compare("==", 0.0) | size.compare("==", math.inf)
    power = edge.pick(vast.pick(math.inf, 0.0), power)
    is_integer, half = y.compare("==", rint(y)), y * 0.5
    odd = is_integer & half.compare("!=", rint(half))
    power = (power.bits() ^ (odd.pick(x, 0.0).bits() & x.format.sign)).number()
    root = x.compare("<", 0.0) & x.compare(">", -math.inf) & (is_integer ^ True)
    power = (root | x.compare("uno", y)).pick(math.nan, power)
    power = y.compare("==", 1.0).pick(x, y.compare("==", 2.0).pick(x * x, power))  # no error
    return (x.compare("==", 1.0) | y.compare("==", 0.0)).pick(1.0, power)
