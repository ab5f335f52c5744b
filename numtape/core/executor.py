"""The interface of executors: `core.cpu`, `core.cuda` and `core.reference`.

All executors give a program the same meaning. `core.log.evaluate.executor` returns the one of the
current device.
"""

from __future__ import annotations

from collections.abc import Callable, MutableSequence, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from .log.log import Log
    from .values.spec import Spec
    from .values.tensor import Tensor


class Executor(Protocol):
    """Computes rows of logs."""

    def compute(self, log: Log, requested: list[int], welcome: list[int], retain: bool) -> None:
        """Compute values of rows.

        Args:
          log: The log of the rows.
          requested: Rows that must have values afterwards.
          welcome: Rows whose values are kept if the computation produces them anyway.
          retain: Whether a tape may still need gradients. Then values that are expensive to
            recompute are kept as well.
        """

    def program(
        self,
        log: Log,
        requested: list[int],
        compiled: bool,
        looked: bool,
        checks: Sequence[tuple[int, str]],
    ) -> Program:
        """Prepare a program that computes rows repeatedly.

        Args:
          log: The log of the rows. The program owns it from now on.
          requested: The rows to compute.
          compiled: Whether to prepare the fastest program, however long that takes.
          looked: Whether single elements are read after every run.
          checks: Rows that must be true, and the messages if they are not. They are checked at
            the next read of a value, or after every run as well.
        """

    def draw(self, name: str, entropy: tuple[int, int, int], spec: Spec, *parameters: Any) -> Any:
        """Random numbers; see `core.reference.draws`."""

    def fill(self, value: int, spec: Spec) -> Any:
        """An array filled with one value."""


class Direct(NamedTuple):
    """How machine code that holds the GIL computes the rows of a program.

    Attributes:
      function, block: A function and its argument; 0 if there is nothing to compute.
      begin, computed: Addresses of two words that must be 0 before the call.
      end: The result if all rows are computed. After any other result, Python starts over.
      plan: The program's current plan.
      buffers: Rows whose cells get the addresses of new arrays, and their specs.
    """

    function: int
    block: int
    begin: int
    computed: int
    end: int
    plan: Any
    buffers: Sequence[tuple[int, Spec]]


class Program(Protocol):
    """Computes the same rows repeatedly, with new values in the leaves.

    Attributes:
      log: The rows.
      cell: The cells of all rows: the bits of an element, or the address of a buffer.
      place: For each requested row, the row whose cell or buffer holds its value.
      feed: Sets the value of a leaf; None if callers write the cell directly.
      deferred: Whether a failed check is reported at the next read of a value.
      unsure: Whether a check may fail in the next run, as far as the caller knows.
    """

    log: Log
    cell: MutableSequence[int]
    place: dict[int, int]
    deferred: bool
    unsure: bool

    @property
    def feed(self) -> Callable[[int, Tensor], None] | None:
        """Return a function that sets a leaf's value, or None."""

    def run(self) -> None:
        """Compute the requested rows, in their own buffers."""

    def direct(self) -> Direct | None:
        """How machine code computes the rows; None if only Python can."""

    def another(self, log: Log) -> Program:
        """The same program for a copy of its log."""

    def late(self, row: int) -> bool:
        """Whether a single-element value is in the log's buffers, perhaps still pending."""

    def array(self, row: int) -> Any:
        """The value at ``row``, which has a buffer instead of a cell."""
