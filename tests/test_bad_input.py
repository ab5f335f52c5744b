"""Arguments that make no sense, for every public function: a named error, and nothing else changed.

The calls of `op_cases.py` are made with one argument replaced. What comes back may be a value, if
the argument happens to make sense; an error must be one that a caller can understand and catch,
never one from deep inside. Afterwards a gradient, a variable and the random numbers are what they
were.
"""

import math
import signal
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest
from bad_calls import more
from op_cases import CASES
from test_ops import arity, draw

import numtape
from numtape.core.log.log import local
from numtape.core.ops.random import STATE

pytestmark = [
    pytest.mark.numtape_only(reason="about numtape's own errors"),
    pytest.mark.cpu_only(reason="arguments are looked at on the host"),
    pytest.mark.filterwarnings("ignore"),
]


ROOT = Path(__file__).parent.parent


class Foreign:
    """What no function knows."""

    def __repr__(self):
        return "Foreign()"


def refuses(*_):
    """A function that takes nothing of what it is given."""
    raise ValueError("this function takes nothing")


def bad(tf):
    """Arguments that hardly any function takes, by what is wrong with them."""
    with tf.GradientTape() as closed:
        pass
    return {
        "None": None,
        "a foreign object": Foreign(),
        "a class": Foreign,
        "text": "text",
        "an empty text": "",
        "a dict": {"a": 1},
        "a set": {1},
        "bytes": b"x",
        "a ragged list": [[1], [2, 3]],
        "an empty list": [],
        "a list of None": [None],
        "a list of texts": ["a", "b"],
        "NaN": math.nan,
        "infinity": math.inf,
        "minus one": -1,
        "a large negative": -(10**4),
        "a large int": 10**4,
        "a huge int": 10**30,
        "a float": 1.5,
        "a complex": 2j,
        "a bool": True,
        "objects": np.array([None, Foreign()]),
        "dates": np.array(["2020-01-01"], "datetime64[D]"),
        "names": np.array(["a", "b"]),
        "a vector": tf.constant([1.0, 2.0, 3.0, 4.0, 5.0]),
        "ints": tf.constant([7, -7], tf.int64),
        "bools": tf.constant([True, False]),
        "nothing": tf.zeros((0, 3)),
        "many axes": tf.zeros((1,) * 7),
        "a closed tape": closed,
        "a function": refuses,
        "a module": math,
        "a slice": slice(None),
        "an ellipsis": ...,
        "a dtype": tf.float64,
        "a shape": tf.TensorShape([2, 3]),
        "a generator": (k for k in ()),
    }


# What a caller can be told: a wrong type, a wrong value, an error of an op, a missing derivative,
# or that numtape does not have it. A KeyError would say nothing, nor would others.
NAMED = (TypeError, ValueError, NotImplementedError, LookupError, numtape.errors.OpError)
# Words of errors that Python raises by itself, deep inside.
RAW = (
    "object has no attribute",
    "is not subscriptable",
    "unsupported operand",
    "is not iterable",
    "not supported between",
    "index out of range",
    "unpack",
    "has no len()",
    "unhashable type",
    "bad operand type",
    "cannot be interpreted as an integer",
    "zip() argument",
    "must be real number",
    "is out of bounds for axis",
    "only integer scalar arrays",
    "ufunc",
    "broadcast input array",
)


def is_named(error):
    """Whether an error is of a kind for callers, and says something of its own."""
    text = str(error)
    if type(error) is AttributeError:  # as TensorFlow's, but with a word on what is expected
        return ": expected a" in text
    if not isinstance(error, NAMED) or type(error) is KeyError:
        return False
    return len(text) > 10 and not any(words in text for words in RAW)


def state(tf, variable):
    """What a failed call must leave as it was."""
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.sin(x) * variable
    return (
        tape.gradient(y, x).numpy().tolist(),
        variable.numpy().tolist(),
        STATE.draws,
        local.log.busy,
    )


class TooLong(Exception):
    """A call that does not come back."""


@pytest.fixture
def limited():
    """A limit of ten seconds for each call."""

    def late(*_):
        raise TooLong

    before = signal.signal(signal.SIGALRM, late)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def own(error):
    """Whether an error comes from the call that a test makes, not from numtape."""
    parts = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
    rooms = [
        Path(part.co_filename).parent
        for part in parts
        if Path(part.co_filename).is_relative_to(ROOT) and part.co_name != "__getattr__"
    ]
    return rooms[-1] == ROOT / "tests"


def complaints(tf, make, places, random, count):
    """What is wrong with the errors of a call when its arguments are replaced, one at a time.

    Args:
      tf: The library.
      make: Gives a function, its arguments and keyword arguments, made anew.
      places: Numbers and names of the arguments to be replaced.
      random: Which replacements there are.
      count: How many of them for each argument.
    """
    wrong = []
    for place in places:
        kinds = bad(tf)
        for what in random.permutation(list(kinds))[:count]:
            function, arguments, options = make()
            (arguments if isinstance(place, int) else options)[place] = kinds[what]
            signal.alarm(10)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = function(*arguments, **options)
                    for value in tf.nest.flatten(found):
                        if isinstance(value, tf.Tensor):
                            value.numpy()
            except Exception as error:
                if not is_named(error) and not own(error):
                    wrong.append(f"{place}: {what}: {type(error).__name__}: {error}"[:300])
            finally:
                signal.alarm(0)
    return wrong


def row(tf, case, random):
    """A call of a row's function, and which arguments it has."""
    if case.elementwise:
        shapes, options = [(2, 3)] * arity(case), case.options[0]
    else:
        shapes, options = case.variants[random.integers(len(case.variants))]
    operands = draw(case, shapes, case.dtypes[0])
    return (
        lambda: (case.function(tf), [tf.constant(x) for x in operands], dict(options)),
        [*range(len(operands)), *options],
    )


def checked(tf, make, places, random, count):
    """Assert that errors are named, and that all is as before."""
    variable = tf.Variable([1.0, 2.0])
    tf.random.set_seed(3)
    before = state(tf, variable)
    wrong = complaints(tf, make, places, random, count)
    STATE.draws = before[2]
    assert not wrong, "\n".join(wrong)
    assert state(tf, variable) == before


def seeded(name):
    return np.random.default_rng(sum(map(ord, name)))


rows = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


@rows
def test_bad_arguments_of_ops(tf, case, limited):
    """Each argument in turn is replaced by some of what it cannot be."""
    random = seeded(case.name)
    checked(tf, *row(tf, case, random), random, 4)


@pytest.mark.slow
@rows
def test_all_bad_arguments_of_ops(tf, case, limited):
    random = seeded(case.name)
    checked(tf, *row(tf, case, random), random, 100)


def others(tf):
    """Calls of what makes tensors, holds them, or differentiates."""
    v = tf.Variable([1.0, 2.0])
    model = tf.keras.layers.Dense(2, kernel_initializer="zeros")  # nothing to compile
    model(tf.ones((1, 2)))
    optimizer = tf.keras.optimizers.SGD(0.1)
    return {
        "constant": (tf.constant, [[1.0, 2.0]], {"dtype": tf.float32, "shape": (2,)}),
        "convert_to_tensor": (tf.convert_to_tensor, [[1.0]], {"dtype": tf.float32}),
        "zeros": (tf.zeros, [(2, 3)], {"dtype": tf.float32}),
        "ones": (tf.ones, [(2, 3)], {"dtype": tf.float32}),
        "eye": (tf.eye, [2], {"num_columns": 3, "batch_shape": [2]}),
        "range": (tf.range, [1, 5, 2], {"dtype": tf.int32}),
        "fill": (tf.fill, [(2, 3), 1.0], {}),
        "shape": (tf.shape, [v], {"out_type": tf.int32}),
        "size": (tf.size, [v], {}),
        "rank": (tf.rank, [v], {}),
        "as_dtype": (tf.as_dtype, ["float32"], {}),
        "TensorShape": (tf.TensorShape, [[1, 2]], {}),
        "TensorSpec": (tf.TensorSpec, [[1, 2]], {"dtype": tf.float32}),
        "Variable": (tf.Variable, [[1.0, 2.0]], {"dtype": tf.float32, "name": "v"}),
        "assign": (v.assign, [[1.0, 2.0]], {}),
        "assign_add": (lambda x: tf.Variable([1.0, 2.0]).assign_add(x), [[1.0, 2.0]], {}),
        "random.normal": (tf.random.normal, [(2,)], {"mean": 0.0, "stddev": 1.0, "seed": 1}),
        "random.uniform": (tf.random.uniform, [(2,)], {"minval": 0.0, "maxval": 1.0}),
        "random.set_seed": (tf.random.set_seed, [3], {}),
        "watch": (lambda x: tf.GradientTape().__enter__().watch(x), [tf.constant(1.0)], {}),
        "nest.map_structure": (tf.nest.map_structure, [lambda x: x, [1, 2]], {}),
        "nest.pack_sequence_as": (tf.nest.pack_sequence_as, [[1, 2], [3, 4]], {}),
        "cond": (tf.cond, [True, lambda: 1.0, lambda: 2.0], {}),
        "while_loop": (tf.while_loop, [lambda x: x < 3, lambda x: (x + 1,), [0]], {}),
        "map_fn": (tf.map_fn, [lambda x: x * 2.0, tf.ones(3)], {}),
        "function": (lambda f: tf.function(f)(tf.ones(2)), [lambda x: x + 1.0], {}),
        "Dense": (
            lambda units, **more: tf.keras.layers.Dense(units, **more)(tf.ones((1, 2))),
            [3],
            {"activation": "relu", "use_bias": True, "kernel_initializer": "zeros"},
        ),
        "a layer": (model, [tf.ones((1, 2))], {}),
        "apply_gradients": (optimizer.apply_gradients, [[(tf.ones(2), v)]], {}),
        "SGD": (tf.keras.optimizers.SGD, [0.1], {"momentum": 0.5}),
        "Adam": (tf.keras.optimizers.Adam, [0.1], {"beta_1": 0.5, "epsilon": 1e-7}),
        "device": (lambda name: tf.device(name).__enter__(), ["/CPU:0"], {}),
        "Dataset": (lambda x: list(tf.data.Dataset.from_tensor_slices(x)), [[1, 2]], {}),
        "batch": (lambda n: list(tf.data.Dataset.range(5).batch(n)), [2], {}),
        "shuffle": (
            lambda n, **more: list(tf.data.Dataset.range(5).shuffle(n, **more)),
            [2],
            {"seed": 1},
        ),
        "getitem": (lambda x, key: x[key], [tf.ones((2, 3)), 1], {}),
    }


def tried(tf, name, count):
    """Call another function with its arguments replaced."""

    def make():
        function, arguments, options = (more if ": " in name else others)(tf)[name]
        return function, list(arguments), dict(options)

    _, arguments, options = make()
    checked(tf, make, [*range(len(arguments)), *options], seeded(name), count)


names = pytest.mark.parametrize("name", [*others(numtape), *more(numtape)])


@names
def test_bad_arguments_of_other_functions(tf, name, limited):
    tried(tf, name, 2)


@pytest.mark.slow
@names
def test_all_bad_arguments_of_other_functions(tf, name, limited):
    tried(tf, name, 100)


@pytest.mark.parametrize("method", ["gradient", "jacobian", "batch_jacobian"])
def test_bad_arguments_of_tapes(tf, method, limited):
    def make():
        x = tf.Variable([[1.0, 2.0]])
        with tf.GradientTape(persistent=True) as tape:
            y = x * x
        return getattr(tape, method), [y, x], {"unconnected_gradients": "none"}

    checked(tf, make, [0, 1, "unconnected_gradients"], seeded(method), 100)
