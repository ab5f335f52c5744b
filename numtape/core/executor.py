"""The interface of executors: `core.cpu`, `core.cuda` and `core.reference`.

Whichever computes, a program means the same. `core.log.evaluate.executor` gives that of the device.
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
        """Give rows their values.

        Args:
          log: The log of the rows.
          wanted: Rows that have values afterwards.
          welcome: Rows whose values are kept if they are computed on the way.
          retain: Whether a tape may still need gradients: then values that are expensive to
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
          wanted: The rows.
          compiled: Whether to prepare the fastest program, however long that takes.
          looked: Whether single elements are read after every run.
          checks: Rows that must be true, and the messages if they are not. They are checked at
            the next read of a value, or after every run as well.
        """

    def draw(self, name: str, key: list[int], spec: Spec) -> Any:
        """Random floats, ``uniform`` or ``normal``, from the two words of a key of Philox."""

    def fill(self, value: int, spec: Spec) -> Any:
        """An array that has one value everywhere."""


class Direct(NamedTuple):
    """How machine code has a program's rows computed, which holds the GIL meanwhile.

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
    """Computes the same rows again and again, each time with other values in the leaves.

    Attributes:
      log: The rows.
      cell: The cells of all rows: the bits of an element, or the address of a buffer.
      place: For each wanted row, the row in whose cell or buffer its value is.
      feed: Gives a leaf its value; None where who has one writes its cell.
      deferred: Whether it is said at the next look at a value which of the checks failed.
      unsure: Whether, as far as the caller knows, one of them may fail in the next run.
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
        """Compute the wanted rows, in their own buffers."""

    def direct(self) -> Direct | None:
        """How machine code has the rows computed; None if Python has to."""

    def another(self, log: Log) -> Program:
        """The same program for a copy of its log."""

    def late(self, row: int) -> bool:
        """Whether a row of one element is in the log's buffers, and may be computed later."""

    def array(self, row: int) -> Any:
        """The value in a place, which is not a cell."""
