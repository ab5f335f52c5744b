"""Kernels for CUDA, compiled for an H200 where there is no GPU: registers, spills, stack."""

import importlib
import importlib.util
import random
import re

import pytest

from numtape.core.cuda.text import (
    LONGEST,
    WIDTH,
    Loop,
    Step,
    filled,
    folded,
    function,
    moved,
    parameters,
    taken,
    written,
)
from numtape.core.log.op import CODES, ELEMENTWISE
from numtape.core.values.dtypes import DTYPES
from numtape.core.values.spec import intern
from numtape.errors import OpError

FOUND = all(importlib.util.find_spec(name) for name in ("numba_cuda", "cuda"))
pytestmark = [
    pytest.mark.skipif(not FOUND, reason="pip install 'numtape[cuda]' to compile for CUDA"),
    pytest.mark.numtape_only(reason="TensorFlow compiles elsewhere"),
]

CAPABILITY = (9, 0)  # an H200's
REGISTERS = 128  # of a thread: two blocks of 256 threads run at once
# What libdevice does on the stack: arguments of sin, cos and tan beyond 105615.
SLOW_PATHS = "__internal_trig_reduction_slowpath"
STACK = 40  # bytes of it
BY_NAME = {dtype.name: dtype for dtype in DTYPES}


def report(make, dtypes, symbol):
    """What the assembler says of a kernel: registers, bytes of stack, bytes spilled."""
    compiler = importlib.import_module("numtape.core.cuda.runtime.compiler")
    code, said = compiler.linked(compiler.ptx(make(), dtypes, symbol, CAPABILITY), CAPABILITY)
    assert code[:4] == b"\x7fELF"
    found = dict.fromkeys(("registers", "stack", "spilled"), 0)
    found["registers"] = max(map(int, re.findall(r"Used (\d+) registers", said)))
    for name, stack, stores, loads in re.findall(
        r"Function properties for '?(\w+)'?\s*\n.*?(\d+) bytes stack frame, (\d+) bytes spill "
        r"stores, (\d+) bytes spill loads", said
    ):
        found["spilled"] += int(stores) + int(loads)
        if not name.startswith(SLOW_PATHS):
            found["stack"] = max(found["stack"], int(stack))
    return found


def check(make, dtypes, symbol, stack=0):
    found = report(make, dtypes, symbol)
    assert found["spilled"] == 0
    assert found["stack"] <= stack
    assert found["registers"] <= REGISTERS


ATTRIBUTES = {"Cast": {"dtype": BY_NAME["float32"]}, "BroadcastTo": {"shape": (2, 3)}}


def elementwise_ops():
    """Every elementwise op, with the dtypes that its rule takes."""
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
            except OpError:  # a dtype that it refuses
                continue
            yield op, tuple(operands), result


OPS = list(elementwise_ops())


@pytest.mark.parametrize(
    "op, operands, result", OPS, ids=[f"{op.name}-{x[0].dtype.name}" for op, x, _ in OPS]
)
def test_every_elementwise_op(op, operands, result):
    step = Step(op.body, tuple(range(op.arity)), tuple(x.dtype for x in operands), result.dtype)
    loop = Loop((2, 3), operands, (step,), (op.arity,), ())
    text = written(loop)
    check(lambda: function(text, []), parameters(loop), "kernel_of_an_op", STACK)


def test_no_elementwise_op_is_left_out():
    everything = {op.name for op in CODES.ops if op.kind == ELEMENTWISE}
    assert {op.name for op, *_ in OPS} == everything


def random_loop(seed):
    """Steps as in a program: of one shape, with broadcast operands and reductions."""
    draw = random.Random(seed)
    dtype = BY_NAME[draw.choice(["float32", "float32", "float64"])]
    shape = draw.choice([(1000,), (33, 31), (7, 5, 3), (1 << 28,)])
    shapes = [shape, shape, (), shape[-1:], (*shape[:-1], 1)]
    loads = tuple(intern(draw.choice(shapes), dtype) for _ in range(draw.randint(1, 5)))
    bodies = ["x + y", "x * y", "x - y", "x / y", "exp(x)", "tanh(x)", "sin(x)", "log1p(x)",
              "sqrt(x)", "erf(x)", "sigmoid(x)", "select(x > 0, x, y)", "power(x, y)", "-x",
              "x * x", "1.0 / x", "select(x < y, x, 2.0 * y)", "floor(x)"]  # fmt: skip
    steps, values = [], len(loads)
    for _ in range(draw.choice([2, 5, 12, LONGEST])):
        body = draw.choice(bodies)
        count = 2 if re.search(r"\by\b", body) else 1
        recent = range(max(0, values - 8), values)
        operands = tuple(draw.choice(recent) for _ in range(count))
        steps.append(Step(body, operands, (dtype,) * count, dtype))
        values += 1
    stores = tuple(sorted({values - 1, draw.randrange(len(loads), values)}))
    reductions = ((draw.choice(["sum", "max", "min"]), values - 1),) * draw.randrange(2)
    return Loop(shape, loads, tuple(steps), stores, reductions)


@pytest.mark.parametrize("seed", range(60))
def test_groups(seed):
    loop = random_loop(seed)
    text = written(loop)
    reduced = [(name, loop.dtype(value).name) for name, value in loop.reductions]
    check(lambda: function(text, reduced), parameters(loop), f"group_{seed}", STACK)


NUMBERS = ("float32", "float64", "int32", "int64", "uint8")
SHAPES = {"finish": ["int64"], "rows": ["int64"] * 3, "columns": ["int64"] * 4}


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("name", ["sum", "max", "min"])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_reductions(kind, name, dtype):
    reduce = importlib.import_module("numtape.kernels.cuda.reduce")
    check(
        lambda: reduce.KERNELS[kind](name, dtype), [*SHAPES[kind], f"*{dtype}", f"*{dtype}"],
        f"{kind}_{name}_{dtype}",
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
@pytest.mark.parametrize("into", [False, True])
def test_copies(dtype, into):
    text = moved((5, 7, 3), (1, -30, 5), 200, into)
    check(lambda: function(text, []), ["int64", f"*{dtype}", f"*{dtype}"], "move")


@pytest.mark.parametrize("value", ["0", "x[0]"])
def test_fillings(value):
    text = filled("float32", value)
    check(lambda: function(text, []), ["int64", "*float32", "*float32"], "fill")


MIRRORED = [(2, 2, -1), (4, 0, 1), (1, 2, -1)]  # 4 elements, padded by 2 and 1


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
def test_mirrors(dtype):
    pointers = ["int64", f"*{dtype}", f"*{dtype}"]
    text = taken([([(5, 0, 1)], 12), (MIRRORED, 3), ([(3, 0, 1)], 1)])
    check(lambda: function(text, []), pointers, "mirror")
    back = folded(MIRRORED, 4, 3, dtype)
    check(lambda: function(back, []), pointers, "fold")


def kernels_of(module):
    return importlib.import_module(f"numtape.kernels.cuda.{module}").KERNELS


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_means(dtype):
    pointers = [f"*{dtype}", "*int64"]  # an integer sum of what is shorter
    for kind in ("rows", "columns"):
        check(lambda kind=kind: kernels_of("reduce")[kind]("sum", "int64"),
              [*SHAPES[kind], *pointers], f"{kind}_sum")  # fmt: skip
    check(lambda: kernels_of("reduce")["mean"](dtype), ["int64", "int64", *pointers[::-1]], "mean")


def test_every_reduction_is_compiled_here():
    assert set(kernels_of("reduce")) == {*SHAPES, "mean"}


ALONG = {"rows": 2, "columns": 3}  # how many sizes there are


@pytest.mark.parametrize("kind", ALONG)
@pytest.mark.parametrize("dtype", NUMBERS)
def test_running_sums(kind, dtype):
    name = "max" if dtype == "uint8" else "sum"
    parameters = ["int64"] * (ALONG[kind] + 3) + [f"*{dtype}"] * 3
    check(lambda: kernels_of("scan")[kind](name, dtype), parameters, f"scan_{kind}")


@pytest.mark.parametrize("kind", ALONG)
@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_places_of_extreme_elements(kind, name, dtype):
    for out in ("int32", "int64"):
        parameters = ["int64"] * (ALONG[kind] + 2) + [f"*{dtype}", "*int64", f"*{out}"]
        check(lambda: kernels_of("extreme")[kind](name, dtype), parameters, f"arg_{kind}")


@pytest.mark.parametrize("module", ["scan", "extreme"])
def test_every_kernel_along_an_axis_is_compiled_here(module):
    assert set(kernels_of(module)) == set(ALONG)


SORTING = {"counts": (4, 2), "order": (4, 3), "begins": (2, 2)}  # parameters, and arrays of int64
ADDING = {
    "partials": (6, "index int64 int64 dtype dtype"),
    "sums": (6, "int64 int64 dtype dtype dtype"), "atomic": (4, "index dtype dtype"),
}  # fmt: skip


@pytest.mark.parametrize("name", SORTING)
@pytest.mark.parametrize("index", ["uint8", "int32", "int64"])
def test_sorting_of_indices(name, index):
    scalars, arrays = SORTING[name]
    parameters = ["int64"] * scalars + [f"*{index}"] + ["*int64"] * arrays
    check(kernels_of("scatter")[name], parameters, f"{name}_kernel")


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize(
    "name, dtype",
    [(name, dtype) for name in ADDING for dtype in NUMBERS if name != "atomic" or "float" in dtype],
)
def test_adding_by_index(name, dtype, index):
    scalars, arrays = ADDING[name]
    kinds = {"index": index, "dtype": dtype}
    parameters = ["int64"] * scalars + [f"*{kinds.get(kind, kind)}" for kind in arrays.split()]
    arguments = () if name == "atomic" else (dtype,)
    check(lambda: kernels_of("scatter")[name](*arguments), parameters, f"{name}_kernel")


def test_every_kernel_of_scatter_is_compiled_here():
    assert set(kernels_of("scatter")) == {*SORTING, *ADDING}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_atomics_are_one_instruction(dtype):
    compiler = importlib.import_module("numtape.core.cuda.runtime.compiler")
    parameters = ["int64"] * 4 + ["*int32", f"*{dtype}", f"*{dtype}"]
    text = compiler.ptx(kernels_of("scatter")["atomic"](), parameters, "atomic", CAPABILITY)
    assert set(re.findall(r"(?:red|atom)\.[\w.]+", text)) == {f"atom.global.add.f{dtype[-2:]}"}


ARRAYS = [
    *((name, (dtype,) * count)
      for name, count in (("softmax", 2), ("log_softmax", 2), ("softmax_grad", 3),
                          ("log_softmax_grad", 3), ("normalize", 2), ("normalize_grad", 3))
      for dtype in ("float32", "float64")),
    *((name, (dtype, dtype, index)) for name in ("gather", "pick", "place")
      for dtype in ("float32", "float64", "int64", "uint8") for index in ("int32", "int64")),
    *(("product", (dtype,) * 3) for dtype in NUMBERS),
    *(("contrast", (dtype,) * 4) for dtype in ("float32", "float64")),
]  # fmt: skip


@pytest.mark.parametrize("name, dtypes", ARRAYS, ids=lambda x: x if isinstance(x, str) else x[-1])
def test_whole_array_kernels(name, dtypes):
    arrays = importlib.import_module("numtape.kernels.cuda.arrays")
    scalars = {"normalize": ["int64", "float64"], "gather": ["int64"] * 4,
               "product": ["int64"] * 9, "contrast": ["int64"] * 2}  # fmt: skip
    found = scalars.get(name.removesuffix("_grad"), ["int64"])
    check(
        lambda: arrays.KERNELS[name](*dtypes), ["int64", *found, *(f"*{x}" for x in dtypes)],
        f"{name}_kernel",
    )  # fmt: skip


def test_every_whole_array_kernel_is_compiled_here():
    from numtape.core.cuda.ops import array

    arrays = importlib.import_module("numtape.kernels.cuda.arrays")
    assert set(arrays.KERNELS) == {name for name, _ in ARRAYS}
    assert tuple(arrays.BY_ROW) == array.BY_ROW
    assert tuple(arrays.BY_ELEMENT) == (*array.BY_ELEMENT, "product", "contrast")


@pytest.mark.parametrize("name", ["uniform", "normal"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_draws(name, dtype):
    random = importlib.import_module("numtape.kernels.cuda.random")
    assert set(random.KERNELS) == {"uniform", "normal"}
    check(
        lambda: random.KERNELS[name](dtype), ["int64", "uint64", "uint64", f"*{dtype}"],
        f"{name}_{dtype}",
    )  # fmt: skip


@pytest.mark.parametrize("name, width", [("float32", 4), ("float64", 2)])
def test_sixteen_bytes_are_loaded_at_a_time(name, width):
    compiler = importlib.import_module("numtape.core.cuda.runtime.compiler")
    spec = intern((64, 64), BY_NAME[name])
    loop = Loop((64, 64), (spec,), (Step("x * x", (0,), (spec.dtype,), spec.dtype),), (1,), ())
    text = compiler.ptx(function(written(loop), []), parameters(loop), "square", CAPABILITY)
    moved = set(re.findall(r"(?:ld|st)\.global\.(?:nc\.)?(\w+\.\w+|\w+)", text))
    assert moved == {f"v{width}.f{128 // width}"}


def test_sums_and_products_are_rounded_each():
    """Else a row would have other bits beside other rows, and guards would not hold."""
    compiler = importlib.import_module("numtape.core.cuda.runtime.compiler")
    spec = intern((64,), BY_NAME["float32"])
    kind = spec.dtype
    steps = Step("x * y", (0, 1), (kind, kind), kind), Step("x + y", (3, 2), (kind, kind), kind)
    loop = Loop((64,), (spec,) * 3, steps, (4,), ())
    text = compiler.ptx(function(written(loop), []), parameters(loop), "sum", CAPABILITY)
    assert "fma" not in text
    assert "mul.rn.f32" in text


def test_kernels_and_executor_agree_on_sizes():
    from numtape.core.cuda.runtime.driver import Driver

    reduce = importlib.import_module("numtape.kernels.cuda.reduce")
    target = importlib.import_module("numtape.kernels.cuda.target")
    assert (target.WIDTH, reduce.THREADS) == (WIDTH, Driver.threads)
