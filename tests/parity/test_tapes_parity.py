"""Random uses of tapes, in numtape and an installed TensorFlow, step by step.

Tapes, persistent or not, are entered, left, stopped, reset, re-entered and nested, and compute
gradients. Tensors and variables are watched before and after their use; variables are assigned. The
numbers are small integers in float32, so that every result is exact and must be equal.
"""

import time

import numpy as np
import pytest
from tensorflow_reference import fresh, installed

import numtape

pytestmark = [
    pytest.mark.numtape_only(reason="asks both"),
    pytest.mark.cpu_only(reason="one device is enough"),
    pytest.mark.filterwarnings("ignore"),
]

CONSTANTS, VARIABLES, TAPES = 2, 3, 3  # the last variable is not trainable
OPS = ["{} * {}", "{} + {}", "{} - 2.0 * {}", "tf.maximum({}, {})"]
SINGLE = [
    "-{}",
    "{} * 1.0",
    "tf.square({})",
    "tf.round({} * 0.5)",
    "tf.stop_gradient({} * 1.0)",
    "tf.identity({})",
    "tf.zeros_like({})",
    "tf.where({} > 0.0, 1.0, 2.0)",
    "tf.cast(tf.cast({}, tf.int32), tf.float32)",
    "tf.cast({}, tf.int32)",
    "tf.nn.relu({})",
    "tf.reduce_sum(tf.stack([{}, 1.0]))",
]
LARGEST = 2.0**12  # of a reused value, so that sums and products are exact


class Life:
    """A random program, one line per step; lines depend on the results of earlier ones."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.lines = []
        self.tensors = [f"c{k}" for k in range(CONSTANTS)]
        self.variables = [f"v{k}" for k in range(VARIABLES)]
        self.results = []  # of assigns
        self.count = 0

    def setup(self):
        numbers = self.random.integers(-3, 4, CONSTANTS + VARIABLES)
        lines = [f"c{k} = tf.constant({float(numbers[k])})" for k in range(CONSTANTS)]
        for k in range(VARIABLES):
            trainable = ", trainable=False" if k == VARIABLES - 1 else ""
            lines.append(f"v{k} = tf.Variable({float(numbers[CONSTANTS + k])}{trainable})")
        for k in range(TAPES):
            persistent, accessed = self.random.random() < 0.5, self.random.random() < 0.8
            lines.append(f"t{k} = tf.GradientTape({bool(persistent)}, {bool(accessed)})")
        return lines

    def choice(self, options):
        return options[self.random.integers(len(options))]

    def value(self):
        """A usable value, mostly a recent one."""
        known = [*self.variables, *self.results, *self.tensors[:CONSTANTS]]
        late = self.tensors[CONSTANTS:][-4:]
        return self.choice(late) if late and self.random.random() < 0.6 else self.choice(known)

    def nest(self):
        found = [self.value() for _ in range(int(self.random.integers(1, 4)))]
        return found[0] if len(found) == 1 else f"[{', '.join(found)}]"

    def line(self):
        """The next line, and the name that it binds."""
        tape, kind = f"t{self.random.integers(TAPES)}", self.random.random()
        name = f"x{self.count}"
        self.count += 1
        if kind < 0.14:
            return f"{tape}.__enter__()", None
        if kind < 0.22:
            return f"{tape}.__exit__(None, None, None)", None
        if kind < 0.25:
            return f"stopped[{tape[1:]}] = stop({tape})", None
        if kind < 0.29:
            return f"stopped.pop({tape[1:]}).__exit__(None, None, None)", None
        if kind < 0.31:
            return f"{tape}.reset()", None
        if kind < 0.40:
            return f"{tape}.watch({self.nest()})", None
        if kind < 0.45:
            how = self.choice(["assign", "assign_add", "assign_sub"])
            return f"{name} = {self.choice(self.variables)}.{how}({self.value()})", name
        if kind < 0.62:
            targets, sources = self.nest(), self.nest()
            # To make zeros for a variable TensorFlow reads it, which another tape may watch.
            zero = self.random.random() < 0.3 and not any(
                x in sources for x in (*self.variables, *self.results)
            )
            more = ", unconnected_gradients='zero'" if zero else ""
            return f"{name} = {tape}.gradient({targets}, {sources}{more})", name
        if kind < 0.65:  # results of `assign` have their own names
            return f"{name} = str(len({tape}.watched_variables()))", name
        if kind < 0.82:
            return f"{name} = {self.choice(OPS).format(self.value(), self.value())}", name
        return f"{name} = {self.choice(SINGLE).format(self.value())}", name


def stop(tape):
    manager = tape.stop_recording()
    manager.__enter__()
    return manager


def plain(found):
    if isinstance(found, list):
        return [plain(x) for x in found]
    if found is None or isinstance(found, str):
        return found
    return found.dtype.name, found.numpy().tolist()


def ran(line, scope):
    """The result of a line in a library: the value of its name, or the kind of exception."""
    try:
        exec(line, scope)
    except Exception as error:
        return error
    name = line.partition(" = ")[0]
    return plain(scope[name]) if name.startswith("x") else None


def matches(mine, theirs):
    if isinstance(mine, Exception) and isinstance(theirs, Exception):
        if "'NoneType' object has no attribute" in str(theirs):
            return True  # TensorFlow fails on a tape that was never entered
        return type(theirs).__name__ in {kind.__name__ for kind in type(mine).__mro__}
    return not isinstance(mine, Exception) and not isinstance(theirs, Exception) and mine == theirs


def small(found):
    """Whether a value can be used further and stays exact."""
    return isinstance(found, tuple) and found[0] == "float32" and abs(found[1]) <= LARGEST


def difference(seed, tensorflow):
    """A program and the difference in its last line, or None."""
    life = Life(seed)
    scopes = [{"tf": tf, "stop": stop, "stopped": {}} for tf in (numtape, tensorflow)]
    for line in life.setup():
        life.lines.append(line)
        for scope in scopes:
            exec(line, scope)
    for _ in range(int(life.random.integers(10, 60))):
        line, name = life.line()
        life.lines.append(line)
        mine, theirs = (ran(line, scope) for scope in scopes)
        if not matches(mine, theirs):
            return "\n".join([*life.lines, "", f"numtape: {mine!r}", f"TensorFlow: {theirs!r}"])
        if name and not isinstance(mine, Exception):
            if ".assign" in line:
                life.results.append(name)
            elif small(mine):
                life.tensors.append(name)
    return None


def test_lives_of_tapes(request):
    tensorflow = installed()
    seed = fresh(request.config)
    end = time.monotonic() + request.config.getoption("--parity-seconds")
    while time.monotonic() < end:
        wrong = difference(seed, tensorflow)
        assert wrong is None, f"--parity-seed {seed}\n{wrong}"
        seed += 1
