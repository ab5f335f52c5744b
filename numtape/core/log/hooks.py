"""What happens in a log that is another matter for another kind of log.

There are three kinds: a thread's own (`Log`), that of a call which is recorded (`Trace`, in
`numtape.core.replay.trace`), and that of a derivative rule (`Scratch`). Whoever does one of these
things tells the log, and does not ask which kind it is. Here stands what a thread's own log does.
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
    """What a log is told. `seen`, `collect` and `complete` are others: see `Log`."""

    __slots__ = ()

    tensors: list[Tensor]
    token: Any = None  # stands for the call that is recorded, if one is

    # For who has a tensor alone, whose home may be no log at all.
    tracing: ClassVar[bool] = False  # a row here stands for what a call has in every replay
    symbolic: ClassVar[bool] = False  # rows here have no values
    nested: ClassVar[bool] = False  # functions run as part of what is recorded, not replayed
    created: Mapping[int, Variable] = MappingProxyType({})  # variables that a recorded call made

    assign: ClassVar[Callable[[Any, Sequence[Variable], Sequence[Tensor]], None]]

    def current_value(self, variable: Variable) -> Tensor:
        """The tensor to look at for a variable's value."""
        return variable._value

    def on_variable_created(self, variable: Variable) -> None:
        """The program makes a variable."""

    def convert_input(self, value: Any, array: Array) -> Any:
        """What an array of the program becomes, of which ``array`` is a copy: that, or a tensor."""
        return array

    def on_default_copied(self, array: Array) -> None:
        """A function that is called goes on with a copy of an array that is a default."""

    def on_container_created(self, container: Any) -> None:
        """A function that is called gets a container that nobody else has."""

    def on_container_copied(self, container: Any, original: Any) -> None:
        """It gets that one in the place of ``given``, which the caller has."""

    def draw(self, draw: Any) -> Tensor | None:
        """The random numbers of a draw; None if the log leaves it to who asks."""
        return None

    def on_seed_set(self) -> None:
        """The program sets the random seed."""

    def holds_for_all(
        self,
        x: Tensor,
        on_array: Callable[[Any], Any],
        on_tensor: Callable[[Any], Tensor],
        message: str,
    ) -> bool:
        """Whether a condition holds for all elements; see `ops.checks.holds_for_all`."""
        return bool(on_array(x._array()).all())

    def untracked_value(self, tensor: Tensor) -> Array:
        """The value of a tensor, for what is computed at once: Python does not see it."""
        return tensor._array()

    def call_untracked(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function of the program returns that reads nothing but its arguments."""
        return function(*arguments)

    def guard_value(self, make_tensor: Callable[[], Tensor]) -> None:
        """Replays go on only where a number is what it is now."""

    def copy_lines(self, other: Any, rows: Sequence[int] | Array | None = None) -> None:
        """Rows here are those of another log, with the same numbers or those in ``to``.

        Which line of the program recorded them is noted for both, if it is.
        """
        lines = getattr(other.tensors, "lines", None)
        if lines and hasattr(self.tensors, "lines"):
            self.tensors.lines.update(
                lines if rows is None else {int(rows[row]): line for row, line in lines.items()}
            )

    def may_need_gradients(self) -> bool:
        """Whether a tape may ask for derivatives of what is recorded now."""
        return self.is_recorded()

    def has_values(self) -> bool:
        """Whether rows here have values."""
        return True

    def is_recorded(self) -> bool:
        """Whether a tape records here."""
        raise NotImplementedError

    def segment(
        self, adjoints: Callable[[Any, list[Tensor]], list[int]], specs: Sequence[Any]
    ) -> Any:
        """What a function that gives derivatives records, for a replay; see `derive.custom`."""
        return None

    def refuse(self, reason: str) -> None:
        """The program does what a replay could not do."""

    def call_guarded(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function says of numtape's own state; replays go on only where it says the same.

        It calls nothing of the program's, and what it returns is compared as reads are.
        """
        return function(*arguments)
