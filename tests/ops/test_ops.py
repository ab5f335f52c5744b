"""Every op compared with NumPy on every executor: the tests of the rows of `op_cases.py`."""

import re
from functools import partial, reduce
from pathlib import Path

import mpmath
import numpy as np
import pytest
from devices import SIMULATED
from op_cases import CASES, MAKERS, MISSING, ON_GPU, STOP
from op_draws import arity, draw, largest, ops_of, smooth, special, variants


def rows(cases, dtypes=None, where=lambda case, dtype: True):
    """Parametrize a test by case and dtype, without pairs for which it would check nothing."""
    pairs = [
        (case, dtype)
        for case in cases
        for dtype in case.dtypes
        if dtype in (dtypes or dtype) and where(case, dtype)
    ]
    names = [f"{case.name}-{dtype}" for case, dtype in pairs]
    return pytest.mark.parametrize(("case", "dtype"), pairs, ids=names)


def cases(chosen):
    return pytest.mark.parametrize("case", chosen, ids=[case.name for case in chosen])


# --- Operands ------------------------------------------------------------------------------------


# --- Comparing -----------------------------------------------------------------------------------


def expected(case, operands, options):
    """The result of the row's reference, in higher precision than the dtype if possible."""
    if case.ulp:
        wide = np.longdouble if case.elementwise else np.float64
        operands = [x.astype(wide) if x.dtype.kind == "f" else x for x in operands]
    with np.errstate(all="ignore"):
        return case.reference(*operands, **options)


def spacing(size):
    """A unit in the last place; `np.spacing` of the largest number would be infinite."""
    return np.spacing(np.minimum(size, np.finfo(size.dtype).max / 2))


def check(actual, exact, dtype, ulp, elementwise=True):
    """Assert that a tensor is within the given ulp of the exact value."""
    value, exact = actual.numpy(), np.asarray(exact)
    assert actual.shape == exact.shape
    if exact.dtype.kind != "f":
        assert value.dtype == exact.dtype
        np.testing.assert_array_equal(value, exact)
        return
    with np.errstate(over="ignore", under="ignore"):
        rounded = exact.astype(dtype if ulp and np.dtype(dtype).kind == "f" else exact.dtype)
    assert value.dtype == rounded.dtype
    if ulp == 0:
        np.testing.assert_array_equal(value, rounded)
        number = ~np.isnan(rounded)
        np.testing.assert_array_equal(np.signbit(value)[number], np.signbit(rounded)[number])
        return
    finite = np.isfinite(rounded)
    np.testing.assert_array_equal(value[~finite], rounded[~finite])
    if finite.any():
        size = np.abs(rounded[finite])
        unit = spacing(size if elementwise else size.max())
        error = np.abs(value[finite] - exact[finite]) / unit
        worst = error.argmax()
        assert error[worst] <= ulp, (
            f"{error[worst]:.3g} units in the last place at element {worst}: "
            f"{value[finite].flat[worst]!r}, exact {exact[finite].flat[worst]!r}"
        )


def allowed(case, device):
    """The error that a device may have, in units in the last place."""
    return max(case.ulp, ON_GPU.get(case.name, 0.0)) if device == "cuda" else case.ulp


COARSE = 64  # ulp that TensorFlow may be off where numtape's bound is one


def compare(tf, case, operands, options, dtype, device, view=np.asarray):
    """Assert that the values are correct. Returns their number."""
    given = map(view, operands)
    found = case.function(tf)(*(map(tf.constant, given) if case.tensors else given), **options)
    wanted = expected(case, operands, options)
    if not isinstance(wanted, list):
        found, wanted = [found], [wanted]
    for actual, exact in zip(found, wanted, strict=True):
        units = allowed(case, device)
        units = units if tf.__name__ == "numtape" or not units else max(units, COARSE)
        check(actual, exact, dtype, units, case.elementwise)
    return sum(np.size(exact) for exact in wanted)


def describe(operands, options):
    shapes = ", ".join(str(x.shape) for x in operands)
    return f"operands of shape {shapes}, options {options}"


# --- Values --------------------------------------------------------------------------------------


@rows(CASES)
def test_value(tf, device, case, dtype):
    compared = 0
    for shapes, options in variants(case):
        operands = draw(case, shapes, dtype)
        try:
            compared += compare(tf, case, operands, options, dtype, device)
        except Exception as error:
            error.add_note(describe(operands, options))
            raise
    assert compared > 0


@pytest.mark.tf_differs(reason="its kernels leave out the smallest numbers and the sign of a zero")
@rows(CASES, where=special)
def test_value_at_special_points(tf, device, case, dtype):
    for operands, options in special(case, dtype):
        assert compare(tf, case, operands, options, dtype, device) > 0


@pytest.mark.tf_differs(reason="how exact numtape is")
@cases([case for case in CASES if case.exact])
def test_value_is_exact(tf, device, case):
    """Compared with mpmath in the row's range, and at numbers of every magnitude."""
    # Far out mpmath's erfc exceeds its exponent range; the value there is 0 or 2.
    far = 1000 if case.exact == "erfc" else np.inf

    def truth(*numbers):
        numbers = [mpmath.mpf(min(max(float(x), -far), far)) for x in numbers]
        found = getattr(mpmath.mp, case.exact)(*numbers)
        if isinstance(found, mpmath.mpc):
            return np.longdouble(np.nan)
        high = float(found)
        return np.longdouble(high) + (float(found - high) if np.isfinite(high) else 0)

    for dtype in case.dtypes:
        random, limit = np.random.default_rng(1), np.log10(np.finfo(dtype).max)
        sizes = 10 ** np.concatenate([random.uniform(-limit, limit, 60), random.uniform(-3, 3, 60)])
        anywhere = [
            (random.permutation(sizes) * random.choice([-1, 1], 120)).astype(dtype)
            for _ in case.ranges
        ]
        operands = [
            np.concatenate(pair)
            for pair in zip(
                anywhere, draw(case, ((60,),) * arity(case), dtype, seed=1), strict=True
            )
        ]
        with mpmath.workprec(120):
            exact = np.array([truth(*numbers) for numbers in zip(*operands, strict=True)])
        check(case.function(tf)(*operands), exact, dtype, allowed(case, device))


BEYOND = [
    np.nan,
    np.inf,
    -np.inf,
    1e30,
    -1e30,
    -1.0,
    300.7,
    -300.7,
    3e9,
    5e9,
    1.9,
    -1.9,
    -0.5,
    255.9,
    256.0,
    127.9,
    128.0,
    -128.9,
    -129.0,
    2.0**31,
    -(2.0**31),
    2.0**63,
    -(2.0**63),
    2.0**64,
    65535.5,
    -0.0,
    1e-40,
]


@pytest.mark.numtape_only(reason="in TensorFlow, what is beyond the range depends on the place")
@pytest.mark.parametrize("source", ["float32", "float64"])
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_cast_beyond_the_range(tf, device, source, bits):
    """The nearest representable integer, and 0 for NaN: in vectors, scalars and conversions."""
    floats = np.array(BEYOND, source)
    for dtype in (f"int{bits}", f"uint{bits}"):
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        right = [
            0 if np.isnan(x) else most if x > most else least if x < least else int(x)
            for x in floats.tolist()
        ]
        right = np.array([min(max(x, least), most) for x in right], dtype)
        for times in (1, 2 if SIMULATED else 70):
            found = tf.cast(tf.constant(np.tile(floats, times)), dtype)
            np.testing.assert_array_equal(found, np.tile(right, times))
        for x, integer in zip(floats, right, strict=True):
            assert tf.cast(tf.constant(x), dtype).numpy() == integer
        np.testing.assert_array_equal(tf.constant(floats, dtype), right)
        np.testing.assert_array_equal(tf.zeros(len(floats), dtype) + floats, right)


STRIDED = {
    "every other": lambda x: np.repeat(x, 2, -1)[..., ::2] if x.ndim else x,
    "reversed": lambda x: x[..., ::-1].copy()[..., ::-1] if x.ndim else x,
    "transposed": lambda x: x.T.copy().T,
    "Fortran": lambda x: np.asarray(x, order="F"),
    "unaligned": lambda x: np.frombuffer(b"\0" + x.tobytes(), x.dtype, x.size, 1).reshape(x.shape),
    "swapped": lambda x: x.astype(x.dtype.newbyteorder()),
    "read-only": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
}


@rows(CASES, ["float64", "int32"])
def test_value_of_a_strided_array(tf, device, case, dtype):
    filled = [(shapes, options) for shapes, options in variants(case) if largest(shapes)]
    shapes, options = max(filled[:6], key=lambda variant: max(map(len, variant[0])))
    operands = draw(case, shapes, dtype)
    for view in STRIDED.values():
        assert compare(tf, case, operands, options, dtype, device, view) > 0


@rows(CASES, ["float64", "int64"])
def test_operands_stay_as_they_are(tf, device, case, dtype):
    for shapes, options in variants(case)[:6]:
        operands = draw(case, shapes, dtype)
        before, tensors = [x.copy() for x in operands], [tf.constant(x) for x in operands]
        for given in (operands, tensors):
            results = case.function(tf)(*given, **options)
            for result in results if isinstance(results, list) else [results]:
                result.numpy().fill(3)  # writing to a result changes no operand
            for x, kept in zip(given, before, strict=True):
                np.testing.assert_array_equal(x, kept)


@pytest.mark.skipif(SIMULATED, reason="what else is tested takes long enough")
@pytest.mark.numtape_only(reason="TensorFlow has no executors")
@rows(CASES)
def test_executors_agree(tf, executor, case, dtype):
    """The same bits as the reference, or within the sum of both error bounds."""
    compared = 0
    for shapes, options in variants(case):
        operands = draw(case, shapes, dtype, seed=2)
        found = []
        for device in ("reference", executor):
            with tf.config.override(device):
                results = tf.nest.flatten(case.function(tf)(*operands, **options))
                found.append([x.numpy() for x in results])
        for reference, other in zip(*found, strict=True):
            compared += reference.size
            if case.ulp == 0 or reference.dtype.kind != "f":
                np.testing.assert_array_equal(other, reference)
            elif reference.size:
                size = np.abs(reference) if case.elementwise else np.abs(reference).max()
                error = np.abs(other - reference) / spacing(size)
                apart = case.ulp + allowed(case, executor)
                assert error.max() <= apart, describe(operands, options)
    assert compared > 0


# --- Derivatives ---------------------------------------------------------------------------------


@pytest.mark.numtape_only(reason="checks numtape's rules")
@cases([case for case in CASES if case.order > 0])
def test_derivatives(tf, device, case):
    function, checked = case.function(tf), 0
    for shapes, options in smooth(case):
        if options.get("dtype", "float64") != "float64":  # too coarse for central differences
            continue
        operands = draw(case, shapes, "float64", seed=3)
        try:
            tf.testing.check_grads(partial(function, **options), operands, order=case.order)
            checked += largest(shapes)
        except Exception as error:
            error.add_note(describe(operands, options))
            raise
    assert checked > 0


@pytest.mark.numtape_only(reason="checks numtape's rules")
@cases([case for case in CASES if case.order == 2])
def test_third_derivatives(tf, device, case):
    """Ops that only rules record have their own rules; a square makes all orders nonzero."""
    filled = [(shapes, options) for shapes, options in smooth(case) if largest(shapes)]
    shapes, options = min(filled, key=lambda variant: largest(variant[0]))
    operands = draw(case, shapes, "float64", seed=5)

    def squares(*xs):
        return [tf.square(y) for y in tf.nest.flatten(case.function(tf)(*xs, **options))]

    tf.testing.check_grads(squares, operands, order=3)


def slopes(tf, case, operands, options):
    """The gradient of the results' sum with respect to each operand."""
    tensors = [tf.constant(x) for x in operands]
    watched = [x for x in tensors if x.dtype.is_floating]
    with tf.GradientTape() as tape:
        tape.watch(watched)
        results = case.function(tf)(*tensors, **options)
    found = tape.gradient(results, watched)
    return [None if g is None else tf.convert_to_tensor(g) for g in found]


@cases([case for case in CASES if case.order > 0])
def test_gradient_in_float32(tf, device, case):
    """Within float32 precision of the float64 gradient: 2e-5 of the largest element."""
    compared = 0
    for shapes, options in smooth(case):
        operands = draw(case, shapes, "float32", seed=4)
        wide = [x.astype("float64") if x.dtype == "float32" else x for x in operands]
        exact = slopes(tf, case, wide, options)
        for g, g64 in zip(slopes(tf, case, operands, options), exact, strict=True):
            assert (g is None) == (g64 is None)
            if g is not None:
                assert g.dtype == "float32"
                limit = 2e-5 * max(1.0, np.abs(g64).max(initial=0.0))
                np.testing.assert_allclose(g, g64, rtol=0, atol=limit)
                compared += g.numpy().size
    assert compared > 0


@cases([case for case in CASES if case.order in (STOP, MISSING) and "float32" in case.dtypes])
def test_no_gradient(tf, device, case):
    """None if no gradient flows; an error if no derivative is registered."""
    shapes, options = smooth(case)[0]
    operands = draw(case, shapes, "float32")
    if case.order == STOP:
        assert slopes(tf, case, operands, options) == [None] * len(operands)
    else:
        with pytest.raises(LookupError, match="gradient registry has no entry"):
            slopes(tf, case, operands, options)


# --- The table is complete
# --------------------------------------------------------------------------


@pytest.mark.numtape_only(reason="looks at numtape's table of ops")
def test_every_op_has_a_row(tf):
    from numtape.core.derive.custom import LINK, RESULT, UPSTREAM
    from numtape.core.log.op import CODES, LEAF, READ
    from numtape.core.ops.kernel import KERNEL, KERNEL_GRAD, PART
    from numtape.core.ops.stateless_random import NUMBERED
    from numtape.distribute import collectives

    # Those of test_custom_gradient.py, the draws of layers (test_layer_states.py), kernels
    # (test_kernel_tape.py), and collectives (test_ranks.py).
    others = {LINK, RESULT, UPSTREAM, NUMBERED, KERNEL, KERNEL_GRAD, PART}
    others |= {collectives.START, collectives.RESULT}
    reached = set().union(*(ops_of(tf, case) for case in CASES), others)
    ops = [op for op in CODES.ops if op.kind not in (LEAF, READ)]
    assert [op.name for op in ops if op not in reached] == []


@pytest.mark.numtape_only(reason="looks at numtape's table of ops")
def test_every_op_on_arrays_has_a_launch_or_is_left_to_the_host(tf):
    """`test_what_is_left_to_the_host` tests the same of each case, with --slow."""
    from numtape.core.cuda.ops.array import MAKERS as LAUNCHES
    from numtape.core.log.op import ARRAY, CODES, REDUCTION

    on_rows = {  # by the names of their kernels: `core.cuda.fusion.ROW_OPS`
        "LogSoftmax",
        "LogSoftmaxGrad",
        "Normalize",
        "NormalizeGrad",
        "Softmax",
        "SoftmaxGrad",
    }
    of_programs = {"CustomGradient", "Upstream"}
    ops = [op for op in CODES.ops if op.kind in (ARRAY, REDUCTION) and not op.on_host]
    known = LAUNCHES.keys() | on_rows | of_programs
    assert [op.name for op in ops if op.name not in known] == []


# They take or change programs: test_control_flow.py, test_custom_gradient.py, test_kernel.py.
OF_PROGRAMS = {
    "Assert",
    "case",
    "control_dependencies",
    "custom_gradient",
    "executing_eagerly",
    "foldl",
    "foldr",
    "get_static_value",
    "grad",
    "grad_pass_through",
    "gradients",
    "group",
    "init_scope",
    "inside_function",
    "is_symbolic_tensor",
    "jacobian",
    "kernel",
    "no_gradient",
    "no_op",
    "numpy_function",
    "print",
    "py_function",
    "recompute_grad",
    "switch_case",
    "timestamp",
    "tuple",
    "type_spec_from_value",
    "value_and_grad",
}


# Files that test functions without a row, from the folder `tests`.
FILES = (
    "api/test_control_flow.py",
    "ops/test_candidate_sampling.py",
    "ops/test_fractional_pooling.py",
    "ops/test_images.py",
    "ops/test_isotonic.py",
    "ops/test_random_stateless.py",
    "strings/test_strings.py",
)


@pytest.mark.numtape_only(reason="TensorFlow has more functions")
def test_every_public_function_has_a_row(tf):
    def function(case):
        *modules, name = case.name.split(".")
        module = reduce(lambda module, part: getattr(module, part, tf), modules, tf)
        return getattr(module, name, None)  # a layer is no function

    rows = [function(case) for case in CASES]
    folder = Path(__file__).parents[1]
    tested = {x for file in FILES for x in re.findall(r"\w+", (folder / file).read_text("utf-8"))}
    for module in (tf, tf.math, tf.math.special, tf.nn, tf.linalg, tf.image):
        public = {name: getattr(module, name) for name in module.__all__}
        missing = [
            name
            for name, value in public.items()
            if callable(value)
            and not isinstance(value, type)
            and name not in MAKERS | OF_PROGRAMS | tested
            and value not in rows
        ]
        assert missing == [], module.__name__
