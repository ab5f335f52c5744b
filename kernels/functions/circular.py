"""Vector functions of the circle: sine, cosine, tangent and their inverses."""

from __future__ import annotations

import math
from collections.abc import Callable

from .value import (
    FLOAT32,
    FLOAT64,
    WIDE,
    Coefficients,
    Function,
    Value,
    absolute,
    copysign,
    fma,
    polynomial,
    sqrt,
    widen,
)

# Sine and cosine: |x| = k * pi / 2 + r. float32 computes in float64, where this takes less.

# The largest |x| for which they are accurate. NaN is supported; inf counts as too large.
REACH = 2.0**20
TWO_OVER_PI = 2 / math.pi
# pi / 2 in parts. Multiples of all but the last by k, for |x| up to REACH, are exact.
HALF_PI_32 = [1.570796325802803, 9.920935796805404e-10]
HALF_PI_64 = [
    1.5707963267341256,
    6.077100506303966e-11,
    2.0222662487111665e-21,
    8.4784276603689e-32,
]
# (sin(r) / r - 1) / z and (cos(r) - 1 + z / 2) / z**2, where z = r * r and |r| <= pi / 4
SIN_32 = [-0.1666665460449387, 0.008332160342798507, -0.00019515220011499614]
COS_32 = [0.04166664569884291, -0.001388731665131311, 2.4433172579320678e-05]
SIN_64 = [
    -0.1666666666666663,
    0.008333333333322122,
    -0.00019841269829590428,
    2.7557313621064015e-06,
    -2.50507476196167e-08,
    1.5896217051642536e-10,
]
COS_64 = [
    0.041666666666666595,
    -0.0013888888888873047,
    2.480158728884402e-05,
    -2.7557314176809523e-07,
    2.0875700474130684e-09,
    -1.1358516178318719e-11,
]


Turns = Callable[[Value], tuple[Value, Value, Value]]


def _remainder_32(x: Value) -> tuple[Value, Value]:
    """Bits, the lowest of which are ``k``; ``r``."""
    rounded = fma(x, TWO_OVER_PI, x.format.round)
    k = rounded - x.format.round
    return rounded.bits(), fma(k, -HALF_PI_32[1], fma(k, -HALF_PI_32[0], x))


def _turns_32(x: Value) -> tuple[Value, Value, Value]:
    """Bits, the lowest of which are ``k``; sine and cosine of ``r``."""
    k, r = _remainder_32(x)
    z = r * r
    sine = fma(r * z, polynomial(z, SIN_32), r)
    cosine = fma(z * z, polynomial(z, COS_32), fma(z, -0.5, 1.0))
    return k, sine, cosine


def _remainder_64(x: Value) -> tuple[Value, Value, Value]:
    """Bits, the lowest of which are ``k``; ``r`` to twice the precision."""
    rounded = fma(x, TWO_OVER_PI, x.format.round)
    k = rounded - x.format.round
    first, *middle, last = HALF_PI_64
    r = fma(k, -first, x)
    low = k * -last
    for part in middle:
        term = k * part
        less = r - term
        low = low + ((r - less) - term)
        r = less
    # x may be close to a zero.
    total = r + low
    return rounded.bits(), total, (r - total) + low


def _turns_64(x: Value) -> tuple[Value, Value, Value]:
    """Bits, the lowest of which are ``k``; sine and cosine of ``r``."""
    k, r, low = _remainder_64(x)
    z = r * r
    half = z * 0.5
    most = 1.0 - half
    sine = r + fma(r * z, polynomial(z, SIN_64), low * most)
    rest = ((1.0 - most) - half) - r * low
    cosine = most + fma(z * z, polynomial(z, COS_64), rest)
    return k, sine, cosine


def _rotate(k: Value, sine: Value, cosine: Value) -> Value:
    """The sine of ``k * pi / 2 + r``."""
    value = (k & 1).compare("!=", 0).pick(cosine, sine)
    return (value.bits() ^ (k << k.format.integer.width - 2 & k.format.sign)).number()


def _sin(turns: Turns) -> Function:
    """At most 0.6 ulp off in float32, 0.8 in float64, for |x| up to REACH."""

    def sin(x: Value) -> Value:
        return (_rotate(*turns(absolute(x))).bits() ^ (x.bits() & x.format.sign)).number()

    return sin


def _cos(turns: Turns) -> Function:
    """At most 0.6 ulp off in float32, 0.9 in float64, for |x| up to REACH."""

    def cos(x: Value) -> Value:
        k, sine, cosine = turns(absolute(x))
        return _rotate(k + 1, sine, cosine)

    return cos


sin_32, sin_64 = widen(_sin(_turns_32)), _sin(_turns_64)
cos_32, cos_64 = widen(_cos(_turns_32)), _cos(_turns_64)

# (tan(r) / r - 1) / z
TAN_32 = [
    0.33333156546047155,
    0.1333880807628798,
    0.053410547402909105,
    0.024432774404774645,
    0.0031156682564106144,
    0.009387930306679284,
]
TAN_64 = [
    0.33333333333333376,
    0.13333333333326075,
    0.053968253972588184,
    0.021869488406092777,
    0.008863237835926942,
    0.0035921015089297194,
    0.0014560436998595915,
    0.0005888569899600354,
    0.00024384995604700776,
    8.309936173099242e-05,
    6.846265395796881e-05,
    -2.7733588779671458e-05,
    5.083757650725182e-05,
    -2.5585604902808554e-05,
    1.013924994847166e-05,
]


def _tan(x: Value, k: Value, tangent: Value) -> Value:
    """The tangent of ``x`` from that of ``r``."""
    odd = (k & 1).compare("!=", 0)
    tangent = odd.pick(-1.0, tangent) / odd.pick(tangent, 1.0)
    return (tangent.bits() ^ (x.bits() & x.format.sign)).number()


def tan_32(x: Value) -> Value:
    """At most 1.8 ulp off for |x| up to REACH; in float64 except for the last division."""
    k, r = _remainder_32(absolute(x).convert("fpext", WIDE))
    z = r * r
    return _tan(x, k, fma(r * z, polynomial(z, TAN_32), r).convert("fptrunc", FLOAT32))


def tan_64(x: Value) -> Value:
    """At most 1.7 ulp off for |x| up to REACH."""
    k, r, low = _remainder_64(absolute(x))
    z = r * r
    more = r * z * polynomial(z, TAN_64)
    size = r + more
    return _tan(x, k, r + fma(low, fma(size, size, 1.0), more))


def beyond(x: Value) -> Value:
    """Whether ``|x|`` is too large for these versions of sine, cosine and tangent."""
    return absolute(x).compare(">", REACH)


# Inverses.

# (atan(u) / u - 1) / u**2, in u**2, for u up to 1
ATAN: Coefficients = {
    FLOAT32: [
        -0.33333298563957214,
        0.19998548924922943,
        -0.14264242351055145,
        0.10952186584472656,
        -0.08403439819812775,
        0.057957250624895096,
        -0.03117738477885723,
        0.010914308950304985,
        -0.0017935469513759017,
    ],
    FLOAT64: [
        -0.3333333333333307,
        0.19999999999951443,
        -0.14285714282574435,
        0.11111111007013248,
        -0.09090907002842223,
        0.07692279838181666,
        -0.0666640405214977,
        0.05880527798273648,
        -0.05253518533838688,
        0.047223222937057135,
        -0.04219179451806727,
        0.03664192589153062,
        -0.029903888651422433,
        0.021984897133543176,
        -0.013900606893572663,
        0.00719653986119918,
        -0.0028849389958905546,
        0.0008313296439774448,
        -0.00015216266369631482,
        1.3225265971797066e-05,
    ],
}
# (asin(s) / s - 1) / s**2, in s**2, for s up to 0.5
ASIN: Coefficients = {
    FLOAT32: [
        0.16666753590106964,
        0.07495243847370148,
        0.04547690227627754,
        0.02414846234023571,
        0.04221726208925247,
    ],
    FLOAT64: [
        0.16666666666665383,
        0.0750000000034301,
        0.04464285682349697,
        0.030381959330847745,
        0.022371753532861673,
        0.017359770935918027,
        0.013884600520128913,
        0.012173263437391177,
        0.0065109318581267756,
        0.019573666441002738,
        -0.016293662194585588,
        0.03195866210636519,
    ],
}


def _atan(u: Value) -> Value:
    """The arc tangent of a ``u`` from 0 to 1."""
    z = u * u
    return fma(u * z, polynomial(z, ATAN[u.format]), u)


def atan(x: Value) -> Value:
    """At most 1.9 ulp off."""
    size = absolute(x)
    steep = size.compare(">", 1.0)
    angle = _atan(steep.pick(1.0, size) / steep.pick(size, 1.0))
    high, low = x.format.half_pi
    return copysign(steep.pick(high - (angle - low), angle), x)


def atan2(y: Value, x: Value) -> Value:
    """At most 1.9 ulp off. The signs of zeros count as in C."""
    form = x.format
    high, low = form.half_pi
    wide, tall = absolute(x), absolute(y)
    steep = tall.compare(">", wide)
    part, larger = steep.pick(wide, tall), steep.pick(tall, wide)
    u = part.compare("==", larger).pick(1.0, part / larger)
    angle = _atan(larger.compare("==", 0.0).pick(part, u))
    # The start angle is 0, pi / 2 or pi, measured from the positive x axis; forward or back.
    left = x.bits().compare("<", 0)
    back = (left ^ steep).pick(-0.0, 0.0).bits()
    start = steep.pick(high, left.pick(2 * high, 0.0))
    more = steep.pick(low, left.pick(2 * low, 0.0))
    angle = start + ((angle.bits() ^ back).number() + more)
    return copysign(angle, y)


def _asin(x: Value) -> tuple[Value, Value, Value]:
    """Return whether ``|x| <= 0.5``, the reduced argument s, and ``asin(s) - s``.

    s is ``|x|`` if that is at most 0.5, and ``sin(acos(|x|) / 2)`` otherwise.
    """
    size = absolute(x)
    near = size.compare("<=", 0.5)
    z = near.pick(size * size, 0.5 - size * 0.5)
    s = near.pick(size, sqrt(z))
    return near, s, s * z * polynomial(z, ASIN[x.format])


def asin(x: Value) -> Value:
    """At most 1.3 ulp off."""
    near, s, more = _asin(x)
    high, low = x.format.half_pi
    # In two halves, so that the first difference is exact as long as the result is below 1.
    far = (high / 2 - s * 2.0) + (high / 2 - (more * 2.0 - low))
    return copysign(near.pick(s + more, far), x)


def acos(x: Value) -> Value:
    """At most 1.2 ulp off."""
    near, s, more = _asin(x)
    high, low = x.format.half_pi
    left = x.compare("<", 0.0)
    # pi / 2 - asin(x); 2 * asin(s); pi - 2 * asin(s).
    middle = high - (copysign(s, x) + (copysign(more, x) - low))
    far = (s + (more - left.pick(low, 0.0))) * 2.0
    return near.pick(middle, left.pick(2 * high - far, far))
