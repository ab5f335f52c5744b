"""Optional instrumentation of every recorded op: source lines, and checks for NaN and infinity.

A log appends each new tensor to its list of tensors. If instrumentation is enabled, that list is an
`InstrumentedList`, which notes the line of the program and may compute and check the value.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np

from ...errors import InvalidArgumentError
from .. import settings
from ..log.log import Log
from ..log.op import CODES, LEAF, READ
from ..values.intern_table import LOGS
from ..values.memory import Array
from ..values.spec import SPECS
from ..values.tensor import Tensor, of_array
from .reachability import operands

# These ops only move elements: an element that is not finite comes from another op.
MOVE_ONLY_OPS = {
    "ConcatV2",
    "ExpandDims",
    "Fill",
    "GatherV2",
    "Identity",
    "Maximum",
    "Minimum",
    "Pack",
    "Reshape",
    "Roll",
    "Slice",
    "SmallSlice",
    "Squeeze",
    "StopGradient",
    "StridedSlice",
    "Transpose",
    "CustomGradient",
    "BroadcastTo",
    "Tile",
    "Select",
    "SelectV2",
}


class InstrumentedList(list[Tensor]):
    """The tensors of a log. It notes the source line of each new tensor, and checks its value.

    Attributes:
      lines: The line of the program that recorded a row, by row.
      listener: Called with each new tensor and its line, if not None.
    """

    listener: ClassVar[Callable[[Tensor, str], None] | None] = None

    def __init__(self, tensors: Iterable[Tensor] = ()) -> None:
        super().__init__(tensors)
        self.lines: dict[int, str] = getattr(tensors, "lines", {})

    def append(self, tensor: Tensor) -> None:
        """Append a tensor and instrument it."""
        super().append(tensor)
        log: Any = tensor._home
        if settings.traceback:
            self.lines[tensor._row] = line = caller()
            if InstrumentedList.listener is not None:
                InstrumentedList.listener(tensor, line)
        if settings.checked and tensor._spec.is_float and log.has_values() and not log.busy:
            check_finite(log, tensor)


def caller() -> str:
    """Return the line of the program that called numtape."""
    frame: Any = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("numtape."):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def check_finite(log: Log, tensor: Tensor) -> None:
    """Raise InvalidArgumentError if a row has NaN or infinity that its op produced."""
    row = tensor._row
    code = log.code[row]
    if CODES.kind[code] in (LEAF, READ) or CODES.entries[code][0].name in MOVE_ONLY_OPS:
        return
    log.busy = True  # the rows must stay
    try:
        array: Array = np.asarray(tensor._array())
        if np.isfinite(array).all():
            return
        rows = [(x, SPECS.specs[log.spec[x]]) for x in operands(log, row)]
        inputs = [of_array(np.asarray(log.tensor(x, spec).numpy()), spec) for x, spec in rows]
    finally:
        log.busy = False
    op, _ = CODES.entries[code]
    counts = [("+NaN", np.isnan(array)), ("+Inf", array == np.inf), ("-Inf", array == -np.inf)]
    lines = [f"  # of {name} elements: {n}" for name, mask in counts if (n := int(mask.sum()))]
    if len(inputs) == 1:
        inputs_text = f"  Input tensor: {inputs[0]!s}"
    else:
        inputs_text = f"  Input tensors ({len(inputs)}):\n" + "\n".join(
            f"         {k}: {x!s}" for k, x in enumerate(inputs)
        )
    kinds = " and ".join(name for name, mask in counts if mask.any()).replace("+NaN", "NaN")
    raise InvalidArgumentError(
        f'\n\n!!! Detected Infinity or NaN in output 0 of eagerly-executing op "{op.name}" '
        f"(# of outputs: 1) !!!\n  dtype: {tensor.dtype!s}\n  shape: {tensor.shape}\n"
        + "\n".join(lines)
        + f"\n\n{inputs_text}\n\n : Tensor had {kinds} values"
    )


def configure(checked: bool | None = None, traceback: bool | None = None) -> None:
    """Enable or disable instrumentation; None leaves a setting unchanged."""
    settings.checked = settings.checked if checked is None else checked
    settings.traceback = settings.traceback if traceback is None else traceback
    settings.eager = settings.run_eagerly or settings.checked
    Log.new_list = InstrumentedList if settings.checked or settings.traceback else list
    for log in list(LOGS):
        if isinstance(log, Log) and log.has_values():
            log.tensors = Log.new_list(log.tensors)
