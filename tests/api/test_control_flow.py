"""Control flow as functions: `cond`, `while_loop`, `map_fn`, `scan`, eager and in a `function`."""

import collections

import numpy as np
import pytest
from checks import same, slope

Pair = collections.namedtuple("Pair", "first second")


@pytest.fixture(params=["eager", "in a function"])
def run(tf, request):
    """Call a function with tensor arguments: once as Python, or twice as a `function`."""
    eager = request.param == "eager"

    def call(program, *values):
        points = [tf.convert_to_tensor(value) for value in values]
        if eager:
            return program(*points)
        recorded = tf.function(program)
        recorded(*points)
        return recorded(*points)

    return call


def curve(tf, function, x):
    """Value, first and second derivative at ``x``."""
    x = tf.constant(x)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = function(x)
        first = inner.gradient(y, x)
    return [y, first, outer.gradient(first, x)]


def curves(tf, function, plain, *points):
    """Assert that two functions have the same value and derivatives, also as a `function`."""
    recorded = tf.function(function)
    for point in points:
        wanted = curve(tf, plain, point)
        for found in (curve(tf, function, point), curve(tf, recorded, point)):
            for part, expected in zip(found, wanted, strict=True):
                if expected is None:  # TensorFlow's functions return zeros instead
                    assert part is None or float(part) == 0.0
                else:
                    same(part, expected, "float32", rtol=1e-5)


# --- cond ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("x", "expected"), [(3.0, 9.0), (-3.0, 3.0), (0.0, 0.0)])
def test_cond_takes_one_branch(tf, run, x, expected):
    found = run(lambda x: tf.cond(x > 0, lambda: x * x, lambda: -x), x)
    same(found, expected, "float32")


def test_cond_runs_one_branch_alone(tf):
    ran = []

    def branch(value):
        ran.append(value)
        return tf.constant(value)

    same(tf.cond(tf.constant(True), lambda: branch(1.0), lambda: branch(2.0)), 1.0)
    same(tf.cond(tf.constant(False), lambda: branch(1.0), lambda: branch(2.0)), 2.0)
    assert ran == [1.0, 2.0]


@pytest.mark.parametrize("pred", [True, np.bool_(True), np.array(True)])
def test_cond_of_what_is_no_tensor(tf, pred):
    same(tf.cond(pred, lambda: tf.constant(1), lambda: tf.constant(2)), 1, "int32")


def test_cond_of_a_variable(tf):
    flag = tf.Variable(False)
    same(tf.cond(flag, lambda: tf.constant(1), lambda: tf.constant(2)), 2, "int32")


def test_cond_gives_nests(tf, run):
    def program(x):
        return tf.cond(
            x > 0, lambda: {"a": x, "b": (x + 1, [x + 2])}, lambda: {"a": -x, "b": (-x, [x])}
        )

    found = run(program, 2.0)
    assert sorted(found) == ["a", "b"]
    same(found["a"], 2.0)
    same(found["b"][0], 3.0)
    same(found["b"][1][0], 4.0)
    same(run(program, -2.0)["b"][0], 2.0)


def test_cond_inside_cond(tf, run):
    def program(x):
        return tf.cond(
            x > 0,
            lambda: tf.cond(x > 1, lambda: x * 100, lambda: x * 10),
            lambda: tf.cond(x < -1, lambda: x * 3, lambda: x * 2),
        )

    found = [float(run(program, x)) for x in (2.0, 0.5, -2.0, -0.5)]
    assert found == [200.0, 5.0, -6.0, -1.0]


def test_cond_derivatives(tf):
    def plain(x):
        return x**3 if float(x) > 0 else x**2 * 5.0

    curves(tf, lambda x: tf.cond(x > 0, lambda: x**3, lambda: x**2 * 5.0), plain, 2.0, -1.0, 0.5)


def test_cond_gradient_of_the_branch_that_is_not_taken_is_none(tf):
    x, y = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        z = tf.cond(tf.constant(True), lambda: x * x, lambda: y * y)
    first, second = tape.gradient(z, [x, y])
    same(first, 4.0)
    assert second is None


def test_cond_assigns_in_its_branch(tf):
    v = tf.Variable(1.0)

    @tf.function
    def step(up):
        tf.cond(up, lambda: v.assign_add(10.0), lambda: v.assign_sub(1.0))
        return v.read_value()

    found = [float(step(tf.constant(up))) for up in (True, False, False, True)]
    assert found == [11.0, 10.0, 9.0, 19.0]
    same(v, 19.0)


@pytest.mark.parametrize("which", [0, 1])
def test_cond_wants_functions(tf, which):
    branches = [lambda: tf.constant(1.0)] * 2
    branches[which] = tf.constant(1.0)
    with pytest.raises(TypeError, match=r"(true|false)_fn'? must be"):
        tf.cond(tf.constant(True), *branches)


def test_cond_of_several_elements(tf):
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        tf.cond(tf.constant([True, False]), lambda: tf.constant(1), lambda: tf.constant(2))


def test_cond_passes_errors_on(tf):
    def fail():
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        tf.cond(tf.constant(True), fail, lambda: tf.constant(1.0))


# --- while_loop ----------------------------------------------------------------------------------


def test_while_loop_counts(tf, run):
    def program(n):
        return tf.while_loop(lambda k, s: k < n, lambda k, s: (k + 1, s + k), (0, 0))

    k, s = run(program, 10)
    same(k, 10, "int32")
    same(s, 45, "int32")


def test_while_loop_that_never_runs(tf, run):
    found = run(lambda x: tf.while_loop(lambda x: x < 0, lambda x: (x - 1,), (x,)), 5.0)
    assert len(found) == 1
    same(found[0], 5.0, "float32")


def test_while_loop_of_one_variable(tf, run):
    found = run(lambda x: tf.while_loop(lambda x: x < 100, lambda x: [x * 2], [x]), 3)
    assert isinstance(found, list)
    assert len(found) == 1
    same(found[0], 192, "int32")


@pytest.mark.parametrize(("most", "expected"), [(0, 1), (3, 8), (10, 16), (None, 16)])
def test_while_loop_maximum_iterations(tf, run, most, expected):
    def program(x):
        return tf.while_loop(lambda x: x < 16, lambda x: (x * 2,), (x,), maximum_iterations=most)

    (found,) = run(program, 1)
    same(found, expected, "int32")


def test_while_loop_maximum_iterations_as_a_tensor(tf, run):
    def program(x, most):
        return tf.while_loop(lambda x: True, lambda x: (x + 1,), (x,), maximum_iterations=most)

    same(run(program, 1, 4)[0], 5, "int32")
    same(run(program, 1, 7)[0], 8, "int32")


def test_while_loop_of_nests(tf, run):
    def program(x):
        def body(pair, state):
            return Pair(pair.second, pair.first + pair.second), {"n": state["n"] + 1}

        return tf.while_loop(
            lambda pair, state: state["n"] < 10, body, (Pair(x, x), {"n": tf.constant(0)})
        )

    pair, state = run(program, 1)
    assert type(pair).__name__ == "Pair"
    same(pair.first, 89, "int32")
    same(pair.second, 144, "int32")
    same(state["n"], 10)


def test_while_loop_gives_tensors(tf):
    found = tf.while_loop(lambda k, x: k < 2, lambda k, x: (k + 1, x), (0, np.ones(2)))
    assert all(tf.is_tensor(x) for x in found)
    same(found[1], [1.0, 1.0], "float64")


def test_while_loop_derivatives(tf):
    def loop(x):
        found = tf.while_loop(lambda k, y: k < 4, lambda k, y: (k + 1, y * x + x), (0, x))
        return found[1]

    def plain(x):
        y = x
        for _ in range(4):
            y = y * x + x
        return y

    curves(tf, loop, plain, 0.5, -1.25, 2.0)


def test_while_loop_derivatives_where_the_values_decide_how_often(tf):
    def loop(x):
        return tf.while_loop(lambda y: y < 50.0, lambda y: (y * x,), (x,))[0]

    def plain(x):
        y = x
        while float(y) < 50.0:
            y = y * x
        return y

    curves(tf, loop, plain, 1.5, 2.0, 7.5, 60.0)


def test_while_loop_assigns(tf, run):
    v = tf.Variable(0)

    def program(n):
        def body(k):
            v.assign_add(k)
            return (k + 1,)

        tf.while_loop(lambda k: k < n, body, (0,))
        return v.read_value()

    before = int(v)
    found = int(run(program, 5))
    assert found in (10, 20)  # once eagerly, twice as a function
    assert int(v) == found != before


def test_while_loop_newton(tf, run):
    def program(a):
        def better(x):
            return ((x + a / x) / 2.0,)

        return tf.while_loop(lambda x: tf.abs(x * x - a) > 1e-4, better, (a,))[0]

    same(run(program, 2.0), 2**0.5, "float32", rtol=1e-4)


@pytest.mark.parametrize("which", ["cond", "body"])
def test_while_loop_wants_functions(tf, which):
    functions = {"cond": lambda x: x < 1, "body": lambda x: (x + 1,)}
    functions[which] = 1
    with pytest.raises(TypeError, match=f"'{which}' must be callable"):
        tf.while_loop(functions["cond"], functions["body"], (0,))


def test_while_loop_without_variables(tf):
    with pytest.raises(ValueError, match="must be provided"):
        tf.while_loop(lambda: True, lambda: (), ())


def test_while_loop_whose_body_gives_another_structure(tf, run):
    def program(x):
        return tf.while_loop(lambda x, y: x < 3, lambda x, y: (x + 1, y, y), (x, x))

    with pytest.raises((ValueError, TypeError)):
        run(program, 0)


# --- map_fn --------------------------------------------------------------------------------------


def test_map_fn_maps_slices(tf, run):
    found = run(lambda x: tf.map_fn(lambda row: row * row, x), [[1.0, 2.0], [3.0, 4.0]])
    same(found, [[1.0, 4.0], [9.0, 16.0]], "float32")


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_map_fn_dtypes(tf, run, dtype):
    found = run(lambda x: tf.map_fn(lambda e: e + e, x), np.array([1, 2, 3], dtype))
    same(found, [2, 4, 6], dtype)


@pytest.mark.parametrize("option", ["fn_output_signature", "dtype"])
def test_map_fn_gives_another_dtype(tf, option):
    x = tf.constant([1, 2, 3])
    found = tf.map_fn(lambda e: tf.cast(e, tf.float32) / 2.0, x, **{option: tf.float32})
    same(found, [0.5, 1.0, 1.5], "float32")


def test_map_fn_output_signature_as_a_spec(tf):
    found = tf.map_fn(
        lambda e: tf.stack([tf.cast(e, tf.float32)] * 2),
        tf.constant([1, 2]),
        fn_output_signature=tf.TensorSpec((2,), tf.float32),
    )
    same(found, [[1.0, 1.0], [2.0, 2.0]], "float32")


def test_map_fn_gives_other_shapes(tf, run):
    found = run(lambda x: tf.map_fn(tf.reduce_sum, x), [[1.0, 2.0], [3.0, 4.0]])
    same(found, [3.0, 7.0], "float32")


def test_map_fn_of_a_nest(tf, run):
    def program(x, y):
        return tf.map_fn(lambda pair: pair[0] * pair[1], (x, y), fn_output_signature=tf.float32)

    same(run(program, [1.0, 2.0], [3.0, 4.0]), [3.0, 8.0], "float32")


def test_map_fn_to_a_nest(tf, run):
    def program(x):
        return tf.map_fn(
            lambda e: {"twice": e * 2, "half": tf.cast(e, tf.float32) / 2.0},
            x,
            fn_output_signature={"twice": tf.int32, "half": tf.float32},
        )

    found = run(program, [1, 2])
    assert sorted(found) == ["half", "twice"]
    same(found["twice"], [2, 4], "int32")
    same(found["half"], [0.5, 1.0], "float32")


def test_map_fn_from_a_nest_to_the_same(tf):
    found = tf.map_fn(
        lambda pair: (pair[1], pair[0]), (tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0]))
    )
    same(found[0], [3.0, 4.0])
    same(found[1], [1.0, 2.0])


def test_map_fn_of_lists_of_tensors(tf):
    x = np.arange(4, dtype=np.float32)
    same(tf.map_fn(lambda e: e + 1, x), x + 1, "float32")


def test_map_fn_of_a_variable(tf):
    v = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.map_fn(lambda e: e**3, v))
    same(tape.gradient(y, v), [3.0, 12.0])


def test_map_fn_of_nothing(tf):
    found = tf.map_fn(lambda e: e * 2, tf.zeros(0))
    assert tuple(found.shape) == (0,)
    assert found.dtype == "float32"


@pytest.mark.tf_differs("TensorFlow's eager result has shape (0,)")
def test_map_fn_of_no_rows(tf):
    assert tuple(tf.map_fn(lambda e: e * 2, tf.zeros((0, 3))).shape) == (0, 3)


def test_map_fn_derivatives(tf):
    scale = tf.constant([1.0, -2.0, 3.0])

    curves(
        tf,
        lambda x: tf.reduce_sum(tf.map_fn(lambda e: tf.sin(e * x) * x, scale)),
        lambda x: tf.reduce_sum(tf.sin(scale * x) * x),
        0.5,
        -1.0,
    )


def test_map_fn_gradient_of_the_elements(tf, run):
    x = [[1.0, 2.0], [3.0, 4.0]]
    found = run(lambda x: slope(tf, lambda x: tf.reduce_sum(tf.map_fn(lambda r: r**3, x)), x), x)
    same(found, 3 * np.square(x))


def test_map_fn_jacobian(tf):
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.map_fn(lambda e: e * e, x)
    same(tape.jacobian(y, x), [[2.0, 0.0], [0.0, 4.0]])


def test_map_fn_inside_map_fn(tf, run):
    found = run(lambda x: tf.map_fn(lambda row: tf.map_fn(lambda e: e + 1.0, row), x), [[1.0, 2.0]])
    same(found, [[2.0, 3.0]])


def test_map_fn_of_scalars(tf):
    with pytest.raises(ValueError, match="must be 1\\+ dimensional Tensors, not scalars"):
        tf.map_fn(lambda e: e, tf.constant(1.0))


def test_map_fn_of_first_axes_that_differ(tf):
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        tf.map_fn(
            lambda pair: pair[0] + pair[1],
            (tf.ones(2), tf.ones(3)),
            fn_output_signature=tf.float32,
        )


def test_map_fn_of_another_dtype_than_it_says(tf):
    with pytest.raises((ValueError, TypeError, tf.errors.InvalidArgumentError)):
        tf.map_fn(lambda e: tf.cast(e, tf.float64), tf.ones(2))


def test_map_fn_of_another_structure_than_it_says(tf):
    with pytest.raises((ValueError, TypeError)):
        tf.map_fn(lambda e: (e, e), tf.ones(2))


def test_map_fn_wants_a_function(tf):
    with pytest.raises((TypeError, AttributeError)):  # TensorFlow asks for its __name__
        tf.map_fn(1, tf.ones(2))


# --- scan ----------------------------------------------------------------------------------------


def test_scan_adds_up(tf, run):
    same(run(lambda x: tf.scan(lambda a, e: a + e, x), [1, 2, 3, 4]), [1, 3, 6, 10], "int32")


def test_scan_from_an_initializer(tf, run):
    found = run(lambda x: tf.scan(lambda a, e: a * e, x, tf.constant(10.0)), [1.0, 2.0, 3.0])
    same(found, [10.0, 20.0, 60.0], "float32")


def test_scan_reverse(tf, run):
    found = run(lambda x: tf.scan(lambda a, e: a + e, x, reverse=True), [1, 2, 3, 4])
    same(found, [10, 9, 7, 4], "int32")


def test_scan_reverse_from_an_initializer(tf, run):
    found = run(lambda x: tf.scan(lambda a, e: a * e, x, 1.0, reverse=True), [2.0, 3.0, 4.0])
    same(found, [24.0, 12.0, 4.0], "float32")


def test_scan_gives_another_shape_than_its_elements(tf, run):
    def program(x):
        return tf.scan(lambda a, row: a + tf.reduce_sum(row), x, tf.constant(0.0))

    same(run(program, [[1.0, 2.0], [3.0, 4.0]]), [3.0, 10.0], "float32")


def test_scan_gives_another_dtype_than_its_elements(tf, run):
    def program(x):
        return tf.scan(lambda a, e: a + tf.cast(e, tf.float32) / 2.0, x, tf.constant(0.0))

    same(run(program, [1, 2, 3]), [0.5, 1.5, 3.0], "float32")


def test_scan_of_nests(tf, run):
    def program(x, y):
        return tf.scan(
            lambda a, e: (a[1], a[0] + e["x"] * e["y"]),
            {"x": x, "y": y},
            (tf.constant(0.0), tf.constant(1.0)),
        )

    first, second = run(program, [1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    same(first, [1.0, 4.0, 11.0])
    same(second, [4.0, 11.0, 22.0])


def test_scan_fibonacci(tf):
    zero, one = tf.constant(0), tf.constant(1)
    found = tf.scan(lambda a, _: (a[1], a[0] + a[1]), tf.zeros(6), (zero, one))
    same(found[0], [1, 1, 2, 3, 5, 8], "int32")


def test_scan_of_one_element(tf, run):
    same(run(lambda x: tf.scan(lambda a, e: a * 0 + e, x), [7.0]), [7.0])


@pytest.mark.tf_differs("TensorFlow wants a first element even where there is an initializer")
def test_scan_of_nothing_from_an_initializer(tf):
    found = tf.scan(lambda a, e: a + e, tf.zeros(0), tf.zeros(3))
    assert tuple(found.shape) == (0, 3)


@pytest.mark.tf_differs("TensorFlow raises OutOfRangeError, which is not in numtape")
def test_scan_of_nothing(tf):
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        tf.scan(lambda a, e: a + e, tf.zeros(0))


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_derivatives(tf, reverse):
    steps = [0.5, -1.0, 2.0]

    def plain(x):
        a, found = x, []
        for step in steps[::-1] if reverse else steps:
            a = a * x + step
            found.append(a)
        return tf.reduce_sum(tf.stack(found) ** 2)

    def scanned(x):
        return tf.reduce_sum(
            tf.scan(lambda a, e: a * x + e, tf.constant(steps), x, reverse=reverse) ** 2
        )

    curves(tf, scanned, plain, 0.5, -1.5)


def test_scan_gradient_of_elements_and_initializer(tf, run):
    def program(x, a):
        return slope(tf, lambda x, a: tf.scan(lambda a, e: a * e, x, a)[-1], x, a)

    of_x, of_a = run(program, [2.0, 3.0, 4.0], 5.0)
    same(of_x, [60.0, 40.0, 30.0])
    same(of_a, 24.0)


def test_scan_wants_a_function(tf):
    with pytest.raises((TypeError, AttributeError)):  # TensorFlow asks for its __name__
        tf.scan(1, tf.ones(2))


def test_scan_of_scalars(tf):
    with pytest.raises((ValueError, IndexError)):
        tf.scan(lambda a, e: a + e, tf.constant(1.0))


def test_scan_of_another_structure(tf):
    with pytest.raises((ValueError, TypeError)):
        tf.scan(lambda a, e: (a, e), tf.ones(3))


def test_scan_of_another_dtype_than_its_initializer(tf):
    with pytest.raises((ValueError, TypeError, tf.errors.InvalidArgumentError)):
        tf.scan(lambda a, e: tf.cast(a + e, tf.float64), tf.ones(3))


# --- Together ------------------------------------------------------------------------------------


def test_control_flow_inside_control_flow(tf, run):
    def program(x):
        def row(e):
            return tf.cond(
                e > 0,
                lambda: tf.while_loop(lambda y: y < 10.0, lambda y: (y * 2.0,), (e,))[0],
                lambda: tf.scan(lambda a, b: a + b, tf.stack([e, e, e]))[-1],
            )

        return tf.map_fn(row, x)

    same(run(program, [1.0, -1.0, 3.0]), [16.0, -3.0, 12.0], "float32")


@pytest.mark.records
@pytest.mark.numtape_only("how often TensorFlow records is its own affair")
def test_recorded_loops_are_recorded_once_for_each_number_of_turns(tf):
    @tf.function
    def power(x, n):
        return tf.while_loop(lambda k, y: k < n, lambda k, y: (k + 1, y * x), (0, 1.0))[1]

    for n in (3, 5, 3, 5, 0, 3, 0):
        same(power(tf.constant(2.0), tf.constant(n)), 2.0**n)
    assert power.experimental_get_tracing_count() == 3


@pytest.mark.parametrize("wanted", [np.float32, np.dtype("float32"), "float32"], ids=str)
def test_map_fn_takes_dtypes_of_numpy(tf, wanted):
    elements = tf.range(1, 3)
    found = tf.map_fn(lambda x: tf.cast(x, tf.float32) / 2, elements, fn_output_signature=wanted)
    assert found.numpy().tolist() == [0.5, 1.0]


# --- Name scopes ---------------------------------------------------------------------------------


def test_name_scope_of_a_module(tf):
    class Part(tf.Module):
        def __init__(self, name=None):
            super().__init__(name)
            with self.name_scope:
                self.v = tf.Variable(1.0, name="v")

        @tf.Module.with_name_scope
        def __call__(self):
            if not hasattr(self, "w"):
                self.w, self.inner = tf.Variable(2.0, name="w"), Part("inner")
            return self.w + 1.0

    with tf.name_scope("outer"):
        part = Part("part")
        assert tf.get_current_name_scope() == "outer"
    function = tf.function(lambda: part())
    assert [function().numpy() for _ in range(3)] == [3.0] * 3
    names = [part.v.name, part.w.name, part.inner.v.name]
    assert names == ["outer/part/v:0", "outer/part/w:0", "outer/part/inner/v:0"]
    assert (part.name, part.name_scope.name) == ("part", "outer/part/")
