"""Vector functions made from the exponential: x = k * ln 2 + r.

erfc takes the square of x in two parts, as fdlibm does, and one fit for all large x, after
M. M. Shepherd and J. G. Laframboise, "Chebyshev approximation of (1 + 2x) exp(x**2) erfc x in
0 <= x < inf", Mathematics of Computation 36 (1981).
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
    upper,
)

LOG2_E = 1 / math.log(2)
# Arguments at which exp underflows to 0 and overflows.
ENDS = {FLOAT32: (-105.0, 89.0), FLOAT64: (-746.0, 710.0)}
# Where expm1 has become -1.
MINUS_ONE = {FLOAT32: -20.0, FLOAT64: -40.0}
# Where exp(2 * x) has become inf, and the derivative of tanh is below all normal numbers.
FLAT = {FLOAT32: 44.6, FLOAT64: 355.1}
# The largest value y of tanh and sigmoid from which their derivatives are computed: beyond it,
# 1 - y has too few digits.
STEEP = 1.0 - 2.0**-10
# (exp(r) - 1 - r) / r**2 for |r| <= ln 2 / 2
EXP: Coefficients = {
    FLOAT32: [
        0.4999999701976776,
        0.1666654348373413,
        0.04166720062494278,
        0.008366528898477554,
        0.001388252479955554,
    ],
    WIDE: [
        0.5000000095359566,
        0.1666651868436575,
        0.041666205347988684,
        0.008368908151506826,
        0.0013950519367517966,
    ],
    FLOAT64: [
        0.5,
        0.16666666666666677,
        0.041666666666666505,
        0.00833333333332168,
        0.0013888888888962685,
        0.00019841269885999345,
        2.480158717204074e-05,
        2.7557244336933902e-06,
        2.755740299186708e-07,
        2.510899300831204e-08,
        2.0875241295798674e-09,
    ],
}
# (tanh(x) / x - 1) / x**2 for |x| <= 0.55
TANH: Coefficients = {
    FLOAT32: [
        -0.33333317578272975,
        0.13332586568235832,
        -0.05385233989181277,
        0.021071757109505807,
        -0.006274302246103491,
    ],
    FLOAT64: [
        -0.33333333333332316,
        0.13333333333168715,
        -0.053968253876082645,
        0.021869485974882377,
        -0.008863194505108925,
        0.003591719705120357,
        -0.001453216791277823,
        0.0005791371090184188,
        -0.00021030253741785048,
        5.102156428263893e-05,
    ],
}
# (sinh(r) / r - 1) / z and (cosh(r) - 1 - z / 2) / z**2, where z = r * r and |r| <= ln 2 / 2
SINH: Coefficients = {
    FLOAT32: [0.1666666716337204, 0.00833317544311285, 0.00019974067981820554],
    FLOAT64: [
        0.16666666666666666,
        0.008333333333334424,
        0.00019841269837090852,
        2.755732621370379e-06,
        2.5046792165032156e-08,
        1.7574438502287462e-10,
    ],
}
COSH: Coefficients = {
    FLOAT32: [0.041666459292173386, 0.0013935437891632318],
    FLOAT64: [
        0.041666666666666664,
        0.0013888888888890843,
        2.4801587295611965e-05,
        2.7557327705486603e-07,
        2.0871069370280814e-09,
        1.2934849672692932e-11,
    ],
}


def _reduce(x: Value, low: Value | None = None) -> tuple[Value, Value, Value]:
    """For ``x + low``: bits ending in ``k + bias``; ``r``; and the rounding error of ``r``."""
    biased = x.format.round + x.format.bias
    rounded = fma(x, LOG2_E, biased)
    k = rounded - biased
    first, second = x.format.ln2
    exact = fma(k, -first, x)
    if low is None:
        r = fma(k, -second, exact)
        return rounded.bits(), r, fma(k, -second, exact - r)
    rest = fma(k, -second, low)
    r = exact + rest
    return rounded.bits(), r, (exact - r) + rest


def _more(r: Value, lost: Value) -> Value:
    """``exp(r + lost) - 1 - r``."""
    return fma(r * r, polynomial(r, EXP[r.format]), lost)


def _exp_parts(x: Value, low: Value | None = None) -> tuple[Value, Value, Value, Value]:
    """Return ``a, b, c, d`` with ``exp(x + low) == (a + b) * c * d``, for ``x`` within `ENDS`."""
    form = x.format
    k, r, lost = _reduce(x, low)
    more = _more(r, lost)
    # 2**k in two factors, because k leaves the range of exponents on both sides.
    half = fma(x, 0.5 * LOG2_E, form.round + form.bias).bits()
    first = (half << form.mantissa).number()
    second = (k - half + form.bias << form.mantissa).number()
    p = r + 1.0
    return p, (1.0 - p) + r + more, first, second


def exp(x: Value) -> Value:
    """At most 0.8 ulp off; in float32 0.72 where the result is not denormal."""
    least, most = ENDS[x.format]
    p, rest, first, second = _exp_parts(below(above(x, least), most))
    return (p + rest) * first * second


def expm1(x: Value) -> Value:
    """At most 1.2 ulp off."""
    form = x.format
    k, r, lost = _reduce(below(above(x, MINUS_ONE[form]), ENDS[form][1]))
    # Half of 2**k, because k reaches the exponent of inf.
    half = (k - 1 << form.mantissa).number()
    # A sum of three, from large to small; the product is exact.
    first, second = half - 0.5, half * r
    result = first + second
    result = (result + fma(half, _more(r, lost), second - (result - first))) * 2.0
    # Half of a denormal number may not be exact, and the sum has lost the sign of -0.0.
    return absolute(x).compare("<", 2.0 ** -(form.mantissa + 2)).pick(x, result)


def _distance(size: Value) -> Value:
    """``1 - tanh(size)`` for a positive ``size``: ``2 / (exp(2 * size) + 1)``."""
    form = size.format
    k, r, lost = _reduce(below(size, FLAT[form]) * 2.0)
    # Half of 2**k, because k reaches the exponent of inf.
    half = (k - 1 << form.mantissa).number()
    return 1.0 / fma((r + _more(r, lost)) + 1.0, half, 0.5)


def tanh(x: Value) -> Value:
    """At most 1.5 ulp off: 0.8 up to 0.55, then ``1 - 2 / (exp(2 * x) + 1)``."""
    size = absolute(x)
    z = size * size
    near = fma(size * z, polynomial(z, TANH[x.format]), size)
    return copysign(z.compare("<", 0.55**2).pick(near, 1.0 - _distance(size)), x)


def tanh_slope(x: Value, y: Value) -> Value:
    """The derivative of ``y = tanh(x)``: of ``x`` where ``y`` is near -1 or 1."""
    quick, steep = tanh_slope_quick(x, y)
    t = _distance(absolute(x))
    return steep.pick(t * (2.0 - t), quick)


def tanh_slope_quick(x: Value, y: Value) -> tuple[Value, Value]:
    """``1 - y * y``, and whether this is too inaccurate."""
    return 1.0 - y * y, absolute(y).compare(">", STEEP)


def _hyperbolic(x: Value) -> tuple[Value, Value, Value, Value]:
    """For a positive ``x``: halves of the sinh and cosh of k * ln 2; cosh - 1 and sinh of r."""
    form = x.format
    k, r, lost = _reduce(below(x, ENDS[form][1] + 0.7))
    big = (k - 2 << form.mantissa).number()
    # Negative bits stand for a power that is too small to count.
    small = above((2 * form.bias - 2 - k << form.mantissa).number(), 0.0)
    z = r * r
    c = fma(z * z, polynomial(z, COSH[form]), z * 0.5)
    s = r + fma(r * z, polynomial(z, SINH[form]), lost)
    return big - small, big + small, c, s


def sinh(x: Value) -> Value:
    """At most 1.9 ulp off."""
    size = absolute(x)
    a, b, c, s = _hyperbolic(size)
    result = (a + fma(a, c, b * s)) * 2.0
    # Half of a denormal number may not be exact.
    least = 2.0 ** -(x.format.mantissa // 2 + 2)
    return copysign(size.compare("<", least).pick(size, result), x)


def cosh(x: Value) -> Value:
    """At most 1.9 ulp off."""
    a, b, c, s = _hyperbolic(absolute(x))
    return (b + fma(b, c, a * s)) * 2.0


# The error function: a polynomial up to about 1, beyond it an exponential.

# Where the exponential begins.
ERF_NEAR = 1.0625
# erf(x) / x - 1, in x**2
ERF: Coefficients = {
    FLOAT32: [
        0.12837916612625122,
        -0.3761261999607086,
        0.1128348782658577,
        -0.0268489271402359,
        0.0051779113709926605,
        -0.0007910921704024076,
        7.505643588956445e-05,
    ],
    FLOAT64: [
        0.1283791670955126,
        -0.37612638903184065,
        0.11283791670968082,
        -0.026866170647233893,
        0.0052239776430256105,
        -0.0008548327887467969,
        0.00012055359720707291,
        -1.4926189228076082e-05,
        1.646922093330439e-06,
        -1.6425393816819808e-07,
        1.5094195848033586e-08,
        -1.2814989293580135e-09,
        8.04861014344614e-11,
    ],
}
# log(erfc(x)), in x; the smaller erfc is, the less its error matters
LOG_ERFC: Coefficients = {
    FLOAT32: [
        -0.00035371241392567754,
        -1.1270400285720825,
        -0.6382257342338562,
        -0.1030372679233551,
        0.02180524170398712,
        -0.0029395795427262783,
        0.00018557024304755032,
    ],
    FLOAT64: [
        -1.5015733200466316e-06,
        -1.1283649036326309,
        -0.6366829046533767,
        -0.10259977519756851,
        0.01880106132865789,
        0.0006636518993700502,
        -0.002172977441219362,
        0.000973110269033308,
        -0.000260231353662792,
        4.0821950957376424e-05,
        -7.047438470899225e-07,
        -1.5573928232958328e-06,
        4.7061390699571183e-07,
        -7.745768168359585e-08,
        7.911488968150874e-09,
        -4.733574277450014e-10,
        1.2785868398029126e-11,
    ],
}
# log((x + 3) * exp(x**2) * erfc(x)), in (x - 3) / (x + 3)
ERFCX_32 = [
    0.07139642759864934,
    -0.8225221299840063,
    0.21128593580153252,
    -0.022541409191415642,
    -0.020112096225166493,
    0.011961859541952927,
    -9.301248377718979e-05,
    -0.00283077499082241,
    0.0009474827233922989,
    0.0005569925637563206,
    -0.0003509537541961642,
    -0.00016304253336088642,
]
# log((2 * x + 1) * exp(x**2) * erfc(x)), in (x - 2) / (x + 2), from 0.8
ERFCX_64 = [
    0.2444966478174628,
    -0.07264322397765725,
    -0.13265669315809378,
    0.11889561023128192,
    -0.04227268936666681,
    0.0067270614365495494,
    -0.006017066424926297,
    0.006344898383135749,
    -0.002245767393075606,
    0.0004460630188995368,
    -0.0006983880187215927,
    0.0005041309695995998,
    -0.0001100784455165042,
    6.872700858354085e-05,
    -8.576424012391058e-05,
    3.077367089113384e-05,
    -9.88536093490581e-06,
    1.484695126684286e-05,
    -7.350680760909197e-06,
    -4.314633637684364e-07,
    9.365647278139011e-07,
    -1.198795777489826e-07,
]
# Where erf has become 1, and erfc 0.
ERF_END = {FLOAT32: 4.0, FLOAT64: 6.0}
ERFC_END = {WIDE: 10.2, FLOAT64: 27.3}


def erf(x: Value) -> Value:
    """At most 1.5 ulp off."""
    form = x.format
    size = below(absolute(x), ERF_END[form])
    z = size * size
    near = fma(size, polynomial(z, ERF[form]), size)
    # The subtrahend is less than 0.14, so its last digits need not be exact.
    k, r, _ = _reduce(halves(size, LOG_ERFC[form]))
    power = (k << form.mantissa).number()
    far = 1.0 - fma(power, fma(r * r, polynomial(r, EXP[form]), r), power)
    return copysign(size.compare("<", ERF_NEAR).pick(near, far), x)


def erfc_32(x: Value) -> Value:
    """At most 0.6 ulp off: ``exp(-x**2 + f(x)) / (x + 3)``."""
    size = below(absolute(x), ERFC_END[x.format])
    inverse = 1.0 / (size + 3.0)
    smooth = polynomial((size - 3.0) * inverse, ERFCX_32)
    k, r, _ = _reduce(smooth - size * size)
    power = (k << x.format.mantissa).number()
    far = fma(r * r, polynomial(r, EXP[x.format]), r + 1.0) * power * inverse
    return x.compare("<", 0.0).pick(2.0 - far, far)


def erfc_64(x: Value) -> Value:
    """At most 1.9 ulp off: beyond 0.8 as ``exp(-x**2 + f(x)) / (2 * x + 1)``."""
    form = x.format
    near = (1.0 - x) - x * polynomial(x * x, ERF[form])
    size = below(absolute(x), ERFC_END[form])
    t = (size - 2.0) / (size + 2.0)
    smooth = halves(t, ERFCX_64)
    total = size * 2.0 + 1.0
    # The square of x has twice its bits.
    high = upper(size)
    square = high * high
    exponent = smooth - square
    low = (smooth - (exponent + square)) - (size - high) * (size + high)
    # The exponent also takes what the total lost; 1 / total need not be exact there.
    lost = size * 2.0 - (total - 1.0)
    low = low - lost * ((1.0 - t) * (0.2 - t * 0.1))
    p, rest, first, second = _exp_parts(exponent, low)
    far = (p + rest) / total * first * second
    far = x.compare("<", 0.0).pick(2.0 - far, far)
    return absolute(x).compare("<", 0.8).pick(near, far)


def sigmoid(x: Value) -> Value:
    """At most 1.2 ulp off: ``1 / (1 + e)`` or ``e / (1 + e)`` where ``e = exp(-|x|)``."""
    e, rest = _decay(x)
    total = e + 1.0
    lost = (e - (total - 1.0)) + rest
    left = x.compare("<", 0.0)
    result = left.pick(e, 1.0) / total
    # First-order correction of the rounding errors; 1 / total is result, or 1 - result.
    return fma(left.pick(rest, 0.0) - result * lost, left.pick(1.0 - result, result), result)


def _decay(x: Value) -> tuple[Value, Value]:
    """``exp(-|x|)`` as a sum of two."""
    size = below(absolute(x), -ENDS[x.format][0])
    e, rest, first, second = _exp_parts(-size)
    e, rest = e + rest, (e - (e + rest)) + rest
    return e * first * second, rest * first * second


def sigmoid_slope(x: Value, y: Value) -> Value:
    """The derivative of ``y = sigmoid(x)``: of ``x`` where ``y`` is near 1."""
    quick, steep = sigmoid_slope_quick(x, y)
    e, _ = _decay(x)
    total = e + 1.0
    return steep.pick(e / (total * total), quick)


def sigmoid_slope_quick(x: Value, y: Value) -> tuple[Value, Value]:
    """``y * (1 - y)``, and whether this is too inaccurate."""
    return y * (1.0 - y), y.compare(">", STEEP)
