"""Random programs of ops, and the comparison of their values between executors."""

import contextlib

import numpy as np

SHAPES = [(), (1,), (3,), (5,), (3, 1), (3, 5), (5, 3), (1, 5), (2, 3, 5), (1500,), (0, 3)]


# The bound of all values, so that rounding differences between executors stay small.
LARGEST = 4.0


# Relative to the largest element: executors differ in the last places of transcendental functions,
# and up to sixty ops propagate that. The tolerance is 2**13 units in the last place.
FINE, COARSE = 2.0**-39, 2.0**-10


# Smooth functions, each with its largest value on [-4, 4].
SMOOTH = {
    "sin": 1,
    "cos": 1,
    "tanh": 1,
    "sigmoid": 1,
    "nn.softplus": 4.1,
    "atan": 1.4,
    "math.erf": 1,
    "nn.elu": 4,
    "nn.softsign": 1,
    "asinh": 2.1,
}


LINEAR = {"negative", "identity", "stop_gradient"}


KINKED = {"abs", "nn.relu", "sign"}


class Value:
    """A variable of a program.

    Attributes:
      name, shape, dtype: Its name, shape and dtype.
      bound: An upper bound on the absolute values of its elements.
      exact: Whether every executor computes the same bits, so that conditions may use it.
    """

    def __init__(self, name, shape, dtype, bound, exact):
        self.name, self.shape, self.dtype, self.bound, self.exact = name, shape, dtype, bound, exact


class Program:
    """Random source, one op a line: ``v7 = tf.sin(v3)``."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.seed, self.lines, self.values = seed, [], []
        self.inputs = []
        # Half the programs do not use float32.
        self.dtypes = ["float64", "float32"][: 1 + seed % 2]
        self.tolerance = COARSE if seed % 2 else FINE
        for dtype in self.random.choice(self.dtypes, 2):
            for _ in range(2):
                shape = SHAPES[self.random.integers(len(SHAPES))]
                self.inputs.append((shape, str(dtype)))
                self.values.append(Value(f"x{len(self.inputs) - 1}", shape, str(dtype), 1.0, True))
        for _ in range(self.random.integers(5, 61)):
            while not self.step():
                pass

    def source(self):
        """The source, with an evaluation after each line for which ``look`` is true."""
        return "\n".join(f"{line}\nlook({line.split()[0]})" for line in self.lines)

    def script(self):
        """The program as a standalone script."""
        draws = [
            f"x{k} = tf.constant(random.uniform(-1, 1, {shape}).astype({dtype!r}))"
            for k, (shape, dtype) in enumerate(self.inputs)
        ]
        head = [
            "import numpy as np",
            "import numtape as tf",
            f"random = np.random.default_rng({self.seed})",
        ]
        return "\n".join([*head, *draws, *self.lines])

    def operands(self):
        random = np.random.default_rng(self.seed)
        return [random.uniform(-1, 1, shape).astype(dtype) for shape, dtype in self.inputs]

    def pick(self, fits=lambda value: True):
        """A suitable value, usually a recent one."""
        found = [value for value in self.values if fits(value)]
        at = len(found) - 1 - int(self.random.exponential(len(found) / 3)) if found else 0
        return found[max(at, 0)] if found else None

    def partner(self, x, fits=lambda value: True):
        """A value of the same dtype that broadcasts with ``x``."""

        def broadcasts(value):
            try:
                shape = np.broadcast_shapes(value.shape, x.shape)
            except ValueError:
                return False
            return value.dtype == x.dtype and np.prod(shape) <= 10_000 and fits(value)

        return self.pick(broadcasts)

    def add(self, expression, shape, dtype, bound, exact):
        name = f"v{len(self.lines)}"
        if bound > LARGEST:
            expression, bound = f"({expression}) * {float(LARGEST / bound / 2)!r}", LARGEST / 2
        self.lines.append(f"{name} = {expression}")
        self.values.append(Value(name, tuple(shape), dtype, bound, exact))
        return True

    def step(self):
        """Append one op. Returns False if the drawn op does not fit."""
        x = self.pick()
        kinds = [
            self.unary,
            self.binary,
            self.binary,
            self.reduction,
            self.movement,
            self.matmul,
            self.where,
            self.cast,
            self.slice,
        ]
        return kinds[self.random.integers(len(kinds))](x)

    def choice(self, options):
        return options[self.random.integers(len(options))]

    def unary(self, x):
        name = self.choice([*SMOOTH, *sorted(LINEAR | KINKED)])
        if name in KINKED and not x.exact:
            return False
        bound, exact = SMOOTH.get(name, max(x.bound, 1.0)), x.exact and name not in SMOOTH
        return self.add(f"tf.{name}({x.name})", x.shape, x.dtype, bound, exact)

    def binary(self, x):
        y = self.partner(x)
        shape, exact = np.broadcast_shapes(x.shape, y.shape), x.exact and y.exact
        kind = self.choice(["+", "-", "*", "maximum", "minimum", "squared_difference"])
        if kind in "+-*":
            bound = x.bound * y.bound if kind == "*" else x.bound + y.bound
            return self.add(f"{x.name} {kind} {y.name}", shape, x.dtype, bound, exact)
        if kind == "squared_difference":
            bound, kind = (x.bound + y.bound) ** 2, "math.squared_difference"
        elif not exact:  # which one is larger, and so the gradient, may depend on rounding
            return False
        else:
            bound = max(x.bound, y.bound)
        return self.add(f"tf.{kind}({x.name}, {y.name})", shape, x.dtype, bound, exact)

    def reduction(self, x):
        name = self.choice(["sum", "mean", "max", "min", "logsumexp"])
        axis = self.choice([None, *range(-len(x.shape), len(x.shape))])
        count = np.prod(x.shape) if axis is None else x.shape[axis]
        if (name in ("max", "min") and not x.exact) or not count:
            return False
        keep = bool(self.random.integers(2))
        like = np.zeros(x.shape).sum(axis, keepdims=keep)
        bound = {"sum": x.bound * count, "logsumexp": x.bound + np.log(count)}.get(name, x.bound)
        text = f"tf.reduce_{name}({x.name}, {axis}, {keep})"
        return self.add(text, like.shape, x.dtype, bound, x.exact and name != "logsumexp")

    def movement(self, x):
        kind, rank = self.choice(["reshape", "transpose", "tile", "concat"]), len(x.shape)
        if kind == "reshape":
            shape = self.choice([(-1,), (*x.shape, 1), (1, *x.shape)])
            like = np.empty(x.shape).reshape(shape if np.prod(x.shape) else x.shape)
            text = f"tf.reshape({x.name}, {like.shape})"
        elif kind == "transpose" and rank > 1:
            perm = tuple(int(axis) for axis in self.random.permutation(rank))
            text, like = f"tf.transpose({x.name}, {perm})", np.empty(x.shape).transpose(perm)
        elif kind == "tile" and 0 < rank < 3:
            times = tuple(int(n) for n in self.random.integers(1, 3, rank))
            text, like = f"tf.tile({x.name}, {times})", np.tile(np.empty(x.shape), times)
        elif kind == "concat" and rank:
            like = np.concatenate([np.empty(x.shape)] * 2, -1)
            text = f"tf.concat([{x.name}, {x.name}], -1)"
        else:
            return False
        return (
            like.size < 10_000
            and len(like.shape) < 5
            and self.add(text, like.shape, x.dtype, x.bound, x.exact)
        )

    def matmul(self, x):
        if len(x.shape) < 2:
            return False
        y = self.pick(
            lambda v: v.dtype == x.dtype and len(v.shape) == 2 and v.shape[0] == x.shape[-1]
        )
        if y is None or np.prod(x.shape[:-1]) * y.shape[1] > 10_000:
            return False
        bound = x.bound * y.bound * max(x.shape[-1], 1)
        return self.add(f"{x.name} @ {y.name}", (*x.shape[:-1], y.shape[1]), x.dtype, bound, False)

    def where(self, x):
        """A `where` whose condition has the same bits on every executor."""
        y = self.partner(x)
        condition = self.partner(x, lambda value: value.exact)
        if condition is None:
            return False
        try:
            shape = np.broadcast_shapes(x.shape, y.shape, condition.shape)
        except ValueError:
            return False
        test = f"{condition.name} {self.choice(['>', '<=', '!='])} 0.25"
        text = f"tf.where({test}, {x.name}, {y.name})"
        return np.prod(shape) < 10_000 and self.add(
            text, shape, x.dtype, max(x.bound, y.bound), x.exact and y.exact
        )

    def cast(self, x):
        if not x.exact and len(self.dtypes) == 1:
            return False
        if x.exact and (len(self.dtypes) == 1 or self.random.random() < 0.3):
            text = f"tf.cast(tf.cast(3 * {x.name}, tf.int32) // 2, {x.dtype!r})"
            return self.add(text, x.shape, x.dtype, 2 * x.bound + 1, True)
        dtype = "float32" if x.dtype == "float64" else "float64"
        return self.add(f"tf.cast({x.name}, {dtype!r})", x.shape, dtype, x.bound, x.exact)

    def slice(self, x):
        if not x.shape:
            return False
        key = self.choice(["0", "-1", "1:", ":-1", "::-1", "..., 0", "..., ::2", "None"])
        try:
            like = eval(f"x[{key}]", {"x": np.empty(x.shape)})
        except IndexError:
            return False
        text = f"{x.name}[{key}]"
        return len(like.shape) < 5 and self.add(text, like.shape, x.dtype, x.bound, x.exact)


def run(tf, program, device, look, tape, keep=True):
    """The values of all lines, and the gradients by the inputs.

    ``look`` says of each line whether to look at its value at once. Without ``keep`` the only
    values left when the last ones are looked at are those of the last five lines.
    """
    scope = {"tf": tf, "look": lambda value: value.numpy() if next(looks) else None}
    looks = iter(look)
    inputs = [tf.constant(x) for x in program.operands()]
    scope |= {f"x{k}": x for k, x in enumerate(inputs)}
    names = [line.split()[0] for line in program.lines]
    with tf.config.override(device):
        recording = tf.GradientTape() if tape else contextlib.nullcontext()
        with recording:
            if tape:
                recording.watch(inputs)
            exec(compile(program.source(), f"<program {program.seed}>", "exec"), scope)
            last = scope[names[-1]]
        if not keep:
            for name in names[:-5]:
                del scope[name]
            names = names[-5:]
        results = {name: scope[name] for name in names}
        if tape:
            slopes = recording.gradient([y for y in results.values()] + [last], inputs)
            results |= {f"gradient {k}": g for k, g in enumerate(slopes) if g is not None}
        return {name: value.numpy() for name, value in results.items()}


def patterns(program):
    """Ways to run a program: name, evaluation after each line, tape, values kept."""
    count, random = len(program.lines), np.random.default_rng(program.seed)
    return {
        "lazily": ([False] * count, False, True),
        "with a look after every op": ([True] * count, False, True),
        "with looks here and there": (random.random(count) < 0.2, False, True),
        "lazily, few values kept": ([False] * count, False, False),
        "lazily, on a tape": ([False] * count, True, True),
        "with a look after every op, on a tape": ([True] * count, True, True),
        "few values kept, on a tape": (random.random(count) < 0.1, True, False),
    }


def differences(found, expected, tolerance=0.0):
    """Names of the values that differ in a bit, or by more than the tolerance."""
    wrong = []
    for name in found.keys() & expected.keys():
        x, y = found[name], expected[name]
        if x.shape != y.shape or x.dtype != y.dtype:
            wrong.append(name)
        elif tolerance == 0.0:
            wrong += [name] * (not np.array_equal(x, y, equal_nan=True))
        elif x.size:
            limit = tolerance * max(1.0, np.abs(y).max())
            wrong += [name] * (not np.abs(x - y).max() <= limit)
    return sorted(wrong)


def compare(tf, program, executor="cpu"):
    """Describe how the program's runs differ; empty if they agree."""
    first = {}
    for device in ("reference", executor):
        for pattern, (look, tape, keep) in patterns(program).items():
            found = run(tf, program, device, look, tape, keep)
            # With fewer targets the gradients differ.
            known = first.setdefault((device, tape and not keep), {})
            wrong = differences(found, known)
            if wrong:
                return f"{device}, {pattern}: not the same bits in {wrong}"
            known |= {name: x for name, x in found.items() if name not in known}
    for few in (False, True):
        wrong = differences(first[executor, few], first["reference", few], program.tolerance)
        if wrong:
            return f"{executor} and reference differ in {wrong}"
    return None


def program_of(function):
    """The executor of a function's only recording."""
    (calls,) = function._known.values()
    ((path,),) = (tree.paths for tree in calls.trees)
    return path.recording.prepare().programs[-1]
