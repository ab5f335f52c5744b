"""Tracebacks show the program's lines and none of numtape's, for every kind of error."""

import dis
import inspect
import pickle
import re
import signal
import sys
import traceback
import types

import numpy as np
import pytest
from bad_arguments import bad, others, row, seeded
from bad_calls import more
from op_cases import CASES

import numtape
from numtape.compat import traceback_filter

pytestmark = [
    pytest.mark.numtape_only(reason="TensorFlow keeps frames of its own"),
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(autouse=True)
def filtering():
    before = traceback_filter.is_enabled()
    traceback_filter.enable(True)
    yield
    traceback_filter.enable(before)


def frames(error):
    """The modules of a traceback's frames, including chained exceptions."""
    found = []
    while error is not None:
        walked = traceback.walk_tb(error.__traceback__)
        found += [frame.f_globals.get("__name__", "") for frame, _ in walked]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return found


def inner(error):
    """The modules of numtape among the frames."""
    return [name for name in frames(error) if name.partition(".")[0] == "numtape"]


def raised(call):
    with pytest.raises(Exception) as error:
        call()
    return error.value


def with_bad_arguments(tf, make, places, random, count=2):
    """Errors of a call with its arguments replaced, one at a time."""
    for place in places:
        kinds = bad(tf)
        for what in random.permutation(list(kinds))[:count]:
            function, arguments, options = make()
            (arguments if isinstance(place, int) else options)[place] = kinds[what]
            signal.alarm(10)
            try:
                function(*arguments, **options)
            except Exception as error:
                yield f"{place}: {what}", error
            finally:
                signal.alarm(0)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_no_frame_of_an_op(tf, case, limited):
    random = seeded(case.name)
    wrong = [
        f"{what}: {inner(error)}"
        for what, error in with_bad_arguments(tf, *row(tf, case, random), random)
        if inner(error)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.thorough if k % 3 else ())
        for k, name in enumerate([*others(numtape), *more(numtape)])
    ],
)
def test_no_frame_of_another_function(tf, name, limited):
    def make():
        function, arguments, options = (more if ": " in name else others)(tf)[name]
        return function, list(arguments), dict(options)

    _, arguments, options = make()
    places = [*range(len(arguments)), *options]
    wrong = [
        f"{what}: {inner(error)}"
        for what, error in with_bad_arguments(tf, make, places, seeded(name), 4)
        if inner(error)
    ]
    assert wrong == []


# The number of lines that IPython shows for a wrong shape.

SHAPES = {
    "an operator": "x @ x",
    "an op": "tf.matmul(x, x)",
    "an elementwise op": "tf.add(x, tf.ones(4))",
    "a reduction": "tf.reduce_sum(x, axis=5)",
    "a slice": "x[5]",
    "a reshape": "tf.reshape(x, (4,))",
    "a concatenation": "tf.concat([x, tf.ones(4)], 0)",
    "a convolution": "tf.nn.conv2d(x, x, 1, 'SAME')",
    "a decomposition": "tf.linalg.cholesky(x)",
    "a transform": "tf.signal.fft(x)",
    "an assign": "v.assign(tf.ones(4))",
    "a variable's operator": "v + tf.ones(4)",
    "a method": "v.scatter_update(tf.IndexedSlices(tf.ones(4), tf.constant([7])))",
    "a layer": "tf.keras.layers.Dense(2)(tf.ones(3))",
    "a built layer": "dense(tf.ones((1, 7)))",
    "a loss": "tf.keras.losses.MeanSquaredError()(x, tf.ones(7))",
    "an optimizer": "tf.keras.optimizers.SGD().apply_gradients([(tf.ones(4), v)])",
    "a gradient": "tf.GradientTape().gradient(x, x)",
    "a look": "tf.linalg.inv(tf.zeros((2, 2))).numpy()",
    "a data set": "tf.data.Dataset.from_tensor_slices((x, tf.ones(7)))",
    "a missing name": "tf.nosuch",
    "NumPy": "np.ones(5, np.float32) * x",
    "an assertion": "tf.debugging.assert_equal(x, 2.0)",
    "text": "x + 'text'",
    "an equation": "tf.einsum('ij,jk->ik', x, x)",
    "indices": "tf.gather(x, [5])",
    "parts": "tf.split(x, 2, axis=1)",
    "a picture": "tf.image.resize(x, (2, 2))",
    "two indices": "x[:, 3]",
    "a slice of a variable": "v[0].assign(tf.ones(5))",
    "an update": "v.assign_add(tf.ones(4))",
    "a layer of sequences": "tf.keras.layers.LSTM(3)(x)",
    "a layer of two": "tf.keras.layers.Concatenate()([x, tf.ones((5, 3))])",
    "an axis of a layer": "tf.keras.layers.BatchNormalization(axis=5)(x)",
    "a metric": "tf.keras.metrics.Accuracy()(x, tf.ones((4, 7)))",
    "a model": "model(tf.ones((2, 5)))",
    "training": "model.fit(np.ones((8, 5)), np.ones((8, 2)), verbose=0)",
    "targets": "model.fit(np.ones((8, 3)), np.ones((8, 5)), verbose=0)",
    "prediction": "model.predict(np.ones((8, 5)), verbose=0)",
    "weights": "model.set_weights([np.ones(3)])",
    "symbols": "dense(tf.keras.Input((3,))) + tf.keras.Input((5,))",
    "a kernel's gradient": "tf.grad(total)(np.ones((2, 2)))",
    "a kernel's arguments": "tf.grad(total, 5)(np.ones(3))",
    "a kernel's Jacobian": "tf.jacobian(total)(x, x)",
    "a tangent": "tf.autodiff.ForwardAccumulator(x, tf.ones(4))",
    "a batch": "list(tf.data.Dataset.from_tensor_slices(x).batch(2).map(lambda y: y @ y))",
}
INSIDE = {
    "a function": "tf.function(lambda x: x @ x)(x)",
    "a function's arguments": "tf.function(lambda x: x)(x, x)",
    "a nested function": "tf.function(lambda y: tf.function(lambda z: z @ z)(y))(x)",
    "a loop": "tf.map_fn(lambda row: row @ row, x)",
    "a condition": "tf.cond(True, lambda: x @ x, lambda: x)",
    "a data set's function": "list(tf.data.Dataset.from_tensor_slices(x).map(lambda y: y @ y))",
    "a model's function": "tf.function(lambda x: model(tf.ones((2, 5))))(x)",
    "a kernel in a function": "tf.function(lambda x: total(x, x))(x)",
    "an assign in a function": "tf.function(lambda x: v.assign(tf.ones(4)))(x)",
    "a loop of tensors": "tf.function(lambda x: tf.scan(lambda a, b: a @ b, x))(x)",
    "slices": "tf.function(lambda x: tf.vectorized_map(lambda y: y @ y, x))(x)",
    "recorded again": "tf.recompute_grad(lambda x: x @ x)(x)",
}


@pytest.fixture(scope="module")
def shell():
    interactive = pytest.importorskip("IPython.core.interactiveshell")
    shell = interactive.InteractiveShell()
    shell.colors = "NoColor"
    shell.run_cell(
        "import numpy as np\nimport numtape as tf\n"
        "x, v = tf.ones((2, 3)), tf.Variable(tf.ones((2, 3)))\n"
        "dense = tf.keras.layers.Dense(2)\n_ = dense(x)\n"
        "model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])\n"
        "model.compile('sgd', 'mse')\n"
        "@tf.kernel\ndef total(x):\n    s = 0.0\n    for i in range(len(x)):\n"
        "        s += x[i] ** 2\n    return s\n"
    )
    yield shell
    shell.history_manager.end_session()


def shown(shell, capsys, code):
    """The lines that IPython shows for a cell that raises."""
    capsys.readouterr()
    shell.run_cell(f"before = 1\nresult = {code}\nafter = 2\n")
    out, err = capsys.readouterr()
    return (out + err).rstrip("\n").split("\n")


@pytest.mark.parametrize(
    ("code", "most"),
    [*((code, 25) for code in SHAPES.values()), *((code, 40) for code in INSIDE.values())],
    ids=[*SHAPES, *INSIDE],
)
def test_lines_in_ipython(shell, capsys, code, most):
    lines = shown(shell, capsys, code)
    text = "\n".join(lines)
    assert len(lines) <= most, text
    assert "Error" in text
    assert "numtape/" not in text.replace("\\", "/")
    assert f"result = {code}" in text


def test_what_numba_refuses_is_said_in_its_words_once(shell, capsys):
    for code in ("total(x)", "total(np.ones((2, 2)))"):
        text = "\n".join(shown(shell, capsys, code))
        assert text.count("Failed in nopython mode pipeline") == 1, text
        assert "numba/" not in text.replace("\\", "/")
        assert "numtape/" not in text.replace("\\", "/")


def test_lines_in_ipython_with_all_frames(shell, capsys):
    traceback_filter.enable(False)
    assert "numtape/core" in "\n".join(shown(shell, capsys, "tf.matmul(x, x)")).replace("\\", "/")


def test_filtering_is_switched(tf):
    def bad():
        tf.matmul(tf.ones((2, 3)), tf.ones((2, 3)))

    assert tf.debugging.is_traceback_filtering_enabled()
    assert inner(raised(bad)) == []
    tf.debugging.disable_traceback_filtering()
    assert not tf.debugging.is_traceback_filtering_enabled()
    assert "numtape.core.ops.matrix_products" in inner(raised(bad))
    tf.debugging.enable_traceback_filtering()
    assert inner(raised(bad)) == []


def test_frames_of_the_program_stay(tf):
    def row(x):
        return x @ x

    def whole(x):
        return tf.map_fn(row, x)

    def names(call):
        return [f.f_code.co_name for f, _ in traceback.walk_tb(raised(call).__traceback__)]

    x = tf.ones((2, 3))
    assert names(lambda: whole(x))[1:] == ["<lambda>", "whole", "row"]
    assert names(lambda: tf.function(whole)(x))[1:] == ["<lambda>", "whole", "row"]

    def library(x):  # frames of a library that the program uses are shown
        return np.linalg.inv(np.zeros((2, 2)))

    found = names(lambda: tf.map_fn(library, x))
    assert found[1:3] == ["<lambda>", "library"]
    assert len(found) > 3


def test_errors_that_came_of_others(tf):
    def caught():
        try:
            {}["the program's own"]
        except KeyError:
            tf.reshape(tf.ones(3), (2, 2))

    error = raised(caught)
    assert isinstance(error.__context__, KeyError)
    assert not error.__suppress_context__
    assert inner(error) == []

    # numtape converts NumPy's error to its own, so NumPy's frames do not belong to the program.
    error = raised(lambda: tf.ones((2, 3)) + tf.ones(4))
    assert error.__context__ is None or error.__suppress_context__
    text = "".join(traceback.format_exception(error))
    assert text.count("Traceback") == 1

    def explained():
        try:
            tf.matmul(tf.ones((2, 3)), tf.ones((2, 3)))
        except tf.errors.InvalidArgumentError as error:
            raise ValueError("the program's") from error

    error = raised(explained)
    assert isinstance(error.__cause__, tf.errors.InvalidArgumentError)
    assert inner(error) == []


# The handler at the end of a function.


def everything(x, *, y=2, **more):
    for k in range(3):
        try:
            if x == "key":
                {}[k]
            z = [1 / (x + n) for n in (0, y)]
        except KeyError as error:
            raise ValueError(k) from error
        finally:
            y += 1
    return z, y, lambda: (x, more)


def counted(x):
    total = yield x
    try:
        yield 1 / total
    finally:
        yield "end"


def copied(function):
    return types.FunctionType(
        function.__code__,
        {**globals(), "__name__": "numtape.copied"},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )


def test_a_guarded_function_does_what_it_did():
    function = copied(everything)
    function.__kwdefaults__ = everything.__kwdefaults__
    traceback_filter.guard([function])
    assert function.__code__ != everything.__code__
    result, y, inside = function(4, a=1)
    assert (result, y, inside()) == ([1 / 4, 1 / 8], 5, (4, {"a": 1}))
    assert frames(raised(lambda: function(0)))[1:] == [__name__]
    error = raised(lambda: function("key"))
    assert str(error) == "0" and isinstance(error.__cause__, KeyError)
    assert frames(error) == [__name__] * 2
    assert sys.exception() is None
    # Lines and instructions can still be read, by debuggers and coverage.
    list(function.__code__.co_lines())
    list(function.__code__.co_positions())
    list(dis.get_instructions(function.__code__))


def test_a_guarded_generator_does_what_it_did():
    make = copied(counted)
    traceback_filter.guard([make])
    one = make(1)
    assert [next(one), one.send(2), next(one), *one] == [1, 0.5, "end"]
    one = make(1)
    next(one)
    assert one.send(0) == "end"
    assert frames(raised(lambda: next(one)))[1:] == [__name__]
    closed = make(1)
    next(closed)
    closed.close()
    assert sys.exception() is None


def test_calls_that_go_well_run_what_they_ran():
    """The handler follows all original instructions; only the exception table refers to it."""
    function = copied(everything)
    before = function.__code__
    traceback_filter.guard([function])
    after = function.__code__
    assert after.co_code[: len(before.co_code)] == before.co_code
    assert after.co_consts[:-1] == before.co_consts
    again = function.__code__
    traceback_filter.guard([function])
    assert function.__code__ is again
    jumps = [step.argval for step in dis.get_instructions(before) if step.is_jump_target]
    assert all(place < len(before.co_code) for place in jumps if isinstance(place, int))


def public_functions():
    """All public functions, by their full names, and methods of public classes."""
    for name in (
        "",
        ".math",
        ".nn",
        ".linalg",
        ".random",
        ".signal",
        ".debugging",
        ".keras.losses",
        ".keras.layers",
        ".keras.optimizers",
        ".image",
        ".nest",
        ".autodiff",
    ):
        module = numtape
        for part in filter(None, name.split(".")):
            module = getattr(module, part)
        for public in module.__all__:
            value = getattr(module, public)
            if inspect.isfunction(value):
                yield f"tf{name}.{public}", value
            elif inspect.isclass(value) and value.__module__.startswith("numtape."):
                for method, function in vars(value).items():
                    if inspect.isfunction(function) and not method.startswith("_"):
                        yield f"tf{name}.{public}.{method}", function


def test_every_public_function_is_guarded():
    missing = [
        name
        for name, function in public_functions()
        if function.__code__.co_consts[-1:] != (traceback_filter.filter_current,)
    ]
    assert missing == []


def test_public_functions_are_what_they_were():
    assert pickle.loads(pickle.dumps(numtape.matmul)) is numtape.matmul
    assert [*inspect.signature(numtape.reshape).parameters][:2] == ["tensor", "shape"]
    assert re.search("Matrix|product", numtape.matmul.__doc__)


def test_deep_recursion_ends_with_its_error(tf):
    def deeper(x):
        return tf.map_fn(deeper, x[None])

    assert isinstance(raised(lambda: deeper(tf.ones(1))), RecursionError)
