"""Random calls and chains of calls, in numtape and in an installed TensorFlow.

Both get the same arguments of every kind. Values and derivatives to second order must agree within
rounding; shapes, dtypes, None and exceptions must be equal. `tests/support/op_cases.py` lists the
functions. Every run has its own seed, which a failure prints; `--parity-seed` repeats it.
"""

import inspect
import time

import numpy as np
import pytest
from cases_complex import CASES as COMPLEX
from op_cases import CASES, MISSING, STOP
from parity_differences import (
    DIFFERS,
    DTYPES,
    EDGES,
    LOGICAL,
    LOOSE,
    NEAR,
    NEARER,
    OF_DTYPES,
    ONE_ORDER,
    SHAPES,
    SINGLE,
    SKIPPED,
    at_edges,
    refused_there,
)
from tensorflow_reference import fresh, installed

import numtape

pytestmark = [
    pytest.mark.numtape_only(reason="asks both"),
    pytest.mark.cpu_only(reason="one device is enough"),
    pytest.mark.filterwarnings("ignore"),
]


class Argument:
    """An operand, and how it is passed: as a tensor, variable, array or Python object."""

    FORMS = ["tensor"] * 6 + ["variable"] * 2 + ["array", "python"]

    def __init__(self, random):
        self.form = str(random.choice(self.FORMS))

    @property
    def followed(self):
        return self.form == "tensor" or (self.form == "variable" and self.value.dtype.kind == "f")

    def made(self, tf):
        if self.form == "tensor":
            return tf.constant(self.value)
        if self.form == "variable":
            return tf.Variable(self.value)
        return self.value if self.form == "array" else self.value.tolist()

    def __repr__(self):
        return f"{self.form}({self.value.dtype}, {self.value.tolist()})"


class Call:
    """A random call of a function, and the derivatives to compare."""

    def __init__(self, seed):
        random = np.random.default_rng(seed)
        cases = [case for case in CASES if case.name not in SKIPPED]
        self.case = case = cases[random.integers(len(cases))]
        shapes, self.options = self._variant(random)
        wide = random.random() < 0.1 and case.name not in (*LOGICAL, "one_hot")
        wide = wide and case.name not in SINGLE
        dtype = str(random.choice(DTYPES if wide else case.dtypes))
        dtype = "float32" if case.name in SINGLE and dtype == "float64" else dtype
        self.arguments = []
        for j, shape in enumerate(shapes):
            ranges = case.ranges if dtype.startswith("f") else case.ints
            span = ranges[min(j, len(ranges) - 1)]
            argument = Argument(random)
            other = dtype
            if argument.form in ("tensor", "variable") and random.random() < 0.02:
                other = str(random.choice(DTYPES))
            argument.value = drawn(random, shape, span, "bool" if span is bool else other)
            if not argument.value.size:  # a list does not carry shape and dtype
                argument.form = "tensor"
            self.arguments.append(argument)
        self.watched = [random.random() < 0.8 for _ in self.arguments]
        if case.name == "where" and case.variants:
            self.watched = [False]  # the derivative is an error there
        self.order = 0 if case.order in (STOP, MISSING) else 1 if case.name in ONE_ORDER else 2
        self.named = random.random() < 0.15
        self.seeded = random.random() < 0.3
        self.zero = random.random() < 0.2

        if at_edges(case) and random.random() < 0.2:
            self._to_edges(random)

    def _to_edges(self, random):
        """Replaces a few elements by infinity, NaN, -0, very large or small numbers."""
        self.order = min(self.order, 1)
        for argument in self.arguments:
            x = argument.value
            if x.dtype.kind in "fiu" and x.size:
                at = random.integers(x.size, size=int(random.integers(1, 4)))
                x.flat[at] = random.choice(EDGES[x.dtype.kind](x.dtype), at.size)

    def _variant(self, random):
        case = self.case
        options = dict(case.options[random.integers(len(case.options))])
        if case.variants:
            some = [v for v in case.variants if all(np.prod(s) < 1000 for s in v[0])]
            shapes, options = some[random.integers(len(some))]
            if type(options.get("axis")) is int and random.random() < 0.1:
                options = options | {"axis": int(random.integers(-5, 6))}
            return shapes, options
        shape = SHAPES[random.integers(len(SHAPES))]
        return [partner(random, shape) for _ in case.ranges], options

    def __repr__(self):
        arguments = ", ".join(map(repr, self.arguments))
        return f"{self.case.name}({arguments}, {self.options}), watched: {self.watched}"

    def names(self):
        """TensorFlow's names of the operands, if they are passed by name."""
        case = self.case
        if not self.named or case.call is not None or case.name.startswith("operator"):
            return []
        kinds = inspect.signature(case.function(installed())).parameters.values()
        names = [kind.name for kind in kinds if kind.kind is not kind.VAR_POSITIONAL]
        names = [name for name in names if name not in self.options]
        return names[: len(self.arguments)] if len(names) >= len(self.arguments) else []

    def results(self, tf):
        """The outcome: an exception, or names and values."""
        found = {}
        try:
            self._run(tf, found)
        except Exception as error:
            found["raises"] = error
        return found

    def _run(self, tf, found):
        arguments = [argument.made(tf) for argument in self.arguments]
        # No integer variables, whose reads have derivatives in TensorFlow.
        tensors = [
            x
            for x, argument, watched in zip(arguments, self.arguments, self.watched, strict=True)
            if watched and argument.followed
        ]
        unconnected = "zero" if self.zero else "none"
        with tf.GradientTape(persistent=True) as outer:
            outer.watch([x for x in tensors if x.dtype.is_floating])
            with tf.GradientTape(persistent=True) as inner:
                inner.watch([x for x in tensors if x.dtype.is_floating])
                function = self.case.function(tf)
                names = self.names()
                if names:
                    results = function(**dict(zip(names, arguments, strict=True)), **self.options)
                else:
                    results = function(*arguments, **self.options)
                results = results if isinstance(results, list) else [results]
                weighted = [y * 2 for y in results if y.dtype.is_floating]
            for k, y in enumerate(results):
                found[f"result {k}"] = y.numpy()
            if not tensors:
                return
            seeds = None
            if self.seeded:
                seeds = [tf.cast(tf.fill(y.shape, 0.5), y.dtype) for y in results]
            first = attempt(lambda: inner.gradient(results, tensors, seeds, unconnected))
            if not isinstance(first, Exception):  # IndexedSlices of a gather become dense
                first = [None if g is None else tf.convert_to_tensor(g) for g in first]
        if isinstance(first, Exception):
            found["gradient"] = first
            return
        for j, g in enumerate(first):
            found[f"gradient {j}"] = plain(g)
        if weighted:
            through = attempt(lambda: inner.gradient(weighted, results))
            found["by results"] = plain(through if isinstance(through, Exception) else through[0])
        known = [g for g in first if g is not None and g.dtype.is_floating]
        if self.order == 2 and known:
            for j, g in enumerate(outer.gradient(known, tensors)):
                found[f"second {j}"] = plain(None if g is None else tf.convert_to_tensor(g))


def plain(found):
    return found if found is None or isinstance(found, Exception) else np.asarray(found)


def attempt(function):
    try:
        return function()
    except LookupError as error:
        return error


def partner(random, shape):
    """A shape that usually broadcasts with this one."""
    if random.random() < 0.03:
        return SHAPES[random.integers(len(SHAPES))]
    found = [1 if random.random() < 0.2 else dim for dim in shape]
    return tuple(found[int(random.integers(0, len(found) + 1)) if random.random() < 0.2 else 0 :])


def drawn(random, shape, span, dtype):
    if dtype == "bool":
        return random.random(shape) < 0.5
    if dtype.startswith("f"):
        low, high = (-2.0, 2.0) if span is bool else span
        return np.asarray(random.uniform(low, high, shape).astype(dtype))
    low, high = (0, 1) if span is bool else span
    low = max(int(np.ceil(low)), np.iinfo(dtype).min)
    return np.asarray(random.integers(low, max(int(high), low) + 1, shape).astype(dtype))


def alike(mine, theirs, near, least=0.0):
    """Whether two results agree within rounding; ``least`` is their minimal scale."""
    if isinstance(mine, Exception) or isinstance(theirs, Exception):
        names = {kind.__name__ for kind in type(mine).__mro__} - {"Exception", "OpError"}
        if "list index out of range" in str(theirs):
            return True  # TensorFlow fails on the tensordot of a scalar
        if "DtypeError" in names or "not in the list of allowed values" in str(mine):
            names |= set(OF_DTYPES)
        return type(theirs).__name__ in names
    if mine is None or theirs is None:
        return mine is theirs
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
        return False
    if mine.dtype.kind != "f":
        return np.array_equal(mine, theirs)
    finite = np.isfinite(theirs)
    if not np.array_equal(mine[~finite], theirs[~finite], equal_nan=True):
        return False
    if not finite.any():
        return True
    # The terms of a derivative are about 1; their sum may be smaller.
    largest = max(float(np.abs(theirs[finite]).max()), least, 1e-3 if near is NEAR else 1.0)
    return bool(np.abs(mine[finite] - theirs[finite]).max() <= near[mine.dtype.name] * largest)


def difference(call, tensorflow):
    """A description of the difference, or None."""
    with np.errstate(all="ignore"):
        mine, theirs = call.results(numtape), call.results(tensorflow)
    if call.case.name in DIFFERS and DIFFERS[call.case.name](call):
        return None
    refused = theirs.get("raises")
    # Non-tensors take the dtype of a tensor on their right; and some of TensorFlow's
    # refusals.
    plain = any(argument.form in ("python", "array") for argument in call.arguments)
    if refused and plain:
        return None
    if refused and refused_there(call, refused):
        return None
    if "does not fit" in str(mine.get("raises")):
        return None
    least = 0.0
    if any(call.case is row for row in COMPLEX):  # a component is rounded relative to the whole
        known = [x for name, x in theirs.items() if name.startswith("result") and x.size]
        least = max((float(np.abs(x[np.isfinite(x)]).max(initial=0)) for x in known), default=0.0)
    for name in sorted(theirs.keys() | mine.keys(), reverse=True):
        one, other = mine.get(name, "nothing"), theirs.get(name, "nothing")
        near = NEAR if name.startswith("result") else NEARER
        if call.case.name in LOOSE:
            near = dict.fromkeys(near, 1e-5)
        if isinstance(one, str) or isinstance(other, str) or not alike(one, other, near, least):
            raised = [x["raises"] for x in (mine, theirs) if "raises" in x]
            said = "".join(f"\n{error!r}: {error}" for error in raised)
            return f"{name}: {one!r}, TensorFlow's: {other!r}{said}"
    return None


def test_calls(request):
    tensorflow, seed = installed(), fresh(request.config)
    end = time.monotonic() + request.config.getoption("--parity-seconds")
    while time.monotonic() < end:
        call = Call(seed)
        wrong = difference(call, tensorflow)
        assert wrong is None, f"--parity-seed {seed}\n{call}\n{wrong}"
        seed += 1


SMOOTH = [
    "tf.sin({})",
    "tf.cos({})",
    "tf.tanh({})",
    "tf.sigmoid({})",
    "tf.nn.softplus({})",
    "tf.atan({})",
    "tf.math.erf({})",
    "tf.nn.elu({})",
    "tf.square(0.5 * {})",
    "tf.exp(-{})",
    "tf.reduce_sum({}, 0, keepdims=True)",
    "tf.reduce_mean({}, -1)",
    "tf.transpose({})",
    "tf.reduce_max({}, 0)",
    "tf.nn.softmax({})",
    "tf.cumsum({}, axis=-1)",
    "{}[..., 0]",
    "{}[::-1]",
    "tf.reshape({}, [-1])",
    "tf.expand_dims({}, 0)",
    "tf.stop_gradient({})",
    "tf.reduce_logsumexp({}, -1)",
    "tf.linspace({}, 1.0, 3)",
]
JOINED = [
    "{} * {}",
    "{} + {}",
    "{} - {}",
    "{} / (2.0 + tf.square({}))",
    "tf.atan2({}, 3.0 + {})",
    "tf.maximum({}, {})",
    "tf.matmul({}, {}, transpose_b=True)",
    "tf.tensordot({}, {}, 1)",
    "tf.concat([{}, {}], 0)",
    "tf.stack([{}, {}])",
    "tf.where({} > 0.0, {}, 0.5)",
    "tf.math.squared_difference({}, {})",
    "tf.pow(1.5 + tf.tanh({}), {})",
]
WIDE = {"float64": 1e-8}  # relative to the largest element, for chains


class Chain:
    """Random lines, and the derivatives of the last value to second order."""

    def __init__(self, seed):
        random = np.random.default_rng(seed)
        shapes = [(2, 3), (3,), (), (3, 1)]
        self.inputs = [random.uniform(-1, 1, shapes[random.integers(4)]) for _ in range(3)]
        self.lines, names = [], ["x0", "x1", "x2"]
        for k in range(int(random.integers(2, 9))):
            single = random.random() < 0.5
            text = (
                SMOOTH[random.integers(len(SMOOTH))]
                if single
                else JOINED[random.integers(len(JOINED))]
            )
            some = [names[max(0, len(names) - 1 - int(random.exponential(2)))] for _ in "xy"]
            self.lines.append(f"y{k} = {text.format(*some)}")
            names.append(f"y{k}")

    def __repr__(self):
        inputs = [f"x{k} = {x.tolist()}" for k, x in enumerate(self.inputs)]
        return "\n".join([*inputs, *self.lines])

    def results(self, tf):
        found = {}
        scope = {"tf": tf} | {f"x{k}": tf.Variable(x) for k, x in enumerate(self.inputs)}
        sources = [scope[f"x{k}"] for k in range(3)]
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                for k, line in enumerate(self.lines):
                    try:
                        exec(line, scope)
                    except Exception as error:  # the chain continues without it
                        found[f"line {k}"] = error
                        scope[f"y{k}"] = scope["x0"] * 1.0
                    else:
                        found[f"line {k}"] = scope[f"y{k}"].numpy()
                last = scope[f"y{len(self.lines) - 1}"]
            first = inner.gradient(last, sources)
        known = [tf.sin(g) for g in first if g is not None]
        second = outer.gradient(known, sources) if known else []
        found |= {f"gradient {k}": plain(g) for k, g in enumerate(first)}
        return found | {f"second {k}": plain(g) for k, g in enumerate(second)}


def test_chains(request):
    tensorflow, seed = installed(), fresh(request.config)
    end = time.monotonic() + request.config.getoption("--parity-seconds")
    while time.monotonic() < end:
        chain = Chain(seed)
        mine, theirs = chain.results(numtape), chain.results(tensorflow)
        wrong = [
            f"{name}: {mine.get(name)!r}, TensorFlow's: {right!r}"
            for name, right in theirs.items()
            if not alike(mine.get(name), right, WIDE)
        ]
        assert not wrong, f"--parity-seed {seed}\n{chain}\n" + "\n".join(wrong)
        seed += 1
