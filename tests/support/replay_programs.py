"""Random programs for `tf.function`, run in two worlds: as plain Python and as recordings."""

import functools
import random
import re
import time
import warnings
from pathlib import Path

import numpy as np

import numtape as tf
from numtape.core import settings
from numtape.core.log.log import local
from numtape.core.log.variable import set_values
from numtape.core.ops.random import STATE

# Warnings that are allowed, because they do not concern results.
TOLERANCE = 2.0**-10  # for gradients by tapes of the driver
EXPECTED = (
    "as plain Python for arguments like",
    "functions run as plain Python: ",
    "Gradients do not exist",
    "encountered in",
)


class Eager:
    """`function` in plain Python: a call makes all of its assigns or none."""

    def __init__(self, python_function):
        self.python_function = python_function

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args, **kwargs):
        args = tf.nest.map_structure(_as_argument, args)
        kwargs = tf.nest.map_structure(_as_argument, kwargs)
        outer, local.journal = local.journal, {}
        state = STATE.seed, STATE.draws
        try:
            result = self.python_function(*args, **kwargs)
            if type(result) is tf.Tensor:
                return result
            return tf.nest.map_structure(_as_result, result)
        except BaseException:
            changed = list(local.journal.values())
            set_values([variable for variable, _ in changed], [value for _, value in changed])
            STATE.seed, STATE.draws = state
            raise
        finally:
            if outer is not None:
                for key, change in local.journal.items():
                    outer.setdefault(key, change)
            local.journal = outer


def _as_argument(x):
    return tf.constant(x) if isinstance(x, np.ndarray | np.generic) else x


def _as_result(x):
    if isinstance(x, tf.Variable):
        return x.read_value()
    return x if x is None or isinstance(x, str | tf.Tensor) else tf.convert_to_tensor(x)


def total(*nest):
    """The sum of all floats in a nest, a scalar to differentiate."""
    floats = [x for x in tf.nest.flatten(nest) if isinstance(x, tf.Tensor) and x.dtype.is_floating]
    return sum((tf.reduce_sum(tf.cast(x, tf.float64)) for x in floats), tf.constant(0.0, "float64"))


class Near:
    """A nest of gradients by a tape of the driver, compared with a tolerance.

    A replay adds the same terms, but possibly in another order if a variable was read several
    times.
    """

    def __init__(self, *nest):
        self.nest = nest


class World:
    """A program's names, variables and random numbers.

    Its source sees ``tf``, ``np``, ``total``, ``near`` and ``function``, which decorates its
    functions.
    """

    def __init__(self, code, function):
        self.space = {
            "__name__": "program",
            "tf": tf,
            "np": np,
            "total": total,
            "near": Near,
            "function": function,
        }
        self.random = 0, 0
        self.results = []
        exec(code, self.space)

    def run(self, code, look):
        """The effects of a step. Its code assigns its result to ``result``."""
        STATE.seed, STATE.draws = self.random
        self.space["result"] = None
        try:
            exec(code, self.space)
            found = {"result": seen(self.space["result"]) if look else ()}
            self.results.append(self.space["result"])
        except Exception as error:
            message = re.sub("0x[0-9a-f]+", "", str(error))
            found = {"raises": type(error).__name__, "message": message}
        self.random = STATE.seed, STATE.draws
        found["random"] = self.random
        if look:
            found |= self.state()
        return found

    def state(self):
        """Variables and numbers, by access path."""
        found = {}
        for name, value in self.space.items():
            if name not in ("result", "slopes", "tf", "np", "__builtins__"):
                _collect(name, value, found, set())
        return found

    def end(self):
        """All results and the state; later steps must not have changed earlier results."""
        STATE.seed, STATE.draws = self.random
        return {f"result of step {k}": seen(x) for k, x in enumerate(self.results)} | self.state()


def _collect(name, value, found, known):
    if isinstance(value, tf.Variable | tf.Tensor | int | float | str):
        found[name] = seen(value)
    elif isinstance(value, tf.keras.optimizers.SGD | tf.keras.optimizers.Adam | tf.keras.Layer):
        found[name] = [seen(x) for x in value.variables]
    elif type(value).__module__ == "program" and id(value) not in known:
        known.add(id(value))
        for attribute, part in getattr(value, "__dict__", {}).items():
            if attribute != "mark":
                _collect(f"{name}.{attribute}", part, found, known)


def seen(x, tolerance=0.0):
    """The observable properties of a nest: structure, dtypes, shapes, bits. All NaNs are equal."""
    if isinstance(x, Near):
        return seen(x.nest, TOLERANCE)
    if isinstance(x, dict):
        return {key: seen(value, tolerance) for key, value in x.items()}
    if isinstance(x, list | tuple):
        return type(x).__name__, [seen(value, tolerance) for value in x]
    if isinstance(x, tf.IndexedSlices):
        x = tf.convert_to_tensor(x)
    if isinstance(x, tf.Tensor | tf.Variable):
        shown = np.array(x.numpy())
        if shown.dtype.kind == "f":
            shown[np.isnan(shown)] = np.nan
        return x.dtype.name, tuple(x.shape), Bits(shown, tolerance)
    return repr(x)


class Bits:
    """An array that equals an array of the same bits, or a close one."""

    def __init__(self, array, tolerance):
        self.array, self.raw, self.tolerance = array, array.tobytes(), tolerance

    def __eq__(self, other):
        if self.raw == other.raw or not self.tolerance:
            return self.raw == other.raw
        with np.errstate(all="ignore"):
            largest = np.abs(self.array[np.isfinite(self.array)]).max(initial=1.0)
            return np.allclose(self.array, other.array, 0, self.tolerance * largest, True)

    def __repr__(self):
        return np.array_repr(self.array) if self.array.size < 20 else f"<{hash(self.raw):x}>"


@functools.lru_cache(4096)
def _compiled(text, name):
    return compile(text, name, "exec")


def compare(source, steps, look="always", check=0):
    """Run a program's steps in both worlds. Returns a description of the first difference, or None.

    Args:
      source: Defines what the steps use.
      steps: Each is Python, and may give its ``result`` a value.
      look: "always", or "last": only when all steps are done.
      check: Every how many calls functions check their replays themselves.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # a `return` in `finally`
        code = compile(source, "<program>", "exec")
    before, settings._check_replay = settings._check_replay, check
    kept = STATE.seed, STATE.draws
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            STATE.seed, STATE.draws = 0, 0
            eager = World(code, Eager)
            STATE.seed, STATE.draws = 0, 0
            replayed = World(code, tf.function)
            for k, step in enumerate(steps):
                step_code = _compiled(step, f"<step {k}>")
                expected = eager.run(step_code, look == "always")
                found = replayed.run(step_code, look == "always")
                if found != expected:
                    return _difference(f"step {k}: {step}", found, expected)
            expected, found = eager.end(), replayed.end()
            if found != expected:
                return _difference("the end", found, expected)
        for warning in caught:
            if not any(text in str(warning.message) for text in EXPECTED):
                return f"a warning: {warning.message}"
        return None
    finally:
        settings._check_replay = before
        STATE.seed, STATE.draws = kept


def _difference(where, found, expected):
    lines = [f"at {where}"]
    for name in {**expected, **found}:
        x, y = found.get(name, "nothing"), expected.get(name, "nothing")
        if x != y:
            lines.append(f"  {name}: tf.function has {x}, Python {y}")
    return "\n".join(lines)


# Shrinking.


def _without(lines, k, clauses=False):
    """The lines without line ``k``, its block and, optionally, the clauses that belong to it."""
    indent = len(lines[k]) - len(lines[k].lstrip())
    end = k + 1
    clause = re.compile(rf" {{{indent}}}(else|elif|except|finally)\b")
    while end < len(lines) and (
        len(lines[end]) - len(lines[end].lstrip()) > indent
        or (clauses and clause.match(lines[end]))
    ):
        end += 1
    return lines[:k] + lines[end:], lines[k + 1 : end]


def shrunk(source, steps, look, check, seconds=20.0):
    """A smaller program with the same difference."""
    end = time.monotonic() + seconds
    unknown = re.search("NameError|UnboundLocal", compare(source, steps, look, check) or "")

    def differs(lines, steps):
        try:
            found = compare("\n".join(lines), steps, look, check)
        except Exception:
            return False
        # A NameError from a dropped line is not the same difference.
        return found is not None and (unknown or not re.search("NameError|UnboundLocal", found))

    lines, steps = source.split("\n"), list(steps)
    smaller = True
    while smaller and time.monotonic() < end:
        smaller = False
        for k in reversed(range(len(steps))):
            if differs(lines, fewer := steps[:k] + steps[k + 1 :]):
                steps, smaller = fewer, True
        k = len(lines) - 1
        while k >= 0 and time.monotonic() < end:
            block = _without(lines, k)[1]
            inside = [line[4:] for line in block]
            for fewer in (
                _without(lines, k, True)[0],
                _without(lines, k)[0],
                lines[:k] + inside + lines[k + 1 + len(block) :],
            ):
                if len(fewer) < len(lines) and differs(fewer, steps):
                    lines, smaller = fewer, True
                    break
            k = min(k, len(lines)) - 1
    return "\n".join(lines), steps


def script(source, steps, look="always", check=0):
    """A script that runs the comparison."""
    return "\n".join(
        [
            "import sys",
            f"sys.path.insert(0, {str(Path(__file__).parent)!r})",
            "import replay_programs",
            f"SOURCE = '''\n{source}\n'''",
            "STEPS = [",
            *(f"    {step!r}," for step in steps),
            "]",
            f"print(replay_programs.compare(SOURCE, STEPS, {look!r}, {check}))",
        ]
    )


# Generation. Each piece of a world has its definition and the driver's possible changes.

NUMBERS = ("0.5", "2.0", "-1.5", "1.0", "0.25")
PIECES = {
    "rate": ("rate = P", ["rate = P", "rate = 2", "del rate", "rate = tf.constant(P, D)"]),
    "limit": ("limit = K", ["limit = K"]),
    "flag": ("flag = B", ["flag = not flag", "flag = B"]),
    "mode": ("mode = 'a'", ["mode = 'ab'[mode == 'a']"]),
    "table": ("table = (P, P)", ["table = (P, table[0])"]),
    "tiny": ("tiny = np.float32(P)", ["tiny = np.float32(P)", "tiny = np.float64(P)"]),
    "bias": ("bias = tf.constant(P, D)", ["bias = tf.constant(P, D)", "bias = P"]),
    "v": (
        "v = tf.Variable(P, dtype=D)",
        ["v.assign(P)", "v.assign(F)", "v.assign_add(1)", "v = tf.Variable(P, dtype=D)"],
    ),
    "v2": ("v2 = tf.Variable(P, dtype=D)", ["v2.assign(F)"]),
    "w": (
        "w = tf.Variable(np.linspace(-1, 1, W), dtype=D)",
        [
            "w.assign(w * P + P)",
            "w[1:].assign(w[:-1])",
            "w = tf.Variable(np.linspace(-1, P, W), dtype=D)",
        ],
    ),
    "c": ("c = tf.Variable(1)", ["c.assign(0)", "c.assign_add(1)", "c.assign(K)"]),
    "frozen": ("frozen = tf.Variable(P, dtype=D, trainable=False)", ["frozen.assign(P)"]),
    "sgd": (
        "sgd = tf.keras.optimizers.SGD(P, momentum=0.5)",
        [
            "sgd.learning_rate = P",
            "sgd.learning_rate.assign(P)",
            "sgd.momentum = P / 4",
            "sgd = tf.keras.optimizers.SGD(0.1)",
        ],
    ),
    "adam": (
        "adam = tf.keras.optimizers.Adam(0.1)",
        ["adam.learning_rate = P", "adam.beta_1 = 0.5", "adam = tf.keras.optimizers.Adam(0.2)"],
    ),
    "dense": (
        "dense = tf.keras.layers.Dense(2, activation=tf.tanh, dtype=D, kernel_initializer='ones')",
        [
            "dense.activation = tf.sin",
            "dense.kernel.assign(dense.kernel * P)",
            "dense.trainable = not dense.trainable",
            "dense.use_bias = B",
        ],
    ),
    "helper": (
        "def helper(a):\n    return a * P + bias",
        ["helper = lambda a: a - P", "def helper(a):\n    return a + rate2"],
    ),
    "rate2": ("rate2 = P", ["rate2 = P"]),
    "deep": (
        "def deeper(a):\n    return a * rate2 if flag else a + model.part.scale\n"
        "def deep(a):\n    return deeper(a) - P",
        ["rate2 = P", "flag = not flag"],
    ),
    "act": ("act = tf.tanh", ["act = tf.sin", "act = tf.nn.relu", "act = lambda a: a * P"]),
    "choose": ("choose = max", ["choose = min", "choose = lambda a, b: a - b"]),
    "Kind": (
        "class Kind:\n    level = P\nclass Other(Kind):\n    level = P",
        ["Kind.level = P", "Kind, Other = Other, Kind"],
    ),
    "model": (
        """class Part:
    def __init__(self, scale):
        self.scale = scale
class Model:
    level = P
    def __init__(self):
        self.rate = P
        self.part = Part(P)
        self.act = tf.tanh
        self.m = tf.Variable(P, dtype=D)
        self.made = None
        self.last = None
        self.count = 0
        self.best = -5.0
    def scaled(self, a):
        return a * self.part.scale
    @property
    def gain(self):
        return self.rate * 2
    @staticmethod
    def shifted(a):
        return a + P
    def __call__(self, a):
        return self.act(a) + self.level
METHODmodel = Model()
other = Model()""",
        [
            "model.rate = P",
            "model.part.scale = P",
            "model.part = Part(P)",
            "model.act = tf.sin",
            "Model.level = P",
            "model.level = P",
            "model.m.assign(P)",
            "model.rate, other.rate = P, P",
            "model.m = tf.Variable(P, dtype=D)",
            "model.part, other.part = other.part, model.part",
            "Model.scaled = lambda self, a: a + self.rate",
            "model.scaled = lambda a: a - P",
            "Model.shifted = staticmethod(lambda a: a * P)",
            "model.count = K",
            "result = model.count, model.best",
            "other.part.scale = P",
        ],
    ),
    "g": (
        """@function
def g(a, m=2.0):
    if tf.reduce_sum(a) > P:
        v2.assign_add(P)
        return a * m + v2
    return a - rate2""",
        ["rate2 = P", "v2.assign(F)", "result = g(X)", "result = g(X, P)"],
    ),
    "h": (
        """@function
def h(a):
    u = tf.random.uniform([], dtype=D)
    v2.assign_add(u)
    if tf.reduce_mean(a) > P:
        raise ValueError("too large")
    return {"a": a * u, "b": (v2, None)}""",
        ["v2.assign(F)", "result = h(X)"],
    ),
}
CLOSURE = """def make(free, most):
    def change(value):
        nonlocal free
        free = value
    calls = 0
    @function
BODY
    return f, change
f, change = make(P, K)"""


class Program:
    """A random program: its source and the steps of its driver."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.seed = seed
        self.dtype = self.pick("float32", "float32", "float64")
        self.size = 1500 if self.draw.random() < 0.06 else 3
        self.form = self.pick("global", "global", "closure", "method")
        self.locals, self.count, self.grows = ["x", "y"], 0, False
        self.arguments = ["x"]
        self.look = self.pick("always", "always", "always", "last")
        for name, chance in (("n", 0.6), ("k", 0.35), ("nest", 0.2), ("u", 0.15)):
            if self.draw.random() < chance:
                self.arguments.append(name)
        self.casts = self.draw.random() < 0.2
        body = self.body()
        self.check = 0 if self.grows or self.draw.random() < 0.95 else 2
        self.source = self.written(body)
        self.steps = self.driver()

    # Choosing.

    def pick(self, *options):
        return self.draw.choice(options)

    def filled(self, text):
        """Fills a template: P, K, B, F, X are random numbers, D and W are the program's."""

        def fill(match):
            word = match.group()
            if word == "F":
                return self.pick("0.0", "-0.0", "float('nan')", "float('inf')", "1e30", "-2.0")
            return {
                "P": lambda: self.pick(*NUMBERS),
                "K": lambda: str(self.draw.randrange(4)),
                "B": lambda: self.pick("True", "False"),
                "X": self.input,
                "D": lambda: repr(self.dtype),
                "W": lambda: str(self.size),
            }[word]()

        return re.sub(r"\b[PKBFXDW]\b", fill, text)

    # Expressions.

    def number(self):
        """A Python number."""
        options = [
            "P",
            "P",
            "rate",
            "model.rate",
            "model.part.scale",
            "Model.level",
            "table[1]",
            "tiny",
            "Kind.level",
            f"float({self.scalar(0)})",
            "choose(rate, P)",
            "rate2",
            "model.gain",
            "other.rate",
            "float(c)",
            "limit",
        ]
        if self.form == "closure":
            options += ["free", "free", "most"]
        if self.form == "method":
            options += ["self.rate", "self.part.scale", "self.level", "self.gain"]
        if "k" in self.arguments:
            options += ["k", "k"]
        return self.pick(*options)

    def tensor(self, depth=2):
        """A float tensor that broadcasts with all others."""
        if depth <= 0 or self.draw.random() < 0.2:
            options = [*self.locals, "y", "x", "v", "w", "bias", "model.m", "v2", "frozen"]
            options += ["nest['a']", "nest['b'][0]"] * ("nest" in self.arguments)
            options += ["u"] * ("u" in self.arguments)
            return self.pick(*options)
        a, b, s = self.tensor(depth - 1), self.tensor(depth - 1), self.scalar(depth - 1)
        p = self.number()
        return self.pick(
            f"tf.sin({a})",
            f"tf.tanh({a})",
            f"tf.nn.relu({a})",
            f"tf.abs({a})",
            f"-{a}",
            f"{a} * {p}",
            f"{a} + {p}",
            f"({a} - {p})",
            f"{p} * {a}",
            f"{a} / (1 + tf.abs({b}))",
            f"({a} + {b})",
            f"({a} - {b})",
            f"{a} * {b}",
            f"tf.maximum({a}, {b})",
            f"tf.where({a} > {p}, {b}, {s})",
            f"tf.stop_gradient({a})",
            f"tf.square({a})",
            f"helper({a})",
            f"model.scaled({a})",
            f"model({a})",
            f"act({a})",
            f"model.act({a})",
            f"deep({a})",
            f"Model.shifted({a})",
            f"other.scaled({a})",
            f"np.sin(({a}).numpy())",
            f"tf.constant(np.asarray({a}) * 2)",
            s,
            s,
            f"tf.random.normal([], stddev={p}, dtype=D)",
            "tf.random.uniform([W], dtype=D)",
            "tf.random.uniform([], dtype=D, seed=K)",
            f"tf.zeros_like({a})",
            f"tf.cast({self.integer()}, D)",
            f"g({a})",
            f"g({a}, {p})",
            f"sum([{a} * q for q in (1.0, {p})])",
            f"(lambda a: a * {p} + {b})({a})",
            f"tf.cond({self.condition(0)}, lambda: {a}, lambda: {b})",
            "tf.reduce_sum(dense(w[None, :3]))",
            "tf.reduce_mean(dense(w[None, :3]), 0)[1]",
        )

    def scalar(self, depth=1):
        """A float tensor of shape ()."""
        if depth <= 0 and self.draw.random() < 0.5:
            return self.pick("v", "bias", "v2", "tf.reduce_sum(x)", "w[0]", "model.m")
        a = self.tensor(depth - 1)
        return self.pick(
            f"tf.reduce_sum({a})",
            f"tf.reduce_mean({a})",
            f"tf.reduce_max({a})",
            f"tf.norm({a})",
            "w[-1]",
            f"tf.reduce_sum({a})",
        )

    def integer(self):
        """An int32 tensor of shape ()."""
        options = ["c", "c", "tf.size(x)", "tf.random.uniform([], 0, 4, tf.int32)"]
        options += ["n", "n", "n", "n * K", "(n + K)"] * ("n" in self.arguments)
        return self.pick(*options)

    def condition(self, depth=1):
        """The condition of an ``if``."""
        s, t, i, p = self.scalar(depth), self.scalar(depth), self.integer(), self.number()
        if self.draw.random() < 0.12:
            inner = self.condition(0), self.condition(0)
            return self.pick("not {}", "({}) and {}", "({}) or {}").format(*inner)
        return self.pick(
            f"{s} > {p}",
            f"{s} > {t}",
            f"bool({s} < {p})",
            f"float({s}) > {p}",
            f"{i} > K",
            f"int({i}) == K",
            f"{i} % 2 == 0",
            "flag",
            "mode == 'a'",
            f"{p} > 0",
            f"tf.reduce_all({self.tensor(1)} > 0)",
            f"np.any(np.asarray({self.tensor(0)}) > 0.25)",
            "len(x.shape) > 1",
            "x.dtype == tf.float32",
            f"{s}",
            f"{s} > v",
            f"{s} <= {p}",
            "tf.random.uniform([]) > 0.5",
            f"({s}).numpy() >= {p}",
            "x.shape == ()",
            "tf.random.normal([], dtype=D) > v",
        )

    # Statements, as lists of lines.

    def block(self, depth, most=2):
        """Indented statements, whose names are not used after the block."""
        known = list(self.locals)
        lines = [line for _ in range(self.draw.randint(1, most)) for line in self.statement(depth)]
        self.locals = known
        return [f"    {line}" for line in lines]

    def fresh(self):
        self.count += 1
        return f"t{self.count}"

    def statement(self, depth=2):
        kinds = [self.assignment] * 5 + [self.update] * 5 + [self.raising] + [self.other] * 3
        kinds += [self.taped] * 2 + [self.aliased]
        if depth:
            kinds += [self.branch] * 5 + [self.loop] * 3 + [self.guarded] * 2
        return self.draw.choice(kinds)(depth)

    def assignment(self, depth):
        if self.draw.random() < 0.5:
            return [f"y = {self.tensor()}"]
        value, name = self.tensor(), self.fresh()
        self.locals.append(name)
        return [f"{name} = {value}"]

    def update(self, depth):
        s, p = self.scalar(), self.number()
        line = self.pick(
            f"v.assign({s})",
            f"v.assign_add({s})",
            f"v.assign_sub({s} * {p})",
            "c.assign_add(1)",
            f"w.assign(w * {s})",
            "w[1:].assign(w[:-1])",
            f"w[0].assign({s})",
            f"w.assign_add(w * {p})",
            f"v2.assign({p})",
            "v.assign(v2)",
            "v2.assign(v * v2)",
            f"model.m.assign_add({s})",
            f"frozen.assign({s})",
            f"c.assign({self.integer()})",
            f"w.assign(tf.random.normal([W], dtype=D) * {s})",
            "v.assign(-v)",
        )
        if "u" in self.arguments and self.draw.random() < 0.3:
            line = f"u.assign_add({s})"
        return [line]

    def raising(self, depth):
        i, s = self.integer(), self.scalar()
        return self.pick(
            [f"if {self.condition()}:", "    raise ValueError('too large')"],
            [
                f"if {s} > {self.number()}:",
                f"    raise ValueError(str(float({s})) + ' is too large')",
            ],
            [f"y = y + tf.cast(K // {i}, D)"],
            [f"y = y * tf.gather(w, {i})"],
            [f"y = y + tf.cast({i} % {self.integer()}, D)"],
            [f"y = y + w[{self.pick('int(c)', '1')}]"],
            [f"assert {self.condition()}, 'no'"],
        )

    def other(self, depth):
        """Rare statements, which are the most likely to break something."""
        a, p = self.tensor(1), self.number()
        self.grows = True
        options = [
            [
                "if model.made is None:",
                "    model.made = tf.Variable(P, dtype=D)",
                "y = y + model.made",
            ],
            ["model.count += 1", "y = y + model.count"],
            [f"if {self.condition()}:", "    model.count += 1", "y = y * model.count"],
            # State that is set but not read is set at recording only and never compared.
            ["model.mark = K"],
            [f"if {self.condition()}:", "    model.mark = K"],
            ["model.best = max(model.best, float(tf.math.tanh(v)))", "y = y + model.best"],
            [f"y = tf.map_fn(lambda q: q * {p} if q > 0 else q - v, w) * y"],
            [f"y = tf.scan(lambda q, r: q * {p} + r, w) + y"],
            [
                f"y = tf.while_loop(lambda q, j: q < {p} and j < 4, "
                f"lambda q, j: (q * 2 + 1, j + 1), ({self.scalar()}, 0))[0]"
            ],
            ["def inner(q, r=P):", f"    return q * r + {a} * {p}", "y = inner(y)"],
            ["y = h(y)['a']"],
            [f"y = h({a})['b'][0] + y"],
            [
                "for q in tf.unstack(w[:3]):",
                f"    y = y + q * {p}",
                "    if q > v:",
                "        break",
            ],
        ]
        if self.form == "closure":
            options.append(["calls += 1", "y = y * calls"])
        if self.draw.random() < 0.15:
            options = [
                [
                    "y = y + (0 if model.last is None else model.last)",
                    f"model.last = tf.reduce_sum({a})",
                ]
            ]
        return self.draw.choice(options)

    def aliased(self, depth):
        """Accesses attributes through a local name."""
        name = self.fresh()
        return self.pick(
            [f"{name} = model.part", f"y = y * {name}.scale"],
            [f"{name} = model", f"y = y + {name}.part.scale * {name}.m"],
            [f"{name} = model if flag else other", f"y = y * {name}.rate"],
            [f"for {name} in (model, other):", f"    y = {name}.scaled(y)"],
            [f"{name} = helper", f"y = {name}(y)"],
            [f"{name} = model if {self.condition()} else other", f"y = y * {name}.part.scale"],
            [
                f"y = y * type({self.pick('model', 'Kind')}).__name__.count('o')",
                f"y = y + type(model).level * {self.number()}",
            ],
            [
                f"{name} = model.part",
                "model.part = other.part",
                "y = model.scaled(y)",
                f"model.part = {name}",
                "y = model.scaled(y)",
            ],
        )

    def taped(self, depth):
        g, s, name = self.fresh(), self.scalar(2), self.fresh()
        watch = ["    tape.watch(y)"] * self.draw.randrange(2)
        zero = "unconnected_gradients='zero'"
        small = self.size == 3
        kinds = [
            [
                "with tf.GradientTape() as tape:",
                *watch,
                f"    {g} = {s} + v * v",
                f"y = y + tape.gradient({g}, {self.pick('v', 'y', 'w', 'x')}, {zero})",
            ],
            [
                "with tf.GradientTape(persistent=True) as tape:",
                *watch,
                f"    {g} = {s} * v + y",
                f"    {name} = tf.sin({g})",
                f"y = y + tape.gradient({g}, v, {zero})",
                f"y = y * tape.gradient({name}, {self.pick('v', 'w')}, {zero})",
            ],
            [
                "with tf.GradientTape() as outer:",
                "    with tf.GradientTape() as tape:",
                f"        {g} = tf.tanh({s} * v) * v",
                f"    {name} = tape.gradient({g}, v)",
                f"y = y + outer.gradient({name}, v, {zero})",
            ],
            [
                "with tf.GradientTape() as tape:",
                f"    {g} = {s} * v + tf.reduce_sum(w * w)",
                f"{name} = tape.gradient({g}, [v, w])",
                f"{self.pick('sgd', 'adam')}.apply_gradients(zip({name}, [v, w]))",
            ],
            [
                "with tf.GradientTape() as tape:",
                f"    {g} = ({s} + v) * w",
                f"y = y + tf.reduce_sum(tape.jacobian({g}, {self.pick('w', 'v')}))",
            ]
            if small
            else [f"y = y + {s}"],
            [
                "with tf.GradientTape() as tape:",
                "    v.assign_add(1)",
                f"    {g} = v * {s}",
                *[f"    v.assign({self.scalar()})"] * self.draw.randrange(2),
                f"y = y + tape.gradient({g}, v, {zero})",
            ],
        ]
        return self.draw.choice(kinds)

    def branch(self, depth):
        lines = [f"if {self.condition()}:", *self.block(depth - 1)]
        if self.draw.random() < 0.25:
            lines.append(f"    return {self.returned()}")
        if self.draw.random() < 0.2:
            lines += [f"elif {self.condition()}:", *self.block(depth - 1)]
        if self.draw.random() < 0.5:
            lines += ["else:", *self.block(depth - 1)]
        return lines

    def loop(self, depth):
        i = self.fresh()
        inside = self.block(depth - 1)
        leave = [f"    if {self.condition()}:", f"        {self.pick('break', 'continue')}"]
        inside = self.pick(inside, inside, leave + inside, inside + leave)
        if self.draw.random() < 0.5:
            count = self.pick(f"int({self.integer()}) % 4", f"min({self.integer()}, 3)", "K")
            return [f"for {i} in range({count}):", *inside]
        # At most four times, even if a line is dropped.
        test = f"while {i}.__next__() < 3 and ({self.condition()}):"
        return [f"{i} = iter(range(4))", test, *inside]

    def guarded(self, depth):
        error = self.pick("ValueError", "tf.errors.InvalidArgumentError", "Exception")
        lines = [
            "try:",
            *self.block(depth - 1),
            *(f"    {x}" for x in self.raising(depth)),
            f"except {error}:",
            *self.block(depth - 1, 1),
        ]
        if self.draw.random() < 0.2:
            lines += ["finally:", *self.block(depth - 1, 1)]
        return lines

    def returned(self):
        a, s = self.tensor(1), self.scalar()
        return self.pick(
            "y",
            "y",
            "y",
            f"y, {a}",
            "{'a': y, 'b': (v, None)}",
            f"[y, {s}]",
            f"(y, float({s}))",
            "v",
            "(y, y, x)",
            "None",
            "1.5",
            "w[1:], 'text'",
            f"y, {self.condition(0)}",
            "np.float32(2.0)",
            "[[], {'c': c}]",
        )

    # Putting it together.

    def body(self):
        count = self.draw.randint(1, 5)
        lines = ["x = tf.cast(x, D)"] * self.casts + ["y = x * 1"]
        for _ in range(count):
            lines += self.statement()
        return [*lines, f"return {self.returned()}"]

    def written(self, body):
        """The source: the function and the pieces of the world that it uses."""
        defaults = {"n": "n=2", "k": "k=1.0"}
        parameters = [defaults.get(name, name) for name in self.arguments]
        # Parameters without a default go first.
        parameters.sort(key=lambda text: "=" in text)
        self.arguments = [text.split("=")[0] for text in parameters]
        own = ["self"] if self.form == "method" else []
        lines = [f"def f({', '.join(own + parameters)}):", *(f"    {line}" for line in body)]
        if self.form == "closure" and any("calls" in line for line in body):
            lines.insert(1, "    nonlocal calls")
        indented = [f"    {line}" for line in lines]
        text = "\n".join(lines)
        method = ""
        if self.form == "closure":
            outer = CLOSURE.replace("BODY", "\n".join(indented))
        elif self.form == "method":
            outer, method = "f = lambda *args: model.f(*args)", "    @function\n"
            method += "\n".join(indented) + "\n"
        else:
            outer = "@function\n" + text
        self.used, text = [], text + "\n" + outer + "\nv v2" * ("u" in self.arguments)
        todo = True
        while todo:
            words = set(re.findall(r"[A-Za-z_]\w*", text))
            words |= {"model"} if words & {"self", "other", "Model"} else set()
            todo = [name for name in PIECES if name in words and name not in self.used]
            self.used += todo
            text = "\n".join([text, *(PIECES[name][0] for name in todo)])
        first = [PIECES[name][0].replace("METHOD", method) for name in self.used]
        return self.filled("\n".join([*first, outer]))

    def input(self):
        """A tensor for ``x``."""
        size, draw = self.size, self.draw.random()
        number = self.pick("0.5", "-0.5", "2.0", "-2.0", "0.0", "1.0")
        if draw < 0.08:
            number = self.pick("float('nan')", "float('inf')", "-0.0", "1e30")
        dtype = self.dtype
        if self.draw.random() < (0.4 if self.casts else 0.02):
            dtype = self.pick("float32", "float64", "int32")
            number = "3" if dtype == "int32" else number
        vector = f"({size},)"
        shape = self.pick("()", "()", vector, vector, "(1,)", f"(2, {size})", f"(0, {size})")
        if shape not in self.shapes and len(self.shapes) == 2:  # few, so that they repeat
            shape = self.draw.choice(sorted(self.shapes))
        self.shapes.add(shape)
        if shape == "()" and self.draw.random() < 0.8:
            return f"tf.constant({number}, {dtype!r})"
        made = f"np.full({shape}, {number}, {dtype!r})"
        if shape == vector and self.draw.random() < 0.4:
            made = f"np.linspace({number}, 1, {size}).astype({dtype!r})"
        return made if self.draw.random() < 0.2 else f"tf.constant({made})"

    def call(self):
        """A call of the function and the inputs that tapes may watch."""
        values = {
            "x": self.input,
            "n": lambda: f"tf.constant({self.draw.randrange(4)})",
            "k": lambda: self.pick("1.0", "2.0", "2", "-0.0", "0.0", "True"),
            "nest": lambda: f"{{'a': {self.input()}, 'b': [{self.input()}, K]}}",
            "u": lambda: self.pick("v", "v2", "v"),
        }
        given = [values[name]() for name in self.arguments]
        if self.arguments[-1] == "k" and self.draw.random() < 0.2:
            del given[-1]
        return given

    def driver(self):
        """The steps, with few different inputs, so that inputs repeat."""
        self.shapes = set()
        known = [self.call() for _ in range(self.draw.randint(2, 4))]
        words = set(re.findall(r"[A-Za-z_]\w*", self.source))
        changes = [
            change
            for name in self.used
            for change in PIECES[name][1]
            if set(re.findall(r"[A-Za-z_]\w*", change)) - set("PKBFXDW") <= words | ALLOWED
        ]
        changes += ["change(P)", "change(P)"] * (self.form == "closure")
        watched = [name for name in ("v", "w", "v2", "frozen") if name in self.used]
        steps = []
        for _ in range(self.draw.randint(6, 12)):
            call = self.draw.choice(known)
            text = f"f({', '.join(call)})"
            kind = self.draw.random()
            if kind < 0.3 and changes:
                steps.append(self.draw.choice(changes))
            elif kind < 0.34:
                steps.append("tf.random.set_seed(K)")
            elif kind < 0.44:
                steps.append(self.taped_call(call, watched))
            elif kind < 0.47:
                steps.append(
                    f"try:\n    result = {text}\nexcept Exception as error:\n"
                    f"    result = str(error)\nresult = result, f({', '.join(call)})"
                )
            else:
                steps.append(f"result = {text}")
        # Fill the template once for parts that a step and its repetition share.
        return [self.filled(step) for step in steps]

    def taped_call(self, call, watched):
        """A call under a tape of the driver."""
        first, *rest = call
        sources = f"[{', '.join(['x', *watched])}]"
        text = f"f({', '.join(['x', *rest])})"
        start = f"x = tf.cast({first}, D)\n"
        if self.draw.random() < 0.3:
            return (
                f"{start}with tf.GradientTape() as outer:\n    outer.watch(x)\n"
                f"    with tf.GradientTape() as tape:\n        tape.watch(x)\n"
                f"        result = {text}\n        loss = total(result) ** 2\n"
                f"    slopes = tape.gradient(loss, {sources})\n"
                f"result = result, near(slopes, outer.gradient(total(slopes), {sources}))"
            )
        keep = self.pick("", "persistent=True")
        lines = [
            f"{start}with tf.GradientTape({keep}) as tape:",
            "    tape.watch(x)",
            f"    result = {text}",
            "    loss = total(result)",
        ]
        if self.draw.random() < 0.4:
            lines += [f"    again = {text}", "    loss = loss * total(again)"]
        if self.draw.random() < 0.2 and watched:
            lines.insert(2, f"    {watched[0]}.assign({watched[0]} * x)")
        slopes = f"tape.gradient(loss, {sources})"
        lines.append(f"result = result, near({slopes}{f', {slopes}' * bool(keep)})")
        return "\n".join(lines)


ALLOWED = {
    "tf",
    "np",
    "lambda",
    "a",
    "b",
    "self",
    "not",
    "tanh",
    "sin",
    "nn",
    "relu",
    "constant",
    "Variable",
    "dtype",
    "assign",
    "assign_add",
    "del",
    "keras",
    "optimizers",
    "SGD",
    "Adam",
    "learning_rate",
    "momentum",
    "beta_1",
    "linspace",
    "float32",
    "float64",
    "result",
    "def",
    "return",
    "layers",
    "activation",
    "kernel",
    "trainable",
    "use_bias",
    "staticmethod",
    "min",
    "max",
}
