"""Functions applied to all slices at once, for `vectorized_map`, recorded in a separate log.

The input is a function and the slices' values, stacked along a first axis. The output is its
results, stacked in the same way. The function runs once, on slices without values. `batching` then
evaluates its rows for all slices in the log that was current before; rows that depend on no slice
are evaluated there once. If the function reads a value of a slice, or changes state, it cannot be
applied to all at once and `NotForAll` is raised. Start with `apply_to_slices`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ...errors import InvalidArgumentError
from ..log.as_tensor import as_tensor, from_owned_array
from ..log.log import LEAF_CODE, READ_CODE, VALUE, Log, local
from ..log.op import CODES
from ..log.record import record
from ..log.variable import Variable
from ..ops.joining import stack
from ..ops.random import draw as drawn_anew
from ..ops.rules import every
from ..values.memory import Array
from ..values.spec import SPECS, Spec
from ..values.tensor import Tensor
from .batching import Lanes, batch_rows, broadcast_to_lanes, dependent_rows
from .reachability import operands
from .transpose import placeholder

if TYPE_CHECKING:
    from ..ops.random import Draw
    from ..values.annotations import TensorLike


class NotForAll(BaseException):
    """A function cannot be applied to all slices at once. Programs must not catch it."""


class SliceLog(Log):
    """The log of a function that is applied to all slices.

    Attributes:
      outer: The log that was current before.
      count: The number of slices.
      lanes: Rows that vary from slice to slice, with their values in all of them.
      shared: Rows that do not vary, with their tensors in ``outer``.
      checks: Rows that must be true in all slices, with the message if they are not.
    """

    __slots__ = ("checks", "count", "is_closed", "lanes", "outer", "shared")

    nested = True

    def __init__(self, outer: Log, n: int) -> None:
        super().__init__(1024)
        self.outer = outer
        self.count = n
        self.lanes: dict[int, Lanes] = {}
        self.shared: dict[int, Tensor] = {}
        self.checks: list[tuple[int, str]] = []
        self.is_closed = False

    @contextmanager
    def outside(self) -> Iterator[Log]:
        """Record in the log that was current before."""
        try:
            local.log = self.outer
            yield self.outer
        finally:
            local.log = self

    def slice(self, values: Tensor, spec: Spec) -> Tensor:
        """Return a tensor that stands for one slice of ``values``."""
        self.reserve(1)
        tensor = placeholder(self, spec)
        self.lanes[tensor._row] = values
        return tensor

    def row_of(self, value: TensorLike, like: Spec | None, op: str) -> tuple[int, Spec]:
        """Return the row of any operand. Arrays and outer tensors are recorded in ``outer``."""
        if isinstance(value, np.ndarray):
            with self.outside():
                tensor = as_tensor(value, like, op)
        elif type(value) is Tensor and value._home is not self:
            tensor = value
        else:
            return super().row_of(value, like, op)
        entry = self._leaf_rows.get(id(tensor))
        if entry is None:
            self.reserve(1)
            entry = placeholder(self, tensor._spec)._row, tensor
            self.shared[entry[0]] = tensor
            self._leaf_rows[id(tensor)] = entry  # where gradients look for their sources
        return entry[0], tensor._spec

    def read(self, variable: Variable, value: Tensor, codes: tuple[int, int] | None = None) -> int:
        """Append a read of a variable, which is also read in ``outer``."""
        with self.outside() as outer:
            if codes is None:
                tensor = variable.read_value()
            else:
                tensor = outer.tensor(outer.read_unwatched(variable), value._spec)
        number = self.number(variable)
        code = READ_CODE if codes is None else codes[1]
        self.reserve(1)
        # atomic: see core.values.intern_table
        n = self.n
        self.code[n] = code
        self.b[n] = number
        self.spec[n] = tensor._spec.id
        self.n = n + 1
        # end atomic
        self.shared[n] = tensor
        return n

    def shared_tensor(self, row: int) -> Tensor:
        """Return the tensor in ``outer`` of a row that is the same for all slices."""
        tensor = self.shared.get(row)
        if tensor is not None:
            return tensor
        code = self.code[row]
        spec = SPECS.specs[self.spec[row]]
        if code == LEAF_CODE:
            if self.columns.state_view[row] != VALUE:
                raise AssertionError("a leaf without a value")
            tensor = from_owned_array(self.value(row, spec))
        else:
            op, attributes = CODES.entries[code]
            xs = [self.shared_tensor(x) for x in operands(self, row)]
            tensor = record(op, tuple(xs), **attributes)
        self.shared[row] = tensor
        return tensor

    def varies(self, row: int) -> bool:
        """Return whether a row varies from slice to slice."""
        return row in self.lanes or bool(dependent_rows(self, [row], self.lanes))

    def results(self, rows: Sequence[int]) -> list[Tensor]:
        """Record rows for all slices in ``outer``, which must be the current log."""
        rows = [*rows, *(row for row, _ in self.checks)]
        results = []
        for row, lane in zip(
            rows, batch_rows(self, rows, self.lanes, self.count, self.shared_tensor), strict=True
        ):
            if lane is None:
                lane = broadcast_to_lanes(self.shared_tensor(row), self.count)
            results.append(stack(lane) if isinstance(lane, list) else lane)
        last = len(rows) - len(self.checks)
        for holds, (_, message) in zip(results[last:], self.checks, strict=True):
            if not every(holds, lambda values: values, lambda rows: rows, message):
                raise InvalidArgumentError(message)
        return results[:last]

    def close(self) -> None:
        """Release outer tensors, because tensors of the function may live on and keep this log."""
        self.is_closed = True
        self.tensors = []
        self.lanes, self.shared, self._leaf_rows = {}, {}, {}

    # Methods of LogInterface.

    def evaluate_row(self, tensor: Tensor) -> Any:
        """Return the value of a row that is the same for all slices."""
        if self.is_closed:
            raise RuntimeError(
                "A tensor of a function that vectorized_map called is used after its end."
            )
        if self.varies(tensor._row):
            raise NotForAll("it reads a value of a slice")
        with self.outside():
            return self.shared_tensor(tensor._row)._array()

    def holds_for_all(
        self,
        x: Tensor,
        on_array: Callable[[Any], Any],
        on_tensor: Callable[[Any], Tensor],
        message: str,
    ) -> bool:
        """Check a condition for all elements. For slices, the check is deferred."""
        row = self.row_of(x, None, "Check")[0]
        if self.varies(row):
            self.checks.append((on_tensor(x)._row, message))
            return True
        with self.outside():
            return every(self.shared_tensor(row), on_array, on_tensor, message)

    def draw(self, draw: Draw) -> Tensor:
        """Draw different random numbers for each slice."""
        with self.outside():
            draws = [
                drawn_anew(draw.name, draw.spec, draw.seed, *draw.parameters)
                for _ in range(self.count)
            ]
            values = stack(draws)
        return self.slice(values, draws[0]._spec)

    def current_value(self, variable: Variable) -> Tensor:
        """Return a variable's current value, as in ``outer``."""
        with self.outside() as outer:
            return outer.current_value(variable)

    def convert_input(self, value: object, array: Array) -> Any:
        """Convert an array as in ``outer``."""
        with self.outside() as outer:
            return outer.convert_input(value, array)

    def on_default_copied(self, array: Array) -> None:
        """Forward to ``outer``."""
        self.outer.on_default_copied(array)

    def on_container_created(self, container: object) -> None:
        """Forward to ``outer``."""
        self.outer.on_container_created(container)

    def on_container_copied(self, container: object, original: object) -> None:
        """Forward to ``outer``."""
        self.outer.on_container_copied(container, original)

    def on_variable_created(self, variable: Variable) -> NoReturn:
        """Refuse: each slice needs a new variable."""
        raise NotForAll("it makes a variable")

    def assign(self, variables: Sequence[Variable], values: Sequence[Tensor]) -> NoReturn:
        """Refuse: slices must assign one after the other."""
        raise NotForAll("it assigns a variable")

    def on_seed_set(self) -> NoReturn:
        """Refuse: slices must draw one after the other."""
        raise NotForAll("it sets the random seed")

    def refuse(self, reason: str) -> NoReturn:
        """Refuse: the function must be called once for each slice."""
        raise NotForAll(reason)

    def _is_followed_outside(self) -> bool:
        """Return whether a tape outside may follow the recorded rows."""
        return type(self.outer) is not Log or self.outer.is_recorded()

    def is_recorded(self) -> bool:
        """Return whether a tape records, here or outside."""
        return self._is_followed_outside() or super().is_recorded()

    def segment(self, *_: object) -> Any:
        """Refuse custom gradients inside a tape, which could not tell the slices apart."""
        if self._is_followed_outside():
            raise NotForAll("it calls a function that has a custom gradient, inside a tape")
        return None

    def collect(self) -> bool:
        """Return False: rows keep their numbers."""
        return False

    def complete(self) -> None:
        """Do nothing: rows have no values."""


def apply_to_slices(
    function: Callable[[list[Tensor]], list[Any]], values: list[Tensor], specs: list[Spec], n: int
) -> list[Tensor]:
    """Apply a function of one slice to all slices.

    Args:
      function: Takes a tensor for each of ``values``, returns a list of results.
      values: The slices, along the first axis.
      specs: The specs of one slice of each value.
      n: The number of slices, at least 1.

    Returns:
      The results, stacked along a first axis.

    Raises:
      NotForAll: If the function must be called for each slice.
    """
    outer = local.log
    log = SliceLog(outer, n)
    try:
        try:
            local.log = log
            xs = [log.slice(x, spec) for x, spec in zip(values, specs, strict=True)]
            rows = [log.row_of(x, None, "vectorized_map")[0] for x in function(xs)]
        finally:
            local.log = outer
        return log.results(rows)
    finally:
        log.close()
