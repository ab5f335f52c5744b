"""Functions that a kernel calls and that are not written in place: recursion, `recompute`.

Each is transformed by itself, for the dtypes of its arguments and for those of them that are
differentiated, and has a frame of its own on the stack. The frame begins with *cells*, one word
each: the arguments that are numbers, their adjoints, the result, the mark, where local arrays lie;
behind them is what the function stores, and then where the frame begins.

A call with ``recompute`` keeps its cells only, with copies of the arrays that are written to, and
is done again in the reverse sweep.
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

    def call(self, inputs: list[str], room: str, frame: Frame) -> list[str]:
        """The text of a call of the forward sweep, with where its room begins and ends."""
        out, mark = frame.at("float64", frame.out), frame.at("int64", frame.mark)
        return [f"STATUS = F_{self.number}({', '.join([*inputs, room, out, mark])})"]

    def back(self, inputs: list[str], top: str, frame: Frame) -> str:
        """The text of a call of the reverse sweep."""
        seed = frame.at("float64", frame.out)
        return f"R_{self.number}({', '.join([*inputs, top, seed])})"


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
            face = Interface(body, kinds, wanted, activity)
            number = len(self.variants) + 1
            self.variants[key] = Variant(number, body, activity, face, call.function.__name__)
        return self.variants[key]


class Frame:
    """The cells of a call, as text for both sweeps.

    Attributes:
      words: How many there are.
      fill: The text that fills them in the forward sweep.
    """

    def __init__(
        self, call: Call, variant: Variant, body: Body, k: int, written: set[str]
    ) -> None:
        self._base = f"F{k}"
        self.words = 0
        self.fill: list[str] = []
        self.copies: list[tuple[str, str, str, int]] = []  # from, dtype, how many, cell
        arrays = body.arrays
        numbers: dict[int, int] = {}
        self.slopes: dict[int, int] = {}
        places: dict[int, tuple[int, int]] = {}
        sizes: dict[tuple[int, int], int] = {}
        self.out, self.mark = self._cell(), self._cell()
        self.end = self._cell("int64", "END") if call.recompute else 0
        for kind, j, dtype, axis in variant.face.parameters:
            name = call.names[j]
            local = name in arrays and not arrays[name].argument
            if kind == "number":
                numbers[j] = self._cell(dtype, name)
            elif kind == "adjoint" and name not in arrays:
                self.slopes[j] = self._cell()
            elif kind == "array" and local:
                places[j] = self._cell("int64", f"{name}_at"), self._cell("int64", f"d_{name}_at")
            elif kind == "axis" and local:
                sizes[j, axis] = self._cell("int64", call.axes[j][axis])
        self.inputs: list[str] = []
        self.again: list[str] = []
        for kind, j, dtype, axis in variant.face.parameters:
            name = call.names[j]
            again = ""
            if kind == "number":
                text = self.at(dtype, numbers[j])
            elif kind == "axis":
                local = (j, axis) in sizes
                text = self.read("int64", sizes[j, axis]) if local else f"{name}_n{axis}"
            elif kind == "array":
                text = f"{dtype}_at({self.read('int64', places[j][0])})" if j in places else name
                if call.recompute and name in written:
                    cell = self._cell()
                    count = " * ".join(call.axes[j])
                    self.copies.append((text, dtype, count, cell))
                    again = f"{dtype}_at({self.read('int64', cell)})"
            elif j in self.slopes:
                text = self.at("float64", self.slopes[j])
            else:
                text = (f"{dtype}_at({self.read('int64', places[j][1])})" if j in places
                        else f"d_{name}")  # fmt: skip
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
        return f"{self.at(dtype, cell)}[0]"
