"""Kernels along rows and columns, compiled for an H200: registers, loads and stores."""

import importlib
import re
from collections import Counter

import pytest
from cuda_compilation import CAPABILITY, MARKS, REGISTERS, kernels_of, report

from numtape.core.cuda import fusion
from numtape.core.cuda.ops import axes, row_tiling

pytestmark = MARKS


__all__ = ["pytestmark"]  # the same marks: skipped without the CUDA compiler

OPERANDS = {
    "softmax": 1,
    "log_softmax": 1,
    "normalize": 1,
    "softmax_grad": 2,
    "log_softmax_grad": 2,
    "normalize_grad": 2,
}


def memory(make, dtypes):
    """The counts of a kernel's memory instructions, by suffix."""
    compiler = importlib.import_module("numtape.core.cuda.runtime.compiler")
    text = compiler.ptx(make, dtypes, "kernel", CAPABILITY)
    return Counter(re.findall(r"\b(?:ld|st)\.(?!param)[\w.]+", text))


def program(dtype, n, loads, *parts):
    """The input of `fused`: parts as (op or expression, operands)."""
    steps, value = [], len(loads)
    for what, operands in parts:
        args = ", ".join("xyzw"[: len(operands)])
        body = f"def body({args}):\n    return ({dtype}({what}),)\n\n"
        op = what if what in OPERANDS else ""
        steps.append(fusion.FusedPart(op, "" if op else body, operands, (value,), 1e-5 * bool(op)))
        value += 1
    tiling = row_tiling.register_tiling(n, int(dtype[-2:]) // 8)
    stores = tuple(range(len(loads), value))
    return fusion.FusedProgram(dtype, tiling, loads, tuple(steps), stores)


def row_kernel(name, dtype, n):
    count = OPERANDS[name]
    made = program(dtype, n, ("each",) * count, (name, tuple(range(count))))
    return lambda: fusion.compile_kernel(made), fusion.parameters(made)


@pytest.fixture
def threads(monkeypatch):
    """The number of threads in a block."""
    monkeypatch.setattr(row_tiling, "threads", lambda: 256)
    monkeypatch.setattr(fusion, "threads", lambda: 256)


def test_threads_that_share_a_row(threads):
    """Parts of warps, warps, blocks; vector loads if every row is aligned."""
    tilings = {
        n: str(row_tiling.register_tiling(n, 4))
        for n in (1, 10, 12, 32, 128, 252, 512, 1000, 1023, 1024, 1028, 4096, 8192)
    }
    assert tilings == {
        1: "1x1x1",
        10: "16x1x1",
        12: "4x1x4",
        32: "8x1x4",
        128: "32x1x4",
        252: "32x2x4",
        512: "32x4x4",
        1000: "256x1x4",
        1023: "256x4x1",
        1024: "256x1x4",
        1028: "256x2x4",
        4096: "256x4x4",
        8192: "256x8x4",
    }
    assert str(row_tiling.register_tiling(4096, 8)) == "256x4x4"
    assert row_tiling.register_tiling(8196, 4) is None
    assert row_tiling.register_tiling(4100, 8) is None


@pytest.mark.parametrize("name", OPERANDS)
def test_rows_of_4096_stay_in_registers(threads, name):
    """Each element is loaded and stored once, 16 bytes at a time; 4 blocks of 256 fit."""
    tiling = row_tiling.register_tiling(4096, 4)
    make, dtypes = row_kernel(name, "float32", 4096)
    found = report(make, dtypes, "kernel")
    assert (found["spilled"], found["stack"]) == (0, 0)
    # The gradient of log_softmax keeps the digits of tails: 3 blocks.
    assert found["registers"] <= (80 if name == "log_softmax_grad" else 64)
    moved = {key: n for key, n in memory(make(), dtypes).items() if "shared" not in key}
    loads = OPERANDS[name] * tiling.pieces
    assert moved == {"ld.global.v4.f32": loads, "st.global.v4.f32": tiling.pieces}


@pytest.mark.parametrize("name", OPERANDS)
@pytest.mark.parametrize(
    "dtype, n",
    [
        ("float32", 10),
        ("float32", 1024),
        ("float32", 8192),
        ("float32", 4095),
        ("float64", 512),
        ("float64", 4096),
        ("float64", 2047),
    ],
)
def test_rows_of_all_lengths_stay_in_registers(threads, name, dtype, n):
    make, dtypes = row_kernel(name, dtype, n)
    found = report(make, dtypes, "kernel")
    assert (found["spilled"], found["stack"]) == (0, 0)
    alone = name == "log_softmax_grad" and dtype == "float64" and n > 2048  # only one block fits
    assert found["registers"] <= (192 if alone else REGISTERS)


# Parts of warps, warps, blocks; with vectors and without: (n, length), as (64, 64) of 64 elements.
LENGTHS = [(3, 3), (252, 252), (1023, 1023), (4096, 4096), (1 << 28, 1 << 17), (9999, 9999)]
TYPES = [
    ("sum", "float32", "float32"),
    ("max", "float64", "float64"),
    ("sum", "int64", "int32"),
    ("min", "uint8", "uint8"),
    ("max", "uint64", "uint64"),
    ("sum", "int32", "int32"),
]


def along_kernel(kind, name, dtype, given, how):
    make = kernels_of("along")[kind]
    scalars = ["int64"] * (4 if kind == "rows" else 7)
    return lambda: make(name, dtype, str(how)), [*scalars, f"*{given}", f"*{dtype}"]


def checked(make, dtypes, most):
    found = report(make, dtypes, "kernel")
    assert (found["spilled"], found["stack"]) == (0, 0)
    assert found["registers"] <= most


@pytest.mark.parametrize("name, dtype, given", TYPES)
@pytest.mark.parametrize("n, length", LENGTHS)
def test_sums_of_rows(threads, name, dtype, given, n, length):
    size = int(dtype.lstrip("uintfloa")) // 8
    tiling = row_tiling.loop_tiling(n, length, size, axes.HELD)
    checked(*along_kernel("rows", name, dtype, given, tiling), 64)


@pytest.mark.parametrize("name, dtype, given", TYPES)
@pytest.mark.parametrize("width", [1, 4])
def test_sums_of_columns(name, dtype, given, width):
    checked(*along_kernel("columns", name, dtype, given, width), 64)


def test_sums_load_much_at_a_time(threads):
    """float32 sums load 64 bytes before the first addition, along rows and columns."""
    tiling = row_tiling.loop_tiling(4096, 4096, 4, axes.HELD)
    for make, dtypes in (
        along_kernel("rows", "sum", "float32", "float32", tiling),
        along_kernel("columns", "sum", "float32", "float32", 4),
    ):
        compiler = importlib.import_module("numtape.core.cuda.runtime.compiler")
        text = compiler.ptx(make(), dtypes, "kernel", CAPABILITY)
        order = "".join(
            "L" if "ld" in found else "+"
            for found in re.findall(r"ld\.global\.v4\.f32|add\.rn\.f32", text)
        )
        assert "LLLL" + "+" * 16 in order


def test_axes_are_cut_by_shape_alone(threads, monkeypatch):
    monkeypatch.setattr(axes, "threads", lambda: 256)
    sizes = {
        (1, 1 << 28, 1): (2048, 1 << 17),
        (1 << 16, 1 << 12, 1): (1, 1 << 12),
        (1, 1 << 16, 1 << 12): (512, 128),
        (1, 100, 10): (3, 36),
        (1, 0, 1): (1, 0),
    }
    assert {key: axes.cut_of(key) for key in sizes} == sizes


@pytest.mark.parametrize(
    "name, dtype, size",
    [
        ("sum", "float32", 4),
        ("sum", "float64", 8),
        ("max", "uint8", 1),
        ("sum", "int64", 8),
    ],
)
@pytest.mark.parametrize("n, length", LENGTHS)
def test_running_sums_of_rows(threads, name, dtype, size, n, length):
    tiling = row_tiling.loop_tiling(n, length, size, axes.HELD if n % 4 == 0 else axes.SCANNED)
    make = kernels_of("scan")["rows"]
    checked(lambda: make(name, dtype, str(tiling)), ["int64"] * 6 + [f"*{dtype}"] * 3, 80)


def test_a_warp_scans_short_rows(threads):
    """Without block barriers: 252 steps of a path are two vectors per thread."""
    tiling = row_tiling.loop_tiling(252, 252, 4, axes.HELD)
    assert str(tiling) == "32x2x4"
    found = memory(
        kernels_of("scan")["rows"]("sum", "float32", str(tiling)), ["int64"] * 6 + ["*float32"] * 3
    )
    assert "ld.global.v4.f32" in found
    assert "st.global.v4.f32" in found
    assert not any("shared" in key for key in found)


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int64"])
def test_running_sums_of_columns(dtype):
    make = kernels_of("scan")["columns"]
    checked(lambda: make("max", dtype), ["int64"] * 7 + [f"*{dtype}"] * 3, 80)


@pytest.mark.parametrize("module", ["along", "scan"])
def test_every_kernel_along_an_axis_is_compiled_here(module):
    assert set(kernels_of(module)) == {"rows", "columns"}


def layer_norm(dtype, n):
    """A layer norm with its gradients, fused as in a plan."""
    return program(
        dtype,
        n,
        ("each", "each", "row", "row"),
        ("normalize", (0,)),
        ("x * y", (1, 2)),
        ("x * y + z", (4, 2, 3)),
        ("x * y", (1, 4)),
        ("normalize_grad", (0, 5)),
    )


def both(dtype, n):
    """A softmax and its gradient."""
    return program(dtype, n, ("each", "each"), ("softmax", (0,)), ("softmax_grad", (2, 1)))


@pytest.mark.parametrize(
    "make, dtype, n, most",
    [
        (both, "float32", 4096, 72),
        (both, "float32", 8192, 128),
        (both, "float64", 4096, 128),
        (layer_norm, "float32", 4096, 128),
        (layer_norm, "float32", 1024, 64),
        (layer_norm, "float32", 4095, 160),
        (layer_norm, "float64", 2048, 128),
    ],
)
def test_several_ops_on_a_row_stay_in_registers(threads, make, dtype, n, most):
    """Operands that several ops share are loaded once."""
    made = make(dtype, n)
    checked(lambda: fusion.compile_kernel(made), fusion.parameters(made), most)
    pieces = made.tiling.pieces * (2 if dtype == "float64" else 1)
    moved = memory(fusion.compile_kernel(made), fusion.parameters(made))
    found = {key[:9]: count for key, count in moved.items() if "shared" not in key}
    assert found == {"ld.global": len(made.loads) * pieces, "st.global": len(made.stores) * pieces}


def test_layer_norm_sums_its_gradients_in_registers(threads):
    """Two blocks of 256 threads fit, and nothing spills."""
    made = layer_norm("float32", 4096)
    normal, gradient = 7, 1  # whose sums are the gradients of gamma and beta
    made = made._replace(stores=(6, 8), sums=(gradient, normal))
    checked(lambda: fusion.compile_kernel(made), fusion.parameters(made), 128)
    moved = memory(fusion.compile_kernel(made), fusion.parameters(made))
    # Once per row, and once at the end.
    assert moved["st.global.v4.f32"] == made.tiling.pieces * 4
    assert "normalize_grad(" not in fusion.program_source(made)  # the normalized row is there


def test_every_op_on_rows_is_compiled_here():
    rows, arrays = (
        importlib.import_module(f"numtape.kernels.cuda.{name}") for name in ("rows", "arrays")
    )
    assert set(rows.FUNCTIONS_OF_ROWS) == {*OPERANDS, "normalized_grad"}
    assert set(OPERANDS) == set(fusion.ROW_OPS) == set(arrays.BY_ROW)


def test_warps_and_threads_are_those_of_kernels(threads):
    target, reduce = (
        importlib.import_module(f"numtape.kernels.cuda.{name}") for name in ("target", "reduce")
    )
    assert (row_tiling.warp(), row_tiling.threads()) == (target.WARP, reduce.THREADS)
