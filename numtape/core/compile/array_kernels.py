"""Jitted kernels of whole arrays, reductions and random draws, compiled on demand and cached."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..log.log import Log
from ..log.op import CODES, OpCode
from ..values import intern_table
from ..values.memory import Array, address_of
from ..values.spec import SPECS, Spec
from . import cache as disk
from .kernel_sources import kernel_source, transitive_imports
from .lane_kernels import VECTOR_SOURCES
from .tables import LANES

# Source files of the kernels, besides vector math.
_SOURCES = (
    "passes.tables",
    "passes.rows",
    "passes.layout",
    "cpu.broadcast",
    "cpu.groups",
    "cpu.blas",
    "cpu.reduce",
    "cpu.arrays",
    "cpu.random",
)

# Cached results by code and specs.
_calls: dict[tuple[Any, ...], ArrayCall | None] = intern_table.clearable_cache()


class ArrayCall(NamedTuple):
    """How to compute a row: kernel and parameters, at ``address`` (the plan keeps them alive).

    A kernel that is ``unsure`` may leave the row to Python.
    """

    kernel: int
    address: int
    units: int
    work: int
    parameters: Array
    unsure: bool
    part: int


def call_of(code: OpCode, out: Spec, operands: list[Spec]) -> ArrayCall | None:
    """Return the kernel call of a row; None if there is no kernel, so that NumPy computes it.

    The kernel of a variadic op takes the address of its operands' addresses as x.
    """
    key = (code, out, *operands)
    try:
        return _calls[key]
    except KeyError:
        pass
    op, attributes = CODES.entries[code.id]
    native = None
    wide = any(spec.wide for spec in (out, *operands))
    if op.native is not None and out.size and not wide:
        native = op.native(out, *operands, **attributes)
    call = None
    if native is not None:
        kernel = array_kernel(native.kernel, native.dtypes)
        parameters = np.array([*native.parameters, 0], np.int64)
        call = ArrayCall(
            kernel,
            address_of(parameters),
            native.units,
            native.work,
            parameters,
            native.unsure,
            native.part,
        )
    _calls[key] = call
    return call


@cache
def array_kernel(name: str, dtypes: tuple[str, ...]) -> int:
    """The address of a kernel of ``kernels.cpu.arrays``, or of the module before the dot."""
    module, _, name = name.rpartition(".")
    symbol = "_".join(["array", *filter(None, (module, name)), *dtypes])
    return _compile_kernel(symbol, module or "arrays", name, dtypes, 7)


@cache
def random_kernel(name: str, dtypes: tuple[str, ...]) -> int:
    """The address of a kernel of ``kernels.cpu.random``."""
    return _compile_kernel("_".join(["random", name, *dtypes]), "random", name, dtypes, 7)


def reduction_kernel(log: Log, row: int) -> None:
    """Compile the lane kernel of a reduction and enter it in the table."""
    op, attributes = CODES.entries[log.code[row]]
    spec, operand = SPECS.specs[log.spec[row]], SPECS.specs[log.spec[log.a[row]]]
    form = 0
    if spec.size != 1:
        form = 1 if max(attributes["axes"]) == len(operand.shape) - 1 else 2
    kernel = (runs_kernel, rows_kernel, columns_kernel)[form](op.body, spec.dtype.name)
    LANES.add(op.lane + form, spec.dtype.code, spec.dtype.code, kernel)


@cache
def runs_kernel(name: str, dtype: str) -> int:
    """The address of the lane kernel of a reduction to one element."""
    return _compile_kernel(f"runs_{name}_{dtype}", "reduce", name, (dtype,), 5, "runs")


@cache
def rows_kernel(name: str, dtype: str) -> int:
    """The address of the lane kernel of a reduction of rows."""
    return _compile_kernel(f"lane_rows_{name}_{dtype}", "reduce", name, (dtype,), 5, "lane_rows")


@cache
def columns_kernel(name: str, dtype: str) -> int:
    """The address of the lane kernel of a reduction of columns."""
    return _compile_kernel(
        f"lane_columns_{name}_{dtype}", "reduce", name, (dtype,), 5, "lane_columns"
    )


def _compile_kernel(
    symbol: str, module: str, name: str, dtypes: tuple[str, ...], count: int, form: str = ""
) -> int:
    more = () if f"cpu.{module}" in _SOURCES else transitive_imports(f"cpu.{module}")
    source = kernel_source(*VECTOR_SOURCES, *_SOURCES, *more)

    def build() -> disk.Built:
        from .numba_compiler import CompiledFunction, compile_unit

        kernels: Any = importlib.import_module(f"numtape.kernels.cpu.{module}")
        jit = importlib.import_module("numtape.kernels.jit")
        if form:
            function = getattr(kernels, form)(name, *dtypes)
        else:
            function = kernels.KERNELS[name](*dtypes)
        # Reductions are loops over memory, for which more optimization pays off.
        compile_function = jit.jit_loops if function.__module__.endswith(".reduce") else jit.jit
        built: disk.Built = compile_unit(
            symbol, [CompiledFunction(symbol, compile_function(function), [""] * count)]
        )
        return built

    return disk.load(symbol, source, build)[symbol]
