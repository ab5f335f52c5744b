"""Functions done for all slices at once: what `vectorized_map` calls records in a log of its own.

In comes a function and the slices' values, one behind the other; out go its results, likewise. The
function runs once, on slices that have no values. What it records is then done for all of them, by
`batching`, in the log that was current before; what depends on no slice is done there once.
Where the function needs a value of a slice, or changes something, it cannot be done for all at
once: that is `NotForAll`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from ...errors import InvalidArgumentError
from ..log.log import LEAF_CODE, READ_CODE, VALUE, Log, local
from ..log.op import CODES
from ..log.record import record
from ..log.tensors import as_tensor, from_owned_array
from ..log.variable import Variable
from ..ops.checks import every
from ..ops.joining import stack
from ..ops.random import drawn as drawn_anew
from ..values.memory import Array
from ..values.spec import SPECS, Spec
from ..values.tensor import Tensor
from .batching import Lanes, batch_rows, broadcast_to_lanes, dependent_rows
from .reach import operands
from .transpose import placeholder


class NotForAll(BaseException):
    """A function does what cannot be done for all slices at once. Not for programs to catch."""


class SliceLog(Log):
    """The log of a function that is done for all slices.

    Attributes:
      outer: The log that was current before.
      count: How many slices there are.
      lanes: Rows that differ from slice to slice, and their values in all of them.
      shared: Rows that do not, and what they are in ``outer``.
      checks: Rows that have to be true in all slices, and what is said where they are not.
    """

    __slots__ = ("checks", "count", "entered_tensors", "is_closed", "lanes", "outer", "shared")

    nested = True

    def __init__(self, outer: Log, n: int) -> None:
        super().__init__(1024)
        self.outer = outer
        self.count = n
        self.lanes: dict[int, Lanes] = {}
        self.shared: dict[int, Tensor] = {}
        self.entered_tensors: dict[int, tuple[int, Any]] = {}
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
        """A tensor that stands for one slice of ``values``."""
        self.reserve(1)
        tensor = placeholder(self, spec)
        self.lanes[tensor._row] = values
        return tensor

    def row_of(self, value: Any, like: Spec | None, op: str) -> tuple[int, Spec]:
        """The row of any operand; what is from outside is what it is there."""
        if isinstance(value, np.ndarray):
            with self.outside():
                tensor = as_tensor(value, like, op)
        elif type(value) is Tensor and value._home is not self:
            tensor = value
        else:
            return super().row_of(value, like, op)
        entry = self.entered_tensors.get(id(tensor))
        if entry is None:
            self.reserve(1)
            entry = placeholder(self, tensor._spec)._row, tensor
            self.shared[entry[0]] = tensor
            self.entered_tensors[id(tensor)] = entry
        return entry[0], tensor._spec

    def read(self, variable: Variable, value: Tensor, codes: tuple[int, int] | None = None) -> int:
        """Append a read of a variable, which is read outside as well."""
        with self.outside() as outer:
            if codes is None:
                tensor = variable.read_value()
            else:
                tensor = outer.tensor(outer.read_unwatched(variable), value._spec)
        number = self.number(variable)
        code = READ_CODE if codes is None else codes[1]
        self.reserve(1)
        # whole: nothing runs in between, see core.values.interning
        n = self.n
        self.code[n] = code
        self.b[n] = number
        self.spec[n] = tensor._spec.id
        self.n = n + 1
        # done
        self.shared[n] = tensor
        return n

    def shared_tensor(self, row: int) -> Tensor:
        """What a row that is the same for all slices is in the log outside."""
        tensor = self.shared.get(row)
        if tensor is not None:
            return tensor
        code = self.code[row]
        spec = SPECS.specs[self.spec[row]]
        if code == LEAF_CODE:
            if self.columns.state_view[row] != VALUE:
                raise AssertionError("a value that nobody gave")
            tensor = from_owned_array(self.value(row, spec))
        else:
            op, attributes = CODES.entries[code]
            xs = [self.shared_tensor(x) for x in operands(self, row)]
            tensor = record(op, tuple(xs), **attributes)
        self.shared[row] = tensor
        return tensor

    def varies(self, row: int) -> bool:
        """Whether a row differs from slice to slice."""
        return row in self.lanes or bool(dependent_rows(self, [row], self.lanes))

    def results(self, rows: Sequence[int]) -> list[Tensor]:
        """What rows are in all slices, recorded in the log outside, which is the current one."""
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
        """Let go of what is outside: tensors of the function may be kept, and have this log."""
        self.is_closed = True
        self.tensors = []
        self.lanes, self.shared, self.entered_tensors = {}, {}, {}

    # Hooks.

    def evaluate_row(self, tensor: Tensor) -> Any:
        """The value of a row, where it is the same for all slices."""
        if self.is_closed:
            raise RuntimeError(
                "A tensor of a function that vectorized_map called is used after its end."
            )
        if self.varies(tensor._row):
            raise NotForAll("it looks at a value of a slice")
        with self.outside():
            return self.shared_tensor(tensor._row)._array()

    def holds_for_all(
        self,
        x: Tensor,
        on_array: Callable[[Any], Any],
        on_tensor: Callable[[Any], Tensor],
        message: str,
    ) -> bool:
        """Whether a condition holds for all elements: of slices, this is found out later."""
        row = self.row_of(x, None, "Check")[0]
        if self.varies(row):
            self.checks.append((on_tensor(x)._row, message))
            return True
        with self.outside():
            return every(self.shared_tensor(row), on_array, on_tensor, message)

    def draw(self, draw: Any) -> Tensor:
        """Random numbers: others for each slice."""
        with self.outside():
            draws = [drawn_anew(draw.make, draw.seed, *draw.parameters) for _ in range(self.count)]
            values = stack(draws)
        return self.slice(values, draws[0]._spec)

    def current_value(self, variable: Variable) -> Tensor:
        """A variable's value is outside."""
        with self.outside() as outer:
            return outer.current_value(variable)

    def convert_input(self, value: Any, array: Array) -> Any:
        """What an array is outside."""
        with self.outside() as outer:
            return outer.convert_input(value, array)

    def on_default_copied(self, array: Array) -> None:
        """As outside."""
        self.outer.on_default_copied(array)

    def on_container_created(self, container: Any) -> None:
        """As outside."""
        self.outer.on_container_created(container)

    def on_container_copied(self, container: Any, original: Any) -> None:
        """As outside."""
        self.outer.on_container_copied(container, original)

    def on_variable_created(self, variable: Variable) -> NoReturn:
        """A variable for each slice."""
        raise NotForAll("it makes a variable")

    def assign(self, variables: Sequence[Variable], values: Sequence[Tensor]) -> NoReturn:
        """One slice after the other."""
        raise NotForAll("it assigns a variable")

    def on_seed_set(self) -> NoReturn:
        """One slice after the other."""
        raise NotForAll("it sets the random seed")

    def refuse(self, reason: str) -> NoReturn:
        """What belongs to the log outside."""
        raise NotForAll(reason)

    def _is_followed_outside(self) -> bool:
        """Whether a tape outside may follow what is recorded."""
        return type(self.outer) is not Log or self.outer.is_recorded()

    def is_recorded(self) -> bool:
        """Whether a tape records, here or outside."""
        return self._is_followed_outside() or super().is_recorded()

    def segment(self, *_: Any) -> Any:
        """A function has a gradient of its own: tapes outside would not know of which slice."""
        if self._is_followed_outside():
            raise NotForAll("it calls a function that has a custom gradient, inside a tape")
        return None

    def collect(self) -> bool:
        """Rows stay where they are."""
        return False

    def complete(self) -> None:
        """Nothing has a value here."""


def apply_to_slices(
    function: Callable[[list[Tensor]], list[Any]], values: list[Tensor], specs: list[Spec], n: int
) -> list[Tensor]:
    """What a function of slices gives for all of them.

    Args:
      function: Takes a tensor for each of ``values``, gives a list of results.
      values: The slices, along the first axis.
      specs: Those of one slice of each.
      n: How many there are, at least 1.

    Raises:
      NotForAll: If the function has to be called for each.
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
