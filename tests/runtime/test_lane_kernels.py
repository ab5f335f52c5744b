"""Float lane kernels are generated without Numba, with the same bits as Numba's."""

import ast
import ctypes
import gc
import importlib

import numpy as np
import pytest

from numtape.core.compile import cache, lane_kernels
from numtape.core.log.op import ELEMENTWISE, Op
from numtape.core.values.dtypes import DTYPES

pytestmark = [pytest.mark.numtape_only("compiles kernels"), pytest.mark.cpu_only("of the CPU")]

KINDS = {dtype.name: dtype for dtype in DTYPES}
USUAL = ("AddV2", "Sin", "SelectV2", "Greater", "LogicalAnd")  # the others with --slow


def dtypes(op, kind):
    """The dtypes of operands and result of an op on elements of a kind."""
    if op.name == "SelectV2":
        return ("bool", kind, kind), kind
    root = ast.parse(op.body, mode="eval").body
    compared = isinstance(root, ast.Compare) or op.name.startswith("Is")
    return (kind,) * op.arity, "bool" if compared else kind


def ops():
    """The elementwise ops with an expression, by name."""
    known = (x for x in gc.get_objects() if isinstance(x, Op))
    found = {x.name: x for x in known if x.kind == ELEMENTWISE and x.body}
    return [found[name] for name in sorted(found)]


def called(address, operands, result):
    """The result of a lane kernel for arrays."""
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 5)(address)
    out = np.zeros(operands[0].size + 1, result)
    places = [x.ctypes.data for x in operands] + [0] * (3 - len(operands))
    function(out.ctypes.data, *places, operands[0].size)
    assert out[-1] == 0
    return out[:-1]


@pytest.mark.parametrize("kind", ["float32", "float64", "bool"])
@pytest.mark.parametrize(
    "op",
    [op if op.name in USUAL else pytest.param(op, marks=pytest.mark.slow) for op in ops()],
    ids=lambda op: op.name,
)
def test_same_bits_as_numbas(tf, op, kind, monkeypatch, tmp_path):
    monkeypatch.setenv("NUMTAPE_CACHE_DIR", str(tmp_path))
    fused = importlib.import_module("numtape.kernels.cpu.fused")
    operands, result = dtypes(op, kind)
    logic = not (set(op.body) - set("xyz&|^!= ()")) or op.name.startswith("Logical")
    fits = "1j" not in op.body and fused.fits(op.body, operands, result)
    if not fits or (kind == "bool") != (logic or op.name == "SelectV2"):
        pytest.skip("Numba makes it, or it does not exist")
    rng = np.random.default_rng(3)
    ends = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e30, -1e30, 2e6, 1e-40, 0.5]
    arrays = []
    for name in operands:
        values = np.concatenate([rng.normal(0, 5, 900), rng.permutation(ends), ends])
        arrays.append(values > 0 if name == "bool" else values.astype(name))
    names = [KINDS[name] for name in operands]
    step = fused.LoopStep(op.body, tuple(range(len(operands))), operands, result)
    own, numbas = (f"{name}_{op.name}_{kind}" for name in ("own", "numbas"))
    source = lane_kernels.lane_source(op.body, numbas, tuple(names), KINDS[result])

    def write(module):
        fused.write_kernel(module, own, step)

    addresses = (
        cache.load(own, own, lambda: lane_kernels.compile_written(own, write))[own],
        cache.load(numbas, numbas, lambda: lane_kernels._compile(numbas, source))[numbas],
    )
    for n in (1, 13, 924):
        some = [x[-n:].copy() for x in arrays]
        found = [called(address, some, result) for address in addresses]
        np.testing.assert_array_equal(*found)
        if result != "bool":
            sure = ~np.isnan(found[0])
            np.testing.assert_array_equal(*(np.signbit(x)[sure] for x in found))
