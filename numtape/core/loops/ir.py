"""The intermediate representation of a kernel: steps, branches and loops.

An operand is a name or the text of a constant. Arrays have one axis here: steps before a `load`
have made one index of several.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

ELSEWHERE = 1 << 20  # the number of the first place that is not in the kernel itself


class Line(int):
    """The line of a kernel that calls a function, for what that function does.

    Attributes:
      number: That of the place where it stands, for statuses.
    """

    number: int


class Lines:
    """Where things stand that a status names by a number.

    Those in the kernel itself are lines, counted from its first: their text is the same if the
    kernel is moved. Those in functions that it calls have numbers from `ELSEWHERE` on.

    Args:
      file, line: Where the kernel stands.
    """

    def __init__(self, file: str, line: int) -> None:
        self.file, self.line = file, line
        self._found: list[tuple[str, int]] = []

    def of_call(self, line: int, file: str, own: int) -> Line:
        """The line of a call, for what is done at another place."""
        if (file, own) not in self._found:
            self._found.append((file, own))
        call_line = Line(line)
        call_line.number = ELSEWHERE + self._found.index((file, own))
        return call_line

    def of(self, number: int) -> tuple[str, int]:
        """The file and the line of a node's ``line``, or of a status' number."""
        number = getattr(number, "number", number)
        if number >= ELSEWHERE:
            return self._found[number - ELSEWHERE]
        return self.file, self.line + number


@dataclass(eq=False, slots=True)
class Assign:
    """One operation.

    Attributes:
      out: The name that it assigns; "" if it writes to an array, or checks something.
      op: Its name: an operator, a function of `rules.FUNCTIONS`, or one of ``load`` (an element of
        ``array`` at ``args[0]``), ``store`` and ``acc`` (``args[1]`` is put there, or added),
        ``copy``, ``compare``, ``whole`` (to an int), ``wrap``, ``check``, ``raise`` (of
        ``Body.raised`` the exception whose number ``dtype`` is).
      args: Operands.
      text: The operation as text, with ``{0}`` for the first operand.
      line: The line of the user's source, counted from that of the function.
      array: The array that is read or written.
      dtype: For a conversion, to what ("int" is Python's); "ufunc" for what NumPy does, whose
        ints keep their dtype.
      first: For a ``store`` or ``acc``: it makes the array, before anything reads it.
    """

    out: str
    op: str
    args: list[str]
    text: str
    line: int
    array: str = ""
    dtype: str = ""
    first: bool = False


@dataclass(eq=False, slots=True)
class Branch:
    """``if test: body else: other``; nothing in it assigns ``test``."""

    test: str
    body: list[Node]
    other: list[Node]
    line: int


@dataclass(eq=False, slots=True)
class ForRange:
    """``for name in range(low, high, step): body``; nothing in it assigns these names."""

    name: str
    low: str
    high: str
    step: int
    body: list[Node]
    line: int


@dataclass(eq=False, slots=True)
class While:
    """``while`` the steps of ``head`` give a true ``test``, the body; the head only computes it.

    ``count`` is the name that holds the number of the round in the body; "" if nothing reads it.
    """

    head: list[Node]
    test: str
    body: list[Node]
    line: int
    count: str = ""


@dataclass(eq=False, slots=True)
class Alloc:
    """A local array: ``size`` elements, filled with ``fill`` ("" for nothing), or a copy."""

    array: str
    size: str
    fill: str
    copied: str
    line: int


Kinds = tuple[tuple[str, int], ...]  # dtype and number of axes of each argument; -1 of a number


@dataclass(eq=False, slots=True)
class Call:
    """A call of a function that is transformed by itself.

    Attributes:
      out: The name that it assigns; "" if the function returns nothing.
      function: The function.
      names: Its arguments: operands, and arrays as a whole.
      axes: For each of them the lengths of its axes.
      recompute: Whether the reverse sweep does it again.
      functions: All functions that the kernel calls apart.
      rule: The custom VJP for the adjoints of its arguments, or None.
      array: The array that it makes; "" if it returns a number, or nothing.
    """

    out: str
    function: FunctionType
    names: list[str]
    axes: list[list[str]]
    line: int
    recompute: bool
    functions: Any
    rule: Any = None
    array: str = ""

    def assigned_names(self, ndim: int) -> set[str]:
        """The names that it assigns, if it makes an array of so many axes."""
        if not self.array:
            return {self.out} - {""}
        axes = {f"{self.array}_n{k}" for k in range(ndim)}
        return {address(self.array), shadow(self.array), *axes}

    def kinds(self, body: Body) -> Kinds:
        """The dtypes of its arguments in a function, as far as they are known."""
        kinds: list[tuple[str, int]] = []
        for name, axes in zip(self.names, self.axes, strict=True):
            if name in body.arrays:
                kinds.append((body.arrays[name].dtype, len(axes)))
            else:
                kinds.append((dtype_of(name, body.names), -1))
        return tuple(kinds)

    def operands(self) -> list[str]:
        """The names that it reads."""
        return [*self.names, *(x for axes in self.axes for x in axes)]


@dataclass(slots=True)
class Array:
    """The description of an array.

    Attributes:
      dtype: Of its elements; "" until `types` finds it from what is stored there.
      ndim: How many axes it has.
      argument: Whether it is an argument, which is reached by a pointer of its name.
      addressed: Whether other names may hold where an argument lies.
      like: The array whose dtype it has, if that is not known yet.
    """

    dtype: str
    ndim: int
    argument: bool
    addressed: bool = False
    like: str = ""


WRITES = ("store", "acc", "sub")  # steps that write to arrays
Node = Assign | Branch | ForRange | While | Alloc | Call


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception that a kernel raises: its class, its arguments, and from where.

    Arguments are None if they are not constants. Then Numba's version of the function raises it.
    """

    kind: type[BaseException]
    arguments: tuple[object, ...] | None
    file: str
    line: int
    function: str

    def error(self) -> BaseException:
        """The exception."""
        return self.kind(*(self.arguments or ()))


# The error for unsupported results of a call that has separate sweeps.
ONE_NUMBER = (
    "`{}` calls itself or has `recompute=True`: such a function gives what calls it one number, or "
    "writes to an argument."
)


@dataclass(eq=False, slots=True)
class Body:
    """A function in normal form.

    Attributes:
      name: The function's.
      scalars: The dtypes of arguments that are numbers, by name.
      arrays: All arrays, by name; an argument's axes are ``name_n0``, ``name_n1`` ...
      parameters: Names of the arguments in the user's order.
      nodes: Its statements.
      result: The name or constant that it returns; "" for nothing, and for several results.
      file, line: Its source position.
      standing: Source positions of its nodes, by their ``line``.
      begin: Its first line, as the line of a node.
      raised: The exceptions that it raises.
      names: The dtypes of all names that are numbers.
      same: Pairs of arrays that may share their memory.
      outs: Its results: names of numbers and arrays, and constants.
      axes: For each result the lengths of its axes.
      form: The structure of the result: an index of ``outputs``, or a tuple; None for nothing.
      functions: Functions that are called instead of inlined.
    """

    name: str
    scalars: dict[str, str]
    arrays: dict[str, Array]
    parameters: list[str]
    nodes: list[Node]
    result: str
    file: str
    line: int
    standing: Lines
    begin: int
    names: dict[str, str] = field(default_factory=dict)
    raised: list[Raised] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    axes: list[list[str]] = field(default_factory=list)
    form: Any = None
    functions: Any = None
    same: list[tuple[str, str]] = field(default_factory=list)

    @property
    def single(self) -> bool:
        """Whether it returns one number."""
        return self.form == 0 and not self.axes[0]

    def result_operands(self) -> list[str]:
        """The operands that are read when all is done: those of the results."""
        return [*self.outputs, *(x for axes in self.axes for x in axes)]

    def argument_names(self) -> set[str]:
        """The names of numbers that are there from the beginning."""
        names = set(self.scalars)
        for name, array in self.arrays.items():
            if array.argument:
                names |= {f"{name}_n{k}" for k in range(array.ndim)}
            if array.addressed:
                names |= {address(name), shadow(name)}
        return names


def dtype_of(operand: str, names: dict[str, str]) -> str:
    """The dtype of an operand; "" while it is not known."""
    if not is_constant(operand):
        return names.get(operand, "")
    if operand in ("True", "False"):
        return "bool"
    return "int64" if operand.lstrip("-").isdigit() else "float64"


def is_constant(operand: str) -> bool:
    """Whether an operand is a constant's text."""
    return not operand.isidentifier() or operand in ("True", "False")


def steps(nodes: list[Node]) -> Iterator[Assign]:
    """All steps, in the order of the text."""
    for node in walk(nodes):
        if isinstance(node, Assign):
            yield node


def walk(nodes: list[Node]) -> Iterator[Node]:
    """All nodes, in the order of the text."""
    for node in nodes:
        yield node
        if isinstance(node, Branch):
            yield from walk(node.body)
            yield from walk(node.other)
        elif isinstance(node, ForRange):
            yield from walk(node.body)
        elif isinstance(node, While):
            yield from walk(node.head)
            yield from walk(node.body)


def assigned_in(nodes: list[Node]) -> set[str]:
    """The names that are assigned in nodes."""
    names: set[str] = set()
    for node in walk(nodes):
        if isinstance(node, Assign):
            names.add(node.out)
        elif isinstance(node, Call):
            names |= node.assigned_names(3)
        elif isinstance(node, ForRange):
            names.add(node.name)
        elif isinstance(node, While):
            names.add(node.count)
        elif isinstance(node, Alloc):
            names |= {address(node.array), shadow(node.array)}
    return names - {""}


def address(array: str) -> str:
    """The name that holds where a local array lies."""
    return f"{array}_at"


def shadow(array: str) -> str:
    """The name that holds where the adjoints of a local array lie."""
    return f"d_{array}_at"


def straight(node: Node) -> bool:
    """Whether a node has neither a loop nor a new array nor a call in it."""
    return not any(isinstance(inner, ForRange | While | Alloc | Call) for inner in walk([node]))


def calls(body: Body) -> list[Call]:
    """All calls in a function."""
    return [node for node in walk(body.nodes) if isinstance(node, Call)]
