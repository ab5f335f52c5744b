"""Functions that a kernel calls and that are not written in place: recursion, `recompute`.

Each is transformed by itself, for the dtypes of its arguments and for those of them that are
differentiated. Numbers and seeds are passed by value. What a call stores is followed by its
*frame*, cells of one word each: the arguments that are numbers, their adjoints, where local arrays
lie. The reverse sweep of a call says where its stack began, so that nothing else needs to be kept.

A call with ``recompute`` keeps its frame only, behind copies of the arrays that are written to, and
is done again in the reverse sweep; its frame also has room for a result and a mark.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType

from .activity import Activity, analyse, written
from .interface import Interface
from .nodes import Body, Call, Kinds, Raised, calls
from .types import of

DEEPEST = 10_000  # calls within calls: more might not have room on the thread's own stack


@dataclass
class Variant:
    """A function for some arguments, of which some are differentiated.

    Attributes:
      number: What its names end with: ``F_1`` is its forward sweep, ``R_1`` its reverse.
    """

    number: int
    body: Body
    activity: Activity
    face: Interface
    name: str

    def call(self, inputs: list[str], room: str) -> str:
        """The text of a call of the forward sweep; ``room``: its stack's ends, OUT and MARK."""
        return f"STATUS = F_{self.number}({', '.join([*inputs, room])})"

    def back(self, inputs: list[str], top: str, seed: str) -> str:
        """The text of a call of the reverse sweep, which gives where the stack began."""
        return f"SP = R_{self.number}({', '.join([*inputs, top, seed])})"


class Functions:
    """All functions that one kernel calls apart.

    Args:
      write: Gives a function in normal form.

    Attributes:
      file, line: Where the kernel stands.
      raised: The exceptions that all of them raise.
      variants: What is called.
    """

    def __init__(
        self, file: str, line: int, write: Callable[[FunctionType, Kinds, Functions], Body]
    ) -> None:
        self.file, self.line, self._write = file, line, write
        self.raised: list[Raised] = []
        self.variants: dict[tuple[FunctionType, Kinds, tuple[int, ...]], Variant] = {}
        self._bodies: dict[tuple[FunctionType, Kinds], Body] = {}
        self._results: dict[tuple[FunctionType, Kinds], str] = {}
        self._writes: dict[tuple[FunctionType, Kinds], set[int]] = {}

    @property
    def bodies(self) -> list[Body]:
        """All that are called, in normal form."""
        return list(self._bodies.values())

    def body(self, call: Call, caller: Body) -> Body:
        """What a call calls, in normal form."""
        key = call.function, call.kinds(caller)
        if key not in self._bodies:
            self._results[key] = ""
            self._bodies[key] = self._write(*key, self)
        return self._bodies[key]

    def result(self, call: Call, caller: Body) -> str:
        """The dtype of what a call returns; "" if it is not known yet."""
        kinds = call.kinds(caller)
        if any(not dtype for dtype, _ in kinds):
            return ""
        self.body(call, caller)
        return self._results[call.function, kinds]

    def settle(self, kernel: Body, infer: Callable[[Body], None]) -> list[Body]:
        """Find all dtypes: what a function returns may depend on itself. Returns what is called."""
        while True:
            before = dict(self._results)
            infer(kernel)
            for key, body in list(self._bodies.items()):
                infer(body)
                self._results[key] = of(body.result, body.names) if body.result else ""
            if self._results == before:
                break
        found: list[Body] = [kernel]
        for body in found:
            for call in calls(body):
                called = self.body(call, body)
                if called not in found:
                    found.append(called)
        return found

    def writes(self, call: Call, caller: Body) -> set[int]:
        """The numbers of the arguments that a call writes to."""
        key = call.function, call.kinds(caller)
        if key not in self._writes:
            body = self.body(call, caller)
            self._writes[key] = set()
            while True:  # it may call itself
                arrays = written(body)
                found = {j for j, name in enumerate(body.parameters) if name in arrays}
                if found == self._writes[key]:
                    break
                self._writes[key] = found
        return self._writes[key]

    def variant(self, call: Call, caller: Body, active: set[str]) -> Variant:
        """What a call calls where some of the caller's names are active."""
        kinds = call.kinds(caller)
        wanted = tuple(
            j for j, (dtype, _) in enumerate(kinds)
            if dtype.startswith("float") and call.names[j] in active
        )  # fmt: skip
        key = call.function, kinds, wanted
        if key not in self.variants:
            body = self.body(call, caller)
            activity = analyse(body, [body.parameters[j] for j in wanted], apart=True)
            face = Interface(body, kinds, wanted, activity, by_value=True)
            number = len(self.variants) + 1
            self.variants[key] = Variant(number, body, activity, face, call.function.__name__)
        return self.variants[key]


class Frame:
    """The cells of a call, as text for both sweeps.

    Attributes:
      words: How many there are.
      fill: The text that fills them in the forward sweep.
      copies: Of arrays that are written to: from where, dtype, how many, the name of where it is.
      ahead: What the forward sweep is called with.
      inputs: What the reverse sweep is called with.
      again: What both are, if the call is done again.
    """

    def __init__(
        self, call: Call, variant: Variant, body: Body, k: int, written: set[str]
    ) -> None:
        self._base = f"F{k}"
        self.words = 0
        self.fill: list[str] = []
        self.copies: list[tuple[str, str, str, str]] = []
        self.ahead: list[str] = []
        self.inputs: list[str] = []
        self.again: list[str] = []
        self.slopes: dict[int, int] = {}
        if call.recompute:
            self.out, self.mark = self._cell(), self._cell()
            self.begin, self.end = self._cell("int64", f"B{k}"), self._cell("int64", "END")
        for kind, j, dtype, axis in variant.face.parameters:
            name = call.names[j]
            local = name in body.arrays and not body.arrays[name].argument
            again = ""
            if kind == "number":
                ahead = f"{dtype}_of({name})"
                text = self.read(dtype, self._cell(dtype, name))
            elif kind == "axis":
                ahead = text = call.axes[j][axis] if local else f"{name}_n{axis}"
                if local:
                    text = self.read("int64", self._cell("int64", ahead))
            elif kind == "adjoint" and name not in body.arrays:
                self.slopes[j] = self._cell()
                ahead, text = "OUT", self.at("float64", self.slopes[j])  # it is not used ahead
            else:
                ahead = text = name if kind == "array" else f"d_{name}"
                if local:
                    place = f"{name}_at" if kind == "array" else f"d_{name}_at"
                    ahead = f"{dtype}_at({place})"
                    text = f"{dtype}_at({self.read('int64', self._cell('int64', place))})"
                if kind == "array" and call.recompute and name in written:
                    copy = f"Y{k}_{len(self.copies)}"
                    self.copies.append((ahead, dtype, " * ".join(call.axes[j]), copy))
                    again = f"{dtype}_at({self.read('int64', self._cell('int64', copy))})"
            self.ahead.append(ahead)
            self.inputs.append(text)
            self.again.append(again or text)

    def _cell(self, dtype: str = "", value: str = "") -> int:
        self.words += 1
        if dtype:
            self.fill.append(f"{self.at(dtype, self.words - 1)}[0] = {dtype}_of({value})")
        return self.words - 1

    def at(self, dtype: str, cell: int) -> str:
        """A pointer to a cell."""
        return f"{dtype}_at({self._base} + {8 * cell})" if cell else f"{dtype}_at({self._base})"

    def read(self, dtype: str, cell: int) -> str:
        """What is in a cell."""
        found = f"{self.at(dtype, cell)}[0]"
        return f"({found} != 0)" if dtype == "bool" else found
