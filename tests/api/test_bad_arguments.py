"""Invalid arguments of every public function: a named error, and unchanged state.

The calls of `op_cases.py` are made with one argument replaced. The call may return a value if the
argument happens to be valid; otherwise it must raise an error that a caller can understand and
catch, never an internal one. Afterwards a gradient, a variable and the random state are unchanged.
"""

import signal
import traceback
import warnings
from pathlib import Path

import pytest
from bad_arguments import bad, others, row, seeded
from bad_calls import more
from op_cases import CASES

import numtape
from numtape.core.log.log import local
from numtape.core.ops.random import STATE

pytestmark = [
    pytest.mark.numtape_only(reason="about numtape's own errors"),
    pytest.mark.cpu_only(reason="arguments are looked at on the host"),
    pytest.mark.filterwarnings("ignore"),
]


ROOT = Path(__file__).parents[2]


# Allowed errors: a wrong type, a wrong value, an error of an op, a missing derivative, or a feature
# that numtape lacks. A KeyError and others would not explain the mistake.
NAMED = (TypeError, ValueError, NotImplementedError, LookupError, numtape.errors.OpError)
# Words of internal Python errors.
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
    """Whether an error has an allowed type and its own message."""
    text = str(error)
    if type(error) is AttributeError:  # as in TensorFlow, with the expected type
        return ": expected a" in text
    if not isinstance(error, NAMED) or type(error) is KeyError:
        return False
    return len(text) > 10 and not any(words in text for words in RAW)


def state(tf, variable):
    """State that a failed call must not change."""
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


def own(error):
    """Whether an error is raised by the test's call itself, not inside numtape."""
    parts = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
    rooms = [
        Path(part.co_filename).parent
        for part in parts
        if Path(part.co_filename).is_relative_to(ROOT) and part.co_name != "__getattr__"
    ]
    return rooms[-1].is_relative_to(ROOT / "tests")


def complaints(tf, make, places, random, count):
    """The defects of a call's errors when its arguments are replaced one at a time.

    Args:
      tf: The library.
      make: Returns a function with new arguments and keyword arguments.
      places: Indices and names of the arguments to replace.
      random: The generator that selects replacements.
      count: The number of replacements per argument.
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


def checked(tf, make, places, random, count):
    """Assert that errors are named and state is unchanged."""
    variable = tf.Variable([1.0, 2.0])
    tf.random.set_seed(3)
    before = state(tf, variable)
    wrong = complaints(tf, make, places, random, count)
    STATE.draws = before[2]
    assert not wrong, "\n".join(wrong)
    assert state(tf, variable) == before


rows = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


@rows
def test_bad_arguments_of_ops(tf, case, limited):
    """Each argument in turn is replaced by some invalid values."""
    random = seeded(case.name)
    checked(tf, *row(tf, case, random), random, 4)


@pytest.mark.slow
@rows
def test_all_bad_arguments_of_ops(tf, case, limited):
    random = seeded(case.name)
    checked(tf, *row(tf, case, random), random, 100)


def tried(tf, name, count):
    """Call a function with its arguments replaced."""

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
