"""CUDA kernels, compiled for an H200 without a GPU: registers, spills, stack."""

import importlib
import importlib.util
import random
import re

import pytest
from cuda_compilation import CAPABILITY, MARKS, NUMBERS, check, in_turn_with, kernels_of

from numtape.core.cuda.codegen import (
    LONGEST,
    KernelLoop,
    KernelStep,
    fill_source,
    function,
    in_turn,
    loop_source,
    parameters,
    side_by_side,
)
from numtape.core.log.op import CODES, ELEMENTWISE
from numtape.core.values.dtypes import DTYPES
from numtape.core.values.spec import intern
from numtape.errors import OpError

pytestmark = MARKS

STACK = 40  # bytes of it
BY_NAME = {dtype.name: dtype for dtype in DTYPES}


ATTRIBUTES = {"Cast": {"dtype": BY_NAME["float32"]}, "BroadcastTo": {"shape": (2, 3)}}


def elementwise_ops():
    """Every elementwise op, with the dtypes that it supports."""
    for op in CODES.ops:
        if op.kind != ELEMENTWISE:
            continue
        for name in ("float32", "float64", "int32", "uint8", "bool"):
            spec = intern((2, 3), BY_NAME[name])
            operands = [spec] * op.arity
            if op.name == "SelectV2":
                operands[0] = intern((2, 3), BY_NAME["bool"])
            try:
                result = op.spec(op, *operands, **ATTRIBUTES.get(op.name, {}))
            except OpError:  # unsupported dtype
                continue
            if not result.wide:  # complex numbers are computed on the host
                yield op, tuple(operands), result


OPS = list(elementwise_ops())


def in_one_dtype():
    """Every op in its first dtype; its other dtypes are marked slow."""
    for op, operands, result in OPS:
        first = operands == next(found for other, found, _ in OPS if other is op)
        marks = [] if first else [pytest.mark.slow]
        name = f"{op.name}-{operands[0].dtype.name}"
        yield pytest.param(op, operands, result, marks=marks, id=name)


def after(count, values):
    """These values, all but the first marked slow."""
    return [
        x if k < count else pytest.param(x, marks=pytest.mark.slow) for k, x in enumerate(values)
    ]


@pytest.mark.parametrize("op, operands, result", list(in_one_dtype()))
def test_every_elementwise_op(op, operands, result):
    step = KernelStep(
        op.body, tuple(range(op.arity)), tuple(x.dtype for x in operands), result.dtype
    )
    loop = KernelLoop((2, 3), operands, (step,), (op.arity,), ())
    text = loop_source(loop)
    check(lambda: function(text, []), parameters(loop), "kernel_of_an_op", STACK)


def test_no_elementwise_op_is_left_out():
    everything = {op.name for op in CODES.ops if op.kind == ELEMENTWISE}
    complex_ops = {"Angle", "Complex", "Conj", "Imag", "Real"}
    assert {op.name for op, *_ in OPS} == everything - complex_ops


def random_loop(seed):
    """A loop as in a program: ops of one shape, with broadcast operands and reductions."""
    draw = random.Random(seed)
    dtype = BY_NAME[draw.choice(["float32", "float32", "float64"])]
    shape = draw.choice([(1000,), (33, 31), (7, 5, 3), (1 << 28,)])
    shapes = [shape, shape, (), shape[-1:], (*shape[:-1], 1)]
    loads = tuple(intern(draw.choice(shapes), dtype) for _ in range(draw.randint(1, 5)))
    bodies = [
        "x + y",
        "x * y",
        "x - y",
        "x / y",
        "exp(x)",
        "tanh(x)",
        "sin(x)",
        "log1p(x)",
        "sqrt(x)",
        "erf(x)",
        "sigmoid(x)",
        "select(x > 0, x, y)",
        "power(x, y)",
        "-x",
        "x * x",
        "1.0 / x",
        "select(x < y, x, 2.0 * y)",
        "floor(x)",
    ]
    steps, values = [], len(loads)
    for _ in range(draw.choice([2, 5, 12, LONGEST])):
        body = draw.choice(bodies)
        count = 2 if re.search(r"\by\b", body) else 1
        recent = range(max(0, values - 8), values)
        operands = tuple(draw.choice(recent) for _ in range(count))
        steps.append(KernelStep(body, operands, (dtype,) * count, dtype))
        values += 1
    stores = tuple(sorted({values - 1, draw.randrange(len(loads), values)}))
    reductions = ((draw.choice(["sum", "max", "min"]), values - 1),) * draw.randrange(2)
    return KernelLoop(shape, loads, tuple(steps), stores, reductions)


@pytest.mark.parametrize("seed", after(8, range(60)))
def test_groups(seed):
    loop = random_loop(seed)
    text = loop_source(loop)
    reduced = [(name, loop.dtype(value).name) for name, value in loop.reductions]
    check(lambda: function(text, reduced), parameters(loop), f"group_{seed}", STACK)


@pytest.mark.parametrize("dtype, name", in_turn_with(NUMBERS, ["sum", "max", "min"]))
def test_reductions(dtype, name):
    reduce = importlib.import_module("numtape.kernels.cuda.reduce")
    check(
        lambda: reduce.KERNELS["finish"](name, dtype),
        ["int64", f"*{dtype}", f"*{dtype}"],
        f"finish_{name}_{dtype}",
    )


@pytest.mark.parametrize("value", ["0", "x[0]"])
def test_fillings(value):
    text = fill_source("float32", value)
    check(lambda: function(text, []), ["int64", "*float32", "*float32"], "fill")


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_means(dtype):
    pointers = ["*int64", f"*{dtype}"]
    check(lambda: kernels_of("reduce")["mean"](dtype), ["int64", "int64", *pointers], "mean")


def test_every_reduction_is_compiled_here():
    assert set(kernels_of("reduce")) == {"finish", "mean"}


ALONG = {"rows": 2, "columns": 3}  # number of sizes


@pytest.mark.parametrize("kind", ALONG)
@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("dtype", after(1, NUMBERS))
def test_places_of_extreme_elements(kind, name, dtype):
    for out in ("int32", "int64"):
        parameters = ["int64"] * (ALONG[kind] + 2) + [f"*{dtype}", "*int64", f"*{out}"]
        check(lambda: kernels_of("extreme")[kind](name, dtype), parameters, f"arg_{kind}")


def test_every_kernel_that_looks_along_an_axis_is_compiled_here():
    assert set(kernels_of("extreme")) == set(ALONG)


ARRAYS = [
    *(
        (name, (dtype,) * count)
        for name, count in (
            ("softmax", 2),
            ("log_softmax", 2),
            ("softmax_grad", 3),
            ("log_softmax_grad", 3),
            ("normalize", 2),
            ("normalize_grad", 3),
        )
        for dtype in ("float32", "float64")
    ),
    *(("product", (dtype,) * 3) for dtype in NUMBERS),
    *(("contrast", (dtype,) * 4) for dtype in ("float32", "float64")),
]


@pytest.mark.parametrize("name, dtypes", ARRAYS, ids=lambda x: x if isinstance(x, str) else x[-1])
def test_whole_array_kernels(name, dtypes):
    arrays = importlib.import_module("numtape.kernels.cuda.arrays")
    scalars = {
        "normalize": ["int64", "float64"],
        "product": ["int64"] * 9,
        "contrast": ["int64"] * 2,
    }
    found = scalars.get(name.removesuffix("_grad"), ["int64"])
    check(
        lambda: arrays.KERNELS[name](*dtypes),
        ["int64", *found, *(f"*{x}" for x in dtypes)],
        f"{name}_kernel",
    )


def test_every_whole_array_kernel_is_compiled_here():
    from numtape.core.cuda import fusion

    arrays = importlib.import_module("numtape.kernels.cuda.arrays")
    assert set(arrays.KERNELS) == {name for name, _ in ARRAYS}
    assert tuple(arrays.BY_ROW) == fusion.ROW_OPS
    assert tuple(arrays.BY_ELEMENT) == ("product", "contrast")


@pytest.mark.parametrize("name", ["uniform", "normal"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_draws(name, dtype):
    random = importlib.import_module("numtape.kernels.cuda.random")
    assert set(random.KERNELS) == {"uniform", "normal"}
    check(
        lambda: random.KERNELS[name](dtype),
        ["int64", "uint64", "uint64", f"*{dtype}"],
        f"{name}_{dtype}",
    )


@pytest.mark.parametrize("name, width", [("float32", 4), ("float64", 2)])
def test_sixteen_bytes_are_loaded_at_a_time(name, width):
    compiler = importlib.import_module("numtape.core.cuda.runtime.compiler")
    spec = intern((64, 64), BY_NAME[name])
    loop = KernelLoop(
        (64, 64), (spec,), (KernelStep("x * x", (0,), (spec.dtype,), spec.dtype),), (1,), ()
    )
    text = compiler.ptx(function(loop_source(loop), []), parameters(loop), "square", CAPABILITY)
    moved = set(re.findall(r"(?:ld|st)\.global\.(?:nc\.)?(\w+\.\w+|\w+)", text))
    assert moved == {f"v{width}.f{128 // width}"}


def test_sums_and_products_are_rounded_each():
    """Fused multiply-adds would make bits depend on neighbouring rows, and guards fail."""
    compiler = importlib.import_module("numtape.core.cuda.runtime.compiler")
    spec = intern((64,), BY_NAME["float32"])
    kind = spec.dtype
    steps = (
        KernelStep("x * y", (0, 1), (kind, kind), kind),
        KernelStep("x + y", (3, 2), (kind, kind), kind),
    )
    loop = KernelLoop((64,), (spec,) * 3, steps, (4,), ())
    text = compiler.ptx(function(loop_source(loop), []), parameters(loop), "sum", CAPABILITY)
    assert "fma" not in text
    assert "mul.rn.f32" in text


@pytest.mark.parametrize("count", [2, 32])
def test_groups_side_by_side(count):
    """Updates of variables of several shapes, some with equal source, in one kernel."""
    loops = []
    for k in range(count):
        kind = BY_NAME["float64" if k % 3 == 2 else "float32"]
        spec, one = intern((k + 1, 7), kind), intern((), kind)
        bodies = ("x * y", (1, 4)), ("x - y", (0, 5)), ("sqrt(x)", (2,)), ("x / y", (6, 7))
        steps = tuple(
            KernelStep(body, of, (kind,) * len(of), kind) for body, of in bodies[: 2 + k % 3]
        )
        loops.append(
            KernelLoop((k + 1, 7), (spec, spec, spec, intern((7,), kind), one), steps, (6,), ())
        )
    text = side_by_side(
        [loop_source(loop) for loop in loops], [1 + k % 2 for k in range(count)], 256
    )
    dtypes = ["int64"] * count + [x for loop in loops for x in parameters(loop)[1:]]
    check(lambda: function(text, []), dtypes, "groups")


def test_launches_in_turn():
    """A group with a reduction, a group that reads its result, and its sum, in one kernel."""
    one, spec = intern((), BY_NAME["float32"]), intern((32, 64), BY_NAME["float32"])
    kind = spec.dtype
    step = KernelStep("tanh(x)", (0,), (kind,), kind)
    loops = [
        KernelLoop((32, 64), (spec,), (step,), (1,), (("sum", 1),)),
        KernelLoop(
            (32, 64), (spec, one), (step, KernelStep("x * y", (2, 1), (kind, kind), kind)), (3,), ()
        ),
    ]
    reduce = importlib.import_module("numtape.kernels.cuda.reduce")
    kernels = [
        function(loop_source(loops[0]), [("sum", "float32")]),
        function(loop_source(loops[1]), []),
    ]
    kernels.append(reduce.finish("sum", "float32"))
    text = in_turn([["n0"], ["n1"], ["n2"]], [["x", "y", "z"], ["y", "z", "u"], ["u", "v"]])
    text = text.replace("y, z, y, z, u, u, v", "y, z, u, v")
    dtypes = ["int64"] * 3 + ["*float32"] * 5
    check(lambda: function(text, [], kernels), dtypes, "chain")
    compiler = importlib.import_module("numtape.core.cuda.runtime.compiler")
    found = compiler.ptx(function(text, [], kernels), dtypes, "chain", CAPABILITY)
    assert ".nc." not in found  # a launch reads what the previous one wrote
