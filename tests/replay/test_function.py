"""`tf.function`: decoration, methods, arguments, results, signatures, nested functions."""

import contextlib
import copy
import functools
import gc
import pickle
import types
import weakref

import numpy as np
import pytest
from checks import same
from function_helpers import eagerly, gives_up, one_warning, recordings

pytestmark = pytest.mark.usefixtures("isolated")


# --- Decorator -----------------------------------------------------------------------------------


def test_decorator_without_arguments(tf):
    @tf.function
    def f(x):
        return x * 2.0

    for value in (1.0, 2.0, 3.0):
        same(f(tf.constant(value)), 2 * value, "float32")
    assert recordings(f) == 1


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"autograph": False},
        {"reduce_retracing": True},
        {"jit_compile": False},
        {"input_signature": None},
    ],
)
def test_decorator_with_arguments(tf, options):
    @tf.function(**options)
    def f(x):
        return x + 1.0

    same(f(tf.constant([1.0, 2.0])), [2.0, 3.0])
    same(f(tf.constant([3.0, 4.0])), [4.0, 5.0])


@pytest.mark.numtape_only("TensorFlow compiles with XLA, which may not be there")
def test_jit_compile(tf):
    f = tf.function(lambda x: tf.sin(x) * x, jit_compile=True)
    for value in (0.5, 1.5):
        same(f(tf.constant(value)), np.sin(value) * value)


@pytest.mark.records
def test_python_runs_only_while_recording(tf):
    ran = []

    @tf.function
    def f(x):
        ran.append(x.shape)
        return x + 1.0

    for _ in range(3):
        f(tf.zeros(2))
    f(tf.zeros(3))
    f(tf.zeros(2))
    assert len(ran) == 2


def test_each_shape_and_dtype_is_recorded_separately(tf):
    f = tf.function(lambda x: x + x)
    for x in (tf.zeros(2), tf.zeros(3), tf.zeros((2, 1)), tf.zeros(2, tf.float64)) * 2:
        assert f(x).shape == x.shape
        assert f(x).dtype == x.dtype
    assert recordings(f) == 4


def test_lambda_partial_and_callable_object(tf):
    class Adder:
        def __init__(self, n):
            self.n = n

        def __call__(self, x):
            return x + self.n

    x = tf.constant(1.0)
    for callable_ in (
        lambda x: x + 5.0,
        functools.partial(lambda a, b: a + b, 5.0),
        functools.partial(lambda a, b: a + b, b=5.0),
        Adder(5.0),
    ):
        f = tf.function(callable_)
        for _ in range(2):
            same(f(x), 6.0)


def test_library_functions_decorate(tf):
    f = tf.function(tf.reduce_sum)
    for _ in range(2):
        same(f(tf.constant([1.0, 2.0])), 3.0)


def test_what_cannot_be_called(tf):
    with pytest.raises(TypeError, match="is not a callable object"):
        tf.function(3)


def test_attributes(tf):
    def described(x):
        """Says what it does."""
        return x

    f = tf.function(described)
    assert f.python_function is described
    assert f.name == f.__name__ == "described"
    assert f.__doc__ == "Says what it does."
    assert f.__wrapped__ is described
    assert f.input_signature is None
    assert recordings(f) == 0


@pytest.mark.numtape_only("TensorFlow shows an address")
def test_repr(tf):
    assert repr(tf.function(test_repr)) == "<numtape.function test_repr>"


def test_empty_function(tf):
    @tf.function
    def f():
        pass

    assert f() is None
    assert f() is None


def test_function_without_arguments(tf):
    v = tf.Variable(1.0)
    f = tf.function(lambda: v * 3.0)
    same(f(), 3.0)
    v.assign(2.0)
    same(f(), 6.0)


def test_function_that_returns_its_argument(tf):
    f = tf.function(lambda x: x)
    for x in (tf.constant(3.0), tf.constant([1, 2]), tf.constant(True), tf.zeros((0, 3))) * 2:
        same(f(x), x, x.dtype)


def test_same_tensor_twice_among_arguments_and_results(tf):
    f = tf.function(lambda x, y: (x, y, x, x + y))
    x = tf.constant([1.0, 2.0])
    for second in (x, tf.constant([3.0, 4.0]), x):
        a, b, c, d = f(x, second)
        same(a, x)
        same(b, second)
        same(c, x)
        same(d, np.asarray(x) + np.asarray(second))


# --- Methods and pickling ------------------------------------------------------------------------


def counter_class(tf):
    class Counter:
        def __init__(self, start):
            self.v = tf.Variable(start)
            self.step = start

        @tf.function
        def add(self, x):
            self.v.assign_add(x * self.step)
            return self.v.read_value()

    return Counter


def test_methods_have_a_state_for_each_object(tf):
    cls = counter_class(tf)
    a, b = cls(1.0), cls(10.0)
    for k in range(1, 4):
        same(a.add(tf.constant(1.0)), 1.0 + k)
        same(b.add(tf.constant(1.0)), 10.0 + 10.0 * k)


def test_method_of_the_class(tf):
    cls = counter_class(tf)
    a = cls(2.0)
    same(cls.add(a, tf.constant(1.0)), 4.0)
    same(cls.add(a, tf.constant(1.0)), 6.0)


def test_inherited_method(tf):
    class Base:
        @tf.function
        def f(self, x):
            return x + self.n

    class Derived(Base):
        n = 5.0

    class Other(Base):
        n = 7.0

    a, b = Derived(), Other()
    for _ in range(3):
        same(a.f(tf.constant(1.0)), 6.0)
        same(b.f(tf.constant(1.0)), 8.0)
    assert recordings(a.f) == 1


@pytest.mark.tf_differs("TensorFlow's functions do not find their class's super()")
def test_overridden_method(tf):
    class Base:
        @tf.function
        def f(self, x):
            return x + self.n

    class Derived(Base):
        n = 3.0

        @tf.function
        def f(self, x):
            return super().f(x) * 2.0

        @tf.function
        def g(self, x):
            return super().f(x) * 10.0

    a = Derived()
    for _ in range(3):
        same(a.f(tf.constant(1.0)), 8.0)
        same(a.g(tf.constant(1.0)), 40.0)
        same(super(Derived, a).f(tf.constant(1.0)), 4.0)
    assert recordings(a.f) == recordings(a.g) == 1


def test_staticmethod_and_classmethod(tf):
    class Thing:
        n = 3.0

        @staticmethod
        @tf.function
        def static(x):
            return x + 1.0

        @classmethod
        def of_class(cls, x):
            return cls.inner(x) * cls.n

        inner = staticmethod(tf.function(lambda x: x + 2.0))

    for _ in range(2):
        same(Thing.static(tf.constant(1.0)), 2.0)
        same(Thing().static(tf.constant(1.0)), 2.0)
        same(Thing.of_class(tf.constant(1.0)), 9.0)


@pytest.mark.tf_differs("TensorFlow's functions do not decorate inside classmethod")
def test_classmethod_outside(tf):
    class Thing:
        n = 3.0

        @classmethod
        @tf.function
        def f(cls, x):
            return x * cls.n

    for _ in range(2):
        same(Thing.f(tf.constant(1.0)), 3.0)
        same(Thing().f(tf.constant(1.0)), 3.0)


def test_call_method(tf):
    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(2.0)

        @tf.function
        def __call__(self, x):
            return self.w * x

    a, b = Model(), Model()
    b.w.assign(5.0)
    for _ in range(2):
        same(a(tf.constant(3.0)), 6.0)
        same(b(tf.constant(3.0)), 15.0)
    assert len(a.variables) == 1


def test_method_that_calls_a_method(tf):
    class Thing:
        def __init__(self, n):
            self.n = n

        @tf.function
        def outer(self, x):
            return self.inner(x) + 1.0

        @tf.function
        def inner(self, x):
            return x * self.n

    a, b = Thing(2.0), Thing(3.0)
    for _ in range(2):
        same(a.outer(tf.constant(1.0)), 3.0)
        same(b.outer(tf.constant(1.0)), 4.0)


def test_objects_with_methods_are_freed(tf):
    a = counter_class(tf)(1.0)
    a.add(tf.constant(1.0))
    a.add(tf.constant(1.0))
    ref = weakref.ref(a)
    del a
    gc.collect()
    assert ref() is None


@pytest.mark.tf_differs("TensorFlow keeps methods by weak reference")
def test_method_of_an_object_with_slots(tf):
    class Slotted:
        __slots__ = ("n",)

        @tf.function
        def f(self, x):
            return x * self.n

    a, b = Slotted(), Slotted()
    a.n, b.n = 2.0, 3.0
    for _ in range(2):
        same(a.f(tf.constant(1.0)), 2.0)
        same(b.f(tf.constant(1.0)), 3.0)


def test_objects_with_slots_are_freed(tf):
    class Slotted:
        __slots__ = ("__weakref__", "n")

        @tf.function
        def f(self, x):
            return x * self.n

    a = Slotted()
    a.n = 1.0
    for _ in range(3):
        a.f(tf.constant(1.0))
    assert recordings(a.f) == 1
    ref = weakref.ref(a)
    del a
    gc.collect()
    assert ref() is None


@pytest.mark.tf_differs("TensorFlow keeps methods by hash")
def test_method_of_an_object_without_a_hash(tf):
    class Equal:
        def __init__(self, n):
            self.n = n

        def __eq__(self, other):
            return True

        @tf.function
        def f(self, x):
            return x * self.n

    class Inheriting(Equal):
        pass

    for cls in (Equal, Inheriting):
        a, b = cls(2.0), cls(3.0)
        for _ in range(2):
            same(a.f(tf.constant(1.0)), 2.0)
            same(b.f(tf.constant(1.0)), 3.0)


def test_copied_object_has_a_state_of_its_own(tf):
    a = counter_class(tf)(1.0)
    if tf.__name__ == "numtape":  # TensorFlow keeps objects that cannot be copied
        a.add(tf.constant(1.0))
    b = copy.copy(a)
    b.v, b.step = tf.Variable(100.0), 10.0
    same(b.add(tf.constant(1.0)), 110.0)
    assert float(a.v) in (1.0, 2.0)


@pytest.mark.tf_differs("TensorFlow's functions cannot be copied once they were called")
@pytest.mark.parametrize("called", [False, True])
def test_deepcopied_object_has_a_state_of_its_own(tf, called):
    a = counter_class(tf)(1.0)
    if called:
        a.add(tf.constant(0.0))
    b = copy.deepcopy(a)
    for k in (1, 2):
        same(b.add(tf.constant(1.0)), 1.0 + k)
    same(a.v, 1.0)


class Picklable:
    """A class whose method becomes a `function` in `test_pickled_object`."""

    def __init__(self, v):
        self.v = v

    def add(self, x):
        self.v.assign_add(x)
        return self.v.read_value()


@pytest.mark.tf_differs("TensorFlow's functions cannot be pickled")
@pytest.mark.parametrize("called", [False, True])
def test_pickled_object(tf, monkeypatch, called):
    function = tf.function(Picklable.add)
    function.__set_name__(Picklable, "add")
    monkeypatch.setattr(Picklable, "add", function)
    a = Picklable(tf.Variable(1.0))
    if called:
        a.add(tf.constant(0.0))
    b = pickle.loads(pickle.dumps(a))
    for k in (1, 2):
        same(b.add(tf.constant(1.0)), 1.0 + k)
    same(a.v, 1.0)


@pytest.mark.tf_differs("TensorFlow's functions cannot be pickled")
def test_pickled_function_is_the_same_function(tf, monkeypatch):
    def module_level(x):
        return x + 1.0

    module_level.__qualname__ = "module_level"
    function = tf.function(module_level)
    monkeypatch.setitem(globals(), "module_level", function)
    assert pickle.loads(pickle.dumps(function)) is function


def test_copied_function(tf):
    f = tf.function(lambda x: x + 1.0)
    same(copy.copy(f)(tf.constant(1.0)), 2.0)


def test_function_that_becomes_a_method_later(tf):
    def forward(self, x):
        return x * 2.0

    class Late:
        pass

    Late.step = tf.function(forward)
    late = Late()
    late.forward = 7.0
    same(late.step(tf.constant(1.0)), 2.0)


@pytest.mark.numtape_only("TensorFlow's functions cannot be copied")
def test_copies_of_an_object_with_a_function_of_its_method(tf):
    class Counter:
        def __init__(self):
            self.v = tf.Variable(1.0)
            self.step = tf.function(self._step)

        def _step(self, x):
            self.v.assign_add(x)
            return self.v * x

    counter = Counter()
    counter.step(tf.constant(1.0))
    other = copy.deepcopy(counter)
    other.step(tf.constant(5.0))
    same(counter.v, 2.0)
    same(other.v, 7.0)


# --- Arguments -----------------------------------------------------------------------------------


def test_keywords_defaults_and_variadic_arguments(tf):
    @tf.function
    def f(a, b=2.0, *rest, c=3.0, **named):
        found = a + 10.0 * b + 100.0 * c
        for x in rest:
            found += x
        for name in sorted(named):
            found += named[name] * 1000.0
        return found

    one = tf.constant(1.0)
    for _ in range(2):
        same(f(one), 321.0)
        same(f(one, one), 311.0)
        same(f(a=one, b=one), 311.0)
        same(f(one, c=one), 121.0)
        same(f(one, one, one, one), 313.0)
        same(f(one, d=one, e=2.0), 3321.0)
        same(f(c=one, a=one, z=one), 1121.0)


def test_positional_or_by_name_is_one_recording(tf):
    f = tf.function(lambda a, b: a - b)
    one, two = tf.constant(1.0), tf.constant(2.0)
    for args, kwargs in (((one, two), {}), ((one,), {"b": two}), ((), {"b": two, "a": one})) * 2:
        same(f(*args, **kwargs), -1.0)
    assert recordings(f) == 1


def test_default_given_or_not_is_one_recording(tf):
    f = tf.function(lambda a, n=2: a * n)
    for _ in range(2):
        same(f(tf.constant(1.0)), 2.0)
        same(f(tf.constant(1.0), 2), 2.0)
        same(f(tf.constant(1.0), n=2), 2.0)
    assert recordings(f) == 1


def test_nests_in_and_out(tf):
    @tf.function
    def f(d):
        return {"sum": d["x"] + d["y"][0], "rest": [d["y"][1], (d["z"], None)]}

    for k in (1.0, 2.0):
        found = f({"x": tf.constant(k), "y": (tf.constant(1.0), np.ones(2)), "z": tf.ones(1)})
        assert sorted(found) == ["rest", "sum"]
        same(found["sum"], k + 1.0)
        same(found["rest"][0], [1.0, 1.0], "float64")
        same(found["rest"][1][0], [1.0])
        assert found["rest"][1][1] is None
    assert recordings(f) == 1


def test_nests_of_another_form_are_another_recording(tf):
    @tf.function
    def f(xs):
        total = tf.constant(0.0)
        for x in xs:
            total += x
        return total

    one = tf.constant(1.0)
    for _ in range(2):
        for n in (1, 2, 3):
            same(f([one] * n), float(n))
    assert recordings(f) == 3
    same(f((one, one)), 2.0)


def test_arrays_and_numpy_numbers_are_tensors(tf):
    f = tf.function(lambda x: x * 2)
    for k in range(3):
        same(f(np.array([1.0, k])), [2.0, 2.0 * k], "float64")
        same(f(np.float32(k)), 2.0 * k, "float32")
        same(f(np.int64(k)), 2 * k, "int64")
    assert recordings(f) == 3


def test_arrays_are_copied(tf):
    f = tf.function(lambda x: x)
    array = np.zeros(3)
    f(array)
    found = f(array)
    array[:] = 1.0
    same(found, [0.0, 0.0, 0.0])
    same(f(array), [1.0, 1.0, 1.0])


def test_python_numbers_retrace_by_value(tf):
    f = tf.function(lambda x, n: x * n)
    for _ in range(2):
        for n in (2, 3, 5):
            same(f(tf.constant(1.0), n), float(n))
    assert recordings(f) == 3


@pytest.mark.tf_differs("TensorFlow takes 1, 1.0 and True for the same")
def test_equal_numbers_of_different_types_are_recorded_separately(tf):
    f = tf.function(lambda n: tf.constant(n))
    for _ in range(2):
        same(f(1), 1, "int32")
        same(f(1.0), 1.0, "float32")
        same(f(True), True, "bool")
    assert recordings(f) == 3


@pytest.mark.tf_differs("TensorFlow takes 0.0 and -0.0 for the same, and NaN for another NaN")
def test_signs_of_zeros_and_nan_among_arguments(tf):
    f = tf.function(lambda x, n: x / n)
    one = tf.constant(1.0)
    for _ in range(2):
        same(f(one, 0.0), np.inf)
        same(f(one, -0.0), -np.inf)
        assert np.isnan(float(f(one, float("nan"))))
    assert recordings(f) == 3


def test_none_strings_and_functions_among_arguments(tf):
    @tf.function
    def f(x, activation=None, mode="double"):
        if activation is not None:
            x = activation(x)
        return x * 2.0 if mode == "double" else x

    x = tf.constant(0.5)
    for _ in range(2):
        same(f(x), 1.0)
        same(f(x, None, "single"), 0.5)
        same(f(x, tf.sin), 2 * np.sin(0.5))
        same(f(x, mode="single", activation=tf.cos), np.cos(0.5))


def test_variables_among_arguments(tf):
    @tf.function
    def f(v, x):
        v.assign_add(x)
        return v * 2.0

    a, b = tf.Variable(1.0), tf.Variable(10.0)
    for k in (1, 2, 3):
        same(f(a, tf.constant(1.0)), 2.0 * (1 + k))
        same(f(b, tf.constant(1.0)), 2.0 * (10 + k))
    same(a, 4.0)
    same(b, 13.0)


@pytest.mark.tf_differs("TensorFlow sorts the keys")
def test_dicts_in_another_order_are_another_recording(tf):
    @tf.function
    def f(nest):
        return functools.reduce(lambda x, y: x - y, nest[0].values())

    a, b = tf.constant(5.0), tf.constant(2.0)
    for _ in range(2):
        same(f([{"a": a, "b": b}]), 3.0)
        same(f([{"b": b, "a": a}]), -3.0)


def test_variables_inside_nests_among_arguments(tf):
    @tf.function
    def f(variables):
        for v in variables:
            v.assign(v * 2.0)

    variables = [tf.Variable(1.0), tf.Variable([1.0, 2.0])]
    for _ in range(3):
        f(variables)
    same(variables[0], 8.0)
    same(variables[1], [8.0, 16.0])


def test_shapes_and_dtypes_among_arguments(tf):
    f = tf.function(lambda x, shape, dtype: tf.cast(tf.reshape(x, shape), dtype))
    x = tf.ones((2, 3))
    for _ in range(2):
        found = f(x, tf.zeros((3, 2)).shape, tf.float64)
        assert tuple(found.shape) == (3, 2)
        assert found.dtype == "float64"
        assert tuple(f(x, [6], tf.int32).shape) == (6,)


@pytest.mark.tf_differs("TensorFlow does not take dicts of other kinds apart")
def test_dicts_and_lists_of_other_classes_among_arguments(tf):
    class Names(dict):
        pass

    class Row(list):
        pass

    f = tf.function(lambda x: x["a"] if isinstance(x, dict) else x[0])
    for _ in range(2):
        same(f(Names(a=tf.constant(1.0))), 1.0)
        same(f(Row([tf.constant(2.0)])), 2.0)


@pytest.mark.numtape_only("how often TensorFlow records is its own affair")
def test_bound_methods_among_arguments_are_recorded_once(tf):
    class Thing:
        def act(self, x):
            return x + 1.0

    thing = Thing()
    f = tf.function(lambda x, act: act(x))
    for _ in range(5):
        same(f(tf.constant(1.0), thing.act), 2.0)
    assert recordings(f) == 1


@pytest.mark.parametrize(
    ("args", "kwargs", "match"),
    [
        ((), {}, "missing a required argument: 'x'"),
        ((1.0, 2, 3), {}, "too many positional arguments"),
        ((1.0,), {"m": 3}, "unexpected keyword argument 'm'"),
        ((1.0,), {"x": 3}, "multiple values for argument 'x'"),
    ],
)
@pytest.mark.parametrize("known", [False, True])
def test_invalid_arguments(tf, args, kwargs, match, known):
    f = tf.function(lambda x, n=2: x * n)
    if known:
        f(tf.constant(1.0))
    with pytest.raises(TypeError, match=match):
        f(*args, **kwargs)
    same(f(tf.constant(1.0)), 2.0)


@pytest.mark.tf_differs("TensorFlow sorts them")
def test_keywords_keep_their_order(tf):
    f = tf.function(lambda **named: tf.stack(list(named.values())))
    a, b = tf.constant(1.0), tf.constant(2.0)
    for _ in range(2):
        same(f(b=b, a=a), [2.0, 1.0])
        same(f(a=a, b=b), [1.0, 2.0])


@pytest.mark.tf_differs("TensorFlow iterates over ranges")
def test_ranges_are_told_apart_by_their_ends(tf):
    f = tf.function(lambda x, r: x * r.stop)
    same(f(tf.constant(1), range(0, 3, 2)), 3)
    same(f(tf.constant(1), range(0, 4, 2)), 4)


@pytest.mark.tf_differs("TensorFlow takes the signature of what is wrapped")
def test_wrapped_functions(tf):
    def scaled(x, rate=1.0):
        return x * rate

    @functools.wraps(scaled)
    def wrapper(*args, **named):
        named.setdefault("rate", 5.0)
        return scaled(*args, **named)

    @functools.wraps(scaled)
    def one_argument(x):
        return scaled(x, 3.0)

    same(tf.function(wrapper)(tf.constant(1.0)), 5.0)
    same(tf.function(one_argument)(tf.constant(1.0)), 3.0)


# --- Results -------------------------------------------------------------------------------------


def test_numbers_arrays_and_variables_become_tensors(tf):
    v = tf.Variable(5.0)
    f = tf.function(lambda: (1, 2.5, True, np.ones(2), np.int64(3), v, [v]))
    for k in range(3):
        v.assign(float(k))
        found = f()
        assert all(tf.is_tensor(x) for x in found[:6])
        for x, expected in zip(found, (1, 2.5, True, [1.0, 1.0], 3, k), strict=False):
            same(x, expected)
        same(found[6][0], float(k))
        assert [x.dtype.name for x in found[:5]] == ["int32", "float32", "bool", "float64", "int64"]


@pytest.mark.parametrize("value", [None, (), [], {}])
def test_results_without_tensors(tf, value):
    f = tf.function(lambda: value)
    assert f() == value
    assert f() == value


@pytest.mark.parametrize("value", [object(), {1, 2}, len])
def test_results_that_cannot_be_tensors(tf, value):
    f = tf.function(lambda: value)
    for _ in range(2):
        with pytest.raises(TypeError):
            f()


def test_generators_cannot_be_results(tf):
    f = tf.function(lambda x: (x for _ in range(3)), autograph=False)
    with pytest.raises(TypeError):
        f(tf.constant(1.0))


def test_results_are_tensors_like_others(tf):
    f = tf.function(lambda x: (x + 1.0, tf.stack([x, x]), tf.zeros(2)))
    for _ in range(3):
        a, b, c = f(tf.constant(1.0))
    same(a * 2.0, 4.0)
    assert float(a) == 2.0
    assert int(a) == 2
    assert bool(a)
    same(b[0] + c, [1.0, 1.0])
    assert a.ref() == a.ref()
    assert "2.0" in repr(a)
    with tf.GradientTape() as tape:
        tape.watch(a)
        y = a * a
    same(tape.gradient(y, a), 4.0)


@pytest.mark.numtape_only("TensorFlow's tensors cannot be pickled")
def test_results_can_be_copied_and_pickled(tf):
    f = tf.function(lambda x: (x + 1.0, tf.stack([x, x])))
    for _ in range(2):
        for x in f(tf.constant(1.0)):
            same(pickle.loads(pickle.dumps(x)), x)
            same(copy.deepcopy(x), x)


def test_results_do_not_share_memory_with_later_calls(tf):
    v = tf.Variable(tf.zeros(1000))

    @tf.function
    def f(x):
        v.assign_add(x)
        return x * 2.0, v.read_value(), tf.ones(1000), x

    found = [f(tf.fill((1000,), float(k))) for k in range(5)]
    total = 0.0
    for k, (twice, read, ones, x) in enumerate(found):
        total += k
        for tensor, expected in ((twice, 2.0 * k), (read, total), (ones, 1.0), (x, k)):
            same(tensor, np.full(1000, expected))


def test_arrays_of_results_belong_to_the_caller(tf):
    f = tf.function(lambda x: (x, tf.ones(3), x + 1.0))
    x = tf.zeros(3)
    for _ in range(4):
        for result, expected in zip(f(x), (0.0, 1.0, 1.0), strict=True):
            same(result, np.full(3, expected))
            array = result.numpy()
            with contextlib.suppress(ValueError):
                array[:] = 7.0


# --- input_signature and TensorSpec --------------------------------------------------------------


def test_spec(tf):
    spec = tf.TensorSpec((None, 2), tf.float32)
    assert tuple(spec.shape) == (None, 2)
    assert spec.dtype == tf.float32
    assert spec.name is None
    assert repr(spec) == "TensorSpec(shape=(None, 2), dtype=tf.float32, name=None)"
    assert repr(tf.TensorSpec(None)) == "TensorSpec(shape=<unknown>, dtype=tf.float32, name=None)"
    named = tf.TensorSpec([], "int32", name="n")
    assert repr(named) == "TensorSpec(shape=(), dtype=tf.int32, name='n')"


def test_specs_are_equal(tf):
    spec = tf.TensorSpec((None, 2), tf.float32)
    assert spec == tf.TensorSpec([None, 2], "float32")
    assert hash(spec) == hash(tf.TensorSpec([None, 2], "float32"))
    for other in (
        tf.TensorSpec((None, 2), tf.float64),
        tf.TensorSpec((1, 2)),
        tf.TensorSpec(None),
        tf.TensorSpec((None, 2), name="a"),
        "spec",
    ):
        assert spec != other


def test_spec_of_a_tensor(tf):
    spec = tf.TensorSpec.from_tensor(tf.ones((2, 3), tf.float64), "x")
    assert spec == tf.TensorSpec((2, 3), tf.float64, "x")


def test_what_a_spec_is_compatible_with(tf):
    spec = tf.TensorSpec((None, 2), tf.float32)
    assert spec.is_compatible_with(tf.ones((3, 2)))
    assert spec.is_compatible_with(tf.TensorSpec((5, 2)))
    assert tf.TensorSpec(None).is_compatible_with(tf.ones(3))
    assert not spec.is_compatible_with(tf.ones((3, 3)))
    assert not spec.is_compatible_with(tf.ones(2))
    assert not spec.is_compatible_with(tf.ones((3, 2), tf.float64))
    assert not spec.is_compatible_with(3)


def test_signature_with_any_size(tf):
    @tf.function(input_signature=[tf.TensorSpec((None,), tf.float32)])
    def f(x):
        return tf.reduce_sum(x)

    assert f.input_signature == (tf.TensorSpec((None,), tf.float32),)
    for n in (1, 3, 1, 0, 3):
        same(f(tf.ones(n)), float(n))
    same(f(x=tf.ones(2)), 2.0)


def test_signature_makes_tensors(tf):
    @tf.function(input_signature=[tf.TensorSpec((None,), tf.float32)])
    def f(x):
        return x + 0.5

    for value in ([1.0, 2.0], [1, 2], (1, 2), np.array([1.0, 2.0]), np.array([1, 2])):
        same(f(value), [1.5, 2.5], "float32")
    same(f(tf.Variable([1.0, 2.0])), [1.5, 2.5], "float32")


@pytest.mark.parametrize("known", [False, True])
def test_arguments_that_do_not_fit_the_signature(tf, known):
    @tf.function(input_signature=[tf.TensorSpec((None,), tf.float32)])
    def f(x):
        return x

    if known:
        f(tf.ones(2))
        f(tf.ones(2))
    for value in (tf.ones((2, 2)), tf.ones(()), tf.ones(2, tf.float64), tf.ones(2, tf.int32)):
        with pytest.raises(TypeError, match=r"Binding inputs to tf\.function failed"):
            f(value)
    with pytest.raises(TypeError, match="missing a required argument"):
        f()
    with pytest.raises(TypeError, match="too many positional arguments"):
        f(tf.ones(2), tf.ones(2))


@pytest.mark.parametrize("value", ["abc", None, object()])
def test_arguments_that_cannot_be_tensors_of_the_signature(tf, value):
    f = tf.function(lambda x: x, input_signature=[tf.TensorSpec((), tf.float32)])
    with pytest.raises((TypeError, ValueError)):
        f(value)


def test_signature_with_nests(tf):
    spec = tf.TensorSpec((), tf.float32)
    f = tf.function(lambda d: d["a"] + d["b"], input_signature=[{"a": spec, "b": spec}])
    for _ in range(2):
        same(f({"a": 1.0, "b": 2}), 3.0, "float32")
    with pytest.raises(TypeError):
        f({"a": 1.0})


def test_signature_with_other_arguments_left_at_their_defaults(tf):
    spec = tf.TensorSpec((), tf.float32)
    f = tf.function(lambda x, n=2: x * n, input_signature=[spec])
    same(f(3.0), 6.0)
    g = tf.function(lambda x, n=2.0: x * n, input_signature=[spec, spec])
    same(g(3.0), 6.0)
    same(g(3.0, 4.0), 12.0)


def test_signature_of_a_method(tf):
    class Thing:
        @tf.function(input_signature=[tf.TensorSpec((None,), tf.float32)])
        def f(self, x):
            return tf.reduce_sum(x) + 1.0

    same(Thing().f([1.0, 2.0]), 4.0)


@pytest.mark.parametrize("count", [0, 2])
def test_signature_of_another_length(tf, count):
    with pytest.raises(TypeError):
        tf.function(lambda x: x, input_signature=[tf.TensorSpec(())] * count)(3.0)


@pytest.mark.parametrize("signature", [3, [3], ["float32"]])
def test_signature_of_no_specs(tf, signature):
    with pytest.raises(TypeError):
        tf.function(lambda x: x, input_signature=signature)(3.0)


# --- get_concrete_function -----------------------------------------------------------------------


def test_concrete_function_of_a_spec(tf):
    f = tf.function(lambda x, n=2: x * n)
    concrete = f.get_concrete_function(tf.TensorSpec((None,), tf.float32), 3)
    for n in (2, 4):
        same(concrete(tf.ones(n)), np.full(n, 3.0))
    same(concrete(x=tf.ones(2)), [3.0, 3.0])
    same(concrete(tf.ones(2), 3), [3.0, 3.0])
    args, kwargs = concrete.structured_input_signature
    assert tuple(args[0].shape) == (None,)
    assert args[1] == 3
    assert kwargs == {}


def test_concrete_function_of_values(tf):
    f = tf.function(lambda x, y: x - y)
    for x in (tf.constant(1.0), np.float32(1.0)):
        concrete = f.get_concrete_function(x, tf.constant(2.0))
        same(concrete(tf.constant(5.0), tf.constant(3.0)), 2.0)
        same(concrete(y=tf.constant(5.0), x=tf.constant(3.0)), -2.0)


def test_concrete_function_of_the_signature(tf):
    f = tf.function(tf.reduce_sum, input_signature=[tf.TensorSpec((None,), tf.float32)])
    same(f.get_concrete_function()(tf.ones(3)), 3.0)


def test_concrete_function_of_a_method(tf):
    a = counter_class(tf)(2.0)
    concrete = a.add.get_concrete_function(tf.TensorSpec((), tf.float32))
    same(concrete(tf.constant(1.0)), 4.0)
    same(concrete(tf.constant(1.0)), 6.0)


def test_concrete_function_rejects_other_signatures(tf):
    f = tf.function(lambda x, n=2: x * n)
    concrete = f.get_concrete_function(tf.TensorSpec((), tf.float32), 3)
    with pytest.raises(TypeError, match="Can not cast 4 to Literal"):
        concrete(tf.constant(1.0), 4)
    with pytest.raises(tf.errors.InvalidArgumentError, match="was expected to be a float"):
        concrete(tf.constant(1.0, tf.float64))
    with pytest.raises(TypeError):
        concrete()
    with pytest.raises(TypeError):
        concrete(tf.constant(1.0), 3, 4)
    with pytest.raises(TypeError):
        concrete(tf.constant(1.0), q=4)
    with pytest.raises(TypeError, match="missing a required argument"):
        f.get_concrete_function()


def test_concrete_function_of_a_nest(tf):
    scalar = tf.TensorSpec((), tf.float32)
    concrete = tf.function(lambda d: d["a"] - d["b"]).get_concrete_function(
        {"a": scalar, "b": scalar}
    )
    x = tf.constant(3.0)
    same(concrete({"b": x, "a": 2.0 * x}), 3.0)
    with pytest.raises(TypeError, match=r"Binding inputs to tf\.function failed"):
        concrete({"a": x})


# --- Nested functions ----------------------------------------------------------------------------


def test_recursion(tf):
    @tf.function
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    for _ in range(2):
        same(power(tf.constant(2.0), 5), 32.0)
        same(power(tf.constant(3.0), 2), 9.0)


@pytest.mark.tf_differs("TensorFlow's recursion may not depend on tensors")
def test_recursion_on_values(tf):
    @tf.function
    def collatz(n):
        if n == 1:
            return tf.constant(0)
        return 1 + collatz(n // 2 if n % 2 == 0 else 3 * n + 1)

    for _ in range(2):
        assert [int(collatz(tf.constant(n))) for n in (1, 6, 7)] == [0, 8, 16]


def test_nested_functions(tf):
    v = tf.Variable(1.0)

    @tf.function
    def inner(x):
        v.assign_add(x)
        return v * x

    @tf.function
    def outer(x):
        return inner(x) + inner(x * 2.0)

    total = 1.0
    for x in (1.0, 2.0, 3.0):
        first = (total + x) * x
        total += 3 * x
        same(outer(tf.constant(x)), first + total * 2 * x)
    same(inner(tf.constant(0.0)), 0.0)
    same(v, total)


def test_function_defined_inside_a_function(tf):
    @tf.function
    def outer(x):
        @tf.function
        def inner(y):
            return y * x

        return inner(x + 1.0)

    for x in (1.0, 2.0):
        same(outer(tf.constant(x)), (x + 1) * x)


# --- Eager execution -----------------------------------------------------------------------------


@pytest.mark.records
def test_run_functions_eagerly(tf):
    ran = []

    @tf.function
    def f(x):
        ran.append(1)
        return x * 2.0

    assert tf.config.functions_run_eagerly() is False
    with eagerly(tf):
        assert tf.config.functions_run_eagerly() is True
        for _ in range(3):
            same(f(tf.constant(1.0)), 2.0)
        assert len(ran) == 3
        with pytest.raises(TypeError):
            f()
    for _ in range(3):
        same(f(tf.constant(1.0)), 2.0)
    assert len(ran) == 4


def test_eager_results_become_tensors_too(tf):
    v = tf.Variable(2.0)
    with eagerly(tf):
        same(tf.function(lambda x: x + v)(np.float32(1.0)), 3.0)


@pytest.mark.numtape_only("TensorFlow assigns as far as it came")
def test_eager_calls_assign_all_or_nothing(tf):
    v = tf.Variable(1.0)

    @tf.function
    def f():
        v.assign(5.0)
        raise KeyError

    with eagerly(tf), pytest.raises(KeyError):
        f()
    same(v, 1.0)


# --- paths() -------------------------------------------------------------------------------------


@pytest.mark.records
@pytest.mark.numtape_only("TensorFlow has no paths")
def test_paths_list_what_was_recorded(tf):
    settings = types.SimpleNamespace(rate=2.0)

    @tf.function
    def f(x):
        if tf.reduce_sum(x) > 0.0:
            return x * settings.rate
        for _ in range(3):
            if x[0] > 5.0:
                break
        return float(x[1]) + x

    assert repr(f.paths()) == "0 recorded paths"
    up, down = tf.constant([1.0, 2.0]), tf.constant([-1.0, -2.0])
    for x in (up, up, up, down):
        f(x)
    first, second = f.paths()
    assert (first.hits, second.hits) == (2, 0)
    assert first.seconds > 0.0
    assert first.rows > second.rows - 20
    assert [tuple(spec.shape) for spec in first.arguments] == [(2,)]
    (guard,) = first.guards
    assert guard.file == __file__
    assert guard.source == "if tf.reduce_sum(x) > 0.0:"
    assert guard.value
    assert [guard.value for guard in second.guards] == [False, False, False, False, -2.0]
    assert ("settings.rate", 2.0) in first.names
    text = repr(f.paths())
    assert text.startswith("2 recorded paths\n0: float32[2]; ")
    assert "2 hits" in text
    assert "not replayed yet" in text
    assert "if x[0] > 5.0:  saw False, 3 times" in text
    assert "with settings.rate = 2.0" in text


@pytest.mark.records
@gives_up
def test_paths_give_the_reason_for_plain_python(tf):
    kept = []
    f = tf.function(lambda x: kept.append(x * 2.0) or x)
    with one_warning():
        f(tf.constant(1.0))
    assert "runs as Python: it stores a tensor of shape ()" in repr(f.paths())
