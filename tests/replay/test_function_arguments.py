"""`tf.function`: arguments and defaults are bound as in Python."""

import collections
import contextlib
import copy
import functools
import operator
import time
import warnings

import numpy as np
import pytest
from checks import same
from function_helpers import gives_up, recordings

import numtape
from numtape.core.cpython.frames import unsupported_reason

pytestmark = pytest.mark.usefixtures("isolated")


def as_python(tf, python_function, *calls):
    """The results of the plain Python function, which `tf.function` must reproduce."""
    expected = [[np.asarray(python_function(*args)).tolist() for args in call()] for call in calls]
    replayed = tf.function(python_function)
    found = [[np.asarray(replayed(*args)).tolist() for args in call()] for call in calls]
    assert found == expected
    return replayed


@pytest.mark.numtape_only("TensorFlow's own methods have a `self`")
def test_parameters_that_are_called_self(tf):
    f = tf.function(lambda x, self=1.0: x * self)
    for _ in range(2):
        same(f(tf.constant(2.0), self=3.0), 6.0)
    concrete = f.get_concrete_function(tf.TensorSpec(()), self=3.0)
    same(concrete(tf.constant(2.0), self=3.0), 6.0)


@pytest.mark.tf_differs("TensorFlow takes no sets")
def test_sets_among_arguments_are_compared_by_value(tf):
    f = tf.function(lambda x, names: x * len(names))
    for _ in range(2):
        same(f(tf.constant(1.0), {"a", "b"}), 2.0)
        same(f(tf.constant(1.0), {"a"}), 1.0)
    assert recordings(f) == 2


class Key:
    """A key that is equal to all keys of the same name."""

    def __init__(self, name, weight):
        self.name, self.weight = name, weight

    def __eq__(self, other):
        return self.name == other.name

    def __hash__(self):
        return hash(self.name)


def weight_of(x, keys):
    return x * sum(key.weight for key in keys)


EQUAL = {
    "keys of a dict": (weight_of, lambda w: {Key("a", w): 1.0}),
    "members of a frozenset": (weight_of, lambda w: frozenset([Key("a", w)])),
    "members of a set": (weight_of, lambda w: {Key("a", w)}),
    "keys in a tuple": (lambda x, d: x * next(iter(d))[0].weight, lambda w: {(Key("a", w),): 1}),
    "signs of NaN": (lambda x, n: x * np.copysign(1.0, n), lambda w: w * float("nan")),
    "metadata": (
        lambda x, t: x * t.metadata["k"],
        lambda w: np.dtype("f8", metadata={"k": w}),
    ),
    "zeros of a complex": (lambda x, c: x * np.copysign(1.0, c.imag), lambda w: complex(0, 0 * w)),
    "NumPy's zeros as keys": (
        lambda x, d: x * np.copysign(1.0, next(iter(d))),
        lambda w: {np.float32(0.0 * w): 1},
    ),
}


@pytest.mark.tf_differs("TensorFlow takes equal arguments for the same")
@pytest.mark.parametrize("case", EQUAL)
def test_equal_arguments_that_are_not_the_same(tf, case):
    python_function, made = EQUAL[case]
    one = tf.constant(1.0)
    given = [made(2.0), made(-3.0)]
    as_python(tf, python_function, *[lambda: [(one, x) for x in given]] * 2)


class Point(collections.namedtuple("Point", "a b")):
    pass


@pytest.mark.tf_differs("TensorFlow loses them")
def test_attributes_of_named_tuples(tf):
    one = tf.constant(1.0)

    def called(scale):
        p = Point(one, 2.0)
        p.scale = tf.constant(scale)
        return one, p

    f = as_python(tf, lambda x, p: x * p.scale + p.a, *[lambda: [called(3.0), called(5.0)]] * 2)
    assert recordings(f) == 1

    def count(x, p):
        p.n = getattr(p, "n", 0) + 1
        return x * p.n

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        p = Point(1.0, 2.0)
        assert [float(tf.function(count)(one, p)) for _ in range(3)] == [1.0, 2.0, 3.0]


def counted_in_a_list(x, seen=[]):  # noqa: B006
    seen.append(1)
    return x * len(seen)


def counted_in_a_dict(x, *, state={}):  # noqa: B006
    state["n"] = state.get("n", 0) + 1
    return x * state["n"]


def counted_in_a_set(x, seen=set()):  # noqa: B006
    seen.add(len(seen))
    return x * len(seen)


def counted_in_a_tuple(x, seen=([], 2.0)):
    seen[0].append(1)
    return x * len(seen[0])


@gives_up
@pytest.mark.tf_differs("TensorFlow does what is not a tensor once")
@pytest.mark.parametrize(
    "counted", [counted_in_a_list, counted_in_a_dict, counted_in_a_set, counted_in_a_tuple]
)
def test_defaults_that_are_changed_are_kept(tf, counted):
    f = tf.function(copy.deepcopy(counted))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = float(f(tf.constant(1.0)))
        assert [float(f(tf.constant(1.0))) - first for _ in range(3)] == [1.0, 2.0, 3.0]


@pytest.mark.tf_differs("TensorFlow does not look again")
def test_defaults_that_are_lists_are_read(tf):
    factors = [2.0]

    @tf.function
    def f(x, by=factors):
        return x * by[0]

    @tf.function
    def outer(x):
        return f(x)

    for factor in (2.0, 3.0):
        factors[0] = factor
        for _ in range(3):
            same(f(tf.constant(1.0)), factor)
            same(outer(tf.constant(1.0)), factor)


@pytest.mark.tf_differs("TensorFlow does not look again")
@pytest.mark.parametrize("kind", ["function", "partial", "object", "method"])
def test_defaults_that_are_exchanged(tf, kind):
    def inner(x, y=1.0, *, k=2.0):
        return x * y * k

    class Holder:
        def __call__(self, x, y=1.0, *, k=2.0):
            return x * y * k

    of = {"function": inner, "partial": functools.partial(inner), "object": Holder()}
    of["method"] = Holder().__call__
    f = tf.function(of[kind])
    changed = inner if kind in ("function", "partial") else Holder.__call__
    x = tf.constant(1.0)
    changes = [
        lambda: None,
        lambda: changed.__kwdefaults__.update(k=5.0),
        lambda: setattr(changed, "__kwdefaults__", {"k": 7.0}),
        lambda: setattr(changed, "__defaults__", (3.0,)),
    ]
    for change, expected in zip(changes, (2.0, 5.0, 7.0, 21.0), strict=True):
        change()
        for _ in range(3):
            same(f(x), expected)
    if kind == "partial":
        of[kind].keywords["k"] = 1.0
        same(f(x), 3.0)


def add_to_list(x, out):
    out.append(x * 2.0)
    out.append(x)
    return x * len(out)


def add_to_dict(x, out):
    out[len(out)] = 2.0
    return x * len(out)


def add_to_set(x, out):
    out.add(len(out))
    return x * len(out)


def empty(x, out):
    out.clear()
    return x


def add_inside(x, out):
    out[0].append(out)
    return x * len(out[0])


def add_and_keep_a_tape(x, out):
    with numtape.GradientTape() as tape:
        out.append(1.0)
    add_and_keep_a_tape.tape = tape
    return x * len(out)


def fail_behind(x, out):
    out.append(1)
    raise KeyError


CHANGED = {
    "list": (add_to_list, list),
    "dict": (add_to_dict, dict),
    "set": (add_to_set, set),
    "ordered": (add_to_dict, collections.OrderedDict),
    "inside": (add_inside, lambda: [[1.0]]),
    "empty": (empty, lambda: [1.0, {}]),
    "raises": (fail_behind, lambda: [1.0]),
    "runs again": (add_and_keep_a_tape, list),
    "with arrays": (add_to_list, lambda: [np.ones(2)]),
}


@gives_up
@pytest.mark.tf_differs("TensorFlow gives the function copies")
@pytest.mark.parametrize("case", CHANGED)
def test_arguments_that_are_changed(tf, case):
    change, made = CHANGED[case]
    x = tf.constant(1.5)
    logs = []
    for f in (change, tf.function(change)):
        out, seen = made(), []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(4):
                with contextlib.suppress(KeyError):
                    seen.append(float(f(x, out)))
                seen.append(len(out))
                seen.append([item is x for item in out])
                seen.append([item is out for item in (out[0] if case == "inside" else [])])
                seen.append([type(item) for item in out][:1])
        logs.append(seen)
    assert logs[0] == logs[1]


@gives_up
@pytest.mark.tf_differs("TensorFlow gives the function copies")
def test_plain_python_gets_the_callers_own_objects(tf):
    given = [tf.constant(1.0)], {"a": (1, [2])}, Point(1.0, [])
    got = []

    @tf.function
    def f(x, *args):
        got[:] = args
        return x * time.time()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            f(tf.constant(1.0), *given)
    assert all(map(operator.is_, got, given))


@pytest.mark.tf_differs("TensorFlow gives the function other tensors")
def test_one_object_twice_among_arguments(tf):
    one, two, nested = tf.constant(1.0), tf.constant(1.0), [tf.constant(1.0)]
    both = [two]
    nested.append(nested)
    array = np.ones(())
    pairs = [
        (one, two),
        (one, one),
        (both, both),
        (both, [two]),
        (nested, nested),
        (both, both),
        (nested, nested[1]),
        ([one], one),
        (array, array),
        ([one], [one]),
    ]
    x = tf.constant(1.5)

    def inside(a):
        return a[0] if isinstance(a, list) else a

    def f(x, a, b):
        return x * (2.0 if a is b else 3.0) * (5.0 if inside(a) is inside(b) else 7.0)

    as_python(tf, f, *[lambda: [(x, *pair) for pair in pairs]] * 2)
    as_python(
        tf, lambda a, b: a * (2.0 if a is b else 3.0), *[lambda: [(one, two), (one, one)]] * 3
    )


@gives_up
@pytest.mark.tf_differs("TensorFlow gives the function other tuples")
def test_one_tuple_twice_among_arguments(tf):
    x, pair, point = tf.constant(1.5), (tf.constant(1.0), 2.0), Point(1.0, 2.0)
    other = tuple(list(pair))

    def f(x, a, b):
        return x * (2.0 if a is b else 3.0)

    for pairs in ([(pair, pair), (pair, other)], [(point, point), (point, Point(1.0, 2.0))]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            as_python(tf, f, *[lambda pairs=pairs: [(x, *two) for two in pairs]] * 2)


@pytest.mark.filterwarnings("ignore:.*compares arguments by `is`")
@pytest.mark.tf_differs("TensorFlow does not take them")
def test_containers_that_are_deep_or_hold_themselves(tf):
    x, deep, cyclic = tf.constant(1.5), [2.0], [1.0]
    cyclic.append(cyclic)
    innermost = deep
    for _ in range(3000):
        deep = [deep]

    def f(x, values):
        while type(values[-1]) is list and values[-1] is not values:
            values = values[-1]
        return x * values[0] * len(values)

    as_python(tf, f, *[lambda: [(x, cyclic), (x, deep[0])]] * 3)
    g = tf.function(lambda x, values: f(x, values))
    for innermost[0] in (2.0, 2.0, 5.0):
        same(g(x, deep), 1.5 * innermost[0])


def test_gradients_of_one_tensor_given_twice(tf):
    f = tf.function(lambda a, b: a * a * b)
    x = tf.constant(2.0)
    for _ in range(3):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x, x)
        same(tape.gradient(y, x), 12.0)


def test_lists_of_numbers_in_a_nested_signature(tf):
    spec = [tf.TensorSpec((2,), tf.float32)]
    function = tf.function(lambda parts: parts[0] * 2.0, input_signature=[spec])
    for parts in ([[1.0, 2.0]], [tf.constant([1.0, 2.0])], [np.array([1.0, 2.0], np.float32)]):
        np.testing.assert_array_equal(function(parts).numpy(), [2.0, 4.0])


def test_functions_of_library_functions_bind_their_arguments(tf):
    """Equal calls share a recording, and keywords fit a signature."""
    x = tf.ones((2, 2))
    total = tf.function(tf.reduce_sum)
    for call in (total(x), total(input_tensor=x), total(x, axis=None), total(x, None, False)):
        same(call, 4.0)
    same(total(x, 0), [2.0, 2.0])
    same(total(axis=0, input_tensor=x), [2.0, 2.0])
    if not unsupported_reason():
        assert total.experimental_get_tracing_count() == 2
    fixed = tf.function(tf.reduce_sum, input_signature=[tf.TensorSpec([None])])
    same(fixed(input_tensor=tf.ones(3)), 3.0)
