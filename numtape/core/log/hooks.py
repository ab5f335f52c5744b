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


class Hooks:
    """What a log is told. `seen`, `collect` and `complete` are others: see `Log`."""

    __slots__ = ()

    kept: list[Tensor]
    token: Any = None  # stands for the call that is recorded, if one is

    # For who has a tensor alone, whose home may be no log at all.
    tracing: ClassVar[bool] = False  # a row here stands for what a call has in every replay
    symbolic: ClassVar[bool] = False  # rows here have no values
    nested: ClassVar[bool] = False  # functions run as part of what is recorded, not replayed
    created: Mapping[int, Variable] = MappingProxyType({})  # variables that a recorded call made

    assign: ClassVar[Callable[[Any, Sequence[Variable], Sequence[Tensor]], None]]

    def current(self, variable: Variable) -> Tensor:
        """The tensor to look at for a variable's value."""
        return variable._value

    def made(self, variable: Variable) -> None:
        """The program makes a variable."""

    def input(self, value: Any, array: Array) -> Any:
        """What an array of the program becomes, of which ``array`` is a copy: that, or a tensor."""
        return array

    def inherits(self, array: Array) -> None:
        """A function that is called goes on with a copy of an array that is a default."""

    def makes(self, container: Any) -> None:
        """A function that is called gets a container that nobody else has."""

    def copies(self, container: Any, given: Any) -> None:
        """It gets that one in the place of ``given``, which the caller has."""

    def draw(self, draw: Any) -> Tensor | None:
        """The random numbers of a draw; None if the log leaves it to who asks."""
        return None

    def seeded(self) -> None:
        """The program sets the random seed."""

    def every(
        self,
        x: Tensor,
        on_array: Callable[[Any], Any],
        on_tensor: Callable[[Any], Tensor],
        said: str,
    ) -> bool:
        """Whether a condition holds for all elements; see `ops.checks.every`."""
        return bool(on_array(x._array()).all())

    def unseen(self, tensor: Tensor) -> Array:
        """The value of a tensor, for what is computed at once: Python does not see it."""
        return tensor._array()

    def unobserved(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function of the program returns that reads nothing but its arguments."""
        return function(*arguments)

    def same_again(self, found: Callable[[], Tensor]) -> None:
        """Replays go on only where a number is what it is now."""

    def same_lines(self, other: Any, to: Sequence[int] | Array | None = None) -> None:
        """Rows here are those of another log, with the same numbers or those in ``to``.

        Which line of the program recorded them is noted for both, if it is.
        """
        lines = getattr(other.kept, "lines", None)
        if lines and hasattr(self.kept, "lines"):
            self.kept.lines.update(
                lines if to is None else {int(to[row]): line for row, line in lines.items()}
            )

    def may_be_asked(self) -> bool:
        """Whether a tape may ask for derivatives of what is recorded now."""
        return self.recorded()

    def looked_at(self) -> bool:
        """Whether rows here have values."""
        return True

    def recorded(self) -> bool:
        """Whether a tape records here."""
        raise NotImplementedError

    def segment(
        self, adjoints: Callable[[Any, list[Tensor]], list[int]], specs: Sequence[Any]
    ) -> Any:
        """What a function that gives derivatives records, for a replay; see `derive.custom`."""
        return None

    def refuse(self, reason: str) -> None:
        """The program does what a replay could not do."""

    def depends(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function says of numtape's own state; replays go on only where it says the same.

        It calls nothing of the program's, and what it returns is compared as reads are.
        """
        return function(*arguments)
