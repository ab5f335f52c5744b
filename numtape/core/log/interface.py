"""The interface of logs: operations that depend on the kind of log.

There are three kinds of logs: that of a thread (`Log`), that of a traced call (`Trace`, in
`numtape.core.replay.trace`), and that of a derivative rule (`RuleLog`). Code calls these methods
without asking which kind the current log is. The methods here are those of a thread's log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from ..values.memory import Array
from ..values.tensor import Tensor

if TYPE_CHECKING:
    from .variable import Variable


class LogInterface:
    """Methods that kinds of logs override, besides those that `Log` declares."""

    __slots__ = ()

    tensors: list[Tensor]
    token: Any = None  # identifies the call that is traced, if any

    # Flags for code that has only a tensor, whose home need not be a log.
    tracing: ClassVar[bool] = False  # rows stand for the values of every replay of a call
    symbolic: ClassVar[bool] = False  # rows have no values
    nested: ClassVar[bool] = False  # called functions become part of the recording
    created: Mapping[int, Variable] = MappingProxyType({})  # variables that a traced call created

    assign: ClassVar[Callable[[Any, Sequence[Variable], Sequence[Tensor]], None]]

    def current_value(self, variable: Variable) -> Tensor:
        """Return the tensor to evaluate for a variable's value."""
        return variable._value

    def on_variable_created(self, variable: Variable) -> None:
        """Note that the program has created a variable."""

    def convert_input(self, value: object, array: Array) -> Any:
        """Return ``array``, a copy of the program's array ``value``, or a tensor for it."""
        return array

    def on_default_copied(self, array: Array) -> None:
        """Note that a called function uses a copy of an array that is a parameter's default."""

    def on_container_created(self, container: object) -> None:
        """Note that a called function gets a container that no other code refers to."""

    def on_container_copied(self, container: object, original: object) -> None:
        """Note that a called function gets ``container`` in place of the caller's ``original``."""

    def draw(self, draw: Any) -> Tensor | None:
        """Return the random numbers of a draw, or None if the caller has to make them."""
        return None

    def on_seed_set(self) -> None:
        """Note that the program has set the random seed."""

    def holds_for_all(
        self,
        x: Tensor,
        on_array: Callable[[Any], Any],
        on_tensor: Callable[[Any], Tensor],
        message: str,
    ) -> bool:
        """Return whether a condition holds for all elements; see `ops.checks.every`."""
        return bool(on_array(x._array()).all())

    def untracked_value(self, tensor: Tensor) -> Array:
        """Return a tensor's value for immediate computation, hidden from the program."""
        return tensor._array()

    def call_untracked(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function of the program that reads only its arguments. Return its result."""
        return function(*arguments)

    def guard_value(self, make_tensor: Callable[[], Tensor]) -> None:
        """Guard a number: replays continue only if it is the same."""

    def copy_lines(self, other: LogInterface, rows: Sequence[int] | Array | None = None) -> None:
        """Copy the source lines of rows that another log recorded, if source lines are noted.

        The rows have the same numbers in both logs, or are those in ``rows``.
        """
        lines = getattr(other.tensors, "lines", None)
        if lines and hasattr(self.tensors, "lines"):
            self.tensors.lines.update(
                lines if rows is None else {int(rows[row]): line for row, line in lines.items()}
            )

    def may_need_gradients(self) -> bool:
        """Return whether a tape may need derivatives of the rows recorded now."""
        return self.is_recorded()

    def has_values(self) -> bool:
        """Return whether rows of this log have values."""
        return True

    def is_recorded(self) -> bool:
        """Return whether a tape is recording."""
        raise NotImplementedError

    def segment(
        self, adjoints: Callable[[Any, list[Tensor]], list[int]], specs: Sequence[Any]
    ) -> Any:
        """Record the derivatives of a custom function for replays; see `derive.custom`."""
        return None

    def refuse(self, reason: str) -> None:
        """Note that the program does something that a replay cannot repeat."""

    def begin_collectives(self) -> bool:
        """Return whether collectives recorded now run in each replay rather than immediately."""
        return False

    def note_collective(self, row: int) -> None:
        """Note the row that starts a collective, and the collectives before it."""

    def refuse_replay(self, reason: str) -> None:
        """Note that replays cannot repeat the call, which continues."""

    def call_guarded(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function that reads numtape's state. Replays continue only on an equal result.

        The function calls nothing of the program, and its result is compared like other reads.
        """
        return function(*arguments)
