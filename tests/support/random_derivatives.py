"""Random compositions of ops at random and at special points, with their exact derivatives.

A program is a list of steps, each a number computed from earlier ones. `truth` evaluates them with
mpmath, in a thousand bits, at five neighbouring points, whose differences are exact for our
purposes. The tolerance for rounding follows from programs with slightly perturbed steps.
"""

import random

import mpmath
import numpy as np
from mpmath import mpf

H = mpf(2) ** -100
LEAST = 1e-12
SMALL, LARGE = mpf(10) ** -120, mpf(10) ** 120


def sigmoid(x):
    return 1 / (1 + mpmath.exp(-x))


def softplus(x):
    return mpmath.log(1 + mpmath.exp(x))


def expm1(x):
    return mpmath.exp(x) - 1


def normal(x):
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def near_gelu(x):
    return x * sigmoid(2 * mpf("0.7978845608028654") * (x + mpf("0.044715") * x**3))


SELU = mpf("1.0507009873554805"), mpf("1.7580993408473766")
# Name: the tf function, the mpmath function, and the text for a native loop, if any.
UNARY = {
    "exp": ("tf.exp({0})", mpmath.exp, "math.exp({0})"),
    "expm1": ("tf.math.expm1({0})", expm1, "math.expm1({0})"),
    "log": ("tf.math.log({0})", mpmath.log, "math.log({0})"),
    "log1p": ("tf.math.log1p({0})", lambda x: mpmath.log(1 + x), "math.log1p({0})"),
    "sqrt": ("tf.sqrt({0})", mpmath.sqrt, "math.sqrt({0})"),
    "rsqrt": ("tf.math.rsqrt({0})", lambda x: 1 / mpmath.sqrt(x), None),
    "reciprocal": ("tf.math.reciprocal({0})", lambda x: 1 / x, "(1.0 / {0})"),
    "square": ("tf.square({0})", lambda x: x * x, "({0} * {0})"),
    "sin": ("tf.sin({0})", mpmath.sin, "math.sin({0})"),
    "cos": ("tf.cos({0})", mpmath.cos, "math.cos({0})"),
    "atan": ("tf.atan({0})", mpmath.atan, "math.atan({0})"),
    "asin": ("tf.asin({0})", mpmath.asin, "math.asin({0})"),
    "acosh": ("tf.acosh({0})", mpmath.acosh, "math.acosh({0})"),
    "asinh": ("tf.asinh({0})", mpmath.asinh, "math.asinh({0})"),
    "atanh": ("tf.atanh({0})", mpmath.atanh, "math.atanh({0})"),
    "sinh": ("tf.sinh({0})", mpmath.sinh, "math.sinh({0})"),
    "tanh": ("tf.tanh({0})", mpmath.tanh, "math.tanh({0})"),
    "erf": ("tf.math.erf({0})", mpmath.erf, "math.erf({0})"),
    "erfc": ("tf.math.erfc({0})", mpmath.erfc, "math.erfc({0})"),
    "sigmoid": ("tf.sigmoid({0})", sigmoid, "(1.0 / (1.0 + math.exp(-{0})))"),
    "softplus": ("tf.nn.softplus({0})", softplus, None),
    "log_sigmoid": ("tf.math.log_sigmoid({0})", lambda x: -softplus(-x), None),
    "silu": ("tf.nn.silu({0})", lambda x: x * sigmoid(x), None),
    "gelu": ("tf.nn.gelu({0})", lambda x: x * normal(x), None),
    "near gelu": ("tf.nn.gelu({0}, True)", near_gelu, None),
    "mish": ("tf.keras.activations.mish({0})", lambda x: x * mpmath.tanh(softplus(x)), None),
    "elu": ("tf.nn.elu({0})", lambda x: x if x > 0 else expm1(x), None),
    "selu": ("tf.nn.selu({0})", lambda x: SELU[0] * x if x > 0 else SELU[1] * expm1(x), None),
    "softsign": ("tf.nn.softsign({0})", lambda x: x / (1 + abs(x)), "({0} / (1.0 + abs({0})))"),
    "sinc": ("tf.math.sinc({0})", mpmath.sincpi, None),
    **{
        f"power {k}": (f"({{0}} ** {k})", lambda x, k=k: x ** mpf(k), f"({{0}} ** {k})")
        for k in (0.0, 1.0, 2.0, 3.0, -1.0, 0.5, 2.5)
    },
    "2 ** x": ("(2.0 ** {0})", lambda x: mpf(2) ** x, "(2.0 ** {0})"),
}
BINARY = {
    "add": ("({0} + {1})", lambda x, y: x + y, "({0} + {1})"),
    "subtract": ("({0} - {1})", lambda x, y: x - y, "({0} - {1})"),
    "multiply": ("({0} * {1})", lambda x, y: x * y, "({0} * {1})"),
    "divide": ("({0} / {1})", lambda x, y: x / y, "({0} / {1})"),
    "pow": ("tf.pow({0}, {1})", lambda x, y: mpmath.power(x, y), "({0} ** {1})"),
    "maximum": ("tf.maximum({0}, {1})", max, "max({0}, {1})"),
    "atan2": ("tf.atan2({0}, {1})", mpmath.atan2, "math.atan2({0}, {1})"),
    "xlogy": ("tf.math.xlogy({0}, {1})", lambda x, y: x * mpmath.log(y), None),
    "log_softmax": (
        "tf.nn.log_softmax(tf.stack([{0}, {1}], -1))[..., 0]",
        lambda x, y: -softplus(y - x),
        None,
    ),
    "softmax": (
        "tf.nn.softmax(tf.stack([{0}, {1}], -1))[..., 1]",
        lambda x, y: sigmoid(y - x),
        None,
    ),
    "cumprod": (
        "tf.math.cumprod(tf.stack([{0}, {1}, {0}], -1), -1)[..., 2]",
        lambda x, y: x * y * x,
        None,
    ),
    "cumsum": ("tf.cumsum(tf.stack([{0}, {1}], -1), -1)[..., 1]", lambda x, y: x + y, None),
    "reduce_prod": (
        "tf.reduce_prod(tf.stack([{0}, {1}, {0}], -1), -1)",
        lambda x, y: x * x * y,
        None,
    ),
    "slice": ("tf.stack([{0}, {1}], -1)[..., 0]", lambda x, y: x, None),
    "gather": ("tf.gather(tf.stack([{0}, {1}], -1), 1, axis=-1)", lambda x, y: y, None),
}
WHERE = ("tf.where({0} > {1}, {2}, {3})", None, "({2} if {0} > {1} else {3})")
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    0.5,
    20.0,
    -20.0,
    37.4,
    -37.4,
    40.0,
    -40.0,
    1e-8,
    -1e-8,
    1e-30,
    1e-100,
    -1e-100,
    1e30,
    6.0,
    -6.0,
    9.01,
    1e5,
    -1e5,
]
CONSTANTS = [0.0, 1.0, 2.0, 3.0, -1.0, 0.5, 20.0]


class Program:
    """A random program.

    Attributes:
      steps: Of each the name, the operands (numbers of values), and the constant if it is one. The
        first value is the argument.
    """

    def __init__(self, seed):
        r = random.Random(seed)
        self.seed, self.steps = seed, []
        for _ in range(r.randint(1, 4)):
            count = len(self.steps) + 1
            pick = lambda: r.choice([count - 1, r.randrange(count)])  # noqa: B023, E731
            kind = r.random()
            if kind < 0.6:
                self.steps.append((r.choice(list(UNARY)), (count - 1,), None))
            elif kind < 0.72:
                self.steps.append(("constant", (), r.choice(CONSTANTS)))
                operands = [count - 1, count]
                r.shuffle(operands)
                self.steps.append((r.choice(list(BINARY)), tuple(operands), None))
            elif kind < 0.92:
                self.steps.append((r.choice(list(BINARY)), (pick(), pick()), None))
            else:
                self.steps.append(("where", (0, pick(), pick(), pick()), None))
        self.points = [*r.sample(SPECIAL, 3), r.gauss(0, 3)]

    def lines(self, column):
        """The steps as text for tf (0) or a native loop (2); None if a step is unsupported."""
        found = []
        for k, (name, operands, value) in enumerate(self.steps, 1):
            if name == "constant":
                text = f"(v0 * 0.0 + {value})" if column == 0 else repr(value)
            else:
                text = (WHERE if name == "where" else UNARY.get(name) or BINARY[name])[column]
                if text is None:
                    return None
                text = text.format(*(f"v{j}" for j in operands))
            found.append(f"v{k} = {text}")
        return found

    def function(self, tf):
        """The program as a function of a tensor."""
        text = "def f(v0):\n" + "".join(f"    {line}\n" for line in self.lines(0))
        scope = {"tf": tf}
        exec(text + f"    return v{len(self.steps)}\n", scope)
        return scope["f"]

    def values(self, x, errors=None):
        """All values at a point with mpmath; None for a value that is not real.

        ``errors`` holds relative perturbations of each step's operands.
        """
        found = [x]
        for k, (name, operands, value) in enumerate(self.steps):
            args = [found[j] for j in operands]
            if errors is not None and None not in args and name != "where":
                args = [arg * (1 + error) for arg, error in zip(args, errors[k], strict=False)]
            try:
                if name == "constant":
                    result = mpf(value)
                elif name == "where":
                    chosen = args[2] if args[0] > args[1] else args[3]
                    result = chosen
                elif name == "slice":
                    result = args[0]
                elif name == "gather":
                    result = args[1]
                elif None in args:
                    result = None
                else:
                    result = (UNARY.get(name) or BINARY[name])[1](*args)
            except (ZeroDivisionError, ValueError, OverflowError, TypeError):
                result = None
            real = result is not None and not isinstance(result, mpmath.mpc)
            real = real and mpmath.isfinite(result)
            found.append(result if real else None)
        return found


def jets(program, at, errors=None, step=H):
    """The derivatives up to third order of all values at a point; None if undefined."""
    with mpmath.workprec(1100 + 3 * abs(mpmath.frexp(mpf(at))[1])):
        x = mpf(at)
        h = step * min(1, abs(x) or 1)
        rows = [program.values(x + k * h, errors) for k in (-2, -1, 0, 1, 2)]
        found = []
        for a, b, c, d, e in zip(*rows, strict=True):
            if None in (a, b, c, d, e):
                found.append(None)
            else:
                found.append(
                    (
                        c,
                        (d - b) / (2 * h),
                        (d - 2 * c + b) / h**2,
                        (e - 2 * d + 2 * b - a) / (2 * h**3),
                    )
                )
        return found


def needed(program, values):
    """The values on which the result depends at a point, without those that a slice drops."""
    wanted, pending = set(), [len(program.steps)]
    while pending:
        k = pending.pop()
        if k in wanted or not k:
            continue
        wanted.add(k)
        name, operands, _ = program.steps[k - 1]
        if name == "where":
            operands = (operands[2] if values[0] > values[operands[1]] else operands[3],)
        elif name == "slice":
            operands = operands[:1]
        elif name == "gather":
            operands = operands[1:]
        pending += operands
    return wanted


def smooth(program, found, wanted):
    """Whether no relevant step is at a kink."""
    for k in wanted:
        name, operands, _ = program.steps[k - 1]
        args = [found[j][0] for j in operands if found[j] is not None]
        if name in ("elu", "selu", "softsign") and args[0] == 0:
            return False
        if name == "maximum" and args[0] == args[1]:
            return False
        if name == "xlogy" and args[0] == 0:  # constant there by definition
            return False
        if name == "atan2" and args[0] == 0 and args[1] <= 0:
            return False
        if name == "pow" and args[0] <= 0:
            return False
    return True


def truth(program, at):
    """The value and its derivatives; None at an unsuitable point."""
    found = jets(program, at)
    for name, operands, _ in program.steps:
        if name == "where":
            bound = found[operands[1]]
            if bound is None or abs(found[0][0] - bound[0]) < mpf(10) ** -9:
                return None
    wanted = needed(program, [None if jet is None else jet[0] for jet in found])
    if any(found[k] is None for k in wanted) or not smooth(program, found, wanted):
        return None
    for k in wanted:
        if any(x and not SMALL < abs(x) < LARGE for x in found[k]):
            return None
    return [float(x) for x in found[-1]]


def spread(program, at, right):
    """The change of derivatives under perturbed operands; None if they vanish under it."""
    found = [0.0] * 4
    r = random.Random(program.seed)
    for sign in (1, -1):
        errors = [
            [mpf(s * r.uniform(0.5, 1)) * mpf(2) ** -50 for s in (sign, -sign)]
            for _ in program.steps
        ]
        moved = jets(program, at, errors)[-1]
        if moved is None:
            return None
        found = [max(s, float(abs(a - b))) for s, a, b in zip(found, moved, right, strict=True)]
    return found


def derivatives(tf, function, x):
    """The first three derivatives of a function's elements."""
    found = []

    def along(order):
        if not order:
            return function(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = along(order - 1)
        found.append(tape.gradient(y, x, unconnected_gradients="zero"))
        return found[-1]

    along(3)
    return found


def wrong(tf, seed, replayed=False):
    """Errors in a program's derivatives, as lines of text, and the number of comparisons.

    With ``replayed``, its Jacobian and a recorded function are compared as well.
    """
    program = Program(seed)
    known = [truth(program, at) for at in program.points]
    if not any(known):
        return [], 0
    x = tf.constant(np.array(program.points), "float64")
    function = program.function(tf)
    found = [g.numpy() for g in derivatives(tf, function, x)]
    lines, count = [], 0
    for k, right in enumerate(known):
        if right is None:
            continue
        limits = [0.0] * 4
        for order in (1, 2, 3):
            value, actual = right[order], found[order - 1][k]
            count += 1
            if abs(actual - value) <= 1e-7 * abs(value) + 1e-300:
                continue
            if not any(limits):
                limits = spread(program, program.points[k], right)
            if limits is None:
                break
            finer = float(jets(program, program.points[k], step=H / 16)[-1][order])
            if abs(finer - value) > 1e-3 * abs(value):  # differences are unreliable
                continue
            if not value:
                limits[order] = max(map(abs, right)) * 1e-12 + LEAST
            if not abs(actual - value) <= 2000 * limits[order]:
                lines.append(f"order {order} at {program.points[k]}: {actual!r}, not {value!r}")
    if not replayed:
        return [f"program {seed}: {program.lines(0)}: {line}" for line in lines], count
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    rows = tape.jacobian(y, x, unconnected_gradients="zero").numpy()
    use = [k for k, right in enumerate(known) if right is not None]
    others = rows[:, use].copy()
    others[use, range(len(use))] = 0
    if np.any(others):
        lines.append(f"other rows of the Jacobian: {others[np.flatnonzero(others.any(1))]}")
    if not np.allclose(rows[use, use], found[0][use], rtol=1e-12, atol=1e-300, equal_nan=True):
        lines.append(f"the Jacobian: {rows[use, use]}, not {found[0][use]}")
    again = tf.function(lambda x: derivatives(tf, function, x))
    for _ in range(3):
        for one, other in zip(again(x), found, strict=True):
            if not np.array_equal(one.numpy(), other, equal_nan=True):
                lines.append(f"replayed: {one.numpy()}, not {other}")
    return [f"program {seed}: {program.lines(0)}: {line}" for line in lines], count
