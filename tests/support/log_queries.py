"""Queries of the log for tests: known values, and counts of sweeps and computations."""

import contextlib
import importlib

from numtape.core.compile import array_kernels
from numtape.core.compile.tables import CALLS
from numtape.core.log import evaluate
from numtape.core.log.log import VALUE, Log, local
from numtape.core.log.op import CODES


@contextlib.contextmanager
def fresh_log():
    """Use a new log in a ``with`` block."""
    before, local.log = local.log, Log()
    try:
        yield local.log
    finally:
        local.log = before


def computed(tensor):
    """Whether a tensor's value is known, without evaluating it."""
    tensor = getattr(tensor, "_value", tensor)
    home = tensor._home
    if not isinstance(home, Log):  # an array, on the host or on a GPU
        return True
    return home.columns.state[tensor._row] == VALUE


@contextlib.contextmanager
def sweeps():
    """The list to which each sweep appends its requested rows."""
    executor, asked = evaluate.executor(), []
    compute = executor.compute

    def counting(log, wanted, *rest):
        asked.append(list(wanted))
        return compute(log, wanted, *rest)

    executor.compute = counting
    try:
        yield asked
    finally:
        del executor.compute


@contextlib.contextmanager
def by_hand(name):
    """Compute the whole-array op `name` with NumPy, as if it had no kernel."""
    (op,) = (op for op in CODES.ops if op.name == name and op.compute)
    native, op.native = op.native, None
    _forget_kernels()
    try:
        with fresh_log():  # without cached plans
            yield op
    finally:
        op.native = native
        _forget_kernels()


def _forget_kernels():
    """Clear the caches of kernels for small and other rows."""
    array_kernels._calls.clear()
    CALLS.clear()


@contextlib.contextmanager
def computes(name):
    """The list to which each computation of the whole-array op `name` appends its shape."""
    with by_hand(name) as op:
        yield from _counted(op)


def _counted(op):
    compute, shapes = op.compute, []

    def counting(out, *inputs, **attributes):
        shapes.append(out.shape)
        compute(out, *inputs, **attributes)

    op.compute = counting
    try:
        yield shapes
    finally:
        op.compute = compute


def program_class(device):
    """The class of the repeated programs of a device's executor."""
    module = importlib.import_module(f"numtape.core.{device}.executor")
    return getattr(module, f"{device.capitalize()}Program")
