"""The intermediate representation of a kernel: steps, branches and loops.

An operand is a name or the text of a constant. Arrays have one axis here: steps before a `load`
compute the flat index from several indices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

ELSEWHERE = 1 << 20  # the number of the first position outside the kernel itself


class Line(int):
    """The line of a call in a kernel, for an operation of an inlined function.

    Attributes:
      number: The number of the operation's own position, for statuses.
    """

    number: int


class Lines:
    """The source positions that statuses refer to by number.

    Positions in the kernel itself are lines counted from its first line, so that the generated
    text does not change when the kernel moves. Positions in functions that it calls have numbers
    from `ELSEWHERE` on.

    Args:
      file, line: The source position of the kernel.
    """

    def __init__(self, file: str, line: int) -> None:
        self.file, self.line = file, line
        self._found: list[tuple[str, int]] = []

    def of_call(self, line: int, file: str, own: int) -> Line:
        """Return the line of a call, numbered for a position in the called function."""
        if (file, own) not in self._found:
            self._found.append((file, own))
        call_line = Line(line)
        call_line.number = ELSEWHERE + self._found.index((file, own))
        return call_line

    def of(self, number: int) -> tuple[str, int]:
        """Return the file and line of a node's ``line``, or of a number in a status."""
        number = getattr(number, "number", number)
        if number >= ELSEWHERE:
            return self._found[number - ELSEWHERE]
        return self.file, self.line + number


@dataclass(eq=False, slots=True)
class Assign:
    """One operation.

    Attributes:
      out: The name that it assigns; "" if it writes to an array or is a check.
      op: Its name: an operator, a function of `rules.FUNCTIONS`, or one of ``load`` (read the
        element of ``array`` at ``args[0]``), ``store``, ``acc`` and ``sub`` (write ``args[1]``
        there, add it, subtract it), ``copy``, ``compare``, ``whole`` (to an int), ``wrap``,
        ``check``, ``raise`` (the exception of ``Body.raised`` whose number is ``dtype``).
      args: The operands.
      text: The operation as text, with ``{0}`` for the first operand.
      line: The source line, counted from the function's first line.
      array: The array that is read or written.
      dtype: The target of a conversion ("int" is Python's); "ufunc" for a NumPy ufunc, whose
        ints keep their dtype.
      first: Whether a ``store`` or ``acc`` initializes the array, before anything reads it.
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
    """``while test: body``, where the steps of ``head`` compute ``test`` before each iteration.

    ``count`` is the name of the iteration number in the body; "" if nothing reads it.
    """

    head: list[Node]
    test: str
    body: list[Node]
    line: int
    count: str = ""


@dataclass(eq=False, slots=True)
class Alloc:
    """A local array of ``size`` elements: filled with ``fill``, a copy, or uninitialized."""

    array: str
    size: str
    fill: str
    copied: str
    line: int


Kinds = tuple[tuple[str, int], ...]  # dtype and number of axes of each argument; -1 of a number


@dataclass(eq=False, slots=True)
class Call:
    """A call of a function that has separate sweeps.

    Attributes:
      out: The name that it assigns; "" if the function returns nothing.
      function: The function.
      names: Its arguments: operands and whole arrays.
      axes: The lengths of the axes of each argument.
      recompute: Whether the reverse sweep repeats the call.
      functions: All functions that the kernel calls without inlining.
      rule: The custom VJP, or None.
      array: The array that it creates; "" if it returns a number or nothing.
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
        """Return the names that it assigns, if its array has ``ndim`` axes."""
        if not self.array:
            return {self.out} - {""}
        axes = {f"{self.array}_n{k}" for k in range(ndim)}
        return {address(self.array), shadow(self.array), *axes}

    def kinds(self, body: Body) -> Kinds:
        """Return the dtype and rank of each argument in the caller ``body``; "" if unknown."""
        kinds: list[tuple[str, int]] = []
        for name, axes in zip(self.names, self.axes, strict=True):
            if name in body.arrays:
                kinds.append((body.arrays[name].dtype, len(axes)))
            else:
                kinds.append((dtype_of(name, body.names), -1))
        return tuple(kinds)

    def operands(self) -> list[str]:
        """Return the operands that it reads."""
        return [*self.names, *(x for axes in self.axes for x in axes)]


@dataclass(slots=True)
class ArrayType:
    """The description of an array.

    Attributes:
      dtype: The dtype of its elements; "" until `types` infers it from the stored values.
      ndim: The number of axes.
      argument: Whether it is an argument, which the text accesses by a pointer of its name.
      addressed: Whether other names may hold the address of the argument.
      like: The array whose dtype it shares, if that is not known yet.
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
    """An exception that a kernel raises: its class, its arguments and its source position.

    Arguments are None if they are not constants. Numba's version of the function then raises it.
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
      name: The name of the function.
      scalars: The dtypes of the number arguments, by name.
      arrays: All arrays, by name; an argument's axes are ``name_n0``, ``name_n1`` ...
      parameters: The names of the arguments, in the order of the signature.
      nodes: The statements.
      result: The name or constant that it returns; "" for nothing, and for several results.
      file, line: Its source position.
      standing: Source positions of its nodes, by their ``line``.
      begin: The function's first line, as the line of a node.
      raised: The exceptions that it raises.
      names: The dtypes of all names of numbers.
      outputs: The results: names of numbers and arrays, and constants.
      axes: The lengths of the axes of each result.
      form: The structure of the result: an index of ``outputs``, or a tuple; None for nothing.
      functions: The functions that are called without inlining.
      same: Pairs of arrays that may share memory.
    """

    name: str
    scalars: dict[str, str]
    arrays: dict[str, ArrayType]
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
        """Return the operands of the results, which are read after the last statement."""
        return [*self.outputs, *(x for axes in self.axes for x in axes)]

    def argument_names(self) -> set[str]:
        """Return the names of numbers that have a value from the beginning."""
        names = set(self.scalars)
        for name, array in self.arrays.items():
            if array.argument:
                names |= {f"{name}_n{k}" for k in range(array.ndim)}
            if array.addressed:
                names |= {address(name), shadow(name)}
        return names


def dtype_of(operand: str, names: dict[str, str]) -> str:
    """Return the dtype of an operand; "" while it is not known."""
    if not is_constant(operand):
        return names.get(operand, "")
    if operand in ("True", "False"):
        return "bool"
    return "int64" if operand.lstrip("-").isdigit() else "float64"


def is_constant(operand: str) -> bool:
    """Whether an operand is the text of a constant."""
    return not operand.isidentifier() or operand in ("True", "False")


def steps(nodes: list[Node]) -> Iterator[Assign]:
    """Yield all steps, in source order."""
    for node in walk(nodes):
        if isinstance(node, Assign):
            yield node


def walk(nodes: list[Node]) -> Iterator[Node]:
    """Yield all nodes, in source order."""
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
    """Return the names that nodes assign."""
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
    """Return the name that holds the address of a local array."""
    return f"{array}_at"


def shadow(array: str) -> str:
    """Return the name that holds the address of a local array's adjoints."""
    return f"d_{array}_at"


def straight(node: Node) -> bool:
    """Whether a node contains no loop, no allocation and no call."""
    return not any(isinstance(inner, ForRange | While | Alloc | Call) for inner in walk([node]))


def calls(body: Body) -> list[Call]:
    """Return all calls in a function."""
    return [node for node in walk(body.nodes) if isinstance(node, Call)]
